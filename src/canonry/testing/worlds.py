"""Worlds that repeat: a clock that is moved by hand and identities that count."""

from typing_extensions import override

from canonry.canon.session.caller import Caller
from canonry.log.ports.world import Clock, Identities
from canonry.log.sealing import SALT_BYTES
from canonry.values.provenance import Actor
from canonry.values.time import SECOND, Instant

A_DAY_IN_2025 = Instant(1_736_899_200 * SECOND)


class HandClock(Clock):
    """Stands still until it is moved."""

    def __init__(self, start: Instant = A_DAY_IN_2025) -> None:
        """Start at `start`."""
        self._now = start

    def move(self, microseconds: int) -> None:
        """Let time pass."""
        self._now = Instant(self._now + microseconds)

    @override
    def now(self) -> Instant:
        return self._now

    @override
    def monotonic(self) -> float:
        return self._now / SECOND


class CountingIdentities(Identities):
    """UUIDs 1, 2, 3, ... after `prefix`, and salts that count as well."""

    def __init__(self, prefix: int = 0) -> None:
        """Two instances with different prefixes never give the same identity."""
        self._prefix = prefix
        self._count = 0

    @override
    def fresh(self) -> str:
        self._count += 1
        high, low = self._count >> 16 & 0xFFFF, self._count & 0xFFF
        return f"{self._prefix:08x}-{high:04x}-7{low:03x}-8000-{self._count:012x}"

    @override
    def salt(self) -> bytes:
        self._count += 1
        return self._count.to_bytes(SALT_BYTES)


def a_caller(agent_type: str = "CanonKeeper", tool: str = "test") -> Caller:
    """A caller of this type who sees every space and may claim every authority."""
    actor = Actor(agent_id=f"{agent_type.lower()}-001", agent_type=agent_type)
    return Caller(actor=actor, tool=tool)
