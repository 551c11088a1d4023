"""Outlines: tools as they are listed, with their arguments in full and their replies in outline.

A client reads all schemas before its first call, and what a reply is like it sees in the reply.
Whatever satisfies the exact schema of a reply satisfies its outline.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from canonry.gateway.tool import Schema, Tool
from canonry.values.policy import NAME_MAX

_MANY, _MUCH = 100, 10**9
_CLOSED: Final = ("additionalProperties", False)


def outlined(tool: Tool) -> Tool:
    """The tool as it is listed; what arguments it takes is told in full, as it is published."""
    taken = _opened(tool.input_schema) if tool.extension else tool.input_schema
    return replace(tool, input_schema=taken, output_schema=outline(tool.output_schema))


def eased(tool: Tool) -> Tool:
    """The tool outlined, and where no contract publishes it, without bounds of little use.

    Only a mistake meets them; they hold all the same, and an error tells them.
    """
    if not tool.extension:
        return outlined(tool)
    held = tool.input_schema if tool.accepted_schema is None else tool.accepted_schema
    return replace(outlined(tool), input_schema=_eased(tool.input_schema), accepted_schema=held)


def outline(schema: Schema) -> Schema:
    """The properties of a reply by name, all of them.

    Clients that make types of a schema drop what it does not list, so it lists all or none.
    """
    if "properties" not in schema:  # one of several shapes, which nobody lists
        return schema
    return {"type": "object", "properties": {name: {} for name in schema["properties"]}}


def brief(schema: Schema) -> Schema:
    """The types of a value and no more."""
    if "anyOf" in schema:
        return {"type": [name for each in schema["anyOf"] for name in _names(each)]}
    return {"type": schema["type"]} if "type" in schema else {}


def _names(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type")
    return [kind] if isinstance(kind, str) else list(kind or ())


_BOUNDS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "minLength": lambda least: least == 1,
    "maxLength": lambda most: most <= NAME_MAX,
    "pattern": lambda told: told == r"\S",
    "maxItems": lambda most: most >= _MANY,
    "maximum": lambda most: most >= _MUCH,
    "additionalProperties": lambda others: others is False,
}


def _eased(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_eased(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {
        key: each for key, each in schema.items() if not (key in _BOUNDS and _BOUNDS[key](each))
    }
    named = {
        key: {name: _eased(each) for name, each in kept[key].items()}
        for key in ("properties", "$defs")
        if key in kept
    }
    return {**{key: _eased(each) for key, each in kept.items()}, **named}


def _opened(schema: Schema) -> Schema:
    """The schema without the words that it has no other properties: the gateway closes them all."""
    return {key: value for key, value in schema.items() if (key, value) != _CLOSED}
