"""merge:most-specific - the most specific observation stands, then that of the highest priority."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.ids import ObservationId
from canonry.domain.merge.kit import MergePolicy
from canonry.domain.snapshots import Elements
from canonry.domain.winners import SPECIFIC, join, pick, split


def _show(elements: Elements) -> Any:
    return pick(elements, SPECIFIC).value


def _credit(elements: Elements) -> Mapping[str, tuple[ObservationId, ...]]:
    return {"": (pick(elements, SPECIFIC).observation,)}


MOST_SPECIFIC: Final = MergePolicy(
    name="most_specific", split=split, join=join, show=_show, credit=_credit
)
