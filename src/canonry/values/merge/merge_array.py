"""merge:merge-array - the items of all observations of the highest priority present, each once."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.values.ids import ObservationId
from canonry.values.merge.kit import MergePolicy
from canonry.values.observations import LAST, PRIORITY, Elements, Held, items, join, pick, split


def _show(elements: Elements) -> Any:
    leader = _leader(elements)
    if leader.corrected or not isinstance(leader.value, list | tuple):
        return leader.value
    return [held.value for held in items(elements)]


def _credit(elements: Elements) -> Mapping[str, tuple[ObservationId, ...]]:
    leader = _leader(elements)
    if leader.corrected or not isinstance(leader.value, list | tuple):
        return {"": (leader.observation,)}
    named = (held.observation for held in items(elements))
    return {"": tuple(dict.fromkeys(named)) or (leader.observation,)}


def _leader(elements: Elements) -> Held:
    """What was seen last of the highest priority; a correction says the whole array."""
    last = elements[LAST]
    return last if last.corrected else pick(elements, PRIORITY)


MERGE_ARRAY: Final = MergePolicy(
    name="merge_array", split=split, join=join, show=_show, credit=_credit
)
