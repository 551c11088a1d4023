"""What a merge policy is: how a value splits into elements, how they join, and how they show."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from canonry.values import observations as winners
from canonry.values.ids import ObservationId
from canonry.values.observations import Accumulator, Elements, Held, Observation, by_log

PROPERTY: Final = "properties."
FRAGMENT: Final = "fragments."
"""Before the name of a field that the schema did not know, or whose value it could not take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePolicy:
    """`split` gives the elements of an observed value, `show` the inverse for what has won.

    `join` gives the elements of the observations of both; it is associative, commutative and
    idempotent. `credit` names the observations that the shown value comes from, by the part of the
    value (`""`: the whole), each part's newest first. One that is `timed` keeps every element of
    every observation, with its moment.
    """

    name: str
    split: Callable[[Any], Mapping[str, Any]]
    join: Callable[[Elements, Elements], Elements]
    show: Callable[[Elements], Any]
    credit: Callable[[Elements], Mapping[str, tuple[ObservationId, ...]]]
    timed: bool = False


def by_winner(name: str, slot: str) -> MergePolicy:
    """The policy by which the winner in the order of `slot` stands, see `domain.winners`."""
    return MergePolicy(
        name=name,
        split=winners.split,
        join=winners.join,
        show=lambda elements: winners.pick(elements, slot).value,
        credit=lambda elements: {"": (winners.pick(elements, slot).observation,)},
    )


PolicyOf: TypeAlias = Callable[[str], MergePolicy]
"""Gives the merge policy of a field."""


def accumulate(observation: Observation, policy_of: PolicyOf) -> Accumulator:
    """What one observation alone says."""
    rank = (
        int(observation.correction),
        observation.priority,
        observation.specificity,
        observation.seen_at,
        observation.position,
    )
    said = observation.fields
    if observation.fragments:
        said = {**said, **_fragments(observation)}
    dates = {PROPERTY + name: date for name, date in observation.dates.items()}
    source = observation.source_id if dates else None
    found: dict[str, Elements] = {}
    for name in sorted(said):
        date = dates.get(name)
        policy = policy_of(name)
        parts = policy.split(said[name])
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


def _fragments(observation: Observation) -> Mapping[str, Any]:
    return {
        FRAGMENT + name: {"value": fragment.value, "reason": fragment.reason}
        for name, fragment in observation.fragments.items()
    }


def join(left: Accumulator, right: Accumulator, policy_of: PolicyOf) -> Accumulator:
    """The accumulator of all observations of both."""
    if not left or not right:
        return left or right
    joined = {**left, **right}
    for name in left.keys() & right.keys():
        joined[name] = policy_of(name).join(left[name], right[name])
    return dict(sorted(joined.items()))


def join_all(parts: Iterable[Accumulator], policy_of: PolicyOf) -> Accumulator:
    """The accumulator of all observations of all parts."""
    whole: Accumulator = {}
    for part in parts:
        whole = join(whole, part, policy_of)
    return whole


def latest_of_each(left: Elements, right: Elements) -> Elements:
    """For each element the one that the log puts last."""
    merged = dict(left)
    for element, held in right.items():
        standing = merged.get(element)
        if standing is None or by_log(standing) < by_log(held):
            merged[element] = held
    return dict(sorted(merged.items()))
