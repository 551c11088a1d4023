"""The table of a dialect: what a contract calls each class of error, and single codes of ours."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

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

_NUMBERS: Final[Mapping[type[CanonryError], int]] = {
    NotAllowed: -32001,
    NotFound: -32002,
    InvalidInput: -32003,
    Conflict: -32004,
    NotSupported: -32005,
    Unavailable: -32005,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectTable:
    """Words for errors: that of the code, else that of the class, else `internal`.

    Numbers are those of the class; `numbers` has those codes and classes that bear another.
    """

    classes: Mapping[type[CanonryError], str]
    codes: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str | type[CanonryError], int] = field(default_factory=dict)
    internal: str = "INTERNAL"

    def word(self, error: CanonryError) -> str:
        """What the contract calls the error."""
        return self.codes.get(error.code) or self.classes.get(type(error), self.internal)

    def number(self, error: CanonryError) -> int:
        """The error's number in the protocol."""
        kind = type(error)
        own = self.numbers.get(error.code) or self.numbers.get(kind)
        return own or _NUMBERS.get(kind, INTERNAL_ERROR)

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
