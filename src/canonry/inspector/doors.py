"""Doors: how somebody comes in with a browser, and by what they are known from then on."""

import hmac
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from canonry.gateway.principal import Principal, require_complete
from canonry.gateway.seats import Seats
from canonry.log.ports.world import Clock, Identities

SESSIONS_MAX: Final = 1_000
"""Of so many sessions one ends: that of whoever has most, which was idle the longest."""
SESSIONS_EACH: Final = 20
"""Of so many sessions of one principal the one that was idle the longest ends."""
_IDLE: Final = 0
_KEY_LENGTH: Final = 64
_HEX: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlocked:
    """Whoever reaches the server is this principal, as it is for the protocol beside it."""

    principal: Principal


@dataclass(slots=True, kw_only=True)
class OneLink:
    """Whoever opens the link first is this principal; the link opens nothing again."""

    principal: Principal
    key: str
    used: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenDesk:
    """Whoever shows a bearer token is whom it names, until `seconds` from now have passed."""

    verify: Callable[[str], Awaitable[tuple[Principal, float] | None]]


Door: TypeAlias = Unlocked | OneLink | TokenDesk


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Somebody who is in: as whom, and the key of their session; `fresh`: they have it not yet."""

    principal: Principal
    key: str
    fresh: bool = False


@dataclass(slots=True, eq=False)
class Hall:
    """The sessions behind one door; they live as long as the process does."""

    door: Door
    clock: Clock
    identities: Identities
    _known: dict[str, tuple[Principal, float]] = field(default_factory=dict)
    _seats: Seats[Hashable, str] = field(
        default_factory=lambda: Seats(total=SESSIONS_MAX, each=SESSIONS_EACH, ranks=1)
    )
    _seal: bytes = b""

    def __post_init__(self) -> None:
        """Forms of another process are none of ours."""
        self._seal = self.identities.salt() + self.identities.salt()

    def visitor(self, key: str | None) -> Visitor | None:
        """Who shows the session key `key`; None: somebody who has to come in first."""
        known = key if key and len(key) == _KEY_LENGTH and _HEX.issuperset(key) else None
        if isinstance(self.door, Unlocked):
            if known is None:
                return Visitor(principal=self.door.principal, key=self._drawn(), fresh=True)
            return Visitor(principal=self.door.principal, key=known)
        found = self._known.get(known or "")
        if known is None or found is None:
            return None
        if found[1] <= self.clock.monotonic():
            self._end(known)
            return None
        self._seats.place(_owner(found[0]), known, _IDLE)
        return Visitor(principal=found[0], key=known)

    def enter(self, key: str) -> Visitor | None:
        """Come in by the link that bears `key`, once."""
        door = self.door
        if not isinstance(door, OneLink) or door.used or not _same(key, door.key):
            return None
        door.used = True
        return self._admitted(door.principal, float("inf"))

    async def sign_in(self, token: str) -> Visitor | None:
        """Come in by a bearer token.

        Raises:
            NotAllowed: `identity.missing`.
        """
        if not isinstance(self.door, TokenDesk):
            return None
        found = await self.door.verify(token.strip())
        if found is None:
            return None
        require_complete(found[0])
        return self._admitted(*found)

    @property
    def keeps_sessions(self) -> bool:
        """Whether a session can be ended."""
        return not isinstance(self.door, Unlocked)

    def __len__(self) -> int:
        """How many sessions there are."""
        return len(self._known)

    def leave(self, visitor: Visitor) -> None:
        """End a session."""
        self._end(visitor.key)

    def form_key(self, visitor: Visitor) -> str:
        """What every form of a visitor carries, and nobody else can know."""
        return hmac.digest(self._seal, visitor.key.encode(), "sha256").hex()

    def is_own_form(self, visitor: Visitor, key: str) -> bool:
        """Whether a form that carries `key` was drawn for the visitor."""
        return _same(key, self.form_key(visitor))

    def _admitted(self, principal: Principal, seconds: float) -> Visitor:
        key, owner = self._drawn(), _owner(principal)
        if (gives := self._seats.must_go(owner)) is not None:
            self._end(gives[1])
        self._seats.place(owner, key, _IDLE)
        self._known[key] = principal, self.clock.monotonic() + seconds
        return Visitor(principal=principal, key=key, fresh=True)

    def _end(self, key: str) -> None:
        found = self._known.pop(key, None)
        if found is not None:
            self._seats.leave(_owner(found[0]), key)

    def _drawn(self) -> str:
        return (self.identities.salt() + self.identities.salt()).hex()[:_KEY_LENGTH]


def _owner(principal: Principal) -> Hashable:
    return principal.user, principal.agent_id


def link_key(identities: Identities) -> str:
    """A key for a link that nobody guesses."""
    return identities.salt().hex()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())
