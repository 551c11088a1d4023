"""The tools of the narrative toolset behind its face; importing this imports all of them.

They are listed with outlines of their replies: a client reads all schemas before its first call,
and what a reply is like it sees in the reply, so an outline names the properties and the reference
describes them. Whatever satisfies the exact schema of a reply satisfies its outline.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from canonry.gateway.dialects import DialectTable
from canonry.gateway.tool import Schema, Tool, Toolset
from canonry.toolsets.narrative import (
    FACE,
    axioms,
    batches,
    context,
    entities,
    events,
    explanations,
    facts,
    memories,
    prompts,
    relations,
    resources,
    scenes,
    search,
    sources,
    stories,
    turns,
    universes,
    upkeep,
)
from canonry.toolsets.narrative.canonizing import canonization, proposals, retconning, review
from canonry.toolsets.narrative.contract import KEEPER, agent_types, contents

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
    *review.TOOLS,
    *retconning.TOOLS,
    *explanations.TOOLS,
    *upkeep.TOOLS,
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


DIALECT: Final = DialectTable(
    not_allowed="UNAUTHORIZED",
    not_found="NOT_FOUND",
    invalid_input="VALIDATION_ERROR",
    conflict="CONSTRAINT_VIOLATION",
    unavailable="TRANSACTION_FAILED",
    not_supported="NOT_SUPPORTED",
    codes={
        "scene.completed": "ALREADY_CANONIZED",
        "scene.in-progress": "IN_PROGRESS",
        "limits.rate": "RATE_LIMITED",
        "call.deadline": "DEADLINE_EXCEEDED",
        "document.too-slow": "DEADLINE_EXCEEDED",
        "document.no-reader": "UNAVAILABLE",
        "ledger.busy": "BUSY",
        "canon.contended": "BUSY",
        "ledger.closed": "UNAVAILABLE",
        "ledger.full": "UNAVAILABLE",
        "text.unavailable": "UNAVAILABLE",
    },
    numbers={"scene.completed": -32006},
).flat
"""Every error as one of the six codes of the contract, with its data."""

NARRATIVE: Final = Toolset(
    **FACE.told(),
    agent_types=agent_types(),
    masters=KEEPER,
    dialect=DIALECT,
    tools=tuple(map(outlined, EXACT)),
    resources=(*resources.RESOURCES, *contents.RESOURCES),
    prompts=prompts.PROMPTS,
)
