"""merge:tag-set - each tag holds or not by the change of it that comes last in the stories.

All changes are kept, since an earlier one may come to light later and make no difference.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from canonry.values.ids import ObservationId
from canonry.values.merge.kit import MergePolicy
from canonry.values.moments import Moment, arranged
from canonry.values.observations import Elements, Held
from canonry.values.provenance import remembered

_APART: Final = "@"
_MOMENT: Final = attrgetter("moment")
_RECORDED: Final = attrgetter("moment.recorded")
_CORRECTED: Final = attrgetter("corrected")


@dataclass(frozen=True, slots=True, kw_only=True)
class TagChange:
    """That a tag began to hold, or ceased to."""

    tag: str
    holds: bool
    moment: Moment
    observation: ObservationId
    corrected: bool = False


@remembered  # one verdict asks for the same history a dozen times
def changes_in(elements: Elements) -> Sequence[TagChange]:
    """All changes of tags, in the order of the stories; corrections come after all others."""
    return tuple(in_turn(_changes(elements)))


def in_turn(changes: Iterable[TagChange]) -> list[TagChange]:
    """The changes in the order of the stories; corrections come after all others.

    One that was taken back at its very moment never was, and nor was what took it back.
    """
    told: dict[tuple[object, ...], list[TagChange]] = {}
    for change in sorted(changes, key=_RECORDED):
        place = change.moment.place
        spot = (place.story, place.order, place.scene, place.turn, place.told, place.dated)
        same = told.setdefault((change.tag, change.corrected, change.moment.at, spot), [])
        if same and same[-1].holds is not change.holds:
            same.pop()
        else:
            same.append(change)
    standing = [change for same in told.values() for change in same]
    return sorted(arranged(standing, _MOMENT), key=_CORRECTED)


def _changes(elements: Elements) -> list[TagChange]:
    return [
        TagChange(
            tag=name.rpartition(_APART)[0],
            holds=bool(held.value),
            moment=_moment_of(held),
            observation=held.observation,
            corrected=held.corrected,
        )
        for name, held in elements.items()
    ]


def _moment_of(held: Held) -> Moment:
    if held.moment is None:
        message = "a change of a tag has no moment"
        raise TypeError(message)
    return held.moment


@remembered
def last_of_each(elements: Elements) -> dict[str, TagChange]:
    """The change by which each tag holds now, or does not."""
    return {change.tag: change for change in changes_in(elements)}


def _split(value: Any) -> dict[str, Any]:
    return dict(value)


def _join(left: Elements, right: Elements) -> Elements:
    return dict(sorted({**left, **right}.items()))


@remembered
def _show(elements: Elements) -> tuple[str, ...]:
    last = last_of_each(elements)
    return tuple(sorted([tag for tag, change in last.items() if change.holds]))


def _credit(elements: Elements) -> Mapping[str, tuple[ObservationId, ...]]:
    return {tag: (change.observation,) for tag, change in sorted(last_of_each(elements).items())}


TAG_SET: Final = MergePolicy(
    name="tag_set", split=_split, join=_join, show=_show, credit=_credit, timed=True
)
