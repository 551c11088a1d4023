"""The narrative toolset: the MONITOR contract's 21 tools, and the extensions that they need."""

from typing import Final

from canonry.gateway.tool import Tool, Toolset
from canonry.toolsets.narrative import (
    axioms,
    batches,
    canonization,
    context,
    entities,
    events,
    evidence,
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
from canonry.toolsets.narrative.outlines import outlined

EXACT: Final[tuple[Tool, ...]] = (
    *universes.TOOLS,
    *entities.TOOLS,
    *relations.TOOLS,
    *facts.TOOLS,
    *events.TOOLS,
    *stories.TOOLS,
    *sources.TOOLS,
    *axioms.TOOLS,
    *evidence.TOOLS,
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
    name="narrative",
    purpose="Truth for game masters' agents: universes, scenes, proposals and what became canon",
    server_name="monitor-data-layer",
    contract_version="1.0.0",
    agent_types=agent_types(),
    dialect=dialect,
    tools=tuple(map(outlined, EXACT)),
    resources=resources.RESOURCES,
    prompts=prompts.PROMPTS,
    instructions=(
        "Read freely. What should become true is proposed in a scene and becomes canon when the "
        "scene is canonized; only the CanonKeeper writes canon directly, and everything cites "
        "evidence as kind:uuid, where kind is source, turn, scene, snippet or rule."
    ),
)
