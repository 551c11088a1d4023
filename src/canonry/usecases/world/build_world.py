"""Build a world: one new part at a time, each with all that holds it to the others."""

from dataclasses import replace

from canonry.domain.errors import Conflict
from canonry.domain.things.entities import EntityDraft
from canonry.domain.things.facts import EventDraft
from canonry.domain.vocabularies.world_types import EXIT, WorldType
from canonry.domain.world.atlas import (
    AtlasPart,
    Exit,
    Happening,
    Item,
    Layer,
    Mover,
    Place,
    Realm,
    Route,
)
from canonry.domain.world.directions import Direction
from canonry.domain.world.identity import checked_key, thing_id_of
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.receipts import the_made
from canonry.usecases.world.bound_world import BoundWorld
from canonry.usecases.world.changing_world import change_world
from canonry.usecases.world.world_draft import WorldDraft
from canonry.usecases.world.world_parts import (
    declare_happening,
    declare_item,
    declare_layer,
    declare_mover,
    declare_place,
    declare_realm,
    end_way_back,
    id_of,
    join_both_ways,
    join_realms,
)
from canonry.usecases.world.world_ties import (
    TieBetween,
    add_route,
    remove_route,
    tie,
    tie_up,
    untie,
)


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
    match part:
        case Place():
            await declare_place(draft, part)
            await join_realms(draft, part_id, part.realms)
            await tie_up(draft, part_id, part.ties)
            for way in part.exits:
                await join_both_ways(draft, part_id, part.key, way)
        case Realm():
            await declare_realm(draft, part)
            await join_realms(draft, part_id, part.within)
            await tie_up(draft, part_id, part.ties)
        case Layer():
            await declare_layer(draft, part)
        case Mover():
            kind = WorldType.PLAYER if player else WorldType.CHARACTER
            await declare_mover(draft, part, kind)
        case Item():
            await declare_item(draft, part)
        case Happening():
            await declare_happening(draft, part)


async def create_exit(canon: Canon, caller: Caller, world: BoundWorld, key: str, way: Exit) -> None:
    """Make an exit of the location `key`, with the way back unless it leads one way only.

    Raises:
        NotFound: `location.unknown` or `item.unknown`.
        Conflict: `exit.direction-taken`, `exit.way-back-taken` or `exit.to-itself`.
    """

    async def write(draft: WorldDraft) -> None:
        start = thing_id_of(draft.space, key)
        await draft.require(start, WorldType.LOCATION)
        await join_both_ways(draft, start, key, way)

    await change_world(canon, caller, world, write)


async def remove_exit(
    canon: Canon, caller: Caller, world: BoundWorld, key: str, direction: Direction
) -> None:
    """End an exit, and the way back that belongs to it.

    Raises:
        NotFound: `location.unknown`.
        Conflict: `exit.unknown`.
    """

    async def write(draft: WorldDraft) -> None:
        start = thing_id_of(draft.space, key)
        await draft.require(start, WorldType.LOCATION)
        edges = await draft.edges(EXIT, start, kinds=(direction,))
        if not edges:
            message = f"no exit leads {direction} from there"
            raise Conflict("exit.unknown", message, path="/direction", conflicts=[start])
        for edge in edges:
            draft.end(edge, reason="the exit was removed")
            await end_way_back(draft, edge)

    await change_world(canon, caller, world, write)


async def create_tie(canon: Canon, caller: Caller, world: BoundWorld, new: TieBetween) -> None:
    """Tie a realm or location to a realm; a border holds for both.

    Raises:
        NotFound: `realm.unknown`, or `location.unknown` where a location may be tied.
        Conflict: `tie.stands`, `tie.to-itself` or `tie.opposed`.
        InvalidInput: `tie.too-many`.
    """

    async def write(draft: WorldDraft) -> None:
        await tie(draft, new)

    await change_world(canon, caller, world, write)


async def remove_tie(canon: Canon, caller: Caller, world: BoundWorld, old: TieBetween) -> None:
    """End the tie of a realm or location to a realm.

    Raises:
        NotFound: `realm.unknown`, or `location.unknown` where a location may be tied.
        Conflict: `tie.unknown`.
    """

    async def write(draft: WorldDraft) -> None:
        await untie(draft, old)

    await change_world(canon, caller, world, write)


async def create_route(canon: Canon, caller: Caller, world: BoundWorld, route: Route) -> None:
    """Let a route lead from stop to stop, beside what there is of it already.

    Raises:
        NotFound: `location.unknown`.
        Conflict: `route.stands` or `route.to-itself`.
        InvalidInput: `route.too-many`.
    """

    async def write(draft: WorldDraft) -> None:
        await add_route(draft, route)

    await change_world(canon, caller, world, write)


async def end_route(canon: Canon, caller: Caller, world: BoundWorld, route: Route) -> None:
    """End a route from stop to stop.

    Raises:
        NotFound: `location.unknown`.
        Conflict: `route.unknown`.
    """

    async def write(draft: WorldDraft) -> None:
        await remove_route(draft, route)

    await change_world(canon, caller, world, write)
