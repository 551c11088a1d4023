"""The one place that turns what the driver raises into errors that say what to do next."""

from typing import Final

from neo4j import exceptions

from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable

_LATE: Final = (
    "TransactionTimedOut",
    "TransactionTimedOutClientConfiguration",
    "LockClientStopped",
)
_FULL: Final = ("MemoryPoolOutOfMemoryError", "OutOfMemoryError", "TransactionLogError")
_REFUSED: Final = ("WriteOnReadOnlyAccessDatabase", "ForbiddenDueToTransactionType", "Forbidden")
_UNREACHABLE: Final = "the Neo4j server does not answer: check that it runs; then try again"

DRIVER_FAULTS: Final = (exceptions.Neo4jError, exceptions.DriverError, UnicodeEncodeError, OSError)
"""Everything that the driver raises of its own accord."""


def is_passing(error: Exception) -> bool:
    """Whether the same once more may go another way."""
    match error:
        case exceptions.ConstraintError():
            return True
        case TimeoutError():
            return False
        case exceptions.Neo4jError():
            return error.is_retryable() and _title(error) not in (*_LATE, *_FULL)
        case exceptions.ServiceUnavailable() | exceptions.SessionExpired():
            return True
        case _:
            return isinstance(error, OSError)


def as_canonry(error: Exception) -> CanonryError:  # noqa: C901, PLR0911 - one case a kind
    """The error that tells a caller what `error` means."""
    title = _title(error)
    match error:
        case TimeoutError():
            return late()
        case exceptions.AuthError():
            message = "the Neo4j server refuses the name or password: correct them in the address"
            return Unavailable("store.refused", message)
        case UnicodeEncodeError():
            return InvalidInput("text.unreadable", "a text holds what is no character")
        case exceptions.Neo4jError() if title in _LATE:
            return late()
        case exceptions.Neo4jError() if title in _FULL:
            message = "the Neo4j server has no room left: give it memory and disk, then try again"
            return Unavailable("view.full", message)
        case exceptions.Neo4jError() if title in _REFUSED:
            message = "the graph cannot be written: check the rights of the user in the address"
            return Unavailable("store.read-only", message)
        case exceptions.ConstraintError():
            return Unavailable("view.busy", "others write the same without a pause; try again")
        case exceptions.Neo4jError() if error.is_retryable():
            return Unavailable("view.busy", "the Neo4j server is busy; try again")
        case exceptions.ClientError() if title in {"DatabaseNotFound", "DatabaseUnavailable"}:
            return Unavailable("store.unreachable", "the Neo4j server has no such database by now")
        case exceptions.ClientError():
            message = "the Neo4j server refused a statement: run `canonry doctor`"
            return BrokenInvariant("store.failed", message, kind=title)
        case exceptions.DatabaseError():
            message = "the Neo4j server failed: look at its log, restart it, then try again"
            return Unavailable("store.failing", message, kind=title)
        case _:
            return Unavailable("store.unreachable", _UNREACHABLE)


def late() -> Unavailable:
    """The error of whoever asked for too much."""
    return Unavailable("store.deadline", "the query took too long; ask for less of it")


def newer() -> BrokenInvariant:
    """The error of a Canonry that is too old for its graph."""
    message = "a later version of Canonry has written into this graph; update this one"
    return BrokenInvariant("store.newer", message)


def _title(error: Exception) -> str:
    """The last part of the server's code, such as `DeadlockDetected`."""
    code = getattr(error, "code", None)
    return code.rpartition(".")[2] if isinstance(code, str) else ""
