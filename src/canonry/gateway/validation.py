"""Check arguments against the compiled schema of a tool, and fill in defaults.

Two unambiguous mistakes of models are corrected: null for an optional argument, and a number in a
text where the schema wants a number. A toolset may correct more. An exact schema corrects nothing.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import islice
from typing import Any, Final

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind as Kind

from canonry.gateway.limits import json_pointer, shown_text, suggest_name
from canonry.gateway.tool import Schema
from canonry.values.errors import InvalidInput
from canonry.values.ids import is_uuid
from canonry.values.moments import parse_instant

_REPORTED: Final = 8  # a wrong list breaks every item; the first problems name it
_WEIGHED: Final = 256  # the most faults that are sorted to report the most important one first
_FIRST: Final = {"input.missing": 0, "input.unknown-property": 1}
_NAMED: Final = 40  # an error does not repeat a pasted text
_BRANCHES: Final = ("anyOf", "oneOf")
_WHOLE: Final = re.compile(r"-?(0|[1-9]\d{0,14})", re.ASCII)
_DECIMAL: Final = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d{1,15})?", re.ASCII)
_NUMBERS: Final[Mapping[str, tuple[re.Pattern[str], Callable[[str], int | float]]]] = {
    "integer": (_WHOLE, int),
    "number": (_DECIMAL, float),
}
"""Type -> function that reads a text as a number without loss."""
_TYPES: Final[Mapping[str, type]] = {"array": list, "object": dict, "string": str}
_JSON_MAX: Final = 100_000  # the most characters of a text that is read as a list or an object
_COMBINED: Final = ("allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "if", "dependentSchemas")


Given = dict[str, Any]
Mend = Callable[[Mapping[str, Any], Schema], Given]
"""Returns wrong arguments under the names and with the values that a schema has."""


def lazy_check(schema: Schema, **choices: Any) -> Callable[[Given], Given]:
    """Compile the check at its first call, because few of many tools are ever called."""
    compiled = cache(partial(compile_arguments, schema, **choices))

    def check(arguments: Given) -> Given:
        return compiled()(arguments)

    return check


def compile_arguments(
    schema: Schema, *, exact: bool = False, mend: Mend | None = None, example: str = ""
) -> Callable[[Given], Given]:
    """Return a function that checks arguments against `schema` and fills in defaults.

    The formats `uuid` and `date-time` are asserted, and properties that an object schema does not
    declare are refused. If the check is `exact`, a value of another type is refused and not
    converted; otherwise `mend` corrects wrong arguments, by default `repair_value`. Errors end with
    the `example`. The given arguments are never changed; a default value is shared between calls
    and must not be changed either.

    The function raises InvalidInput: `input.invalid`, `input.missing` or `input.unknown-property`,
    with the path, the violated keyword and further `problems`.
    """
    checked = close_schema(schema)
    validator = jsonschema_rs.validator_for(
        checked,
        formats={"uuid": is_uuid, "date-time": _is_instant},
        validate_formats=True,
        mask="the value",
        offline=True,
    )
    is_valid = validator.is_valid
    fill = _default_filler(schema)

    def check(arguments: Given) -> Given:
        if not is_valid(arguments):
            arguments = arguments if exact else (mend or repair_value)(arguments, schema)
            if exact or not is_valid(arguments):
                begun = _shorten_lists(arguments)
                explained = arguments if is_valid(begun) else begun
                raise _refusal_error(validator.iter_errors(explained), schema, example)
        return arguments if fill is None else fill(arguments)

    return check


def close_schema(schema: Schema) -> dict[str, Any]:
    """Return `schema`, closed: objects with `properties` accept no others unless they say so."""
    result = dict(schema)
    for keyword in ("properties", "$defs", "definitions"):
        inner = result.get(keyword)
        if isinstance(inner, Mapping):
            result[keyword] = {name: _close_value(value) for name, value in inner.items()}
    for keyword in ("items", "additionalProperties"):
        if keyword in result:
            result[keyword] = _close_value(result[keyword])
    if isinstance(result.get("prefixItems"), list):
        result["prefixItems"] = [_close_value(value) for value in result["prefixItems"]]
    if "properties" not in result:
        for keyword in _BRANCHES:
            if isinstance(result.get(keyword), list):
                result[keyword] = [_close_value(value) for value in result[keyword]]
    elif not {"additionalProperties", "unevaluatedProperties", "patternProperties"} & set(result):
        combined = any(keyword in result for keyword in _COMBINED)
        result["unevaluatedProperties" if combined else "additionalProperties"] = False
    return result


def _close_value(schema: object) -> object:
    return close_schema(schema) if isinstance(schema, Mapping) else schema


def _is_instant(text: str) -> bool:
    try:
        parse_instant(text)
    except InvalidInput:
        return False
    return True


def repair_value(value: Any, schema: Any, *, listed: bool = False) -> Any:
    """Return the value without superfluous nulls, and with numbers for numeric texts.

    With `listed`, one value becomes a list or leaves it, and booleans and JSON in texts are read.
    """
    if not isinstance(schema, Mapping):
        return value
    kind = schema.get("type")
    if isinstance(value, str) and isinstance(kind, str) and kind != "string":
        value = _parse_text(value, kind, listed=listed)
    inner = schema.get("items") if listed else None
    if kind == "array" and isinstance(inner, Mapping) and not isinstance(value, list):
        value = [value] if isinstance(value, _TYPES.get(inner.get("type", "string"), ())) else value
    if listed and kind == "string" and isinstance(value, list) and len(value) == 1:
        value = value[0] if isinstance(value[0], str) else value
    if isinstance(value, list):
        return [repair_value(each, schema.get("items"), listed=listed) for each in value]
    properties = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(properties, Mapping):
        return value
    required = schema.get("required", ())
    return {
        name: repair_value(each, properties.get(name), listed=listed)
        for name, each in value.items()
        if each is not None or name in required or _takes_null(properties.get(name))
    }


def _parse_text(text: str, kind: str, *, listed: bool) -> Any:
    """Return a text as the number, boolean, list or object that it writes, if it does."""
    if kind in _NUMBERS:
        form, number = _NUMBERS[kind]
        return number(text) if form.fullmatch(text) else text
    if not listed:
        return text
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.casefold(), text)
    try:
        read = json.loads(text) if text.startswith(("[", "{")) and len(text) <= _JSON_MAX else text
    except (ValueError, RecursionError):
        return text
    return read if isinstance(read, _TYPES.get(kind, ())) else text


def _takes_null(schema: Any) -> bool:
    """Return whether null is meaningful there, or the property is unknown to the schema."""
    if not isinstance(schema, Mapping):
        return True
    kind = schema.get("type")
    branches = [each for keyword in _BRANCHES for each in schema.get(keyword, ())]
    if kind is None and "enum" not in schema and not branches:
        return True
    kinds = [kind] if isinstance(kind, str) else kind or ()
    return "null" in kinds or None in schema.get("enum", ()) or any(map(_takes_null, branches))


def _shorten_lists(value: Any) -> Any:
    """Return the value with the first items of each list: explaining a fault costs by its size."""
    if isinstance(value, dict):
        return {name: _shorten_lists(each) for name, each in value.items()}
    return [_shorten_lists(each) for each in value[:_WEIGHED]] if isinstance(value, list) else value


def _default_filler(schema: Schema) -> Callable[[Given], Given] | None:
    """Return a function that fills in the defaults of a schema, or None without defaults."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return None
    defaults: Given = {}
    inner: dict[str, Callable[[Any], Any]] = {}
    for name, value in properties.items():
        if not isinstance(value, Mapping):
            continue
        if "default" in value:
            defaults[name] = value["default"]
        if (fill := _filling_value(value)) is not None:
            inner[name] = fill
    if not defaults and not inner:
        return None

    def fill_object(arguments: Given) -> Given:
        filled = {**defaults, **arguments}
        for name, fill in inner.items():
            if name in filled:
                filled[name] = fill(filled[name])
        return filled

    return fill_object


def _filling_value(schema: Schema) -> Callable[[Any], Any] | None:
    if (fill := _default_filler(schema)) is not None:
        fill_object = fill
        return lambda value: fill_object(value) if isinstance(value, dict) else value
    items = schema.get("items")
    if isinstance(items, Mapping) and (fill_item := _filling_value(items)) is not None:
        return lambda value: [fill_item(i) for i in value] if isinstance(value, list) else value
    return None


def _refusal_error(errors: Any, schema: Schema, example: str) -> InvalidInput:
    problems = [e for error in islice(errors, _WEIGHED) for e in _list_problems(error, schema)]
    order = {name: rank for rank, name in enumerate(schema.get("properties", ()))}
    problems.sort(key=lambda problem: _fault_rank(problem, order))
    code, keyword, path, message = problems[0]
    spot = f" at {path}" if path else ""
    further = [{"path": spot, "message": text} for _, _, spot, text in problems[1:_REPORTED]]
    details: dict[str, Any] = {"path": path, "keyword": keyword}
    if further:
        details["problems"] = further
    more = f". For example: {example}" if example else ""
    return InvalidInput(code, f"Invalid arguments{spot}: {message}{more}", **details)


def _fault_rank(problem: tuple[str, str, str, str], order: Mapping[str, int]) -> tuple[int, int]:
    """Return the rank of a fault: missing, then unknown, then others in the schema's order."""
    code, _, path, _ = problem
    name = path[1:].partition("/")[0].replace("~1", "/").replace("~0", "~")
    return (_FIRST.get(code, len(_FIRST)), order.get(name, len(order)))


def _list_problems(
    error: jsonschema_rs.ValidationError, schema: Schema
) -> list[tuple[str, str, str, str]]:
    kind, steps = error.kind, error.instance_path
    match kind:
        case Kind.Required():
            path = json_pointer(*steps, kind.property)
            return [("input.missing", "required", path, "this property is required")]
        case Kind.AdditionalProperties() | Kind.UnevaluatedProperties():
            known = _known_properties(schema, error.schema_path[:-1])
            advice = f"; known properties are {', '.join(known)}" if known else ""
            code = "input.unknown-property"
            return [
                (
                    *(code, kind.name, json_pointer(*steps, name)),
                    f"unknown property{advice}{suggest_name(name, known)}",
                )
                for name in islice(kind.unexpected, _WEIGHED)
            ]
        case Kind.Enum():
            options = ", ".join("null" if each is None else str(each) for each in kind.options)
            return [("input.invalid", kind.name, json_pointer(*steps), f"write one of {options}")]
        case Kind.Format():
            message = _FORMATS.get(kind.format, error.message)
            return [("input.invalid", "format", json_pointer(*steps), message)]
        case Kind.MaxItems():
            message = f"send at most {kind.limit} items in one call, and the rest in further calls"
            return [("input.invalid", kind.name, json_pointer(*steps), message)]
        case _:
            message = _MESSAGES.get(kind.name, error.message)
            return [("input.invalid", kind.name, json_pointer(*steps), message)]


def _known_properties(schema: Any, steps: list[str | int]) -> list[str]:
    for step in steps:
        if isinstance(schema, Mapping):
            schema = schema.get(str(step))
        elif isinstance(schema, list) and isinstance(step, int):
            schema = schema[step]
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return [shown_text(str(name)) for name in properties or ()][:_NAMED]


_FORMATS: Final = {
    "uuid": "write it as a hyphenated UUID, like 0f8fad5b-d9cb-469f-a165-70867728950e",
    "date-time": "write it as RFC 3339 with an offset, like 2025-01-15T12:00:00Z",
}
_MESSAGES: Final = {
    "anyOf": "the value has none of the permitted forms",
    "oneOf": "the value must have exactly one of the permitted forms",
}
