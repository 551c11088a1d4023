"""Views of a world: routes, changes, characters and events."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Final, TypeVar

from canonry.canon.session.canon import Canon
from canonry.language.texts.stems import terms_of
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Relation
from canonry.log.schemas.world_types import EXIT, HELD_BY, MOVERS, LayerType, WorldType
from canonry.readmodels.edges import Direction, Tick, instant_of, kind_of
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ports.state import EventQuery
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId
from canonry.values.provenance import CanonLevel
from canonry.world.domain.admission.known import no_passage
from canonry.world.domain.checks import Person, person_of, way_of
from canonry.world.domain.merging import thing_id_of
from canonry.world.usecases.contexts import (
    PLACES_MAX,
    LocationContext,
    get_location_context,
    inventory_of,
    location_of,
)
from canonry.world.usecases.worlds import NEARBY_MAX, BoundWorld, WorldAt, world_at

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


EVENTS_MAX: Final = 200
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesBetween:
    """What came and what went at a place after one tick and until another.

    Of the nearby as many are compared as a context tells. `layers` has the text before and after.
    """

    from_tick: Tick
    to_tick: Tick
    exits_opened: Sequence[Relation]
    exits_closed: Sequence[Relation]
    arrived: Sequence[str]
    left: Sequence[str]
    layers: Mapping[LayerType, tuple[str | None, str | None]]
    events: Sequence[Event]
    complete: bool


async def get_changes(
    canon: Canon, world: BoundWorld, location: str | None, start: Tick, end: Tick
) -> ChangesBetween | None:
    """What changed after `start` and until `end`; None: no such location at both of them.

    Raises:
        InvalidInput: `changes.backwards`.
    """
    if end < start:
        message = "toTick comes after fromTick"
        raise InvalidInput("changes.backwards", message, path="/toTick")
    before = await get_location_context(canon, world, location, start)
    after = await get_location_context(canon, world, location, end)
    if before is None or after is None:
        return None
    then = world_at(canon, world, end)
    events = await then.events(after.location.id, EVENTS_MAX)
    since = instant_of(start)
    new = [each for each in events if (each.time_ref or each.created_at) > since]
    was, now = _exits(before), _exits(after)
    here, there = _people(before), _people(after)
    return ChangesBetween(
        from_tick=start,
        to_tick=end,
        exits_opened=[edge for key, edge in now.items() if key not in was],
        exits_closed=[edge for key, edge in was.items() if key not in now],
        arrived=[each for each in there if each not in here],
        left=[each for each in here if each not in there],
        layers=_layers(before, after),
        events=new,
        complete=len(new) < EVENTS_MAX,
    )


def _exits(context: LocationContext) -> Mapping[tuple[str, str, bool], Relation]:
    """Exits by all that decides whether and where they lead."""
    return {
        (kind_of(edge), edge.to_id, bool(edge.properties.get("blocked"))): edge
        for edge in context.exits
    }


def _people(context: LocationContext) -> Sequence[str]:
    return [*(edge.from_id for edge in context.players), *(one.id for one in context.characters)]


def _layers(
    before: LocationContext, after: LocationContext
) -> Mapping[LayerType, tuple[str | None, str | None]]:
    was = {kind: upon.value for kind, upon in before.layers.items()}
    now = {kind: upon.value for kind, upon in after.layers.items()}
    return {
        kind: (was.get(kind), now.get(kind)) for kind in LayerType if was.get(kind) != now.get(kind)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterContext:
    """A player or a character at a tick, and what they took part in lately."""

    tick: Tick
    character: Entity
    location: Entity | None
    inventory: Sequence[Entity]
    status: Person
    events: Sequence[Event]


def status_of(mover: Entity, tick: Tick) -> Person:
    """How a mover is at a tick, with the conditions that hold then."""
    found = person_of(mover)
    return replace(found, conditions=found.conditions_at(tick))


async def get_character_context(
    canon: Canon, world: BoundWorld, name: str, tick: Tick | None
) -> CharacterContext | None:
    """The context of the character or player with this id or key; None: there is no such one."""
    then = world_at(canon, world, tick)
    found = await then.find(then.id_of(name), *MOVERS)
    if found is None:
        return None
    held, _more = await inventory_of(then, found)
    return CharacterContext(
        tick=then.tick,
        character=found,
        location=await location_of(then, found, WorldType(found.entity_type)),
        inventory=held,
        status=status_of(found, then.tick),
        events=await then.events(found.id, NEARBY_MAX),
    )


LOOKED_AT: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsWanted:
    """Events that have all of these; `words` are in their kind or description, each of them."""

    words: str = ""
    event_type: str | None = None
    involved: str | None = None
    start: Tick | None = None
    end: Tick | None = None


async def search_events(
    canon: Canon, world: BoundWorld, wanted: EventsWanted, limit: int
) -> tuple[Sequence[Event], bool]:
    """At most `limit` events, the newest first; and whether all were looked at that there are."""
    entities = frozenset[str]()
    if wanted.involved is not None:
        entities = frozenset((thing_id_of(world.space, wanted.involved),))
    found: list[Event] = []
    left = (await canon.state.events(_query(world, entities, 0, 1))).total
    looked = 0
    while left > 0 and looked < LOOKED_AT:
        size = min(PAGE_MAX, left)
        left -= size
        page = await canon.state.events(_query(world, entities, left, size))
        looked += len(page.items)
        for event in reversed(page.items):
            if _fits(event, wanted):
                found.append(event)
                if len(found) == limit:
                    return found, True
    return found, left <= 0


def _query(world: BoundWorld, entities: Iterable[str], offset: int, limit: int) -> EventQuery:
    return EventQuery(
        spaces=frozenset((world.space,)),
        entities=frozenset(entities),  # type: ignore[arg-type] # ids of a world's things
        level=CanonLevel.CANON,
        offset=offset,
        limit=limit,
    )


def _fits(event: Event, wanted: EventsWanted) -> bool:
    when = event.created_at if event.time_ref is None else event.time_ref
    terms = terms_of(wanted.words)
    said = frozenset(terms_of(f"{event.title} {event.description}")) if terms else frozenset()
    return (
        wanted.event_type in {None, event.title}
        and (wanted.start is None or when >= instant_of(wanted.start))
        and (wanted.end is None or when <= instant_of(wanted.end))
        and said.issuperset(terms)
    )
