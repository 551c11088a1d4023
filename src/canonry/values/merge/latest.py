"""merge:latest - the observation recorded last stands; log order, since worlds mix their times."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.values.ids import ObservationId
from canonry.values.merge.kit import MergePolicy, latest_of_each
from canonry.values.observations import Elements


def _show(elements: Elements) -> Any:
    return elements[""].value


def _credit(elements: Elements) -> Mapping[str, tuple[ObservationId, ...]]:
    return {"": (elements[""].observation,)}


LATEST: Final = MergePolicy(
    name="latest", split=lambda value: {"": value}, join=latest_of_each, show=_show, credit=_credit
)
