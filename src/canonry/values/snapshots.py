"""Snapshots: fields folded from observations, each value with the observation that it came from.

An accumulator maps field -> element -> `Held`. What the elements are and how those of two
accumulators join is for the field's merge policy to say; joining is always associative,
commutative and idempotent, so that observations may arrive in any order, twice, or through a
merge of entities.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from canonry.values.ids import ObservationId, SourceId
from canonry.values.moments import Moment
from canonry.values.observations import Dated

Rank: TypeAlias = tuple[int, int, float, int, int]
"""(correction, priority, specificity, seen at, position) of an observation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A value that stands until something of a higher rank says otherwise.

    `date` is there where the value is one, with the `source` that said it, and `moment` where the
    merge policy goes by the order of the stories.
    """

    value: Any
    rank: Rank
    observation: ObservationId
    date: Dated | None = None
    moment: Moment | None = None
    source: SourceId | None = None

    @property
    def corrected(self) -> bool:
        """Whether a correction said it."""
        return self.rank[0] > 0


Elements: TypeAlias = Mapping[str, Held]
Accumulator: TypeAlias = Mapping[str, Elements]


def by_log(held: Held) -> tuple[int, int, str]:
    """The order of the log: corrections before all, then what was recorded later."""
    return held.rank[0], held.rank[4], held.observation


def by_time(held: Held) -> tuple[int, int, int, str]:
    """The order of time: corrections before all, then what was seen later."""
    return held.rank[0], held.rank[3], held.rank[4], held.observation


def by_priority(held: Held) -> tuple[int, int, int, int, str]:
    """Corrections before all, then what has the higher priority, then the order of time."""
    return held.rank[0], held.rank[1], held.rank[3], held.rank[4], held.observation


def by_specificity(held: Held) -> tuple[int, float, int, int, int, str]:
    """Corrections before all, then what is more specific, then the order of priority."""
    correction, priority, specificity, seen, position = held.rank
    return correction, specificity, priority, seen, position, held.observation
