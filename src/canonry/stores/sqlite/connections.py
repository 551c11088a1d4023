"""Connections of SQLite, and its faults as our errors."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import apsw

from canonry.log.ports.world import closed
from canonry.values.errors import BrokenInvariant, CanonryError, Unavailable

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
