"""Views in memory: documents, text, places and catalogs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from typing_extensions import override

from canonry.language.texts.stems import stems_of
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Memory, Scene, SceneStatus, Turn
from canonry.log.items.sources import Snippet
from canonry.log.schemas.world_types import EXIT
from canonry.readmodels.catalog import (
    CatalogEdge,
    CatalogItem,
    edge_of,
    fold,
    is_project,
    item_of,
    no_entity,
    projects_in_order,
    require_project,
)
from canonry.readmodels.edges import ALWAYS, Way, holds_at, kind_of, way_of
from canonry.readmodels.keywords import Figures, figures_of, measure_of, sought_in
from canonry.readmodels.passages import Passage, passages_of
from canonry.readmodels.ports.documents import (
    Catalog,
    CatalogEntry,
    CatalogFound,
    CatalogGraph,
    CatalogQuery,
    Documents,
    EdgeQuery,
    GraphEdge,
    GraphNode,
    GraphQuery,
    MemoryQuery,
    Places,
    ProposalQuery,
    SceneQuery,
    Triple,
)
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery
from canonry.readmodels.ports.view import Page
from canonry.stores.memory.ledger import MemoryView
from canonry.stores.memory.state import page
from canonry.values.ids import EntityId, SceneId, SourceId, Space, SpaceId
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel


class MemoryDocuments(MemoryView, Documents):
    """Reads what was folded."""

    @override
    async def scenes(self, query: SceneQuery) -> Page[Scene]:
        found = (
            s
            for s in self._store.of(Scene, query.spaces)
            if query.story_id in {None, s.story_id} and query.status in {None, s.status}
        )
        return page(found, query.limit, query.offset, key=lambda s: (s.order, s.created_at, s.id))

    @override
    async def turns(
        self, scene_id: SceneId, *, last: int | None = None, after: int = -1, limit: int = 500
    ) -> Sequence[Turn]:
        mine = (t for t in self._store.of(Turn, None) if t.scene_id == scene_id)
        turns = sorted((t for t in mine if t.index > after), key=lambda t: t.index)
        return turns[:limit] if last is None else turns[max(0, len(turns) - last) :]

    @override
    async def proposals(self, query: ProposalQuery) -> Page[Proposal]:
        found = (
            p
            for p in self._store.of(Proposal, query.spaces)
            if query.scene_id in {None, p.scene_id}
            and p.type in query.types
            and query.status in {None, p.status}
            and (query.asks is None or not query.asks.isdisjoint(p.asks))
        )
        return page(found, query.limit, query.offset)

    @override
    async def memories(self, query: MemoryQuery) -> Page[Memory]:
        found = (
            m
            for m in self._store.of(Memory, None)
            if m.entity_id == query.entity_id and m.importance >= query.min_importance
        )
        return page(
            found,
            query.limit,
            query.offset,
            key=lambda m: (-m.importance, -m.created_at, m.id),
        )

    @override
    async def snippets(self, source_id: SourceId, *, limit: int, offset: int) -> Page[Snippet]:
        mine = (s for s in self._store.of(Snippet, None) if s.source_id == source_id)
        return page(mine, limit, offset, key=lambda s: (s.index, s.id))

    @override
    async def open_scenes(self, space: SpaceId | None, *, limit: int) -> Sequence[Scene]:
        spaces = None if space is None else frozenset((space,))
        finalizing = SceneStatus.FINALIZING
        found = (s for s in self._store.of(Scene, spaces) if s.status is finalizing)
        return page(found, limit, 0).items


class MemoryText(MemoryView, Text):
    """Reads what was folded."""

    @override
    async def search(self, query: TextQuery) -> TextFound:
        everything = self._searched(query)
        measure = measure_of(sought_in(query.text), [stems for _, stems in everything])
        hits = [
            Hit.of(passage, shares)
            for passage, stems in everything
            if query.allows(passage) and (shares := measure.shares(stems))
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.id))
        asked = measure.asked(hits[0].shares if hits else {})
        return TextFound(hits=hits[: query.limit], asked=asked)

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        return figures_of([held for _, held in self._searched(query)], among=frozenset(stems))

    def _searched(self, query: TextQuery) -> Sequence[tuple[Passage, Sequence[str]]]:
        """The passages of the collection and spaces, each with its stems."""
        return [
            (passage, stems_of(passage.text))
            for thing in self._store.things.values()
            for passage in passages_of(thing)
            if passage.collection is query.collection
            and (query.spaces is None or passage.space in query.spaces)
        ]

    @override
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        things = (self._store.things.get(identity) for identity in frozenset(ids))
        return [
            Hit.of(passage, {})
            for thing in things
            if thing is not None
            for passage in passages_of(thing)
            if query.allows(passage)
        ]


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
        require_project(self._store.things.get(project))
        return {item.thing: item for item in self._items(project) if item.content}

    def _require(self, project: SpaceId, entity_id: str) -> CatalogItem:
        for item in self._content(project).values():
            if item.id == entity_id:
                return item
        raise no_entity()

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
