"""Clusters: neighbours gathered around centres, so that a search scans a few of them, not all."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from canonry.adapters.vectors.codes import Codes, Floats, Numbers

ROUNDS: Final = 3
_SAMPLED: Final = 16
_ROWS: Final = 4096


def how_many(rows: int) -> int:
    """The number of clusters for so many rows; finer ones find more in the same time."""
    return max(1, round(6 * math.sqrt(rows)))


def centres_of(codes: Codes, number: int) -> Floats:
    """Centres of unit length found by spherical k-means on an even sample; the same every time."""
    step = max(1, len(codes) // (number * _SAMPLED))
    sample = codes.floats(np.arange(0, len(codes), step))
    centres = sample[np.linspace(0, len(sample) - 1, number).astype(np.int64)].copy()
    for _ in range(ROUNDS):
        nearest = np.concatenate([_nearest(block, centres) for block in _blocks_of(sample)])
        order = np.argsort(nearest, kind="stable")
        groups, starts = np.unique(nearest[order], return_index=True)
        sums = np.add.reduceat(sample[order], starts, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres[groups] = sums / np.where(lengths == 0, 1, lengths)
    return centres


def assigned(codes: Codes, centres: Floats) -> Numbers:
    """The cluster of each row."""
    found = np.empty(len(codes), dtype=np.int64)
    for low in range(0, len(codes), _ROWS):
        rows = slice(low, min(low + _ROWS, len(codes)))
        found[rows] = _nearest(codes.floats(rows), centres)
    return found


def _nearest(vectors: Floats, centres: Floats) -> Numbers:
    nearest: Numbers = np.argmax(vectors @ centres.T, axis=1)
    return nearest


def _blocks_of(sample: Floats) -> Iterator[Floats]:
    for low in range(0, len(sample), _ROWS):
        yield sample[low : low + _ROWS]
