"""The event log in SQLite: appends go through the pump, reads through the readers."""

import asyncio
import os
from array import array
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Final, TypeVar

import apsw
from typing_extensions import override

from canonry.log.commits import Append, Appended, Commit, Outcome, Position, Stale
from canonry.log.entries import Entry
from canonry.log.ports.ledger import Blobs, Head, Ledger, Sealer, Touched, require_next_commit
from canonry.log.ports.world import closed_store
from canonry.log.sealing import Sealed, commit_of, encode_entry, require_unaltered, unseal
from canonry.stores.sqlite import commits
from canonry.stores.sqlite.commits import Stored, Tip, is_long
from canonry.stores.sqlite.connections import Anchor, Readers, Turnstile, as_canonry
from canonry.stores.sqlite.rows import pack_id, select_number, unpack_id, unpack_keys
from canonry.stores.sqlite.views import CommitFold
from canonry.values.errors import NotSupported, Unavailable
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

Payloads = Sequence[bytes]
"""The stored entries of a draft."""

BlobDigests = Mapping[int, str]
"""Digests of the parts of a commit that are stored as blobs, by entry number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pen:
    """Writes commits through the writing connection."""

    db: apsw.Connection
    sealer: Sealer

    def append_drafts(
        self, batch: Sequence[Append], payloads: Sequence[Payloads], blobs: Sequence[BlobDigests]
    ) -> Sequence[Outcome]:
        """Append drafts as `Ledger.append` specifies, each with its `payloads` and `blobs`."""
        spaces = {item.draft.space for item in batch}
        tips = {space: commits.tip_of(self.db, space) for space in spaces}
        start = {space: tip.position for space, tip in tips.items()}
        fresh = [
            item.judged_at >= start[item.draft.space]
            or not commits.is_stale(self.db, item.draft.space, item.judged_at, item.reads)
            for item in batch
        ]
        outcomes: list[Outcome] = []
        commit_fold = CommitFold(self.db, chain.from_iterable(item.draft.entries for item in batch))
        stopped = False
        for item, is_fresh, encoded, kept in zip(batch, fresh, payloads, blobs, strict=True):
            known = commits.find_known(self.db, item.draft.id)
            if known is not None:
                outcomes.append(Appended(position=known[0], recorded_at=known[1], replayed=True))
                continue
            stopped = stopped or not is_fresh
            if stopped:
                outcomes.append(Stale(head=start[item.draft.space]))
            else:
                tip = self._write_draft(item, encoded, kept, tips[item.draft.space], commit_fold)
                tips[item.draft.space] = tip
                outcomes.append(Appended(position=tip.position, recorded_at=tip.recorded_at))
        commit_fold.write_views()
        return outcomes

    def restore_commits(self, sealed: Sequence[Sealed], blobs: Sequence[BlobDigests]) -> None:
        """Append sealed commits as `Ledger.restore` specifies."""
        commit_fold = CommitFold(self.db, ())
        for item, kept in zip(sealed, blobs, strict=True):
            tip = commits.tip_of(self.db, item.space)
            is_known = commits.find_known(self.db, item.id) is not None
            require_next_commit(item, after=tip.position, previous=tip.hash, is_known=is_known)
            commits.insert_commit(self.db, item, commit_fold.fold_commit(unseal(item)), kept)
        commit_fold.write_views()

    def _write_draft(
        self,
        item: Append,
        payloads: Payloads,
        blobs: BlobDigests,
        tip: Tip,
        commit_fold: CommitFold,
    ) -> Tip:
        draft = item.draft
        newest = tip.recorded_at if tip.position else None
        sealed = self.sealer.seal_draft(
            draft, after=tip.position, newest=newest, previous=tip.hash, payloads=payloads
        )
        commits.insert_commit(
            self.db, sealed, commit_fold.fold_commit(commit_of(draft, sealed, tip.hash)), blobs
        )
        return Tip(position=sealed.position, recorded_at=sealed.recorded_at, hash=sealed.hash)


# The pump writes all waiting calls in one transaction and answers them after its commit.
#
# The statements run on the event loop, because they need the interpreter anyway. Only the commit,
# which waits for the disk, runs in a thread. Calls that arrive meanwhile join the next group. The
# pump never waits for a group to fill: it commits a lone write at once.

T = TypeVar("T")

PATIENCE_SECONDS: Final = 10.0  # outlasts a burst of other processes: bench writers
WEIGHT_INLINE: Final = 64
"""Larger groups, counted in entries, are written in the thread, so that the loop stays free."""

WEIGHT_MAX: Final = 2000  # bounds how long one fsync delays the next group: bench writers
_WEIGHT_BETWEEN: Final = 32  # entries between two checks of whether the chore is due


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[], Any]
    weight: int
    answer: asyncio.Future[Any]


@dataclass(eq=False)
class Pump:
    """The single writer of this process. Only one thread uses its connection `db` at a time.

    With `syncs`, a commit waits for the disk. `guard` runs first in every transaction and may
    refuse it by raising. `chore` runs between the groups, in its own transaction, when it `is_due`.
    """

    db: apsw.Connection
    turnstile: Turnstile
    _: KW_ONLY
    syncs: bool
    anchor: Anchor
    guard: Callable[[], None]
    is_due: Callable[[], bool]
    chore: Callable[[], Any]
    _queue: deque[_Job] = field(default_factory=deque)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _owner: asyncio.Task[Any] | None = None
    _running: asyncio.Task[None] | None = None
    _direct: asyncio.Task[None] | None = None
    _thread: ThreadPoolExecutor = field(
        default_factory=partial(ThreadPoolExecutor, 1, "canonry-write")
    )
    _process: int = field(default_factory=os.getpid)
    _written: int = 0
    _closed: bool = False

    async def submit_work(self, work: Callable[[], T], weight: int) -> T:
        """Run `work` in a transaction and return its result after the commit.

        A call that is cancelled before the commit begins has written nothing.


        Raises:
            Unavailable: `ledger.busy`, `ledger.closed` or `ledger.full`; nothing was written.
        """
        if self._closed or os.getpid() != self._process:
            raise closed_store()
        answer = asyncio.get_running_loop().create_future()
        job = _Job(work, weight, answer)
        if self._owner is not None and self._owner is asyncio.current_task():
            self._direct = asyncio.create_task(self._write_transaction([job], entered=True))
            await asyncio.shield(self._direct)
        elif (
            self.syncs
            or weight > WEIGHT_INLINE
            or self._lock.locked()
            or self._queue
            or not (self._running is None or self._running.done())
        ):
            self._queue.append(job)
            self._start_running()
        else:
            # Write alone, within the call that asks for it.
            # If no commit waits for the disk, grouping gains nothing, and a call that never
            # yields to the event loop is answered in half the time.
            async with self._lock:
                self._written += job.weight
                await self._write_transaction([job], entered=False)
            if self._written >= _WEIGHT_BETWEEN:
                self._start_running()
        result: T = await answer
        return result

    def _start_running(self) -> None:
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._run_groups())

    @asynccontextmanager
    async def lock_writes(self) -> AsyncIterator[None]:
        """Block all other writes, in every process, until the block ends."""
        if self._closed:
            raise closed_store()
        async with self._lock:
            if self._closed:
                raise closed_store()
            await self._pass_turnstile()
            self._owner = asyncio.current_task()
            try:
                self.anchor.require_same_files()
                yield
            finally:
                self._owner = None
                if self._direct is not None:
                    await asyncio.wait([self._direct])
                    self._direct = None
                self.turnstile.release_lock()

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run `work` in the thread of this writer; only for the holder of `lock_writes`.

        A cancelled caller continues only when the thread no longer uses the connection.
        """
        running = asyncio.get_running_loop().run_in_executor(self._thread, work)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            raise

    async def _pass_turnstile(self) -> None:
        """Pass the turnstile, without a thread if no other process is there."""
        if self.turnstile.try_enter():
            return
        try:
            await self.in_thread(lambda: self.turnstile.await_entry(PATIENCE_SECONDS))
        except asyncio.CancelledError:
            with suppress(OSError):  # it may not have been entered
                self.turnstile.release_lock()
            raise

    async def close(self) -> bool:
        """Finish the waiting writes, then refuse all others; return False if already closed."""
        if self._closed:
            return False
        self._closed = True
        if self._running is not None:
            await asyncio.wait([self._running])
        async with self._lock:
            self._thread.shutdown(wait=False)
        return True

    async def _run_groups(self) -> None:
        while self._queue or self._written >= _WEIGHT_BETWEEN:
            async with self._lock:
                if self._queue:
                    group = [self._queue.popleft()]
                    weight = group[0].weight
                    while self._queue and weight + self._queue[0].weight <= WEIGHT_MAX:
                        weight += self._queue[0].weight
                        group.append(self._queue.popleft())
                    self._written += weight
                    await self._write_transaction(group, entered=False)
                await self._run_chore()
            # Callers that were just answered run now. Their next writes join the next group.
            await asyncio.sleep(0)

    async def _run_chore(self) -> None:
        """Run the chore if it is due. A failed chore stays due."""
        if self._written < _WEIGHT_BETWEEN:
            return
        self._written = 0
        try:
            due = self.is_due()
        except apsw.Error:  # the next write reports the fault of the store
            return
        if due:
            answer = asyncio.get_running_loop().create_future()
            await self._write_transaction(
                [_Job(self.chore, WEIGHT_INLINE + 1, answer)], entered=False
            )
            answer.exception()

    async def _write_transaction(self, group: Sequence[_Job], *, entered: bool) -> None:
        """Write `group` and answer each call; an error of the transaction is the answer to all."""
        mine = False
        try:
            if not entered:
                await self._pass_turnstile()
                mine = True
            self.anchor.require_same_files()
            try:
                self.db.execute("BEGIN IMMEDIATE")
            except apsw.BusyError:
                await self.in_thread(self._begin_patiently)
            self.guard()
            if sum(job.weight for job in group) > WEIGHT_INLINE:
                answers = await self.in_thread(lambda: self._commit_jobs(group))
            elif self.syncs:
                answers = self._run_jobs(group)
                await self.in_thread(lambda: self.db.execute("COMMIT"))
            else:
                answers = self._commit_jobs(group)
            self.anchor.require_file()  # a file outside its folder would be lost
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
            self._give_up()
            _refuse_group(group, _error_for(error))
        except asyncio.CancelledError:  # the event loop ends
            self._give_up()
            _refuse_group(group, closed_store())
            raise
        else:
            for job, answer in zip(group, answers, strict=True):
                _answer_job(job, answer)
        finally:
            if mine:
                self.turnstile.release_lock()

    def _begin_patiently(self) -> None:
        self.db.set_busy_timeout(int(PATIENCE_SECONDS * 1000))
        try:
            self.db.execute("BEGIN IMMEDIATE")
        finally:
            self.db.set_busy_timeout(0)

    def _run_jobs(self, group: Sequence[_Job]) -> Sequence[Any]:
        if len(group) == 1:
            return [_run_job(group[0])]
        answers: list[Any] = []
        for job in group:
            self.db.execute("SAVEPOINT job")
            try:
                answers.append(_run_job(job))
            except Exception as error:
                if not self.db.in_transaction:  # a full disk ends the whole transaction
                    raise
                self.db.execute("ROLLBACK TO job")
                answers.append(_error_for(error))
            self.db.execute("RELEASE job")
        return answers

    def _commit_jobs(self, group: Sequence[_Job]) -> Sequence[Any]:
        answers = self._run_jobs(group)
        self.db.execute("COMMIT")
        return answers

    def _give_up(self) -> None:
        if self.db.in_transaction:
            # If even this fails, the next BEGIN reports it. The callers must be answered now.
            with suppress(apsw.Error):
                self.db.execute("ROLLBACK")


def _run_job(job: _Job) -> Any:
    """Return the result of the work; raise, to roll it back, if no caller waits any more."""
    if not job.answer.done():
        result = job.work()
        if not job.answer.done():
            return result
    raise Unavailable("ledger.abandoned", "The caller has gone. Nothing was written.")


def _error_for(error: Exception) -> Exception:
    match error:
        case apsw.BusyError():
            return Unavailable("ledger.busy", "Another process has locked the store. Try again.")
        case apsw.Error():
            return as_canonry(error)
        case _:
            return error


def _answer_job(job: _Job, answer: Any) -> None:
    if job.answer.done():  # the caller has gone
        return
    if isinstance(answer, Exception):
        job.answer.set_exception(answer)
    else:
        job.answer.set_result(answer)


def _refuse_group(group: Sequence[_Job], error: Exception) -> None:
    for job in group:
        _answer_job(job, error)


_TOGETHER: Final = 250  # entries that are encoded before other tasks run

_PER_WEIGHT: Final = 4_000
"""Bytes that weigh as much as one entry, because a long text is folded and indexed too."""

_TOUCHED_BY: Final = (
    "SELECT position, touched FROM commits WHERE space = ? AND position > ?"
    " ORDER BY position LIMIT ?"
)


class SqliteLedger(Ledger):
    """The logs of all spaces in one table, in the order in which the store took the commits."""

    def __init__(self, readers: Readers, writing: tuple[Pump, Pen] | None, blobs: Blobs) -> None:
        """Store large payloads in `blobs`. Without `writing` the log is read-only."""
        self._readers = readers
        self._writing = writing
        self._blobs = blobs
        self._seen: tuple[apsw.Connection, int, int] | None = None

    @override
    async def head_position(self, space: SpaceId) -> Position:
        return await self._readers.run_short(lambda db: commits.tip_of(db, space).position)

    @override
    async def list_heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        return await self._readers.run_short(lambda db: heads_of(db, after, limit), consistent=True)

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        payloads = [await _encode_entries(item.draft.entries) for item in batch]
        weight = sum(len(mine) + sum(map(len, mine)) // _PER_WEIGHT for mine in payloads)
        return await self._written(
            payloads, weight, lambda pen, kept: pen.append_drafts(batch, payloads, kept)
        )

    @override
    async def find_commit(self, commit_id: CommitId) -> Commit | None:
        stored = await self._readers.run_short(lambda db: commits.by_id(db, commit_id))
        return None if stored is None else unseal(await self._complete_commit(stored))

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        return await self._readers.run_short(
            lambda db: commits.position_at(db, space, instant), consistent=True
        )

    @override
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        page = await self._readers.run_short(
            lambda db: commits.by_space(db, space, after=after, limit=limit), consistent=True
        )
        return [await self._complete_commit(stored) for stored in page]

    @override
    async def restore_commits(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        payloads = [[b"" if p is None else p.payload for p in item.parts] for item in sealed]
        weight = sum(map(len, payloads))
        await self._written(payloads, weight, lambda pen, kept: pen.restore_commits(sealed, kept))

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        return await self._readers.run_short(lambda db: self._read_touched(db, cursor, limit))

    async def touched_by(
        self, space: SpaceId, after: Position, limit: int
    ) -> Mapping[Position, frozenset[int]]:
        """Return the touched `key_hash`es of up to `limit` commits of `space` past `after`."""
        rows = await self._readers.run_short(
            lambda db: list(db.execute(_TOUCHED_BY, (pack_id(space), after, limit))),
            consistent=True,
        )
        return {Position(position): frozenset(unpack_keys(keys)) for position, keys in rows}

    @override
    def lock_appends(self) -> AbstractAsyncContextManager[None]:
        pump, _ = self._require_writer()
        return pump.lock_writes()

    def _require_writer(self) -> tuple[Pump, Pen]:
        if self._writing is None:
            message = "This store is open for reading only. Serve it with a toolset that writes."
            raise NotSupported("store.reading-only", message)
        return self._writing

    def _read_touched(self, db: apsw.Connection, cursor: int, limit: int) -> Touched:
        version = select_number(db, "PRAGMA data_version")
        if self._seen == (db, version, cursor):
            return Touched(cursor=cursor, keys=frozenset())
        now = select_number(db, "SELECT coalesce(max(seq), 0) FROM commits") + 1
        self._seen = (db, version, now)
        if cursor == 0 or now - cursor > limit:
            return Touched(cursor=now, keys=None)
        keys = array("q")
        for (packed,) in db.execute("SELECT touched FROM commits WHERE seq >= ?", (cursor,)):
            keys.extend(unpack_keys(packed))
        return Touched(cursor=now, keys=frozenset(keys))

    async def _written(
        self,
        payloads: Sequence[Payloads],
        weight: int,
        write: Callable[[Pen, Sequence[BlobDigests]], T],
    ) -> T:
        """Write commits, with payloads that are too long for a row as blobs.

        Blobs are stored again once a commit names them: a purge may have deleted the bytes.
        """
        pump, pen = self._require_writer()
        kept = [
            {n: await self._blobs.put_bytes(each) for n, each in enumerate(mine) if is_long(each)}
            for mine in payloads
        ]
        result = await pump.submit_work(lambda: write(pen, kept), weight)
        for mine, digests in zip(payloads, kept, strict=True):
            for entry in digests:
                await self._blobs.put_bytes(mine[entry])
        return result

    async def _complete_commit(self, stored: Stored) -> Sealed:
        blobs = {entry: await self._blobs.get_bytes(d) for entry, d in stored.blobs.items()}
        return require_unaltered(stored.with_payloads(blobs))


async def _encode_entries(entries: Sequence[Entry]) -> Sequence[bytes]:
    """Encode entries for storage, and let other tasks run in between."""
    encoded = [encode_entry(entry) for entry in entries[:_TOGETHER]]
    for start in range(_TOGETHER, len(entries), _TOGETHER):
        await asyncio.sleep(0)
        encoded += [encode_entry(entry) for entry in entries[start : start + _TOGETHER]]
    return encoded


def heads_of(db: apsw.Connection, after: SpaceId | None, limit: int) -> Sequence[Head]:
    """Return the heads of up to `limit` spaces past `after`."""
    heads: list[Head] = []
    for packed in commits.spaces_after(db, None if after is None else pack_id(after), limit):
        space = SpaceId(unpack_id(packed))
        tip = commits.tip_of(db, space)
        heads.append(
            Head(space=space, position=tip.position, hash=tip.hash, recorded_at=tip.recorded_at)
        )
    return heads
