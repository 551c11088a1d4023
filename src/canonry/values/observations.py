"""Observations, the order in which they win, and snapshots."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, TypeAlias

from canonry.values.audience import EVERYBODY, Audience
from canonry.values.ids import EntityId, ObservationId, RunId, SourceId, SpaceId
from canonry.values.moments import Instant, Moment, StoryPosition, moment_of
from canonry.values.provenance import Authority, Evidence, EvidenceKind

PRIORITY_STRUCTURED: Final = 100
"""The priority of structured records."""

PRIORITY_INTERPRETED: Final = 0
"""The priority of values that an interpreter read from a document."""

PRIORITY_CORRECTION: Final = 1000

_LIKENESS_BYTES: Final = 8

SPECIFICITY_STATED: Final = 1.0
SPECIFICITY_INTERPRETED: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """A value without a field in the schema of its time, and the reason; it is kept as given."""

    value: Any
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """An event at the date in a field, by the schema of its time.

    `policy` is the field's merge policy, which decides whether the date is current.
    """

    event_type: str
    instant: Instant
    policy: str = "last_write"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationDraft:
    """Fields of an entity that were observed together.

    `fields` maps names to values: `name`, `description`, `properties.<key>`; the field `state_tags`
    maps each tag to whether it holds. `observed_at` is the story time, if given, and `place` its
    story position. A correction outranks all ordinary observations.

    An observation read by a schema has the schema's version. Merge policies weigh `priority` and
    `specificity`. `fragments` are values that the schema did not know, and `dates` the events of
    date fields, both by bare field names.
    """

    id: ObservationId
    space: SpaceId
    entity_id: EntityId
    fields: Mapping[str, Any]
    authority: Authority
    confidence: float
    evidence: tuple[Evidence, ...]
    observed_at: Instant | None
    place: StoryPosition | None = None
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
    """An observation in the log; `recorded_at` is the date of its commit."""

    recorded_at: Instant
    position: int
    changed_at: int

    @property
    def moment(self) -> Moment:
        """The moment at which its values begin to hold."""
        return moment_of(self.observed_at, self.place, self.position)

    @property
    def effective_at(self) -> Instant:
        """The instant from which it holds: the story time if known, else the recording date."""
        return self.recorded_at if self.observed_at is None else self.observed_at

    @property
    def seen_at(self) -> Instant:
        """The instant that decides which of two observations is later.

        It is the observation's own if a schema read it, else the log's, because worlds mix their
        times.
        """
        return self.recorded_at if self.schema_version is None else self.effective_at

    @property
    def likeness_key(self) -> str | None:
        """A key of observations of which only the last seen and the last recorded one count.

        They have the same fields with the same weight, so that no merge policy lets another one
        win, and the same name, because every name is kept. None for values whose parts count
        separately: lists and tags.
        """
        for value in self.fields.values():
            if isinstance(value, (list, tuple, dict)):
                return None
        names = (*self.fields, "", *self.fragments)
        weight = (self.correction, self.priority, self.specificity, self.schema_version is None)
        return _hash_likeness((*weight, self.fields.get("name")), names)

    @property
    def source_id(self) -> SourceId | None:
        """The source that it was read from."""
        for cited in self.evidence:
            if cited.kind is EvidenceKind.SOURCE:
                return SourceId(cited.ref)
        return None


@lru_cache(maxsize=1024)  # records of one file have the same fields: bench compare, bulk
def _hash_likeness(weight: tuple[Any, ...], fields: tuple[str, ...]) -> str:
    apart = fields.index("")
    names = (sorted(fields[:apart]), sorted(fields[apart + 1 :]))
    return blake2b(repr((weight, names)).encode(), digest_size=_LIKENESS_BYTES).hexdigest()


# Snapshots: fields folded from observations, each value with its observation.
#
# An accumulator maps field -> element -> `Held`. The field's merge policy defines the elements and
# how two accumulators join. Joining is associative, commutative and idempotent, so that
# observations may arrive in any order, twice, or through a merge of entities.

Rank: TypeAlias = tuple[int, int, float, int, int]
"""(correction, priority, specificity, seen at, position) of an observation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A value that holds until one of a higher rank replaces it.

    `date` is set for a date, with its `source`, and `moment` if the merge policy uses story order.
    """

    value: Any
    rank: Rank
    observation: ObservationId
    date: Dated | None = None
    moment: Moment | None = None
    source: SourceId | None = None

    @property
    def is_correction(self) -> bool:
        """Return whether the value comes from a correction."""
        return self.rank[0] > 0


Elements: TypeAlias = Mapping[str, Held]
Accumulator: TypeAlias = Mapping[str, Elements]


def by_log(held: Held) -> tuple[int, int, str]:
    """Log order: corrections outrank all, then the later recorded one."""
    return held.rank[0], held.rank[4], held.observation


def by_time(held: Held) -> tuple[int, int, int, str]:
    """Time order: corrections outrank all, then the later seen one."""
    return held.rank[0], held.rank[3], held.rank[4], held.observation


def by_priority(held: Held) -> tuple[int, int, int, int, str]:
    """Corrections outrank all, then the higher priority, then time order."""
    return held.rank[0], held.rank[1], held.rank[3], held.rank[4], held.observation


def by_specificity(held: Held) -> tuple[int, float, int, int, int, str]:
    """Corrections outrank all, then the more specific one, then priority."""
    correction, priority, specificity, seen, position = held.rank
    return correction, specificity, priority, seen, position, held.observation


# Winners: the observations of a field that win under at least one merge policy.
#
# They do not depend on the current policy, so that a schema may change its policy without a new
# fold. Usually a single observation wins in every order and is the only element.
#
# The element `""` is the last in time; `priority` and `specific` exist if another observation wins
# in those orders. The items of arrays are elements of their own if they have the highest priority
# present. Corrections are never mixed with others and keep no items.

LAST: Final = ""
PRIORITY: Final = "priority"
SPECIFIC: Final = "specific"
ITEM: Final = "item:"

_ORDERS: Final[Mapping[str, Callable[[Held], Any]]] = {
    PRIORITY: by_priority,
    SPECIFIC: by_specificity,
}
_HASH_BYTES: Final = 12  # 96 bits do not collide by chance


def split_value(value: Any) -> dict[str, Any]:
    """Return the elements of one observed value."""
    if not isinstance(value, list | tuple):
        return {LAST: value}
    return {LAST: value, **{ITEM + _hash_item(item): item for item in value}}


def join_elements(left: Elements, right: Elements) -> Elements:
    """Return the winners of all observations of both, as a new mapping."""
    one, other = left[LAST], right[LAST]
    if one == other and left == right:
        return left
    last = max(one, other, key=by_time)
    best_by_slot: dict[str, Held] = {LAST: last}
    for slot, order in _ORDERS.items():
        best = max(left.get(slot, one), right.get(slot, other), key=order)
        if best != last:
            best_by_slot[slot] = best
    return {**best_by_slot, **_join_items(left, right, best_by_slot.get(PRIORITY, last))}


def pick_winner(elements: Elements, slot: str) -> Held:
    """Return the winner in the order of `slot`."""
    return elements.get(slot) or elements[LAST]


def array_items(elements: Elements) -> tuple[Held, ...]:
    """Return the current items of arrays, the last seen first."""
    found = [(name, held) for name, held in elements.items() if name.startswith(ITEM)]
    found.sort(key=lambda pair: pair[0])
    found.sort(key=lambda pair: by_time(pair[1])[:-1], reverse=True)
    return tuple(held for _, held in found)


def _join_items(left: Elements, right: Elements, leader: Held) -> Elements:
    """Return the items of both with the priority of `leader`, each from its last observation."""
    if len(left) == 1 and len(right) == 1:
        return {}
    kept: dict[str, Held] = {}
    for name, held in (*left.items(), *right.items()):
        if name.startswith(ITEM) and held.rank[:2] == leader.rank[:2]:
            standing = kept.get(name)
            if standing is None or by_time(standing) < by_time(held):
                kept[name] = held
    return {} if leader.is_correction else dict(sorted(kept.items()))


def _hash_item(item: Any) -> str:
    text = json.dumps(item, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=_HASH_BYTES).hexdigest()
