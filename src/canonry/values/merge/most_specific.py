"""merge:most-specific - the most specific observation stands, then that of the highest priority."""

from typing import Final

from canonry.values.merge.kit import MergePolicy, by_winner
from canonry.values.observations import SPECIFIC

MOST_SPECIFIC: Final[MergePolicy] = by_winner("most_specific", SPECIFIC)
