"""Published contracts beside the toolsets, and outlines of tools as they are listed."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments, Reply, Schema, Tool
from canonry.values.policy import NAME_MAX


@dataclass(frozen=True, slots=True)
class ContractFile:
    """A JSON file in the package of a toolset; its `tools` are a list of objects with a `name`."""

    package: str
    file: str

    def published(self) -> Mapping[str, Any]:
        """The contract as it is."""
        return _read(self.package, self.file)

    def entries(self) -> Mapping[str, Mapping[str, Any]]:
        """Name -> what the contract says of the tool."""
        return _entries(self)


def keep_to_contract(tool: Tool) -> Tool:
    """The tool with the members, defaults and types of its contract, which mends no value."""
    own = tool.published
    if own is None:
        return replace(tool, exact=True)

    async def run(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
        return await tool.run(canon, caller, {**own.given, **arguments})

    return replace(tool, input_schema=own.schema, accepted_schema=own.accepted, run=run, exact=True)


@cache
def _read(package: str, file: str) -> Mapping[str, Any]:
    contract: Mapping[str, Any] = json.loads(files(package).joinpath(file).read_bytes())
    return contract


@cache
def _entries(contract: ContractFile) -> Mapping[str, Mapping[str, Any]]:
    return {tool["name"]: tool for tool in contract.published()["tools"]}


# What each property is, in a few words, put into schemas as they are listed.
#
# A toolset says it once for each name; a schema that has words of its own keeps them.

Words = Mapping[str, str]


def described(schema: Schema, words: Words) -> Schema:
    """The schema with a description for each property that `words` knows and that has none."""
    if not words:
        return schema
    told = dict(schema)
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        told["properties"] = {
            name: _with_words(each, words.get(name), words) for name, each in properties.items()
        }
    if isinstance(parts := schema.get("$defs"), Mapping):
        told["$defs"] = {name: described(each, words) for name, each in parts.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(key), Mapping):
            told[key] = described(inner, words)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            told[key] = [described(each, words) for each in schema[key]]
    return told


def _with_words(schema: Schema, word: str | None, words: Words) -> Schema:
    inner = described(schema, words)
    if word is None or "description" in inner:
        return inner
    return {"description": word, **inner}


# Outlines: tools as they are listed, with their arguments in full and their replies in outline.
#
# A client reads all schemas before its first call, and what a reply is like it sees in the reply.
# Whatever satisfies the exact schema of a reply satisfies its outline.

_MANY, _MUCH = 100, 10**9
_CLOSED: Final = ("additionalProperties", False)


def outlined(tool: Tool) -> Tool:
    """The tool as it is listed; what arguments it takes is told in full, as it is published."""
    taken = (
        {key: value for key, value in tool.input_schema.items() if (key, value) != _CLOSED}
        if tool.extension
        else tool.input_schema
    )
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
