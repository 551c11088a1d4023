"""Merge policies: how the observations of a field become one value. One file, one policy."""

from canonry.domain.merge.kit import MergePolicy, accumulate
from canonry.domain.merge.latest import LATEST
from canonry.domain.merge.tag_set import TAG_SET

__all__ = ["LATEST", "TAG_SET", "MergePolicy", "accumulate"]
