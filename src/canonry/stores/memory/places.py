"""The places of worlds in memory: scans that say what the queries mean."""

from collections.abc import Iterable, Iterator, Sequence

from typing_extensions import override

from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event
from canonry.log.items.relations import Relation
from canonry.log.schemas.world_types import EXIT
from canonry.readmodels.edges import ALWAYS, holds_at, kind_of
from canonry.readmodels.paths import Way, way_of
from canonry.readmodels.ports.places import EdgeQuery, Places
from canonry.stores.memory.store import MemoryView
from canonry.values.ids import EntityId, SpaceId
from canonry.values.provenance import CanonLevel
from canonry.values.time import Instant


class MemoryPlaces(MemoryView, Places):
    """Reads what was folded."""

    @override
    async def edges(self, query: EdgeQuery) -> Sequence[Relation]:
        holding = [
            r
            for r in self._store.at_home(Relation, query.space)
            if r.rel_type == query.rel_type and holds_at(r, query.at)
        ]
        found: list[Relation] = []
        for entity in query.entities:
            mine = [r for r in holding if (r.from_id if query.outward else r.to_id) == entity]
            if query.kinds is None:
                ordered = sorted(mine, key=_order, reverse=query.newest_first)
                found += sorted(ordered, key=kind_of)[: query.limit]
                continue
            for kind in query.kinds:
                alike = (r for r in mine if kind_of(r) == kind)
                found += sorted(alike, key=_order, reverse=query.newest_first)[: query.limit]
        return found

    @override
    async def ways(self, space: SpaceId, places: Iterable[EntityId], at: Instant) -> Sequence[Way]:
        exits = EdgeQuery(space=space, entities=tuple(places), rel_type=EXIT, at=at, kinds=None)
        return [way for edge in await self.edges(exits) if (way := way_of(edge)) is not None]

    @override
    async def events_until(
        self, space: SpaceId, entity: EntityId, at: Instant, *, limit: int
    ) -> Sequence[Event]:
        past = (e for e in self._events(space) if entity in e.involved and _when(e)[0] <= at)
        return sorted(past, key=_when, reverse=True)[:limit]

    @override
    async def entities_after(
        self, space: SpaceId, entity_type: str, last: Entity | None, *, limit: int
    ) -> Sequence[Entity]:
        following = (
            e
            for e in self._store.of(Entity, frozenset((space,)))
            if e.entity_type == entity_type
            and e.level is CanonLevel.CANON
            and e.merged_into is None
            and (last is None or _born(e) > _born(last))
        )
        return sorted(following, key=_born)[:limit]

    @override
    async def events_after(
        self, space: SpaceId, last: Event | None, *, limit: int
    ) -> Sequence[Event]:
        events = self._events(space)
        return sorted((e for e in events if last is None or _when(e) > _when(last)), key=_when)[
            :limit
        ]

    def _events(self, space: SpaceId) -> Iterator[Event]:
        events = self._store.of(Event, frozenset((space,)))
        return (e for e in events if e.level is CanonLevel.CANON)


def _when(event: Event) -> tuple[int, int, str]:
    return (*event.rank, event.id)


def _born(entity: Entity) -> tuple[int, str]:
    return (entity.created_at, entity.id)


def _order(relation: Relation) -> tuple[int, str]:
    return (ALWAYS if relation.since is None else relation.since, relation.id)
