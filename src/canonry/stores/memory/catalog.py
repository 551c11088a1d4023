"""The catalog in memory: every query is a scan that says what the query means."""

from collections.abc import Iterable, Mapping, Sequence

from typing_extensions import override

from canonry.log.items.entities import Entity
from canonry.log.items.relations import Relation
from canonry.readmodels.catalog import (
    CatalogEdge,
    CatalogItem,
    edge_of,
    fold,
    is_project,
    item_of,
    projects_in_order,
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
from canonry.stores.memory.store import MemoryView
from canonry.values.errors import NotFound
from canonry.values.ids import SpaceId
from canonry.values.spaces import Space


class MemoryCatalog(MemoryView, Catalog):
    """Reads what was folded."""

    @override
    async def projects(self, spaces: Spaces, *, limit: int) -> Sequence[Space]:
        return projects_in_order(filter(is_project, self._store.of(Space, spaces)))[:limit]

    @override
    async def search(self, query: CatalogQuery) -> CatalogFound:
        text = fold(query.text)
        found = [
            item
            for item in self._content(query.project).values()
            if (not query.kinds or item.kind in query.kinds)
            and any(text in fold(part) for part in (item.title, item.slug, item.summary or ""))
        ]
        found.sort(key=lambda item: item.id)
        found.sort(key=lambda item: item.updated, reverse=True)
        page = [self._entity(item.thing) for item in found[: query.limit]]
        return CatalogFound(entities=page, total=len(found))

    @override
    async def entry(self, project: SpaceId, entity_id: str) -> CatalogEntry:
        item = self._require(project, entity_id)
        edges = [edge_of(each) for each in self._store.of(Relation, frozenset((project,)))]
        return CatalogEntry(
            entity=self._entity(item.thing),
            outgoing=sum(edge is not None and edge.source == item.thing for edge in edges),
            incoming=sum(edge is not None and edge.target == item.thing for edge in edges),
        )

    @override
    async def graph(self, query: GraphQuery) -> CatalogGraph:
        root = self._require(query.project, query.entity_id)
        items = self._content(query.project)
        edges = [
            edge
            for edge in map(edge_of, self._store.of(Relation, frozenset((query.project,))))
            if edge is not None
            and edge.source in items
            and edge.target in items
            and (not query.rel_types or edge.rel_type in query.rel_types)
        ]
        depths, more_nodes = _walk(root.thing, items, edges, query)
        kept = [
            edge
            for edge in edges
            if edge.source in depths
            and edge.target in depths
            and min(depths[edge.source], depths[edge.target]) < query.depth
        ]
        kept.sort(key=lambda e: (items[e.source].id, items[e.target].id, e.rel_type))
        return CatalogGraph(
            nodes=[GraphNode(entity=self._entity(i), depth=depth) for i, depth in depths.items()],
            edges=[
                GraphEdge(
                    relation=self._store.things[edge.relation],  # type: ignore[arg-type]
                    source=items[edge.source].id,
                    target=items[edge.target].id,
                )
                for edge in kept[: query.edges_max]
            ],
            more_nodes=more_nodes,
            more_edges=len(kept) > query.edges_max,
        )

    @override
    async def bearers(
        self, project: SpaceId, words: Iterable[tuple[str, str]]
    ) -> Mapping[tuple[str, str], str]:
        wanted = frozenset(words)
        items = sorted(self._items(project), key=lambda item: item.id, reverse=True)
        return {(i.kind, i.word): i.id for i in items if (i.kind, i.word) in wanted}

    @override
    async def projects_called(self, slugs: Iterable[str]) -> Mapping[str, SpaceId]:
        wanted = frozenset(slugs)
        spaces = sorted(filter(is_project, self._store.of(Space, None)), key=lambda s: s.id)
        found = [(str(s.properties.get("slug", "")), s.id) for s in reversed(spaces)]
        return {slug: space for slug, space in found if slug in wanted}

    @override
    async def joined(self, triples: Iterable[Triple]) -> Mapping[Triple, str]:
        edges = (edge for edge in map(edge_of, self._store.of(Relation, None)) if edge)
        found = {(e.source, e.rel_type, e.target): e.relation for e in edges}
        return {triple: found[triple] for triple in triples if triple in found}

    @override
    async def items(
        self, project: SpaceId, kind: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Entity]:
        found = [i for i in self._items(project) if i.kind == kind and (i.word, i.id) > after]
        found.sort(key=lambda item: (item.word, item.id))
        return [self._entity(item.thing) for item in found[:limit]]

    @override
    async def relations_from(
        self, source: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Relation]:
        found = [
            relation
            for relation in self._store.of(Relation, None)
            if edge_of(relation) is not None
            and relation.from_id == source
            and (relation.to_id, relation.rel_type) > after
        ]
        found.sort(key=lambda relation: (relation.to_id, relation.rel_type))
        return found[:limit]

    def _items(self, project: SpaceId) -> list[CatalogItem]:
        entities = self._store.of(Entity, frozenset((project,)))
        return [item for item in map(item_of, entities) if item is not None]

    def _content(self, project: SpaceId) -> dict[str, CatalogItem]:
        if not is_project(self._store.things.get(project)):
            raise NotFound("project.unknown", "there is no project with this id", path="/projectId")
        return {item.thing: item for item in self._items(project) if item.content}

    def _require(self, project: SpaceId, entity_id: str) -> CatalogItem:
        for item in self._content(project).values():
            if item.id == entity_id:
                return item
        message = "there is no entity with this id in the project"
        raise NotFound("entity.unknown", message, path="/entityId")

    def _entity(self, thing_id: str) -> Entity:
        return self._store.things[thing_id]  # type: ignore[return-value]


def _walk(
    root: str, items: Mapping[str, CatalogItem], edges: Sequence[CatalogEdge], query: GraphQuery
) -> tuple[dict[str, int], bool]:
    """The nodes that are kept, in order, with their depth; whether some had no room."""
    depths, level, more = {root: 0}, {root}, False
    for depth in range(1, query.depth + 1):
        beside = {edge.target for edge in edges if edge.source in level}
        beside |= {edge.source for edge in edges if edge.target in level}
        fresh = sorted(beside - depths.keys(), key=lambda i: (items[i].place, items[i].id))
        room = query.nodes_max - len(depths)
        more = more or len(fresh) > room
        level = set(fresh[:room])
        depths |= dict.fromkeys(fresh[:room], depth)
    return depths, more
