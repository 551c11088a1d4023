"""The tools of the canon toolset behind its face; importing this imports all of them."""

from typing import Final

from canonry.assistant import FACE, explaining, finding, proposing, reviewing, spaces, telling
from canonry.assistant.desk import EVERYBODY, KEEPERS, SOLO
from canonry.assistant.finding import RESOURCES, SHELVES
from canonry.gateway.replies import DialectTable
from canonry.gateway.tool import Toolset

_DIALECT: Final = DialectTable(
    not_allowed="NOT_ALLOWED",
    not_found="NOT_FOUND",
    invalid_input="INVALID",
    conflict="CONFLICT",
    not_supported="NOT_HERE",
    unavailable="TRY_AGAIN",
)

CANON: Final = Toolset(
    **FACE.told(),
    agent_types=EVERYBODY,
    local_agent_type=SOLO,
    masters=KEEPERS,
    dialect=_DIALECT.envelope,
    structured=False,
    tools=(
        *spaces.TOOLS,
        *finding.TOOLS,
        *telling.TOOLS,
        *proposing.TOOLS,
        *reviewing.TOOLS,
        *explaining.TOOLS,
    ),
    remedies={
        "name.unknown": "find looks by words",
        "space.unknown": "spaces lists them, and open opens one",
        "entity.other-audience": "decide reveal lets all know of one",
        "proposal.of-a-scene": "tell with end_scene closes one",
    },
    resources=RESOURCES,
    shelves=SHELVES,
)
