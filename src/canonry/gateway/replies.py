"""Results of calls, the shapes of replies, and the forms of errors."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Final

import orjson

from canonry.canon.session.caller import Caller
from canonry.gateway.limits import shown_text, suggest_name
from canonry.gateway.tool import ErrorBody, File, Noted, Reply, Schema, Toolset
from canonry.values.data_files import read_toml
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
"""The code of a defect for a dialect."""
_NO_META: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a call.

    `body` is the reply, or `{"error": {code, message, data}}` in the dialect's form; `text` is the
    same as JSON. `parts` are additional contents. `error` is set if the call failed, and `cause` is
    the same error outside of the dialect. `protocol` is set if the call named a missing item: that
    is an error of the protocol and not of a tool.
    """

    body: Any
    text: str
    error: ErrorBody | None = None
    protocol: bool = False
    meta: Mapping[str, Any] = field(default_factory=lambda: _NO_META)
    cause: CanonryError | None = None
    parts: tuple[Mapping[str, Any], ...] = ()


def success_result(reply: Reply) -> Result:
    """Return the result of a call that succeeded."""
    if isinstance(reply, Noted):
        return replace(success_result(reply.reply), meta=reply.meta, parts=reply.parts)
    try:
        text = orjson.dumps(reply).decode()
    except TypeError:  # an integer of more than 64 bits, which is rare
        text = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
    return Result(body=reply, text=text)


def as_text(reply: Reply) -> Result:
    """Return the result of a resource or a prompt: the text itself, or the file."""
    return Result(body=reply, text="") if isinstance(reply, File) else Result(body={}, text=reply)


def refusal_result(
    error: CanonryError, toolset: Toolset, tool: str, caller: Caller | None, trace_id: str = ""
) -> Result:
    """Return the result of a refused call, with the remedy in this toolset."""
    if (remedy := toolset.remedies.get(error.code)) is not None:
        end = "" if error.message.endswith((".", "?")) else "."
        error = type(error)(error.code, f"{error.message}{end} {remedy}", **error.details)
    return _error_result(toolset.dialect(error, tool=tool, caller=caller, trace_id=trace_id), error)


def defect_result(incident: str, toolset: Toolset, tool: str) -> Result:
    """Return the result of a call that ended in a defect: an incident id and nothing else."""
    message = f"Internal error. The operator finds it in the log as incident {incident}."
    error = BrokenInvariant(DEFECT, message, incident=incident)
    return _error_result(toolset.dialect(error, tool=tool, caller=None, trace_id=incident), error)


def unknown_result(kind: str, name: str, offered: Iterable[str] = ()) -> Result:
    """Return the result of a call to an item that this server does not offer."""
    message = f"Unknown {kind}: {shown_text(name)}{suggest_name(name, offered)}"
    data = {"error": f"UNKNOWN_{kind.upper()}"}
    body = ErrorBody(code=INVALID_PARAMS, message=message, data=data)
    return _error_result(body, NotFound(f"{kind}.unknown", message), protocol=True)


def _error_result(error: ErrorBody, cause: CanonryError, *, protocol: bool = False) -> Result:
    body = error.wire
    if body is None:
        body = {"error": {"code": error.code, "message": error.message, "data": dict(error.data)}}
    text = orjson.dumps(body, default=str).decode()
    return Result(body=body, text=text, error=error, cause=cause, protocol=protocol)


def batch_too_long(limit: int) -> InvalidInput:
    """Return the error about inner calls whose replies are too long together."""
    message = (
        f"The replies of these calls have more than {limit} characters together. Make this call "
        "by itself, or ask for less in each call."
    )
    return InvalidInput("limits.reply", message, path="", limit=limit)


# Shapes: each declares the fields of a reply once, for its schema and its value.
#
# `FACT = Shape(fact_id=UUID.of("id"), statement=TEXT, until=nullable(INSTANT))` declares the reply
# about a fact: `FACT.schema` is its JSON Schema, and `FACT(fact)` the fact as JSON, in this order.

Read = Callable[[Any], Any]


@dataclass(frozen=True)
class Field:
    """The schema and the source of a field of a reply.

    `schema` describes the value and `render` makes JSON of it; without `render` it is JSON already.
    `source` is an attribute of the item (with dots for attributes of attributes), or a function of
    it; empty means the field's own name, and None means that the caller of the shape gives it.
    Without a value, a `nullable` field is null, and another field is left out.
    """

    schema: Schema
    render: Read | None = None
    source: str | Read | None = ""
    nullable: bool = False
    required: bool = True

    def from_source(self, source: str | Read | None) -> "Field":
        """Return the field with another source: an attribute, or a function of the item."""
        return Field(self.schema, self.render, source, self.nullable, self.required)

    def with_render(self, render: Read) -> "Field":
        """Return the field with a function that renders its value."""
        return Field(self.schema, render, self.source, self.nullable, self.required)

    def from_function(self, function: Read) -> "Field":
        """Return the field with a function of the item that makes JSON."""
        return Field(self.schema, None, function, self.nullable, self.required)

    def with_keywords(self, **keywords: Any) -> "Field":
        """Return the field with more keywords in its schema."""
        schema = {**self.schema, **keywords}
        return Field(schema, self.render, self.source, self.nullable, self.required)


class Shape(Field):
    """An object of exactly these fields: its schema, and a function that makes it of an item."""

    def __init__(self, /, **fields: Field) -> None:
        """Take the fields in their order."""
        super().__init__(object_schema(fields), self)
        self.fields: Mapping[str, Field] = fields
        self.given: Sequence[str] = [name for name, each in fields.items() if each.source is None]
        self._steps = [
            (
                name,
                (attrgetter(each.source or name) if isinstance(each.source, str) else each.source),
                each.render,
                each.nullable,
            )
            for name, each in fields.items()
        ]

    def some_fields(self, *names: str) -> dict[str, Field]:
        """Return some of its fields, for another shape."""
        return {name: self.fields[name] for name in names}

    def fields_within(self, attribute: str) -> dict[str, Field]:
        """Return the shape's fields for the shape of an item that has this one as an attribute."""
        return {
            name: each.from_source(_inner_source(attribute, name, each))
            for name, each in self.fields.items()
        }

    def __call__(self, item: Any = None, /, **given: Any) -> dict[str, Any]:
        """Return the item as JSON; the values `given` precede those of the item."""
        shown: dict[str, Any] = {}
        for name, read, render, nullable in self._steps:
            if given and name in given:
                value = given[name]
            elif read:
                value = read(item)
            else:
                continue
            if value is None:
                if nullable:
                    shown[name] = None
            else:
                shown[name] = render(value) if render else value
        return shown


def _inner_source(attribute: str, name: str, field: Field) -> str | Read | None:
    source = field.source
    if callable(source):
        return lambda thing: source(attrgetter(attribute)(thing))
    return None if source is None else f"{attribute}.{source or name}"


def whole_item(item: Any) -> Any:
    """Return the item: the source of a field about the same item as its neighbours."""
    return item


def object_schema(
    fields: Mapping[str, Field], optional: Mapping[str, Field] | None = None
) -> Schema:
    """Return the schema of an object with exactly these properties."""
    required = {name: each for name, each in fields.items() if each.required}
    properties = {**required, **fields, **(optional or {})}
    return {
        "type": "object",
        "properties": {name: each.schema for name, each in properties.items()},
        "required": list(required),
        "additionalProperties": False,
    }


def array(items: Field) -> Field:
    """Return the field of a list of these values."""
    render = items.render
    schema = {"type": "array", "items": items.schema}
    return Field(schema, list if render is None else lambda values: [*map(render, values)])


def nullable_field(field: Field) -> Field:
    """Return the field of this value or null."""
    schema = field.schema
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        schema = {**schema, "type": [schema["type"], "null"]}
    else:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return Field(schema, field.render, field.source, nullable=True, required=field.required)


def optional_field(field: Field) -> Field:
    """Return the field as one that may be left out."""
    return Field(field.schema, field.render, field.source, field.nullable, required=False)


def given_field(field: Field) -> Field:
    """Return the field as one whose value the caller of the shape gives."""
    return field.from_source(None)


def enum(*values: str) -> Field:
    """Return the field of one of these texts."""
    return Field({"type": "string", "enum": [str(value) for value in values]}, str)


UUID: Final = Field({"type": "string", "format": "uuid"})
INSTANT: Final = Field({"type": "string", "format": "date-time"}, render_instant)
TEXT: Final = Field({"type": "string"})
WORD: Final = TEXT.with_render(str)
"""Renders an enumeration value or a reference as text."""
NUMBER: Final = Field({"type": "number"})
SHARE: Final = NUMBER.with_keywords(minimum=0.0, maximum=1.0)
INTEGER: Final = Field({"type": "integer"})
COUNT: Final = INTEGER.with_keywords(minimum=0)
BOOLEAN: Final = Field({"type": "boolean"})
OBJECT: Final = Field({"type": "object", "additionalProperties": True}, dict)


# Shapes of a contract: its schemas declare the fields, and we add only where their values are.


def published_shape(
    schema: Schema, known: Mapping[str, Field], /, **sources: str | Read | Field | None
) -> Shape:
    """Return the shape of objects with a published schema.

    `known` are the fields of its references by name. `sources` are those of fields whose values are
    no attributes of the same name; None: the caller of the shape gives the value.
    """
    fields = {}
    for name, each in schema["properties"].items():
        source = sources.get(name, "")
        if not isinstance(source, Field):
            source = published_field(each, known).from_source(source)
        fields[name] = source
    return Shape(**fields)


def published_field(schema: Schema, known: Mapping[str, Field]) -> Field:
    """Return the field of values with a published schema."""
    match schema:
        case {"$ref": str(target)}:
            return known[target.rpartition("/")[2]]
        case {"anyOf": [inner, {"type": "null"}]}:
            return nullable_field(published_field(inner, known))
        case {"type": [str(kind), "null"]}:
            return nullable_field(published_field({**schema, "type": kind}, known))
        case {"type": "array"}:
            return array(published_field(schema["items"], known))
        case {"properties": _}:
            return published_shape(schema, known)
        case _:
            shown = _SHOWN.get(schema.get("format")) or _SHOWN.get(schema.get("type"))
            return shown or Field(schema, nullable="type" not in schema)


_SHOWN: Final[Mapping[Any, Field]] = {"date-time": INSTANT, "object": OBJECT, "string": WORD}
"""The fields of values that are made into JSON, by the format or type in a schema."""


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
    """Names of errors: the name of the code, else of the class, else `internal`.

    The number is the class's; `numbers` has the codes and classes with another one.
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

    @classmethod
    def read_table(cls, package: str, **more: Any) -> "DialectTable":
        """Read the names from `dialect.toml` of a package."""
        return cls(**read_toml(package, "dialect.toml"), **more)

    def error_name(self, error: CanonryError) -> str:
        """Return the contract's name of the error."""
        kind, _ = _KINDS.get(type(error), _OTHER)
        return self.codes.get(error.code) or getattr(self, kind) or self.internal

    def error_number(self, error: CanonryError) -> int:
        """Return the error's number in the protocol."""
        own = self.numbers.get(error.code) or self.numbers.get(type(error))
        return own or _KINDS.get(type(error), _OTHER)[1]

    def flat_error(
        self, error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
    ) -> ErrorBody:
        """Return the error with its name, our stable code and the details side by side."""
        del trace_id  # this form has no member for it
        data = _error_details(error, tool, caller) | {"error": self.error_name(error)}
        if error.code != DEFECT:
            data |= {"code": error.code, "retryable": error.retryable}
        return ErrorBody(code=self.error_number(error), message=error.message, data=data)

    def error_envelope(
        self, error: CanonryError, *, tool: str, caller: Caller | None, trace_id: str = ""
    ) -> ErrorBody:
        """Return the error as `{"error": {code, message, details}}`; the code is the name."""
        del trace_id  # as above
        error_name = self.error_name(error)
        own = {"reason": error.code, "retryable": error.retryable}
        details = _error_details(error, tool, caller) | own
        return ErrorBody(
            code=self.error_number(error),
            message=error.message,
            data={"error": error_name, **details},
            wire={"error": {"code": error_name, "message": error.message, "details": details}},
        )


def _error_details(error: CanonryError, tool: str, caller: Caller | None) -> dict[str, Any]:
    if isinstance(error, NotAllowed) and caller is not None:
        return {"tool": tool, "agent_type": caller.actor.agent_type, **error.details}
    return dict(error.details)
