"""Get the spatial context of a place: which others lie near it, and by which way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.directions import Direction
from canonry.readmodels.paths import Reached, Way, reached_from
from canonry.readmodels.ticks import Tick
from canonry.values.ids import EntityId
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.world_at import WorldAt, world_at

PLACES_MAX: Final = 2_000
"""So many places are looked at, however many a dense world has within reach."""

_GROUP: Final = 16
"""So many places are read in one go: a longer read would have to leave the thread that asks."""


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


async def get_spatial_context(
    canon: Canon, world: BoundWorld, name: str | None, depth: int, tick: Tick | None = None
) -> SpatialContext | None:
    """What lies within `depth` exits of a location, or of the starter; None: there is no such one.

    Ways lead through exits as they are at the tick, by default now, also hidden ones; blocked ones
    lead nowhere.
    """
    now = world_at(canon, world, tick)
    start = now.id_of(name)
    if await now.find(start, WorldType.LOCATION) is None:
        return None
    found: dict[EntityId, Reached] = {start: Reached(place=start, path=())}
    ring: Sequence[Reached] = (found[start],)
    for _step in range(depth):
        if not ring or len(found) > PLACES_MAX:
            break
        ways = await _ways(now, [each.place for each in ring])
        ring = [each for each in reached_from(ring, ways) if each.place not in found]
        found |= {each.place: each for each in ring}
    reached = list(found.values())[1 : PLACES_MAX + 1]
    known = await _known(now, [each.place for each in reached])
    return SpatialContext(
        location=start,
        neighbours=[
            Neighbour(location=known[each.place], path=each.path)
            for each in reached
            if each.place in known
        ],
        complete=len(found) <= PLACES_MAX + 1,
    )


async def _ways(now: WorldAt, places: Sequence[EntityId]) -> Sequence[Way]:
    ways: list[Way] = []
    for first in range(0, len(places), _GROUP):
        some = places[first : first + _GROUP]
        ways += await now.canon.places.ways(now.world.space, some, now.at)
    return ways


async def _known(now: WorldAt, places: Sequence[EntityId]) -> Mapping[str, Entity]:
    known: dict[str, Entity] = {}
    for first in range(0, len(places), _GROUP):
        known |= await now.all(places[first : first + _GROUP], WorldType.LOCATION)
    return known
