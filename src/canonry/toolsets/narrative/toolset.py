"""The tools of the narrative toolset behind its face; importing this imports all of them."""

from typing import Final

from canonry.gateway.tool import Tool, Toolset
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
    snippets,
    sources,
    stories,
    turns,
    universes,
)
from canonry.toolsets.narrative.contract import agent_types
from canonry.toolsets.narrative.dialect import dialect
from canonry.toolsets.narrative.outlines import outlined

EXACT: Final[tuple[Tool, ...]] = (
    *universes.TOOLS,
    *entities.TOOLS,
    *relations.TOOLS,
    *facts.TOOLS,
    *events.TOOLS,
    *stories.TOOLS,
    *sources.TOOLS,
    *snippets.TOOLS,
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

NARRATIVE: Final = Toolset(
    **FACE.told(),
    agent_types=agent_types(),
    dialect=dialect,
    tools=tuple(map(outlined, EXACT)),
    resources=resources.RESOURCES,
    prompts=prompts.PROMPTS,
)
