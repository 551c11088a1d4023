"""The embedder port: texts become vectors whose nearness stands for likeness of meaning."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias

Vector: TypeAlias = bytes
"""A vector of length one: little-endian 32-bit floats, four bytes for each dimension.

The likeness of two of them is their inner product, between -1 and 1.
"""


class Purpose(StrEnum):
    """What a text is embedded for; some models tell a question from what may answer it."""

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
