"""The ports of search: passages by their words, and vectors by their meaning."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, Self, TypeAlias

from canonry.readmodels.passages import Collection, Passage
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.view import View
from canonry.readmodels.ranking import Asked, Figures
from canonry.values.errors import BrokenInvariant
from canonry.values.ids import SpaceId

Vector: TypeAlias = bytes
"""A vector of length one: little-endian 32-bit floats, four bytes for each dimension.

The likeness of two of them is their inner product, between -1 and 1.
"""
NUMBER_BYTES: Final = 4
"""A number of a vector has so many bytes."""


class Purpose(StrEnum):
    """The use of an embedded text; some models tell a question from a passage that answers it."""

    QUERY = "query"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """Which model made a vector: vectors are compared only where all of this is equal.

    `digest` is the SHA-256 of the weights, None where somebody else holds them.
    """

    name: str
    version: str
    dimensions: int
    digest: str | None = None


class Embedder(Protocol):
    """Turns texts into vectors; it may be away at any time, and callers then use words alone."""

    @property
    @abstractmethod
    def model(self) -> EmbeddingModel:
        """The model, known before anything is loaded or asked."""

    @property
    def unlike(self) -> float:
        """The likeness of texts that have nothing to do with each other; some models have much."""
        return 0.0

    @abstractmethod
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        """One vector for each text, in order; a long text is taken as a whole, nothing is cut off.

        Equal texts for an equal purpose have equal vectors, up to rounding.

        Raises:
            Unavailable: `embedder.unavailable`; the message says what is missing.
        """

    @abstractmethod
    async def close(self) -> None:
        """Let go of connections and memory; closing twice is allowed."""


class Reranker(Protocol):
    """Tells how well texts answer a question; it may be away at any time."""

    @abstractmethod
    async def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """One figure for each text, in their order; the greater, the better it answers.

        Only their order says anything.

        Raises:
            Unavailable: `reranker.unavailable`; the passages stay in the order they had.
        """

    @abstractmethod
    async def close(self) -> None:
        """Let go of connections and memory; closing twice is allowed."""


# The vectors port: finding passages by the likeness of their meaning; it suggests, never decides.
#
# It is rebuilt from the records at any time: losing it loses nothing, and no write waits for it.


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorEntry:
    """The vector of a passage, or of one part of a long one, with what it is filtered by.

    `digest` is for the caller alone to understand: by it they know what the vector was made from.
    """

    id: str
    part: int = 0
    collection: Collection
    space: SpaceId
    entities: tuple[str, ...] = ()
    scene_id: str | None = None
    source_id: str | None = None
    vector: Vector
    digest: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorBatch:
    """What becomes of the vectors of one model, all or nothing, and how far the log is read then.

    The entries of an id replace all that it had; an id that is removed has none. `cursor` is for
    the caller alone to understand. `follows` is the cursor that must be kept until then, empty for
    a model of which nothing is kept; None says that any will do.
    """

    model: EmbeddingModel
    entries: Sequence[VectorEntry] = ()
    removed: Sequence[str] = ()
    cursor: str
    follows: str | None = None


def require_sizes(batch: VectorBatch) -> None:
    """Refuse a batch with a vector that its model cannot have made.

    Raises:
        BrokenInvariant: `vectors.wrong-size`.
    """
    size = NUMBER_BYTES * batch.model.dimensions
    if any(len(entry.vector) != size for entry in batch.entries):
        message = "An embedder returned a vector of another size than its model declares."
        raise BrokenInvariant("vectors.wrong-size", message)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorQuery:
    """Passages of one collection near to `vector`, which `model` made.

    `entities` selects passages that name any of them; `without_scene` leaves one scene out.
    """

    model: EmbeddingModel
    vector: Vector
    collection: Collection
    spaces: Spaces = None
    entities: frozenset[str] = frozenset()
    source_id: str | None = None
    without_scene: str | None = None
    limit: int = 10


class VectorHit(NamedTuple):
    """A passage found; `similarity` is the inner product, between -1 and 1.

    Of more than a few dozen hits it may be off by some thousandths, and their order with it.
    A tuple, because hundreds are made for each query.
    """

    id: str
    part: int
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorStatus:
    """How many vectors of a model there are, how far the log is read, and what is not yet fast."""

    model: EmbeddingModel
    count: int
    cursor: str
    waiting: int


class Vectors(Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `vectors:*`.

    Every method may raise Unavailable: `vectors.unavailable`, or `vectors.corrupt`. Callers go on
    with words and say so; `drop` mends what is corrupt, and indexing begins anew.
    """

    @abstractmethod
    async def apply(self, batch: VectorBatch) -> None:
        """Take in a batch; the next search finds it, also from another process.

        Raises:
            BrokenInvariant: `vectors.wrong-size`, a vector is not of the size of the model.
            Unavailable: `vectors.moved`, somebody dropped the index or indexed meanwhile: nothing
                of the batch was taken in.
        """

    @abstractmethod
    async def search(self, query: VectorQuery) -> Sequence[VectorHit]:
        """The nearest passages, nearest first, ties by id and part; none for an unknown model."""

    @abstractmethod
    async def status(self) -> Sequence[VectorStatus]:
        """The cursor of each model, in the order of their first batches."""

    @abstractmethod
    async def cursors(self) -> Mapping[EmbeddingModel, str]:
        """How far the log is read for each model, in order of their first batches; at no cost."""

    @abstractmethod
    async def digests(
        self, model: EmbeddingModel, ids: Sequence[str]
    ) -> Mapping[str, Sequence[bytes]]:
        """The digests that the vectors of passages came with, part by part; none for others."""

    @abstractmethod
    async def about(
        self, model: EmbeddingModel, entity: str, *, after: str = "", limit: int
    ) -> Sequence[str]:
        """The ids of passages about an entity, in order, those that follow `after`."""

    @abstractmethod
    async def remove(self, ids: Sequence[str]) -> None:
        """Take passages out of the index of every model; the cursors stay."""

    @abstractmethod
    async def purge(self) -> None:
        """Leave no byte of what was removed or replaced in any file; erasing calls it.

        Raises:
            Unavailable: `vectors.unfinished`, another process kept a file in use for too long:
                what was removed is found by nobody, and purging again removes its traces.
        """

    @abstractmethod
    async def tend(self, model: EmbeddingModel) -> bool:
        """Make what was taken in fast to search if it is time; whoever indexes calls it often.

        Whether anything was done; of several processes one does it, and nobody waits.
        """

    @abstractmethod
    async def drop(self, model: EmbeddingModel | None = None) -> None:
        """Forget a model and its vectors; without one everything, also what is corrupt."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of files; closing twice is allowed."""


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
