"""Upkeep of one store by several at once: nobody harms another's work, and erased stays erased."""

import asyncio
from pathlib import Path

import pytest

from canonry.app.embedded import open_embedded
from canonry.log.entries import Erased
from canonry.stores.sqlite import Durability
from canonry.stores.sqlite.backups import FOLDER
from canonry.testing.clocks import an_append
from canonry.testing.example_items import MIDDLE_EARTH, a_space, a_turn, creation_entries, uuid_of

pytestmark = pytest.mark.anyio

TURNS = 60
ERASED = tuple(uuid_of(f"turn {n}") for n in range(5))


def ignore_progress(done: int, total: int | None) -> None:
    """Nobody listens."""


async def test_concurrent_rebuild_and_purge_keep_erased_data_erased(tmp_path: Path) -> None:
    here = await open_embedded(tmp_path, durability=Durability.NORMAL)
    there = await open_embedded(tmp_path, durability=Durability.NORMAL)
    try:
        ledger = here.canon.ledger
        await ledger.append_drafts([an_append("space", creation_entries(a_space()))])
        for n in range(TURNS):
            turn = a_turn(f"turn {n}", text=f"secretword{n} by the fire")
            await ledger.append_drafts([an_append(f"{n}", creation_entries(turn))])
        await ledger.append_drafts(
            [an_append("erased", [Erased(targets=ERASED, reason="a right")])]
        )

        folded, dropped, again, twice, seen = await asyncio.gather(
            here.maintenance.rebuild(ignore_progress),
            there.maintenance.purge(MIDDLE_EARTH, ERASED),
            here.maintenance.purge(MIDDLE_EARTH, ERASED[:2]),
            there.maintenance.rebuild(ignore_progress),
            there.maintenance.verify(ignore_progress),
        )

        assert folded == twice == TURNS + 2
        assert dropped + again == len(ERASED)
        assert seen.findings == ()
        assert (await here.maintenance.verify(ignore_progress)).findings == ()
    finally:
        await here.close()
        await there.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path.name for path in files if b"secretword3 " in path.read_bytes()]
    assert not (tmp_path / FOLDER).exists()


async def test_a_purge_removes_leftovers_of_a_killed_process(tmp_path: Path) -> None:
    store = await open_embedded(tmp_path, durability=Durability.NORMAL)
    try:
        await store.canon.ledger.append_drafts([an_append("space", creation_entries(a_space()))])
        left = tmp_path / FOLDER / "left"
        left.mkdir(parents=True)
        (left / "views.db").write_text("what was erased")

        await store.maintenance.purge(MIDDLE_EARTH, [])

        assert not left.exists()
    finally:
        await store.close()
