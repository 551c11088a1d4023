"""The tools of the catalog toolset behind its face; importing this imports all of them."""

from typing import Final

from canonry.gateway.tool import ANYONE, Toolset
from canonry.toolsets.catalog import FACE
from canonry.toolsets.catalog.dialect import dialect
from canonry.toolsets.catalog.tools import TOOLS

CATALOG: Final = Toolset(
    name=FACE.name,
    purpose=FACE.purpose,
    server_name=FACE.server_name,
    contract_version=FACE.contract_version,
    instructions=FACE.instructions,
    agent_types=ANYONE,
    default_agent_type="Reader",
    sealed=True,
    dialect=dialect,
    tools=TOOLS,
)
