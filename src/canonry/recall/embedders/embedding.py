"""Unit vectors, prefixes, and the embedder without a model."""

import json
import math
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, Self

from typing_extensions import override

from canonry.language.texts.stems import terms_of
from canonry.readmodels.ports.vectors import Embedder, EmbeddingModel, Purpose, Vector
from canonry.values.errors import Unavailable


def unit_vector(numbers: Sequence[float]) -> Vector:
    """The vector scaled to length one; one without a direction points along the first axis.

    Raises:
        ValueError: a number is not finite.
    """
    length = math.sqrt(math.fsum(number * number for number in numbers))
    if not math.isfinite(length):
        raise ValueError("not finite")
    if length == 0:
        return struct.pack(f"<{len(numbers)}f", 1.0, *(0.0 for _ in numbers[1:]))
    return struct.pack(f"<{len(numbers)}f", *(number / length for number in numbers))


# The hashing embedder: vectors from the words and letters of a text, without any model.
#
# It knows spelling and nothing of meaning; it stands in where no model is installed.

DIMENSIONS: Final = 384
_GRAM: Final = 3
_GRAM_WEIGHT: Final = 0.4
_KNOWN_FEATURES: Final = 65_536


class HashingEmbedder(Embedder):
    """Adds up a fixed direction for each word and each three letters in a row."""

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        """Make vectors of so many dimensions."""
        self._model = EmbeddingModel(name="hashing", version="1", dimensions=dimensions)

    @property
    @override
    def model(self) -> EmbeddingModel:
        return self._model

    @override
    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Sequence[Vector]:
        return [self._vector(text) for text in texts]

    @override
    async def close(self) -> None:
        return

    def _vector(self, text: str) -> Vector:
        sums = [0.0] * self._model.dimensions
        for (feature, weight), times in Counter(_features(text)).items():
            number = _hashed(feature)
            sign = 1.0 if number & 1 else -1.0
            sums[(number >> 1) % len(sums)] += sign * weight * (1.0 + math.log(times))
        return unit_vector(sums)


def _features(text: str) -> Iterator[tuple[str, float]]:
    for term in terms_of(text):
        yield f"w{term}", 1.0
        framed = f"<{term}>"
        for start in range(len(framed) - _GRAM + 1):
            yield f"g{framed[start : start + _GRAM]}", _GRAM_WEIGHT


@lru_cache(maxsize=_KNOWN_FEATURES)
def _hashed(feature: str) -> int:
    return int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")


def unavailable(message: str, **details: Any) -> Unavailable:
    """The error of every embedder; search goes on with words alone."""
    return Unavailable("embedder.unavailable", message, **details)


# Prefixes: what some models want before a text, to tell a question from what may answer it.
#
# Another prefix makes other vectors, so that a model's version tells its prefixes.

_MARK: Final = " with prefixes "


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefixes:
    """What stands before a question, and before a passage; maybe nothing."""

    query: str = ""
    passage: str = ""

    @classmethod
    def in_version(cls, version: str) -> tuple[str, Self]:
        """The operator's part of a model's version, and the prefixes that it tells."""
        plain, mark, rest = version.partition(_MARK)
        try:
            query, passage = json.loads(rest) if mark else ("", "")
        except ValueError:
            return version, cls()
        return plain, cls(query=str(query), passage=str(passage))

    def versioned(self, version: str) -> str:
        """The version of a model that gets its texts with these prefixes."""
        if self == Prefixes():
            return version
        written = json.dumps([self.query, self.passage], ensure_ascii=False)
        return f"{version}{_MARK}{written}"

    def before(self, purpose: Purpose) -> str:
        """What stands before a text for this purpose."""
        return self.query if purpose is Purpose.QUERY else self.passage
