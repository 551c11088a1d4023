"""Connections of SQLite: what they read and when, the order of writers, checkpoints, and faults."""

import asyncio
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Timer
from typing import Any, Final, TypeAlias, TypeVar

import apsw

from canonry.log.ports.world import closed
from canonry.values.errors import BrokenInvariant, CanonryError, Unavailable

# The anchor: what is open is what lies at the store's path, and no shorter than it was.
#
# A folder that is deleted or moved takes its open files along, and what is written into them then
# is found by nobody. A file that is cut kills whoever has it in memory: SQLite shares the index of
# the write-ahead log that way (`-shm`), and reads large stores so. Both are looked for where they
# would do harm, by the cheapest question that the system answers: what stands at a path.

_Id: TypeAlias = tuple[int, int]

_stat: Final = os.stat  # that of a path object takes twice the time


class Anchor:
    """The files of one store as they were when they were opened."""

    def __init__(self, path: Path) -> None:
        """Hold nothing yet; `hold` follows when the files are open."""
        self._path: Final = str(path.absolute())
        self._log: Final = f"{self._path}-wal"
        self._index: Final = f"{self._path}-shm"
        self._known: Sequence[_Id | None] = ()
        self._index_bytes = 0
        self._bytes = 0
        self._frozen: tuple[int, ...] | None = None
        self._mending = Lock()
        self.mapped = False
        self.mended = 0

    def hold(self) -> None:
        """Remember which files are open; no other process makes them anew meanwhile."""
        self._known = [_id_at(each) for each in (self._path, self._log, self._index)]
        self.look()
        self.is_shorter()

    def freeze(self) -> None:
        """From now on nobody may write, because nobody would be noticed."""
        self._frozen = self._lies()

    def look(self) -> None:
        """Look before anything is read.

        Raises:
            Unavailable: `store.changed`, somebody writes into what is read as it lies.
        """
        if self._frozen is None:
            self._see_index()
        elif self._lies() != self._frozen:
            raise _changed()

    def is_shorter(self) -> bool:
        """Whether the database is shorter than at the last such question, by a purge or by damage.

        Whoever has it in memory asks, and must let go of what is no more; nobody else does, so
        that the answer reaches the right one.
        """
        if not self.mapped or self._frozen is not None:
            return False
        found = _look_at(self._path)
        if found is None:
            return False
        self._bytes, before = found.st_size, self._bytes
        return self._bytes < before

    def require_in_place(self) -> None:
        """Look before anything is written: refuse where open files are not those at their paths.

        Raises:
            Unavailable: `store.moved`.
        """
        index = self._see_index()
        if self._known and [_id_at(self._path), _id_at(self._log), _id_of(index)] != self._known:
            raise _moved()

    def require_file(self) -> None:
        """The same by a shorter look, for what has just been written.

        Raises:
            Unavailable: `store.moved`.
        """
        if self._known and _id_at(self._path) != self._known[0]:
            raise _moved()

    def _lies(self) -> tuple[int, ...]:
        try:
            log = _stat(self._log).st_size
        except OSError:
            log = 0
        found = _stat(self._path)
        return found.st_ino, found.st_size, found.st_mtime_ns, log

    def _see_index(self) -> os.stat_result | None:
        """What the shared index is now; one that was cut gets its length again."""
        # The length comes first: an index that grows, seen by another thread meanwhile, is not cut.
        known = self._index_bytes
        found = _look_at(self._index)
        if found is None:  # none yet, or gone with its folder: whoever writes is told
            return None
        if found.st_size < known:
            self._mend_index(known)
        else:
            self._index_bytes = found.st_size
        return found

    def _mend_index(self, known: int) -> None:
        """Give the shared index its length again, as zeros, which SQLite makes anew.

        Memory that is mapped past the end of a file is death to whoever touches it. What was read
        meanwhile may miss commits: `mended` counts up, so that it is read again.
        """
        with self._mending:
            now = _look_at(self._index)
            if now is None or now.st_size >= known:  # gone, or mended by another thread meanwhile
                return
            # By its name: closing a file of one's own would give up every lock on it. To nothing
            # first: what is left of a cut index is believed, although the rest of it is gone.
            try:
                os.truncate(self._index, 0)
                os.truncate(self._index, known)
            except OSError:  # gone meanwhile
                return
            self.mended += 1


def _look_at(path: str) -> os.stat_result | None:
    try:
        return _stat(path)
    except OSError:
        return None


def _id_of(found: os.stat_result | None) -> _Id | None:
    return None if found is None else (found.st_dev, found.st_ino)


def _id_at(path: str) -> _Id | None:
    return _id_of(_look_at(path))


def _changed() -> Unavailable:
    message = "the store was opened as it lay, and somebody writes into it: open it again"
    return Unavailable("store.changed", message)


def _moved() -> Unavailable:
    message = (
        "the store is no longer where it was opened: its folder was deleted, moved or replaced, "
        "so nothing more is written; stop this server, put the folder back, or start it on the "
        "folder's new place"
    )
    return Unavailable("store.moved", message)


RAISED: Final = (apsw.Error, UnicodeDecodeError)
"""What the driver raises: a text whose bits flipped cannot even be decoded."""

_CORRUPT = "the store is damaged: stop every server on it and run `canonry doctor`"


@contextmanager
def translated() -> Iterator[None]:
    """Raise Canonry's errors in place of the driver's."""
    try:
        yield
    except RAISED as error:
        raise as_canonry(error) from error


@contextmanager
def transaction(db: Any, begin: str = "BEGIN") -> Iterator[None]:
    """All that the block writes, or nothing: an error takes it back."""
    db.execute(begin)
    try:
        yield
    except BaseException:
        if db.in_transaction:  # a full disk ends it by itself
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def as_canonry(error: Exception) -> CanonryError:  # noqa: C901, PLR0911 - one case a kind
    """The error that tells a caller what `error` means."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return Unavailable("store.busy", "another process holds the store; try again")
        case apsw.InterruptError():
            return Unavailable("store.deadline", "the query took too long; ask for less of it")
        case apsw.FullError():
            return Unavailable("ledger.full", "the disk is full: make room, nothing was written")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return Unavailable("store.read-only", "the store cannot be written: check its folder")
        case apsw.CantOpenError():
            return Unavailable("store.unreachable", "the store cannot be opened: check its folder")
        case apsw.IOError():
            return Unavailable("store.io", "the disk failed: run `canonry doctor`")
        case apsw.NotADBError():
            return not_canonry()
        case apsw.CorruptError() | UnicodeDecodeError():
            return BrokenInvariant("store.corrupt", _CORRUPT)
        case apsw.ConnectionClosedError() | apsw.CursorClosedError():
            return closed()
        case apsw.NoMemError() | apsw.TooBigError():
            return Unavailable("store.too-big", "this does not fit into a row or into memory")
        case _:
            message = "the store refused a statement: run `canonry doctor`"
            return BrokenInvariant("store.failed", message, kind=type(error).__name__)


def not_canonry() -> CanonryError:
    """The error for a file that somebody else wrote."""
    return BrokenInvariant("store.not-canonry", "this is no Canonry store: name another folder")


def newer() -> CanonryError:
    """The error of a Canonry that is too old for its store."""
    message = "a later version of Canonry has written into this store; update this one"
    return BrokenInvariant("store.newer", message)


CACHE_KB: Final = 65_536
_WRITERS_CACHE_KB: Final = 16_384
"""Less for who writes: what it holds is dropped whenever the log begins anew, and is not read."""

_STATEMENTS: Final = 256
_BUSY_MS: Final = 10_000
MAPPED_BYTES: Final = 2**36
"""Addresses, not memory: the system keeps as much of the file as it has room for."""


class Durability(StrEnum):
    """`full` syncs each group of commits; `normal` may lose the last ones when power fails."""

    FULL = "full"
    NORMAL = "normal"


class OpenMode(StrEnum):
    """How a store is opened, as the rest of a SQLite address.

    `APART` shares the index of the write-ahead log without writing into it, or reads the log into
    memory; `FROZEN` takes the file as it lies, so that nobody may write meanwhile.
    """

    SERVED = ""
    SEALED = "?mode=ro"
    APART = "?mode=ro&readonly_shm=1"
    FROZEN = "?mode=ro&immutable=1"


def address(path: Path, way: OpenMode) -> str:
    """The store at `path` as a statement or a connection names it."""
    return f"{path.absolute().as_uri()}{way}"


def connect(
    path: Path,
    *,
    writes: bool = False,
    durability: Durability = Durability.FULL,
    patience_ms: int = 0,
    vfs: str | None = None,
    mapped: bool = False,
    way: OpenMode = OpenMode.SERVED,
) -> apsw.Connection:
    """A connection to the store at `path`, which exists unless the connection writes.

    One that is `mapped` reads from the system's own memory of the file: scattered lookups in a
    store larger than the cache cost a third less than with a system call for each page. One that
    is not `SERVED` cannot even empty the write-ahead log when it is closed.
    """
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if writes else 0)
    if way is not OpenMode.SERVED:
        flags = apsw.SQLITE_OPEN_READONLY
    name = address(path, way)
    flags |= apsw.SQLITE_OPEN_URI
    if writes:
        make_private(path)
    with translated():
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
    """Make an empty file that others cannot read, where there is none, whatever the mask says.

    SQLite gives its log and its shared index the mode of the database. A file that is there is
    not opened: to close it again would give up every lock that this process has on it.
    """
    with suppress(OSError):  # what cannot be made is told by whoever opens it
        path.touch(0o600, exist_ok=False)


# Readers: a short query runs where it is asked, a long one in a thread of its own.
#
# A hop to a thread and back costs as much as five lookups. So every query starts on the event loop
# with a budget of two milliseconds; one that needs more is stopped and starts again in a thread,
# where it has until the deadline.

T = TypeVar("T")
Query = Callable[[apsw.Connection], T]

INLINE_SECONDS: Final = 0.002
_STEPS: Final = 2000
_STEPS_APART: Final = 40_000
"""A statement in a thread is watched more rarely: for each look it waits for all other threads."""

_MOMENT: Final = 0.001
"""A look at the files may cost as much as the lookup it protects: those of one moment share it."""

_PATIENCE_MS: Final = 5000
_THREADS: Final = 4


class _Asker:
    """Whoever waits for a query in a thread, until they are gone."""

    gone = False


class _Watch:
    """Stops the statement that runs past its time, or that nobody waits for any more.

    SQLite asks it now and then. Without an end of its time nothing stops a statement.
    """

    def __init__(self) -> None:
        self.until = 0.0
        self.asker = _Asker()

    def __call__(self) -> bool:
        return self.until < math.inf and (self.asker.gone or time.monotonic() > self.until)


class Readers:
    """The connections that only read; none keeps a transaction open past a query."""

    def __init__(
        self,
        path: Path,
        *,
        deadline: float,
        anchor: Anchor,
        vfs: str | None = None,
        way: OpenMode = OpenMode.SERVED,
        mapped_from: int = CACHE_KB * 1024,
    ) -> None:
        """Open the connection of the event loop; those of the threads follow as needed.

        A file of more than `mapped_from` bytes is mapped; what the cache holds as a whole gains
        nothing by it.
        """
        self._path = path
        self._anchor = anchor
        self._way = way
        self._vfs = vfs
        self._deadline = deadline
        self._watch = _Watch()
        self._looked = 0.0
        self._mapped = path.stat().st_size > mapped_from
        anchor.mapped = self._mapped
        self._inline = self._open(self._watch, inline=True)
        self._idle: SimpleQueue[tuple[apsw.Connection, _Watch]] = SimpleQueue()
        self._opened: list[apsw.Connection] = [self._inline]
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="canonry-read")
        self._closed = False

    async def short(
        self, query: Query[T], *, together: bool = False, seconds: float | None = None
    ) -> T:
        """Run a query that an index bounds; its statements see one state if they run `together`.

        It has `seconds` where it turns out to be long, by default those of this reader.
        """
        if self._closed:
            raise closed()
        now = time.monotonic()
        self._watch.until = now + INLINE_SECONDS
        if now - self._looked > _MOMENT:
            self._look(now)
        mended = self._anchor.mended
        try:
            found = _ask(self._inline, self._watch, query, together=together)
            if self._anchor.mended == mended:
                return found
            raise apsw.BusyError  # noqa: TRY301 - as where another process mends the index
        except (apsw.InterruptError, apsw.BusyError):
            return await self.long(query, together=together, seconds=seconds)
        except RAISED as error:
            raise as_canonry(error) from error

    async def consistent(self, query: Query[T], *, seconds: float | None = None) -> T:
        """Run a short query of several statements that must see one state."""
        return await self.short(query, together=True, seconds=seconds)

    async def long(
        self, query: Query[T], *, together: bool = False, seconds: float | None = None
    ) -> T:
        """Run a query in a thread, until `seconds` or the deadline are over."""
        if self._closed:
            raise closed()
        allowed = self._deadline if seconds is None else seconds
        asker = _Asker()

        def run() -> T:
            with translated():
                self._anchor.look()
                mended = self._anchor.mended
                db, watch = self._borrow()
                watch.asker, watch.until = asker, time.monotonic() + allowed
                try:
                    found = _ask(db, watch, query, together=together)
                finally:
                    self._idle.put((db, watch))
                if self._anchor.mended != mended:
                    raise apsw.BusyError  # whoever asks again reads what is there
                return found

        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, run)
        except asyncio.CancelledError:
            asker.gone = True
            raise

    async def whole(self, query: Query[T], *, together: bool = True) -> T:
        """Run a query over everything in a thread, however long it takes.

        Statements that need not agree do not run `together`: each then sees a moment of its own,
        and the write-ahead log can be emptied between them.
        """
        return await self.long(query, together=together, seconds=math.inf)

    def _look(self, now: float) -> None:
        """Look at the files before the event loop's connection reads them."""
        self._looked = now
        self._anchor.look()
        if self._anchor.is_shorter():
            # What is mapped past the end of a file is death to touch: map what is left of it.
            self._inline.execute("PRAGMA mmap_size = 0")
            self._inline.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")

    def _borrow(self) -> tuple[apsw.Connection, _Watch]:
        if self._idle.empty():
            watch = _Watch()
            db = self._open(watch)
            db.set_busy_timeout(_PATIENCE_MS)
            self._opened.append(db)
            return db, watch
        return self._idle.get()

    def _open(self, watch: _Watch, *, inline: bool = False) -> apsw.Connection:
        mapped = inline and self._mapped
        db = connect(self._path, vfs=self._vfs, mapped=mapped, way=self._way)
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


def _ask(db: apsw.Connection, watch: _Watch, query: Query[T], *, together: bool) -> T:
    if not together:
        return query(db)
    until, watch.until = watch.until, math.inf  # nor its beginning, which may be stopped once done
    db.execute("BEGIN")
    watch.until = until
    try:
        return query(db)
    finally:
        watch.until = math.inf  # nothing may stop the end of a transaction
        db.execute("COMMIT")


PATIENCE_MS: Final = 1000

PAGES_BEFORE: Final = 4000
"""After so many more pages the write-ahead log is moved again.

Where writing never pauses the log goes on growing, although all of it has been moved; so what
counts is what came since the last time, else every commit would ask for a checkpoint.
"""

PAGES_TOO_MANY: Final = 50_000
"""From here on writers wait until the write-ahead log has been emptied."""


PAGES_KEPT: Final = 16_000
"""A longer log is emptied as soon as nobody reads from it: 64 MB, which one burst may take."""

_LOOKS_EVERY: Final = 1.0
_ATTEMPTS: Final = 20
_PAUSE: Final = 0.05


class Checkpoints:
    """Watches the connection that writes, and moves pages by one of its own."""

    def __init__(self, writer: apsw.Connection, own: apsw.Connection, anchor: Anchor) -> None:
        """`own` is used by nobody else; it may wait for others."""
        self._anchor = anchor
        self._own = own
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="canonry-checkpoint")
        self._busy = False
        self._pages = 0
        self._moved = 0
        self._rest_is_due = False
        self._ended = False
        self.short = Event()
        """Set unless the log is long and somebody still reads from it."""
        self.short.set()
        self._using = Lock()
        writer.set_wal_hook(self._committed)

    def _committed(self, _db: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._pages:  # the log began anew
            self._moved, self._rest_is_due = 0, False
        self._pages = pages
        if pages > PAGES_KEPT and self.short.is_set():
            self.short.clear()
            self._try_again()
        if self._busy:
            return apsw.SQLITE_OK
        if self._rest_is_due:
            self._rest_is_due, self._moved = False, pages
            self._checkpoint(apsw.SQLITE_CHECKPOINT_PASSIVE)
        elif pages - self._moved > PAGES_BEFORE:
            self._busy, self._moved = True, pages
            self._thread.submit(self._move, pages)
        return apsw.SQLITE_OK

    def _move(self, pages: int) -> None:
        """Move what there is, beside the writer.

        What is written meanwhile is little. It is moved right after the next commit, when nobody
        writes: only a log that has been moved as a whole begins anew, and a long one is slow.
        """
        much = pages > PAGES_TOO_MANY
        passive, restart = apsw.SQLITE_CHECKPOINT_PASSIVE, apsw.SQLITE_CHECKPOINT_RESTART
        self._checkpoint(restart if much else passive)
        self._rest_is_due, self._busy = True, False

    def _shorten(self) -> None:
        """Give the room of a long log back as soon as whoever still reads from it has gone.

        Nobody who writes waits for it. What this process reads for long has a deadline; another
        one may read for as long as it likes, and is looked after now and then.
        """
        if self._ended or self._attempt():
            self.short.set()
            return
        later = Timer(_LOOKS_EVERY, self._try_again)
        later.daemon = True
        later.start()

    def _try_again(self) -> None:
        with suppress(RuntimeError):  # closed meanwhile
            self._thread.submit(self._shorten)

    def _attempt(self) -> bool:
        """Whether the log is empty now, or cannot be emptied at all."""
        with self._using:
            self._anchor.look()
            self._own.set_busy_timeout(0)
            try:
                # The long part goes first, because only the other one keeps writers out.
                self._own.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                self._own.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:
                return False
            except apsw.Error:  # whoever writes next is told of a disk that is full or broken
                return True
            finally:
                self._own.set_busy_timeout(PATIENCE_MS)
        return True

    def _checkpoint(self, mode: int) -> None:
        # One that fails loses nothing: a later commit asks for another, and a disk that is full or
        # broken is reported to whoever writes.
        if not self._using.acquire(blocking=False):
            return
        try:
            self._anchor.look()
            with suppress(apsw.Error):
                self._own.wal_checkpoint(mode=mode)
        finally:
            self._using.release()

    def empty(self) -> bool:
        """Move everything and empty the write-ahead log; False if others kept reading from it."""
        return self._thread.submit(self._empty).result()

    def _empty(self) -> bool:
        self._anchor.look()
        for _ in range(_ATTEMPTS):
            try:
                self._own.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except apsw.BusyError:  # told at once where another process checkpoints
                time.sleep(_PAUSE)
            except apsw.Error:  # a disk that is full or broken: the log keeps what it holds
                return False
            else:
                return True
        return False

    async def close(self) -> None:
        """Wait for the one that runs."""
        self._ended = True
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._thread.shutdown)


# The turnstile: processes that write take turns, in two steps, so that nobody is passed for ever.
#
# Whoever wants to write first waits at `next.lock`, holds it while waiting for `turn.lock`, and
# lets it go once inside. A process that has just left therefore queues behind one that already
# waits. The operating system opens the locks of a process that dies.

_FIRST_PAUSE: Final = 0.0001
_LONGEST_PAUSE: Final = 0.002

if sys.platform == "win32":
    import msvcrt

    def try_lock(file: int) -> bool:
        """Lock an open file, if nobody holds it."""
        os.lseek(file, 0, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(file: int) -> None:
        """Give a locked file back."""
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def try_lock(file: int) -> bool:
        """Lock an open file, if nobody holds it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(file: int) -> None:
        """Give a locked file back."""
        fcntl.flock(file, fcntl.LOCK_UN)


class Turnstile:
    """One at a time, in all processes on a folder; used by one thread at a time."""

    def __init__(self, folder: Path) -> None:
        """Make the lock files where there are none."""
        self._files = [_file(folder / "next.lock"), _file(folder / "turn.lock")]

    def try_enter(self) -> bool:
        """Enter if nobody is inside or waits."""
        waiting, turn = self._files
        if not try_lock(waiting):
            return False
        entered = try_lock(turn)
        unlock(waiting)
        return entered

    def enter(self, seconds: float) -> None:
        """Wait for the turn.

        Raises:
            Unavailable: `ledger.busy`, it did not come in time.
        """
        waiting, turn = self._files
        deadline = time.monotonic() + seconds
        _wait(waiting, deadline)
        try:
            _wait(turn, deadline)
        finally:
            unlock(waiting)

    def leave(self) -> None:
        """Let the next one in."""
        unlock(self._files[1])

    def close(self) -> None:
        """Close the lock files, and so leave."""
        for file in self._files:
            os.close(file)
        self._files = []


def _file(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def _wait(file: int, deadline: float) -> None:
    pause = _FIRST_PAUSE
    while not try_lock(file):
        if time.monotonic() > deadline:
            raise Unavailable("ledger.busy", "others write without a pause; try again")
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
