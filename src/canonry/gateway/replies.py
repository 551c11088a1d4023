"""Replies: results, the shapes that they have, and the dialects of errors."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Final

import orjson

from canonry.canon.session.caller import Caller
from canonry.gateway.limits import meant, shown
from canonry.gateway.tool import ErrorBody, File, Noted, Reply, Schema, Toolset
from canonry.values.errors import (
    BrokenInvariant,
    CanonryError,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    NotSupported,
    Unavailable,
)
from canonry.values.moments import render_instant

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
        error = type(error)(
            error.code, f"{error.message.removesuffix('.')}; {remedy}", **error.details
        )
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


# Shapes: the fields of a reply, declared once; its schema and its value are made of the same.
#
# `FACT = Shape(fact_id=UUID.of("id"), statement=TEXT, until=nullable(INSTANT))` declares how a fact
# is answered: `FACT.schema` is its JSON Schema, and `FACT(fact)` the fact as JSON, in this order.

Read = Callable[[Any], Any]


@dataclass(frozen=True)
class Field:
    """What a field of a reply holds, and where its value comes from.

    `schema` describes the value and `render` makes JSON of it; without `render` it is JSON already.
    `source` is an attribute of the thing that is answered (dots lead on), or a function of it;
    empty, the field's own name, and None where only the caller of the shape can know the value.
    Where there is no value, a `nullable` field is null, and another is left out.
    """

    schema: Schema
    render: Read | None = None
    source: str | Read | None = ""
    nullable: bool = False
    required: bool = True

    def of(self, source: str | Read | None) -> "Field":
        """The same, read from another attribute or by a function of the thing."""
        return Field(self.schema, self.render, source, self.nullable, self.required)

    def by(self, render: Read) -> "Field":
        """The same, with its value rendered by a function of the value."""
        return Field(self.schema, render, self.source, self.nullable, self.required)

    def made(self, function: Read) -> "Field":
        """The same, with its value made by a function of the thing, as JSON already."""
        return Field(self.schema, None, function, self.nullable, self.required)

    def but(self, **keywords: Any) -> "Field":
        """The same with more keywords in its schema."""
        schema = {**self.schema, **keywords}
        return Field(schema, self.render, self.source, self.nullable, self.required)


class Shape(Field):
    """An object of exactly these fields: its schema, and a function that makes it of a thing."""

    def __init__(self, /, **fields: Field) -> None:
        """A shape of these fields, in this order."""
        super().__init__(obj(fields), self)
        self.fields: Mapping[str, Field] = fields
        self._steps = [
            (
                name,
                (attrgetter(each.source or name) if isinstance(each.source, str) else each.source),
                each.render,
                each.nullable,
            )
            for name, each in fields.items()
        ]

    def only(self, *names: str) -> dict[str, Field]:
        """Some of its fields, to make another shape of."""
        return {name: self.fields[name] for name in names}

    def within(self, attribute: str) -> dict[str, Field]:
        """Its fields, to make the shape of a thing that has such a thing as an attribute."""
        return {name: each.of(_inner(attribute, name, each)) for name, each in self.fields.items()}

    def __call__(self, thing: Any = None, /, **given: Any) -> dict[str, Any]:
        """The thing as JSON; the values `given` are taken before those of the thing."""
        shown: dict[str, Any] = {}
        for name, read, render, nullable in self._steps:
            if given and name in given:
                value = given[name]
            elif read:
                value = read(thing)
            else:
                continue
            if value is None:
                if nullable:
                    shown[name] = None
            else:
                shown[name] = render(value) if render else value
        return shown


def _inner(attribute: str, name: str, field: Field) -> str | Read | None:
    source = field.source
    if callable(source):
        return lambda thing: source(attrgetter(attribute)(thing))
    return None if source is None else f"{attribute}.{source or name}"


def itself(thing: Any) -> Any:
    """The source of a field that tells of the same thing as the fields around it."""
    return thing


def obj(fields: Mapping[str, Field], optional: Mapping[str, Field] | None = None) -> Schema:
    """The schema of an object that has no other properties than these."""
    required = {name: each for name, each in fields.items() if each.required}
    properties = {**required, **fields, **(optional or {})}
    return {
        "type": "object",
        "properties": {name: each.schema for name, each in properties.items()},
        "required": list(required),
        "additionalProperties": False,
    }


def array(items: Field) -> Field:
    """A list of such values."""
    render = items.render
    schema = {"type": "array", "items": items.schema}
    return Field(schema, list if render is None else lambda values: [*map(render, values)])


def nullable(field: Field) -> Field:
    """Such a value, or null."""
    schema = field.schema
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        schema = {**schema, "type": [schema["type"], "null"]}
    else:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return Field(schema, field.render, field.source, nullable=True, required=field.required)


def optional(field: Field) -> Field:
    """Such a value, in a field that need not be there."""
    return Field(field.schema, field.render, field.source, field.nullable, required=False)


def given(field: Field) -> Field:
    """Such a value, which the thing does not hold and the caller of the shape gives."""
    return field.of(None)


def enum(*values: str) -> Field:
    """One of these words."""
    return Field({"type": "string", "enum": [str(value) for value in values]}, str)


UUID: Final = Field({"type": "string", "format": "uuid"})
INSTANT: Final = Field({"type": "string", "format": "date-time"}, render_instant)
TEXT: Final = Field({"type": "string"})
WORD: Final = TEXT.by(str)
"""A text for a value that is none: of an enumeration, or a reference."""
NUMBER: Final = Field({"type": "number"})
SHARE: Final = NUMBER.but(minimum=0.0, maximum=1.0)
INTEGER: Final = Field({"type": "integer"})
COUNT: Final = INTEGER.but(minimum=0)
BOOLEAN: Final = Field({"type": "boolean"})
OBJECT: Final = Field({"type": "object", "additionalProperties": True}, dict)


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
        """The contract's name of the error."""
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
