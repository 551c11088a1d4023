"""A PostgreSQL server as contracts see it: each store is a schema of its own."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from canonry.app.backends.postgres import open_postgres
from canonry.app.backends.servers import COPY
from canonry.stores.postgres import PostgresBlobs
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.testing.conformance import Backend, Damages
from tests.conformance import sqlite_store
from tests.conformance.sqlite_store import Folders, files_of

URL = os.environ.get("TEST_POSTGRES_URL", "")
SECOND_URL = os.environ.get("TEST_SECOND_POSTGRES_URL", "")
BOTH = (URL, SECOND_URL)


@dataclass(kw_only=True)
class Schemas:
    """Opens stores in schemas of their own, and drops all of them in the end."""

    closing: AsyncExitStack
    folder: Path
    opened: int = 0
    url: str = URL
    shards: tuple[str, ...] = ()
    """The servers between which each store is divided, if there are several."""

    async def fresh(self) -> Backend:
        name = f"test_{uuid4().hex}"
        self.closing.push_async_callback(drop_data, name, self.shards or (URL,))
        return await self.open(name, HandClock())

    async def open(self, name: str, clock: HandClock, machine: Path | None = None) -> Backend:
        self.opened += 1
        machine = machine or self.folder / f"machine {self.opened}"
        shared = await open_postgres(
            self.url,
            shards=self.shards,
            schema=name,
            folder=machine,
            connections=6,
            clock=clock,
            identities=CountingIdentities(prefix=self.opened),
        )
        self.closing.push_async_callback(shared.close)

        async def reopen() -> Backend:
            await shared.close()
            return await self.open(name, clock, machine)

        return Backend(
            canon=shared.canon,
            blobs=PostgresBlobs(shared.store.database),
            clock=clock,
            another=self.fresh,
            maintenance=shared.maintenance,
            close=shared.close,
            reopen=reopen,
            second=lambda: self.open(name, clock),
            open_backup=self._open_copy,
            files=lambda: files_of(machine / COPY),
            damages=damages_of(name, machine / COPY, self.shards or (self.url,)),
        )

    async def _open_copy(self, target: Path) -> Backend:
        """Open a backup, which is an embedded store."""
        return await Folders(root=self.folder, closing=self.closing).open(target, HandClock())


VIEWS = ("a fact says something else", "a memory is missing", "a count is wrong")
"""The ways to harm the copy; the tests of the embedded store try all others."""

RECORDS = {
    "a payload says something else": (
        "UPDATE {r}.commits SET payloads[1] = payloads[1] || ' '::bytea WHERE position = 2"
    ),
    "a salt is another": "UPDATE {r}.commits SET salts[1] = '0000'::bytea WHERE position = 3",
    "an entry is missing": (
        "UPDATE {r}.commits SET salts = salts[2:], payloads = payloads[2:] WHERE position = 1"
    ),
    "a commit is missing": "DELETE FROM {r}.commits WHERE position = 2",
    "the last commit is missing": (
        "DELETE FROM {r}.commits c WHERE position ="
        " (SELECT position FROM {r}.heads h WHERE h.space = c.space)"
    ),
    "a commit has other sealed bytes": (
        "UPDATE {r}.commits SET body = body || ' '::bytea WHERE position = 2"
    ),
    "a commit has another hash": "UPDATE {r}.commits SET hash = '00'::bytea WHERE position = 2",
    "a commit has another time": (
        "UPDATE {r}.commits SET recorded_at = recorded_at - 1 WHERE position = 2"
    ),
    "a commit touches other keys": "UPDATE {r}.commits SET touched = '{{1}}' WHERE position = 2",
}


def damages_of(name: str, copy: Path, urls: Sequence[str] = (URL,)) -> Damages:
    def by(statement: str) -> Callable[[], Awaitable[None]]:
        async def harm() -> None:
            harmed = 0
            for url in urls:
                db = await psycopg.AsyncConnection.connect(url, autocommit=True)
                async with db:
                    done = await db.execute(statement.format(r=name))
                    harmed += done.rowcount
            assert harmed > 0, f"this harms nothing: {statement}"

        return harm

    async def alter(digest: str) -> None:
        await by("UPDATE {r}.blobs SET data = data || ' '::bytea")()

    return Damages(
        views={each: sqlite_store.damages_of(copy).views[each] for each in VIEWS},
        records={name: by(statement) for name, statement in RECORDS.items()},
        blob=alter,
    )


async def drop_data(name: str, urls: Sequence[str] = (URL,)) -> None:
    for url in urls:
        db = await psycopg.AsyncConnection.connect(url, autocommit=True)
        async with db:
            found = await db.execute(
                "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", (name,)
            )
            for (schema,) in await found.fetchall():
                await db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))


@asynccontextmanager
async def open_schemas(folder: Path, shards: tuple[str, ...] = ()) -> AsyncIterator[Schemas]:
    if not URL or not all(shards):
        pytest.skip("no PostgreSQL servers: `make servers` starts two")
    async with AsyncExitStack() as closing:
        yield Schemas(closing=closing, folder=folder, shards=shards)
