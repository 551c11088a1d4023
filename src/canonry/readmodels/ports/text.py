"""Ports of search: passages by keywords, and vectors by meaning."""

import struct
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, Self, TypeAlias

from canonry.readmodels.passages import Collection, Passage
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.view import View
from canonry.readmodels.ranking import Asked, Figures, Measure
from canonry.values.errors import BrokenInvariant, Unavailable
from canonry.values.ids import SpaceId

Vector: TypeAlias = bytes
"""A vector of length one: little-endian 32-bit floats, four bytes for each dimension.

The similarity of two vectors is their inner product, between -1 and 1.
"""
NUMBER_BYTES: Final = 4
"""The number of bytes for each dimension."""


class Purpose(StrEnum):
    """The use of an embedded text; some models embed questions and passages differently."""

    QUERY = "query"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """The identity of a model; only vectors of equal models can be compared.

    `digest` is the SHA-256 of the weights, or None for a remote model.
    """

    name: str
    version: str
    dimensions: int
    digest: str | None = None


class Embedder(Protocol):
    """Turns texts into vectors; it may be unavailable, and callers then use keywords alone."""

    @property
    @abstractmethod
    def model(self) -> EmbeddingModel:
        """Return the model, without loading it or sending a request."""

    @property
    def unrelated_similarity(self) -> float:
        """Return the similarity of unrelated texts, which is high for some models."""
        return 0.0

    @abstractmethod
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        """Return one vector for each text, in order; long texts are not truncated.

        Equal texts with an equal purpose have equal vectors, up to rounding.

        Raises:
            Unavailable: `embedder.unavailable`; the message names the missing part.
        """

    @abstractmethod
    async def close(self) -> None:
        """Release connections and memory; closing twice is allowed."""


class Reranker(Protocol):
    """Scores how well texts answer a question; it may be unavailable at any time."""

    @abstractmethod
    async def score_texts(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a score for each text in order; a higher score is a better answer.

        Only the order of the scores has a meaning.

        Raises:
            Unavailable: `reranker.unavailable`; callers keep the passages' order.
        """

    @abstractmethod
    async def close(self) -> None:
        """Release connections and memory; closing twice is allowed."""


# The vectors port: find passages by similar meaning, as suggestions without authority.
#
# It is rebuilt from the records at any time, loses no data, and no write waits for it.


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorEntry:
    """The vector of a passage, or of one part of a long one, with its filters.

    `digest` is opaque here: the caller derives it from the embedded text.
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
    """An atomic update of the vectors of one model, and the log cursor after it.

    The entries of an id replace all earlier ones; a removed id has none. `cursor` is opaque here.
    `follows` is the expected current cursor, empty for a new model; None accepts any.
    """

    model: EmbeddingModel
    entries: Sequence[VectorEntry] = ()
    removed: Sequence[str] = ()
    cursor: str
    follows: str | None = None


def numbers_of(vector: Vector) -> tuple[float, ...]:
    """Return the numbers of a vector."""
    return struct.unpack(f"<{len(vector) // NUMBER_BYTES}f", vector)


def require_sizes(batch: VectorBatch) -> None:
    """Refuse a batch with a vector that does not have the model's size.

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

    `entities` selects passages that name any of them; `without_scene` excludes one scene.
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
    """A found passage; `similarity` is the inner product, between -1 and 1.

    Beyond a few dozen hits it may be off by some thousandths, which can change the order. It is a
    tuple, because hundreds are made for each query.
    """

    id: str
    part: int
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorStatus:
    """A model's number of vectors, its log cursor, and the vectors not yet compacted."""

    model: EmbeddingModel
    count: int
    cursor: str
    waiting: int


class Vectors(Protocol):
    """The vector index; `vectors:*` in `canonry.testing.conformance` specifies it.

    Each method may raise Unavailable: `vectors.unavailable`, or `vectors.corrupt`. Callers continue
    with keywords and report it; `drop` repairs a corrupt index, which is then rebuilt.
    """

    @abstractmethod
    async def apply(self, batch: VectorBatch) -> None:
        """Store a batch; the next search of any process finds it.

        Raises:
            BrokenInvariant: `vectors.wrong-size`, a vector does not have the model's size.
            Unavailable: `vectors.moved`, another process dropped or updated the index; nothing was
                stored.
        """

    @abstractmethod
    async def search(self, query: VectorQuery) -> Sequence[VectorHit]:
        """Return the nearest passages first, ties by id and part; none for an unknown model."""

    @abstractmethod
    async def status(self) -> Sequence[VectorStatus]:
        """Return the status of each model, in the order of their first batches."""

    @abstractmethod
    async def cursors(self) -> Mapping[EmbeddingModel, str]:
        """Return the cursor of each model in order of their first batches; this is cheap."""

    @abstractmethod
    async def vector_digests(
        self, model: EmbeddingModel, ids: Sequence[str]
    ) -> Mapping[str, Sequence[bytes]]:
        """Return the digests of each passage's vectors, part by part; unknown ids are absent."""

    @abstractmethod
    async def passages_about(
        self, model: EmbeddingModel, entity: str, *, after: str = "", limit: int
    ) -> Sequence[str]:
        """Return the ids of passages about an entity, in order, after `after`."""

    @abstractmethod
    async def remove(self, ids: Sequence[str]) -> None:
        """Remove passages from the index of every model; the cursors stay."""

    @abstractmethod
    async def purge(self) -> None:
        """Delete all bytes of removed and replaced entries from files, for an erasure.

        Raises:
            Unavailable: `vectors.unfinished`, another process kept a file in use for too long: no
                search finds the removed entries, and another purge deletes their traces.
        """

    @abstractmethod
    async def compact_updates(self, model: EmbeddingModel) -> bool:
        """Compact recent updates for fast search if due; call it often while indexing.

        Return whether work was done; one of several processes does it, and the others do not wait.
        """

    @abstractmethod
    async def drop(self, model: EmbeddingModel | None = None) -> None:
        """Delete a model and its vectors; without a model, delete everything, even if corrupt."""

    @abstractmethod
    async def close(self) -> None:
        """Close files; closing twice is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextQuery:
    """Passages of one collection that share words with `text`, which may have any characters.

    `entities` selects passages that name any of them; `without_scene` excludes one scene. Times in
    the text count only if the caller set it as a `question`.
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
        """Return whether the filters select a passage or its vector, whatever its words."""
        return (
            passage.collection is self.collection
            and (self.spaces is None or passage.space in self.spaces)
            and (not self.entities or not self.entities.isdisjoint(passage.entities))
            and self.source_id in {None, passage.source_id}
            and (self.without_scene is None or passage.scene_id != self.without_scene)
        )


class Hit(NamedTuple):
    """A found passage: its item's id, its position, and the entities that it names.

    `score` is in (0, 1], higher is better; `shares` has the matching query terms with their scores.
    The text is not included, because hundreds of hits are ranked and few are shown. For the same
    reason it is a tuple.
    """

    id: str
    score: float
    shares: Mapping[str, float]
    scene_id: str | None
    turn_index: int | None
    entities: tuple[str, ...]

    @classmethod
    def make_hit(cls, passage: Passage, shares: Mapping[str, float]) -> Self:
        """Make the hit of a passage with these shares of the query's terms."""
        raw = sum(shares.values())
        score = raw / (raw + 1)
        where = passage.scene_id, passage.turn_index
        return cls(passage.id, score, shares, *where, passage.entities)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFound:
    """The passages that share words with a query, and the analysed query."""

    hits: Sequence[Hit]
    asked: Asked

    @classmethod
    def best_hits(cls, hits: Sequence[Hit], scores: Measure, limit: int) -> Self:
        """Return the best of these hits by these scores."""
        best = sorted(hits, key=lambda hit: (-hit.score, hit.id))
        return cls(hits=best[:limit], asked=scores.analyse_query(best[0].shares if best else {}))


def no_keyword_search(cause: str) -> Unavailable:
    """Return the error for a keyword search that does not answer."""
    message = "Keyword search did not answer. Continue without it."
    return Unavailable("text.unavailable", message, cause=cause)


class Text(View, Protocol):
    """Keyword search; `text:*` in `canonry.testing.conformance` specifies it."""

    @abstractmethod
    async def search(self, query: TextQuery) -> TextFound:
        """Return the best passages first, ties by id.

        Raises:
            Unavailable: `text.unavailable`; callers continue without and report it.
        """

    @abstractmethod
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        """Return the statistics of these stems in the collection and spaces of `query`.

        Its text and other filters do not count; a stem without occurrences has no entry.

        Raises:
            Unavailable: `text.unavailable`; callers continue without and report it.
        """

    @abstractmethod
    async def hits_of_items(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        """Return hits without scores for these items' passages that `query` allows, in no order.

        The words of the query do not count: each score is 0, without shares.

        Raises:
            Unavailable: `text.unavailable`; callers look the items up.
        """
