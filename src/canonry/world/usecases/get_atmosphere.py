"""Get the atmosphere of a place: time of day, weather, light and mood; never nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.log.schemas.world_types import LayerType, WorldType
from canonry.readmodels.ticks import Tick, time_of_day
from canonry.values.ids import EntityId
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.layers_upon import Upon, layers_upon
from canonry.world.usecases.world_at import world_at

TYPES: Final = (LayerType.WEATHER, LayerType.LIGHTING, LayerType.AMBIENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Atmosphere:
    """What the air of a place is like; a type that `layers` lacks has its default.

    `known` False: there is no such place, and all are defaults.
    """

    tick: Tick
    location: EntityId
    time_of_day: str
    layers: Mapping[LayerType, Upon]
    known: bool


async def get_atmosphere(
    canon: Canon, world: BoundWorld, name: str | None, tick: Tick | None
) -> Atmosphere:
    """The atmosphere of the location with this id or key, or of the starter.

    In a world whose clock nobody has set it is noon, unless a tick is asked for.
    """
    then = world_at(canon, world, tick)
    timeless = tick is None and world.tick is None
    place = then.id_of(name)
    location = await then.find(place, WorldType.LOCATION)
    layers: Mapping[LayerType, Upon] = {}
    if location is not None:
        layers = await layers_upon(then, place, await then.realms_of(place), TYPES)
    return Atmosphere(
        tick=then.tick,
        location=place,
        time_of_day="noon" if timeless else time_of_day(then.tick),
        layers=layers,
        known=location is not None,
    )
