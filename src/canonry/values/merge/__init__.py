"""Merge policies: how the observations of a field become one value. One file, one policy."""

from collections.abc import Mapping
from typing import Final

from canonry.values.merge.highest_priority import HIGHEST_PRIORITY
from canonry.values.merge.kit import MergePolicy, PolicyOf, accumulate, join, join_all
from canonry.values.merge.last_write import LAST_WRITE
from canonry.values.merge.latest import LATEST
from canonry.values.merge.merge_array import MERGE_ARRAY
from canonry.values.merge.most_specific import MOST_SPECIFIC
from canonry.values.merge.names import NAMES
from canonry.values.merge.tag_set import TAG_SET

CHOICES: Final[Mapping[str, MergePolicy]] = {
    each.name: each for each in (LAST_WRITE, HIGHEST_PRIORITY, MOST_SPECIFIC, MERGE_ARRAY)
}
"""The policies that a schema may choose for a field, by name; they share their elements."""

__all__ = [
    "CHOICES",
    "HIGHEST_PRIORITY",
    "LAST_WRITE",
    "LATEST",
    "MERGE_ARRAY",
    "MOST_SPECIFIC",
    "NAMES",
    "TAG_SET",
    "MergePolicy",
    "PolicyOf",
    "accumulate",
    "join",
    "join_all",
]
