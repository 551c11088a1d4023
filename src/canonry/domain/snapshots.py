"""Snapshots: fields folded from observations, each value with the observation that it came from.

An accumulator maps field -> element -> `Held`; joining two takes, for each element, the higher
rank. That is associative, commutative and idempotent whatever the merge policy, so observations
may arrive in any order, twice, or through a merge of entities.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from canonry.domain.ids import ObservationId

Rank: TypeAlias = tuple[int, int, int, str]
"""(correction, weight by policy, position, observation): never equal for two observations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A value that stands until something of a higher rank says otherwise."""

    value: Any
    rank: Rank
    observation: ObservationId


Elements: TypeAlias = Mapping[str, Held]
Accumulator: TypeAlias = Mapping[str, Elements]


def join(left: Accumulator, right: Accumulator) -> Accumulator:
    """The accumulator of all observations of both."""
    if not left or not right:
        return left or right
    return {
        name: join_elements(left.get(name, {}), right.get(name, {}))
        for name in sorted(left.keys() | right.keys())
    }


def join_elements(left: Elements, right: Elements) -> Elements:
    """For each element the one of higher rank."""
    merged = dict(left)
    for element, held in right.items():
        standing = merged.get(element)
        if standing is None or standing.rank < held.rank:
            merged[element] = held
    return dict(sorted(merged.items()))


def join_all(parts: Iterable[Accumulator]) -> Accumulator:
    """The accumulator of all observations of all parts."""
    whole: Accumulator = {}
    for part in parts:
        whole = join(whole, part)
    return whole
