"""The text port: finding passages by their words; it suggests and never decides."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from canonry.domain.passages import Collection, Passage
from canonry.ports.views.state import Spaces


@dataclass(frozen=True, slots=True, kw_only=True)
class TextQuery:
    """Passages of one collection that share words with `text`, whatever characters it holds.

    `entities` selects passages that name any of them; `without_scene` leaves one scene out.
    """

    collection: Collection
    text: str
    spaces: Spaces = None
    entities: frozenset[str] = frozenset()
    source_id: str | None = None
    without_scene: str | None = None
    limit: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage found; `score` in (0, 1], higher is better; `terms` are the words that matched."""

    passage: Passage
    score: float
    terms: tuple[str, ...]


class Text(Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `text:*`."""

    @abstractmethod
    async def search(self, query: TextQuery) -> Sequence[Hit]:
        """The best passages, best first, ties by id.

        Raises:
            Unavailable: `text.unavailable`; callers go on without and say so.
        """
