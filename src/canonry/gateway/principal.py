"""The principal of a call, and the rights of its role."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from canonry.canon.session.caller import Caller, LastUsed, Progress, ignore_progress
from canonry.gateway.limits import is_clean, shown_text
from canonry.gateway.tool import ANYONE, Toolset
from canonry.values.audience import Viewer, character_reader, player_reader
from canonry.values.errors import InvalidInput, NotAllowed
from canonry.values.ids import SpaceId
from canonry.values.provenance import Actor, Authority

AGENT_META: Final = "dev.canonry/agent"
KEY_META: Final = "dev.canonry/idempotency-key"
CORRELATION_META: Final = "dev.canonry/correlation-id"
_FIELDS: Final = frozenset({"agent_id", "agent_type", "spaces", "authorities", "for_entity"})
_EVERY: Final = frozenset(Authority)
_CLAIMS: Final = {
    "agent_type": (
        'Issue it with the claim "agent_type": "Reader" or another role, '
        "or set auth.default_agent_type."
    ),
    "spaces": (
        'Issue it with the claim "spaces": ["<id of a space>"], or ["*"] for all spaces, '
        "or set auth.default_spaces."
    ),
}
"""The claims that every token needs, with advice for the operator."""
_NAME_LENGTH: Final = 128  # names stand in every line of the audit log
_KEY_LENGTH: Final = 200  # keys are stored with each commit

Meta = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The identity that a process or a verified token is bound to.

    `agent_type` None means that only a trusted client's `_meta` can give one. `spaces` None means
    all; tools of a world use `world`. `authorities` None means that the role decides.
    `characters` are the ids of the characters that the user plays and whose secrets they may
    know. `trusted` means that the operator lets this client name its agent per call.
    `agent_types`, if there are several, are the roles that it takes by turns, as a call needs.
    `local` means that the operator is the only client of the server. `missing` are the claims
    that its token lacks; a principal with missing claims may call nothing. `last_used` is the
    memory of the connection, if it has one.
    """

    agent_id: str | None = None
    agent_type: str | None = None
    user: str | None = None
    spaces: frozenset[SpaceId] | None = None
    world: SpaceId | None = None
    authorities: frozenset[Authority] | None = field(default_factory=frozenset)
    characters: frozenset[str] = frozenset()
    trusted: bool = False
    local: bool = False
    agent_types: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    last_used: LastUsed | None = field(default=None, compare=False)


def require_complete(principal: Principal) -> None:
    """Refuse a token that lacks an agent type or spaces.

    Raises:
        NotAllowed: `identity.missing`, with the claims and how the operator grants them.
    """
    if not principal.missing:
        return
    lacks = " and no ".join(principal.missing)
    advice = " ".join(map(_CLAIMS.__getitem__, principal.missing))
    message = f"This token names no {lacks}, and it may call nothing. {advice}"
    raise NotAllowed("identity.missing", message, claims=list(principal.missing))


def identify_caller(
    principal: Principal,
    meta: Meta | None,
    *,
    tool: str,
    default_type: str | None = None,
    masters: frozenset[str] = frozenset(),
    progress: Progress = ignore_progress,
) -> Caller:
    """Return the caller of one call; its agent type is `default_type` if none is given.

    Without granted authorities, only the agent types in `masters` may speak as the game master.

    Raises:
        NotAllowed: `identity.malformed`, `identity.untrusted`, `identity.type-bound` or
            `identity.missing`; nothing about the tool is revealed.
        InvalidInput: `idempotency-key.malformed`.
    """
    if principal.missing:
        require_complete(principal)
    claimed = meta.get(AGENT_META) if meta else None
    named = principal if claimed is None else _narrow_principal(principal, claimed)
    wanted = None if claimed is None else _read_names(claimed, "authorities")
    agent_type = named.agent_type or default_type
    if agent_type is None:
        message = (
            "The server does not know the agent type of the caller. Start it with --agent-type "
            "(or CANONRY_AGENT_TYPE), or with --trust-meta and name the agent in "
            f'_meta["{AGENT_META}"].'
        )
        raise NotAllowed("identity.missing", message, setting="--agent-type / CANONRY_AGENT_TYPE")
    granted = principal.authorities
    if granted is None:
        granted = _EVERY if agent_type in masters else _EVERY - {Authority.GM}
    agent_id = named.agent_id or agent_type
    authorities = granted if wanted is None else granted.intersection(wanted)
    return Caller(
        actor=Actor(agent_id=agent_id, agent_type=agent_type, user=named.user),
        tool=tool,
        spaces=named.spaces,
        world=named.world,
        authorities=authorities,
        idempotency_key=_idempotency_key(meta) if meta else None,
        progress=progress,
        viewer=_viewer_of(principal, claimed, masters=Authority.GM in authorities),
        last_used=principal.last_used or LastUsed(),
    )


def _viewer_of(principal: Principal, claimed: object, *, masters: bool) -> Viewer:
    """Return the read scope of the caller; the game master may read all secrets.

    `for_entity` narrows it to the point of view of one character.
    """
    about = _read_name(claimed, "for_entity") if isinstance(claimed, Mapping) else None
    if about is not None:
        if not (masters or principal.trusted or about.lower() in principal.characters):
            raise _untrusted_claim("for_entity")
        return Viewer(readers=frozenset((character_reader(about.lower()),)))
    readers = frozenset(map(character_reader, principal.characters))
    mine = () if principal.user is None else (player_reader(principal.user),)
    return Viewer(masters=masters, readers=readers.union(mine))


def _narrow_principal(principal: Principal, claimed: object) -> Principal:
    """Return the principal as the call's `_meta` narrows it."""
    if not isinstance(claimed, Mapping) or not _FIELDS.issuperset(claimed):
        fields = ", ".join(sorted(_FIELDS))
        raise _malformed_meta("", f"Give an object with any of {fields}.")
    spaces = principal.spaces
    if (names := _read_names(claimed, "spaces")) is not None:
        narrowed = frozenset(SpaceId(name) for name in names)
        spaces = narrowed if spaces is None else narrowed & spaces
    agent_id, agent_type = _agent_id(principal, claimed), _agent_type(principal, claimed)
    return replace(principal, agent_id=agent_id, agent_type=agent_type, spaces=spaces)


def _agent_id(principal: Principal, claimed: Meta) -> str | None:
    own = principal.agent_id
    if (name := _read_name(claimed, "agent_id")) is None or name == own:
        return own
    delegated = own is not None and name.startswith(f"{own}/")
    if not (principal.trusted or delegated):
        raise _untrusted_claim("agent_id")
    return name


def _agent_type(principal: Principal, claimed: Meta) -> str | None:
    own = principal.agent_type
    if (name := _read_name(claimed, "agent_type")) is None or name == own:
        return own
    if name in principal.agent_types:
        return name
    if own is not None:
        message = f"This connection has the agent type {own!r}. It cannot take another one."
        raise NotAllowed("identity.type-bound", message, agent_type=own)
    if not principal.trusted:
        raise _untrusted_claim("agent_type")
    return name


def _read_name(claimed: Meta, key: str) -> str | None:
    name = claimed.get(key)
    if name is None:
        return None
    if not is_name(name):
        raise _malformed_meta(
            f"/{key}", f"Use 1 to {_NAME_LENGTH} characters and no control characters."
        )
    return str(name)


def is_name(name: object) -> bool:
    """Return whether `name` may name an agent: 1 to 128 characters, no control characters."""
    return (
        isinstance(name, str)
        and 0 < len(name) <= _NAME_LENGTH
        and is_clean(name)
        and not any(character < " " or "\x7f" <= character <= "\x9f" for character in name)
    )


def _read_names(claimed: Meta, key: str) -> Iterable[str] | None:
    names = claimed.get(key)
    if names is None:
        return None
    if not isinstance(names, list) or not all(is_name(name) for name in names):
        raise _malformed_meta(f"/{key}", "Give a list of names.")
    return names


def _idempotency_key(meta: Meta) -> str | None:
    key = meta.get(KEY_META)
    if key is None:
        return None
    if not isinstance(key, str) or not 0 < len(key) <= _KEY_LENGTH or not is_clean(key):
        message = f"An idempotency key must be a string of 1 to {_KEY_LENGTH} characters."
        path = "/_meta/dev.canonry~1idempotency-key"
        raise InvalidInput("idempotency-key.malformed", message, path=path)
    return key


def _malformed_meta(spot: str, advice: str) -> NotAllowed:
    path = f"/_meta/dev.canonry~1agent{spot}"
    return NotAllowed("identity.malformed", f"The agent in _meta is malformed. {advice}", path=path)


def _untrusted_claim(key: str) -> NotAllowed:
    message = (
        f"This client may not set its {key} in _meta. If you trust it, start the server with "
        "--trust-meta (or CANONRY_TRUST_META)."
    )
    return NotAllowed("identity.untrusted", message, setting="--trust-meta / CANONRY_TRUST_META")


def may_use(toolset: Toolset, roles: frozenset[str], agent_type: str) -> bool:
    """Return whether an agent type is known to the toolset and among `roles`."""
    known = toolset.agent_types
    return (agent_type in known or known >= ANYONE) and (agent_type in roles or roles >= ANYONE)


def acting_principal(toolset: Toolset, roles: frozenset[str], principal: Principal) -> Principal:
    """Return the principal in the first of its roles that may use the item."""
    fit = (each for each in principal.agent_types if may_use(toolset, roles, each))
    role = next(fit, principal.agent_type)
    return principal if role == principal.agent_type else replace(principal, agent_type=role)


def require_role(toolset: Toolset, name: str, roles: frozenset[str], caller: Caller) -> None:
    """Refuse a caller whose agent type is unknown to the toolset or not among `roles`.

    Raises:
        NotAllowed: `authority.denied`, with the tool, the agent type and the allowed types.
    """
    agent_type = caller.actor.agent_type
    known = toolset.agent_types
    if may_use(toolset, roles, agent_type):
        return
    allowed = known if roles >= ANYONE else roles
    message = f"Agent type '{shown_text(agent_type)}' is not authorized to call '{name}'"
    raise NotAllowed(
        "authority.denied",
        message,
        tool=name,
        agent_type=shown_text(agent_type),
        allowed_types=sorted(allowed),
    )


def caller_for(
    toolset: Toolset,
    name: str,
    roles: frozenset[str],
    principal: Principal,
    meta: Meta | None = None,
) -> Caller:
    """Return the caller of `name`, in one of `roles` if it has one.

    Raises:
        NotAllowed: as `identify_caller`.
    """
    return identify_caller(
        acting_principal(toolset, roles, principal),
        meta,
        tool=name,
        default_type=default_type_of(toolset, principal),
    )


def default_type_of(toolset: Toolset, principal: Principal) -> str | None:
    """Return the agent type of a caller without one; None if the toolset has no default."""
    if principal.local and toolset.local_agent_type is not None:
        return toolset.local_agent_type
    return toolset.default_agent_type


def require_claim(arguments: Mapping[str, Any], caller: Caller) -> None:
    """Refuse arguments with an authority that the caller may not claim.

    The schema refuses unknown authorities.

    Raises:
        NotAllowed: `authority.claim-refused`.
    """
    claimed = arguments.get("authority")
    if not isinstance(claimed, str) or claimed in caller.authorities:
        return
    if claimed in list(Authority):
        allowed = sorted(each.value for each in caller.authorities)
        message = (
            f"This caller may not claim the authority '{claimed}'. Claim another one, or ask the "
            "operator to grant it with --authorities (CANONRY_AUTHORITIES) or a token claim."
        )
        raise NotAllowed("authority.claim-refused", message, path="/authority", allowed=allowed)
