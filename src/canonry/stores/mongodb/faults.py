"""The one place that turns what the driver raises into errors that say what to do next."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bson.errors import InvalidDocument, InvalidStringData
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    DocumentTooLarge,
    DuplicateKeyError,
    InvalidOperation,
    NetworkTimeout,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
    WriteConcernError,
    WTimeoutError,
)

from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable

DUPLICATE: Final = 11000
_FULL: Final = frozenset((14031, 28))
_REFUSED: Final = frozenset((13, 18))
_FAILING: Final = frozenset((1, 8))
"""What a server answers that failed itself, also for want of room, and has no code for it."""

_UNSURE: Final = (AutoReconnect, NetworkTimeout, WTimeoutError, WriteConcernError)


@contextmanager
def translated() -> Iterator[None]:
    """Raise Canonry's errors in place of the driver's."""
    try:
        yield
    except (PyMongoError, InvalidDocument, InvalidStringData, UnicodeEncodeError) as error:
        raise as_canonry(error) from error


def is_unsure(error: PyMongoError) -> bool:
    """Whether nobody knows if a write came through."""
    if isinstance(error, BulkWriteError):
        told = error.details or {}
        return not told.get("writeErrors") and bool(told.get("writeConcernErrors"))
    return isinstance(error, _UNSURE)


def is_taken(error: PyMongoError) -> bool:
    """Whether what was to be inserted is there already, under this id or another."""
    if isinstance(error, BulkWriteError):
        told = (error.details or {}).get("writeErrors", ())
        return bool(told) and all(each.get("code") == DUPLICATE for each in told)
    return isinstance(error, DuplicateKeyError)


def as_canonry(error: Exception) -> CanonryError:  # noqa: C901, PLR0911, PLR0912 - one case a kind
    """The error that tells a caller what `error` means."""
    match error:
        case BulkWriteError(details={"writeErrors": [first, *_]}):
            return as_canonry(OperationFailure(str(first["errmsg"]), first["code"]))
        case InvalidDocument() | InvalidStringData() | UnicodeEncodeError():
            return InvalidInput("text.unreadable", "a text holds what is no character")
        case DocumentTooLarge():
            message = "a commit is larger than a document of the server may be: write less at once"
            return InvalidInput("ledger.too-large", message)
        case InvalidOperation():
            return closed()
        case WaitQueueTimeoutError():
            return Unavailable("store.busy", "every connection is in use; try again")
        case ServerSelectionTimeoutError():
            return unreachable()
        case PyMongoError(timeout=True):
            return Unavailable("store.deadline", "the server took too long; try again")
        case ConnectionFailure():
            return unreachable()
        case OperationFailure(code=code) if code in _FULL:
            return Unavailable("ledger.full", "the disk is full: make room, nothing was written")
        case OperationFailure(code=code) if code in _REFUSED:
            message = "the server refuses this user: check mongodb.url and the rights of its user"
            return Unavailable("store.read-only", message)
        case OperationFailure(code=code) if code in _FAILING:
            message = "the database server failed: look at its log and at its disk; then try again"
            return Unavailable("store.failing", message)
        case ConfigurationError():
            message = "mongodb.url cannot be used: it is mongodb://HOST:PORT or mongodb+srv://HOST"
            return InvalidInput("store.bad-url", message)
        case _:
            message = "the database refused a command: run `canonry doctor`"
            return BrokenInvariant("store.failed", message, kind=type(error).__name__)


def unreachable() -> Unavailable:
    """The error of whoever finds no server that takes writes."""
    message = "the database server does not answer: check that it runs; then try again"
    return Unavailable("store.unreachable", message)


def closed() -> Unavailable:
    """The error of whoever asks after the end."""
    return Unavailable("ledger.closed", "the store is closed; open it again")
