"""The tools of the truth toolset behind its face; importing this imports all of them."""

from typing import Final

from canonry.gateway.tool import ANYONE, Tool, Toolset
from canonry.toolsets.truth import (
    FACE,
    entities,
    ingestion,
    relationships,
    schemas,
    snapshots,
    timeline,
)
from canonry.toolsets.truth.contract import entries
from canonry.toolsets.truth.dialect import dialect
from canonry.toolsets.truth.outlines import outlined

AGENT: Final = "Assistant"
"""What a caller is whom nobody has named; the contract knows users, not roles."""

_ORDER: Final = {name: place for place, name in enumerate(entries())}

EXACT: Final[tuple[Tool, ...]] = tuple(
    sorted(
        (
            *ingestion.TOOLS,
            *snapshots.TOOLS,
            *entities.TOOLS,
            *relationships.TOOLS,
            *timeline.TOOLS,
            *schemas.TOOLS,
        ),
        key=lambda tool: _ORDER[tool.name],
    )
)
"""The tools with the whole schemas of their replies, which the tests hold every reply against."""

TRUTH: Final = Toolset(
    **FACE.told(),
    agent_types=ANYONE,
    default_agent_type=AGENT,
    traced=True,
    dialect=dialect,
    tools=tuple(map(outlined, EXACT)),
)
