"""The tools of the narrative toolset behind its face; importing this imports all of them.

They are listed with outlines of their replies, which the reference describes in full.
"""

from typing import Final

from canonry.gateway.contract import ContractFile
from canonry.gateway.dialects import DialectTable
from canonry.gateway.outlines import outlined
from canonry.gateway.tool import Tool, Toolset
from canonry.narrative.toolset import (
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
    scenes,
    search,
    sources,
    stories,
    turns,
    universes,
    upkeep,
)
from canonry.narrative.toolset.browsing import resources
from canonry.narrative.toolset.browsing.shelves import SHELVES
from canonry.narrative.toolset.canonizing import canonization, proposals, retconning, review
from canonry.narrative.toolset.contract import KEEPER, agent_types, contents

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
        "proposal.too-many": "RATE_LIMITED",
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
    remedies={
        "entity.other-audience": "neo4j_set_audience does that",
        "proposal.of-a-scene": "composite_canonize_scene closes one and canonizes what is its own",
        "quantity.uncounted": "neo4j_create_relationship takes either",
    },
    resources=(*resources.RESOURCES, *contents.RESOURCES),
    prompts=prompts.PROMPTS,
    shelves=SHELVES,
    words=ContractFile("canonry.narrative.toolset.contract", "words.json").published(),
)
