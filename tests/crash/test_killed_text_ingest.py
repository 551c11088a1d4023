"""A text whose telling is killed with -9 is one document when it is stated again with its key."""

import asyncio
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from canonry.app.embedded import open_embedded
from canonry.stores.sqlite import Durability
from canonry.values.ids import SpaceId
from tests.crash.lives import a_life
from tests.crash.writer import ingest_text

LIVES = 3

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")


def test_repeated_kills_while_recording_texts_lose_nothing(tmp_path: Path) -> None:
    lots = random.Random("telling")
    acknowledged: list[str] = []
    for number in range(LIVES):
        with a_life(tmp_path / "store", "recording_texts", f"life {number}") as life:
            life.hear_lines(lots.randrange(1, 20))
            acknowledged += life.kill_writer()
        acknowledged = asyncio.run(judge_texts(tmp_path / "store", acknowledged))


async def judge_texts(folder: Path, acknowledged: Sequence[str]) -> list[str]:
    """Return the names of all recorded texts, each of which is one document."""
    store = await open_embedded(folder, durability=Durability.NORMAL)
    try:
        life, _, number = acknowledged[-1].rpartition("/")
        names = [*acknowledged, f"{life}/{int(number) + 1}"]
        found = {name: await ingest_text(store, name) for name in names[-2:]}
        (space,) = [head.space for head in await store.canon.ledger.list_heads(limit=9)]
        known = (await store.canon.state.sources(SpaceId(space), limit=500, offset=0)).items
        assert sorted(each.title for each in known) == sorted(names)
        assert {each.title: each.id for each in known}.items() >= found.items()
        for each in known:
            passages = await store.canon.documents.snippets(each.id, limit=9, offset=0)
            assert [one.text.partition(":")[0] for one in passages.items] == [each.title]
        return names
    finally:
        await store.close()
