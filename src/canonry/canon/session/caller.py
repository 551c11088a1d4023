"""The caller as use cases see it: who asks, what they may see and claim, how a retry is known."""

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
"""Told (done, total or None, message) on long work."""


async def no_progress(done: float, total: float | None, message: str) -> None:
    """The progress listener of a caller who did not ask for any."""


@dataclass(slots=True, eq=False)
class LastUsed:
    """What a connection remembers between its calls: the space that each caller used last.

    A retry by the same idempotency key means the space of the first try, whatever came between.
    """

    _spaces: dict[tuple[str, str | None, str | None], SpaceId] = field(default_factory=dict)

    def space(self, actor: Actor, key: str | None) -> SpaceId | None:
        """The space that the agent used last for its user; others never learn of it."""
        plain = self._spaces.get((actor.agent_id, actor.user, None))
        return self._spaces.get((actor.agent_id, actor.user, key), plain)

    def use(self, actor: Actor, key: str | None, space: SpaceId) -> None:
        """Remember the space; of very many callers and keys those of long ago are forgotten."""
        for each in dict.fromkeys((key, None)):
            self._spaces.pop((actor.agent_id, actor.user, each), None)
            self._spaces[actor.agent_id, actor.user, each] = space
        while len(self._spaces) > _REMEMBERED_MAX:
            del self._spaces[next(iter(self._spaces))]


_REMEMBERED_MAX: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """One call's identity and standing; made by the gateway, never from arguments.

    `spaces` are the spaces that the caller may see (None: all), and `world` the one of them that
    tools of a world are about, where somebody has named it; `authorities` those they may
    claim; `idempotency_key` makes a retry of the same tool by the same agent recognisable, and
    `request` is a retry only where that is the same; `viewer` is whose secrets they may know, and
    `last_used` what their connection remembers.
    """

    actor: Actor
    tool: str
    spaces: frozenset[SpaceId] | None = None
    world: SpaceId | None = None
    authorities: frozenset[Authority] = frozenset(Authority)
    idempotency_key: str | None = None
    request: str = ""
    progress: Progress = no_progress
    viewer: Viewer = ANYBODY
    last_used: LastUsed = field(default_factory=LastUsed, compare=False)

    @property
    def space_used_last(self) -> SpaceId | None:
        """The space that is meant where a call names none, if the connection remembers one."""
        return self.last_used.space(self.actor, self.idempotency_key)

    def use(self, space: SpaceId) -> None:
        """Let later calls of the connection that name no space mean this one."""
        self.last_used.use(self.actor, self.idempotency_key, space)

    @property
    def account(self) -> SpaceId:
        """The space of the user's own canon."""
        return account_space(user_id_of(self.actor.user))

    def asking(self, arguments: Mapping[str, Any]) -> "Caller":
        """The same caller, whose idempotency key stands for these arguments.

        What is kept of them cannot be guessed without the key, which the log does not hold.
        """
        asked = sha256(f"{self.idempotency_key}/".encode() + encode_json(arguments)).hexdigest()
        return replace(self, request=asked[:_REQUEST_DIGITS])

    def commit_id(self, space: SpaceId, fresh: Callable[[], str]) -> CommitId:
        """The id of the commit that this call makes in `space`.

        One key is one request, whichever space its arguments name.
        """
        if self.idempotency_key is None:
            return CommitId(fresh())
        where = "" if self.request else space
        return keyed_commit_id(where, self.actor.agent_id, self.tool, self.idempotency_key)


def step(caller: Caller, label: str) -> Caller:
    """The caller for one of several commits of a call, each of which a retry knows for itself."""
    key = caller.idempotency_key
    return caller if key is None else replace(caller, idempotency_key=f"{key}/{label}")


def unknown(kind: str, thing: str) -> NotFound:
    """The error for an id that names nothing: `<kind>.unknown`, with the kind and the id."""
    code = f"{kind}.unknown"
    return NotFound(code, f"There is no {kind} with the id {thing}.", kind=kind, id=thing)
