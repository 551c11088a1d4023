"""A page of a longer list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

PAGE_MAX = 500
"""The most items that one page holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T_co]):
    """`items` in the order that the query states; `total` counts all matches, not only these."""

    items: Sequence[T_co]
    total: int
