"""Observations, which of several wins, and snapshots."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, TypeAlias

from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import EntityId, ObservationId, RunId, SourceId, SpaceId
from canonry.values.moments import Instant, Moment, StoryPlace, moment_of
from canonry.values.provenance import Authority, Evidence, EvidenceKind

PRIORITY_STRUCTURED: Final = 100
"""Records that somebody handed over as such."""

PRIORITY_INTERPRETED: Final = 0
"""What an interpreter read out of a document."""

PRIORITY_CORRECTION: Final = 1000

_LIKENESS_BYTES: Final = 8
_NESTED: Final = (list, tuple, dict)

SPECIFICITY_STATED: Final = 1.0
SPECIFICITY_INTERPRETED: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """A value that the schema of its time had no place for, and why; it is kept as it came."""

    value: Any
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """What happens at the date that a field says, as the schema of its time put it.

    `policy` is the merge policy of the field, which decides whether the date still stands.
    """

    event_type: str
    instant: Instant
    policy: str = "last_write"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationDraft:
    """Fields seen together.

    `fields` maps a field's name to its value: `name`, `description`, `properties.<key>`; the field
    `state_tags` maps each tag to whether it holds. `observed_at` is the instant in the world's own
    time, where one was given, `place` its place in the stories. A correction outranks every
    observation that is none.

    One that was read by a schema names the schema's version. `priority` and `specificity` are what
    merge policies weigh, `fragments` what the schema did not know (by the bare name of the field),
    `dates` what the entity's date fields say (by the bare name too).
    """

    id: ObservationId
    space: SpaceId
    entity_id: EntityId
    fields: Mapping[str, Any]
    authority: Authority
    confidence: float
    evidence: tuple[Evidence, ...]
    observed_at: Instant | None
    place: StoryPlace | None = None
    correction: bool = False
    priority: int = PRIORITY_STRUCTURED
    specificity: float = SPECIFICITY_STATED
    schema_version: str | None = None
    run_id: RunId | None = None
    fragments: Mapping[str, Fragment] = field(default_factory=dict)
    dates: Mapping[str, Dated] = field(default_factory=dict)
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation(ObservationDraft):
    """An observation in the log; `recorded_at` is the instant of the commit."""

    recorded_at: Instant
    position: int
    changed_at: int

    @property
    def moment(self) -> Moment:
        """When what it says begins to hold."""
        return moment_of(self.observed_at, self.place, self.position)

    @property
    def effective_at(self) -> Instant:
        """When it holds from: the world's time if known, else the time of recording."""
        return self.recorded_at if self.observed_at is None else self.observed_at

    @property
    def seen_at(self) -> Instant:
        """What decides which of two came last.

        Where a schema read it, its own instant; else the log's, because worlds mix their times.
        """
        return self.recorded_at if self.schema_version is None else self.effective_at

    @property
    def likeness(self) -> str | None:
        """Equal for observations of which only the last one seen and the last one told count.

        They say the same fields with the same weight, so that no merge policy lets another of them
        win, and the same name, because every name that was ever told is kept. None where values
        have parts that count for themselves: lists, and tags.
        """
        for value in self.fields.values():
            if isinstance(value, _NESTED):
                return None
        said = (*self.fields, "", *self.fragments)
        weight = (self.correction, self.priority, self.specificity, self.schema_version is None)
        return _likeness((*weight, self.fields.get("name")), said)

    @property
    def source_id(self) -> SourceId | None:
        """The source that it was read from."""
        for cited in self.evidence:
            if cited.kind is EvidenceKind.SOURCE:
                return SourceId(cited.ref)
        return None


@lru_cache(maxsize=1024)
def _likeness(weight: tuple[Any, ...], said: tuple[str, ...]) -> str:
    apart = said.index("")
    names = (sorted(said[:apart]), sorted(said[apart + 1 :]))
    return blake2b(repr((weight, names)).encode(), digest_size=_LIKENESS_BYTES).hexdigest()


# Snapshots: fields folded from observations, each value with the observation that it came from.
#
# An accumulator maps field -> element -> `Held`. What the elements are and how those of two
# accumulators join is for the field's merge policy to say; joining is always associative,
# commutative and idempotent, so that observations may arrive in any order, twice, or through a
# merge of entities.

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


# Winners: the observations of a field that stand under at least one merge policy.
#
# They do not depend on the policy that is asked for, so that a schema may change its policy without
# anything being folded again. Usually one observation wins in every order, and is the only element.
#
# The element `""` is the last in time; `priority` and `specific` are there where another
# observation wins in those orders. The items of arrays are elements of their own, as far as they
# are of the highest priority present; corrections are never mixed with others, so that they keep no
# items.

LAST: Final = ""
PRIORITY: Final = "priority"
SPECIFIC: Final = "specific"
ITEM: Final = "item:"

_ORDERS: Final[Mapping[str, Callable[[Held], Any]]] = {
    PRIORITY: by_priority,
    SPECIFIC: by_specificity,
}
_HASH_BYTES: Final = 12


def split(value: Any) -> dict[str, Any]:
    """The elements of one observed value."""
    if not isinstance(value, list | tuple):
        return {LAST: value}
    return {LAST: value, **{ITEM + _digest(item): item for item in value}}


def join(left: Elements, right: Elements) -> Elements:
    """The winners of all observations of both; the inputs are not changed."""
    one, other = left[LAST], right[LAST]
    if one == other and left == right:
        return left
    last = max(one, other, key=by_time)
    winners: dict[str, Held] = {LAST: last}
    for slot, order in _ORDERS.items():
        best = max(left.get(slot, one), right.get(slot, other), key=order)
        if best != last:
            winners[slot] = best
    return {**winners, **_items(left, right, winners.get(PRIORITY, last))}


def pick(elements: Elements, slot: str) -> Held:
    """The winner in the order of `slot`."""
    return elements.get(slot) or elements[LAST]


def items(elements: Elements) -> tuple[Held, ...]:
    """The items of arrays that stand, those seen last first."""
    found = [(name, held) for name, held in elements.items() if name.startswith(ITEM)]
    found.sort(key=lambda pair: pair[0])
    found.sort(key=lambda pair: by_time(pair[1])[:-1], reverse=True)
    return tuple(held for _, held in found)


def _items(left: Elements, right: Elements, leader: Held) -> Elements:
    """The items of both that are of the priority of `leader`, each by whom said it last."""
    if len(left) == 1 and len(right) == 1:
        return {}
    kept: dict[str, Held] = {}
    for name, held in (*left.items(), *right.items()):
        if name.startswith(ITEM) and held.rank[:2] == leader.rank[:2]:
            standing = kept.get(name)
            if standing is None or by_time(standing) < by_time(held):
                kept[name] = held
    return {} if leader.corrected else dict(sorted(kept.items()))


def _digest(item: Any) -> str:
    text = json.dumps(item, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=_HASH_BYTES).hexdigest()
