"""The tools of the narrative toolset behind its face; importing this imports all of them.

They are listed with outlines of their replies: a client reads all schemas before its first call,
and what a reply is like it sees in the reply, so an outline names the properties and the reference
describes them. Whatever satisfies the exact schema of a reply satisfies its outline.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from canonry.gateway.tool import Schema, Tool, Toolset
from canonry.toolsets.narrative import (
    FACE,
    axioms,
    batches,
    canonization,
    context,
    entities,
    events,
    explanations,
    facts,
    memories,
    prompts,
    proposals,
    relations,
    resources,
    scenes,
    search,
    sources,
    stories,
    turns,
    universes,
)
from canonry.toolsets.narrative.contract import agent_types
from canonry.toolsets.narrative.dialect import dialect

_CLOSED: Final = ("additionalProperties", False)

EXACT: Final[tuple[Tool, ...]] = (
    *universes.TOOLS,
    *entities.TOOLS,
    *relations.TOOLS,
    *facts.TOOLS,
    *events.TOOLS,
    *stories.TOOLS,
    *sources.TOOLS,
    *axioms.TOOLS,
    *scenes.TOOLS,
    *turns.TOOLS,
    *proposals.TOOLS,
    *memories.TOOLS,
    *search.TOOLS,
    *context.TOOLS,
    *canonization.TOOLS,
    *explanations.TOOLS,
    *batches.TOOLS,
)
"""The tools with the whole schemas of their replies, which the tests hold every reply against."""


def outlined(tool: Tool) -> Tool:
    """The tool as it is listed; what arguments it takes is told in full, as it is published."""
    taken = opened(tool.input_schema) if tool.extension else tool.input_schema
    return replace(tool, input_schema=taken, output_schema=outline(tool.output_schema))


def outline(schema: Schema) -> Schema:
    """The properties of a reply that are always there, by name, and the others by their type."""
    required = list(schema["required"])
    others = {
        name: _brief(each) for name, each in schema["properties"].items() if name not in required
    }
    outlined: dict[str, Any] = {"type": "object", "required": required}
    return {**outlined, "properties": others} if others else outlined


def opened(schema: Schema) -> Schema:
    """The schema without the words that it has no other properties: the gateway closes them all."""
    return {key: value for key, value in schema.items() if (key, value) != _CLOSED}


def _brief(schema: Schema) -> Schema:
    if "anyOf" in schema:
        return {"type": [name for each in schema["anyOf"] for name in _names(each)]}
    return {"type": schema["type"]} if "type" in schema else {}


def _names(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type")
    return [kind] if isinstance(kind, str) else list(kind or ())


NARRATIVE: Final = Toolset(
    **FACE.told(),
    agent_types=agent_types(),
    dialect=dialect,
    tools=tuple(map(outlined, EXACT)),
    resources=resources.RESOURCES,
    prompts=prompts.PROMPTS,
)
