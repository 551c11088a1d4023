"""The log in PostgreSQL: whoever appends to a space holds the row of its head until the commit.

So appends to one space take turns, in the order in which they asked, and those to different spaces
do not wait for each other. What waits in one process is written in one transaction.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Final

import psycopg
from typing_extensions import override

from canonry.log.commits import ORIGIN, Append, Commit, Outcome, Position
from canonry.log.ports.ledger import Head, Ledger, Touched
from canonry.log.ports.world import Call, Clock, Identities, Turns, forget
from canonry.log.sealing import Sealed, require_unaltered, unseal
from canonry.stores.postgres.appending import Appender, ForeknowingAppender, Writing
from canonry.stores.postgres.database import Database, PgConnection, PgRow, run, translated
from canonry.stores.postgres.ends import RememberedEnds
from canonry.stores.postgres.news import News
from canonry.stores.postgres.records import COLUMNS, sealed_in
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

_ALONE: Final = "SELECT pg_advisory_lock(hashtext(%s))"
_NO_LONGER: Final = "SELECT pg_advisory_unlock(hashtext(%s))"
_HEAD: Final = "SELECT position FROM heads WHERE space = %s"
_HEADS: Final = (
    "SELECT space, position, hash, recorded_at FROM heads WHERE space > %s AND position > 0"
    " ORDER BY space LIMIT %s"
)
_FIND: Final = f"SELECT {COLUMNS} FROM commits WHERE id = %s LIMIT 1"
_READ: Final = (
    f"SELECT {COLUMNS} FROM commits WHERE space = %s AND position > %s ORDER BY position LIMIT %s"
)
_AT: Final = "SELECT max(position) FROM commits WHERE space = %s AND recorded_at <= %s"
# Whoever began before the oldest that still runs has ended: what is not seen yet is told later. As
# long as that one runs, how much of what began after it is seen tells whether anything is new.
_ALONGSIDE: Final = 4096
_NOW: Final = (
    "SELECT oldest::text::bigint, (SELECT count(*) FROM (SELECT 1 FROM commits"
    f" WHERE transaction >= oldest LIMIT {_ALONGSIDE - 1}) c)"
    " FROM (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS oldest) o"
)
_SINCE: Final = (
    "SELECT touched, space, position FROM commits WHERE transaction >= %s::text::xid8 LIMIT %s"
)


class PostgresLedger(Ledger):
    """One log a space in one table."""

    def __init__(self, database: Database, clock: Clock, identities: Identities) -> None:
        """Share `database` with the views."""
        self._database = database
        self._appender = Appender(database.name, clock, identities)
        self._ends = RememberedEnds()
        self._appending = ForeknowingAppender(self._appender, self._ends)
        self._takers: list[Callable[[Sequence[Sealed]], None]] = []
        self._turns = Turns(self._write)
        self._news = News(database)
        self._owner: asyncio.Task[object] | None = None
        self._own: PgConnection | None = None

    @override
    async def head(self, space: SpaceId) -> Position:
        forget()  # what a verdict rests on is read from now on
        rows = await self._database.rows(_HEAD, (space,))
        return Position(rows[0][0]) if rows else ORIGIN

    @override
    async def heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        rows = await self._database.rows(_HEADS, (after or "", limit))
        for space, position, digest, at in rows:
            self._ends.stands(SpaceId(space), (position, at, digest))
        return [
            Head(space=SpaceId(space), position=position, hash=digest.hex(), recorded_at=at)
            for space, position, digest, at in rows
        ]

    @override
    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if not batch:
            return []
        try:
            with self._database.begun():
                if self._own is None or self._owner is not asyncio.current_task():
                    return await self._turns.append(Call(batch))
                own, call = self._own, Call(batch)
                with translated():
                    writing = await self._appending.append(own, [call])
                (outcomes,) = self._told(writing)
                return outcomes
        finally:
            forget()

    async def _write(self, group: Sequence[Call]) -> Sequence[Sequence[Outcome]]:
        appending = self._appending
        return self._told(
            await self._database.attempt_begun(lambda db: appending.append(db, group))
        )

    def _told(self, writing: Writing) -> Sequence[Sequence[Outcome]]:
        """What was written is told, and handed over."""
        self._news.tell()
        for take in self._takers:
            take([each.sealed for each in writing.made])
        return writing.outcomes

    @override
    def hand_to(self, take: Callable[[Sequence[Sealed]], None]) -> None:
        self._takers.append(take)

    @override
    async def find(self, commit_id: CommitId) -> Commit | None:
        rows = await self._database.rows(_FIND, (commit_id,))
        return unseal(require_unaltered(sealed_in(rows[0]))) if rows else None

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        ((position,),) = await self._database.rows(_AT, (space, instant))
        return Position(position or ORIGIN)

    @override
    async def read(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Commit]:
        return [unseal(s) for s in await self.read_sealed(space, after=after, limit=limit)]

    @override
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        rows = await self._database.rows(_READ, (space, after, limit))
        return [require_unaltered(sealed_in(row)) for row in rows]

    @override
    async def restore(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        await self._database.writing(lambda db: self._appender.restore(db, sealed, touched))
        self._news.tell()

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        forget()  # whoever asks this looks again at what has changed
        oldest, seen = divmod(cursor, _ALONGSIDE)
        if seen == _ALONGSIDE - 1:
            seen = 0  # it may have been more
        now, rows = await self._since(oldest, seen + limit)
        if cursor == 0 or len(rows) > seen + limit:
            return Touched(cursor=now, keys=None)
        if len(rows) == seen:
            return Touched(cursor=now, keys=frozenset())
        reached: dict[SpaceId, Position] = {}
        for _, space, position in rows:
            reached[space] = max(position, reached.get(space, position))
        keys = frozenset(key for row in rows for key in row[0])
        return Touched(cursor=now, keys=keys, reached=reached)

    async def _since(self, oldest: int, most: int) -> tuple[int, Sequence[PgRow]]:
        asked = [(_NOW, ()), (_SINCE, (str(oldest), most + 1))]
        (now,), *rows = await self._database.at_once(*asked[: 1 if oldest == 0 else 2])
        return now[0] * _ALONGSIDE + now[1], [row for each in rows for row in each]

    @override
    async def await_news(self, seconds: float) -> None:
        await self._news.wait(seconds)

    @override
    def exclusive(self) -> AbstractAsyncContextManager[None]:
        return self._exclusive()

    @asynccontextmanager
    async def _exclusive(self) -> AsyncIterator[None]:
        async with self._database.connection() as db:
            try:
                await run(db, _ALONE, (self._database.name,))
                self._owner, self._own = asyncio.current_task(), db
                yield
            finally:
                self._owner = self._own = None
                with suppress(psycopg.Error):  # a connection that is lost has let go of its locks
                    await run(db, _NO_LONGER, (self._database.name,))
