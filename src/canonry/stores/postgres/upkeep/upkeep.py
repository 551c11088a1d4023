"""Upkeep of a store in PostgreSQL: long work has a connection of its own and stops nobody for long.

What the server keeps besides (its write-ahead log, replicas and their backups) belongs to whoever
runs it; purging rewrites the tables, and no more can be said from here.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

from psycopg import AsyncConnection, sql
from typing_extensions import override

from canonry.log.ports.call_scope import forget
from canonry.readmodels.listing import UNCOUNTED, List
from canonry.readmodels.ports.upkeep import Finding, Upkeep, UpkeepProgress, Verification
from canonry.stores.postgres.database import Database, PgConnection, fetched
from canonry.stores.postgres.faults import translated
from canonry.stores.postgres.upkeep.erasure import SpaceErasure
from canonry.stores.postgres.upkeep.preparing import SCHEMA_VERSION, VIEWS_VERSION, rebuild
from canonry.stores.postgres.upkeep.verification import Check
from canonry.stores.postgres.views import VIEW_TABLES
from canonry.values.ids import SpaceId

Copy = Callable[[Path, UpkeepProgress], Awaitable[Mapping[SpaceId, tuple[int, str]]]]
"""Copies the store into a new folder, as an embedded one; the heads that the copy holds."""

_PASSAGES: Final = int(List.PASSAGES)
_OTHERWISE: Final = sorted({*UNCOUNTED, _PASSAGES, int(List.TIMELINE)})
_INDEXED: Final = (
    "SELECT (SELECT count(*) FROM passages), (SELECT coalesce(sum(n), 0)::bigint FROM counts"
    f" WHERE list = {_PASSAGES} AND facet = 'passages')"
)
_LISTED: Final = (
    "SELECT (SELECT count(*) FROM listing WHERE list <> ALL(%(others)s)),"
    " (SELECT coalesce(sum(n), 0)::bigint FROM counts WHERE list <> ALL(%(others)s))"
)
_TOLD: Final = (
    "SELECT (SELECT count(*) FROM things WHERE kind IN ('turn', 'memory', 'snippet')),"
    " (SELECT count(*) FROM things t WHERE kind IN ('turn', 'memory', 'snippet')"
    " AND EXISTS (SELECT 1 FROM passages p WHERE p.id = t.id))"
)
_PAIRS: Final = (
    ("passages", "the index of words has not the passages that it is said to have", _INDEXED),
    ("listing", "the lists have not the rows that they are said to have", _LISTED),
    ("passages", "turns, memories or snippets are not in the index of words", _TOLD),
)
"""Two numbers each that are the same in good views, and what it means where they are not."""

_FACTS: Final = (
    "SELECT current_setting('server_version'), pg_database_size(current_database()),"
    " (SELECT count(*) FROM heads WHERE position > 0), (SELECT count(*) FROM commits),"
    " (SELECT count(*) FROM things), current_setting('synchronous_commit'),"
    " current_setting('fsync')"
)


class PostgresUpkeep(Upkeep):
    """Works on an open store."""

    def __init__(self, database: Database, copy: Copy) -> None:
        """Share `database` with the ledger; `copy` makes backups."""
        self._database = database
        self._copy = copy

    @override
    async def verify(self, told: UpkeepProgress) -> Verification:
        with translated():
            async with self._own() as db:
                return await Check(db, self._database, told).done()

    @override
    async def glance(self) -> Sequence[Finding]:
        async def look(db: PgConnection) -> Sequence[Finding]:
            found: list[Finding] = []
            for where, what, statement in _PAIRS:
                ((one, two),) = await fetched(db, statement, {"others": _OTHERWISE})
                if one != two:
                    found.append(Finding(where=where, what=what))
            return tuple(found)

        return await self._database.reading(look)

    @override
    async def rebuild(self, told: UpkeepProgress) -> int:
        return await rebuild(self._database, told)

    @override
    async def backup(self, target: Path, told: UpkeepProgress) -> Mapping[SpaceId, tuple[int, str]]:
        return await self._copy(target, told)

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        with translated():
            async with self._own() as db:
                erasure = SpaceErasure(
                    database=self._database, space=space, targets=frozenset(targets)
                )
                dropped = await erasure.done(db)
        await self.rewrite()
        forget()
        return dropped

    async def rewrite(self) -> None:
        """Leave nothing in the files of tables that is in no row."""
        named = [sql.Identifier(self._database.name, "commits")]
        named += [sql.Identifier(self._database.views, table) for table in VIEW_TABLES]
        with translated():
            async with self._own() as db:
                for table in named:
                    await db.execute(sql.SQL("VACUUM (FULL) {}").format(table))

    @override
    async def collect_orphans(self) -> int:
        """Every payload is a part of its commit, so that there are none."""
        return 0

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        ((server, size, spaces, commits, things, commit, fsync),) = await self._database.rows(
            _FACTS
        )
        return {
            "engine": f"PostgreSQL {server}",
            "schema": SCHEMA_VERSION,
            "views": VIEWS_VERSION,
            "bytes": size,
            "spaces": spaces,
            "commits": commits,
            "things": things,
            "synchronous_commit": commit,
            "fsync": fsync,
        }

    def _own(self) -> AbstractAsyncContextManager[PgConnection]:
        return _Own(self._database.url)


class _Own(AbstractAsyncContextManager[PgConnection]):
    """A connection for work of any length."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._db: PgConnection | None = None

    async def __aenter__(self) -> PgConnection:
        self._db = await AsyncConnection.connect(self._url, autocommit=True)
        return self._db

    async def __aexit__(self, *_: object) -> None:
        if self._db is not None:
            await self._db.close()
