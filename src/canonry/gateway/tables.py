"""Shapes of replies and arguments of tools, made from the tables of a toolset's data files.

A table gives each field in words: `until = "instant or null from ends_at"`.

| words | meaning |
|---|---|
| `KIND` | a value of this kind, or an object of the shape with this name |
| `list of KIND` | a list of such values |
| `one of a, b` | one of these texts |
| `one of MODULE:ENUM` | one of the values of an enumeration of Canonry |
| `KIND or null` | null if there is no value |
| `KIND or nothing` | left out if there is no value; an argument that may be left out |
| `KIND or nothing if empty from SOURCE` | left out also if the value is empty |
| `given KIND` | the caller of the shape gives the value |
| `KIND from SOURCE` | the attribute with the value; `whole_item` is the item |
| `KIND from a.0.@x` | the path to it: attributes, indexes in lists, and `@x` for the property x |
| `KIND from a?.b.#` | the number of b, or no value if there is no a |
| `KIND from a.*.b` | the b of each a |
| `KIND from @x else JSON` | the value if there is no such property |
| `KIND as NAME` | the parameter that an argument fills; `*`: each member fills its own |

`{ is = "count", minimum = 1 }` adds keywords to the schema. `"*base" = true` takes all fields of
the shape `base`, `"*base" = "part"` those of the item's attribute `part`, a list of names only
these, and `{ within = "part", only = [...] }` both.
"""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from inspect import signature
from operator import attrgetter, itemgetter
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, Final

from canonry.gateway import replies, tool
from canonry.values.policy import TextLimits

KINDS: Final[Mapping[str, replies.Field]] = {
    "anything": replies.Field({}),
    "boolean": replies.BOOLEAN,
    "count": replies.COUNT,
    "instant": replies.INSTANT,
    "integer": replies.INTEGER,
    "number": replies.NUMBER,
    "object": replies.OBJECT,
    "share": replies.SHARE,
    "text": replies.TEXT,
    "uuid": replies.UUID,
    "word": replies.WORD,
}
_FIELD: Final = re.compile(  # a dot that stops at a line break makes the search quadratic
    r"(?s)(?P<given>given )?(?P<kind>.+?)(?P<null> or null)?(?P<nothing> or nothing)?"
    r"(?P<filled> if empty)?(?: from (?P<source>[\w.@?#*]+))?(?: else (?P<missing>.+))?"
    r"(?: as (?P<fills>[\w*]+))?"
)
_PLAIN: Final = frozenset(("boolean", "number", "object", "text"))
"""The kinds of arguments that are taken as they are; all others need a reader."""
INTERNAL: Final = "("
"""The first sign of arguments that the server adds; no schema has them."""
_PROPERTY: Final = "@"
_ATTRIBUTES: Final = re.compile(r"[a-zA-Z_]\w*(?:\.[a-zA-Z_]\w*)*")
_CHOICES: Final = "one of "
_LIST: Final = "list of "


@dataclass(frozen=True, slots=True)
class CallArguments:
    """The arguments of a call, and the policy's limits of texts."""

    arguments: tool.Arguments
    limits: TextLimits = field(default_factory=TextLimits)


ReadValue = Callable[[Any, str, CallArguments], Any]
"""`read(value, path, asking)` returns the value that a use case takes of an argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentReading:
    """The reading of one argument: the parameter that it fills, its reader and its default."""

    name: str
    fills: str
    read: ReadValue | None
    always: bool
    default: Any


class FieldTable:
    """The shapes and tools of a toolset, its kinds of values, and the readers of its arguments.

    They are in `tools.toml` of its package, together with its `resources`, and in `shapes.toml` if
    there is one, whose table `kinds` gives kinds of values other names.
    """

    def __init__(
        self,
        package: str,
        kinds: Mapping[str, replies.Field] = MappingProxyType({}),
        readers: Mapping[str, ReadValue] | None = None,
        defaulting: Mapping[str, ReadValue] = MappingProxyType({}),
    ) -> None:
        """Read the files; the readers `defaulting` read missing arguments, too.

        Without `readers`, the kinds of arguments render the values that use cases take.
        """
        self._shapes, self.tools = (
            _read_toml(package, name) for name in ("shapes.toml", "tools.toml")
        )
        self.kinds = {**KINDS, **kinds}
        self._readers = None if readers is None else {**readers, **defaulting}
        self._defaulting = defaulting.keys()
        self._aliases: Mapping[str, Any] = self._shapes.get("kinds", {})
        self.rows: Mapping[str, Any] = self._shapes.get("rows", {})

    def make_resource(
        self, name: str, read: tool.ReadResource, roles: frozenset[str] = tool.ANYONE
    ) -> tool.Resource:
        """Return the resource in the table `resources.NAME`."""
        return tool.Resource(name=name, roles=roles, read=read, **self.tools["resources"][name])

    def make_shape(
        self,
        name: str,
        render: replies.Read | None = None,
        /,
        **sources: replies.Read | replies.Field,
    ) -> replies.Shape:
        """Return the shape of this name, and know it as a kind.

        `sources` are functions of the item by field, or whole fields. Lists of the shape show each
        item with `render`.
        """
        fields = dict(self._read_fields(self._shapes[name]))
        for each, source in sources.items():
            fields[each] = (
                source if isinstance(source, replies.Field) else fields[each].from_source(source)
            )
        made = replies.Shape(**fields)
        self.kinds[name] = made if render is None else made.with_render(render)
        return made

    def known_shape(self, name: str) -> replies.Shape:
        """Return the shape of this name as it is known, or else as the file has it."""
        found = self._kind_named(name)
        if not isinstance(found, replies.Shape):
            message = f"{name} is no shape"
            raise TypeError(message)
        return found

    def make_field(self, written: str | Mapping[str, Any]) -> replies.Field:
        """Return the field that is written in words."""
        if isinstance(written, Mapping):
            keywords = {name: each for name, each in written.items() if name != "is"}
            return self.make_field(written["is"]).with_keywords(**keywords)
        parts = _split_field(written)
        made = self._kind_named(parts["kind"])
        made = replies.nullable_field(made) if parts["null"] else made
        made = replies.optional_field(made) if parts["nothing"] else made
        made = replies.given_field(made) if parts["given"] else made
        if parts["source"] is None:
            return made
        missing = json.loads(parts["missing"] or "null")
        return made.from_source(
            _field_source(parts["source"], missing, filled=bool(parts["filled"]))
        )

    def make_schema(self, table: Mapping[str, Any], **more: replies.Field) -> tool.Schema:
        """Return the schema of the arguments in a table, and of more optional ones."""
        return replies.object_schema(dict(self._read_fields(table)), more)

    def list_readings(self, table: Mapping[str, Any]) -> tuple[ArgumentReading, ...]:
        """Return the readings of the arguments in a table, whose bases are taken whole."""
        found: list[ArgumentReading] = []
        for name, written in table.items():
            if name.startswith("*"):
                found += self.list_readings(self._shapes[name[1:].strip()])
                continue
            keywords = written if isinstance(written, Mapping) else {"is": written}
            parts = _split_field(keywords["is"])
            kind = parts["kind"]
            schema = self._aliases.get(kind)
            default = schema.get("default") if isinstance(schema, Mapping) else None
            found.append(
                ArgumentReading(
                    name=name,
                    fills=parts["fills"] or name,
                    read=self._reader_of(kind),
                    always=kind in self._defaulting,
                    default=keywords.get("default", default),
                )
            )
        return tuple(found)

    def _enumeration(self, kind: str) -> Any:
        """Return the enumeration behind a kind; None if it has none."""
        alias = self._aliases.get(kind)
        if alias is not None:
            return self._enumeration(alias if isinstance(alias, str) else alias["is"])
        named = kind.removeprefix(_CHOICES)
        return named_code(named) if named != kind and ":" in named else None

    def _reader_of(self, kind: str) -> ReadValue | None:
        if (options := self._enumeration(kind)) is not None:
            return lambda value, _path, _asking: options(value)
        if self._readers is None:
            render = self._kind_named(kind).render
            return None if render is None else lambda value, _path, _asking: render(value)
        return None if kind in _PLAIN or kind.startswith(_CHOICES) else self._readers[kind]

    def make_object_kind(self, name: str, make: Callable[..., Any]) -> replies.Field:
        """Return the kind of objects in arguments that have these fields; `make` makes values."""
        table = self._shapes[name]
        readings = self.list_readings(table)
        return replies.Field(
            self.make_schema(table), lambda value: make(**present_arguments(readings, value))
        )

    def _kind_named(self, kind: str) -> replies.Field:
        if kind in self.kinds:
            return self.kinds[kind]
        if kind in self._aliases:
            return self.kinds.setdefault(kind, self.make_field(self._aliases[kind]))
        if kind.startswith(_LIST):
            return replies.array(self._kind_named(kind.removeprefix(_LIST)))
        if (options := self._enumeration(kind)) is not None:
            return replies.enum(*options)
        if kind.startswith(_CHOICES):
            return replies.enum(*kind.removeprefix(_CHOICES).split(", "))
        return self.make_shape(kind)

    def _read_fields(self, table: Mapping[str, Any]) -> Iterator[tuple[str, replies.Field]]:
        for name, written in table.items():
            if name.startswith(INTERNAL):
                continue
            if not name.startswith("*"):
                yield name, self.make_field(written)
                continue
            base = self.known_shape(name[1:].strip())
            match written:
                case str():
                    fields = base.fields_within(written)
                case {"within": str(within), "only": list(only)}:
                    fields = replies.Shape(**base.some_fields(*only)).fields_within(within)
                case list():
                    fields = base.some_fields(*written)
                case _:
                    fields = dict(base.fields)
            yield from fields.items()


def named_code(name: str) -> Any:
    """Return the code that a table names as `module:name`, without the package `canonry`."""
    return resolve_name(f"canonry.{name}")


def _read_toml(package: str, name: str) -> Mapping[str, Any]:
    file = files(package).joinpath(name)
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


def read_prompts(
    package: str, roles: frozenset[str], argument: tool.PromptArgument, ending: str
) -> tuple[tool.Prompt, ...]:
    """Return the prompts in `prompts.toml` of a package; a given argument adds an `ending`."""

    def make_prompt(name: str, title: str, description: str, text: str) -> tool.Prompt:
        def render(arguments: Mapping[str, str]) -> str:
            given = arguments.get(argument.name)
            return text if given is None else f"{text}\n\n{ending.format(given)}"

        told = {"name": name, "title": title, "description": description}
        return tool.Prompt(**told, roles=roles, arguments=(argument,), render=render)

    texts = _read_toml(package, "prompts.toml")
    return tuple(make_prompt(name, **each) for name, each in texts.items())


def _field_source(written: str, missing: Any, *, filled: bool) -> str | replies.Read:
    if written == "itself":
        return replies.whole_item
    around, several, inner = written.partition(".*.")
    read = _read_path(around, missing)
    if several:
        within = _read_path(inner, missing)
        return lambda item: [within(each) for each in read(item)]
    if filled:
        return lambda item: read(item) or None
    return written if _ATTRIBUTES.fullmatch(written) else read


def _read_path(written: str, missing: Any) -> replies.Read:
    steps = [(_step(each.rstrip("?"), missing), each.endswith("?")) for each in written.split(".")]

    def read(item: Any) -> Any:
        for step, may_end in steps:
            item = step(item)
            if item is None and may_end:
                break
        return item

    return read


def _step(name: str, missing: Any) -> replies.Read:
    if name.isdecimal():
        return itemgetter(int(name))
    if name == "#":
        return len
    if not name.startswith(_PROPERTY):
        return attrgetter(name)
    own = name.removeprefix(_PROPERTY)
    return lambda item: item.properties.get(own, missing)


def _split_field(written: str) -> Mapping[str, Any]:
    found = _FIELD.fullmatch(written)
    if found is None:
        message = f"no field is written as {written!r}"
        raise ValueError(message)
    return found.groupdict()


def read_arguments(readings: tuple[ArgumentReading, ...], asking: CallArguments) -> dict[str, Any]:
    """Return the values of arguments by their names; a missing one is its default, or None."""
    values: dict[str, Any] = {}
    for each in readings:
        value = asking.arguments.get(each.name, each.default)
        if each.read is not None and (value is not None or each.always):
            value = each.read(value, f"/{each.name}", asking)
        values[each.name] = value
    return values


def fill_parameters(
    readings: tuple[ArgumentReading, ...], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the same values by the parameters that they fill."""
    found: dict[str, Any] = {}
    for each in readings:
        found |= values[each.name] if each.fills == "*" else {each.fills: values[each.name]}
    return found


Compose = Callable[[dict[str, Any]], dict[str, Any]]
"""Puts the values of parameters together."""


def compose_arguments(
    operation: Callable[..., Any],
    readings: tuple[ArgumentReading, ...],
    supplied: Collection[str],
    **made: Any,
) -> Compose:
    """Return a function that makes the dataclasses among an operation's parameters of its values.

    A parameter that is a dataclass, or that one of `made` makes, takes the values that are its
    fields. Parameters that an argument fills or that are `supplied` otherwise stay as they are.
    """
    fills = {each.fills for each in readings}
    makes: dict[str, Any] = {}
    for each in signature(operation).parameters.values():
        fields = getattr(each.annotation, "__dataclass_fields__", None)
        free = fields is not None and each.name not in {*supplied, *fills}
        if free and (each.default is each.empty or not fills.isdisjoint({*(fields or ()), "*"})):
            makes[each.name] = each.annotation
    makes |= made

    def compose(values: dict[str, Any]) -> dict[str, Any]:
        for parameter, make in makes.items():
            names = values.keys() & make.__dataclass_fields__.keys()
            values[parameter] = make(**{each: values.pop(each) for each in names})
        return values

    return compose


def present_arguments(
    readings: tuple[ArgumentReading, ...], arguments: tool.Arguments
) -> dict[str, Any]:
    """Return the values of the given arguments, by the parameters that they fill."""
    found: dict[str, Any] = {}
    for each in readings:
        if each.name in arguments:
            value = arguments[each.name]
            read, asking = each.read, CallArguments(arguments)
            found[each.fills] = value if read is None else read(value, f"/{each.name}", asking)
    return found
