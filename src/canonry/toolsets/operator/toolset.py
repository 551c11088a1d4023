"""The tools of the operator toolset behind its face; importing this imports all of them."""

from typing import Final

from canonry.gateway.tool import Toolset
from canonry.toolsets.operator import FACE, catalog
from canonry.toolsets.operator.dialect import dialect

OPERATOR: Final = Toolset(
    **FACE.told(),
    agent_types=catalog.ROLES,
    dialect=dialect,
    tools=(*catalog.TOOLS,),
)
