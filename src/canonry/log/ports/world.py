"""What makes a run unrepeatable: the clock, identities and randomness."""

from abc import abstractmethod
from typing import Protocol

from canonry.values.time import Instant


class Clock(Protocol):
    """Tells the time."""

    @abstractmethod
    def now(self) -> Instant:
        """The current instant; it may stand still or jump, but is never far off."""

    @abstractmethod
    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""


class Identities(Protocol):
    """Makes what must not be guessed or repeated."""

    @abstractmethod
    def fresh(self) -> str:
        """A new UUID; later ones sort after earlier ones, nearly always."""

    @abstractmethod
    def salt(self) -> bytes:
        """`canonry.log.sealing.SALT_BYTES` unpredictable bytes."""
