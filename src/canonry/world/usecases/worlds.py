"""Worlds: find, build and read them at a tick."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.get_entity_as_of import entity_at, told_until
from canonry.canon.session.paging import every_item
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity, normalised_name
from canonry.log.items.facts import Event, Relation
from canonry.log.schemas.world_types import HELD_BY, LOCATED_IN, WITHIN, WorldType
from canonry.readmodels.edges import Tick, instant_of
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.documents import EdgeQuery
from canonry.readmodels.ports.text import TextQuery
from canonry.values.errors import Conflict, InvalidInput, NotFound
from canonry.values.ids import EntityId, Space, SpaceId, SpaceKind, is_uuid
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel
from canonry.world.domain.atlas import narrowest_first
from canonry.world.domain.merging import WORLD_KEY, thing_id_of

_SETTING = "--world / CANONRY_WORLD"
_CANDIDATES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundWorld:
    """A world as it is now; `tick` None: nobody has set its clock yet."""

    space: SpaceId
    name: str
    heart: Entity
    tick: Tick | None
    starter: str
    depth: int
    event_limit: int

    @property
    def now(self) -> Tick:
        """The current tick; before anybody has set the clock, 0."""
        return Tick(0) if self.tick is None else self.tick

    @property
    def instant(self) -> Instant:
        """The current tick as an instant."""
        return instant_of(self.now)


async def bound_world(canon: Canon, caller: Caller) -> BoundWorld:
    """The one world that the caller is bound to, or the only one that the caller sees.

    Raises:
        InvalidInput: `world.unbound` or `world.ambiguous`, with the setting that helps.
        NotFound: `world.unknown`.
    """
    if caller.world is not None:
        return await require_world(canon, caller, caller.world)
    bound = await worlds_seen(canon, caller)
    if not bound:
        message = f"this caller is bound to no world and sees none; name one by {_SETTING}"
        raise InvalidInput("world.unbound", message, path="", setting=_SETTING)
    if len(bound) > 1:
        message = f"this caller may see several worlds; name one of them by {_SETTING}"
        told = [f"{each.name} ({each.id})" for each in bound]
        raise InvalidInput("world.ambiguous", message, path="", setting=_SETTING, candidates=told)
    return await require_world(canon, caller, bound[0].id)


async def worlds_seen(canon: Canon, caller: Caller) -> list[Space]:
    """The worlds that the caller may see, or the first few of them."""
    if caller.spaces is None:
        page = await canon.state.spaces(
            kind=SpaceKind.WORLD, parent=None, limit=_CANDIDATES, offset=0
        )
        return list(page.items)
    found = await canon.seen_by(caller).things(caller.spaces)
    worlds = [s for s in found.values() if isinstance(s, Space) and s.kind is SpaceKind.WORLD]
    return sorted(worlds, key=lambda each: each.id)[:_CANDIDATES]


async def require_world(canon: Canon, caller: Caller, space: str) -> BoundWorld:
    """The world with this id.

    Raises:
        NotFound: `world.unknown`, also for one that the caller may not see.
    """
    wanted = SpaceId(space.lower())
    found = await find_world(canon, wanted) if await canon.seen_by(caller).sees(wanted) else None
    if found is None:
        raise unknown("world", space)
    return found


async def find_world(canon: Canon, space: SpaceId) -> BoundWorld | None:
    """The world in a space, if there is one."""
    heart_id = thing_id_of(space, WORLD_KEY)
    found = await canon.within(space).things((space, heart_id))
    opened, heart = found.get(space), found.get(heart_id)
    if not isinstance(opened, Space) or opened.kind is not SpaceKind.WORLD:
        return None
    if not isinstance(heart, Entity):
        message = "this world has no clock yet; its import was cut off, so run it again"
        raise NotFound("world.incomplete", message, kind="world", id=space)
    own = heart.properties
    return BoundWorld(
        space=space,
        name=opened.name,
        heart=heart,
        tick=None if own.get("tick") is None else Tick(int(own["tick"])),
        starter=str(own.get("starter", "")),
        depth=int(own.get("depth", 2)),
        event_limit=int(own.get("event_limit", 20)),
    )


async def query_worlds(canon: Canon) -> Sequence[Space]:
    """The worlds of the store, oldest first."""
    pages = partial(canon.state.spaces, kind=SpaceKind.WORLD, parent=None)
    return [space async for space in every_item(pages)]


async def world_named(canon: Canon, name: str) -> BoundWorld:
    """The world with this id, or the only one with this name.

    Raises:
        NotFound: `world.unknown`.
        Conflict: `world.namesakes`, several bear the name.
    """
    if is_uuid(name):
        ids = [name.lower()]
    else:
        wanted = normalised_name(name)
        worlds = await query_worlds(canon)
        ids = [space.id for space in worlds if normalised_name(space.name) == wanted]
    if len(ids) > 1:
        message = "several worlds bear this name; give the id of one"
        raise Conflict("world.namesakes", message, conflicts=ids)
    for space in ids:
        if (found := await find_world(canon, SpaceId(space))) is not None:
            return found
    raise unknown("world", name)


NEARBY_MAX: Final = 20
INVENTORY_MAX: Final = 200
_REALM_DEPTH: Final = 12
"""Realms that lie in more realms than this, one around the other, are looked up so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldAt:
    """`tick` is what was asked for, else the world's current one."""

    canon: Canon
    world: BoundWorld
    tick: Tick

    @property
    def at(self) -> Instant:
        """The tick as an instant."""
        return instant_of(self.tick)

    def id_of(self, name: str | None) -> EntityId:
        """The id behind an id or key; without one, that of the starter location."""
        return thing_id_of(self.world.space, name or self.world.starter)

    async def find(self, thing_id: str, *types: WorldType) -> Entity | None:
        """The thing as it was, if it is of one of these types and existed then."""
        return (await self.all((thing_id,), *types)).get(thing_id)

    async def require(self, name: str | None, *types: WorldType) -> Entity:
        """The thing of one of these types that an id or key names.

        Raises:
            NotFound: `<type>.unknown`.
        """
        thing_id = self.id_of(name)
        found = await self.find(thing_id, *types)
        if found is None:
            raise not_in_world(thing_id, *types)
        return found

    async def location_of(self, mover: Entity) -> Entity | None:
        """Where a mover was; None: nobody knows."""
        for edge in await self.edges(LOCATED_IN, mover.id, kinds=(mover.entity_type, "")):
            return await self.find(edge.to_id, WorldType.LOCATION)
        return None

    async def inventory_of(self, *holders: str) -> tuple[Sequence[Entity], bool]:
        """The items that these held or that lay there, by name; and whether there were more."""
        ids = map(EntityId, holders)
        edges = await self.edges(HELD_BY, *ids, outward=False, limit=INVENTORY_MAX + 1)
        known = await self.all((edge.from_id for edge in edges[:INVENTORY_MAX]), WorldType.ITEM)
        items = sorted(known.values(), key=lambda item: (item.name, item.id))
        return items, len(edges) > INVENTORY_MAX

    async def search(
        self, collection: Collection, text: str, limit: int, *types: WorldType
    ) -> Mapping[str, Entity]:
        """The things of these types that share words with a text, by id, the best first."""
        asked = TextQuery(
            collection=collection,
            text=text[: self.canon.policy.limits.query],
            spaces=frozenset((self.world.space,)),
            limit=limit,
        )
        hits = (await self.canon.text.search(asked)).hits
        return await self.all([hit.id for hit in hits], *types)

    async def all(self, ids: Iterable[str], *types: WorldType) -> Mapping[str, Entity]:
        """Those of `ids` that were, by id."""
        found = await self.canon.within(self.world.space).things(ids)
        return await self.those(found.values(), *types)

    async def those(self, found: Iterable[Thing], *types: WorldType) -> Mapping[str, Entity]:
        """Those of what was found that were, by id."""
        things: dict[str, Entity] = {
            thing.id: thing
            for thing in found
            if isinstance(thing, Entity)
            and thing.level is CanonLevel.CANON
            and thing.entity_type in types
        }
        if self.tick >= self.world.now:  # nothing is dated later than the clock
            return things
        told = await told_until(self.canon, self.world.space, things.values(), self.at)
        past = {
            name: thing if name in told else await self._then(thing)
            for name, thing in things.items()
        }
        return {name: thing for name, thing in past.items() if thing is not None}

    async def _then(self, thing: Entity) -> Entity | None:
        try:
            return await entity_at(self.canon, thing, self.at, in_turn=False)
        except NotFound:
            return None

    async def edges(
        self,
        rel_type: str,
        *entities: EntityId,
        outward: bool = True,
        kinds: Iterable[str] | None = ("",),
        limit: int = 100,
        newest_first: bool = False,
    ) -> Sequence[Relation]:
        """The edges of these entities that held then."""
        query = EdgeQuery(
            space=self.world.space,
            entities=entities,
            rel_type=rel_type,
            at=self.at,
            outward=outward,
            kinds=None if kinds is None else tuple(kinds),
            limit=limit,
            newest_first=newest_first,
        )
        return await self.canon.places.edges(query)

    async def events(self, entity: EntityId, limit: int) -> Sequence[Event]:
        """What had happened to an entity until then, the newest first."""
        return await self.canon.places.events_until(self.world.space, entity, self.at, limit=limit)

    async def places_in(self, things: Iterable[Relation | Event]) -> Mapping[str, Entity]:
        """The locations that exits lead to and that events are about, by id."""
        ids = [e.involved if isinstance(e, Event) else (e.to_id,) for e in things]
        named = dict.fromkeys(i for each in ids for i in each)
        return await self.all(named, WorldType.LOCATION) if named else {}

    async def realms_of(self, location: EntityId) -> Sequence[Entity]:
        """The realms that contain a location, each once, the nearest first."""
        found: dict[str, Entity] = {}
        ring: tuple[EntityId, ...] = (location,)
        for _step in range(_REALM_DEPTH):
            around = dict.fromkeys(edge.to_id for edge in await self.edges(WITHIN, *ring))
            ring = tuple(realm for realm in around if realm not in found)
            if not ring:
                break
            things = await self.all(ring, WorldType.REALM)
            ring = tuple(realm for realm in ring if realm in things)
            found |= {realm.id: realm for realm in narrowest_first(things.values())}
        return tuple(found.values())


def world_at(canon: Canon, world: BoundWorld, tick: Tick | None = None) -> WorldAt:
    """The world at a tick, by default the current one."""
    return WorldAt(canon=canon, world=world, tick=world.now if tick is None else tick)


def not_in_world(thing_id: str, *types: WorldType) -> NotFound:
    """The error where a world has no such thing; it repeats nothing that a caller wrote."""
    kind = types[0].value
    message = f"this world has no such {' or '.join(types)}; check its id or key"
    return NotFound(f"{kind}.unknown", message, kind=kind, id=thing_id)
