"""Movement: move somebody, hand items on, and find routes and surroundings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import the_made
from canonry.log.folding import relations_key, thing_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import EventDraft, Relation, RelationDraft
from canonry.log.schemas.world_types import EXIT, HELD_BY, HOLDERS, LOCATED_IN, MOVERS, WorldType
from canonry.readmodels.edges import Direction, Reached, Tick, reached_from, tick_of, travel_ms
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import EntityId, RelationId
from canonry.values.observations import ObservationDraft
from canonry.world.domain.admission.schema import no_passage, not_here
from canonry.world.domain.atlas import thing_id_of
from canonry.world.domain.checks import KnownWay, person_of, way_of
from canonry.world.usecases.worlds import BoundWorld, WorldAt, WorldDraft, change_world

CLOCK: Final = "properties.clock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A mover, and either a direction or a teleport target with its reason."""

    mover: str
    direction: Direction | None = None
    teleport_to: str | None = None
    reason: str = ""
    tick: Tick | None = None


async def move_mover(
    canon: Canon, caller: Caller, world: BoundWorld, move: Move
) -> tuple[EventDraft, int | None]:
    """Move the mover at `tick`, or now; a player's own clock advances by what the way takes.

    The event, which involves the mover and both places, and what the mover's clock says then.

    Raises:
        InvalidInput: `move.no-way`, neither or both of direction and destination are given.
        NotFound: `player.unknown` or `location.unknown`.
        Conflict: `exit.unknown`, `exit.blocked`, `exit.needs-item`, `move.nowhere`,
            `move.before-arrival`, `move.stays` or `tick.future`.
    """
    if (move.direction is None) == (move.teleport_to is None):
        message = "Give either `direction` or `teleportTo`, not both."
        raise InvalidInput("move.no-way", message, path="/direction")
    write = partial(write_move, move=move)
    receipt = await change_world(canon, caller, world, write, tick=move.tick)
    seen = receipt.made(ObservationDraft)
    clocks = (each.fields[CLOCK] for each in seen if isinstance(each, ObservationDraft))
    return the_made(receipt, EventDraft), next(clocks, None)


async def write_move(draft: WorldDraft, move: Move) -> None:
    """Write that a mover goes; raises as `move_mover` does."""
    mover_id = thing_id_of(draft.space, move.mover)
    kind = await draft.require(mover_id, *MOVERS)
    mover = await draft.existing(mover_id) if move.teleport_to is None else None
    gone = None if mover is None else not_here(person_of(mover))
    if gone is not None:
        raise Conflict(gone.rule, gone.reason, path="/moverId", conflicts=[mover_id])
    positions = await draft.latest_edges(LOCATED_IN, mover_id, kinds=(*MOVERS, ""))
    if not positions:
        raise Conflict("move.nowhere", "The mover has no known location.", conflicts=[mover_id])
    position = positions[0]  # where they are, also if they come there later than the draft
    if position.since is not None and position.since > draft.at:
        message = "The mover arrived after this tick. Give a later tick."
        raise Conflict("move.before-arrival", message, path="/tick", conflicts=[position.id])
    target, duration = await _target(draft, move, mover_id, position.to_id)
    if target == position.to_id:
        raise Conflict("move.stays", "The mover is already there.", conflicts=[position.id])
    heir = draft.join(LOCATED_IN, mover_id, target, kind=kind)
    draft.end(position, heir=heir, reason=move.reason or "went on")
    if kind is WorldType.PLAYER:
        before = int(await draft.own(mover_id, "clock") or 0)
        draft.observe(mover_id, {CLOCK: max(before, tick_of(draft.at)) + duration}, label="/clock")
    title, actor = ("Player.Move", "player") if kind is WorldType.PLAYER else ("NPC.Move", "npc")
    own = {
        "actor_kind": actor,
        "direction": None if move.direction is None else str(move.direction),
        "teleport": move.teleport_to is not None,
        "duration": duration,
    }
    ends = (mover_id, position.to_id, target)
    draft.happen(f"moved/{mover_id}", title, ends, own, move.reason)


async def _target(
    draft: WorldDraft, move: Move, mover: EntityId, here: EntityId
) -> tuple[EntityId, int]:
    if move.teleport_to is not None:
        target = await draft.named(move.teleport_to, WorldType.LOCATION)
        return target, 0
    direction = Direction(move.direction or "")
    for way in await draft.edges(EXIT, here, kinds=(direction,)):
        draft.reads.add(thing_key(way.id))
        step = way_of(way, tick_of(draft.at))
        needed = None if step is None or step.requires is None else EntityId(step.requires)
        keys = () if needed is None else await draft.edges(HELD_BY, needed)
        held = [str(edge.from_id) for edge in keys if edge.to_id == mover]
        if (refused := no_passage(step, direction, held)) is not None:
            raise Conflict(refused.rule, refused.reason, path="/direction", conflicts=[way.id])
        await draft.require(way.to_id, WorldType.LOCATION)
        return way.to_id, travel_ms(direction, way.properties.get("travel_ms"))
    message = f"No exit leads {direction} from there."
    raise Conflict("exit.unknown", message, path="/direction", conflicts=[here])


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Which item goes to whom; `expected` is who must have it now, where that matters.

    `anywhere` lets it pass between places, for those who may say so.
    """

    item: str
    holder: str
    expected: str | None = None
    anywhere: bool = False
    tick: Tick | None = None


async def transfer_item(
    canon: Canon, caller: Caller, world: BoundWorld, new: Transfer
) -> tuple[EntityId, ...]:
    """Give the item to its new holder: a mover, or the location where it is left.

    The ids of the item, of who had it and of who has it now.

    Raises:
        NotFound: `item.unknown`, or `player.unknown` for a holder.
        Conflict: `item.held-otherwise`, `item.elsewhere`, `item.before-arrival`, `item.nowhere`,
            `move.nowhere` or `tick.future`.
    """
    write = partial(write_transfer, new=new)
    receipt = await change_world(canon, caller, world, write, tick=new.tick)
    return the_made(receipt, EventDraft).involved[:3]


async def write_transfer(draft: WorldDraft, new: Transfer) -> None:
    """Write that an item goes; raises as `transfer_item` does."""
    item = await draft.named(new.item, WorldType.ITEM)
    target = await draft.named(new.holder, *HOLDERS)
    held = await draft.latest_edges(HELD_BY, item)
    if not held:
        raise Conflict("item.nowhere", "The item has no known holder.", conflicts=[item])
    edge = held[0]
    wanted = None if new.expected is None else thing_id_of(draft.space, new.expected)
    if wanted not in {None, edge.to_id} or edge.to_id == target:
        message = "The item has another holder. Look up its current one."
        raise Conflict("item.held-otherwise", message, conflicts=[edge.to_id])
    if edge.since is not None and edge.since > draft.at:
        message = "The item arrived there after this tick. Give a later tick."
        raise Conflict("item.before-arrival", message, path="/tick", conflicts=[edge.id])
    place = await _place_of(draft, edge.to_id)
    if not new.anywhere and place != await _place_of(draft, target):
        message = "The holders are at different locations. Move one of them first."
        raise Conflict("item.elsewhere", message, conflicts=[edge.to_id, target])
    count = int(await draft.own(item, "quantity") or 1)
    stack = await add_to_stack(draft, item, target, count)
    heir = draft.join(HELD_BY, item, target) if stack is None else RelationId(stack.id)
    draft.end(edge, heir=heir, reason="handed on")
    involved = (item, edge.to_id, target, place)
    draft.happen(f"handed/{item}", "Item.Transfer", involved, {"actor_kind": "system"})


async def add_to_stack(
    draft: WorldDraft, item: EntityId, holder: EntityId, count: int
) -> RelationDraft | None:
    """Add so many of an item to a stack of its kind that the holder has; return that one's edge."""

    async def told(one: EntityId) -> list[Any]:
        own = [await draft.own(one, name) for name in ("item_type", "quantity", "key")]
        return [await draft.value(one, "name"), await draft.value(one, "description"), *own]

    *kind, has, key = await told(item)
    draft.reads.add(relations_key(holder))
    # At a tick that is over, the holder had other items than now.
    for edge in () if draft.past else await draft.edges(HELD_BY, holder, outward=False):
        *other, had, its_key = await told(edge.from_id)
        several = int(has or 1) > 1 or int(had or 1) > 1
        is_stack = several or key == item or its_key == edge.from_id
        if edge.from_id != item and other == kind and is_stack:
            draft.observe(edge.from_id, {"properties.quantity": int(had or 1) + count})
            return edge
    return None


async def _place_of(draft: WorldDraft, holder: EntityId) -> EntityId:
    """Return a holder's location at the draft's tick; a location is its own."""
    if await draft.require(holder, *HOLDERS) is WorldType.LOCATION:
        return holder
    for position in await draft.edges(LOCATED_IN, holder, kinds=(*MOVERS, "")):
        return position.to_id
    raise Conflict("move.nowhere", "The holder has no known location.", conflicts=[holder])


_GROUP: Final = 16
"""So many places are read in one go: a longer read would have to leave the thread that asks."""
_HELD_MAX: Final = 500
PLACES_MAX: Final = 2_000
"""So many places are looked at, however many a dense world has within reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRoute:
    """The steps in their order; None: no way leads there. `complete` False: one might, farther."""

    tick: Tick
    start: EntityId
    target: EntityId
    steps: tuple[KnownWay, ...] | None
    complete: bool

    @property
    def duration(self) -> int | None:
        """How long it takes in all."""
        return None if self.steps is None else sum(step.travel_ms for step in self.steps)


@dataclass(slots=True, eq=False)
class _Search:
    then: WorldAt
    held: frozenset[str] | None
    seen: bool
    exits: dict[EntityId, Sequence[Relation]] = field(default_factory=dict)

    async def ways(
        self, place: EntityId, waiting: Sequence[tuple[int, EntityId]]
    ) -> Sequence[KnownWay]:
        """The ways out of a place; those that will be asked for next are read along."""
        if place not in self.exits:
            group = dict.fromkeys([place, *(each for _, each in waiting[:_GROUP])])
            wanted = [each for each in group if each not in self.exits]
            found: dict[EntityId, list[Relation]] = {each: [] for each in wanted}
            for edge in await self.then.edges(EXIT, *wanted, kinds=None):
                found[edge.from_id].append(edge)
            self.exits.update(found)
        return [step for edge in self.exits[place] if (step := self._step(edge)) is not None]

    def _step(self, edge: Relation) -> KnownWay | None:
        way = way_of(edge, self.then.tick)
        if way is None or (self.seen and way.hidden):
            return None
        held = (str(way.requires),) if self.held is None else self.held
        if no_passage(way, way.direction, held) is not None:
            return None
        return way


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
    steps: list[KnownWay] = []
    place = target
    while place != start and place in came:
        place, step = came[place]
        steps.append(step)
    return TimedRoute(
        tick=then.tick,
        start=start,
        target=target,
        steps=tuple(reversed(steps)) if place == start else None,
        complete=complete,
    )


async def _quickest(
    search: _Search, start: EntityId, target: EntityId
) -> tuple[Mapping[EntityId, tuple[EntityId, KnownWay]], bool]:
    """Return the first step to each location until the target is reached."""
    came: dict[EntityId, tuple[EntityId, KnownWay]] = {}
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
            arrival = after + step.travel_ms
            if step.to not in best or arrival < best[step.to]:
                best[step.to] = arrival
                came[step.to] = (place, step)
                heappush(waiting, (arrival, step.to))
    return came, not waiting


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
    """Return the locations within `depth` exits of one; None if it does not exist.

    Hidden exits count; exits that are blocked at the tick do not.
    """
    start = now.id_of(name)
    if await now.find(start, WorldType.LOCATION) is None:
        return None
    found: dict[EntityId, Reached] = {start: Reached(place=start, path=())}
    ring: Sequence[Reached] = (found[start],)
    for _step in range(depth):
        if not ring or len(found) > PLACES_MAX:
            break
        ways = [
            way
            for some in _in_groups(ring)
            for way in await now.canon.places.ways(now.world.space, some, now.at)
        ]
        ring = [each for each in reached_from(ring, ways) if each.place not in found]
        found |= {each.place: each for each in ring}
    reached = list(found.values())[1 : PLACES_MAX + 1]
    known = [await now.all(some, WorldType.LOCATION) for some in _in_groups(reached)]
    things = {name: thing for some in known for name, thing in some.items()}
    return SpatialContext(
        location=start,
        neighbours=[
            Neighbour(location=things[each.place], path=each.path)
            for each in reached
            if each.place in things
        ],
        complete=len(found) <= PLACES_MAX + 1,
    )


def _in_groups(reached: Sequence[Reached]) -> Iterator[Sequence[EntityId]]:
    places = [each.place for each in reached]
    return (places[first : first + _GROUP] for first in range(0, len(places), _GROUP))
