"""merge:highest-priority - of what has the highest priority, the observation seen last stands."""

from typing import Final

from canonry.values.merge.kit import MergePolicy, by_winner
from canonry.values.observations import PRIORITY

HIGHEST_PRIORITY: Final[MergePolicy] = by_winner("highest_priority", PRIORITY)
