"""merge:tag-set - each tag holds or not by the observation that spoke of it last."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.ids import ObservationId
from canonry.domain.merge.kit import MergePolicy, latest_of_each
from canonry.domain.snapshots import Elements


def _split(value: Any) -> dict[str, Any]:
    return dict(value)


def _show(elements: Elements) -> tuple[str, ...]:
    return tuple(sorted(tag for tag, held in elements.items() if held.value))


def _credit(elements: Elements) -> Mapping[str, tuple[ObservationId, ...]]:
    return {tag: (held.observation,) for tag, held in elements.items()}


TAG_SET: Final = MergePolicy(
    name="tag_set", split=_split, join=latest_of_each, show=_show, credit=_credit
)
