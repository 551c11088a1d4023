"""A database of a former version, which kept views in it, opens as it is and loses nothing."""

import asyncio
import json
import lzma
from collections.abc import AsyncIterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import errors, sql

from canonry.app.backends.postgres import Shared, open_postgres
from canonry.app.doctor import report_nothing
from canonry.canon.maintenance.log_transfer import export_log
from canonry.log.entries import Tombstone
from canonry.log.sealing import MIN_READER
from canonry.stores.postgres import Database, PostgresBlobs
from canonry.stores.postgres.ledger import ENTER
from canonry.stores.postgres.store import SCHEMA_VERSION, migrate_store
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import a_fact, uuid_of
from tests.conformance.postgres_store import URL, drop_data

pytestmark = pytest.mark.anyio
FORMER: Mapping[str, Any] = json.loads(
    lzma.decompress(Path(__file__).with_name("former.json.xz").read_bytes())
)
"""A store that the version with views in PostgreSQL wrote: its views, rows, and export."""

RECORDS = ("0001_records.sql", "0002_shards.sql")


@pytest.fixture
async def name() -> AsyncIterator[str]:
    """The schema of a store as the former version left it."""
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    made = f"test_{uuid4().hex}"
    migrations = files("canonry.stores.postgres") / "migrations"
    async with await psycopg.AsyncConnection.connect(URL, autocommit=True) as db:
        for schema in (made, f"{made}_views"):
            await db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        await looking_in(db, made)
        for each in RECORDS:
            await db.execute((migrations / each).read_text())
        await looking_in(db, f"{made}_views", made)
        await db.execute(FORMER["views"])
        for table, rows in FORMER["tables"].items():
            async with db.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                await copy.write(rows)
    yield made
    await drop_data(made)


async def looking_in(db: psycopg.AsyncConnection[Any], *schemas: str) -> None:
    path = sql.SQL(", ").join(map(sql.Identifier, schemas))
    await db.execute(sql.SQL("SET search_path = {}").format(path))


async def open_store(name: str, folder: Path) -> Shared:
    return await open_postgres(URL, schema=name, folder=folder, connections=3)


async def export_store(store: Shared) -> Sequence[str]:
    return [line.decode() async for line in export_log(store.canon.ledger, report_nothing)]


async def test_an_earlier_store_exports_the_same_bytes_and_continues(
    name: str, tmp_path: Path
) -> None:
    async with await open_store(name, tmp_path) as store:
        assert await export_store(store) == FORMER["export"]
        assert (await store.maintenance.verify(report_nothing)).findings == ()
        items = await store.canon.state.items_by_id([uuid_of("frodo"), uuid_of("secret")])
        assert isinstance(items[uuid_of("secret")], Tombstone)
        assert uuid_of("frodo") in items
        blobs = PostgresBlobs(store.store.database)
        (digest,) = await blobs.list_digests(limit=10)
        assert await blobs.get_bytes(digest) == b"the words of a file"
        await Scribe(store.canon, "later").make_items(a_fact("later", "frodo"))

    async with await open_store(name, tmp_path / "another") as other:
        assert len(await export_store(other)) == len(FORMER["export"]) + 1
        assert (await other.maintenance.verify(report_nothing)).findings == ()


async def test_an_earlier_process_refuses_the_upgraded_store(name: str) -> None:
    async with await psycopg.AsyncConnection.connect(URL, autocommit=True) as db:
        await looking_in(db, f"{name}_views", name)
        assert await (await db.execute("SELECT id FROM things LIMIT 1")).fetchone()

        await migrate_store(Database(URL, name))

        found = await db.execute("SELECT name, value FROM meta WHERE name IN ('schema', 'views')")
        assert await found.fetchall() == [("schema", SCHEMA_VERSION)]
        with pytest.raises(errors.UndefinedTable):  # which it tells as `store.newer`
            await db.execute("SELECT id FROM things LIMIT 1")


async def test_opening_a_store_with_equal_tables_locks_the_old_version_out(name: str) -> None:
    reader = "SELECT value FROM meta WHERE name = 'min_reader'"
    async with await psycopg.AsyncConnection.connect(URL, autocommit=True) as db:
        await looking_in(db, name)
        await migrate_store(Database(URL, name))
        assert await (await db.execute(reader)).fetchall() == [(MIN_READER,)]
        before = await (await db.execute("SELECT * FROM commits ORDER BY 1, 2")).fetchall()
        await db.execute("UPDATE meta SET value = 3 WHERE name = 'min_reader'")

        await migrate_store(Database(URL, name))

        assert await (await db.execute(reader)).fetchall() == [(MIN_READER,)]
        assert await (await db.execute("SELECT * FROM commits ORDER BY 1, 2")).fetchall() == before


async def test_an_earlier_process_finishes_its_write_first(name: str) -> None:
    async with await psycopg.AsyncConnection.connect(URL) as db:
        await looking_in(db, f"{name}_views", name)
        await db.execute(ENTER, (name,))
        preparing = asyncio.create_task(migrate_store(Database(URL, name)))
        done, _ = await asyncio.wait([preparing], timeout=0.3)
        assert not done
        await db.execute("DELETE FROM things")
        await db.commit()

        await preparing
