"""The narrative dialect: every error as one of the contract's six codes, with its data."""

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
from canonry.gateway.replies import DEFECT, INTERNAL_ERROR
from canonry.gateway.tool import ErrorBody
from canonry.usecases.kernel.caller import Caller

_CLASSES: Final[tuple[tuple[type[CanonryError], int, str], ...]] = (
    (NotAllowed, -32001, "UNAUTHORIZED"),
    (NotFound, -32002, "NOT_FOUND"),
    (InvalidInput, -32003, "VALIDATION_ERROR"),
    (Conflict, -32004, "CONSTRAINT_VIOLATION"),
    (Unavailable, -32005, "TRANSACTION_FAILED"),
    (NotSupported, -32005, "NOT_SUPPORTED"),
)
_CODES: Final[dict[str, tuple[int, str]]] = {
    "scene.completed": (-32006, "ALREADY_CANONIZED"),
    "scene.in-progress": (-32004, "IN_PROGRESS"),
    "limits.rate": (-32005, "RATE_LIMITED"),
    "call.deadline": (-32005, "DEADLINE_EXCEEDED"),
    "document.too-slow": (-32005, "DEADLINE_EXCEEDED"),
    "document.no-reader": (-32005, "UNAVAILABLE"),
    "ledger.busy": (-32005, "BUSY"),
    "canon.contended": (-32005, "BUSY"),
    "ledger.closed": (-32005, "UNAVAILABLE"),
    "ledger.full": (-32005, "UNAVAILABLE"),
    "text.unavailable": (-32005, "UNAVAILABLE"),
}


def dialect(
    error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
) -> ErrorBody:
    """The published code and symbolic name, our own stable code, and the error's details."""
    del trace_id  # the contract has no place for it
    if error.code == DEFECT:
        data = {"error": "INTERNAL", **error.details}
        return ErrorBody(code=INTERNAL_ERROR, message=error.message, data=data)
    number, name = _CODES.get(error.code) or _number_of(error)
    data = dict(error.details)
    if isinstance(error, NotAllowed) and caller is not None:
        data = {"tool": tool, "agent_type": caller.actor.agent_type, **data}
    data |= {"error": name, "code": error.code, "retryable": error.retryable}
    return ErrorBody(code=number, message=error.message, data=data)


def _number_of(error: CanonryError) -> tuple[int, str]:
    for kind, number, name in _CLASSES:
        if isinstance(error, kind):
            return number, name
    return INTERNAL_ERROR, "INTERNAL"
