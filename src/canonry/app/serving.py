"""Make the gateway and the principal of a host from the settings."""

from collections.abc import Iterable
from difflib import get_close_matches

from typing_extensions import override

from canonry.app.settings import Settings
from canonry.canon.session.canon import Canon
from canonry.gateway.audit import Audit, AuditLine
from canonry.gateway.call import Gateway, GatewaySettings
from canonry.gateway.limits import Limits
from canonry.gateway.offers import select_toolsets
from canonry.gateway.principal import Principal, is_name, may_use
from canonry.gateway.tool import ANYONE, Toolset
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId
from canonry.values.provenance import Authority


class FailureAudit(Audit):
    """Counts every call, and writes a line only about failed ones."""

    @override
    def record_call(self, line: AuditLine, seconds: float) -> None:
        if line.code == "ok":
            self.metrics.count_call(line.name, line.code, seconds)
        else:
            super().record_call(line, seconds)


def served_toolsets(settings: Settings, toolsets: Iterable[Toolset]) -> tuple[Toolset, ...]:
    """Return the served part of the toolsets.

    Raises:
        InvalidInput: `tool.unknown`.
    """
    return select_toolsets(
        toolsets,
        contract_only=settings.contract_only,
        read_only=settings.read_only,
        only=settings.tools,
    )


def gateway_for(settings: Settings, canon: Canon, toolsets: Iterable[Toolset]) -> Gateway:
    """Return the gateway with the limits of the settings."""
    rate = settings.rate_limit
    return Gateway(
        canon,
        toolsets,
        settings=GatewaySettings(
            limits=Limits(
                seconds=settings.deadline, per_minute=None if rate is None else max(1, int(rate))
            ),
            published_rates=settings.published_rates or settings.contract_only,
        ),
        audit=FailureAudit() if settings.log_level == "warning" else Audit(),
    )


def principal_for(settings: Settings) -> Principal:
    """Return the principal of this process; without an agent type, a trusted client gives one.

    Raises:
        InvalidInput: `settings.malformed`, if a name is malformed.
    """
    types = settings.agent_type or ()
    for key, name in (*(("agent_type", each) for each in types), ("agent_id", settings.agent_id)):
        if name is not None and not is_name(name):
            message = f"{key} must have 1 to 128 characters and no control characters."
            raise InvalidInput("settings.malformed", message, path=key)
    spaces, granted = settings.spaces, settings.authorities
    return Principal(
        agent_id=settings.agent_id or next(iter(types), None),
        agent_type=next(iter(types), None),
        agent_types=types if len(types) > 1 else (),
        user=settings.user.lower() if settings.user else None,
        spaces=None if spaces is None else frozenset(SpaceId(each.lower()) for each in spaces),
        world=None if settings.world is None else SpaceId(settings.world.lower()),
        authorities=None if granted is None else frozenset(Authority(name) for name in granted),
        characters=frozenset(each.lower() for each in settings.characters),
        trusted=settings.trust_meta,
        local=settings.http is None,
    )


def advice_on(settings: Settings, toolsets: Iterable[Toolset]) -> str | None:
    """Return a warning for the operator about calls that would be refused; or None.

    Raises:
        InvalidInput: `agent.missing`, `agent.unknown` or `agent.idle`, if no call could pass.
    """
    toolsets = tuple(toolsets)
    known = sorted(frozenset().union(*(each.agent_types for each in toolsets)) - ANYONE)
    if settings.auth_default_agent_type is not None:
        _require_callable((settings.auth_default_agent_type,), toolsets, known)
    if settings.agent_type is not None:
        _require_callable(settings.agent_type, toolsets, known)
        return None
    if settings.trust_meta or settings.auth_issuer is not None:
        return None
    alone = settings.http is None
    closed = [
        each
        for each in toolsets
        if not (each.default_agent_type or each.agent_types >= ANYONE)
        and not (alone and each.local_agent_type)
    ]
    if not closed:
        return None
    some = "" if len(closed) == len(toolsets) else f" of {', '.join(t.name for t in closed)}"
    message = (
        f"No agent type is set, and every call{some} would be refused. Start with --agent-type "
        f"({', '.join(known)}; separate several by commas), or with --trust-meta."
    )
    if not some:
        raise InvalidInput("agent.missing", message, path="agent_type")
    return message


def _require_callable(
    names: Iterable[str], toolsets: tuple[Toolset, ...], known: list[str]
) -> None:
    if any(each.agent_types >= ANYONE for each in toolsets):
        return
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f"; did you mean {close[0]}?" if close else f". Known: {', '.join(known)}."
            message = f"No served toolset knows the agent type {name}{hint}"
            raise InvalidInput("agent.unknown", message, path="agent_type")
    if not any(
        may_use(toolset, tool.roles, name)
        for name in names
        for toolset in toolsets
        for tool in toolset.tools
    ):
        message = f"{', '.join(names)} may call none of the served tools."
        raise InvalidInput("agent.idle", message, path="agent_type")
