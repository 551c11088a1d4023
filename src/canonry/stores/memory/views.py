"""Views in memory: each query is a scan that states its meaning."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, TypeVar

from typing_extensions import override

from canonry.language.texts.sentences import plain_statement
from canonry.language.texts.stems import stems_of
from canonry.log.commits import Position
from canonry.log.entries import StoredItem
from canonry.log.folding import statements_keys
from canonry.log.items.entities import NEVER_SEEN, Entity, normalised_name
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Memory, Scene, SceneStatus, Turn
from canonry.log.items.secret_parts import may_all_know
from canonry.log.items.sources import Snippet
from canonry.log.observations import with_observations
from canonry.log.schemas.identity_keys import IdentifierOwner, IdentifierRow, rows_of
from canonry.log.schemas.world_types import EXIT
from canonry.readmodels import catalog
from canonry.readmodels.edges import ALWAYS, OpenExit, holds_at, kind_of, open_exit_of
from canonry.readmodels.passages import Passage, passages_of
from canonry.readmodels.ports import documents
from canonry.readmodels.ports import state as ports
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery
from canonry.readmodels.ports.view import PAGE_MAX, Page
from canonry.readmodels.ranking import Figures, figures_of, measure_of, parse_query
from canonry.readmodels.timeline import (
    TimelineEntry,
    TimelineEvent,
    entries_current,
    event_of,
    observation_entries,
)
from canonry.stores.memory.ledger import MemoryView
from canonry.values.audience import is_compartment
from canonry.values.ids import EntityId, SceneId, SourceId, Space, SpaceId
from canonry.values.moments import Instant
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel

Q = TypeVar("Q")
T = TypeVar("T", bound=StoredItem)
NAMESAKES_MAX = 50  # the same as in SQLite, so that both answer alike


def page_of(
    items: Iterable[T], limit: int, offset: int, key: Callable[[T], object] | None = None
) -> Page[T]:
    """Return a page in the order of `key`, by default (created_at, id)."""
    ordered = sorted(items, key=key or (lambda t: (t.created_at, t.id)))  # type: ignore[union-attr, arg-type]
    return Page(items=ordered[offset : offset + limit], total=len(ordered))


class MemoryState(MemoryView, ports.State):
    """Scans the items that the ledger folded."""

    def _stored_page(
        self, items: Iterable[T], limit: int, offset: int, key: Callable[[T], object] | None = None
    ) -> Page[T]:
        """Return a page of the stored items for variants that were found."""
        found = page_of(items, limit, offset, key)
        stored: Any = [self._store.items[each.id] for each in found.items]
        return Page(items=stored, total=found.total)

    @override
    async def items_by_id(self, ids: Iterable[str]) -> Mapping[str, StoredItem]:
        return {i: self._store.items[i] for i in ids if i in self._store.items}

    @override
    async def ids_beginning(self, text: str, *, limit: int) -> Sequence[str]:
        return sorted(i for i in self._store.items if i.startswith(text))[:limit]

    @override
    async def items_as_known_at(
        self, ids: Iterable[str], position: Position
    ) -> Mapping[str, StoredItem]:
        found: dict[str, StoredItem] = {}
        for item_id in ids:
            past = [t for t in self._store.versions.get(item_id, ()) if t.changed_at <= position]
            if past:
                found[item_id] = past[-1]
        return found

    @override
    async def list_items(self, kind: type[Q], query: ports.ListQuery) -> Page[Q]:
        owning = "parent" if kind is Space else "source_id"
        naming = "kind" if kind is Space else "entity_type"
        direction = -1 if query.newest_first else 1

        def sort_key(thing: Any) -> tuple[int, str]:
            at = thing.position if kind is Observation else thing.created_at
            return direction * at, thing.id

        found: Any = (
            item
            for item in self._store.visible_items(kind, query.spaces)
            if query.owner in {None, getattr(item, owning, None)}
            and query.named in {None, getattr(item, naming, None)}
        )
        return self._stored_page(found, query.limit, query.offset, key=sort_key)

    @override
    async def compartments(self) -> frozenset[SpaceId]:
        spaces = frozenset[SpaceId]().union(*self._store.variant_spaces.values())
        return frozenset(filter(is_compartment, spaces))

    @override
    async def entities(self, query: ports.EntityQuery) -> Page[Entity]:
        found = filter(query.matches, self._store.visible_items(Entity, query.spaces))
        return self._stored_page(found, query.limit, query.offset)

    @override
    async def entities_named(self, space: SpaceId, entity_type: str, name: str) -> Sequence[Entity]:
        wanted = normalised_name(name)
        return self._stored_page(
            (
                e
                for e in self._store.visible_items(Entity, frozenset((space,)))
                if e.entity_type == entity_type
                and e.level is CanonLevel.CANON
                and e.merged_into is None
                and wanted in e.known_as
            ),
            NAMESAKES_MAX,
            0,
            key=lambda e: (normalised_name(e.name) != wanted, e.created_at, e.id),
        ).items

    @override
    async def observations(
        self, entity_id: EntityId, *, after: Position, limit: int
    ) -> Sequence[Observation]:
        mine = (o for o in self._store.visible_items(Observation, None) if o.entity_id == entity_id)
        later = (o for o in mine if o.position > after)
        return self._stored_page(later, limit, 0, key=lambda o: (o.position, o.id)).items

    @override
    async def entities_identified(self, query: ports.IdentifierQuery) -> Mapping[str, Page[Entity]]:
        found: dict[str, Page[Entity]] = {}
        rows: dict[str, list[IdentifierRow]] = defaultdict(list)
        for entity in self._store.visible_items(Entity, query.spaces):
            if query.entity_type in {None, entity.entity_type}:
                for row in rows_of(entity):
                    rows[row.key].append(row)
        for key in query.keys:
            exact: dict[str, int] = {}
            longer: dict[str, str] = {}
            for row in rows.get(key, ()):
                exact[row.root] = min(exact.get(row.root, row.born), row.born)
            for text in sorted(rows) if query.begins else ():
                if text.startswith(key) and text != key:
                    longer |= {row.root: text for row in rows[text] if row.root not in longer}
            roots = sorted(exact, key=lambda i: (exact[i], i))
            roots += sorted(longer.keys() - exact.keys(), key=lambda i: (longer[i], i))
            if roots:
                shown: list[Any] = [self._store.items[i] for i in roots[: query.limit]]
                found[key] = Page(items=shown, total=len(roots))
        return found

    @override
    async def identifier_owners(
        self, query: ports.IdentifierQuery
    ) -> Mapping[str, Page[IdentifierOwner]]:
        return {
            key: Page(
                items=[
                    IdentifierOwner(
                        id=e.id, entity_type=e.entity_type, members=e.members, borne=e.borne
                    )
                    for e in found.items
                ],
                total=found.total,
            )
            for key, found in (await self.entities_identified(query)).items()
        }

    @override
    async def entity_types(self, spaces: ports.Spaces) -> Mapping[str, int]:
        standing = (
            e.entity_type
            for e in self._store.visible_items(Entity, spaces)
            if e.merged_into is None and e.level is CanonLevel.CANON
        )
        return dict(sorted(Counter(standing).items()))

    @override
    async def entities_seen_until(
        self, entity_ids: Iterable[EntityId], instant: Instant
    ) -> Mapping[str, Entity]:
        found: dict[str, Entity] = {}
        for entity_id in entity_ids:
            entity = self._store.items.get(entity_id)
            if isinstance(entity, Entity):
                observations = self._observations_of((entity_id,))
                seen = (o for o in observations if o.seen_at <= instant and may_all_know(o, entity))
                blank = replace(entity, own={}, sightings=NEVER_SEEN, veils=())
                found[entity_id] = with_observations(blank, seen)
        return found

    def _observations_of(self, entity_ids: Iterable[str]) -> Iterator[Observation]:
        wanted = frozenset(entity_ids)
        return (o for o in self._store.visible_items(Observation, None) if o.entity_id in wanted)

    @override
    async def observations_newest(
        self, entity_ids: Iterable[EntityId], *, limit: int, offset: int
    ) -> Page[Observation]:
        mine = self._observations_of(entity_ids)
        return self._stored_page(mine, limit, offset, key=lambda o: (-o.seen_at, -o.position, o.id))

    @override
    async def timeline(self, query: ports.TimelineQuery) -> Page[TimelineEvent]:
        start = -math.inf if query.start is None else query.start
        end = math.inf if query.end is None else query.end
        if query.superseded:
            entry_lists = map(
                observation_entries, self._store.visible_items(Observation, query.spaces)
            )
        else:
            entry_lists = map(entries_current, self._store.visible_items(Entity, query.spaces))
        events: dict[tuple[str, str], list[TimelineEntry]] = defaultdict(list)
        for entry in (each for one in entry_lists for each in one):
            if (
                query.event_type in {None, entry.event_type}
                and query.source_id in {None, entry.source_id}
                and start <= entry.instant <= end
            ):
                events[entry.space, entry.event_id].append(entry)
        found = sorted(
            (event_of(tuple(es)) for es in events.values()), key=lambda e: (-e.instant, e.id)
        )
        shown = found[query.offset : query.offset + query.limit]
        return Page(
            items=[replace(e, entries=e.entries[:PAGE_MAX]) for e in shown], total=len(found)
        )

    @override
    async def facts(self, query: ports.FactQuery) -> Page[Fact]:
        found = filter(query.matches, self._store.visible_items(Fact, query.spaces))
        return self._stored_page(found, query.limit, query.offset)

    @override
    async def facts_stating(self, space: SpaceId, statements: AbstractSet[str]) -> Sequence[Fact]:
        wanted = frozenset(map(plain_statement, statements))
        facts = self._store.visible_items(Fact, frozenset((space,)))
        same = [f for f in facts if plain_statement(f.statement) in wanted]
        return self._stored_page(same, ports.STATING_MAX * len(wanted), 0).items

    @override
    async def facts_framed(self, space: SpaceId, keys: Mapping[str, int]) -> Sequence[Fact]:
        known = self._store.visible_items(Fact, frozenset((space,)))
        facts = sorted((f for f in known if f.level is CanonLevel.CANON), key=lambda f: f.id)
        facts.sort(key=lambda fact: -fact.created_at)
        found = {
            fact.id: fact
            for key, limit in keys.items()
            for fact in [f for f in facts if key in statements_keys(f)][:limit]
        }
        return self._stored_page(found.values(), len(found), 0).items

    @override
    async def events(self, query: ports.EventQuery) -> Page[Event]:
        found = filter(query.matches, self._store.visible_items(Event, query.spaces))
        return self._stored_page(found, query.limit, query.offset, key=_event_key)

    @override
    async def relations(self, query: ports.RelationQuery) -> Page[Relation]:
        found = filter(query.matches, self._store.visible_items(Relation, query.spaces))
        if not query.newest_first:
            return self._stored_page(found, query.limit, query.offset)
        return self._stored_page(
            found, query.limit, query.offset, key=lambda r: (-r.created_at, r.id)
        )


class MemoryDocuments(MemoryView, documents.Documents):
    """Scans the items that the ledger folded."""

    @override
    async def scenes(self, query: documents.SceneQuery) -> Page[Scene]:
        found = filter(query.matches, self._store.visible_items(Scene, query.spaces))
        return page_of(
            found, query.limit, query.offset, key=lambda s: (s.order, s.created_at, s.id)
        )

    @override
    async def turns(
        self, scene_id: SceneId, *, last: int | None = None, after: int = -1, limit: int = 500
    ) -> Sequence[Turn]:
        mine = (t for t in self._store.visible_items(Turn, None) if t.scene_id == scene_id)
        turns = sorted((t for t in mine if t.index > after), key=lambda t: t.index)
        return turns[:limit] if last is None else turns[max(0, len(turns) - last) :]

    @override
    async def proposals(self, query: documents.ProposalQuery) -> Page[Proposal]:
        found = filter(query.matches, self._store.visible_items(Proposal, query.spaces))
        return page_of(found, query.limit, query.offset)

    @override
    async def memories(self, query: documents.MemoryQuery) -> Page[Memory]:
        found = filter(query.matches, self._store.visible_items(Memory, None))
        return page_of(
            found, query.limit, query.offset, key=lambda m: (-m.importance, -m.created_at, m.id)
        )

    @override
    async def snippets(self, source_id: SourceId, *, limit: int, offset: int) -> Page[Snippet]:
        mine = (s for s in self._store.visible_items(Snippet, None) if s.source_id == source_id)
        return page_of(mine, limit, offset, key=lambda s: (s.index, s.id))

    @override
    async def open_scenes(self, space: SpaceId | None, *, limit: int) -> Sequence[Scene]:
        spaces = None if space is None else frozenset((space,))
        finalizing = SceneStatus.FINALIZING
        found = (s for s in self._store.visible_items(Scene, spaces) if s.status is finalizing)
        return page_of(found, limit, 0).items


class MemoryText(MemoryView, Text):
    """Scans the items that the ledger folded."""

    @override
    async def search(self, query: TextQuery) -> TextFound:
        everything = self._searched_passages(query)
        measure = measure_of(parse_query(query.text), [stems for _, stems in everything])
        hits = [
            Hit.make_hit(passage, shares)
            for passage, stems in everything
            if query.allows(passage) and (shares := measure.term_shares(stems))
        ]
        return TextFound.best_hits(hits, measure, query.limit)

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        return figures_of([h for _, h in self._searched_passages(query)], among=frozenset(stems))

    def _searched_passages(self, query: TextQuery) -> Sequence[tuple[Passage, Sequence[str]]]:
        """Return the passages of the collection and spaces, each with its stems."""
        return [
            (passage, stems_of(passage.text))
            for item in self._store.items.values()
            for passage in passages_of(item)
            if passage.collection is query.collection
            and (query.spaces is None or passage.space in query.spaces)
        ]

    @override
    async def hits_of_items(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        items = (self._store.items.get(identity) for identity in frozenset(ids))
        return [
            Hit.make_hit(passage, {})
            for item in items
            if item is not None
            for passage in passages_of(item)
            if query.allows(passage)
        ]


class MemoryPlaces(MemoryView, documents.Places):
    """Scans the items that the ledger folded."""

    @override
    async def edges(self, query: documents.EdgeQuery) -> Sequence[Relation]:
        holding = [
            r
            for r in self._store.items_homed_in(Relation, query.space)
            if r.rel_type == query.rel_type and holds_at(r, query.at)
        ]
        found: list[Relation] = []
        for entity in query.entities:
            mine = [r for r in holding if (r.from_id if query.outward else r.to_id) == entity]
            if query.kinds is None:
                ordered = sorted(mine, key=_start_key, reverse=query.newest_first)
                found += sorted(ordered, key=kind_of)[: query.limit]
                continue
            for kind in query.kinds:
                alike = (r for r in mine if kind_of(r) == kind)
                found += sorted(alike, key=_start_key, reverse=query.newest_first)[: query.limit]
        return found

    @override
    async def open_exits(
        self, space: SpaceId, places: Iterable[EntityId], at: Instant
    ) -> Sequence[OpenExit]:
        exits = documents.EdgeQuery(
            space=space, entities=tuple(places), rel_type=EXIT, at=at, kinds=None
        )
        return [
            found_exit
            for edge in await self.edges(exits)
            if (found_exit := open_exit_of(edge)) is not None
        ]

    @override
    async def events_until(
        self, space: SpaceId, entity: EntityId, at: Instant, *, limit: int
    ) -> Sequence[Event]:
        past = (
            e for e in self._canon_events(space) if entity in e.involved and _event_key(e)[0] <= at
        )
        return sorted(past, key=_event_key, reverse=True)[:limit]

    @override
    async def entities_after(
        self, space: SpaceId, entity_type: str, last: Entity | None, *, limit: int
    ) -> Sequence[Entity]:
        following = (
            e
            for e in self._store.visible_items(Entity, frozenset((space,)))
            if e.entity_type == entity_type
            and e.level is CanonLevel.CANON
            and e.merged_into is None
            and (last is None or _creation_key(e) > _creation_key(last))
        )
        return sorted(following, key=_creation_key)[:limit]

    @override
    async def events_after(
        self, space: SpaceId, last: Event | None, *, limit: int
    ) -> Sequence[Event]:
        events = self._canon_events(space)
        return sorted(
            (e for e in events if last is None or _event_key(e) > _event_key(last)), key=_event_key
        )[:limit]

    def _canon_events(self, space: SpaceId) -> Iterator[Event]:
        events = self._store.visible_items(Event, frozenset((space,)))
        return (e for e in events if e.level is CanonLevel.CANON)


def _event_key(event: Event) -> tuple[int, int, str]:
    return (*event.rank, event.id)


def _creation_key(entity: Entity) -> tuple[int, str]:
    return (entity.created_at, entity.id)


def _start_key(relation: Relation) -> tuple[int, str]:
    return (ALWAYS if relation.since is None else relation.since, relation.id)


class MemoryCatalog(MemoryView, documents.Catalog):
    """Scans the items that the ledger folded."""

    @override
    async def projects(self, spaces: ports.Spaces, *, limit: int) -> Sequence[Space]:
        return catalog.projects_in_order(
            filter(catalog.is_project, self._store.visible_items(Space, spaces))
        )[:limit]

    @override
    async def search(self, query: documents.CatalogQuery) -> Page[Entity]:
        text = catalog.normalise_text(query.text)
        found = [
            item
            for item in self._content_items(query.project).values()
            if (not query.kinds or item.kind in query.kinds)
            and any(
                text in catalog.normalise_text(part)
                for part in (item.title, item.slug, item.summary or "")
            )
        ]
        found.sort(key=lambda item: item.id)
        found.sort(key=lambda item: item.updated, reverse=True)
        page = [self._entity_of(item.entity_id) for item in found[: query.limit]]
        return Page(items=page, total=len(found))

    @override
    async def find_entry(self, project: SpaceId, entity_id: str) -> documents.CatalogEntry:
        item = self._require_item(project, entity_id)
        edges = [
            catalog.edge_of(each)
            for each in self._store.visible_items(Relation, frozenset((project,)))
        ]
        return documents.CatalogEntry(
            entity=self._entity_of(item.entity_id),
            outgoing=sum(edge is not None and edge.source == item.entity_id for edge in edges),
            incoming=sum(edge is not None and edge.target == item.entity_id for edge in edges),
        )

    @override
    async def find_graph(self, query: documents.GraphQuery) -> documents.CatalogGraph:
        root = self._require_item(query.project, query.entity_id)
        items = self._content_items(query.project)
        edges = [
            edge
            for edge in map(
                catalog.edge_of, self._store.visible_items(Relation, frozenset((query.project,)))
            )
            if edge is not None
            and edge.source in items
            and edge.target in items
            and (not query.rel_types or edge.rel_type in query.rel_types)
        ]
        depths, more_nodes = _walk_graph(root.entity_id, items, edges, query)
        kept = [
            edge
            for edge in edges
            if edge.source in depths
            and edge.target in depths
            and min(depths[edge.source], depths[edge.target]) < query.depth
        ]
        kept.sort(key=lambda e: (items[e.source].id, items[e.target].id, e.rel_type))
        return documents.CatalogGraph(
            nodes=[
                documents.GraphNode(entity=self._entity_of(i), depth=depth)
                for i, depth in depths.items()
            ],
            edges=[
                documents.GraphEdge(
                    relation=self._store.items[edge.relation],  # type: ignore[arg-type]
                    source=items[edge.source].id,
                    target=items[edge.target].id,
                )
                for edge in kept[: query.edges_max]
            ],
            more_nodes=more_nodes,
            more_edges=len(kept) > query.edges_max,
        )

    @override
    async def handle_owners(
        self, project: SpaceId, handles: Iterable[tuple[str, str]]
    ) -> Mapping[tuple[str, str], str]:
        wanted = frozenset(handles)
        items = sorted(self._catalog_items(project), key=lambda item: item.id, reverse=True)
        return {(i.kind, i.handle): i.id for i in items if (i.kind, i.handle) in wanted}

    @override
    async def projects_called(self, slugs: Iterable[str]) -> Mapping[str, SpaceId]:
        wanted = frozenset(slugs)
        spaces = sorted(
            filter(catalog.is_project, self._store.visible_items(Space, None)), key=lambda s: s.id
        )
        found = [(str(s.properties.get("slug", "")), s.id) for s in reversed(spaces)]
        return {slug: space for slug, space in found if slug in wanted}

    @override
    async def current_relations(
        self, triples: Iterable[documents.Triple]
    ) -> Mapping[documents.Triple, str]:
        edges = (
            edge for edge in map(catalog.edge_of, self._store.visible_items(Relation, None)) if edge
        )
        found = {(e.source, e.rel_type, e.target): e.relation for e in edges}
        return {triple: found[triple] for triple in triples if triple in found}

    @override
    async def list_items(
        self, project: SpaceId, kind: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Entity]:
        found = [
            i for i in self._catalog_items(project) if i.kind == kind and (i.handle, i.id) > after
        ]
        found.sort(key=lambda item: (item.handle, item.id))
        return [self._entity_of(item.entity_id) for item in found[:limit]]

    @override
    async def relations_from(
        self, source: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Relation]:
        found = [
            relation
            for relation in self._store.visible_items(Relation, None)
            if catalog.edge_of(relation) is not None
            and relation.from_id == source
            and (relation.to_id, relation.rel_type) > after
        ]
        found.sort(key=lambda relation: (relation.to_id, relation.rel_type))
        return found[:limit]

    def _catalog_items(self, project: SpaceId) -> list[catalog.CatalogItem]:
        entities = self._store.visible_items(Entity, frozenset((project,)))
        return [item for item in map(catalog.item_of, entities) if item is not None]

    def _content_items(self, project: SpaceId) -> dict[str, catalog.CatalogItem]:
        catalog.require_project(self._store.items.get(project))
        return {item.entity_id: item for item in self._catalog_items(project) if item.is_content}

    def _require_item(self, project: SpaceId, entity_id: str) -> catalog.CatalogItem:
        for item in self._content_items(project).values():
            if item.id == entity_id:
                return item
        raise catalog.missing_entity()

    def _entity_of(self, item_id: str) -> Entity:
        return self._store.items[item_id]  # type: ignore[return-value]


def _walk_graph(
    root: str,
    items: Mapping[str, catalog.CatalogItem],
    edges: Sequence[catalog.CatalogEdge],
    query: documents.GraphQuery,
) -> tuple[dict[str, int], bool]:
    """Return the kept nodes in order with their depth, and whether some had no room."""
    depths, level, more = {root: 0}, {root}, False
    for depth in range(1, query.depth + 1):
        neighbours = {edge.target for edge in edges if edge.source in level}
        neighbours |= {edge.source for edge in edges if edge.target in level}
        fresh = sorted(neighbours - depths.keys(), key=lambda i: (items[i].title_key, items[i].id))
        room = query.nodes_max - len(depths)
        more = more or len(fresh) > room
        level = set(fresh[:room])
        depths |= dict.fromkeys(fresh[:room], depth)
    return depths, more
