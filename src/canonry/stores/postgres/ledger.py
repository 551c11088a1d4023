"""The log in PostgreSQL: grouped appends, reads, and notifications."""

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
from canonry.log.ports.ledger import Head, Ledger, Sealer, Touched, require_next_commit
from canonry.log.ports.world import AppendQueues, Call, Clock, Identities, newer_store
from canonry.log.sealing import (
    ENCODING_VERSION,
    GENESIS,
    ErasablePart,
    Sealed,
    altered_commit,
    require_unaltered,
    unseal,
)
from canonry.stores.postgres.database import (
    Database,
    PgConnection,
    PgRow,
    fetch_results,
    run_statement,
    run_transaction,
    translated_errors,
)
from canonry.values.errors import CanonryError
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

# Records as rows: sealed commits, each with its erasable parts in one row.

COLUMNS: Final = "space, position, id, recorded_at, hash, body, salts, payloads"
LOCK: Final = (
    "INSERT INTO heads VALUES (%s, 0, 0, %s) ON CONFLICT (space) DO UPDATE SET space = heads.space"
    " RETURNING position, recorded_at, hash"
)
"""Inserts a missing row of `heads`. An existing one is locked, in the order of requests."""

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
    """Return the newest commit from a row of `LOCK`."""
    return KnownCommit(Position(row[0]), Instant(row[1]), row[2].hex(), *row[3:])


def row_of(sealed: Sealed, touched: Iterable[str]) -> tuple[Any, ...]:
    """Return the values of `INSERT`."""
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
    """Return the commit in a row.

    Raises:
        BrokenInvariant: `ledger.altered`, the numbers of salts and payloads differ.
    """
    space, position, commit_id, recorded_at, digest, body, salts, payloads = row
    if len(salts) != len(payloads):
        raise altered_commit()
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


async def record_rows(
    db: PgConnection, space: SpaceId, end: LogEnd, rows: Sequence[Sequence[object]]
) -> None:
    """Write rows of `INSERT`, and make the last one the head of the log."""
    async with db.cursor() as cursor:
        await cursor.executemany(INSERT, rows)
    await run_statement(db, MOVE, (end.position, end.newest or 0, bytes.fromhex(end.hash), space))


# Appending within one transaction: drafts are judged, sealed and recorded under the lock.
#
# One round trip reads everything that is needed, and another writes. Views belong to the follower
# of the log, which also predicts the keys of a draft.
#
# If this process knows the end of the log, one round trip is enough. Drafts are judged and sealed
# first. One of the written statements checks that the known state still holds, and fails otherwise,
# so that nothing is written. The group is then appended without using the known state.

ENTER: Final = "SELECT pg_advisory_xact_lock_shared(hashtext(%s))"
FIRST: Final = bytes.fromhex(GENESIS)
_GUARD: Final = "SELECT value FROM meta WHERE name = 'min_reader'"
_STILL_SO: Final = (
    "SELECT 1 / (EXISTS (SELECT FROM heads WHERE space = %s AND position = %s AND hash = %s)"
    " AND EXISTS (SELECT FROM meta WHERE name = 'min_reader' AND value <= %s)"
    " AND NOT EXISTS (SELECT FROM commits WHERE id = ANY(%s)))::int"
)
"""Divides by zero if the known state has changed."""

_LATELY: Final = 0.2
_PAYS: Final = 2 / 3
"""Using the known state saves one round trip if it holds, and costs two if it does not."""


@dataclass(frozen=True, slots=True)
class WrittenGroup:
    """A group that was written after the commit `before`."""

    before: KnownCommit
    group: JudgedGroup

    @property
    def outcomes(self) -> Sequence[Sequence[Outcome]]:
        """Return the outcome of each draft, by call."""
        return self.group.outcomes


class Appender:
    """Writes groups over a connection, in one or more round trips."""

    def __init__(self, name: str, clock: Clock, identities: Identities) -> None:
        """Write to the store with this name."""
        self._name = name
        self._sealer = Sealer(clock, identities)
        self._right: dict[SpaceId, float] = {}
        self.ends: Final = KnownEnds()

    async def append_group(self, db: PgConnection, group: Sequence[Call]) -> WrittenGroup:
        """Append calls to one space in one transaction, durable on return."""
        items = [item for call in group for item in call.batch]
        space, done = items[0].draft.space, None
        known = self.ends.commits_since(items)
        before = self._right.get(space, 1.0)
        if known and before > _PAYS:
            done = await self._append_optimistic(db, group, known)
        if done is None:
            done = await run_transaction(db, lambda db: self._append_judged(db, group))
        if known:
            is_right = known[-1].hash == done.before.hash
            self._right[space] = before + _LATELY * (is_right - before)
        self.ends.note_commits(space, done.before, done.group.written)
        return done

    async def _append_judged(self, db: PgConnection, group: Sequence[Call]) -> WrittenGroup:
        """Append in a transaction, and judge each draft by the server's state."""
        items = [item for call in group for item in call.batch]
        space, ids = items[0].draft.space, list({item.draft.id for item in items})
        since = min(item.rests_on for item in items)
        await run_statement(db, ENTER, (self._name,))
        head, guard, known, touched = await fetch_results(
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
        await _record_group(db, space, judged)
        return WrittenGroup(before, judged)

    async def _append_optimistic(
        self, db: PgConnection, group: Sequence[Call], known: Sequence[KnownCommit]
    ) -> WrittenGroup | None:
        """Append by the known state; return None if the state was old and nothing was written."""
        items = [item for call in group for item in call.batch]
        space, before = items[0].draft.space, known[-1]
        try:
            judged = judge_group(group, before, {}, known[1:], self._sealer)
        except CanonryError:
            return None
        if not judged.made or judged.has_stale:
            return None

        async def send_group(db: PgConnection) -> None:
            so = (space, before.position, bytes.fromhex(before.hash), ENCODING_VERSION)
            await run_statement(db, ENTER, (self._name,))
            await run_statement(db, LOCK, (space, FIRST))
            await run_statement(db, _STILL_SO, (*so, [item.draft.id for item in items]))
            await _record_group(db, space, judged)

        try:
            await run_transaction(db, send_group)
        except (errors.DivisionByZero, errors.UniqueViolation):
            return None
        return WrittenGroup(before, judged)

    async def restore_commits(
        self, db: PgConnection, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None
    ) -> None:
        """Append exported commits as `Ledger.restore` specifies."""
        await run_statement(db, ENTER, (self._name,))
        spaces = sorted({item.space for item in sealed})  # in a fixed order, to avoid deadlocks
        *heads, guard, known = await fetch_results(
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
            is_known = item.id in there
            require_next_commit(item, after=end.position, previous=end.hash, is_known=is_known)
            there.add(item.id)
            end.follow_commit(item)
            keys = TOUCHES_ANYTHING if touched is None else touched[n]
            made[item.space].append(row_of(item, keys))
        for space in spaces:
            await record_rows(db, space, ends[space], made[space])


def _require_reader(guard: Sequence[PgRow]) -> None:
    if not guard or guard[0][0] > ENCODING_VERSION:
        raise newer_store()


async def _record_group(db: PgConnection, space: SpaceId, judged: JudgedGroup) -> None:
    if judged.made:
        rows = [row_of(*each) for each in judged.made]
        await record_rows(db, space, LogEnd(judged.written[-1]), rows)


# News: processes notify each other of writes, over LISTEN and NOTIFY.
#
# News only shortens the time until the next poll. A process notifies after its commit, once for all
# writes within milliseconds: a NOTIFY in the transaction itself would serialize all commits of the
# server. Waiting processes also poll at intervals, because a process may die before it notifies,
# and a disconnected one hears nothing.

_GATHERS: Final = 0.02  # seconds of writing that one notification covers

_PAUSE: Final = 1.0  # a server that restarts is not asked without end


class WriteNotifier:
    """Notifications from and to other processes. Connects with the first wait."""

    def __init__(self, database: Database) -> None:
        """Share `database`. Listening uses a connection outside its pool."""
        self._database = database
        self._written = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None
        self._notifying: asyncio.Task[None] | None = None
        self._is_pending = self._ended = False
        database.ending.append(self._end_tasks)

    def notify_write(self) -> None:
        """Notify this process at once, and other processes soon, of a write."""
        self._wake_waiters()
        self._is_pending = True
        if self._notifying is None or self._notifying.done():
            self._notifying = asyncio.create_task(self._send_notifications(), name="news")

    async def await_write(self, seconds: float) -> None:
        """Wait for a write by any process, or until `seconds` are over."""
        if self._listening is None and not self._ended:
            self._listening = asyncio.create_task(self._keep_listening(), name="news")
        written = self._written
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await written.wait()

    async def _send_notifications(self) -> None:
        while self._is_pending:
            await asyncio.sleep(_GATHERS)
            self._is_pending = False
            with suppress(CanonryError):
                await self._database.fetch_rows("SELECT pg_notify(%s, '')", (self._database.name,))

    async def _keep_listening(self) -> None:
        while True:
            with suppress(psycopg.Error, OSError):
                await self._receive_notifications()
            await asyncio.sleep(_PAUSE)

    async def _receive_notifications(self) -> None:
        db = await AsyncConnection.connect(self._database.url, autocommit=True)
        async with db:
            await db.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._database.name)))
            self._wake_waiters()  # earlier writes are not notified again
            async for _ in db.notifies():
                self._wake_waiters()

    def _wake_waiters(self) -> None:
        """Wake all waiting calls."""
        self._written.set()
        self._written = asyncio.Event()

    async def _end_tasks(self) -> None:
        self._ended = True
        if self._notifying is not None:
            await asyncio.wait([self._notifying], timeout=_PAUSE)
        tasks = [task for task in (self._listening, self._notifying) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# The log in PostgreSQL: an append locks the row of its space's head until the commit.
#
# Appends to one space run one after the other, in the order of their requests. Appends to different
# spaces do not wait for each other. Waiting calls of one process are written in one transaction.

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
# Transactions older than the oldest running one have ended; later ones are reported later. While
# that one runs, the number of visible later transactions shows whether anything is new.
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
    """The logs of all spaces in one table."""

    def __init__(self, database: Database, clock: Clock, identities: Identities) -> None:
        """Share `database` with the blobs."""
        self._database = database
        self._appender = Appender(database.name, clock, identities)
        self._takers: list[Callable[[Sequence[Sealed]], None]] = []
        self._queues = AppendQueues(self._write_group)
        self._news = WriteNotifier(database)
        self._owner: asyncio.Task[object] | None = None
        self._own: PgConnection | None = None

    @override
    async def head_position(self, space: SpaceId) -> Position:
        rows = await self._database.fetch_rows(_HEAD, (space,))
        return Position(rows[0][0]) if rows else ORIGIN

    @override
    async def list_heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        rows = await self._database.fetch_rows(_HEADS, (after or "", limit))
        for space, position, digest, at in rows:
            self._appender.ends.note_end(SpaceId(space), end_in((position, at, digest)))
        return [
            Head(space=SpaceId(space), position=position, hash=digest.hex(), recorded_at=at)
            for space, position, digest, at in rows
        ]

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if not batch:
            return []
        with self._database.begin_work():
            if self._own is None or self._owner is not asyncio.current_task():
                return await self._queues.append_call(Call(batch))
            own, call = self._own, Call(batch)
            with translated_errors():
                done = await self._appender.append_group(own, [call])
            (outcomes,) = self._announce_writes(done)
            return outcomes

    async def _write_group(self, group: Sequence[Call]) -> Sequence[Sequence[Outcome]]:
        appender = self._appender
        return self._announce_writes(
            await self._database.attempt_begun(lambda db: appender.append_group(db, group))
        )

    def _announce_writes(self, done: WrittenGroup) -> Sequence[Sequence[Outcome]]:
        """Notify others of the writes and pass them to the listeners."""
        self._news.notify_write()
        for take in self._takers:
            take([sealed for sealed, _ in done.group.made])
        return done.outcomes

    @override
    def pass_commits_to(self, take: Callable[[Sequence[Sealed]], None]) -> None:
        self._takers.append(take)

    @override
    async def find_commit(self, commit_id: CommitId) -> Commit | None:
        rows = await self._database.fetch_rows(_FIND, (commit_id,))
        return unseal(require_unaltered(sealed_in(rows[0]))) if rows else None

    async def known_commits(self, ids: Sequence[CommitId]) -> Mapping[CommitId, Appended]:
        """Return those of `ids` that are in any log, with the outcome of a repeated append."""
        rows = await self._database.fetch_rows(KNOWN, (list(ids),))
        return {
            CommitId(identity): Appended(position=position, recorded_at=at, replayed=True)
            for identity, position, at, _ in rows
        }

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        ((position,),) = await self._database.fetch_rows(_AT, (space, instant))
        return Position(position or ORIGIN)

    @override
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        rows = await self._database.fetch_rows(_READ, (space, after, limit))
        return [require_unaltered(sealed_in(row)) for row in rows]

    @override
    async def restore_commits(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        await self._database.write_transaction(
            lambda db: self._appender.restore_commits(db, sealed, touched)
        )
        self._news.notify_write()

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        oldest, seen = divmod(cursor, _ALONGSIDE)
        if seen == _ALONGSIDE - 1:
            seen = 0  # there may have been more
        now, rows = await self._touched_rows(oldest, seen + limit)
        if cursor == 0 or len(rows) > seen + limit:
            return Touched(cursor=now, keys=None)
        if len(rows) == seen:
            return Touched(cursor=now, keys=frozenset())
        reached: dict[SpaceId, Position] = {}
        for _, space, position in rows:
            reached[space] = max(position, reached.get(space, position))
        keys = frozenset(key for row in rows for key in row[0])
        return Touched(cursor=now, keys=keys, reached=reached)

    async def _touched_rows(self, oldest: int, most: int) -> tuple[int, Sequence[PgRow]]:
        asked = [(_NOW, ()), (_SINCE, (str(oldest), most + 1))]
        (now,), *rows = await self._database.fetch_snapshot(*asked[: 1 if oldest == 0 else 2])
        return now[0] * _ALONGSIDE + now[1], [row for each in rows for row in each]

    @override
    async def await_news(self, seconds: float) -> None:
        await self._news.await_write(seconds)

    @override
    @asynccontextmanager
    async def lock_appends(self) -> AsyncIterator[None]:
        async with self._database.borrow_connection() as db:
            try:
                await run_statement(db, _ALONE, (self._database.name,))
                self._owner, self._own = asyncio.current_task(), db
                yield
            finally:
                self._owner = self._own = None
                try:
                    await run_statement(db, _NO_LONGER, (self._database.name,))
                except BaseException as error:
                    await db.close()  # a closed connection holds no locks
                    if not isinstance(error, psycopg.Error):
                        raise
