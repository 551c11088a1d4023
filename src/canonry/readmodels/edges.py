"""Directions, paths and ticks of a world's map."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NewType

from canonry.log.items.facts import Relation, RelationDraft
from canonry.log.schemas.world_types import EXIT, KIND, WORLD_RELATIONS, Tie
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel

Tick = NewType("Tick", int)
"""Milliseconds of the world's clock."""

_MICROSECONDS: Final = 1_000
TICK_MIN: Final = Tick(-62_135_596_800_000)
TICK_MAX: Final = Tick(253_402_300_799_999)
"""The last millisecond that can be written as a date."""

DAY: Final = 86_400_000
_HOUR: Final = 3_600_000
_HOURS: Final = ((5, 8, "dawn"), (8, 12, "morning"), (12, 17, "afternoon"), (17, 20, "dusk"))


def instant_of(tick: Tick) -> Instant:
    """Return the instant of a tick."""
    return Instant(tick * _MICROSECONDS)


def tick_of(instant: Instant) -> Tick:
    """Return the tick of an instant, rounded down."""
    return Tick(instant // _MICROSECONDS)


def check_tick(value: int, *, path: str) -> Tick:
    """Return `value` as a tick if it can be written as a date.

    Raises:
        InvalidInput: `tick.out-of-range`.
    """
    if not TICK_MIN <= value <= TICK_MAX:
        message = f"{path} must be a tick from {TICK_MIN} to {TICK_MAX}."
        raise InvalidInput("tick.out-of-range", message, path=path)
    return Tick(value)


def time_of_day(tick: Tick) -> str:
    """Return the part of the day at a tick; a day begins at midnight, a multiple of 24 hours."""
    hour = tick % DAY / _HOUR
    return next((name for start, end, name in _HOURS if start <= hour < end), "night")


FOREVER: Final = 2**63 - 1
"""The end of an open interval, as it is compared and stored."""
ALWAYS: Final = -(2**63)
_TIES: Final = frozenset(Tie)


def kind_of(relation: RelationDraft) -> str:
    """Return the kind of an edge by its relation in `world_types`; empty without one."""
    return str(relation.properties.get(KIND, ""))


def tie_of(relation: RelationDraft) -> Tie | None:
    """Return the tie of an edge; None if another writer used the name without a tie."""
    kind = kind_of(relation)
    return Tie(kind) if kind in _TIES else None


def span_of(relation: RelationDraft) -> tuple[int, int] | None:
    """Return the half-open interval in which an edge holds; None: it never held."""
    if relation.rel_type not in WORLD_RELATIONS or relation.level is not CanonLevel.CANON:
        return None
    if relation.ended and relation.until is None:
        return None
    since = ALWAYS if relation.since is None else relation.since
    until = FOREVER if relation.until is None else relation.until
    return (since, until) if since < until else None


def is_recurring(relation: RelationDraft) -> bool:
    """Return whether an edge recurs."""
    return bool(relation.properties.get("every"))


def is_on_at(relation: RelationDraft, tick: Tick) -> bool:
    """Return whether a recurring edge is on at a tick of its interval."""
    if not is_recurring(relation) or relation.since is None:
        return True
    return _ticks_passed(relation, tick) < int(relation.properties["lasting"])


def _ticks_passed(relation: RelationDraft, tick: Tick) -> int:
    """Return the ticks since the current period began."""
    own = relation.properties
    first = own.get("opens")
    begin = tick_of(Instant(relation.since or 0)) if first is None else int(first)
    return (tick - begin) % int(own["every"])


def blocked_at(exit_edge: RelationDraft, tick: Tick) -> str | None:
    """Return the reason why an exit is closed at a tick; None if it is open."""
    own = exit_edge.properties
    if own.get("blocked") or is_on_at(exit_edge, tick):
        return own.get("blocked") or None
    return f"It is shut until tick {tick + int(own['every']) - _ticks_passed(exit_edge, tick)}."


def holds_at(relation: RelationDraft, at: Instant) -> bool:
    """Return whether an edge holds at an instant."""
    span = span_of(relation)
    return span is not None and span[0] <= at < span[1]


class Direction(StrEnum):
    """The direction of an exit, in the order in which exits are listed."""

    NORTH = "north"
    SOUTH = "south"
    EAST = "east"
    WEST = "west"
    NORTHEAST = "northeast"
    NORTHWEST = "northwest"
    SOUTHEAST = "southeast"
    SOUTHWEST = "southwest"
    UP = "up"
    DOWN = "down"
    IN = "in"
    OUT = "out"


_PAIRS: Final = (
    (Direction.NORTH, Direction.SOUTH),
    (Direction.EAST, Direction.WEST),
    (Direction.NORTHEAST, Direction.SOUTHWEST),
    (Direction.NORTHWEST, Direction.SOUTHEAST),
    (Direction.UP, Direction.DOWN),
    (Direction.IN, Direction.OUT),
)
OPPOSITE: Final = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
"""Maps each direction to its opposite."""

DIRECTION_RANK: Final = {direction: rank for rank, direction in enumerate(Direction)}

STEPS: Final = {
    Direction.NORTH: (0, -1),
    Direction.SOUTH: (0, 1),
    Direction.EAST: (1, 0),
    Direction.WEST: (-1, 0),
    Direction.NORTHEAST: (1, -1),
    Direction.NORTHWEST: (-1, -1),
    Direction.SOUTHEAST: (1, 1),
    Direction.SOUTHWEST: (-1, 1),
}
"""Map offsets to the right and down; the other four directions have none."""

_DEFAULT_TRAVEL: Final = {
    Direction.IN: 10_000,
    Direction.OUT: 10_000,
    Direction.UP: 120_000,
    Direction.DOWN: 30_000,
}
_USUAL_TRAVEL: Final = 60_000


def travel_ms(direction: Direction, declared: int | None) -> int:
    """Return the duration of the exit in milliseconds, by default the direction's usual one."""
    return _DEFAULT_TRAVEL.get(direction, _USUAL_TRAVEL) if declared is None else declared


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenExit:
    """An open exit."""

    start: EntityId
    direction: Direction
    end: EntityId


def open_exit_of(relation: Relation) -> OpenExit | None:
    """Return the open exit of a relation; None if it is blocked or has no direction."""
    if relation.rel_type != EXIT or relation.properties.get("blocked"):
        return None
    try:
        direction = Direction(kind_of(relation))
    except ValueError:
        return None
    return OpenExit(start=relation.from_id, direction=direction, end=relation.to_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A location, and the directions of the path to it."""

    location: EntityId
    path: tuple[Direction, ...]


def reached_from(ring: Sequence[Reached], exits: Iterable[OpenExit]) -> Sequence[Reached]:
    """Return the locations one exit beyond `ring`, each once, by the first of the shortest paths.

    Paths of equal length are ordered by their first different direction, in the order of the
    directions. `ring` has this order, and the result keeps it.
    """
    out: dict[EntityId, list[OpenExit]] = {}
    for open_exit in exits:
        out.setdefault(open_exit.start, []).append(open_exit)
    found: dict[EntityId, Reached] = {}
    for each in ring:
        for open_exit in sorted(
            out.get(each.location, ()), key=lambda w: DIRECTION_RANK[w.direction]
        ):
            if open_exit.end not in found:
                found[open_exit.end] = Reached(
                    location=open_exit.end, path=(*each.path, open_exit.direction)
                )
    return list(found.values())
