"""Published contracts, as files beside the toolsets."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Arguments, Reply, Schema, Tool


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
