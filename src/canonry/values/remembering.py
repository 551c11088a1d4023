"""Remembering: what was found out about a value that never changes, by the value itself."""

from collections.abc import Callable
from typing import Final, TypeVar

K = TypeVar("K")
R = TypeVar("R")

_MOST: Final = 512
"""So many values are kept; then all are forgotten."""


def remembered(work: Callable[[K], R]) -> Callable[[K], R]:
    """`work`, done once for the very same value while it is remembered; equal ones are others."""
    kept: dict[int, tuple[K, R]] = {}

    def found(value: K) -> R:
        known = kept.get(id(value))
        if known is None or known[0] is not value:
            if len(kept) >= _MOST:
                kept.clear()
            known = kept[id(value)] = (value, work(value))
        return known[1]

    return found
