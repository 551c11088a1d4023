"""The operator dialect: an error's class as a word, its own stable code, and its details."""

from typing import Final

from canonry.domain.errors import (
    CanonryError,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSupported,
    Unavailable,
)
from canonry.gateway.tool import ErrorBody
from canonry.usecases.kernel.caller import Caller

_CLASSES: Final[tuple[tuple[type[CanonryError], int, str], ...]] = (
    (NotAllowed, -32001, "NOT_ALLOWED"),
    (NotFound, -32002, "NOT_FOUND"),
    (InvalidInput, -32602, "INVALID_INPUT"),
    (Conflict, -32004, "CONFLICT"),
    (Unavailable, -32005, "UNAVAILABLE"),
    (NotSupported, -32005, "NOT_SUPPORTED"),
)
_INTERNAL: Final = (-32603, "INTERNAL")


def dialect(
    error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
) -> ErrorBody:
    """The code of the error's class; `data` says which rule was broken, and where."""
    del tool, caller, trace_id
    number, name = next(
        ((number, name) for kind, number, name in _CLASSES if isinstance(error, kind)), _INTERNAL
    )
    data = {**error.details, "error": name, "code": error.code, "retryable": error.retryable}
    return ErrorBody(code=number, message=error.message, data=data)
