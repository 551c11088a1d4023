"""The graph around an entity of a catalog, found step by step in the order of the reply."""

from collections.abc import Sequence
from typing import Final

from canonry.log.items.entities import Entity
from canonry.readmodels.catalog import item_of
from canonry.readmodels.ports.catalog import CatalogGraph, GraphEdge, GraphNode, GraphQuery
from canonry.stores.postgres.database import PgConnection, fetched, together
from canonry.stores.postgres.pages import things_in

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
        nodes=_nodes(things_in(nodes), depths),
        edges=told[: query.edges_max],
        more_nodes=more,
        more_edges=len(told) > query.edges_max,
    )


def _nodes(entities: Sequence[Entity], depths: dict[str, int]) -> Sequence[GraphNode]:
    return [GraphNode(entity=entity, depth=depths[entity.id]) for entity in entities]
