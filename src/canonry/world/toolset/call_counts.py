"""Telling: calls of tools as events of telemetry, by what became of them."""

from canonry.canon.session.ai_words import EventName
from canonry.canon.session.canon import Canon
from canonry.gateway.audit import AuditLine


def tell_call(canon: Canon, line: AuditLine) -> None:
    """Count a call that has ended: that it was made, whether it was allowed, and how it failed."""
    if line.kind != "call":
        return
    now = canon.clock.now()
    allowed = EventName.TOOL_DENIED if line.denied else EventName.TOOL_ALLOWED
    canon.telemetry.tell(EventName.TOOL_INVOKED, now)
    canon.telemetry.tell(allowed, now)
    if line.code == "limits.rate":
        canon.telemetry.tell(EventName.TOOL_THROTTLED, now)
    elif line.code != "ok" and not line.denied:
        canon.telemetry.tell(EventName.TOOL_FAILED, now)
