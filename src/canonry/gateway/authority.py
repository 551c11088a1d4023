"""Whether a caller may use a thing of a toolset: what is not listed is denied."""

from collections.abc import Mapping
from typing import Any

from canonry.domain.errors import NotAllowed
from canonry.domain.provenance import Authority
from canonry.gateway.text import shown
from canonry.gateway.tool import ANYONE, Toolset
from canonry.usecases.kernel.caller import Caller


def authorize(toolset: Toolset, name: str, roles: frozenset[str], caller: Caller) -> None:
    """Refuse a caller whose agent type is unknown to the toolset or not among `roles`.

    Raises:
        NotAllowed: `authority.denied`, with the tool, the agent type and the allowed types.
    """
    agent_type = caller.actor.agent_type
    known = toolset.agent_types
    if (agent_type in known or known >= ANYONE) and (agent_type in roles or roles >= ANYONE):
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
            f"this caller may not claim the authority '{claimed}': the operator grants authorities "
            "by --trust-meta, by settings or by token claims"
        )
        raise NotAllowed("authority.claim-refused", message, path="/authority", allowed=allowed)
