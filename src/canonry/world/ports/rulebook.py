"""The rulebook: what the game says in general; it never knows a world."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from canonry.world.domain.mechanics.rules import RuleEntry, RuleKind


class Rulebook(Protocol):
    """A published set of rules, read-only, held apart from every world."""

    @property
    @abstractmethod
    def attribution(self) -> str:
        """Whose text this is and under which licence, as it has to be shown with each entry."""

    @abstractmethod
    def lookup(self, kind: RuleKind, name: str) -> RuleEntry | None:
        """The entry of this name, whatever its case and signs; None where there is none."""

    @abstractmethod
    def search(self, query: str, kind: RuleKind | None, limit: int) -> Sequence[RuleEntry]:
        """The entries that share words with the query, best first, ties by name."""
