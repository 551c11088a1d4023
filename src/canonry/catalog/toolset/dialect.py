"""The catalog dialect: every error in the contract's envelope, as one of its four codes.

It says which argument is at fault and never what lies behind it: what is not there and what the
caller may not see are told in the same bytes.
"""

import re
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.gateway.dialects import DialectTable
from canonry.gateway.replies import INTERNAL_ERROR, INVALID_PARAMS
from canonry.gateway.tool import ErrorBody
from canonry.values.errors import CanonryError

PROJECT_NOT_FOUND: Final = "PROJECT_NOT_FOUND"
ENTITY_NOT_FOUND: Final = "ENTITY_NOT_FOUND"
VALIDATION_ERROR: Final = "VALIDATION_ERROR"
INTERNAL: Final = "INTERNAL_ERROR"

_TABLE: Final = DialectTable(
    invalid_input=VALIDATION_ERROR,
    codes={"project.unknown": PROJECT_NOT_FOUND, "entity.unknown": ENTITY_NOT_FOUND},
    internal=INTERNAL,
)
_INDEX: Final = re.compile(r"/(\d+)(?=/|$)")
_TIMEOUTS: Final = frozenset(("call.deadline", "store.deadline"))
_MESSAGES: Final = {
    PROJECT_NOT_FOUND: "Invalid or inaccessible projectId",
    ENTITY_NOT_FOUND: "Requested entity does not exist",
    VALIDATION_ERROR: "Invalid input parameters",
    INTERNAL: "Internal error",
}


def dialect(
    error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
) -> ErrorBody:
    """The envelope for `error`; neither the tool, the caller nor a trace is part of it."""
    del tool, caller, trace_id
    code = _TABLE.word(error)
    message, details = _MESSAGES[code], _details(error, code)
    if error.code in _TIMEOUTS:
        message = "Tool execution timeout"
    envelope: dict[str, Any] = {"code": code, "message": message, "details": details}
    number = INTERNAL_ERROR if code == INTERNAL else INVALID_PARAMS
    return ErrorBody(code=number, message=message, data=envelope, wire={"error": envelope})


def _details(error: CanonryError, code: str) -> dict[str, str]:
    if code == PROJECT_NOT_FOUND:
        return {"field": "projectId"}
    if code == ENTITY_NOT_FOUND:
        return {"field": "entityId"}
    if code == VALIDATION_ERROR:
        return {"field": field_of(str(error.details.get("path", ""))), "reason": error.message}
    if error.code in _TIMEOUTS:
        return {"reason": "timeout"}
    return {"reason": error.message if error.code == "identity.missing" else error.code}


def field_of(path: str) -> str:
    """A JSON pointer as an argument is called: `entityTypes[1]`; the whole are `arguments`."""
    plain = _INDEX.sub(r"[\1]", path.removeprefix("/") and f"/{path.removeprefix('/')}")
    return plain.removeprefix("/").replace("/", ".").replace("~1", "/").replace("~0", "~") or (
        "arguments"
    )
