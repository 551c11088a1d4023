"""MongoDB slow, silent, cut off or full: it is stated in time, and nothing is lost or twice."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from pymongo.errors import BulkWriteError

from canonry.app.backends.mongodb import SplitStore, open_mongodb
from canonry.stores.mongodb.database import as_canonry, is_taken, is_unsure
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries, uuid_of
from canonry.values.errors import CanonryError, Unavailable
from tests.conformance.kills import require_whole, written_while
from tests.conformance.mongodb_store import URL, drop_data, require_server, server_of_our_own
from tests.faults.disks import WORDS, Filling, limit_files
from tests.faults.relay import Relay, relayed_url
from tests.faults.repeating import require_in_time_and_once
from tests.servers.documents import Documents

pytestmark = pytest.mark.anyio
ROOM = 1_500_000


@asynccontextmanager
async def open_store(url: str, folder: Path) -> AsyncIterator[SplitStore]:
    store = await open_mongodb(url, database=f"test_{uuid4().hex}", folder=folder)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def relayed(tmp_path: Path) -> AsyncIterator[tuple[Relay, SplitStore]]:
    require_server()
    async with relayed_url(URL) as (relay, url), open_store(url, tmp_path) as store:
        yield relay, store
    await drop_data(store.store.database.name)


@pytest.fixture
def server() -> Iterator[Documents]:
    yield from server_of_our_own(91)


async def test_a_slow_server_loses_nothing_and_recovers(
    relayed: tuple[Relay, SplitStore],
) -> None:
    relay, store = relayed

    async def slow() -> None:
        relay.delay = 0.05
        await asyncio.sleep(1)
        relay.delay = 0.0

    acknowledged = await written_while(store.canon, slow)

    await require_whole(store.canon, store.maintenance, acknowledged)
    assert await store.canon.ledger.head_position(MIDDLE_EARTH) == len(acknowledged)


@pytest.mark.parametrize("harm", ["silent", "away"])
async def test_a_call_ends_in_time_without_an_answer_and_is_repeated_once(
    relayed: tuple[Relay, SplitStore], harm: str
) -> None:
    relay, store = relayed
    scribe = Scribe(store.canon)
    await scribe.make_items(a_fact("before"))
    late = scribe.next_append(creation_entries(a_fact("late")))
    relay.delay, relay.away = (30.0, False) if harm == "silent" else (0.0, True)
    await relay.cut_lines()

    await require_in_time_and_once(store, relay, scribe, late)


async def test_a_full_disk_refuses_writes_until_there_is_room(
    server: Documents, tmp_path: Path
) -> None:
    async with open_store(server.url, tmp_path) as store:
        filling = Filling(store.canon)

        with limit_files(server.process(), ROOM):
            for _ in range(3):
                with pytest.raises(Unavailable) as refused:
                    await filling.write_facts(range(1_000))
                assert refused.value.code in {"ledger.full", "store.failing"}
                assert "disk" in refused.value.message
            assert filling.acknowledged
            first = uuid_of(f"0 {WORDS}")
            assert first in await store.canon.state.items_by_id([first])
        before = len(filling.acknowledged)
        await filling.write_facts(range(1_000, 1_005))

        assert len(filling.acknowledged) == before + 5
        await require_whole(store.canon, store.maintenance, filling.acknowledged)


@pytest.mark.parametrize(
    ("stated", "code", "unsure", "taken"),
    [
        ({"writeErrors": [{"code": 14031, "errmsg": "no room"}]}, "ledger.full", False, False),
        ({"writeErrors": [{"code": 8, "errmsg": "disk"}]}, "store.failing", False, False),
        ({"writeErrors": [{"code": 13, "errmsg": "who"}]}, "store.read-only", False, False),
        ({"writeErrors": [{"code": 11000, "errmsg": "two"}]}, "store.failed", False, True),
        ({"writeConcernErrors": [{"code": 64, "errmsg": "late"}]}, "store.failed", True, False),
    ],
)
def test_a_partially_refused_insert_is_reported(
    stated: dict[str, object], code: str, unsure: bool, taken: bool
) -> None:
    error = BulkWriteError(stated)

    assert (is_unsure(error), is_taken(error)) == (unsure, taken)
    canonry = as_canonry(error)
    assert isinstance(canonry, CanonryError)
    assert canonry.code == code
