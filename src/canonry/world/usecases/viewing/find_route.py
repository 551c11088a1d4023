"""Find a route: the quickest way from one place to another, through the exits of a tick."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.log.items.relations import Relation
from canonry.log.schemas.world_types import EXIT, HELD_BY, MOVERS, WorldType
from canonry.readmodels.directions import Direction
from canonry.readmodels.ticks import Tick
from canonry.values.ids import EntityId
from canonry.world.domain.admission.constraints import no_passage
from canonry.world.domain.standing import way_of
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.get_spatial_context import PLACES_MAX
from canonry.world.usecases.world_at import WorldAt, world_at

_GROUP: Final = 16
_HELD_MAX: Final = 500


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """From where to where; with a `mover` only what they can pass, and `seen` nothing hidden."""

    start: str
    target: str
    mover: str | None = None
    seen: bool = False
    tick: Tick | None = None


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


async def find_route(canon: Canon, world: BoundWorld, journey: Journey) -> TimedRoute | None:
    """The quickest route; None: one of the two places, or the mover, is not there."""
    then = world_at(canon, world, journey.tick)
    start, target = then.id_of(journey.start), then.id_of(journey.target)
    known = await then.all((start, target), WorldType.LOCATION)
    held: frozenset[str] | None = None
    if journey.mover is not None:
        mover = await then.find(then.id_of(journey.mover), *MOVERS)
        if mover is None:
            return None
        carried = await then.edges(HELD_BY, mover.id, outward=False, limit=_HELD_MAX)
        held = frozenset(edge.from_id for edge in carried)
    if start not in known or target not in known:
        return None
    search = _Search(then=then, held=held, seen=journey.seen)
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
