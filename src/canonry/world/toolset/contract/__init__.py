"""The contract as data: names, Tool IDs, schemas and roles of the tools, in `world.json`."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from canonry.gateway.offers import ContractFile
from canonry.gateway.tool import PublishedArguments, Run, Schema, Tool

CONTRACT: Final = ContractFile(__name__, "world.json")
published = CONTRACT.read_contract
entries = CONTRACT.tool_entries

BUILDER: Final = frozenset({"WorldBuilder"})
"""Roles that may change a world directly."""
READERS: Final = frozenset(entries()["get-location-context"]["allowedAgentTypes"])
"""Roles that may read a world's context."""
LORE_READERS: Final = frozenset(entries()["get-canonical-fact"]["allowedAgentTypes"])

PROPOSERS: Final = frozenset({"Narrative", "Encounter", "World", "Planner"})
OVERSEERS: Final = frozenset({"World", "Canonicality"})
"""The agent types that see every proposal; others see their own."""
GROUPS_OF_ROLES: Final = {
    "builders": BUILDER,
    "readers": READERS,
    "lore_readers": LORE_READERS,
    "proposal_readers": PROPOSERS | OVERSEERS,
}


def title_of(name: str) -> str:
    """Return the display title of a tool."""
    return name.replace("-", " ").capitalize()


def contract_tool(name: str, run: Run, *, accepts: Mapping[str, Any] | None = None) -> Tool:
    """A tool of the contract; schema, roles, Tool ID and wording come from the file.

    `accepts` is the schema that arguments are held against where the contract answers wrong ones
    with an empty result instead of an error; otherwise null is as good as missing.
    """
    entry = entries()[name]
    contract = with_nulls(entry["inputSchema"]) if accepts is None else accepts
    description = entry["description"]
    if "deprecated" in entry:
        description = f"Deprecated: {entry['deprecated']}. {description}"
    return Tool(
        name=name,
        title=title_of(name),
        description=description,
        input_schema=entry["inputSchema"],
        accepted_schema=with_texts(contract) if accepts is None else accepts,
        output_schema=with_shapes(entry["outputSchema"]),
        roles=frozenset(entry["allowedAgentTypes"]),
        run=run,
        read_only=True,
        idempotent=True,
        aliases=(entry["toolId"], *entry.get("aliases", ())),
        published=PublishedArguments(schema=entry["inputSchema"], accepted=contract),
    )


def with_nulls(schema: Schema) -> Schema:
    """A tool's schema as the contract reads arguments: null is as good as missing."""
    return _with_types(schema, lambda name, _: () if name in schema["required"] else ("null",))


def with_texts(schema: Schema) -> Schema:
    """A tool's schema with numbers that may come as text."""
    return _with_types(schema, lambda _, types: ("string",) if "number" in types else ())


def _with_types(schema: Schema, more: Callable[[str, list[str]], Iterable[str]]) -> Schema:
    properties = dict(schema["properties"])
    for name, member in properties.items():
        types = [member["type"]] if isinstance(member["type"], str) else member["type"]
        properties[name] = {**member, "type": list(dict.fromkeys([*types, *more(name, types)]))}
    return {**schema, "properties": properties}


def with_shapes(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema together with the shapes of the contract that it refers to, and those they do."""
    shapes: Mapping[str, Any] = published()["$defs"]
    needed: set[str] = set()
    waiting = [schema]
    while waiting:
        text = json.dumps(waiting.pop())
        more = {name for name in shapes if f'"#/$defs/{name}"' in text} - needed
        needed |= more
        waiting += [shapes[name] for name in more]
    used = {name: shape for name, shape in shapes.items() if name in needed}
    return {**schema, "$defs": used} if used else schema
