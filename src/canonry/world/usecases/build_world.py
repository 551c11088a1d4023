"""Build a world: one new part at a time, each with all that holds it to the others."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import the_made
from canonry.log.items.entities import EntityDraft
from canonry.log.items.facts import EventDraft
from canonry.log.schemas.narrative import PROPERTY_PREFIX
from canonry.log.schemas.world_types import EXIT, MOVERS, WorldType
from canonry.readmodels.edges import Direction
from canonry.values.errors import Conflict
from canonry.world.domain.atlas import AtlasPart, Exit, Happening, Place, Realm
from canonry.world.domain.merging import checked_key, thing_id_of
from canonry.world.usecases.world_draft import WorldDraft, change_world, changing
from canonry.world.usecases.world_parts import (
    declare_part,
    end_way_back,
    id_of,
    join_both_ways,
    join_realms,
)
from canonry.world.usecases.world_ties import tie_up
from canonry.world.usecases.worlds import BoundWorld


async def create_part(
    canon: Canon, caller: Caller, world: BoundWorld, part: AtlasPart, *, player: bool = False
) -> str:
    """Create a part under a key that nothing has; without a key its id is its key. The id.

    Raises:
        InvalidInput: `key.malformed`, or what it says cannot be.
        NotFound: something that it names is unknown.
        Conflict: `world.key-taken`, what its exits and realms stand against, or `tick.future`.
    """
    if part.key:
        checked_key(part.key, path="/key")
    if isinstance(part, Happening) and part.tick > world.now:
        message = f"the world's clock stands at {world.now}; advance it, or give an earlier tick"
        raise Conflict("tick.future", message, path="/tick", now=world.now)

    async def write(draft: WorldDraft) -> None:
        named = part if part.key else replace(part, key=draft.new_id("part"))
        await _create(draft, named, player=player)

    receipt = await change_world(canon, caller, world, write)
    return the_made(receipt, EventDraft if isinstance(part, Happening) else EntityDraft).id


async def _create(draft: WorldDraft, part: AtlasPart, *, player: bool) -> None:
    part_id = id_of(draft, part)
    await draft.require_new(part_id)
    await declare_part(draft, part, player=player)
    if isinstance(part, Place | Realm):
        around = part.realms if isinstance(part, Place) else part.within
        await join_realms(draft, part_id, around)
        await tie_up(draft, part_id, part.ties)
    if isinstance(part, Place):
        for way in part.exits:
            await join_both_ways(draft, part_id, part.key, way)


@changing
async def create_exit(draft: WorldDraft, key: str, way: Exit) -> None:
    """Make an exit of the location `key`, with the way back unless it leads one way only.

    Raises:
        NotFound: `location.unknown` or `item.unknown`.
        Conflict: `exit.direction-taken`, `exit.way-back-taken` or `exit.to-itself`.
    """
    start = thing_id_of(draft.space, key)
    await draft.require(start, WorldType.LOCATION)
    await join_both_ways(draft, start, key, way)


@changing
async def remove_exit(draft: WorldDraft, key: str, direction: Direction) -> None:
    """End an exit, and the way back that belongs to it.

    Raises:
        NotFound: `location.unknown`.
        Conflict: `exit.unknown`.
    """
    start = thing_id_of(draft.space, key)
    await draft.require(start, WorldType.LOCATION)
    edges = await draft.edges(EXIT, start, kinds=(direction,))
    if not edges:
        message = f"no exit leads {direction} from there"
        raise Conflict("exit.unknown", message, path="/direction", conflicts=[start])
    for edge in edges:
        draft.end(edge, reason="the exit was removed")
        await end_way_back(draft, edge)


@changing
async def set_status(draft: WorldDraft, key: str, status: Mapping[str, Any]) -> None:
    """Say how a mover is from now on; the past keeps how they were.

    Raises:
        NotFound: `player.unknown`.
    """
    mover = thing_id_of(draft.space, key)
    await draft.require(mover, *MOVERS)
    draft.observe(mover, {PROPERTY_PREFIX + name: value for name, value in status.items()})
