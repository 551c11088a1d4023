"""The tools of the world toolset behind its face; importing this imports all of them."""

from typing import Final

from canonry.gateway.contract import ContractFile
from canonry.gateway.limits import PublishedRate
from canonry.gateway.outlines import eased
from canonry.gateway.shapes import DialectTable
from canonry.gateway.tool import Tool, Toolset
from canonry.world.toolset import (
    FACE,
    building,
    lore,
    mechanics,
    places,
    proposals,
    speech,
    views,
)
from canonry.world.toolset import (
    building as ties,
)
from canonry.world.toolset import (
    lore as arcs,
)
from canonry.world.toolset import (
    lore as narration,
)
from canonry.world.toolset import (
    places as movement,
)
from canonry.world.toolset import (
    places as players,
)
from canonry.world.toolset import (
    views as resources,
)
from canonry.world.toolset.contract import published

_DIALECT: Final = DialectTable(
    not_allowed="UNAUTHORIZED",
    not_found="NOT_FOUND",
    invalid_input="INVALID_ARGUMENT",
    conflict="CONFLICT",
    not_supported="NOT_SUPPORTED",
    unavailable="UNAVAILABLE",
    codes={"limits.rate": "RATE_LIMITED", "call.deadline": "DEADLINE_EXCEEDED"},
    internal="INTERNAL_ERROR",
)

EXACT: Final[tuple[Tool, ...]] = (
    *places.TOOLS,
    *players.PLAYERS_TOOLS,
    *lore.TOOLS,
    *ties.TIES_TOOLS,
    *building.TOOLS,
    *movement.MOVEMENT_TOOLS,
    *speech.TOOLS,
    *narration.NARRATION_TOOLS,
    *mechanics.TOOLS,
    *proposals.TOOLS,
    *views.TOOLS,
    *arcs.ARCS_TOOLS,
)
"""The tools with the whole schemas of their replies, which the tests hold every reply against."""

WORLD: Final = Toolset(
    **FACE.told(),
    agent_types=frozenset(published()["agentTypes"]),
    dialect=_DIALECT.envelope,
    rates=tuple(PublishedRate(**each) for each in published()["rates"]),
    tools=tuple(map(eased, EXACT)),
    resources=resources.RESOURCES,
    shelves=resources.SHELVES,
    words=ContractFile("canonry.world.toolset.contract", "words.json").published(),
    web_routes="canonry.world.web.api:WorldRoutes",
)
