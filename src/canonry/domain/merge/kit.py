"""What a merge policy is: how a value splits into elements, and how elements show as a value."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from canonry.domain.observations import Observation
from canonry.domain.snapshots import Accumulator, Elements, Held


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePolicy:
    """`split` gives the elements of an observed value, `weigh` their rank, `show` the inverse."""

    name: str
    split: Callable[[Any], Mapping[str, Any]]
    weigh: Callable[[Observation], int]
    show: Callable[[Elements], Any]


def accumulate(observation: Observation, policy_of: Callable[[str], MergePolicy]) -> Accumulator:
    """What one observation alone says."""
    return {
        name: _elements(observation, policy_of(name), value)
        for name, value in sorted(observation.fields.items())
    }


def _elements(observation: Observation, policy: MergePolicy, value: Any) -> Elements:
    rank = (
        int(observation.correction),
        policy.weigh(observation),
        observation.position,
        observation.id,
    )
    return {
        element: Held(value=part, rank=rank, observation=observation.id)
        for element, part in sorted(policy.split(value).items())
    }
