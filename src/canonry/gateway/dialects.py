"""The table of a dialect: what a contract calls each class of error, and single codes of ours."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.gateway.replies import DEFECT, INTERNAL_ERROR
from canonry.gateway.tool import ErrorBody
from canonry.values.errors import (
    CanonryError,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSupported,
    Unavailable,
)

_KINDS: Final[Mapping[type[CanonryError], tuple[str, int]]] = {
    NotAllowed: ("not_allowed", -32001),
    NotFound: ("not_found", -32002),
    InvalidInput: ("invalid_input", -32003),
    Conflict: ("conflict", -32004),
    NotSupported: ("not_supported", -32005),
    Unavailable: ("unavailable", -32005),
}
_OTHER: Final = ("internal", INTERNAL_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectTable:
    """Words for errors: that of the code, else that of the class, else `internal`.

    Numbers are those of the class; `numbers` has those codes and classes that bear another.
    """

    not_allowed: str = ""
    not_found: str = ""
    invalid_input: str = ""
    conflict: str = ""
    not_supported: str = ""
    unavailable: str = ""
    internal: str = "INTERNAL"
    codes: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str | type[CanonryError], int] = field(default_factory=dict)

    def word(self, error: CanonryError) -> str:
        """What the contract calls the error."""
        kind, _ = _KINDS.get(type(error), _OTHER)
        return self.codes.get(error.code) or getattr(self, kind) or self.internal

    def number(self, error: CanonryError) -> int:
        """The error's number in the protocol."""
        own = self.numbers.get(error.code) or self.numbers.get(type(error))
        return own or _KINDS.get(type(error), _OTHER)[1]

    def flat(
        self, error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
    ) -> ErrorBody:
        """A dialect: the word, our own stable code and the details side by side."""
        del trace_id  # this form has no place for it
        data = _details(error, tool, caller) | {"error": self.word(error)}
        if error.code != DEFECT:
            data |= {"code": error.code, "retryable": error.retryable}
        return ErrorBody(code=self.number(error), message=error.message, data=data)

    def envelope(
        self, error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
    ) -> ErrorBody:
        """A dialect: `{"error": {code, message, details}}`, the code being the word."""
        del trace_id  # as above
        word = self.word(error)
        own = {"reason": error.code, "retryable": error.retryable}
        details = _details(error, tool, caller) | own
        return ErrorBody(
            code=self.number(error),
            message=error.message,
            data={"error": word, **details},
            wire={"error": {"code": word, "message": error.message, "details": details}},
        )


def _details(error: CanonryError, tool: str, caller: Caller | None) -> dict[str, Any]:
    if isinstance(error, NotAllowed) and caller is not None:
        return {"tool": tool, "agent_type": caller.actor.agent_type, **error.details}
    return dict(error.details)
