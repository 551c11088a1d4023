"""The tools of the world toolset behind its face; importing this imports all of them."""

from typing import Final

from canonry.gateway.dialects import DialectTable
from canonry.gateway.limits import PublishedRate
from canonry.gateway.tool import Toolset
from canonry.toolsets.world import FACE, building, lore, movement, places, players, ties
from canonry.toolsets.world.contract import published

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

WORLD: Final = Toolset(
    **FACE.told(),
    agent_types=frozenset(published()["agentTypes"]),
    dialect=_DIALECT.envelope,
    rates=tuple(PublishedRate(**each) for each in published()["rates"]),
    tools=(
        *places.TOOLS,
        *players.TOOLS,
        *lore.TOOLS,
        *ties.TOOLS,
        *building.TOOLS,
        *movement.TOOLS,
    ),
)
