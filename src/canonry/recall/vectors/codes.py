"""Codes: vectors in one byte a dimension with a scale each, small enough to scan by thousands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

_PEAK: Final = 127.0
_BLOCK: Final = 512  # so many rows as floats stay within a core's own cache
_NONE: Final[Floats] = np.empty(0, dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Codes:
    """Rows of `values` (rows by dimensions) times `scales` are the vectors."""

    values: NDArray[np.int8]
    scales: Floats

    def __len__(self) -> int:
        return len(self.scales)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts, one part after the other."""
        return cls(
            values=np.concatenate([part.values for part in parts]),
            scales=np.concatenate([part.scales for part in parts]),
        )

    def floats(self, rows: Any) -> Floats:
        """The vectors of some rows, as exactly as their codes say."""
        scaled: Floats = self.values[rows].astype(np.float32) * self.scales[rows][:, None]
        return scaled

    def similarities(self, query: Floats, start: int, end: int) -> Floats:
        """The similarity to the query of each row from `start` up to `end`."""
        parts = [_products(self.values[rows], query) for rows in _blocks(start, end)]
        return np.concatenate(parts) * self.scales[start:end] if parts else _NONE

    def similarities_at(self, query: Floats, rows: Numbers) -> Floats:
        """The similarity to the query of each of these rows."""
        parts = [_products(self.values[rows[some]], query) for some in _blocks(0, len(rows))]
        return np.concatenate(parts) * self.scales[rows] if parts else _NONE


def encoded(vectors: Floats) -> Codes:
    """The codes of vectors."""
    scales = (np.abs(vectors).max(axis=1, initial=0.0) / _PEAK).astype(np.float32)
    scales[scales == 0] = 1.0
    return Codes(values=np.rint(vectors / scales[:, None]).astype(np.int8), scales=scales)


def best(similarities: Floats, limit: int) -> Numbers:
    """The positions of the `limit` highest similarities, in no order."""
    if len(similarities) <= limit:
        return np.arange(len(similarities), dtype=np.int64)
    chosen: Numbers = np.argpartition(similarities, -limit)[-limit:]
    return chosen


def _products(values: NDArray[np.int8], query: Floats) -> Floats:
    """Inner products row by row: one product of all rows would use every core of the machine."""
    products: Floats = np.vecdot(values.astype(np.float32), query)
    return products


def _blocks(start: int, end: int) -> Iterator[slice]:
    for low in range(start, end, _BLOCK):
        yield slice(low, min(low + _BLOCK, end))
