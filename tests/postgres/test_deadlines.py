"""The server stops the statement of a caller who gives up, and no caller waits without end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from canonry.gateway.limits import run_within
from canonry.log.commits import Appended
from canonry.stores.postgres import Database
from canonry.stores.postgres.database import PgConnection, fetch_rows
from canonry.stores.postgres.ledger import PostgresLedger
from canonry.stores.postgres.store import migrate_store
from canonry.testing.clocks import CountingIdentities, HandClock, Scribe
from canonry.testing.conformance.kit import require_part
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries
from canonry.values.errors import InvalidInput, Unavailable
from tests.conformance.postgres_store import URL, drop_data, open_schemas
from tests.server.recall_world import becomes

pytestmark = pytest.mark.anyio
RUNNING = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%%'"
)


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    opened = Database(URL, f"test_{uuid4().hex}", deadline=0.5)
    await migrate_store(opened)
    await opened.open()
    yield opened
    await opened.close()
    await drop_data(opened.name)


async def test_a_cancelled_call_stops_its_statement(database: Database) -> None:
    call = asyncio.ensure_future(database.fetch_rows("SELECT pg_sleep(100)"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call, 0.2)

    assert await database.fetch_rows(RUNNING) == [(0,)]


async def test_a_call_ends_with_its_deadline_and_so_does_its_statement(database: Database) -> None:
    async def sleep(db: PgConnection) -> object:
        return await fetch_rows(db, "SELECT pg_sleep(100)")

    for ask in (database.attempt_work, database.read_transaction, database.write_transaction):
        with pytest.raises(Unavailable) as caught:
            await run_within(0.2, ask(sleep))

        assert caught.value.code == "call.deadline"
        assert await database.fetch_rows(RUNNING) == [(0,)]


async def test_the_server_knows_the_remaining_time_of_a_call(database: Database) -> None:
    async def asked() -> object:
        return await database.fetch_rows("SHOW statement_timeout")

    async def composed() -> object:
        return await run_within(600, asked())

    assert await run_within(120, asked()) == [("2min",)]
    assert await run_within(7, asked()) == [("10s",)]
    assert await run_within(7, composed()) == [("10s",)]
    assert await asked() == [("1s",)]


async def test_a_cancelled_append_waits_for_no_lock(tmp_path: Path) -> None:
    async with open_schemas(tmp_path) as opened:
        backend = await opened.fresh()
        other = await require_part(backend.second)()
        scribe = Scribe(backend.canon, "stopped")
        await scribe.append_batch([scribe.next_append(creation_entries(a_fact("first")))])
        drafts = [scribe.next_append(creation_entries(a_fact(f"{n}"))) for n in range(3)]
        async with other.canon.ledger.lock_appends():
            for done in [asyncio.ensure_future(scribe.append_batch([each])) for each in drafts]:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(done, 0.2)

            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
            database = Database(URL, "unused", connections=1)
            await database.open()
            await becomes(lambda: return_none(database, waiting), "nobody waits for a lock")
            await database.close()

        assert await backend.canon.ledger.head_position(MIDDLE_EARTH) == 1
        (outcome,) = await scribe.append_batch([drafts[1]])
        assert isinstance(outcome, Appended)


async def return_none(database: Database, statement: str) -> bool | None:
    return (await database.fetch_rows(statement))[0][0] == 0 or None


async def test_the_server_stops_a_statement_that_takes_too_long(
    database: Database,
) -> None:
    with pytest.raises(Unavailable) as caught:
        await database.fetch_rows("SELECT pg_sleep(100)")

    assert caught.value.code == "store.deadline"


async def test_prepared_statements_forgotten_by_the_server_are_sent_again(
    database: Database,
) -> None:
    async def forget(db: PgConnection) -> None:
        await db.execute("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")

    async def write(db: PgConnection) -> list[tuple[object, ...]]:
        return await fetch_rows(db, "SELECT %s::int", (1,))

    for ask in (database.attempt_work, database.write_transaction):
        for _ in range(10):  # so often that the driver has them prepared
            assert await ask(write) == [(1,)]
        await database.attempt_work(forget)

        assert await ask(write) == [(1,)]


async def test_a_lock_is_released_although_the_server_forgot_the_statement() -> None:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    name, ledgers = f"test_{uuid4().hex}", list[PostgresLedger]()
    async with AsyncExitStack() as closing:
        for n in range(2):
            database = Database(URL, name, connections=1)
            closing.push_async_callback(database.close)
            await database.open()
            ledgers.append(PostgresLedger(database, HandClock(), CountingIdentities(prefix=n)))
        first, second = ledgers
        for _ in range(10):  # so often that the driver has its statements prepared
            async with first.lock_appends():
                pass

        async with first.lock_appends():
            assert first._own is not None
            await first._own.execute("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")

        async with asyncio.timeout(5), second.lock_appends():
            pass


async def test_a_cancelled_block_leaves_no_uncertain_connection(database: Database) -> None:
    async def wait(db: PgConnection) -> None:
        used.append(db)
        await fetch_rows(db, "SELECT pg_sleep(100)")

    used: list[PgConnection] = []
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.ensure_future(database.write_transaction(wait)), 0.2)

    assert [each.closed for each in used] == [True]
    assert await database.fetch_rows("SELECT 1") == [(1,)]


async def test_a_text_with_nul_is_refused_and_the_connection_survives(database: Database) -> None:
    with pytest.raises(InvalidInput) as caught:
        await database.fetch_rows("SELECT %s::text", ("a\0b",))

    assert caught.value.code == "text.unreadable"
    assert await database.fetch_rows("SELECT 1") == [(1,)]
