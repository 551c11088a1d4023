"""Counts calls of tools as events of the telemetry, by their outcome."""

from typing_extensions import override

from canonry.canon.session.ai_words import EventName
from canonry.canon.session.canon import Canon
from canonry.gateway.audit import AuditLine, CallCounter
from canonry.world.models.services import WorldServices


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
