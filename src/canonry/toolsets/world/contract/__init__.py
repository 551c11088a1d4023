"""The contract as data: names, Tool IDs, schemas and roles of the tools, in `world.json`."""

import json
from collections.abc import Mapping
from typing import Any, Final

from canonry.gateway.contract import ContractFile
from canonry.gateway.tool import Run, Tool

CONTRACT: Final = ContractFile(__name__, "world.json")
published = CONTRACT.published
entries = CONTRACT.entries

BUILDER: Final = frozenset({"WorldBuilder"})
"""Who may change a world directly."""
READERS: Final = frozenset(entries()["get-location-context"]["allowedAgentTypes"])
"""Who may read a world's context."""
LORE_READERS: Final = frozenset(entries()["get-canonical-fact"]["allowedAgentTypes"])


def title_of(name: str) -> str:
    """What a tool is called where people read."""
    return name.replace("-", " ").capitalize()


def contract_tool(name: str, run: Run, *, accepts: Mapping[str, Any] | None = None) -> Tool:
    """A tool of the contract; schema, roles, Tool ID and wording come from the file.

    `accepts` is the schema that arguments are held against where the contract answers wrong ones
    with an empty result instead of an error; otherwise they are held against it leniently.
    """
    entry = entries()[name]
    description = entry["description"]
    if "deprecated" in entry:
        description = f"Deprecated: {entry['deprecated']}. {description}"
    return Tool(
        name=name,
        title=title_of(name),
        description=description,
        input_schema=entry["inputSchema"],
        accepted_schema=lenient(entry["inputSchema"]) if accepts is None else accepts,
        output_schema=with_shapes(entry["outputSchema"]),
        roles=frozenset(entry["allowedAgentTypes"]),
        run=run,
        read_only=True,
        idempotent=True,
        aliases=(entry["toolId"], *entry.get("aliases", ())),
    )


def lenient(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool's schema as arguments are held against it: null is missing, numbers come as text."""
    properties = dict(schema["properties"])
    for name, told in properties.items():
        types = [told["type"]] if isinstance(told["type"], str) else told["type"]
        more = ["string"] if "number" in types else []
        more += [] if name in schema["required"] else ["null"]
        properties[name] = {**told, "type": list(dict.fromkeys([*types, *more]))}
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
