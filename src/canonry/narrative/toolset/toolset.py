"""The tools of the narrative toolset behind its face; importing this imports all of them.

They are listed with outlines of their replies, which the reference describes in full.
"""

from typing import Final

from canonry.gateway.contract import ContractFile
from canonry.gateway.outlines import outlined
from canonry.gateway.shapes import DialectTable
from canonry.gateway.tool import Tool, Toolset
from canonry.narrative.toolset import (
    FACE,
    context,
    entities,
    explanations,
    facts,
    prompts,
    relations,
    scenes,
    search,
    sources,
    upkeep,
)
from canonry.narrative.toolset import browsing as resources
from canonry.narrative.toolset import (
    canonizing as canonization,
)
from canonry.narrative.toolset import (
    canonizing as proposals,
)
from canonry.narrative.toolset import (
    canonizing as retconning,
)
from canonry.narrative.toolset import (
    canonizing as review,
)
from canonry.narrative.toolset import (
    entities as axioms,
)
from canonry.narrative.toolset import (
    entities as universes,
)
from canonry.narrative.toolset import (
    facts as events,
)
from canonry.narrative.toolset import (
    rows as batches,
)
from canonry.narrative.toolset import (
    scenes as stories,
)
from canonry.narrative.toolset import (
    scenes as turns,
)
from canonry.narrative.toolset import (
    search as memories,
)
from canonry.narrative.toolset.browsing import SHELVES
from canonry.narrative.toolset.contract import KEEPER, agent_types, contents

EXACT: Final[tuple[Tool, ...]] = (
    *universes.UNIVERSES_TOOLS,
    *entities.TOOLS,
    *relations.TOOLS,
    *facts.TOOLS,
    *events.EVENTS_TOOLS,
    *stories.STORIES_TOOLS,
    *sources.TOOLS,
    *axioms.AXIOMS_TOOLS,
    *scenes.TOOLS,
    *turns.TURNS_TOOLS,
    *proposals.PROPOSALS_TOOLS,
    *memories.MEMORIES_TOOLS,
    *search.TOOLS,
    *context.TOOLS,
    *canonization.TOOLS,
    *review.REVIEW_TOOLS,
    *retconning.RETCONNING_TOOLS,
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
