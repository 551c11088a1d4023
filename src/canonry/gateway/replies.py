"""What a call comes to: a reply or an error in the toolset's dialect, serialised exactly once."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from canonry.canon.session.caller import Caller
from canonry.gateway.limits import meant, shown
from canonry.gateway.tool import ErrorBody, File, Noted, Reply, Toolset
from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput

INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
DEFECT: Final = "internal"
"""The code under which a dialect is asked to word a defect."""
_NO_META: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a call comes to.

    `body` is the reply, or `{"error": {code, message, data}}` in the dialect's form; `text` is the
    same as JSON. `parts` are said beside it, or alone where there is no body. `error` is set where
    the call failed, and `protocol` where it named something that does not exist, which is an error
    of the protocol and not of a tool.
    """

    body: Any
    text: str
    error: ErrorBody | None = None
    protocol: bool = False
    meta: Mapping[str, Any] = field(default_factory=lambda: _NO_META)
    parts: tuple[Mapping[str, Any], ...] = ()

    @property
    def size(self) -> int:
        """How long it is, in characters or bytes."""
        return len(self.body.data) if isinstance(self.body, File) else len(self.text)


def replied(reply: Reply) -> Result:
    """The result of a call that succeeded."""
    if isinstance(reply, Noted):
        return replace(replied(reply.reply), meta=reply.meta, parts=reply.parts)
    try:
        text = orjson.dumps(reply).decode()
    except TypeError:  # a whole number of more than 64 bits, which few replies hold
        text = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
    return Result(body=reply, text=text)


def as_text(reply: Reply) -> Result:
    """The result of reading a resource or rendering a prompt: the text itself, or the file."""
    if isinstance(reply, File):
        return Result(body=reply, text="")
    return Result(body={}, text=reply)


def refused(
    error: CanonryError, toolset: Toolset, tool: str, caller: Caller | None, trace_id: str = ""
) -> Result:
    """The result of a call that ended in an error on purpose, with what helps in this toolset."""
    if (remedy := toolset.remedies.get(error.code)) is not None:
        error = type(error)(error.code, f"{error.message}; {remedy}", **error.details)
    return _failed(toolset.dialect(error, tool=tool, caller=caller, trace_id=trace_id))


def broken(incident: str, toolset: Toolset, tool: str) -> Result:
    """The result of a call that ended in a defect: an incident id and nothing else about it."""
    message = f"internal error; the operator finds it in the log as incident {incident}"
    error = BrokenInvariant(DEFECT, message, incident=incident)
    return _failed(toolset.dialect(error, tool=tool, caller=None, trace_id=incident))


def unknown(kind: str, name: str, offered: Iterable[str] = ()) -> Result:
    """The result of a call to something that is not among what this server offers."""
    message = f"Unknown {kind}: {shown(name)}{meant(name, offered)}"
    data = {"error": f"UNKNOWN_{kind.upper()}"}
    body = ErrorBody(code=INVALID_PARAMS, message=message, data=data)
    return _failed(body, protocol=True)


def _failed(error: ErrorBody, *, protocol: bool = False) -> Result:
    body = error.wire
    if body is None:
        body = {"error": {"code": error.code, "message": error.message, "data": dict(error.data)}}
    text = orjson.dumps(body, default=str).decode()
    return Result(body=body, text=text, error=error, protocol=protocol)


def beyond_batch(limit: int) -> InvalidInput:
    """The error where the replies of the calls of one call are too long together."""
    message = (
        f"the replies of these calls have more than {limit} characters together: make this call "
        "again by itself, or ask for less in each"
    )
    return InvalidInput("limits.reply", message, path="", limit=limit)
