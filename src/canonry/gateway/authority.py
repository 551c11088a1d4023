"""Whether a caller may use a thing of a toolset: what is not listed is denied."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from canonry.canon.session.caller import Caller
from canonry.gateway.principal import Principal, identify
from canonry.gateway.text import shown
from canonry.gateway.tool import ANYONE, Toolset
from canonry.values.errors import NotAllowed
from canonry.values.provenance import Authority


def may(toolset: Toolset, roles: frozenset[str], agent_type: str) -> bool:
    """Whether an agent type is known to the toolset and among `roles`."""
    known = toolset.agent_types
    return (agent_type in known or known >= ANYONE) and (agent_type in roles or roles >= ANYONE)


def acting(toolset: Toolset, roles: frozenset[str], principal: Principal) -> Principal:
    """The principal in that one of its roles, the first if several do, which may use the thing."""
    fit = (each for each in principal.agent_types if may(toolset, roles, each))
    role = next(fit, principal.agent_type)
    return principal if role == principal.agent_type else replace(principal, agent_type=role)


def authorize(toolset: Toolset, name: str, roles: frozenset[str], caller: Caller) -> None:
    """Refuse a caller whose agent type is unknown to the toolset or not among `roles`.

    Raises:
        NotAllowed: `authority.denied`, with the tool, the agent type and the allowed types.
    """
    agent_type = caller.actor.agent_type
    known = toolset.agent_types
    if may(toolset, roles, agent_type):
        return
    allowed = known if roles >= ANYONE else roles
    message = f"Agent type '{shown(agent_type)}' is not authorized to call '{name}'"
    raise NotAllowed(
        "authority.denied",
        message,
        tool=name,
        agent_type=shown(agent_type),
        allowed_types=sorted(allowed),
    )


def caller_for(toolset: Toolset, name: str, roles: frozenset[str], principal: Principal) -> Caller:
    """Who asks for `name`, which is served beside the tools: in one of `roles` where it has one.

    Raises:
        NotAllowed: as `identify`.
    """
    return identify(
        acting(toolset, roles, principal),
        None,
        tool=name,
        default_type=default_type_of(toolset, principal),
    )


def default_type_of(toolset: Toolset, principal: Principal) -> str | None:
    """The agent type of a caller of whom nobody has said any; None: there is none."""
    if principal.local and toolset.local_agent_type is not None:
        return toolset.local_agent_type
    return toolset.default_agent_type


def require_claim(arguments: Mapping[str, Any], caller: Caller) -> None:
    """Refuse arguments that claim an authority which the caller may not claim.

    A word that is no authority at all is left to the schema.

    Raises:
        NotAllowed: `authority.claim-refused`.
    """
    claimed = arguments.get("authority")
    if not isinstance(claimed, str) or claimed in caller.authorities:
        return
    if claimed in list(Authority):
        allowed = sorted(each.value for each in caller.authorities)
        message = (
            f"this caller may not claim the authority '{claimed}': claim one that it may, or ask "
            "the operator to grant it by --authorities (CANONRY_AUTHORITIES) or by token claims"
        )
        raise NotAllowed("authority.claim-refused", message, path="/authority", allowed=allowed)
