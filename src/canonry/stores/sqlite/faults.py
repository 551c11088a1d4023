"""The one place that turns what SQLite raises into errors that say what to do next."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import apsw

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


def closed() -> Unavailable:
    """The error of whoever asks after the end."""
    return Unavailable("ledger.closed", "the store is closed; open it again")


def not_canonry() -> CanonryError:
    """The error for a file that somebody else wrote."""
    return BrokenInvariant("store.not-canonry", "this is no Canonry store: name another folder")


def newer() -> CanonryError:
    """The error of a Canonry that is too old for its store."""
    message = "a later version of Canonry has written into this store; update this one"
    return BrokenInvariant("store.newer", message)
