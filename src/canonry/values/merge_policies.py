"""Merge policies: how a field's observations become one value."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, TypeAlias

from canonry.values import observations as winners
from canonry.values.ids import ObservationId
from canonry.values.moments import Moment, sort_by_story
from canonry.values.observations import (
    LAST,
    PRIORITY,
    SPECIFIC,
    Accumulator,
    Elements,
    Held,
    Observation,
    array_items,
    by_log,
    pick_winner,
)
from canonry.values.provenance import cache_by_identity

PROPERTY: Final = "properties."
FRAGMENT: Final = "fragments."
"""The prefix of fields that the schema did not know or whose value it rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePolicy:
    """`split` returns the elements of an observed value, `show` the value of the winners.

    `join` combines the elements of two sets of observations; it is associative, commutative and
    idempotent. `credit` maps parts of the shown value (`""`: the whole) to the observations that
    they come from, newest first. A `timed` policy keeps every element of every observation, with
    its moment.
    """

    name: str
    split: Callable[[Any], Mapping[str, Any]]
    join: Callable[[Elements, Elements], Elements]
    show: Callable[[Elements], Any]
    credit: Callable[[Elements], Mapping[str, tuple[ObservationId, ...]]]
    timed: bool = False


def winner_policy(name: str, slot: str) -> MergePolicy:
    """Return the policy that shows the winner in the order of `slot`; see Winners."""
    return MergePolicy(
        name=name,
        split=winners.split_value,
        join=winners.join_elements,
        show=lambda elements: winners.pick_winner(elements, slot).value,
        credit=lambda elements: {"": (winners.pick_winner(elements, slot).observation,)},
    )


PolicyOf: TypeAlias = Callable[[str], MergePolicy]
"""Returns the merge policy of a field."""


def accumulator_of(observation: Observation, policy_of: PolicyOf) -> Accumulator:
    """Return the accumulator of a single observation."""
    rank = (
        int(observation.correction),
        observation.priority,
        observation.specificity,
        observation.seen_at,
        observation.position,
    )
    values = observation.fields
    if observation.fragments:
        unread = observation.fragments.items()
        given = {FRAGMENT + n: {"value": e.value, "reason": e.reason} for n, e in unread}
        values = {**values, **given}
    dates = {PROPERTY + name: date for name, date in observation.dates.items()}
    source = observation.source_id if dates else None
    found: dict[str, Elements] = {}
    for name in sorted(values):
        date = dates.get(name)
        policy = policy_of(name)
        parts = policy.split(values[name])
        own, moment = ("", None) if not policy.timed else (f"@{observation.id}", observation.moment)
        found[name] = {
            element + own: Held(
                value=parts[element],
                rank=rank,
                observation=observation.id,
                date=date,
                moment=moment,
                source=None if date is None else source,
            )
            for element in (parts if len(parts) == 1 else sorted(parts))
        }
    return found


def join_accumulators(left: Accumulator, right: Accumulator, policy_of: PolicyOf) -> Accumulator:
    """Return the accumulator of all observations of both."""
    if not left or not right:
        return left or right
    joined = {**left, **right}
    for name in left.keys() & right.keys():
        joined[name] = policy_of(name).join(left[name], right[name])
    return dict(sorted(joined.items()))


def join_all(parts: Iterable[Accumulator], policy_of: PolicyOf) -> Accumulator:
    """Return the accumulator of all observations of all parts."""
    whole: Accumulator = {}
    for part in parts:
        whole = join_accumulators(whole, part, policy_of)
    return whole


def latest_of_each(left: Elements, right: Elements) -> Elements:
    """Keep the last of each element in log order."""
    merged = dict(left)
    for element, held in right.items():
        standing = merged.get(element)
        if standing is None or by_log(standing) < by_log(held):
            merged[element] = held
    return dict(sorted(merged.items()))


LAST_WRITE: Final[MergePolicy] = winner_policy("last_write", LAST)
"""The observation seen last wins, unless a schema sets another policy."""

HIGHEST_PRIORITY: Final[MergePolicy] = winner_policy("highest_priority", PRIORITY)
"""The highest priority wins, then the observation seen last."""

MOST_SPECIFIC: Final[MergePolicy] = winner_policy("most_specific", SPECIFIC)
"""The most specific observation wins, then the highest priority."""

LATEST: Final = MergePolicy(
    name="latest",
    split=lambda value: {"": value},
    join=latest_of_each,
    show=lambda elements: elements[""].value,
    credit=lambda elements: {"": (elements[""].observation,)},
)
"""The observation recorded last wins. It uses log order, since worlds mix their times."""


def _array_value(elements: Elements) -> Any:
    leader = _array_leader(elements)
    if leader.is_correction or not isinstance(leader.value, list | tuple):
        return leader.value
    return [held.value for held in array_items(elements)]


def _array_credit(elements: Elements) -> Mapping[str, tuple[ObservationId, ...]]:
    leader = _array_leader(elements)
    if leader.is_correction or not isinstance(leader.value, list | tuple):
        return {"": (leader.observation,)}
    named = (held.observation for held in array_items(elements))
    return {"": tuple(dict.fromkeys(named)) or (leader.observation,)}


def _array_leader(elements: Elements) -> Held:
    """Return the last observation of the highest priority; a correction replaces them all."""
    last = elements[LAST]
    return last if last.is_correction else pick_winner(elements, PRIORITY)


MERGE_ARRAY: Final = MergePolicy(
    name="merge_array",
    split=winners.split_value,
    join=winners.join_elements,
    show=_array_value,
    credit=_array_credit,
)
"""The items of all observations of the highest priority present, each once."""


def _last_element(elements: Elements) -> Held:
    return max(elements.values(), key=by_log)


NAMES: Final = MergePolicy(
    name="names",
    split=lambda value: {str(value): value},
    join=latest_of_each,
    show=lambda elements: _last_element(elements).value,
    credit=lambda elements: {"": (_last_element(elements).observation,)},
)
"""The newest name wins; all others are kept as aliases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TagChange:
    """The start or end of a tag."""

    tag: str
    holds: bool
    moment: Moment
    observation: ObservationId
    corrected: bool = False


@cache_by_identity  # one verdict asks for the same history a dozen times
def changes_in(elements: Elements) -> Sequence[TagChange]:
    """Return all changes of tags in story order, corrections last."""
    return tuple(order_changes(_list_changes(elements)))


def order_changes(changes: Iterable[TagChange]) -> list[TagChange]:
    """Sort changes in story order, corrections last.

    A change and its reversal at the very same moment cancel each other.
    """
    groups: dict[tuple[object, ...], list[TagChange]] = {}
    for change in sorted(changes, key=attrgetter("moment.recorded")):
        position = change.moment.position
        spot = (
            position.story,
            position.order,
            position.scene,
            position.turn,
            position.told,
            position.dated,
        )
        same = groups.setdefault((change.tag, change.corrected, change.moment.at, spot), [])
        if same and same[-1].holds is not change.holds:
            same.pop()
        else:
            same.append(change)
    standing = [change for same in groups.values() for change in same]
    return sorted(sort_by_story(standing, attrgetter("moment")), key=attrgetter("corrected"))


def _list_changes(elements: Elements) -> list[TagChange]:
    return [
        TagChange(
            tag=name.rpartition("@")[0],
            holds=bool(held.value),
            moment=_moment_of(held),
            observation=held.observation,
            corrected=held.is_correction,
        )
        for name, held in elements.items()
    ]


def _moment_of(held: Held) -> Moment:
    if held.moment is None:
        message = "A tag change has no moment."
        raise TypeError(message)
    return held.moment


@cache_by_identity
def last_of_each(elements: Elements) -> dict[str, TagChange]:
    """Return the last change of each tag, which decides whether it holds."""
    return {change.tag: change for change in changes_in(elements)}


@cache_by_identity
def _current_tags(elements: Elements) -> tuple[str, ...]:
    last = last_of_each(elements)
    return tuple(sorted([tag for tag, change in last.items() if change.holds]))


TAG_SET: Final = MergePolicy(
    name="tag_set",
    split=dict,
    join=lambda left, right: dict(sorted({**left, **right}.items())),
    show=_current_tags,
    credit=lambda tags: {tag: (c.observation,) for tag, c in sorted(last_of_each(tags).items())},
    timed=True,
)
"""Each tag's last change in story order decides whether it holds.

All changes are kept, because an earlier one may be recorded later and must not win.
"""

CHOICES: Final[Mapping[str, MergePolicy]] = {
    each.name: each for each in (LAST_WRITE, HIGHEST_PRIORITY, MOST_SPECIFIC, MERGE_ARRAY)
}
"""The policies that a schema may choose for a field; they share their elements."""
