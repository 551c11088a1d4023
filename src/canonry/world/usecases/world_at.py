"""A world at a tick: its things and edges as they were then; every context is read through it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.canon import Canon
from canonry.canon.session.get_entity_as_of import entity_at, told_until
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event
from canonry.log.items.relations import Relation
from canonry.log.schemas.world_types import WITHIN, WorldType
from canonry.readmodels.ports.places import EdgeQuery
from canonry.readmodels.ticks import Tick, instant_of
from canonry.values.errors import NotFound
from canonry.values.ids import EntityId
from canonry.values.provenance import CanonLevel
from canonry.values.time import Instant
from canonry.world.domain.identity import thing_id_of
from canonry.world.domain.realms import narrowest_first
from canonry.world.usecases.bound_world import BoundWorld

NEARBY_MAX: Final = 20
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
