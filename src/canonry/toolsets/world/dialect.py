"""The world dialect: errors as `{"error": {code, message, details}}`, the code being a word."""

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
from canonry.gateway.replies import INTERNAL_ERROR
from canonry.gateway.tool import ErrorBody
from canonry.usecases.kernel.caller import Caller

_CLASSES: Final[tuple[tuple[type[CanonryError], int, str], ...]] = (
    (NotAllowed, -32001, "UNAUTHORIZED"),
    (NotFound, -32002, "NOT_FOUND"),
    (InvalidInput, -32003, "INVALID_ARGUMENT"),
    (Conflict, -32004, "CONFLICT"),
    (NotSupported, -32005, "NOT_SUPPORTED"),
    (Unavailable, -32005, "UNAVAILABLE"),
)
_CODES: Final[dict[str, tuple[int, str]]] = {
    "limits.rate": (-32005, "RATE_LIMITED"),
    "call.deadline": (-32005, "DEADLINE_EXCEEDED"),
}


def dialect(
    error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
) -> ErrorBody:
    """The published word, our own stable code in `details.reason`, and the error's details."""
    del trace_id  # this contract has none in its replies
    number, word = _CODES.get(error.code) or _number_of(error)
    details = {**error.details, "reason": error.code, "retryable": error.retryable}
    if isinstance(error, NotAllowed) and caller is not None:
        details = {"tool": tool, "agent_type": caller.actor.agent_type, **details}
    wire = {"error": {"code": word, "message": error.message, "details": details}}
    data = {"error": word, **details}
    return ErrorBody(code=number, message=error.message, data=data, wire=wire)


def _number_of(error: CanonryError) -> tuple[int, str]:
    for kind, number, word in _CLASSES:
        if isinstance(error, kind):
            return number, word
    return INTERNAL_ERROR, "INTERNAL_ERROR"
