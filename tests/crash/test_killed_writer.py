"""A writer killed with -9 at any point loses nothing it acknowledged, and doubles nothing."""

import asyncio
import random
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from canonry.app.embedded import open_embedded
from canonry.log.commits import Appended
from canonry.readmodels.ports.state import FactQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.stores.sqlite import Durability
from canonry.testing.example_items import MIDDLE_EARTH, uuid_of
from canonry.values.ids import EntityId
from tests.crash.lives import a_life, judge_store
from tests.crash.writer import commit, request

LIVES = 3

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")


@pytest.mark.parametrize("work", ["singly", "together", "in_batches", "with_blobs"])
def test_repeated_kills_while_writing_lose_nothing(tmp_path: Path, work: str) -> None:
    lots = random.Random(f"killed {work}")
    acknowledged: list[str] = []
    for number in range(LIVES):
        with a_life(tmp_path / "store", work, f"life {number}") as life:
            life.hear_lines(lots.randrange(1, 40 if work == "with_blobs" else 200))
            acknowledged += life.kill_writer()
        judge_store(tmp_path / "store", acknowledged)


@pytest.mark.parametrize("work", ["rebuilding", "backing_up", "purging"])
def test_repeated_kills_during_maintenance_lose_nothing(tmp_path: Path, work: str) -> None:
    lots = random.Random(f"killed {work}")
    acknowledged: list[str] = []
    with a_life(tmp_path / "store", "together", "before") as life:
        life.hear_lines(100)
        acknowledged += life.kill_writer()
    for number in range(LIVES):
        with a_life(tmp_path / "store", work, f"life {number}") as life:
            life.hear_progress(lots.randrange(1, 9))
            acknowledged += life.kill_writer()
        judge_store(tmp_path / "store", acknowledged)


def test_a_process_killed_in_an_exclusive_block_releases_the_others(tmp_path: Path) -> None:
    """Another process is about to open the store, or waits for its turn, when that happens."""
    with a_life(tmp_path / "store", "holding", "held") as holder:
        holder.hear_lines(1)
        with a_life(tmp_path / "store", "singly", "other") as other:
            acknowledged = holder.kill_writer()
            other.hear_lines(20)
            acknowledged += other.kill_writer()
    judge_store(tmp_path / "store", acknowledged)


def test_a_kill_during_store_creation_is_harmless(tmp_path: Path) -> None:
    """At the moment in which its file appears, and a little later each time."""
    for number in range(LIVES):
        folder = tmp_path / f"store {number}"
        with a_life(folder, "singly", "first") as life:
            wait_for(folder / "canon.db")
            for _ in range(number * 20_000):
                pass
            acknowledged = life.kill_writer()
        judge_store(folder, acknowledged)


def wait_for(path: Path) -> None:
    """Look until the file is there; its making lasts too short for any slower way."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, "the writer made no store"


def test_a_full_disk_refuses_writes_until_there_is_room(tmp_path: Path) -> None:
    with a_life(tmp_path / "store", "filling", "full") as life:
        life.hear_progress(1)
        acknowledged = life.kill_writer()
    assert [f"full/after/{n}" for n in range(20)] == acknowledged[-20:]
    judge_store(tmp_path / "store", acknowledged)


def test_a_page_shows_one_state_while_a_neighbour_writes(tmp_path: Path) -> None:
    """A page's count equals its rows, and no row disappears again."""

    async def read() -> None:
        store = await open_embedded(tmp_path / "store", durability=Durability.NORMAL)
        frodo = frozenset((EntityId(uuid_of("frodo")),))
        seen = 0
        try:
            for n in count():
                query = FactQuery(entities=frodo if n % 2 else frozenset(), limit=PAGE_MAX)
                page = await store.canon.state.facts(query)
                assert len(page.items) == min(page.total, PAGE_MAX)
                assert page.total >= seen
                seen = page.total
                if seen >= PAGE_MAX:
                    break
        finally:
            await store.close()

    with a_life(tmp_path / "store", "together", "busy") as life:
        life.hear_lines(1)
        asyncio.run(read())
        acknowledged = life.kill_writer()
    judge_store(tmp_path / "store", acknowledged)


def test_a_killed_neighbour_does_not_stop_a_writer(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    with a_life(tmp_path / "store", "together", "steady") as steady:
        for number in range(LIVES):
            with a_life(tmp_path / "store", "together", f"life {number}") as life:
                life.hear_lines(50)
                acknowledged += life.kill_writer()
            steady.hear_lines(50)
        acknowledged += steady.kill_writer()
    judge_store(tmp_path / "store", acknowledged)


def test_resending_an_unacknowledged_write_settles_it(tmp_path: Path) -> None:
    """The same id gives one commit, no matter if the first attempt was stored."""
    with a_life(tmp_path / "store", "together", "first") as life:
        life.hear_lines(60)
        acknowledged = life.kill_writer()
    expected = [f"first/{writer}/{n}" for writer in range(16) for n in range(30)]

    async def send_again() -> None:
        store = await open_embedded(tmp_path / "store", durability=Durability.NORMAL)
        try:
            for name in expected:
                head = await store.canon.ledger.head_position(MIDDLE_EARTH)
                (outcome,) = await store.canon.ledger.append_drafts([request(name, head=head)])
                assert isinstance(outcome, Appended)
                assert outcome.replayed or name not in acknowledged
            await commit(store, "and on")
        finally:
            await store.close()

    asyncio.run(send_again())
    judge_store(tmp_path / "store", [*acknowledged, *expected, "and on"])
