"""merge:latest - the observation recorded last stands; log order, since worlds mix their times."""

from typing import Any, Final

from canonry.domain.merge.kit import MergePolicy
from canonry.domain.observations import Observation
from canonry.domain.snapshots import Elements


def _split(value: Any) -> dict[str, Any]:
    return {"": value}


def _weigh(observation: Observation) -> int:
    del observation  # the position, next in the rank, is all that counts
    return 0


def _show(elements: Elements) -> Any:
    return elements[""].value


LATEST: Final = MergePolicy(name="latest", split=_split, weigh=_weigh, show=_show)
