"""The surroundings of a place, and the quickest route to another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.schemas.world_types import EXIT, HELD_BY, MOVERS, WorldType
from canonry.readmodels.edges import Direction, Reached, Tick, Way, reached_from
from canonry.values.ids import EntityId
from canonry.world.domain.admission.kit import no_passage
from canonry.world.domain.checks import way_of
from canonry.world.usecases.worlds import WorldAt

_GROUP: Final = 16
"""So many places are read in one go: a longer read would have to leave the thread that asks."""
_HELD_MAX: Final = 500
PLACES_MAX: Final = 2_000
"""So many places are looked at, however many a dense world has within reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A way that is taken, and how long it takes in milliseconds."""

    direction: Direction
    to: EntityId
    duration: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRoute:
    """The steps in their order; None: no way leads there. `complete` False: one might, farther."""

    tick: Tick
    start: EntityId
    target: EntityId
    steps: tuple[Step, ...] | None
    complete: bool

    @property
    def duration(self) -> int | None:
        """How long it takes in all."""
        return None if self.steps is None else sum(step.duration for step in self.steps)


@dataclass(slots=True, eq=False)
class _Search:
    then: WorldAt
    held: frozenset[str] | None
    seen: bool
    exits: dict[EntityId, Sequence[Relation]] = field(default_factory=dict)

    async def ways(
        self, place: EntityId, waiting: Sequence[tuple[int, EntityId]]
    ) -> Sequence[Step]:
        """What leads out of a place; those that will be asked for next are read along."""
        if place not in self.exits:
            group = dict.fromkeys([place, *(each for _, each in waiting[:_GROUP])])
            wanted = [each for each in group if each not in self.exits]
            found: dict[EntityId, list[Relation]] = {each: [] for each in wanted}
            for edge in await self.then.edges(EXIT, *wanted, kinds=None):
                found[edge.from_id].append(edge)
            self.exits.update(found)
        return [step for edge in self.exits[place] if (step := self._step(edge)) is not None]

    def _step(self, edge: Relation) -> Step | None:
        way = way_of(edge, self.then.tick)
        if way is None or (self.seen and way.hidden):
            return None
        held = (str(way.requires),) if self.held is None else self.held
        if no_passage(way, way.direction, held) is not None:
            return None
        return Step(direction=way.direction, to=way.to, duration=way.travel_ms)


async def find_route(
    then: WorldAt, origin: str, goal: str, *, mover: str | None = None, seen: bool = False
) -> TimedRoute | None:
    """The quickest route; None: one of the two places, or the mover, is not there.

    With a `mover` it leads only where they can pass, and with `seen` through nothing hidden.
    """
    start, target = then.id_of(origin), then.id_of(goal)
    known = await then.all((start, target), WorldType.LOCATION)
    held: frozenset[str] | None = None
    if mover is not None:
        found = await then.find(then.id_of(mover), *MOVERS)
        if found is None:
            return None
        carried = await then.edges(HELD_BY, found.id, outward=False, limit=_HELD_MAX)
        held = frozenset(edge.from_id for edge in carried)
    if start not in known or target not in known:
        return None
    search = _Search(then=then, held=held, seen=seen)
    came, complete = await _quickest(search, start, target)
    steps = _traced(came, start, target)
    return TimedRoute(tick=then.tick, start=start, target=target, steps=steps, complete=complete)


async def _quickest(
    search: _Search, start: EntityId, target: EntityId
) -> tuple[Mapping[EntityId, tuple[EntityId, Step]], bool]:
    """By which step each place is reached first, until the target is."""
    came: dict[EntityId, tuple[EntityId, Step]] = {}
    best, done = {start: 0}, set[EntityId]()
    waiting: list[tuple[int, EntityId]] = [(0, start)]
    while waiting and len(done) < PLACES_MAX:
        after, place = heappop(waiting)
        if place == target:
            return came, True
        if place in done:
            continue
        done.add(place)
        for step in await search.ways(place, waiting):
            arrival = after + step.duration
            if step.to not in best or arrival < best[step.to]:
                best[step.to] = arrival
                came[step.to] = (place, step)
                heappush(waiting, (arrival, step.to))
    return came, not waiting


def _traced(
    came: Mapping[EntityId, tuple[EntityId, Step]], start: EntityId, target: EntityId
) -> tuple[Step, ...] | None:
    if target != start and target not in came:
        return None
    steps: list[Step] = []
    place = target
    while place != start:
        place, step = came[place]
        steps.append(step)
    return tuple(reversed(steps))


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A place within reach: how many exits away, and the directions that lead there."""

    location: Entity
    path: tuple[Direction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpatialContext:
    """The places around one, the nearest first; `complete` False: there are more than looked at."""

    location: EntityId
    neighbours: Sequence[Neighbour]
    complete: bool


async def get_spatial_context(now: WorldAt, name: str | None, depth: int) -> SpatialContext | None:
    """What lies within `depth` exits of a location, or of the starter; None: there is no such one.

    Ways lead through exits as they are at the tick, also hidden ones; blocked ones lead nowhere.
    """
    start = now.id_of(name)
    if await now.find(start, WorldType.LOCATION) is None:
        return None
    found: dict[EntityId, Reached] = {start: Reached(place=start, path=())}
    ring: Sequence[Reached] = (found[start],)
    for _step in range(depth):
        if not ring or len(found) > PLACES_MAX:
            break
        ways = await _ways(now, [each.place for each in ring])
        ring = [each for each in reached_from(ring, ways) if each.place not in found]
        found |= {each.place: each for each in ring}
    reached = list(found.values())[1 : PLACES_MAX + 1]
    known = await _known(now, [each.place for each in reached])
    return SpatialContext(
        location=start,
        neighbours=[
            Neighbour(location=known[each.place], path=each.path)
            for each in reached
            if each.place in known
        ],
        complete=len(found) <= PLACES_MAX + 1,
    )


async def _ways(now: WorldAt, places: Sequence[EntityId]) -> Sequence[Way]:
    ways: list[Way] = []
    for first in range(0, len(places), _GROUP):
        some = places[first : first + _GROUP]
        ways += await now.canon.places.ways(now.world.space, some, now.at)
    return ways


async def _known(now: WorldAt, places: Sequence[EntityId]) -> Mapping[str, Entity]:
    known: dict[str, Entity] = {}
    for first in range(0, len(places), _GROUP):
        known |= await now.all(places[first : first + _GROUP], WorldType.LOCATION)
    return known
