"""The tools of the catalog toolset behind its face; importing this imports all of them."""

from typing import Final

from canonry.gateway.tool import ANYONE, Toolset
from canonry.toolsets.catalog import FACE
from canonry.toolsets.catalog.dialect import dialect
from canonry.toolsets.catalog.tools import TOOLS

CATALOG: Final = Toolset(
    **FACE.told(),
    agent_types=ANYONE,
    default_agent_type="Reader",
    sealed=True,
    dialect=dialect,
    tools=TOOLS,
)
