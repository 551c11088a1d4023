"""Move somebody, and transfer an item."""

from dataclasses import dataclass
from functools import partial
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import the_made
from canonry.log.folding import thing_key
from canonry.log.items.facts import EventDraft, RelationDraft
from canonry.log.schemas.world_types import EXIT, HELD_BY, HOLDERS, LOCATED_IN, MOVERS, WorldType
from canonry.readmodels.edges import Direction, Tick, blocked_at, tick_of, travel_ms
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import EntityId
from canonry.values.observations import ObservationDraft
from canonry.world.domain.merging import thing_id_of
from canonry.world.usecases.world_draft import WorldDraft, change_world
from canonry.world.usecases.worlds import BoundWorld

CLOCK: Final = "properties.clock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Who goes, and either in which direction or, past all exits, whereto and why."""

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
        message = "say either in which direction, or to which location to teleport"
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
    positions = await draft.latest_edges(LOCATED_IN, mover_id, kinds=(*MOVERS, ""))
    if not positions:
        raise Conflict("move.nowhere", "nobody knows where this mover is", conflicts=[mover_id])
    position = positions[0]  # where they are, also if they come there later than the draft
    if position.since is not None and position.since > draft.at:
        message = "the mover arrived there later than this; give a later tick"
        raise Conflict("move.before-arrival", message, path="/tick", conflicts=[position.id])
    target, duration = await _target(draft, move, mover_id, position.to_id)
    if target == position.to_id:
        raise Conflict("move.stays", "the mover is there already", conflicts=[position.id])
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
        await _require_open(draft, way, mover)
        await draft.require(way.to_id, WorldType.LOCATION)
        return way.to_id, travel_ms(direction, way.properties.get("travel_ms"))
    message = f"no exit leads {direction} from there"
    raise Conflict("exit.unknown", message, path="/direction", conflicts=[here])


async def _require_open(draft: WorldDraft, way: RelationDraft, mover: EntityId) -> None:
    if blocked_at(way, tick_of(draft.at)):
        message = "this exit is blocked; its context says why"
        raise Conflict("exit.blocked", message, path="/direction", conflicts=[way.id])
    item = way.properties.get("requires")
    if item is None:
        return
    holders = {edge.to_id for edge in await draft.edges(HELD_BY, EntityId(str(item)))}
    if mover not in holders:
        message = "this exit is passed only with an item that the mover does not hold"
        raise Conflict("exit.needs-item", message, path="/direction", conflicts=[str(item)])


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
        raise Conflict("item.nowhere", "nobody knows where this item is", conflicts=[item])
    edge = held[0]
    wanted = None if new.expected is None else thing_id_of(draft.space, new.expected)
    if wanted not in {None, edge.to_id} or edge.to_id == target:
        message = "the item is with somebody else; look who has it"
        raise Conflict("item.held-otherwise", message, conflicts=[edge.to_id])
    if edge.since is not None and edge.since > draft.at:
        message = "the item came there later than this; give a later tick"
        raise Conflict("item.before-arrival", message, path="/tick", conflicts=[edge.id])
    place = await _place_of(draft, edge.to_id)
    if not new.anywhere and place != await _place_of(draft, target):
        message = "the two are not at the same place; move one of them first"
        raise Conflict("item.elsewhere", message, conflicts=[edge.to_id, target])
    heir = draft.join(HELD_BY, item, target)
    draft.end(edge, heir=heir, reason="handed on")
    involved = (item, edge.to_id, target, place)
    draft.happen(f"handed/{item}", "Item.Transfer", involved, {"actor_kind": "system"})


async def _place_of(draft: WorldDraft, holder: EntityId) -> EntityId:
    """Where a holder is at the tick of the draft; a location is where it is."""
    if await draft.require(holder, *HOLDERS) is WorldType.LOCATION:
        return holder
    for position in await draft.edges(LOCATED_IN, holder, kinds=(*MOVERS, "")):
        return position.to_id
    raise Conflict("move.nowhere", "nobody knows where this holder is", conflicts=[holder])
