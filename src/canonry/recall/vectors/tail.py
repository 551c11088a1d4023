"""The tail: vectors that are not yet in the published index, kept in memory and scanned whole."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import apsw
import numpy as np
from numpy.typing import NDArray

from canonry.recall.vectors import rows
from canonry.recall.vectors.codes import Codes, Floats, Numbers, best, encoded
from canonry.recall.vectors.published import Nearest

_READ_AT_ONCE: Final = 4096
_CHUNKS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chunk:
    numbers: Numbers
    places: NDArray[np.int64]
    codes: Codes


class Tail:
    """The vectors of one model after a number. It only grows: callers check that rows exist."""

    def __init__(self, m: int, after: int, dimensions: int) -> None:
        """Begin after the row with that number."""
        self.after = after
        self._m = m
        self._dimensions = dimensions
        self._read = after
        self._places: dict[tuple[str, str], int] = {}
        self._chunks: tuple[_Chunk, ...] = ()

    def __len__(self) -> int:
        return sum(len(chunk.codes) for chunk in self._chunks)

    def read_on(self, db: apsw.Connection) -> None:
        """Read the vectors written since the last time; one thread at a time."""
        stream = rows.after(db, self._m, self._read)
        while block := list(islice(stream, _READ_AT_ONCE)):
            place = self._places
            collections, spaces, numbers, vectors = zip(*block, strict=True)
            places = [
                place.setdefault(one, len(place)) for one in zip(collections, spaces, strict=True)
            ]
            chunk = _Chunk(
                numbers=np.array(numbers, dtype=np.int64),
                places=np.array(places, dtype=np.int64),
                codes=encoded(rows.floats(vectors, self._dimensions)),
            )
            self._chunks = _joined((*self._chunks, chunk))
            self._read = numbers[-1]

    def nearest(
        self,
        query: Floats,
        collection: str,
        spaces: frozenset[str] | None,
        *,
        limit: int,
        among: Numbers | None = None,
    ) -> Nearest:
        """The `limit` nearest rows, of those with the numbers in `among` if it is given."""
        places = [
            number
            for (one, space), number in tuple(self._places.items())
            if one == collection and (spaces is None or space in spaces)
        ]
        numbers: list[Numbers] = [np.empty(0, dtype=np.int64)]
        similarities: list[Floats] = [np.empty(0, dtype=np.float32)]
        for chunk in self._chunks if places else ():
            fits = np.isin(chunk.places, places)
            if among is not None:
                fits &= np.isin(chunk.numbers, among)
            found = np.flatnonzero(fits)
            numbers.append(chunk.numbers[found])
            similarities.append(chunk.codes.similarities_at(query, found))
        joined, likeness = np.concatenate(numbers), np.concatenate(similarities)
        chosen = best(likeness, limit)
        return Nearest(
            numbers=joined[chosen],
            similarities=likeness[chosen],
            complete=len(joined) <= limit,
        )


def _joined(chunks: Sequence[_Chunk]) -> tuple[_Chunk, ...]:
    """The same rows in fewer chunks, if there are many chunks."""
    if len(chunks) < _CHUNKS:
        return tuple(chunks)
    whole = _Chunk(
        numbers=np.concatenate([chunk.numbers for chunk in chunks]),
        places=np.concatenate([chunk.places for chunk in chunks]),
        codes=Codes.joined([chunk.codes for chunk in chunks]),
    )
    return (whole,)
