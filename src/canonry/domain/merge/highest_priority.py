"""merge:highest-priority - of what has the highest priority, the observation seen last stands."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.ids import ObservationId
from canonry.domain.merge.kit import MergePolicy
from canonry.domain.snapshots import Elements
from canonry.domain.winners import PRIORITY, join, pick, split


def _show(elements: Elements) -> Any:
    return pick(elements, PRIORITY).value


def _credit(elements: Elements) -> Mapping[str, tuple[ObservationId, ...]]:
    return {"": (pick(elements, PRIORITY).observation,)}


HIGHEST_PRIORITY: Final = MergePolicy(
    name="highest_priority", split=split, join=join, show=_show, credit=_credit
)
