"""Contexts of a world: of places, players, realms and facts."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN, Position
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Relation
from canonry.log.schemas.world_types import (
    BELONGS_TO,
    EXIT,
    HELD_BY,
    LAYER_OF,
    LOCATED_IN,
    WITHIN,
    LayerType,
    Tie,
    WorldType,
)
from canonry.readmodels.edges import (
    PLACE_IN_ORDER,
    Direction,
    Reached,
    Tick,
    Way,
    blocked_at,
    kind_of,
    reached_from,
    shows_at,
    time_of_day,
)
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.values.ids import EntityId
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel
from canonry.world.domain.merging import lore_id_of
from canonry.world.usecases.world_ties import RouteOn, Tied, routes_on, ties_of
from canonry.world.usecases.worlds import NEARBY_MAX, BoundWorld, WorldAt, world_at

_FEW: Final = 12
"""Layers of all types upon one place are read at once as long as there are fewer than these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upon:
    """A layer, and the edge by which it lies upon a location or realm."""

    layer: Entity
    edge: Relation

    @property
    def value(self) -> str:
        """What it tells."""
        return str(self.layer.properties.get("value", ""))


async def layers_upon(
    then: WorldAt,
    location: EntityId,
    realms: Sequence[Entity],
    types: Iterable[LayerType] = tuple(LayerType),
) -> Mapping[LayerType, Upon]:
    """What shows upon a location: its own layers first, then those of its nearest realms.

    Of several of one type upon the same place the one that was written last shows.
    """
    places = (location, *(realm.id for realm in realms))
    wanted = tuple(types)
    edges = await _lying(then, places, wanted)
    known = await then.all((edge.from_id for edge in edges), WorldType.LAYER)
    nearest = {place: rank for rank, place in enumerate(places)}
    shown: dict[LayerType, Upon] = {}
    for edge in sorted(edges, key=lambda e: (nearest[e.to_id], -e.position, e.id)):
        layer_type = LayerType(kind_of(edge))
        if edge.from_id in known and shows_at(edge, then.tick):
            shown.setdefault(layer_type, Upon(layer=known[edge.from_id], edge=edge))
    return {each: shown[each] for each in wanted if each in shown}


async def _lying(
    then: WorldAt, places: Sequence[EntityId], types: Sequence[LayerType]
) -> Sequence[Relation]:
    """The edges of the layers upon places; where there are many, the newest ones of each type."""
    edges = await then.edges(LAYER_OF, *places, outward=False, kinds=None, limit=_FEW)
    if max(Counter(edge.to_id for edge in edges).values(), default=0) < _FEW:
        return [edge for edge in edges if kind_of(edge) in types]
    return await then.edges(LAYER_OF, *places, outward=False, kinds=types, newest_first=True)


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


_ARCHIVED: Final = "properties.archived"
_VERSION: Final = "properties.version"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalFact:
    """A fact of lore in one version; `first` is the observation that brought it into being."""

    entity: Entity
    version: int
    said: Observation
    first: Observation

    @property
    def fields(self) -> Any:
        """What this version says."""
        return self.said.fields.get("properties.fields", {})


async def get_canonical_fact(
    canon: Canon, world: BoundWorld, key: str, version: int | None = None
) -> CanonicalFact | None:
    """The fact with this key in a version, or in the newest that is not archived; None: no such."""
    entity = await find_lore(canon, world, key)
    if entity is None:
        return None
    versions = await versions_of(canon, entity)
    standing = (n for n, each in enumerate(versions, 1) if not each.fields.get(_ARCHIVED))
    number = max(standing, default=0) if version is None else version
    if not 1 <= number <= len(versions):
        return None
    said = versions[number - 1]
    return CanonicalFact(entity=entity, version=number, said=said, first=versions[0])


async def find_lore(canon: Canon, world: BoundWorld, key: str) -> Entity | None:
    """The entity that holds all versions of a fact, archived or not."""
    lore_id = lore_id_of(world.space, key)
    found = await canon.within(world.space).thing(lore_id)
    if isinstance(found, Entity) and found.level is CanonLevel.CANON:
        return found if found.entity_type == WorldType.LORE_FACT else None
    return None


async def versions_of(canon: Canon, entity: Entity) -> Sequence[Observation]:
    """The observations that each brought a version, the first one first; at most 500."""
    seen = await canon.state.observations(entity.id, after=Position(ORIGIN), limit=PAGE_MAX)
    versions = [each for each in seen if _VERSION in each.fields]
    return sorted(versions, key=lambda each: int(each.fields[_VERSION]))


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


INSIDE_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RealmContext:
    """A realm at a tick; `around` has the nearest first.

    `inside` lies directly in it, and `members` are its own, both by name; `complete` False: there
    are more of either than are told.
    """

    tick: Tick
    realm: Entity
    around: Sequence[Entity]
    ties: Sequence[Tied]
    inside: Sequence[Entity]
    members: Sequence[Entity]
    complete: bool


async def get_realm_context(
    canon: Canon, world: BoundWorld, name: str, tick: Tick | None
) -> RealmContext | None:
    """The context of the realm with this id or key; None: there is no such realm."""
    then = world_at(canon, world, tick)
    realm = await then.find(then.id_of(name), WorldType.REALM)
    if realm is None:
        return None
    inside, all_inside = await _inward(then, WITHIN, realm.id, "")
    members, all_members = await _inward(then, BELONGS_TO, realm.id, Tie.MEMBER_OF)
    ties = await ties_of(then, (realm,))
    return RealmContext(
        tick=then.tick,
        realm=realm,
        around=await then.realms_of(realm.id),
        ties=ties.get(realm.id, ()),
        inside=inside,
        members=members,
        complete=all_inside and all_members,
    )


async def _inward(
    then: WorldAt, rel_type: str, realm: EntityId, kind: str
) -> tuple[Sequence[Entity], bool]:
    edges = await then.edges(rel_type, realm, outward=False, kinds=(kind,), limit=INSIDE_MAX + 1)
    ids = [edge.from_id for edge in edges[:INSIDE_MAX]]
    known = await then.all(ids, WorldType.REALM, WorldType.LOCATION)
    things = sorted(known.values(), key=lambda each: (each.name, each.id))
    return things, len(edges) <= INSIDE_MAX


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
