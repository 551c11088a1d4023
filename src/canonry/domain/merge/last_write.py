"""merge:last-write - the observation that was seen last stands, unless a schema says otherwise."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.ids import ObservationId
from canonry.domain.merge.kit import MergePolicy
from canonry.domain.snapshots import Elements
from canonry.domain.winners import LAST, join, pick, split


def _show(elements: Elements) -> Any:
    return pick(elements, LAST).value


def _credit(elements: Elements) -> Mapping[str, tuple[ObservationId, ...]]:
    return {"": (pick(elements, LAST).observation,)}


LAST_WRITE: Final = MergePolicy(
    name="last_write", split=split, join=join, show=_show, credit=_credit
)
