"""The caller of a use case: identity, permissions and idempotency key."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final

from canonry.log.items.sources import account_space, user_id_of
from canonry.values.audience import ANYBODY, Viewer
from canonry.values.errors import NotFound
from canonry.values.ids import CommitId, SpaceId, keyed_commit_id
from canonry.values.json_values import encode_json
from canonry.values.provenance import Actor, Authority

_REQUEST_DIGITS: Final = 32

Progress = Callable[[float, float | None, str], Awaitable[None]]
"""Receives (done, total or None, message) during long work."""


async def ignore_progress(done: float, total: float | None, message: str) -> None:
    """Ignore progress, for a caller that did not ask for it."""


@dataclass(slots=True, eq=False)
class LastUsed:
    """The space that each caller of a connection used last.

    A retry with the same idempotency key keeps the space of the first call.
    """

    spaces: dict[tuple[str, str | None, str | None], SpaceId] = field(default_factory=dict)


_REMEMBERED_MAX: Final = 1_000  # agents come and go; the oldest is asked for its space again


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The identity and permissions of one call; made by the gateway, never from arguments.

    `spaces` are the spaces that the caller may see (None: all). `world` is the selected one for
    world tools. `authorities` are the ones that the caller may claim. `idempotency_key` identifies
    a retry of the same tool by the same agent; `request` must be equal too. `viewer` decides which
    secrets are visible. `last_used` belongs to the connection.
    """

    actor: Actor
    tool: str
    spaces: frozenset[SpaceId] | None = None
    world: SpaceId | None = None
    authorities: frozenset[Authority] = frozenset(Authority)
    idempotency_key: str | None = None
    request: str = ""
    progress: Progress = ignore_progress
    viewer: Viewer = ANYBODY
    last_used: LastUsed = field(default_factory=LastUsed, compare=False)

    @property
    def space_used_last(self) -> SpaceId | None:
        """Return the space that this agent last used for its user on the connection, or None."""
        spaces, actor = self.last_used.spaces, self.actor
        plain = spaces.get((actor.agent_id, actor.user, None))
        return spaces.get((actor.agent_id, actor.user, self.idempotency_key), plain)

    def use_space(self, space: SpaceId) -> None:
        """Make this space the connection's default; the oldest are dropped beyond a limit."""
        spaces, actor = self.last_used.spaces, self.actor
        for key in dict.fromkeys((self.idempotency_key, None)):
            spaces.pop((actor.agent_id, actor.user, key), None)
            spaces[actor.agent_id, actor.user, key] = space
        while len(spaces) > _REMEMBERED_MAX:
            del spaces[next(iter(spaces))]

    @property
    def account_id(self) -> SpaceId:
        """Return the space of the user's account."""
        return account_space(user_id_of(self.actor.user))

    def with_arguments(self, arguments: Mapping[str, Any]) -> "Caller":
        """Return the same caller with a request digest of these arguments.

        The digest cannot be guessed without the idempotency key, which the log does not hold.
        """
        asked = sha256(f"{self.idempotency_key}/".encode() + encode_json(arguments)).hexdigest()
        return replace(self, request=asked[:_REQUEST_DIGITS])

    def commit_id(self, space: SpaceId, fresh: Callable[[], str]) -> CommitId:
        """Return the id of the commit that this call makes in `space`.

        One key identifies one request, whatever space its arguments name.
        """
        if self.idempotency_key is None:
            return CommitId(fresh())
        where = "" if self.request else space
        return keyed_commit_id(where, self.actor.agent_id, self.tool, self.idempotency_key)


def derive_step(caller: Caller, label: str) -> Caller:
    """Derive the caller for one of several commits of a call; a retry recognises each commit."""
    key = caller.idempotency_key
    return caller if key is None else replace(caller, idempotency_key=f"{key}/{label}")


def unknown_item(kind: str, item_id: str) -> NotFound:
    """Return the error for an unknown id: `<kind>.unknown`, with the kind and the id."""
    code = f"{kind}.unknown"
    return NotFound(code, f"There is no {kind} with the id {item_id}.", kind=kind, id=item_id)
