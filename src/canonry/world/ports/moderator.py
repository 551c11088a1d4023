"""The moderator: says which categories a text falls into; it decides nothing and keeps nothing."""

from abc import abstractmethod
from typing import Protocol

from canonry.world.domain.moderation.moderating import Moderation

__all__ = ["Moderation", "Moderator"]


class Moderator(Protocol):
    """Asked before a text of players, narrators or models may stand."""

    @abstractmethod
    async def moderate(self, text: str) -> Moderation:
        """The categories, none where the text may stand, and the version of the policy."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of connections."""
