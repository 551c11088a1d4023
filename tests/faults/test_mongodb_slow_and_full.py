"""MongoDB slow, silent, cut off or full: it is told in time, and nothing is lost or twice."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from pymongo.errors import BulkWriteError

from canonry.adapters.mongodb.faults import as_canonry, is_taken, is_unsure
from canonry.bootstrap.backends.polyglot import Polyglot, open_polyglot
from canonry.domain.errors import CanonryError, Unavailable
from canonry.domain.log.commits import Appended
from canonry.gateway.limits import within
from canonry.testing.scribe import Scribe
from canonry.testing.things import MIDDLE_EARTH, a_fact, ident, made
from tests.conformance.kills import require_whole, written_while
from tests.conformance.mongodb_store import URL, dropped, require_server
from tests.faults.disks import full
from tests.faults.relay import Relay, relayed_url
from tests.faults.repeating import repeated
from tests.servers.documents import Documents
from tests.servers.processes import PORT, ROOT

pytestmark = pytest.mark.anyio
WORDS = " ".join(f"{n * 7919:x}" for n in range(2_000))
ROOM = 1_500_000


@asynccontextmanager
async def opened(url: str, folder: Path) -> AsyncIterator[Polyglot]:
    store = await open_polyglot(url, database=f"test_{uuid4().hex}", folder=folder)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def relayed(tmp_path: Path) -> AsyncIterator[tuple[Relay, Polyglot]]:
    require_server()
    async with relayed_url(URL) as (relay, url), opened(url, tmp_path) as store:
        yield relay, store
    await dropped(store.store.database.name)


@pytest.fixture
def server() -> Iterator[Documents]:
    require_server()
    if not (ROOT / "documents.python").is_file():
        pytest.skip("no server of documents of our own: `make servers` starts one")
    own = Documents(name=f"documents-{uuid4().hex}", port=PORT + 91)
    own.start()
    yield own
    own.stop(signal.SIGKILL)


async def test_a_slow_server_loses_nothing_and_is_quick_again_when_it_is(
    relayed: tuple[Relay, Polyglot],
) -> None:
    relay, store = relayed

    async def slow() -> None:
        relay.delay = 0.05
        await asyncio.sleep(1)
        relay.delay = 0.0

    acknowledged = await written_while(store.canon, slow)

    await require_whole(store.canon, store.upkeep, acknowledged)
    assert await store.canon.ledger.head(MIDDLE_EARTH) == len(acknowledged)


@pytest.mark.parametrize("harm", ["silent", "away"])
async def test_a_call_ends_in_time_while_nothing_answers_and_is_repeated_once(
    relayed: tuple[Relay, Polyglot], harm: str
) -> None:
    relay, store = relayed
    scribe = Scribe(store.canon)
    await scribe.make(a_fact("before"))
    late = scribe.next(made(a_fact("late")))
    relay.delay, relay.away = (30.0, False) if harm == "silent" else (0.0, True)
    await relay.cut()

    for ask in (store.canon.ledger.head(MIDDLE_EARTH), scribe.append([late])):
        began = asyncio.get_running_loop().time()
        with pytest.raises(Unavailable) as told:
            await within(0.5, ask)
        assert told.value.code in {"call.deadline", "store.deadline", "store.unreachable"}
        assert asyncio.get_running_loop().time() - began < 3
    relay.delay, relay.away = 0.0, False
    await relay.cut()

    assert isinstance(await repeated(scribe, late), Appended)
    await require_whole(store.canon, store.upkeep, {late.draft.id})
    assert await store.canon.ledger.head(MIDDLE_EARTH) == 2


async def test_a_full_disk_refuses_writes_until_there_is_room(
    server: Documents, tmp_path: Path
) -> None:
    async with opened(server.url, tmp_path) as store:
        acknowledged: set[str] = set()

        async def write(n: int) -> None:
            scribe = Scribe(store.canon, f"full {n}")
            head = await store.canon.ledger.head(MIDDLE_EARTH)
            draft = scribe.next(made(a_fact(f"{n} {WORDS}")), judged_at=head)
            (outcome,) = await scribe.append([draft])
            assert isinstance(outcome, Appended)
            acknowledged.add(draft.draft.id)

        async def write_on() -> None:
            for n in range(1_000):
                await write(n)

        with full(server.process(), ROOM):
            for _ in range(3):
                with pytest.raises(Unavailable) as refused:
                    await write_on()
                assert refused.value.code in {"ledger.full", "store.failing"}
                assert "disk" in refused.value.message
            assert acknowledged
            first = ident(f"0 {WORDS}")
            assert first in await store.canon.state.things([first])
        before = len(acknowledged)
        for n in range(1_000, 1_005):
            await write(n)

        assert len(acknowledged) == before + 5
        await require_whole(store.canon, store.upkeep, acknowledged)


@pytest.mark.parametrize(
    ("told", "code", "unsure", "taken"),
    [
        ({"writeErrors": [{"code": 14031, "errmsg": "no room"}]}, "ledger.full", False, False),
        ({"writeErrors": [{"code": 8, "errmsg": "disk"}]}, "store.failing", False, False),
        ({"writeErrors": [{"code": 13, "errmsg": "who"}]}, "store.read-only", False, False),
        ({"writeErrors": [{"code": 11000, "errmsg": "two"}]}, "store.failed", False, True),
        ({"writeConcernErrors": [{"code": 64, "errmsg": "late"}]}, "store.failed", True, False),
    ],
)
def test_what_one_insert_of_many_was_refused_for_is_told(
    told: dict[str, object], code: str, unsure: bool, taken: bool
) -> None:
    error = BulkWriteError(told)

    assert (is_unsure(error), is_taken(error)) == (unsure, taken)
    canonry = as_canonry(error)
    assert isinstance(canonry, CanonryError)
    assert canonry.code == code
