"""The log in PostgreSQL: appends of several callers together, reads, and news of what is new."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg import AsyncConnection, errors, sql
from typing_extensions import override

from canonry.log.commits import ORIGIN, Append, Appended, Commit, Outcome, Position
from canonry.log.folding import key_hash
from canonry.log.group_appends import (
    TOUCHED_MAX,
    TOUCHES_ANYTHING,
    JudgedGroup,
    KnownCommit,
    KnownEnds,
    LogEnd,
    judge_group,
)
from canonry.log.ports.ledger import Head, Ledger, Sealer, Touched
from canonry.log.ports.world import Call, Clock, Identities, Turns
from canonry.log.sealing import (
    ENCODING_VERSION,
    GENESIS,
    ErasablePart,
    Sealed,
    altered,
    fault_in,
    require_unaltered,
    unseal,
)
from canonry.stores.postgres.database import (
    Database,
    PgConnection,
    PgRow,
    newer,
    run,
    together,
    translated,
    written,
)
from canonry.values.errors import CanonryError, Conflict
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

# Records as rows: sealed commits, each with its erasable parts in one row.

COLUMNS: Final = "space, position, id, recorded_at, hash, body, salts, payloads"
LOCK: Final = (
    "INSERT INTO heads VALUES (%s, 0, 0, %s) ON CONFLICT (space) DO UPDATE SET space = heads.space"
    " RETURNING position, recorded_at, hash"
)
"""One that is there already is locked by it, in the order in which others asked."""

MOVE: Final = "UPDATE heads SET position = %s, recorded_at = %s, hash = %s WHERE space = %s"
KNOWN: Final = "SELECT id, position, recorded_at, hash FROM commits WHERE id = ANY(%s)"
TOUCHED: Final = (
    "SELECT position, recorded_at, hash, touched FROM commits WHERE space = %s AND position > %s"
    " ORDER BY position DESC LIMIT %s"
)
INSERT: Final = (
    "INSERT INTO commits (space, position, id, recorded_at, hash, body, salts, payloads, touched)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s::bytea[], %s::bytea[], %s::bigint[])"
)


def end_in(row: Sequence[Any]) -> KnownCommit:
    """The newest commit that `LOCK` gives."""
    return KnownCommit(Position(row[0]), Instant(row[1]), row[2].hex(), *row[3:])


def row_of(sealed: Sealed, touched: Iterable[str]) -> tuple[Any, ...]:
    """The values of `INSERT`."""
    return (
        sealed.space,
        sealed.position,
        sealed.id,
        sealed.recorded_at,
        bytes.fromhex(sealed.hash),
        sealed.body,
        [None if part is None else part.salt for part in sealed.parts],
        [None if part is None else part.payload for part in sealed.parts],
        sorted(map(key_hash, touched)),
    )


def sealed_in(row: PgRow) -> Sealed:
    """The commit that a row holds.

    Raises:
        BrokenInvariant: `ledger.altered`, it has as many salts as no payloads.
    """
    space, position, commit_id, recorded_at, digest, body, salts, payloads = row
    if len(salts) != len(payloads):
        raise altered()
    parts = tuple(
        None if salt is None else ErasablePart(salt=salt, payload=payload or b"")
        for salt, payload in zip(salts, payloads, strict=True)
    )
    return Sealed(
        space=SpaceId(space),
        position=Position(position),
        id=CommitId(commit_id),
        recorded_at=Instant(recorded_at),
        body=body,
        hash=digest.hex(),
        parts=parts,
    )


async def record(
    db: PgConnection, space: SpaceId, end: LogEnd, rows: Sequence[Sequence[object]]
) -> None:
    """Write rows of `INSERT`, of which the last is where the log ends then."""
    async with db.cursor() as cursor:
        await cursor.executemany(INSERT, rows)
    await run(db, MOVE, (end.position, end.newest or 0, bytes.fromhex(end.hash), space))


# Appending within one transaction: drafts are judged, sealed and recorded under the lock.
#
# What has to be known comes in one round trip, what is written goes in another. Views are kept by
# whoever follows the log, who also says what a draft touches.
#
# Where this process knows the log, one trip does. Drafts are judged and sealed before anything is
# asked; one statement among those that write makes sure that all this rested on is still so, and
# fails otherwise, so that nothing of it happens; then the group is appended as if nothing had been
# known.

ENTER: Final = "SELECT pg_advisory_xact_lock_shared(hashtext(%s))"
FIRST: Final = bytes.fromhex(GENESIS)
_GUARD: Final = "SELECT value FROM meta WHERE name = 'min_reader'"
_STILL_SO: Final = (
    "SELECT 1 / (EXISTS (SELECT FROM heads WHERE space = %s AND position = %s AND hash = %s)"
    " AND EXISTS (SELECT FROM meta WHERE name = 'min_reader' AND value <= %s)"
    " AND NOT EXISTS (SELECT FROM commits WHERE id = ANY(%s)))::int"
)
"""Divides by zero where it is not."""

_NOT_SO: Final = (errors.DivisionByZero, errors.UniqueViolation)
_LATELY: Final = 0.2
_PAYS: Final = 2 / 3
"""Resting on what is known saves one trip where it is right, and costs two where it is not."""


@dataclass(frozen=True, slots=True)
class WrittenGroup:
    """A group that was written after the commit `before`."""

    before: KnownCommit
    group: JudgedGroup

    @property
    def outcomes(self) -> Sequence[Sequence[Outcome]]:
        """The outcome of each draft, by call."""
        return self.group.outcomes


class Appender:
    """Writes what is handed to it over a connection, over as many trips as it takes."""

    def __init__(self, name: str, clock: Clock, identities: Identities) -> None:
        """Write into the store called `name`."""
        self._name = name
        self._sealer = Sealer(clock, identities)
        self._right: dict[SpaceId, float] = {}
        self.ends: Final = KnownEnds()

    async def append(self, db: PgConnection, group: Sequence[Call]) -> WrittenGroup:
        """Append what calls ask for, all in one space, all or nothing; durable on return."""
        items = [item for call in group for item in call.batch]
        space, done = items[0].draft.space, None
        known = self.ends.under(items)
        before = self._right.get(space, 1.0)
        if known and before > _PAYS:
            done = await self._foreknown(db, group, known)
        if done is None:
            done = await written(db, lambda db: self._judged(db, group))
        if known:
            is_right = known[-1].hash == done.before.hash
            self._right[space] = before + _LATELY * (is_right - before)
        self.ends.follow(space, done.before, done.group.written)
        return done

    async def _judged(self, db: PgConnection, group: Sequence[Call]) -> WrittenGroup:
        """Append within a transaction, each draft judged by what the server has."""
        items = [item for call in group for item in call.batch]
        space, ids = items[0].draft.space, list({item.draft.id for item in items})
        since = min(item.rests_on for item in items)
        await run(db, ENTER, (self._name,))
        head, guard, known, touched = await together(
            db,
            (LOCK, (space, FIRST)),
            (_GUARD, ()),
            (KNOWN, (ids,)),
            (TOUCHED, (space, since, TOUCHED_MAX + 1)),
        )
        _require_reader(guard)
        before = end_in(head[0])
        there = {identity: end_in(row) for identity, *row in known}
        judged = judge_group(group, before, there, list(map(end_in, touched)), self._sealer)
        await _record(db, space, judged)
        return WrittenGroup(before, judged)

    async def _foreknown(
        self, db: PgConnection, group: Sequence[Call], known: Sequence[KnownCommit]
    ) -> WrittenGroup | None:
        """Append from what is known; None: nothing was written, and a look may tell otherwise."""
        items = [item for call in group for item in call.batch]
        space, before = items[0].draft.space, known[-1]
        try:
            judged = judge_group(group, before, {}, known[1:], self._sealer)
        except CanonryError:
            return None
        if not judged.made or judged.has_stale:
            return None

        async def send(db: PgConnection) -> None:
            so = (space, before.position, bytes.fromhex(before.hash), ENCODING_VERSION)
            await run(db, ENTER, (self._name,))
            await run(db, LOCK, (space, FIRST))
            await run(db, _STILL_SO, (*so, [item.draft.id for item in items]))
            await _record(db, space, judged)

        try:
            await written(db, send)
        except _NOT_SO:
            return None
        return WrittenGroup(before, judged)

    async def restore(
        self, db: PgConnection, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None
    ) -> None:
        """Append commits as they were exported, as `canonry.log.ports.ledger` says."""
        await run(db, ENTER, (self._name,))
        spaces = sorted({item.space for item in sealed})  # always in one order: nobody waits round
        *heads, guard, known = await together(
            db,
            *((LOCK, (space, FIRST)) for space in spaces),
            (_GUARD, ()),
            (KNOWN, ([item.id for item in sealed],)),
        )
        _require_reader(guard)
        ends = {space: LogEnd(end_in(rows[0])) for space, rows in zip(spaces, heads, strict=True)}
        made: dict[SpaceId, list[tuple[object, ...]]] = {space: [] for space in spaces}
        there = {row[0] for row in known}
        for n, item in enumerate(sealed):
            end = ends[item.space]
            fault = fault_in(item, position=Position(end.position + 1), previous=end.hash)
            if fault is None and item.id in there:
                fault = "a commit with this id is already in the log"
            if fault is not None:
                raise Conflict("ledger.chain-broken", f"The import does not fit the log: {fault}")
            there.add(item.id)
            end.follow(item)
            keys = TOUCHES_ANYTHING if touched is None else touched[n]
            made[item.space].append(row_of(item, keys))
        for space in spaces:
            await record(db, space, ends[space], made[space])


def _require_reader(guard: Sequence[PgRow]) -> None:
    if not guard or guard[0][0] > ENCODING_VERSION:
        raise newer()


async def _record(db: PgConnection, space: SpaceId, judged: JudgedGroup) -> None:
    if judged.made:
        rows = [row_of(*each) for each in judged.made]
        await record(db, space, LogEnd(judged.written[-1]), rows)


# News: processes tell each other that something was written, over LISTEN and NOTIFY.
#
# Nothing rests on it but how soon somebody looks again. What was written is told after its commit,
# by one word for all that was written within moments: a NOTIFY in the transaction itself would
# make all commits of the server take turns. So whoever waits looks from time to time all the same:
# a process may die before it tells, and whoever was cut off hears nothing until they are connected
# again.

_GATHERS: Final = 0.02
"""So many seconds of writing are told by one word."""

_PAUSE: Final = 1.0
_TELL: Final = "SELECT pg_notify(%s, '')"


class News:
    """What this process hears, and what it tells; it connects when somebody first waits."""

    def __init__(self, database: Database) -> None:
        """Share `database`; whoever listens has a connection besides those of its pool."""
        self._database = database
        self._written = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._untold = self._ended = False
        database.ending.append(self._end)

    def tell(self) -> None:
        """Say soon, to this process at once, that something was written."""
        self._stir()
        self._untold = True
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell(), name="news")

    async def wait(self, seconds: float) -> None:
        """Wait until something was written, by whomever, or until `seconds` are over."""
        if self._listening is None and not self._ended:
            self._listening = asyncio.create_task(self._listen(), name="news")
        written = self._written
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await written.wait()

    async def _tell(self) -> None:
        while self._untold:
            await asyncio.sleep(_GATHERS)
            self._untold = False
            with suppress(CanonryError):
                await self._database.rows(_TELL, (self._database.name,))

    async def _listen(self) -> None:
        while True:
            with suppress(psycopg.Error, OSError):
                await self._hear()
            await asyncio.sleep(_PAUSE)

    async def _hear(self) -> None:
        db = await AsyncConnection.connect(self._database.url, autocommit=True)
        async with db:
            await db.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._database.name)))
            self._stir()  # what was written before is not told again
            async for _ in db.notifies():
                self._stir()

    def _stir(self) -> None:
        """Wake everybody who waits."""
        self._written.set()
        self._written = asyncio.Event()

    async def _end(self) -> None:
        self._ended = True
        if self._telling is not None:
            await asyncio.wait([self._telling], timeout=_PAUSE)
        tasks = [task for task in (self._listening, self._telling) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# The log in PostgreSQL: whoever appends to a space holds the row of its head until the commit.
#
# So appends to one space take turns, in the order in which they asked, and those to different
# spaces do not wait for each other. What waits in one process is written in one transaction.

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
        """Share `database` with the blobs."""
        self._database = database
        self._appender = Appender(database.name, clock, identities)
        self._takers: list[Callable[[Sequence[Sealed]], None]] = []
        self._turns = Turns(self._write)
        self._news = News(database)
        self._owner: asyncio.Task[object] | None = None
        self._own: PgConnection | None = None

    @override
    async def head(self, space: SpaceId) -> Position:
        rows = await self._database.rows(_HEAD, (space,))
        return Position(rows[0][0]) if rows else ORIGIN

    @override
    async def heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        rows = await self._database.rows(_HEADS, (after or "", limit))
        for space, position, digest, at in rows:
            self._appender.ends.stands(SpaceId(space), end_in((position, at, digest)))
        return [
            Head(space=SpaceId(space), position=position, hash=digest.hex(), recorded_at=at)
            for space, position, digest, at in rows
        ]

    @override
    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if not batch:
            return []
        with self._database.begun():
            if self._own is None or self._owner is not asyncio.current_task():
                return await self._turns.append(Call(batch))
            own, call = self._own, Call(batch)
            with translated():
                done = await self._appender.append(own, [call])
            (outcomes,) = self._told(done)
            return outcomes

    async def _write(self, group: Sequence[Call]) -> Sequence[Sequence[Outcome]]:
        appender = self._appender
        return self._told(await self._database.attempt_begun(lambda db: appender.append(db, group)))

    def _told(self, done: WrittenGroup) -> Sequence[Sequence[Outcome]]:
        """What was written is told, and handed over."""
        self._news.tell()
        for take in self._takers:
            take([sealed for sealed, _ in done.group.made])
        return done.outcomes

    @override
    def hand_to(self, take: Callable[[Sequence[Sealed]], None]) -> None:
        self._takers.append(take)

    @override
    async def find(self, commit_id: CommitId) -> Commit | None:
        rows = await self._database.rows(_FIND, (commit_id,))
        return unseal(require_unaltered(sealed_in(rows[0]))) if rows else None

    async def known(self, ids: Sequence[CommitId]) -> Mapping[CommitId, Appended]:
        """Which of these are in the log of any space, as whoever appends them again is told."""
        rows = await self._database.rows(KNOWN, (list(ids),))
        return {
            CommitId(identity): Appended(position=position, recorded_at=at, replayed=True)
            for identity, position, at, _ in rows
        }

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        ((position,),) = await self._database.rows(_AT, (space, instant))
        return Position(position or ORIGIN)

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
    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        async with self._database.connection() as db:
            try:
                await run(db, _ALONE, (self._database.name,))
                self._owner, self._own = asyncio.current_task(), db
                yield
            finally:
                self._owner = self._own = None
                try:
                    await run(db, _NO_LONGER, (self._database.name,))
                except BaseException as error:
                    await db.close()  # a connection that is closed has let go of its locks
                    if not isinstance(error, psycopg.Error):
                        raise
