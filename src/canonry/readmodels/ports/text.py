"""The text port: finding passages by their words; it suggests and never decides."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

from canonry.readmodels.keywords import Figures
from canonry.readmodels.passages import Collection, Passage
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.vectors import VectorEntry
from canonry.readmodels.ports.view import View
from canonry.readmodels.ranking import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class TextQuery:
    """Passages of one collection that share words with `text`, whatever characters it holds.

    `entities` selects passages that name any of them; `without_scene` leaves one scene out.
    Where nobody has put the text as a `question`, it asks of no time, whatever times it names.
    """

    collection: Collection
    text: str
    spaces: Spaces = None
    entities: frozenset[str] = frozenset()
    source_id: str | None = None
    without_scene: str | None = None
    question: bool = True
    limit: int = 10

    def allows(self, passage: Passage | VectorEntry) -> bool:
        """Whether the filters select a passage or its vector, whatever its words."""
        return (
            passage.collection is self.collection
            and (self.spaces is None or passage.space in self.spaces)
            and (not self.entities or not self.entities.isdisjoint(passage.entities))
            and self.source_id in {None, passage.source_id}
            and (self.without_scene is None or passage.scene_id != self.without_scene)
        )


class Hit(NamedTuple):
    """A passage found: the id of its thing, where it stands, and who is named.

    `score` in (0, 1], higher is better; `shares` are the terms of the query that it was found by,
    with what each adds. The text is left where it is: hundreds of hits are ranked, few are shown.
    A tuple, because that many are made for each query.
    """

    id: str
    score: float
    shares: Mapping[str, float]
    scene_id: str | None
    place: int | None
    entities: tuple[str, ...]

    @classmethod
    def of(cls, passage: Passage, shares: Mapping[str, float]) -> Self:
        """The hit of a passage, of which the words of the query make these shares."""
        raw = sum(shares.values())
        score = raw / (raw + 1)
        where = passage.scene_id, passage.place
        return cls(passage.id, score, shares, *where, passage.entities)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFound:
    """The passages that share words with a query, and what was asked by it."""

    hits: Sequence[Hit]
    asked: Asked


class Text(View, Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `text:*`."""

    @abstractmethod
    async def search(self, query: TextQuery) -> TextFound:
        """The best passages, best first, ties by id.

        Raises:
            Unavailable: `text.unavailable`; callers go on without and say so.
        """

    @abstractmethod
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        """What these stems are worth in the collection and spaces of `query`, and in none else.

        Its text and its other filters play no part; a stem that occurs nowhere has no entry.

        Raises:
            Unavailable: `text.unavailable`; callers go on without and say so.
        """

    @abstractmethod
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        """Where the passages of these things stand, of those that `query` allows, in no order.

        The words of the query play no part: every score is 0 and without shares.

        Raises:
            Unavailable: `text.unavailable`; callers look the things up.
        """
