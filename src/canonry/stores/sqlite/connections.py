"""SQLite connections: readers, checkpoints, the order of writers, file checks and errors."""

import asyncio
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Timer
from typing import Any, Final, TypeAlias, TypeVar

import apsw

from canonry.log.ports.world import closed_store, translate_errors
from canonry.values.errors import BrokenInvariant, CanonryError, Unavailable

# The anchor checks that the open files are still the files at the store's path.
#
# A deleted or moved folder takes its open files along, and later writes to them are lost. A file
# that is cut short kills every process that has mapped it. SQLite maps the index of the write-ahead
# log (`-shm`) and large databases. One `stat` of a path before each read or write finds both.

_Id: TypeAlias = tuple[int, int]

_stat: Final = os.stat  # `Path.stat` takes twice the time


class Anchor:
    """Identities and sizes of the files of one store, recorded when they were opened."""

    def __init__(self, path: Path) -> None:
        """Record nothing yet. Call `record_files` when the files are open."""
        self._path: Final = str(path.absolute())
        self._log: Final = f"{self._path}-wal"
        self._index: Final = f"{self._path}-shm"
        self._known: Sequence[_Id | None] = ()
        self._index_bytes = 0
        self._bytes = 0
        self._frozen: tuple[int, ...] | None = None
        self._restoring = Lock()
        self.mapped = False
        self.index_repairs = 0

    def record_files(self) -> None:
        """Record which files are open. No other process may recreate them meanwhile."""
        self._known = _ids_of(map(_stat_or_none, (self._path, self._log, self._index)))
        self.check_files()
        self.is_shorter()

    def record_frozen(self) -> None:
        """Record the state of an immutable store, so that `check_files` notices a write."""
        self._frozen = self._file_state()

    def check_files(self) -> None:
        """Check the files before a read.

        Raises:
            Unavailable: `store.changed`, another process wrote to a store opened as immutable.
        """
        if self._frozen is None:
            self._check_index()
        elif self._file_state() != self._frozen:
            raise Unavailable(
                "store.changed",
                "The store was opened read-only, and another process writes to it. Open it again.",
            )

    def is_shorter(self) -> bool:
        """Return whether a purge or damage has shortened the database since the last call.

        Only the reader that maps the file calls this, because each call records the new size. It
        must then drop its mapping.
        """
        if not self.mapped or self._frozen is not None:
            return False
        found = _stat_or_none(self._path)
        if found is None:
            return False
        self._bytes, before = found.st_size, self._bytes
        return self._bytes < before

    def require_same_files(self) -> None:
        """Check before a write that the open files are still the files at their paths.

        Raises:
            Unavailable: `store.moved`.
        """
        found = self._check_index(), _stat_or_none(self._path), _stat_or_none(self._log)
        if self._known and _ids_of((*found[1:], found[0])) != self._known:
            raise _moved_error()

    def require_file(self) -> None:
        """Check after a write, with one `stat`, that the database is still at its path.

        Raises:
            Unavailable: `store.moved`.
        """
        if self._known and _ids_of([_stat_or_none(self._path)]) != self._known[:1]:
            raise _moved_error()

    def _file_state(self) -> tuple[int, ...]:
        try:
            log = _stat(self._log).st_size
        except OSError:
            log = 0
        found = _stat(self._path)
        return found.st_ino, found.st_size, found.st_mtime_ns, log

    def _check_index(self) -> os.stat_result | None:
        """Return the `stat` of the shared index, and restore its length if it was cut."""
        # Read the length first: another thread may see the index grow meanwhile.
        known = self._index_bytes
        found = _stat_or_none(self._index)
        if found is None:  # missing, or gone with its folder: a write reports it
            return None
        if found.st_size < known:
            self._restore_index(known)
        else:
            self._index_bytes = found.st_size
        return found

    def _restore_index(self, known: int) -> None:
        """Restore the length of the shared index with zeros. SQLite then rebuilds it.

        Access to memory that is mapped past the end of a file kills the process. Reads of that time
        may have missed commits, so `index_repairs` counts up and they are repeated.
        """
        with self._restoring:
            now = _stat_or_none(self._index)
            if now is None or now.st_size >= known:  # gone, or restored by another thread
                return
            # Truncate by name: closing a handle would release all locks of this process on the
            # file. Truncate to zero first: SQLite would trust the remains of a cut index.
            try:
                os.truncate(self._index, 0)
                os.truncate(self._index, known)
            except OSError:  # gone meanwhile
                return
            self.index_repairs += 1


def _stat_or_none(path: str) -> os.stat_result | None:
    try:
        return _stat(path)
    except OSError:
        return None


def _ids_of(found: Iterable[os.stat_result | None]) -> list[_Id | None]:
    return [None if each is None else (each.st_dev, each.st_ino) for each in found]


def _moved_error() -> Unavailable:
    message = (
        "The folder of the store was deleted, moved or replaced. Nothing more is written. Stop "
        "this server. Put the folder back, or start the server with the folder's new path."
    )
    return Unavailable("store.moved", message)


RAISED: Final = (apsw.Error, UnicodeDecodeError)
"""Exceptions of the driver. A text with flipped bits cannot even be decoded."""

_CORRUPT = "The store is damaged. Stop every server that uses it and run `canonry doctor`."


@contextmanager
def transaction(db: Any, begin: str = "BEGIN") -> Iterator[None]:
    """Run the block in one transaction, and roll it back on an error."""
    db.execute(begin)
    try:
        yield
    except BaseException:
        if db.in_transaction:  # SQLite rolls back by itself when the disk is full
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def as_canonry(error: Exception) -> CanonryError:  # noqa: C901, PLR0911 - one case a kind
    """Return Canonry's error for an error of the driver."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable("store.busy", "Another process has locked the store. Try again.")
        case apsw.InterruptError():
            return Unavailable("store.deadline", "The query took too long. Ask for less.")
        case apsw.FullError():
            return Unavailable("ledger.full", "The disk is full. Nothing was written. Free space.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return Unavailable("store.read-only", "The store cannot be written. Check its folder.")
        case apsw.CantOpenError():
            return Unavailable("store.unreachable", "The store cannot be opened. Check its folder.")
        case apsw.IOError():
            return Unavailable("store.io", "The disk failed. Run `canonry doctor`.")
        case apsw.NotADBError():
            return not_canonry()
        case apsw.CorruptError() | UnicodeDecodeError():
            return BrokenInvariant("store.corrupt", _CORRUPT)
        case apsw.ConnectionClosedError() | apsw.CursorClosedError():
            return closed_store()
        case apsw.NoMemError() | apsw.TooBigError():
            return Unavailable(
                "store.too-big", "The data exceeds a row or memory. Write less at once."
            )
        case _:
            message = "The store refused a statement. Run `canonry doctor`."
            return BrokenInvariant("store.failed", message, kind=type(error).__name__)


translated_errors: Final = translate_errors(RAISED, as_canonry)


def not_canonry() -> CanonryError:
    """Return the error for a file that Canonry did not write."""
    return BrokenInvariant("store.not-canonry", "This is not a Canonry store. Name another folder.")


CACHE_KB: Final = 65_536  # reads of a warm store stay in memory: bench growth
_WRITERS_CACHE_KB: Final = 16_384
"""Smaller for the writer: its cache is dropped whenever the log restarts, and is not read."""

_STATEMENTS: Final = 256  # more than the statements of one connection: bench compare, bulk
_BUSY_MS: Final = 10_000  # another process may hold the lock of the file
MAPPED_BYTES: Final = 2**36
"""Address space, not memory: the system keeps as much of the file in memory as it has room for."""


class Durability(StrEnum):
    """`full` syncs each group of commits; `normal` may lose the last ones when power fails."""

    FULL = "full"
    NORMAL = "normal"


class OpenMode(StrEnum):
    """Ways to open a store, as the query part of a SQLite URI.

    `APART` reads the index of the write-ahead log without writing to it, or builds one in memory.
    `FROZEN` treats the file as immutable: no process may write to it meanwhile.
    """

    SERVED = ""
    SEALED = "?mode=ro"
    APART = "?mode=ro&readonly_shm=1"
    FROZEN = "?mode=ro&immutable=1"


def store_uri(path: Path, mode: OpenMode) -> str:
    """Return the SQLite URI of the store at `path`."""
    return f"{path.absolute().as_uri()}{mode}"


def open_connection(
    path: Path,
    *,
    writes: bool = False,
    durability: Durability = Durability.FULL,
    patience_ms: int = 0,
    vfs: str | None = None,
    mapped: bool = False,
    mode: OpenMode = OpenMode.SERVED,
) -> apsw.Connection:
    """Open a connection to the store at `path`. Only a writing connection creates the file.

    A `mapped` connection reads through mapped memory: scattered lookups in a store larger than the
    cache cost a third less than with one system call per page. A connection that is not `SERVED`
    does not even empty the write-ahead log when it closes.
    """
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if writes else 0)
    if mode is not OpenMode.SERVED:
        flags = apsw.SQLITE_OPEN_READONLY
    name = store_uri(path, mode)
    flags |= apsw.SQLITE_OPEN_URI
    if writes:
        make_private(path)
    with translated_errors():
        db = apsw.Connection(name, flags=flags, vfs=vfs, statementcachesize=_STATEMENTS)
        db.set_busy_timeout(_BUSY_MS)
        db.execute(f"PRAGMA cache_size = -{_WRITERS_CACHE_KB if writes else CACHE_KB}")
        if mapped:
            db.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
        if writes:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"PRAGMA synchronous = {durability.upper()}")
            db.execute("PRAGMA secure_delete = FAST")
            db.execute("PRAGMA wal_autocheckpoint = 0")
        else:
            db.execute("PRAGMA query_only = ON")
        db.set_busy_timeout(patience_ms)
    return db


def make_private(path: Path) -> None:
    """Create an empty file that only its owner can read, whatever the umask is.

    SQLite gives its log and its shared index the mode of the database. An existing file is not
    opened, because closing it would release every lock that this process has on it.
    """
    with suppress(OSError):  # opening the file later reports the fault
        path.touch(0o600, exist_ok=False)


# Readers run a short query on the event loop and a long one in a thread.
#
# A hop to a thread and back costs as much as five lookups. Every query therefore starts on the
# event loop with a budget of two milliseconds. A query that needs more is stopped and restarted in
# a thread, where it may run until the deadline.

T = TypeVar("T")
Query = Callable[[apsw.Connection], T]

INLINE_SECONDS: Final = 0.002  # a thread costs more than a short query: bench compare, get
_STEPS: Final = 2000  # an inline query stops soon after its 2 ms: bench compare, get
_STEPS_APART: Final = 40_000
"""Interval of progress checks in a thread. Checks are rare, because each waits for the GIL."""

_SHORT_WAIT: Final = 0.001
"""Checks within this time share one `stat`, which may cost as much as the lookup it protects."""

_PATIENCE_MS: Final = 5000  # another process may hold the lock of the file
_THREADS: Final = 4  # long queries run side by side, but leave processors for calls


class _Asker:
    """A caller that waits for a query in a thread, until it gives up."""

    gone = False


class _Watch:
    """A progress handler that stops a statement after its time, or when no caller waits for it.

    Without a time limit nothing stops a statement.
    """

    def __init__(self) -> None:
        self.until = 0.0
        self.asker = _Asker()

    def __call__(self) -> bool:
        return self.until < math.inf and (self.asker.gone or time.monotonic() > self.until)


class Readers:
    """Read-only connections. None keeps a transaction open after a query."""

    def __init__(
        self,
        path: Path,
        *,
        deadline: float,
        anchor: Anchor,
        vfs: str | None = None,
        mode: OpenMode = OpenMode.SERVED,
        mapped_from: int = CACHE_KB * 1024,
    ) -> None:
        """Open the connection of the event loop. Threads open theirs when needed.

        A file of more than `mapped_from` bytes is mapped. A smaller one fits into the cache and
        would gain nothing.
        """
        self._path = path
        self._anchor = anchor
        self._mode = mode
        self._vfs = vfs
        self._deadline = deadline
        self._watch = _Watch()
        self._checked_at = 0.0
        self._mapped = path.stat().st_size > mapped_from
        anchor.mapped = self._mapped
        self._inline = self._open_connection(self._watch, inline=True)
        self._idle: SimpleQueue[tuple[apsw.Connection, _Watch]] = SimpleQueue()
        self._opened: list[apsw.Connection] = [self._inline]
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="canonry-read")
        self._closed = False

    async def run_short(
        self, query: Query[T], *, consistent: bool = False, seconds: float | None = None
    ) -> T:
        """Run a query that an index bounds. With `consistent`, all its statements see one state.

        A query that turns out to be long may take `seconds`; the default is this reader's deadline.
        """
        if self._closed:
            raise closed_store()
        now = time.monotonic()
        self._watch.until = now + INLINE_SECONDS
        if now - self._checked_at > _SHORT_WAIT:
            self._checked_at = now
            self._anchor.check_files()
            if self._anchor.is_shorter():
                # Access past the end of a mapped file kills the process: map only what is left.
                self._inline.execute("PRAGMA mmap_size = 0")
                self._inline.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
        repairs = self._anchor.index_repairs
        try:
            found = _run_query(self._inline, self._watch, query, consistent=consistent)
            if self._anchor.index_repairs == repairs:
                return found
            raise apsw.BusyError  # noqa: TRY301 - as where another process mends the index
        except (apsw.InterruptError, apsw.BusyError):
            return await self.run_long(query, consistent=consistent, seconds=seconds)
        except RAISED as error:
            raise as_canonry(error) from error

    async def run_long(
        self, query: Query[T], *, consistent: bool = False, seconds: float | None = None
    ) -> T:
        """Run a query in a thread, for at most `seconds` or until the deadline."""
        if self._closed:
            raise closed_store()
        allowed = self._deadline if seconds is None else seconds
        asker = _Asker()

        def run_query() -> T:
            with translated_errors():
                self._anchor.check_files()
                repairs = self._anchor.index_repairs
                db, watch = self._borrow_connection()
                watch.asker, watch.until = asker, time.monotonic() + allowed
                try:
                    found = _run_query(db, watch, query, consistent=consistent)
                finally:
                    self._idle.put((db, watch))
                if self._anchor.index_repairs != repairs:
                    raise apsw.BusyError  # a retry reads the current state
                return found

        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, run_query)
        except asyncio.CancelledError:
            asker.gone = True
            raise

    async def run_whole(self, query: Query[T], *, consistent: bool = True) -> T:
        """Run a query over all data in a thread, without a time limit.

        Without `consistent`, each statement sees its own state, and the write-ahead log can be
        emptied between statements.
        """
        return await self.run_long(query, consistent=consistent, seconds=math.inf)

    def _borrow_connection(self) -> tuple[apsw.Connection, _Watch]:
        if self._idle.empty():
            watch = _Watch()
            db = self._open_connection(watch)
            db.set_busy_timeout(_PATIENCE_MS)
            self._opened.append(db)
            return db, watch
        return self._idle.get()

    def _open_connection(self, watch: _Watch, *, inline: bool = False) -> apsw.Connection:
        mapped = inline and self._mapped
        db = open_connection(self._path, vfs=self._vfs, mapped=mapped, mode=self._mode)
        db.set_progress_handler(watch, _STEPS if inline else _STEPS_APART)
        return db

    async def close(self) -> None:
        """Let running queries end, then close every connection."""
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(None, self._pool.shutdown)
        for db in self._opened:
            db.close()


def _run_query(db: apsw.Connection, watch: _Watch, query: Query[T], *, consistent: bool) -> T:
    if not consistent:
        return query(db)
    until, watch.until = watch.until, math.inf  # nor BEGIN, which may be stopped when it is done
    db.execute("BEGIN")
    watch.until = until
    try:
        return query(db)
    finally:
        watch.until = math.inf  # nothing may stop COMMIT
        db.execute("COMMIT")


PATIENCE_MS: Final = 1000  # a checkpoint gives way to readers and is repeated

PAGES_BEFORE: Final = 4000
"""Pages written since the last checkpoint after which the next one starts.

The log keeps growing while writes never pause, although all of it was copied. Only the pages since
the last checkpoint count; otherwise every commit would start one.
"""

PAGES_TOO_MANY: Final = 50_000
"""Above this length, writers wait until the write-ahead log is empty."""


PAGES_KEPT: Final = 16_000
"""A longer log is emptied as soon as no reader needs it: 64 MB, the size of one burst."""

_RETRY_SECONDS: Final = 1.0  # a reader may hold the log; writers do not wait for it
_ATTEMPTS: Final = 20  # with `_PAUSE` a second, longer than most checkpoints
_PAUSE: Final = 0.05


class Checkpoints:
    """Decides after commits when to checkpoint, and checkpoints through its own connection."""

    def __init__(self, writer: apsw.Connection, own: apsw.Connection, anchor: Anchor) -> None:
        """Use `own` for checkpoints only; it may wait for other processes."""
        self._anchor = anchor
        self._own = own
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="canonry-checkpoint")
        self._busy = False
        self._pages = 0
        self._moved = 0
        self._rest_is_due = False
        self._ended = False
        self.short = Event()
        """Set unless the log is long and a reader still needs it."""
        self.short.set()
        self._using = Lock()
        writer.set_wal_hook(self._after_commit)

    def _after_commit(self, _db: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._pages:  # the log restarted
            self._moved, self._rest_is_due = 0, False
        self._pages = pages
        if pages > PAGES_KEPT and self.short.is_set():
            self.short.clear()
            self._try_again()
        if self._busy:
            return apsw.SQLITE_OK
        if self._rest_is_due:
            self._rest_is_due, self._moved = False, pages
            self._run_checkpoint(apsw.SQLITE_CHECKPOINT_PASSIVE)
        elif pages - self._moved > PAGES_BEFORE:
            self._busy, self._moved = True, pages
            self._thread.submit(self._copy_log, pages)
        return apsw.SQLITE_OK

    def _copy_log(self, pages: int) -> None:
        """Copy the log into the database while the writer continues.

        Pages written meanwhile are few and are copied right after the next commit, when no write
        runs. SQLite restarts a log only when all of it was copied, and a long log is slow.
        """
        much = pages > PAGES_TOO_MANY
        passive, restart = apsw.SQLITE_CHECKPOINT_PASSIVE, apsw.SQLITE_CHECKPOINT_RESTART
        self._run_checkpoint(restart if much else passive)
        self._rest_is_due, self._busy = True, False

    def _shorten_log(self) -> None:
        """Truncate a long log as soon as no reader needs it.

        Writers do not wait for this. Reads of this process have a deadline. Another process may
        read without limit, so this retries at intervals.
        """
        if self._ended or self._try_truncate():
            self.short.set()
            return
        later = Timer(_RETRY_SECONDS, self._try_again)
        later.daemon = True
        later.start()

    def _try_again(self) -> None:
        with suppress(RuntimeError):  # closed meanwhile
            self._thread.submit(self._shorten_log)

    def _try_truncate(self) -> bool:
        """Return whether the log is empty now, or cannot be emptied at all."""
        with self._using:
            self._anchor.check_files()
            self._own.set_busy_timeout(0)
            try:
                # The long step comes first, because only the second step blocks writers.
                self._own.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                self._own.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                return False
            except apsw.Error:  # the next write reports a full or broken disk
                return True
            finally:
                self._own.set_busy_timeout(PATIENCE_MS)
        return True

    def _run_checkpoint(self, mode: int) -> None:
        # A failed checkpoint loses nothing: a later commit starts another, and the next write
        # reports a full or broken disk.
        if not self._using.acquire(blocking=False):
            return
        try:
            self._anchor.check_files()
            with suppress(apsw.Error):
                self._own.wal_checkpoint(mode=mode)
        finally:
            self._using.release()

    def empty_log(self) -> bool:
        """Copy everything and empty the write-ahead log; return False if readers kept it."""
        return self._thread.submit(self._empty_now).result()

    def _empty_now(self) -> bool:
        self._anchor.check_files()
        for _ in range(_ATTEMPTS):
            try:
                self._own.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:  # raised at once while another process checkpoints
                time.sleep(_PAUSE)
            except apsw.Error:  # a full or broken disk: the log keeps its content
                return False
            else:
                return True
        return False

    async def close(self) -> None:
        """Wait for a running checkpoint."""
        self._ended = True
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._thread.shutdown)


# The turnstile makes writing processes take turns, so that none is passed over for ever.
#
# A process waits for `next.lock`, holds it while it waits for `turn.lock`, and releases it once
# inside. A process that has just left therefore queues behind one that already waits. The operating
# system releases the locks of a process that dies.

_FIRST_PAUSE: Final = 0.0001  # most locks are released within a millisecond: bench writers
_LONGEST_PAUSE: Final = 0.002  # a free lock is noticed at once: bench writers

if sys.platform == "win32":
    import msvcrt

    def try_lock(file: int) -> bool:
        """Lock an open file if no process has locked it; return whether it did."""
        os.lseek(file, 0, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock_file(file: int) -> None:
        """Release the lock of a file."""
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def try_lock(file: int) -> bool:
        """Lock an open file if no process has locked it; return whether it did."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock_file(file: int) -> None:
        """Release the lock of a file."""
        fcntl.flock(file, fcntl.LOCK_UN)


class Turnstile:
    """A lock between all processes on a folder. Only one thread may use it at a time."""

    def __init__(self, folder: Path) -> None:
        """Create the lock files if they are missing."""
        flags, names = os.O_RDWR | os.O_CREAT, ("next.lock", "turn.lock")
        self._files = [os.open(folder / name, flags, 0o600) for name in names]

    def try_enter(self) -> bool:
        """Enter if no process is inside or waits; return whether it entered."""
        waiting, inside = self._files
        if not try_lock(waiting):
            return False
        entered = try_lock(inside)
        unlock_file(waiting)
        return entered

    def await_entry(self, seconds: float) -> None:
        """Wait for the lock.

        Raises:
            Unavailable: `ledger.busy`, the lock was not free within `seconds`.
        """
        waiting, inside = self._files
        deadline = time.monotonic() + seconds
        _await_lock(waiting, deadline)
        try:
            _await_lock(inside, deadline)
        finally:
            unlock_file(waiting)

    def release_lock(self) -> None:
        """Release the lock for the next process."""
        unlock_file(self._files[1])

    def close(self) -> None:
        """Close the lock files, which also releases the lock."""
        for file in self._files:
            os.close(file)
        self._files = []


def _await_lock(file: int, deadline: float) -> None:
    pause = _FIRST_PAUSE
    while not try_lock(file):
        if time.monotonic() > deadline:
            raise Unavailable("ledger.busy", "Other processes keep writing first. Try again.")
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
