"""Movement: move somebody, hand items on, and find routes and surroundings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import first_made
from canonry.log.folding import item_key, relations_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import EventDraft, Relation, RelationDraft
from canonry.log.schemas.world_types import EXIT, HELD_BY, HOLDERS, LOCATED_IN, MOVERS, WorldType
from canonry.readmodels.edges import Direction, Reached, Tick, reached_from, tick_of, travel_ms
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import EntityId, RelationId
from canonry.values.observations import ObservationDraft
from canonry.world.domain.admission.schema import reject_absent, reject_passage
from canonry.world.domain.atlas import item_id_of
from canonry.world.domain.checks import KnownExit, known_exit_of, person_of
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
    """Move the mover at `tick`, or now; a player's own clock advances by the travel time.

    Return the event, which involves the mover and both locations, and the mover's new clock.

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
    seen = receipt.drafts_made(ObservationDraft)
    clocks = (each.fields[CLOCK] for each in seen if isinstance(each, ObservationDraft))
    return first_made(receipt, EventDraft), next(clocks, None)


async def write_move(draft: WorldDraft, move: Move) -> None:
    """Write that a mover goes; raises as `move_mover` does."""
    mover_id = item_id_of(draft.space, move.mover)
    kind = await draft.require_type(mover_id, *MOVERS)
    mover = await draft.find_existing(mover_id) if move.teleport_to is None else None
    gone = None if mover is None else reject_absent(person_of(mover))
    if gone is not None:
        raise Conflict(gone.rule, gone.reason, path="/moverId", conflicts=[mover_id])
    positions = await draft.latest_edges(LOCATED_IN, mover_id, kinds=(*MOVERS, ""))
    if not positions:
        raise Conflict("move.nowhere", "The mover has no known location.", conflicts=[mover_id])
    position = positions[0]  # where they are, also if they come there later than the draft
    if position.since is not None and position.since > draft.at:
        message = "The mover arrived after this tick. Give a later tick."
        raise Conflict("move.before-arrival", message, path="/tick", conflicts=[position.id])
    target, duration = await _find_target(draft, move, mover_id, position.to_id)
    if target == position.to_id:
        raise Conflict("move.stays", "The mover is already there.", conflicts=[position.id])
    successor = draft.add_edge(LOCATED_IN, mover_id, target, kind=kind)
    draft.end_edge(position, successor=successor, reason=move.reason or "went on")
    if kind is WorldType.PLAYER:
        before = int(await draft.read_property(mover_id, "clock") or 0)
        draft.observe_item(
            mover_id, {CLOCK: max(before, tick_of(draft.at)) + duration}, label="/clock"
        )
    title, actor = ("Player.Move", "player") if kind is WorldType.PLAYER else ("NPC.Move", "npc")
    own = {
        "actor_kind": actor,
        "direction": None if move.direction is None else str(move.direction),
        "teleport": move.teleport_to is not None,
        "duration": duration,
    }
    ends = (mover_id, position.to_id, target)
    draft.add_event(f"moved/{mover_id}", title, ends, own, move.reason)


async def _find_target(
    draft: WorldDraft, move: Move, mover: EntityId, here: EntityId
) -> tuple[EntityId, int]:
    if move.teleport_to is not None:
        target = await draft.require_id(move.teleport_to, WorldType.LOCATION)
        return target, 0
    direction = Direction(move.direction or "")
    for exit_edge in await draft.edges_of(EXIT, here, kinds=(direction,)):
        draft.reads.add(item_key(exit_edge.id))
        step = known_exit_of(exit_edge, tick_of(draft.at))
        needed = None if step is None or step.requires is None else EntityId(step.requires)
        keys = () if needed is None else await draft.edges_of(HELD_BY, needed)
        held = [str(edge.from_id) for edge in keys if edge.to_id == mover]
        if (refused := reject_passage(step, direction, held)) is not None:
            raise Conflict(
                refused.rule, refused.reason, path="/direction", conflicts=[exit_edge.id]
            )
        await draft.require_type(exit_edge.to_id, WorldType.LOCATION)
        return exit_edge.to_id, travel_ms(direction, exit_edge.properties.get("travel_ms"))
    message = f"No exit leads {direction} from there."
    raise Conflict("exit.unknown", message, path="/direction", conflicts=[here])


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """An item and its new holder; `expected` is the holder that must have it now, if given.

    `anywhere` allows a transfer between locations, for callers with this right.
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
    return first_made(receipt, EventDraft).involved[:3]


async def write_transfer(draft: WorldDraft, new: Transfer) -> None:
    """Write that an item goes; raises as `transfer_item` does."""
    item = await draft.require_id(new.item, WorldType.ITEM)
    target = await draft.require_id(new.holder, *HOLDERS)
    held = await draft.latest_edges(HELD_BY, item)
    if not held:
        raise Conflict("item.nowhere", "The item has no known holder.", conflicts=[item])
    edge = held[0]
    wanted = None if new.expected is None else item_id_of(draft.space, new.expected)
    if wanted not in {None, edge.to_id} or edge.to_id == target:
        message = "The item has another holder. Look up its current one."
        raise Conflict("item.held-otherwise", message, conflicts=[edge.to_id])
    if edge.since is not None and edge.since > draft.at:
        message = "The item arrived there after this tick. Give a later tick."
        raise Conflict("item.before-arrival", message, path="/tick", conflicts=[edge.id])
    location = await _location_of(draft, edge.to_id)
    if not new.anywhere and location != await _location_of(draft, target):
        message = "The holders are at different locations. Move one of them first."
        raise Conflict("item.elsewhere", message, conflicts=[edge.to_id, target])
    count = int(await draft.read_property(item, "quantity") or 1)
    stack = await add_to_stack(draft, item, target, count)
    successor = draft.add_edge(HELD_BY, item, target) if stack is None else RelationId(stack.id)
    draft.end_edge(edge, successor=successor, reason="handed on")
    involved = (item, edge.to_id, target, location)
    draft.add_event(f"handed/{item}", "Item.Transfer", involved, {"actor_kind": "system"})


async def add_to_stack(
    draft: WorldDraft, item: EntityId, holder: EntityId, count: int
) -> RelationDraft | None:
    """Add a number of items to the holder's stack of their kind; return the stack's edge."""

    async def read_stack(one: EntityId) -> list[Any]:
        own = [await draft.read_property(one, name) for name in ("item_type", "quantity", "key")]
        return [*[await draft.read_field(one, name) for name in ("name", "description")], *own]

    *kind, has, key = await read_stack(item)
    draft.reads.add(relations_key(holder))
    # At a tick that is over, the holder had other items than now.
    for edge in () if draft.past else await draft.edges_of(HELD_BY, holder, outward=False):
        *other, had, its_key = await read_stack(edge.from_id)
        several = int(has or 1) > 1 or int(had or 1) > 1
        is_stack = several or key == item or its_key == edge.from_id
        if edge.from_id != item and other == kind and is_stack:
            draft.observe_item(edge.from_id, {"properties.quantity": int(had or 1) + count})
            return edge
    return None


async def _location_of(draft: WorldDraft, holder: EntityId) -> EntityId:
    """Return a holder's location at the draft's tick; a location is its own."""
    if await draft.require_type(holder, *HOLDERS) is WorldType.LOCATION:
        return holder
    for position in await draft.edges_of(LOCATED_IN, holder, kinds=(*MOVERS, "")):
        return position.to_id
    raise Conflict("move.nowhere", "The holder has no known location.", conflicts=[holder])


_GROUP: Final = 16
"""Locations in one read. A longer read would leave the thread of the loop: bench world."""
_HELD_MAX: Final = 500  # keys are searched among the items that a mover holds
LOCATIONS_MAX: Final = 2_000
"""The most locations that a search visits, however many are within reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedRoute:
    """The steps in order, None if no route was found; not `complete` if it was cut short."""

    tick: Tick
    start: EntityId
    target: EntityId
    steps: tuple[KnownExit, ...] | None
    complete: bool

    @property
    def duration(self) -> int | None:
        """The duration of the whole journey."""
        return None if self.steps is None else sum(step.travel_ms for step in self.steps)


@dataclass(slots=True, eq=False)
class _RouteSearch:
    then: WorldAt
    held: frozenset[str] | None
    seen: bool
    exits: dict[EntityId, Sequence[Relation]] = field(default_factory=dict)

    async def open_exits(
        self, location: EntityId, waiting: Sequence[tuple[int, EntityId]]
    ) -> Sequence[KnownExit]:
        """Return the exits of a location; those that will be asked for next are read along."""
        if location not in self.exits:
            group = dict.fromkeys([location, *(each for _, each in waiting[:_GROUP])])
            wanted = [each for each in group if each not in self.exits]
            found: dict[EntityId, list[Relation]] = {each: [] for each in wanted}
            for edge in await self.then.edges_of(EXIT, *wanted, kinds=None):
                found[edge.from_id].append(edge)
            self.exits.update(found)
        return [step for e in self.exits[location] if (step := self._open_exit(e)) is not None]

    def _open_exit(self, edge: Relation) -> KnownExit | None:
        known_exit = known_exit_of(edge, self.then.tick)
        if known_exit is None or (self.seen and known_exit.hidden):
            return None
        held = (str(known_exit.requires),) if self.held is None else self.held
        if reject_passage(known_exit, known_exit.direction, held) is not None:
            return None
        return known_exit


async def find_route(
    then: WorldAt, origin: str, goal: str, *, mover: str | None = None, seen: bool = False
) -> TimedRoute | None:
    """The quickest route; None: one of the two locations, or the mover, does not exist.

    With a `mover` it leads only where they can pass, and with `seen` through nothing hidden.
    """
    start, target = then.id_of(origin), then.id_of(goal)
    known = await then.find_items((start, target), WorldType.LOCATION)
    held: frozenset[str] | None = None
    if mover is not None:
        found = await then.find_item(then.id_of(mover), *MOVERS)
        if found is None:
            return None
        carried = await then.edges_of(HELD_BY, found.id, outward=False, limit=_HELD_MAX)
        held = frozenset(edge.from_id for edge in carried)
    if start not in known or target not in known:
        return None
    search = _RouteSearch(then=then, held=held, seen=seen)
    came, complete = await _find_quickest(search, start, target)
    steps: list[KnownExit] = []
    location = target
    while location != start and location in came:
        location, step = came[location]
        steps.append(step)
    return TimedRoute(
        tick=then.tick,
        start=start,
        target=target,
        steps=tuple(reversed(steps)) if location == start else None,
        complete=complete,
    )


async def _find_quickest(
    search: _RouteSearch, start: EntityId, target: EntityId
) -> tuple[Mapping[EntityId, tuple[EntityId, KnownExit]], bool]:
    """Return the first step to each location until the target is reached."""
    came: dict[EntityId, tuple[EntityId, KnownExit]] = {}
    best, done = {start: 0}, set[EntityId]()
    waiting: list[tuple[int, EntityId]] = [(0, start)]
    while waiting and len(done) < LOCATIONS_MAX:
        after, location = heappop(waiting)
        if location == target:
            return came, True
        if location in done:
            continue
        done.add(location)
        for step in await search.open_exits(location, waiting):
            arrival = after + step.travel_ms
            if step.to not in best or arrival < best[step.to]:
                best[step.to] = arrival
                came[step.to] = (location, step)
                heappush(waiting, (arrival, step.to))
    return came, not waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A location within reach: how many exits away, and the directions that lead there."""

    location: Entity
    path: tuple[Direction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpatialContext:
    """The locations around one, the nearest first; not `complete` if the search ended early."""

    location: EntityId
    neighbours: Sequence[Neighbour]
    complete: bool


async def get_spatial_context(now: WorldAt, name: str | None, depth: int) -> SpatialContext | None:
    """Return the locations within `depth` exits of one; None if it does not exist.

    Hidden exits count; exits that are blocked at the tick do not.
    """
    start = now.id_of(name)
    if await now.find_item(start, WorldType.LOCATION) is None:
        return None
    found: dict[EntityId, Reached] = {start: Reached(location=start, path=())}
    ring: Sequence[Reached] = (found[start],)
    for _step in range(depth):
        if not ring or len(found) > LOCATIONS_MAX:
            break
        exits = [
            open_exit
            for some in _group_locations(ring)
            for open_exit in await now.canon.places.open_exits(
                now.world.space, some, now.tick_instant
            )
        ]
        ring = [each for each in reached_from(ring, exits) if each.location not in found]
        found |= {each.location: each for each in ring}
    reached = list(found.values())[1 : LOCATIONS_MAX + 1]
    known = [await now.find_items(some, WorldType.LOCATION) for some in _group_locations(reached)]
    items = {name: item for some in known for name, item in some.items()}
    return SpatialContext(
        location=start,
        neighbours=[
            Neighbour(location=items[each.location], path=each.path)
            for each in reached
            if each.location in items
        ],
        complete=len(found) <= LOCATIONS_MAX + 1,
    )


def _group_locations(reached: Sequence[Reached]) -> Iterator[Sequence[EntityId]]:
    locations = [each.location for each in reached]
    return (locations[first : first + _GROUP] for first in range(0, len(locations), _GROUP))
