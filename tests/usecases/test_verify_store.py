"""Verifying against heads that were written down: what was cut off or replaced is reported."""

import json
from pathlib import Path

import pytest

from canonry.app.embedded import open_embedded
from canonry.canon.maintenance.log_transfer import Heads, heads_from, verify_store
from canonry.readmodels.ports.view import Verification
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_source
from canonry.values.errors import InvalidInput

pytestmark = pytest.mark.anyio


async def a_store(folder: Path, *titles: str, against: Heads | None = None) -> Verification:
    """A universe with sources of these titles; what verifying it against the heads tells."""
    store = await open_embedded(folder)
    try:
        if not await store.canon.ledger.list_heads(limit=1):
            scribe = Scribe(store.canon)
            await scribe.open_spaces("space")
            for number, title in enumerate(titles):
                await scribe.make_items(a_source(f"book {number}", title=title))
        return await verify_store(
            store.canon.ledger, store.maintenance, lambda *_: None, against=against
        )
    finally:
        await store.close()


async def test_a_store_has_passed_every_earlier_head(tmp_path: Path) -> None:
    early = await a_store(tmp_path / "early", "One")
    position, digest = early.heads[MIDDLE_EARTH]

    late = await a_store(tmp_path / "early", against={MIDDLE_EARTH: (position, digest)})
    before = await a_store(tmp_path / "early", against={})

    assert early.findings == late.findings == before.findings == ()
    assert position == 2


async def test_a_truncated_tail_is_reported_though_the_chain_is_valid(tmp_path: Path) -> None:
    whole = await a_store(tmp_path / "whole", "One", "Two")

    cut = await a_store(tmp_path / "cut", "One", against=whole.heads)

    (finding,) = cut.findings
    assert finding.where == f"{MIDDLE_EARTH} at position 3"
    assert finding.what == "the log ends at 2: its tail was cut off"


async def test_a_replaced_commit_is_reported(tmp_path: Path) -> None:
    true = await a_store(tmp_path / "true", "One", "Two")

    forged = await a_store(tmp_path / "forged", "One", "Three", against=true.heads)

    (finding,) = forged.findings
    assert finding.what == "the recorded commit was replaced by another"


@pytest.mark.parametrize("within", [True, False])
def test_heads_are_read_as_written(within: bool) -> None:
    written = {"heads": {MIDDLE_EARTH: [3, "ab"]}}
    text = json.dumps({"manifest": written} if within else written).encode()

    assert heads_from(text, "manifest.json") == {MIDDLE_EARTH: (3, "ab")}


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b'{"heads": []}', b'{"heads": {"a": [1]}}', b'{"manifest": 5}']
)
def test_an_invalid_manifest_is_named(text: bytes) -> None:
    with pytest.raises(InvalidInput) as refused:
        heads_from(text, "manifest.json")

    assert refused.value.code == "manifest.unreadable"
    assert refused.value.details["path"] == "manifest.json"
