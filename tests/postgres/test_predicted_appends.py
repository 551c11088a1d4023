"""A machine that follows the log appends in one round trip, as if it had looked at everything."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psycopg
import pytest

from canonry.canon.session.canon import Canon
from canonry.gateway.limits import run_within
from canonry.log.commits import ORIGIN, Append, Appended, Stale
from canonry.log.entries import FactRetconned, Tombstone
from canonry.log.folding import item_key
from canonry.stores.postgres import ledger as foreknowing
from canonry.stores.postgres.database import PgConnection, run_transaction
from canonry.stores.postgres.ledger import WriteNotifier
from canonry.stores.projections.projector import Projector
from canonry.testing.clocks import Scribe
from canonry.testing.conformance.kit import Backend, require_part
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries, uuid_of
from canonry.values.ids import FactId
from tests.conformance.postgres_store import URL, open_schemas
from tests.faults.relay import Relay, relayed_url

pytestmark = pytest.mark.anyio
T = TypeVar("T")


@dataclass
class Machine:
    """A machine with a copy, and how often it waits for the server."""

    canon: Canon
    server: Backend
    relay: Relay

    def make_draft(self, name: str, *reads: str, judged_at: int = 0) -> Append:
        return Scribe(self.canon, name).next_append(
            creation_entries(a_fact(name, "frodo")), judged_at=judged_at, reads=reads
        )

    async def append_draft(self, draft: Append) -> Appended | Stale:
        (outcome,) = await self.canon.ledger.append_drafts([draft])
        return outcome

    async def count_trips(self, work: Awaitable[T]) -> tuple[int, T]:
        before = self.relay.trips
        done = await work
        return self.relay.trips - before, done

    async def read_commits(self) -> list[str]:
        log = await self.server.canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=100)
        return [commit.id for commit in log]

    async def require_whole(self) -> None:
        verified = await require_part(self.server.maintenance).verify(lambda *_: None)
        assert verified.findings == ()


@pytest.fixture
async def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Machine]:
    monkeypatch.setattr(WriteNotifier, "notify_write", lambda _: None)  # which nobody waits for
    monkeypatch.setattr(Projector, "keep_up", wait_forever)  # nobody looks on the side
    async with open_schemas(tmp_path) as opened, relayed_url(URL) as (relay, opened.url):
        server = await opened.fresh()
        machine = Machine(server.canon, server, relay)
        await Scribe(server.canon, "before").make_items(a_fact("before", "frodo"))
        yield machine
        await machine.require_whole()
        assert server.close is not None
        await server.close()


async def wait_forever(_: Projector) -> None:
    await asyncio.Event().wait()


async def in_a_call(call: Callable[[], Coroutine[Any, Any, None]]) -> None:
    await run_within(60, call())


async def test_an_append_is_one_round_trip_and_its_reads_need_none(
    machine: Machine,
) -> None:
    async def call() -> None:
        head = await machine.canon.ledger.head_position(MIDDLE_EARTH)
        for n in range(3):
            name = f"told {n}"
            trips, outcome = await machine.count_trips(
                machine.append_draft(
                    machine.make_draft(name, item_key(uuid_of(name)), judged_at=head + n)
                )
            )
            assert (trips, isinstance(outcome, Appended)) == (1, True)
            trips, items = await machine.count_trips(
                machine.canon.state.items_by_id([uuid_of(name)])
            )
            assert (trips, uuid_of(name) in items) == (0, True)

    await in_a_call(call)


async def test_an_append_after_a_foreign_write_is_judged_again(machine: Machine) -> None:
    other = await require_part(machine.server.second)()

    async def call() -> None:
        head = await machine.canon.ledger.head_position(MIDDLE_EARTH)
        await Scribe(other.canon, "other").make_items(a_fact("other", "frodo"))
        beside = machine.make_draft("beside", item_key(uuid_of("beside")), judged_at=head)
        assert isinstance(await machine.append_draft(beside), Appended)
        on_it = machine.make_draft("on it", item_key(uuid_of("other")), judged_at=head)
        assert isinstance(await machine.append_draft(on_it), Stale)

    await in_a_call(call)
    assert len(await machine.read_commits()) == 3


async def test_after_repeated_conflicts_an_append_reads_first(machine: Machine) -> None:
    other = await require_part(machine.server.second)()
    trips: list[int] = []

    def call_beside(others: Scribe | None) -> Callable[[], Coroutine[Any, Any, None]]:
        async def call() -> None:
            head = await machine.canon.ledger.head_position(MIDDLE_EARTH)
            if others is not None:
                await others.make_items(a_fact(f"other {len(trips)}", "frodo"))
            draft = machine.make_draft(f"told {len(trips)}", judged_at=head)
            trips.append((await machine.count_trips(machine.append_draft(draft)))[0])

        return call

    scribe = Scribe(other.canon, "other")
    for others in [scribe] * 4 + [None] * 4:
        await in_a_call(call_beside(others))

    assert min(trips[:2]) > 3
    assert max(trips[3:5]) <= 3
    assert trips[-1] == 1


async def test_an_append_whose_answer_was_lost_is_found(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[PgConnection] = []

    async def lose(db: PgConnection, work: Callable[[PgConnection], Awaitable[T]]) -> T:
        done = await run_transaction(db, work)
        if not lost:
            lost.append(db)
            await db.close()
            raise psycopg.OperationalError("the line is cut")
        return done

    async def call() -> None:
        head = await machine.canon.ledger.head_position(MIDDLE_EARTH)
        monkeypatch.setattr(foreknowing, "run_transaction", lose)
        outcome = await machine.append_draft(machine.make_draft("lost", judged_at=head))
        assert isinstance(outcome, Appended)
        assert (outcome.position, outcome.replayed) == (head + 1, False)
        assert uuid_of("lost") in await machine.canon.state.items_by_id([uuid_of("lost")])

    await in_a_call(call)
    assert (len(lost), len(await machine.read_commits())) == (1, 2)


async def test_an_append_already_in_the_log_is_not_written_again(machine: Machine) -> None:
    async def call() -> None:
        head = await machine.canon.ledger.head_position(MIDDLE_EARTH)
        draft = machine.make_draft("once", judged_at=head)
        first, again = await machine.append_draft(draft), await machine.append_draft(draft)
        assert isinstance(first, Appended)
        assert isinstance(again, Appended)
        assert (again.position, again.replayed) == (first.position, True)

    await in_a_call(call)
    assert len(await machine.read_commits()) == 2


async def test_data_erased_elsewhere_does_not_return_from_the_replica(
    machine: Machine,
) -> None:
    secret = uuid_of("before")
    retcon = FactRetconned(fact_id=FactId(secret), replaced_by=None, reason="never")

    async def call() -> None:
        assert secret in await machine.canon.state.items_by_id([secret])
        await require_part(machine.server.maintenance).purge(MIDDLE_EARTH, [secret])
        head = await machine.canon.ledger.head_position(MIDDLE_EARTH)
        await machine.append_draft(
            Scribe(machine.canon, "late").next_append([retcon], judged_at=head)
        )

    await in_a_call(call)
    found = (await machine.server.canon.state.items_by_id([secret])).get(secret)
    assert found is None or isinstance(found, Tombstone)


async def test_concurrent_writers_are_judged_one_after_another(machine: Machine) -> None:
    outcomes: list[Appended | Stale] = []

    head = await machine.canon.ledger.head_position(MIDDLE_EARTH)

    async def write(n: int) -> None:
        async def call() -> None:
            throne = item_key(uuid_of(f"throne {n % 4}"))
            entries = creation_entries(a_fact(f"throne {n % 4}", f"heir {n}"))
            draft = Scribe(machine.canon, f"{n}").next_append(
                entries, judged_at=head, reads=[throne]
            )
            outcomes.append(await machine.append_draft(draft))

        await in_a_call(call)

    await asyncio.gather(*(write(n) for n in range(12)))

    found = [type(each) for each in outcomes]
    assert (found.count(Appended), found.count(Stale)) == (4, 8)
