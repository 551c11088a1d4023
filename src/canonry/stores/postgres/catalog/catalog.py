"""Catalogs in PostgreSQL."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from typing_extensions import override

from canonry.log.encoding import decode_thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.schemas.catalog_tables import CONTENT_KINDS
from canonry.readmodels.catalog import (
    fold,
    item_id,
    item_of,
    no_entity,
    projects_in_order,
    require_project,
)
from canonry.readmodels.ports.catalog import (
    Catalog,
    CatalogEntry,
    CatalogFound,
    CatalogGraph,
    CatalogQuery,
    GraphEdge,
    GraphNode,
    GraphQuery,
    Triple,
)
from canonry.readmodels.ports.state import Spaces
from canonry.stores.postgres.database import PgConnection, PgRow, fetched, together
from canonry.stores.postgres.keeping import PostgresView
from canonry.stores.postgres.pages import things_in
from canonry.values.ids import Space, SpaceId

# Who stands beside those of the last step, and was not kept before.
_BESIDE: Final = (
    "SELECT i.thing, i.id FROM catalog_items i JOIN (SELECT target AS thing FROM catalog_edges"
    " WHERE space = %(space)s AND source = ANY(%(level)s) AND {typed}"
    " UNION SELECT source FROM catalog_edges WHERE space = %(space)s AND target = ANY(%(level)s)"
    " AND {typed}) b ON b.thing = i.thing WHERE i.space = %(space)s AND i.place IS NOT NULL"
    " AND i.thing <> ALL(%(kept)s) ORDER BY i.place, i.id LIMIT %(room)s"
)
_TYPED: Final = "(%(types)s::text[] IS NULL OR rel_type = ANY(%(types)s))"
_BETWEEN: Final = (
    "SELECT e.source, e.target, t.kind, t.body FROM (SELECT e.* FROM catalog_edges e"
    " JOIN unnest(%(kept)s::text[], %(ids)s::text[]) AS s (thing, id) ON s.thing = e.source"
    " JOIN unnest(%(kept)s::text[], %(ids)s::text[]) AS g (thing, id) ON g.thing = e.target"
    " WHERE e.space = %(space)s AND (e.source = ANY(%(seen)s) OR e.target = ANY(%(seen)s))"
    ' AND {typed} ORDER BY s.id COLLATE "C", g.id COLLATE "C", e.rel_type LIMIT %(room)s) e'
    " LEFT JOIN things t ON t.id = e.relation"
)
_THINGS: Final = (
    "SELECT t.kind, t.body FROM unnest(%s::text[]) WITH ORDINALITY AS k (id, n)"
    " LEFT JOIN things t ON t.id = k.id ORDER BY k.n"
)


async def graph_around(db: PgConnection, root: Entity, query: GraphQuery) -> CatalogGraph:
    """The graph around an entity that is there."""
    item = item_of(root)
    ids: dict[str, str] = {root.id: "" if item is None else item.id}
    depths: dict[str, int] = {root.id: 0}
    level, looked_at, more = [str(root.id)], list[str](), False
    values = {"space": query.project, "types": sorted(query.rel_types) or None}
    for depth in range(1, query.depth + 1):
        looked_at += level
        room = query.nodes_max - len(depths)
        if more or not level:
            level = []
            continue
        asked = {**values, "level": level, "kept": list(depths), "room": room + 1}
        found = await fetched(db, _BESIDE.format(typed=_TYPED), asked)
        more = len(found) > room
        level = [thing for thing, _ in found[:room]]
        ids |= dict(found[:room])
        depths |= dict.fromkeys(level, depth)
    asked = {
        **values,
        "kept": list(depths),
        "ids": [ids[thing] for thing in depths],
        "seen": looked_at,
        "room": query.edges_max + 1,
    }
    edges, nodes = await together(
        db, (_BETWEEN.format(typed=_TYPED), asked), (_THINGS, (list(depths),))
    )
    told = [
        GraphEdge(relation=relation, source=ids[source], target=ids[target])
        for (source, target, *_), relation in zip(
            edges, things_in(row[2:] for row in edges), strict=True
        )
    ]
    told.sort(key=lambda e: (e.source, e.target, e.relation.rel_type))
    return CatalogGraph(
        nodes=[GraphNode(entity=e, depth=depths[e.id]) for e in things_in(nodes)],
        edges=told[: query.edges_max],
        more_nodes=more,
        more_edges=len(told) > query.edges_max,
    )


T = TypeVar("T")

_THING: Final = "SELECT kind, body FROM things WHERE id = %s"
_PROJECTS: Final = (
    "SELECT t.kind, t.body FROM catalog_projects p JOIN things t ON t.id = p.space"
    " WHERE %(spaces)s::text[] IS NULL OR p.space = ANY(%(spaces)s)"
    " ORDER BY p.place, p.space LIMIT %(limit)s"
)
_FOUND: Final = (
    "FROM catalog_items i WHERE i.space = %(space)s AND i.place IS NOT NULL"
    " AND i.kind = ANY(%(kinds)s) AND (strpos(i.title, %(text)s) > 0"
    " OR strpos(i.slug, %(text)s) > 0 OR strpos(i.summary, %(text)s) > 0)"
)
_PAGE: Final = (
    f"SELECT t.kind, t.body FROM (SELECT i.thing, i.updated, i.id {_FOUND}"
    " ORDER BY i.updated DESC, i.id LIMIT %(limit)s) f LEFT JOIN things t ON t.id = f.thing"
    " ORDER BY f.updated DESC, f.id"
)
_TOTAL: Final = f"SELECT count(*) {_FOUND}"
_EDGES: Final = (
    "SELECT (SELECT count(*) FROM catalog_edges WHERE space = %(space)s AND source = %(thing)s),"
    " (SELECT count(*) FROM catalog_edges WHERE space = %(space)s AND target = %(thing)s)"
)
_BEARERS: Final = (
    "SELECT i.kind, i.word, min(i.id) FROM catalog_items i"
    " JOIN unnest(%s::text[], %s::text[]) AS g (kind, word) ON i.kind = g.kind AND i.word = g.word"
    " WHERE i.space = %s GROUP BY i.kind, i.word"
)
_CALLED: Final = "SELECT slug, min(space) FROM catalog_projects WHERE slug = ANY(%s) GROUP BY slug"
_JOINED: Final = (
    "SELECT e.source, e.rel_type, e.target, max(e.relation) FROM catalog_edges e"
    " JOIN unnest(%s::text[], %s::text[], %s::text[]) AS g (source, rel_type, target)"
    " ON e.source = g.source AND e.target = g.target AND e.rel_type = g.rel_type"
    " GROUP BY e.source, e.rel_type, e.target"
)
_ITEMS: Final = (
    "SELECT t.kind, t.body FROM (SELECT thing, word, id FROM catalog_items WHERE space = %s"
    " AND kind = %s AND (word, id) > (%s, %s) ORDER BY word, id LIMIT %s) i"
    " LEFT JOIN things t ON t.id = i.thing ORDER BY i.word, i.id"
)
_FROM: Final = (
    "SELECT t.kind, t.body FROM (SELECT relation, target, rel_type FROM catalog_edges"
    " WHERE source = %s AND (target, rel_type) > (%s, %s) ORDER BY target, rel_type LIMIT %s) e"
    " LEFT JOIN things t ON t.id = e.relation ORDER BY e.target, e.rel_type"
)


class PostgresCatalog(PostgresView, Catalog):
    """Reads what the ledger folded in its own transactions."""

    @override
    async def projects(self, spaces: Spaces, *, limit: int) -> Sequence[Space]:
        asked = None if spaces is None else list(spaces)
        found = await self._things(_PROJECTS, {"spaces": asked, "limit": limit})
        return projects_in_order(found)

    @override
    async def search(self, query: CatalogQuery) -> CatalogFound:
        text = fold(query.text)
        nowhere = "\0" in text  # which no text holds, nor can be sent
        values = {
            "space": query.project,
            "kinds": [] if nowhere else sorted(query.kinds or CONTENT_KINDS),
            "text": "" if nowhere else text,
            "limit": query.limit,
        }

        project, ((total,),), page = await self._database.at_once(
            (_THING, (query.project,)), (_TOTAL, values), (_PAGE, values)
        )
        _require_project(project)
        return CatalogFound(entities=things_in(page), total=total)

    @override
    async def entry(self, project: SpaceId, entity_id: str) -> CatalogEntry:
        thing = item_id(project, CONTENT_KINDS[0], entity_id)

        space, found, ((outgoing, incoming),) = await self._database.at_once(
            (_THING, (project,)),
            (_THING, (thing,)),
            (_EDGES, {"space": project, "thing": thing}),
        )
        _require_project(space)
        return CatalogEntry(entity=_entity(found), outgoing=outgoing, incoming=incoming)

    @override
    async def graph(self, query: GraphQuery) -> CatalogGraph:
        root = item_id(query.project, CONTENT_KINDS[0], query.entity_id)

        async def read(db: PgConnection) -> CatalogGraph:
            space, found = await together(db, (_THING, (query.project,)), (_THING, (root,)))
            _require_project(space)
            return await graph_around(db, _entity(found), query)

        return await self._database.reading(read)

    @override
    async def bearers(
        self, project: SpaceId, words: Iterable[tuple[str, str]]
    ) -> Mapping[tuple[str, str], str]:
        asked = list(words)
        values = ([kind for kind, _ in asked], [word for _, word in asked], project)
        rows = await self._database.rows(_BEARERS, values)
        return {(kind, word): identity for kind, word, identity in rows}

    @override
    async def projects_called(self, slugs: Iterable[str]) -> Mapping[str, SpaceId]:
        rows = await self._database.rows(_CALLED, (list(slugs),))
        return {slug: SpaceId(space) for slug, space in rows}

    @override
    async def joined(self, triples: Iterable[Triple]) -> Mapping[Triple, str]:
        asked = list(triples)
        values = tuple([each[n] for each in asked] for n in range(3))
        rows = await self._database.rows(_JOINED, values)
        return {(source, kind, target): relation for source, kind, target, relation in rows}

    @override
    async def items(
        self, project: SpaceId, kind: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Entity]:
        return await self._things(_ITEMS, (project, kind, *after, limit))

    @override
    async def relations_from(
        self, source: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Relation]:
        return await self._things(_FROM, (source, *after, limit))


def _require_project(rows: Sequence[PgRow]) -> None:
    require_project(decode_thing(*rows[0]) if rows else None)


def _entity(rows: Sequence[PgRow]) -> Any:
    entity = decode_thing(*rows[0]) if rows else None
    if item_of(entity) is None:
        raise no_entity()
    return entity
