"""The one place that turns what the driver raises into errors that say what to do next."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable

CONTENDED: Final = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.UniqueViolation,
    errors.LockNotAvailable,
)
"""What is raised where others were quicker: the same once more goes another way."""

MOVED: Final = "space.moved"
_FENCED: Final = "CY001"
"""What the trigger of `migrations/0002_shards.sql` raises."""

_UNREACHABLE: Final = "the database server does not answer: check that it runs; then try again"


@contextmanager
def translated() -> Iterator[None]:
    """Raise Canonry's errors in place of the driver's."""
    try:
        yield
    except (psycopg.Error, UnicodeEncodeError) as error:
        raise as_canonry(error) from error


def as_canonry(error: Exception) -> CanonryError:  # noqa: C901, PLR0911 - one case a kind
    """The error that tells a caller what `error` means."""
    match error:
        case PoolClosed():
            return closed()
        case PoolTimeout() | TooManyRequests() | errors.TooManyConnections():
            return Unavailable("store.busy", "every connection is in use; try again")
        case errors.QueryCanceled():
            return Unavailable("store.deadline", "the query took too long; ask for less of it")
        case errors.DiskFull() | errors.OutOfMemory():
            return Unavailable("ledger.full", "the disk is full: make room, nothing was written")
        case errors.ReadOnlySqlTransaction() | errors.InsufficientPrivilege():
            message = "the database cannot be written: check the rights of the role in postgres.url"
            return Unavailable("store.read-only", message)
        case errors.UndefinedTable() | errors.InvalidSchemaName() | errors.UndefinedColumn():
            return newer()
        case psycopg.Error() if error.sqlstate == _FENCED:
            return moved()
        case UnicodeEncodeError():
            return InvalidInput("text.unreadable", "a text holds what is no character")
        case psycopg.DataError() if "NUL" in str(error):
            return InvalidInput("text.unreadable", "a text holds the character NUL: leave it out")
        case psycopg.OperationalError() | psycopg.InterfaceError():
            return Unavailable("store.unreachable", _UNREACHABLE)
        case _ if isinstance(error, CONTENDED):
            return Unavailable("ledger.busy", "others write the same without a pause; try again")
        case _:
            message = "the database refused a statement: run `canonry doctor`"
            return BrokenInvariant("store.failed", message, kind=type(error).__name__)


def moved() -> Unavailable:
    """The error of whoever would write to a space where it does not live."""
    message = (
        "the space is moving to another server, or has moved there: try again; name all servers in "
        "records.shards"
    )
    return Unavailable(MOVED, message)


def closed() -> Unavailable:
    """The error of whoever asks after the end."""
    return Unavailable("ledger.closed", "the store is closed; open it again")


def newer() -> BrokenInvariant:
    """The error of a Canonry that is too old for its store."""
    message = "a later version of Canonry has written into this store; update this one"
    return BrokenInvariant("store.newer", message)


def altered() -> BrokenInvariant:
    """What is raised where rows do not agree with each other."""
    message = (
        "a stored row is not what was written: run `canonry verify`; `canonry rebuild` makes the "
        "views anew if the records are whole, else restore a backup"
    )
    return BrokenInvariant("store.altered", message)
