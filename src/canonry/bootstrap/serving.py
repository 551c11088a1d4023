"""From settings to what a host serves: the gateway over toolsets, and who is behind the process."""

from collections.abc import Iterable
from difflib import get_close_matches

from typing_extensions import override

from canonry.bootstrap.settings import Settings
from canonry.domain.errors import InvalidInput
from canonry.domain.ids import SpaceId
from canonry.domain.provenance import Authority
from canonry.gateway.audit import Audit, AuditLine
from canonry.gateway.call import Gateway, GatewaySettings
from canonry.gateway.limits import Limits
from canonry.gateway.principal import Principal, is_name
from canonry.gateway.tool import ANYONE, Toolset
from canonry.usecases.kernel.canon import Canon


class FailureAudit(Audit):
    """Counts every call, and writes a line only about those that failed."""

    @override
    def record(self, line: AuditLine, seconds: float) -> None:
        if line.code == "ok":
            self.metrics.count(line.name, line.code, seconds)
        else:
            super().record(line, seconds)


def gateway_for(settings: Settings, canon: Canon, toolsets: Iterable[Toolset]) -> Gateway:
    """The path of every call, with the limits that the settings name."""
    rate = settings.rate_limit
    return Gateway(
        canon,
        toolsets,
        settings=GatewaySettings(
            limits=Limits(
                seconds=settings.deadline, per_minute=None if rate is None else max(1, int(rate))
            ),
            unknown_properties=settings.allow_unknown_properties,
            contract_only=settings.contract_only,
            published_rates=settings.published_rates,
        ),
        audit=FailureAudit() if settings.log_level == "warning" else Audit(),
    )


def principal_for(settings: Settings) -> Principal:
    """Who is behind this process; without an agent type only a trusted client can say.

    Raises:
        InvalidInput: `settings.malformed`, a name that no agent may have.
    """
    for key in ("agent_type", "agent_id"):
        name = getattr(settings, key)
        if name is not None and not is_name(name):
            message = f"{key} must be 1 to 128 characters, none of them a control character"
            raise InvalidInput("settings.malformed", message, path=key)
    spaces, granted = settings.spaces, settings.authorities
    return Principal(
        agent_id=settings.agent_id or settings.agent_type,
        agent_type=settings.agent_type,
        user=settings.user.lower() if settings.user else None,
        spaces=None if spaces is None else frozenset(SpaceId(each.lower()) for each in spaces),
        world=None if settings.world is None else SpaceId(settings.world.lower()),
        authorities=None if granted is None else frozenset(Authority(name) for name in granted),
        trusted=settings.trust_meta,
    )


def advice_on(settings: Settings, toolsets: Iterable[Toolset]) -> str | None:
    """What an operator should know before serving: why calls would be refused, or None."""
    toolsets = tuple(toolsets)
    known = sorted(frozenset().union(*(each.agent_types for each in toolsets)) - ANYONE)
    closed = [t for t in toolsets if not (t.default_agent_type or t.agent_types >= ANYONE)]
    if not closed:
        return None
    if settings.agent_type is None:
        if settings.trust_meta or settings.auth_issuer is not None:
            return None
        some = "" if len(closed) == len(toolsets) else f" of {', '.join(t.name for t in closed)}"
        return (
            f"no agent type is set, so every call{some} will be refused: start with --agent-type "
            f"({', '.join(known)}), or with --trust-meta"
        )
    if settings.agent_type in known:
        return None
    close = get_close_matches(settings.agent_type, known, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
    return f"no toolset knows the agent type {settings.agent_type}, so it may call nothing; {hint}"
