"""Get a player's context, and what happened lately to a player or at a location."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event
from canonry.log.schemas.world_types import HELD_BY, LOCATED_IN, WorldType
from canonry.readmodels.ticks import Tick
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.world_at import NEARBY_MAX, WorldAt, world_at

INVENTORY_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerContext:
    """A player at a tick; `location` None: nobody knows where they were then.

    `places` are those that the events name, by id.
    """

    tick: Tick
    player: Entity
    location: Entity | None
    inventory: Sequence[Entity]
    events: Sequence[Event]
    places: Mapping[str, Entity]
    warnings: tuple[str, ...]


async def get_player_context(
    canon: Canon, world: BoundWorld, name: str, tick: Tick | None
) -> PlayerContext | None:
    """The context of the player with this id or key; None: there is no such player."""
    then = world_at(canon, world, tick)
    player = await then.find(then.id_of(name), WorldType.PLAYER)
    if player is None:
        return None
    location = await location_of(then, player)
    held, more = await inventory_of(then, player)
    events = await then.events(player.id, NEARBY_MAX)
    warnings = [] if location is not None else ["the player's location is not known"]
    if more:
        warnings.append(f"the first {INVENTORY_MAX} items of the inventory are shown")
    return PlayerContext(
        tick=then.tick,
        player=player,
        location=location,
        inventory=held,
        events=events,
        places=await then.places_in(events),
        warnings=tuple(warnings),
    )


async def get_recent_events(
    canon: Canon, world: BoundWorld, scope: WorldType, name: str, limit: int
) -> tuple[Sequence[Event], Mapping[str, Entity]]:
    """At most `limit` events of the thing of type `scope`, the newest first, and their places.

    `name` is its id or key.
    """
    now = world_at(canon, world)
    thing = await now.find(now.id_of(name), scope)
    events = () if thing is None else await now.events(thing.id, limit)
    return events, await now.places_in(events)


async def location_of(
    then: WorldAt, mover: Entity, kind: WorldType = WorldType.PLAYER
) -> Entity | None:
    """Where a mover was; None: nobody knows."""
    for edge in await then.edges(LOCATED_IN, mover.id, kinds=(kind, "")):
        return await then.find(edge.to_id, WorldType.LOCATION)
    return None


async def inventory_of(then: WorldAt, mover: Entity) -> tuple[Sequence[Entity], bool]:
    """What a mover had, by name; and whether there was more."""
    edges = await then.edges(HELD_BY, mover.id, outward=False, limit=INVENTORY_MAX + 1)
    known = await then.all((edge.from_id for edge in edges[:INVENTORY_MAX]), WorldType.ITEM)
    items = sorted(known.values(), key=lambda item: (item.name, item.id))
    return items, len(edges) > INVENTORY_MAX
