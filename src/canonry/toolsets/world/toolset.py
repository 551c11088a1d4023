"""The tools of the world toolset behind its face; importing this imports all of them."""

from typing import Final

from canonry.gateway.limits import PublishedRate
from canonry.gateway.tool import Toolset
from canonry.toolsets.world import FACE, building, lore, movement, places, players, ties
from canonry.toolsets.world.contract import agent_types, published
from canonry.toolsets.world.dialect import dialect

WORLD: Final = Toolset(
    **FACE.told(),
    agent_types=agent_types(),
    dialect=dialect,
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
