"""Get a location's context: everything that a narrator needs of one place at one tick."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event
from canonry.log.items.relations import Relation
from canonry.log.schemas.world_types import EXIT, LOCATED_IN, LayerType, WorldType
from canonry.readmodels.directions import PLACE_IN_ORDER, Direction
from canonry.readmodels.edges import blocked_at, kind_of
from canonry.readmodels.ticks import Tick
from canonry.values.ids import EntityId
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.layers_upon import Upon, layers_upon
from canonry.world.usecases.ties_of import RouteOn, Tied, routes_on, ties_of
from canonry.world.usecases.world_at import NEARBY_MAX, WorldAt, world_at

_DIRECTIONS: Final = frozenset(Direction)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationContext:
    """A place, where it leads, what it lies in, what lies upon it, who is there, what happened.

    `exits` come in the order of their directions, `realms` the nearest first; `ties` are those of
    the location and of each of these realms, by id. `layers` has the layer that shows of each type
    that has one. `places` are those that exits lead to and events name, by id.
    """

    tick: Tick
    location: Entity
    exits: Sequence[Relation]
    routes: Sequence[RouteOn]
    realms: Sequence[Entity]
    ties: Mapping[EntityId, Sequence[Tied]]
    layers: Mapping[LayerType, Upon]
    players: Sequence[Relation]
    characters: Sequence[Entity]
    events: Sequence[Event]
    places: Mapping[str, Entity]


async def get_location_context(
    canon: Canon, world: BoundWorld, name: str | None, tick: Tick | None
) -> LocationContext | None:
    """The context of the location with this id or key, or of the starter; None: there is none."""
    then = world_at(canon, world, tick)
    location = await then.find(then.id_of(name), WorldType.LOCATION)
    if location is None:
        return None
    realms = await then.realms_of(location.id)
    exits = await exits_of(then, location)
    events = await then.events(location.id, NEARBY_MAX)
    return LocationContext(
        tick=then.tick,
        location=location,
        exits=exits,
        routes=await routes_on(then, location.id),
        realms=realms,
        ties=await ties_of(then, realms, location.id),
        layers=await layers_upon(then, location.id, realms),
        players=await _present(then, location, WorldType.PLAYER),
        characters=await _characters(then, location),
        events=events,
        places=await then.places_in((*exits, *events)),
    )


async def exits_of(then: WorldAt, location: Entity) -> Sequence[Relation]:
    """The exits of a location in the order of their directions, shut ones as blocked.

    A relation of that name that leads in no direction, as other toolsets can make it, is none.
    """
    edges = await then.edges(EXIT, location.id, kinds=None)
    ways = [_as_it_is(edge, then.tick) for edge in edges if kind_of(edge) in _DIRECTIONS]
    return sorted(ways, key=lambda edge: PLACE_IN_ORDER[Direction(kind_of(edge))])


def _as_it_is(way: Relation, tick: Tick) -> Relation:
    """An exit as it is at a tick: what is shut then is blocked."""
    blocked = blocked_at(way, tick)
    if blocked == way.properties.get("blocked"):
        return way
    return replace(way, properties={**way.properties, "blocked": blocked})


async def _present(then: WorldAt, location: Entity, kind: WorldType) -> Sequence[Relation]:
    return await then.edges(LOCATED_IN, location.id, outward=False, kinds=(kind,), limit=NEARBY_MAX)


async def _characters(then: WorldAt, location: Entity) -> Sequence[Entity]:
    here = [edge.from_id for edge in await _present(then, location, WorldType.CHARACTER)]
    known = await then.all(here, WorldType.CHARACTER)
    return [known[each] for each in here if each in known]
