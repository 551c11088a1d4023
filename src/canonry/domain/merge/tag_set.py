"""merge:tag-set - each tag holds or not by the observation that spoke of it last."""

from typing import Any, Final

from canonry.domain.merge.kit import MergePolicy
from canonry.domain.observations import Observation
from canonry.domain.snapshots import Elements


def _split(value: Any) -> dict[str, Any]:
    return dict(value)


def _weigh(observation: Observation) -> int:
    del observation
    return 0


def _show(elements: Elements) -> tuple[str, ...]:
    return tuple(sorted(tag for tag, held in elements.items() if held.value))


TAG_SET: Final = MergePolicy(name="tag_set", split=_split, weigh=_weigh, show=_show)
