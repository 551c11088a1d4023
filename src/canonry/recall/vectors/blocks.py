"""Blocks of vectors that are compared one by one, and those that no published file has yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Self

import apsw
import numpy as np
from numpy.typing import NDArray

from canonry.recall.vectors import rows
from canonry.recall.vectors.rows import Floats, Numbers

READ_AT_ONCE: Final = 4096
_COMPARED_AT_ONCE: Final = 2048  # other threads may run after each
_BLOCKS: Final = 16

CollectionInSpace = tuple[str, str]
"""A collection and a space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """Numbers of rows with their similarities; `complete` if there are no others."""

    numbers: Numbers
    similarities: Floats
    complete: bool

    @classmethod
    def of(cls, numbers: Numbers, similarities: Floats, limit: int) -> Self:
        """The `limit` highest similarities, in no order."""
        if len(numbers) <= limit:
            return cls(numbers=numbers, similarities=similarities, complete=True)
        chosen = np.argpartition(similarities, -limit)[-limit:]
        return cls(numbers=numbers[chosen], similarities=similarities[chosen], complete=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Vectors with the number of the row and of the place of each."""

    numbers: Numbers
    places: NDArray[np.int32]
    vectors: Floats

    def __len__(self) -> int:
        return len(self.numbers)

    def nearest(
        self, query: Floats, places: Sequence[int], among: Numbers | None, limit: int
    ) -> Nearest:
        """The `limit` nearest at these places, of those with the numbers `among` if given."""
        fits = np.isin(self.places, places)
        if among is not None:
            fits &= np.isin(self.numbers, among)
        found = np.flatnonzero(fits)
        likeness = np.empty(len(found), dtype=np.float32)
        for start in range(0, len(found), _COMPARED_AT_ONCE):
            some = found[start : start + _COMPARED_AT_ONCE]
            first, end = int(some[0]), int(some[-1]) + 1
            # What lies side by side is read where it is; the rest has to be copied together.
            vectors = self.vectors[first : end if end - first == len(some) else 0]
            if len(vectors) != len(some):
                vectors = self.vectors[some]
            # A product of all rows at once would use every core of the machine.
            likeness[start : start + len(some)] = np.vecdot(vectors, query)
        return Nearest.of(self.numbers[found], likeness, limit)


def chosen(
    places: Mapping[CollectionInSpace, int], collection: str, spaces: frozenset[str] | None
) -> Sequence[int]:
    """The numbers of the places of a collection, of all spaces or of some."""
    return [
        number
        for (one, space), number in tuple(places.items())
        if one == collection and (spaces is None or space in spaces)
    ]


class Tail:
    """The vectors of one model after a number, in memory. It only grows."""

    def __init__(self, m: int, after: int, dimensions: int) -> None:
        """Begin after the row with that number."""
        self.after = after
        self._m = m
        self._dimensions = dimensions
        self._read = after
        self.places: dict[CollectionInSpace, int] = {}
        self.blocks: tuple[Block, ...] = ()

    def read_on(self, db: apsw.Connection) -> None:
        """Read the vectors written since the last time; one thread at a time."""
        stream = rows.after(db, self._m, self._read)
        while found := list(islice(stream, READ_AT_ONCE)):
            block = block_of(found, self.places, self._dimensions)
            self.blocks = _joined((*self.blocks, block))
            self._read = found[-1][2]


def block_of(
    found: Sequence[rows.VectorRow], places: dict[CollectionInSpace, int], dimensions: int
) -> Block:
    """The block of rows; a place that is new is given a number."""
    collections, spaces, numbers, vectors = zip(*found, strict=True)
    at = [places.setdefault(one, len(places)) for one in zip(collections, spaces, strict=True)]
    return Block(
        numbers=np.array(numbers, dtype=np.int64),
        places=np.array(at, dtype=np.int32),
        vectors=rows.floats(vectors, dimensions),
    )


def _joined(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The same rows in fewer blocks, if there are many blocks."""
    if len(blocks) < _BLOCKS:
        return tuple(blocks)
    whole = Block(
        numbers=np.concatenate([block.numbers for block in blocks]),
        places=np.concatenate([block.places for block in blocks]),
        vectors=np.concatenate([block.vectors for block in blocks]),
    )
    return (whole,)
