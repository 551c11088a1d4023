"""merge:last-write - the observation that was seen last stands, unless a schema says otherwise."""

from typing import Final

from canonry.values.merge.kit import MergePolicy, by_winner
from canonry.values.observations import LAST

LAST_WRITE: Final[MergePolicy] = by_winner("last_write", LAST)
