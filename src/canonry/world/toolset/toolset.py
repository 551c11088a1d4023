"""The tools of the world toolset behind its face, and counts of its calls."""

from typing import Final

from typing_extensions import override

from canonry.canon.session.ai_words import EventName
from canonry.canon.session.canon import Canon
from canonry.gateway.audit import AuditLine, CallCounter
from canonry.gateway.contract import ContractFile, eased
from canonry.gateway.limits import PublishedRate
from canonry.gateway.replies import DialectTable
from canonry.gateway.tool import Tool, Toolset
from canonry.world.models.services import WorldServices
from canonry.world.toolset import FACE, building, speech, views
from canonry.world.toolset import building as proposals
from canonry.world.toolset.contract import published


class TelemetryCounter(CallCounter):
    """Counts that a call was made, whether it was allowed, and how it failed."""

    @override
    def count(self, canon: Canon, line: AuditLine) -> None:
        if line.kind != "call":
            return
        now, telemetry = canon.clock.now(), canon.service(WorldServices).telemetry
        telemetry.tell(EventName.TOOL_INVOKED, now)
        telemetry.tell(EventName.TOOL_DENIED if line.denied else EventName.TOOL_ALLOWED, now)
        if line.code == "limits.rate":
            telemetry.tell(EventName.TOOL_THROTTLED, now)
        elif line.code != "ok" and not line.denied:
            telemetry.tell(EventName.TOOL_FAILED, now)


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
    *views.TOOLS,
    *speech.LORE_TOOLS,
    *building.TOOLS,
    *views.MOVEMENT_TOOLS,
    *speech.TOOLS,
    *proposals.PROPOSALS_TOOLS,
    *views.VIEWS_TOOLS,
    *speech.ARCS_TOOLS,
)
"""The tools with the whole schemas of their replies, which the tests hold every reply against."""

WORLD: Final = Toolset(
    **FACE.told(),
    agent_types=frozenset(published()["agentTypes"]),
    dialect=_DIALECT.envelope,
    rates=tuple(PublishedRate(**each) for each in published()["rates"]),
    tools=tuple(map(eased, EXACT)),
    resources=views.RESOURCES,
    shelves=views.SHELVES,
    words=ContractFile("canonry.world.toolset.contract", "words.json").published(),
    web_routes="canonry.world.web.api:WorldRoutes",
)
