"""A store that a former version wrote opens as it is, and nothing of it is lost."""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import open_embedded
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.log.items.scenes import Turn
from canonry.log.items.sources import DEFAULT_USER
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.records.toolset import TRUTH
from tests.cli.run import Done, run_canonry

pytestmark = pytest.mark.anyio

STORE = Path(__file__).with_name("store.tar.xz")
INVOICE = b"Invoice INV-7\nAmount due: 120.50 EUR\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The store as it lay when the former version had closed it."""
    folder = tmp_path / "data"
    with tarfile.open(STORE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def run_on(data: Path, *words: str) -> Done:
    done = run_canonry(*words, "--data", str(data))
    assert done.returncode == 0, done.stderr
    return done


def verify_store(data: Path, heads: Path) -> dict[str, Any]:
    reply: dict[str, Any] = json.loads(
        run_on(data, "verify", "--json", "--against", str(heads)).stdout
    )
    return reply


def test_a_store_of_an_earlier_version_is_verified_and_rebuilt(data: Path) -> None:
    heads = data / "heads.json"

    first = verify_store(data, heads)
    run_on(data, "rebuild")
    again = verify_store(data, heads)

    assert (first["commits"], first["findings"]) == (65, [])
    assert again == first


def test_the_log_of_an_earlier_store_is_exported_and_imported(data: Path, tmp_path: Path) -> None:
    log, files, copy = tmp_path / "log.jsonl", tmp_path / "log-files", tmp_path / "copy"
    run_on(data, "export", str(log), "--files", str(files))
    run_on(copy, "import", "log", str(log), "--files", str(files))
    run_on(copy, "export", str(tmp_path / "again.jsonl"))

    assert log.read_bytes() == (tmp_path / "again.jsonl").read_bytes()
    assert log.read_bytes().count(b"\n") >= 65
    assert verify_store(copy, data / "heads.json")["findings"] == []


async def test_words_and_former_names_find_items_of_an_earlier_store(data: Path) -> None:
    store = await open_embedded(data)
    try:
        found = await store.canon.text.search(
            TextQuery(collection=Collection.SCENES, text="net menders quay")
        )
        best = found.hits[0].id
        turn = (await store.canon.state.items_by_id([best]))[best]
        assert isinstance(turn, Turn)
        assert "net menders on the quay" in turn.text

        reader = Principal(agent_id="reader", agent_type="anyone")
        gateway = Gateway(store.canon, [TRUTH])
        asked = {"identifier": "Ada Wren"}
        outcome = await gateway.call("get_entity_by_identifier", asked, reader)
        (entity,) = json.loads(outcome.text)["entities"]
        assert entity["canonical_name"] == "Ada Heron"

        (kept,) = (data / "files" / DEFAULT_USER).rglob("5b3cb9*")
        assert kept.read_bytes() == INVOICE
    finally:
        await store.close()
