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
from canonry.app.backends.postgres_copy import with_copy
from canonry.stores.postgres import PostgresBlobs
from canonry.testing.conformance import Backend, Damages
from canonry.testing.worlds import CountingIdentities, HandClock
from tests.conformance.sqlite_store import Folders

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
    copied: bool = False
    """Whether each of them answers from a copy in a folder of its own."""
    shards: tuple[str, ...] = ()
    """Where there are several, each store is divided between these servers."""

    async def fresh(self) -> Backend:
        name = f"test_{uuid4().hex}"
        self.closing.push_async_callback(dropped, name, self.shards or (URL,))
        return await self.open(name, HandClock())

    async def open(self, name: str, clock: HandClock, machine: Path | None = None) -> Backend:
        self.opened += 1
        machine = machine or self.folder / f"machine {self.opened}"
        shared = await open_postgres(
            self.url,
            shards=self.shards,
            schema=name,
            folder=self.folder / name,
            connections=6,
            clock=clock,
            identities=CountingIdentities(prefix=self.opened),
        )
        if self.copied:
            shared = await with_copy(shared, machine)
        self.closing.push_async_callback(shared.close)

        async def reopen() -> Backend:
            await shared.close()
            return await self.open(name, clock, machine)

        return Backend(
            canon=shared.canon,
            blobs=PostgresBlobs(shared.store.database),
            clock=clock,
            another=self.fresh,
            upkeep=shared.upkeep,
            close=shared.close,
            reopen=reopen,
            second=lambda: self.open(name, clock),
            open_backup=self._open_copy,
            files=lambda: (),
            damages=damages_of(name, self.shards or (self.url,)),
        )

    async def _open_copy(self, target: Path) -> Backend:
        """What a backup holds is an embedded store."""
        return await Folders(root=self.folder, closing=self.closing).open(target, HandClock())


VIEWS = {
    "a fact says something else": (
        "UPDATE {v}.things SET body = convert_to(replace(convert_from(body, 'UTF8'), 'is small',"
        " 'is large'), 'UTF8') WHERE kind = 'fact'"
    ),
    "a memory is missing": "DELETE FROM {v}.things WHERE kind = 'memory'",
    "a thing has another kind": "UPDATE {v}.things SET kind = 'event' WHERE kind = 'axiom'",
    "rows of a list are missing": "DELETE FROM {v}.listing WHERE list = 5",
    "a row of a list has another name": "UPDATE {v}.listing SET name = 'zz' WHERE list = 1",
    "a count is wrong": "UPDATE {v}.counts SET n = n + 1 WHERE list = 3",
    "a version is missing": "DELETE FROM {v}.versions",
    "an identifier is missing": (
        "DELETE FROM {v}.identifiers WHERE key = (SELECT min(key) FROM {v}.identifiers)"
    ),
    "an identifier leads elsewhere": "UPDATE {v}.identifiers SET root = 'nobody'",
    "a date is missing": "DELETE FROM {v}.timeline WHERE current",
    "a date has another source": "UPDATE {v}.timeline SET source = 'nowhere'",
    "a passage has other words": "UPDATE {v}.passages SET stems = 'ghost'",
    "a passage is found by other words": "UPDATE {v}.passages SET terms = ARRAY[1]",
    "a stem is counted that nobody said": "INSERT INTO {v}.stem_counts VALUES ('g', 'g', 'g', 1)",
}
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


def damages_of(name: str, urls: Sequence[str] = (URL,)) -> Damages:
    def by(statement: str) -> Callable[[], Awaitable[None]]:
        async def harm() -> None:
            harmed = 0
            for url in urls:
                db = await psycopg.AsyncConnection.connect(url, autocommit=True)
                async with db:
                    done = await db.execute(statement.format(r=name, v=f"{name}_views"))
                    harmed += done.rowcount
            assert harmed > 0, f"this harms nothing: {statement}"

        return harm

    async def alter(digest: str) -> None:
        await by("UPDATE {r}.blobs SET data = data || ' '::bytea")()

    return Damages(
        views={name: by(statement) for name, statement in VIEWS.items()},
        records={name: by(statement) for name, statement in RECORDS.items()},
        blob=alter,
    )


async def dropped(name: str, urls: Sequence[str] = (URL,)) -> None:
    for url in urls:
        db = await psycopg.AsyncConnection.connect(url, autocommit=True)
        async with db:
            found = await db.execute(
                "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)", (name,)
            )
            for (schema,) in await found.fetchall():
                await db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))


@asynccontextmanager
async def schemas(
    folder: Path, shards: tuple[str, ...] = (), *, copied: bool = False
) -> AsyncIterator[Schemas]:
    if not URL or not all(shards):
        pytest.skip("no PostgreSQL servers: `make servers` starts two")
    async with AsyncExitStack() as closing:
        yield Schemas(closing=closing, folder=folder, shards=shards, copied=copied)
