"""The tools of the world toolset behind its face; importing this imports all of them."""

from typing import Final

from canonry.gateway.tool import Toolset
from canonry.toolsets.world import FACE, building, lore, movement, places, players, ties
from canonry.toolsets.world.contract import agent_types
from canonry.toolsets.world.dialect import dialect

WORLD: Final = Toolset(
    name=FACE.name,
    purpose=FACE.purpose,
    server_name=FACE.server_name,
    contract_version=FACE.contract_version,
    instructions=FACE.instructions,
    agent_types=agent_types(),
    dialect=dialect,
    tools=(
        *places.TOOLS,
        *players.TOOLS,
        *lore.TOOLS,
        *ties.TOOLS,
        *building.TOOLS,
        *movement.TOOLS,
    ),
)
