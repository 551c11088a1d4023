"""Surroundings: what a character can name: who and what is there, what is carried, and ways out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import HELD_BY, LOCATED_IN, MOVERS, WorldType
from canonry.readmodels.directions import Direction
from canonry.readmodels.edges import kind_of
from canonry.values.ids import EntityId
from canonry.world.domain.utterances.frames import Nameable
from canonry.world.usecases.get_location_context import exits_of
from canonry.world.usecases.world_at import WorldAt

_MOST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where somebody is, and what they can name there; `place` None: nobody knows where."""

    place: Entity | None
    known: Sequence[Nameable]


async def location_of(then: WorldAt, mover: EntityId) -> Entity | None:
    """Where a mover is."""
    for edge in await then.edges(LOCATED_IN, mover, kinds=(*MOVERS, "")):
        return await then.find(edge.to_id, WorldType.LOCATION)
    return None


async def surroundings_of(then: WorldAt, mover: Entity) -> Surroundings:
    """What a mover can name: hidden ways and what lies behind them are left out."""
    place = await location_of(then, mover.id)
    if place is None:
        held = await held_by(then, mover.id)
        return Surroundings(place=None, known=[nameable(each) for each in held])
    edges = await then.edges(LOCATED_IN, place.id, outward=False, kinds=MOVERS, limit=_MOST)
    movers = await then.all((edge.from_id for edge in edges), *MOVERS)
    things = await held_by(then, place.id, *movers)
    ways = [way for way in await exits_of(then, place) if not way.properties.get("hidden")]
    ends = await then.all((way.to_id for way in ways), WorldType.LOCATION)
    led = [nameable(ends[way.to_id], Direction(kind_of(way))) for way in ways if way.to_id in ends]
    others = [nameable(each) for name, each in movers.items() if name != mover.id]
    here = [*others, *(nameable(each) for each in things), nameable(place), *led]
    return Surroundings(place=place, known=here)


async def held_by(then: WorldAt, *holders: str) -> Sequence[Entity]:
    """The items that these hold or that lie there."""
    edges = await then.edges(HELD_BY, *map(EntityId, holders), outward=False, limit=_MOST)
    found = await then.all((edge.from_id for edge in edges), WorldType.ITEM)
    return sorted(found.values(), key=lambda item: (item.name, item.id))


def nameable(thing: Entity, direction: Direction | None = None) -> Nameable:
    """A thing as somebody names it."""
    return Nameable(id=thing.id, kind=thing.entity_type, name=thing.name, direction=direction)
