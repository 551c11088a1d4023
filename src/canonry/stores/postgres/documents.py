"""Documents and the places of worlds in PostgreSQL."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from typing_extensions import override

from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Event, Relation
from canonry.log.items.scenes import Turn
from canonry.log.schemas.world_types import EXIT
from canonry.readmodels.edges import ALWAYS, Direction, Way
from canonry.readmodels.listing import NOBODY, List
from canonry.readmodels.ports.listed import ListedDocuments
from canonry.readmodels.ports.places import EdgeQuery, Places
from canonry.stores.postgres.keeping import PostgresView
from canonry.values.ids import EntityId, SceneId, SpaceId
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel

_TURNS: Final = (
    "SELECT t.kind, t.body FROM (SELECT rank, id FROM listing WHERE owner = %s"
    f" AND list = {int(List.TURNS)} AND rank > %s"
    " ORDER BY rank {turn} LIMIT %s) l LEFT JOIN things t ON t.id = l.id ORDER BY l.rank"
)


class PostgresDocuments(PostgresView, ListedDocuments):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def turns(
        self, scene_id: SceneId, *, last: int | None = None, after: int = -1, limit: int = 500
    ) -> Sequence[Turn]:
        statement = _TURNS.format(turn="ASC" if last is None else "DESC")
        most = limit if last is None else max(last, 0)
        return await self._things(statement, (scene_id, after, most))


_EDGES: Final = (
    "SELECT t.kind, t.body FROM unnest(%(owners)s::text[]) WITH ORDINALITY AS o (owner, n)"
    " CROSS JOIN unnest(%(facets)s::text[]) WITH ORDINALITY AS f (facet, m)"
    " CROSS JOIN LATERAL (SELECT later, id, facet AS kind FROM listing WHERE space = %(space)s"
    " AND list = %(list)s AND owner = o.owner AND {facet} AND rank > %(at)s AND later <= %(at)s"
    " ORDER BY facet, later {turn}, id {turn} LIMIT %(limit)s) l"
    " LEFT JOIN things t ON t.id = l.id"
    " ORDER BY o.n, f.m, l.kind, l.later {turn}, l.id {turn}"
)
_OF_KIND: Final = "facet = f.facet"
_OF_ALL: Final = "facet >= f.facet || '/' AND facet < f.facet || '0'"  # the sign that follows "/"
_WAYS: Final = (
    "SELECT o.owner, l.facet, l.name FROM unnest(%(owners)s::text[]) WITH ORDINALITY"
    " AS o (owner, n) JOIN listing l ON l.space = %(space)s AND l.list = %(list)s"
    " AND l.owner = o.owner AND l.facet >= %(head)s || '/' AND l.facet < %(head)s || '0'"
    " AND l.rank > %(at)s AND l.later <= %(at)s AND l.name IS NOT NULL"
    " ORDER BY o.n, l.facet, l.later, l.id"
)
_EVENTS: Final = (
    "SELECT t.kind, t.body FROM (SELECT rank, later, id FROM listing WHERE space = %s AND list = %s"
    " AND owner = %s AND facet = %s AND rank <= %s ORDER BY rank DESC, later DESC, id DESC LIMIT %s"
    ") l LEFT JOIN things t ON t.id = l.id ORDER BY l.rank DESC, l.later DESC, l.id DESC"
)
_FOLLOWING: Final = (
    "SELECT t.kind, t.body FROM (SELECT l.* FROM unnest(%(facets)s::text[]) AS f (facet)"
    " CROSS JOIN LATERAL (SELECT rank, later, id FROM listing WHERE space = %(space)s"
    " AND list = %(list)s AND owner = '' AND facet = f.facet"
    " AND (rank, later, id) > (%(rank)s, %(later)s, %(id)s) ORDER BY rank, later, id"
    " LIMIT %(limit)s) l ORDER BY rank, later, id LIMIT %(limit)s) l"
    " LEFT JOIN things t ON t.id = l.id ORDER BY l.rank, l.later, l.id"
)


class PostgresPlaces(PostgresView, Places):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def edges(self, query: EdgeQuery) -> Sequence[Relation]:
        head = f"{'out' if query.outward else 'in'}/{query.rel_type}"
        kinds = query.kinds
        facets = [head] if kinds is None else [f"{head}/{kind}" for kind in kinds]
        statement = _EDGES.format(
            facet=_OF_ALL if kinds is None else _OF_KIND,
            turn="DESC" if query.newest_first else "ASC",
        )
        values = {
            "owners": list(query.entities),
            "facets": facets,
            "space": query.space,
            "list": int(List.EDGES_OF),
            "at": query.at,
            "limit": query.limit,
        }
        return await self._things(statement, values)

    @override
    async def ways(self, space: SpaceId, places: Iterable[EntityId], at: Instant) -> Sequence[Way]:
        values = {
            "owners": list(places),
            "space": space,
            "list": int(List.EDGES_OF),
            "head": f"out/{EXIT}",
            "at": at,
        }
        return [
            Way(
                start=EntityId(place),
                direction=Direction(facet.rpartition("/")[2]),
                end=EntityId(end),
            )
            for place, facet, end in await self._database.rows(_WAYS, values)
        ]

    @override
    async def events_until(
        self, space: SpaceId, entity: EntityId, at: Instant, *, limit: int
    ) -> Sequence[Event]:
        place = (space, int(List.EVENTS_OF), entity, str(CanonLevel.CANON))
        return await self._things(_EVENTS, (*place, at, limit))

    @override
    async def entities_after(
        self, space: SpaceId, entity_type: str, last: Entity | None, *, limit: int
    ) -> Sequence[Entity]:
        facets = [f"{entity_type}/{each}/{CanonLevel.CANON}" for each in EntityClass]
        start = None if last is None else (last.created_at, 0, last.id)
        return await self._following(List.ENTITIES, space, facets, start, limit)

    @override
    async def events_after(
        self, space: SpaceId, last: Event | None, *, limit: int
    ) -> Sequence[Event]:
        start = None if last is None else (*last.rank, last.id)
        return await self._following(List.EVENTS, space, [str(CanonLevel.CANON)], start, limit)

    async def _following(
        self,
        listed: List,
        space: SpaceId,
        facets: Sequence[str],
        start: tuple[int, int, str] | None,
        limit: int,
    ) -> list[Any]:
        """What follows in a list of everybody's."""
        rank, later, identity = (ALWAYS, 0, NOBODY) if start is None else start
        values = {
            "facets": list(facets),
            "space": space,
            "list": int(listed),
            "rank": rank,
            "later": later,
            "id": identity,
            "limit": limit,
        }
        return await self._things(_FOLLOWING, values)
