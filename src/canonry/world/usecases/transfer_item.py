"""Transfer an item: from hand to hand at one place; it is never with two, and never lost."""

from dataclasses import dataclass
from functools import partial

from canonry.canon.judging.making import make_event
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import the_made
from canonry.log.items.facts import EventDraft
from canonry.log.schemas.world_types import HELD_BY, HOLDERS, LOCATED_IN, MOVERS, WorldType
from canonry.readmodels.edges import Tick
from canonry.values.errors import Conflict
from canonry.values.ids import EntityId
from canonry.world.domain.merging import thing_id_of
from canonry.world.usecases.changing_world import change_world
from canonry.world.usecases.world_draft import WorldDraft
from canonry.world.usecases.worlds import BoundWorld


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Transferred:
    """From whom to whom an item went."""

    item: EntityId
    from_id: EntityId
    to_id: EntityId


async def transfer_item(
    canon: Canon, caller: Caller, world: BoundWorld, new: Transfer
) -> Transferred:
    """Give the item to its new holder: a mover, or the location where it is left.

    Raises:
        NotFound: `item.unknown`, or `player.unknown` for a holder.
        Conflict: `item.held-otherwise`, `item.elsewhere`, `item.before-arrival`, `item.nowhere`,
            `move.nowhere` or `tick.future`.
    """
    write = partial(write_transfer, new=new)
    receipt = await change_world(canon, caller, world, write, tick=new.tick)
    item, from_id, to_id, *_ = the_made(receipt, EventDraft).involved
    return Transferred(item=item, from_id=from_id, to_id=to_id)


async def write_transfer(draft: WorldDraft, new: Transfer) -> None:
    """Write that an item goes; raises as `transfer_item` does."""
    item = thing_id_of(draft.space, new.item)
    await draft.require(item, WorldType.ITEM)
    target = thing_id_of(draft.space, new.holder)
    await draft.require(target, *HOLDERS)
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
    draft.add(
        make_event(
            lambda _: draft.new_id(f"handed/{item}"),
            draft.backing,
            title="Item.Transfer",
            description="",
            involved=tuple(dict.fromkeys((item, edge.to_id, target, place))),
            time_ref=draft.at,
            severity=1,
            properties={"actor_kind": "system"},
        )
    )


async def _place_of(draft: WorldDraft, holder: EntityId) -> EntityId:
    """Where a holder is at the tick of the draft; a location is where it is."""
    if await draft.require(holder, *HOLDERS) is WorldType.LOCATION:
        return holder
    for position in await draft.edges(LOCATED_IN, holder, kinds=(*MOVERS, "")):
        return position.to_id
    raise Conflict("move.nowhere", "nobody knows where this holder is", conflicts=[holder])
