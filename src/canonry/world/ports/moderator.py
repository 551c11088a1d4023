"""Ports: moderators of texts and rules of play."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from canonry.world.domain.mechanics import RuleEntry, RuleKind
from canonry.world.domain.moderation.moderating import Moderation

__all__ = ["Moderation", "Moderator", "Rulebook"]


class Moderator(Protocol):
    """Asked before a text of players, narrators or models may stand."""

    @abstractmethod
    async def moderate_text(self, text: str) -> Moderation:
        """The categories, none where the text may stand, and the version of the policy."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of connections."""


class Rulebook(Protocol):
    """A published set of rules, read-only, held apart from every world."""

    @property
    @abstractmethod
    def attribution(self) -> str:
        """Attribution and licence that must be shown with each entry."""

    @abstractmethod
    def find_entry(self, kind: RuleKind, name: str) -> RuleEntry | None:
        """The entry of this name, whatever its case and signs; None where there is none."""

    @abstractmethod
    def search_entries(self, query: str, kind: RuleKind | None, limit: int) -> Sequence[RuleEntry]:
        """The entries that share words with the query, best first, ties by name."""
