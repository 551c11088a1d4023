"""The real world: the system clock, random identities and salts."""

import os
import time
from typing import Final

from typing_extensions import override

from canonry.log.ports.world import Clock, Identities
from canonry.log.sealing import SALT_BYTES
from canonry.values.moments import Instant

_VERSION_7: Final = 0x7000
_VARIANT: Final = 0x8000000000000000
_RANDOM_62: Final = 0x3FFFFFFFFFFFFFFF
_RANDOM_12: Final = 0x0FFF
_STAMP_MAX: Final = 0xFFFFFFFFFFFF
_STEADY: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)
"""A clock that runs while the machine sleeps, as the time of day does; only Linux has it."""


class SystemClock(Clock):
    """The operating system's clock."""

    @override
    def now(self) -> Instant:
        return Instant(time.time_ns() // 1000)

    @override
    def monotonic(self) -> float:
        return time.clock_gettime(_STEADY) if _STEADY is not None else time.monotonic()


class SystemIdentities(Identities):
    """Version 7 UUIDs: 48 bits of milliseconds, then randomness, which keeps indexes compact."""

    @override
    def new_id(self) -> str:
        high = int.from_bytes(os.urandom(2)) & _RANDOM_12 | _VERSION_7
        low = int.from_bytes(os.urandom(8)) & _RANDOM_62 | _VARIANT
        stamp = f"{min(max(time.time_ns() // 1_000_000, 0), _STAMP_MAX):012x}"
        tail = f"{low:016x}"
        return f"{stamp[:8]}-{stamp[8:]}-{high:04x}-{tail[:4]}-{tail[4:]}"

    @override
    def new_salt(self) -> bytes:
        return os.urandom(SALT_BYTES)
