"""merge:names - the name told last stands; every name that was ever told is kept beside it."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.values.ids import ObservationId
from canonry.values.merge.kit import MergePolicy, latest_of_each
from canonry.values.observations import Elements, Held, by_log
from canonry.values.provenance import remembered


@remembered
def told_names(elements: Elements) -> tuple[str, ...]:
    """All names, the one told last first."""
    if len(elements) == 1:
        return tuple([str(held.value) for held in elements.values()])
    told = sorted(elements.values(), key=by_log, reverse=True)
    return tuple(str(held.value) for held in told)


def _last(elements: Elements) -> Held:
    return max(elements.values(), key=by_log)


def _split(value: Any) -> dict[str, Any]:
    return {str(value): value}


def _show(elements: Elements) -> Any:
    return _last(elements).value


def _credit(elements: Elements) -> Mapping[str, tuple[ObservationId, ...]]:
    return {"": (_last(elements).observation,)}


NAMES: Final = MergePolicy(
    name="names", split=_split, join=latest_of_each, show=_show, credit=_credit
)
