"""Catalogs in SQLite: their tables, and queries over them."""

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, Final, TypeAlias, TypeVar

import apsw
from typing_extensions import override

from canonry.log.entries import StoredItem
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.schemas.catalog_tables import CONTENT_KINDS, LINKS, RELATIONS
from canonry.readmodels import catalog
from canonry.readmodels.listing import List
from canonry.readmodels.ports import documents
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.view import Page
from canonry.stores.sqlite.connections import Query
from canonry.stores.sqlite.rows import (
    Packed,
    filled,
    find_item,
    item_in_row,
    pack_id,
    packed_sort_key,
    select_items,
    select_number,
    unpack_id,
)
from canonry.stores.sqlite.state import SqliteView
from canonry.values.ids import Space, SpaceId

# Search in a catalog finds exact substrings and counts all matches, the newest entities first.
#
# SQLite's trigram index finds texts that occur in few entities. For a frequent text, or one of
# fewer than three characters, the texts of the project are read in the order of the reply. That
# takes about 50 ms for 10^5 texts, and the page is among the first.

FEW: Final = 1_000
"""Up to this many matches in all projects, the index answers, and each match is looked up."""

_GRAM: Final = 3
_CONFUSED: Final = frozenset("\ufffd\ufffe\uffff")
"""Characters that the index does not tell apart."""

_TEXT: Final = "INSERT INTO catalog_texts VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_GRAMS: Final = "INSERT INTO catalog_grams (rowid, title, slug, summary) VALUES (?, ?, ?, ?)"
_NO_GRAMS: Final = (
    "INSERT INTO catalog_grams (catalog_grams, rowid, title, slug, summary)"
    " VALUES ('delete', ?, ?, ?, ?)"
)

_HELD: Final = (
    "SELECT count(*) FROM (SELECT 1 FROM catalog_grams WHERE catalog_grams MATCH ? LIMIT ?)"
)
_WANTED: Final = (
    "t.space = :space AND t.kind IN (:kind0, :kind1, :kind2, :kind3)"
    " AND (instr(t.title, :text) OR instr(t.slug, :text) OR instr(t.summary, :text))"
)
_FOUND: Final = (
    "SELECT t.n FROM catalog_grams g CROSS JOIN catalog_texts t ON t.n = g.rowid"  # noqa: S608
    f" WHERE g.catalog_grams MATCH :phrase AND {_WANTED} ORDER BY t.updated DESC, t.id"
)
_COUNT: Final = f"SELECT count(*) FROM catalog_texts t WHERE {_WANTED}"  # noqa: S608 - our own SQL
_PAGE: Final = (
    f"SELECT t.n FROM catalog_texts t WHERE {_WANTED}"  # noqa: S608 - our own SQL
    " ORDER BY t.updated DESC, t.id LIMIT :limit"
)


def search_texts(db: apsw.Connection, query: documents.CatalogQuery) -> tuple[Sequence[int], int]:
    """Return the row numbers of the items on the page, and the number of all matches."""
    text = catalog.normalise_text(query.text)
    if "\0" in text:  # no text contains NUL, which would end the statement's value
        return (), 0
    kinds = sorted(query.kinds or CONTENT_KINDS)
    among = (*kinds, *("",) * (len(CONTENT_KINDS) - len(kinds)))
    values = {"space": pack_id(query.project), "text": text, "limit": query.limit}
    values |= {f"kind{i}": kind for i, kind in enumerate(among)}
    phrase = _trigram_phrase(text)
    if phrase is not None and select_number(db, _HELD, (phrase, FEW + 1)) <= FEW:
        found = _select_numbers(db, _FOUND, {**values, "phrase": phrase})
        return found[: query.limit], len(found)
    page = _select_numbers(db, _PAGE, values)
    if len(page) < query.limit:  # then every text was read
        return page, len(page)
    return page, select_number(db, _COUNT, values)


def _trigram_phrase(text: str) -> str | None:
    """Return the query for the trigram index, or None if the index cannot answer."""
    if len(text) < _GRAM or not _CONFUSED.isdisjoint(text):
        return None
    return '"' + text.replace('"', '""') + '"'


def _folded_texts(item: catalog.CatalogItem) -> tuple[str, str, str]:
    return (
        catalog.normalise_text(item.title),
        catalog.normalise_text(item.slug),
        catalog.normalise_text(item.summary or ""),
    )


def _select_numbers(db: apsw.Connection, sql: str, values: dict[str, Any]) -> Sequence[int]:
    rows: list[Any] = db.execute(sql, values).fetchall()
    return [row[0] for row in rows]


# Rows of a catalog: projects, items and relations in the tables that answer queries.
#
# The rows derive from the items alone. Items are written before relations, because the rows of a
# relation contain the titles of its ends.

Changed: TypeAlias = tuple[int, StoredItem | None, StoredItem]
"""(row number, item before, item after)."""

_PROJECT: Final = "INSERT INTO catalog_projects VALUES (?, ?, ?)"
_NO_PROJECT: Final = "DELETE FROM catalog_projects WHERE place = ? AND id = ?"
_ITEM: Final = "INSERT INTO catalog_items VALUES (?, ?, ?, ?, ?)"
_NO_ITEM: Final = "DELETE FROM catalog_items WHERE space = ? AND kind = ? AND word = ? AND id = ?"
_NODE: Final = "INSERT INTO catalog_nodes VALUES (?, ?, ?)"
_TOGETHER: Final = 64  # one statement of a fixed size stays prepared: bench catalog
_FIND_NODES: Final = (
    "SELECT thing, id, place FROM catalog_nodes"  # noqa: S608 - marks for values
    f" WHERE thing IN ({', '.join('?' * _TOGETHER)})"
)
_NEIGHBOURS_OF: Final = "SELECT rel_type, outward, other FROM catalog_neighbours WHERE thing = ?"

_NEIGHBOUR: Final = "INSERT OR REPLACE INTO catalog_neighbours VALUES (?, ?, ?, ?, ?, ?)"
_NO_NEIGHBOUR: Final = (
    "DELETE FROM catalog_neighbours WHERE thing = ? AND rel_type = ? AND place = ? AND id = ?"
    " AND outward = ?"
)
_NO_NEIGHBOURS: Final = "DELETE FROM catalog_neighbours WHERE thing = ?"
_EDGE: Final = "INSERT OR REPLACE INTO catalog_edges VALUES (?, ?, ?, ?)"
_NO_EDGE: Final = (
    "DELETE FROM catalog_edges WHERE source = ? AND target = ? AND rel_type = ? AND relation = ?"
)

_RELATIONS: Final = (
    "SELECT t.kind, t.body FROM listing l CROSS JOIN things t ON t.id = l.id"
    " WHERE l.list = ? AND l.owner = ?"
)


def update_catalog(db: apsw.Connection, changed: Sequence[Changed]) -> None:
    """Update the tables of the catalog to these items."""
    gone: list[catalog.CatalogEdge] = []
    come: list[catalog.CatalogEdge] = []
    for n, was, item in changed:
        kind = type(item if was is None else was)
        if kind is Relation:
            before, now = catalog.edge_of(was), catalog.edge_of(item)
            if before != now:
                gone += [before] if before else []
                come += [now] if now else []
        elif kind is Entity:
            old, new = catalog.item_of(was), catalog.item_of(item)
            _update_item(db, n, old, new)
            if was is not None and old is None and new is not None:
                rows: list[Any] = db.execute(
                    _RELATIONS, (int(List.RELATIONS_OF), pack_id(new.entity_id))
                ).fetchall()
                relations = (item_in_row(*row) for row in rows)
                come += [edge for edge in map(catalog.edge_of, relations) if edge is not None]
        elif kind is Space and (catalog.is_project(was) or catalog.is_project(item)):
            if isinstance(was, Space):
                db.execute(_NO_PROJECT, (catalog.title_key_of(was.name), pack_id(was.id)))
            if isinstance(item, Space):
                slug = str(item.properties.get("slug", ""))
                db.execute(_PROJECT, (catalog.title_key_of(item.name), pack_id(item.id), slug))
    for edge in gone:
        _remove_edge(db, edge)
    _insert_edges(db, come)


def _update_item(
    db: apsw.Connection, n: int, was: catalog.CatalogItem | None, now: catalog.CatalogItem | None
) -> None:
    if was == now:
        return
    if was is not None:
        db.execute(_NO_ITEM, (pack_id(was.project), was.kind, was.handle, pack_id(was.id)))
        if was.is_content:
            db.execute(_NO_GRAMS, (n, *_folded_texts(was)))
            db.execute("DELETE FROM catalog_texts WHERE n = ?", (n,))
    if now is not None:
        space, contract_id = pack_id(now.project), pack_id(now.id)
        db.execute(_ITEM, (space, now.kind, now.handle, contract_id, pack_id(now.entity_id)))
        if now.is_content:
            texts = _folded_texts(now)
            db.execute(
                _TEXT, (pack_id(now.project), now.updated, pack_id(now.id), now.kind, n, *texts)
            )
            db.execute(_GRAMS, (n, *texts))
    _update_node(db, was, now)


def _update_node(
    db: apsw.Connection, was: catalog.CatalogItem | None, now: catalog.CatalogItem | None
) -> None:
    before = (was.title_key, was.id) if was is not None and was.is_content else None
    after = (now.title_key, now.id) if now is not None and now.is_content else None
    either = now or was
    if before == after or either is None:
        return
    packed = pack_id(either.entity_id)
    if before is not None:
        # Move an entity to its new title in the lists of its neighbours; None removes it.
        sort_key, contract_id = before
        neighbours: list[Any] = db.execute(_NEIGHBOURS_OF, (packed,)).fetchall()
        for rel_type, outward, other in neighbours:
            inward = 1 - outward
            db.execute(_NO_NEIGHBOUR, (other, rel_type, sort_key, pack_id(contract_id), inward))
            if after is not None:
                row = (other, rel_type, after[0], pack_id(after[1]), inward, packed)
                db.execute(_NEIGHBOUR, row)
        if after is None:
            db.execute(_NO_NEIGHBOURS, (packed,))
        db.execute("DELETE FROM catalog_nodes WHERE thing = ?", (packed,))
    if now is not None and after is not None:
        db.execute(_NODE, (packed, pack_id(now.id), now.title_key))


def _remove_edge(db: apsw.Connection, edge: catalog.CatalogEdge) -> None:
    source, target = pack_id(edge.source), pack_id(edge.target)
    db.execute(_NO_EDGE, (source, target, edge.rel_type, pack_id(edge.relation)))
    nodes = _find_nodes(db, (source, target))
    one, two = nodes.get(source), nodes.get(target)
    if one is not None and two is not None:
        db.execute(_NO_NEIGHBOUR, (source, edge.rel_type, two[1], two[0], 1))
        db.execute(_NO_NEIGHBOUR, (target, edge.rel_type, one[1], one[0], 0))


def _insert_edges(db: apsw.Connection, come: Sequence[catalog.CatalogEdge]) -> None:
    """Insert edges in the order of the table, so that edges of one item are written together."""
    if not come:
        return
    nodes = _find_nodes(db, {pack_id(end) for edge in come for end in (edge.source, edge.target)})
    edges: list[tuple[Any, ...]] = []
    neighbours: list[tuple[Any, ...]] = []
    for edge in come:
        source, target, kind = pack_id(edge.source), pack_id(edge.target), edge.rel_type
        edges.append((source, target, kind, pack_id(edge.relation)))
        one, two = nodes.get(source), nodes.get(target)
        if one is not None and two is not None:
            neighbours.append((source, kind, two[1], two[0], 1, target))
            neighbours.append((target, kind, one[1], one[0], 0, source))
    edges.sort(key=lambda row: packed_sort_key(row[0]))
    neighbours.sort(key=lambda row: packed_sort_key(row[0]))
    db.executemany(_EDGE, edges)
    db.executemany(_NEIGHBOUR, neighbours)


def _find_nodes(db: apsw.Connection, ids: Collection[Packed]) -> Mapping[Packed, tuple[Any, Any]]:
    """Return (id, place) of each id that is an existing entity."""
    found: dict[Packed, tuple[Any, Any]] = {}
    for some in filled(list(ids), _TOGETHER):
        rows: Any = db.execute(_FIND_NODES, some)
        found |= {node_id: (contract_id, sort_key) for node_id, contract_id, sort_key in rows}
    return found


# The graph around an entity of a catalog, searched breadth-first in the order of the reply.
#
# A table lists the neighbours of each entity in that order. A step reads little more than it keeps,
# however many neighbours there are. Edges are read only between the kept nodes.

_NEIGHBOURS_PAGE: Final = 64  # bounds the rows that a lookup reads: bench catalog
_FIND_NODE: Final = "SELECT place, id FROM catalog_nodes WHERE thing = ?"
_FIRST: Final = (
    "SELECT place, id, other, outward FROM catalog_neighbours WHERE thing = ? AND rel_type = ?"
    " ORDER BY place, id, outward LIMIT ?"
)
_NEXT: Final = (
    "SELECT place, id, other, outward FROM catalog_neighbours WHERE thing = ? AND rel_type = ?"
    " AND (place, id, outward) > (?, ?, ?) ORDER BY place, id, outward LIMIT ?"
)
_EDGES: Final = (
    "WITH kept (thing) AS (VALUES {marks}) SELECT e.target, e.rel_type, e.relation"
    " FROM kept CROSS JOIN catalog_edges e WHERE e.source = ? AND e.target = kept.thing"
)
_OUTWARD: Final = "SELECT target, rel_type, relation FROM catalog_edges WHERE source = ? LIMIT ?"
_FEW: Final = 128  # reading few edges costs less than a lookup per target: bench catalog
_SORT_KEY_AND_ID: Final = itemgetter(0, 1)

Node: TypeAlias = Packed
"""The packed id of an entity."""


@dataclass(slots=True)
class _KeptNodes:
    """Kept nodes in order, with their depth. Edges of the nodes in `expanded` count."""

    types: Sequence[str]
    depths: dict[Node, int]
    ids: dict[Node, Packed]
    expanded: set[Node]
    more: bool = False


def _read_graph(db: apsw.Connection, query: documents.GraphQuery) -> documents.CatalogGraph:
    catalog.require_project(find_item(db, pack_id(query.project)))
    root = pack_id(catalog.item_id(query.project, CONTENT_KINDS[0], query.entity_id))
    found = db.execute(_FIND_NODE, (root,)).fetchone()
    if found is None:
        raise catalog.missing_entity()
    types = [name for name in LINKS if not query.rel_types or name in query.rel_types]
    kept = _KeptNodes(types, {root: 0}, {root: found[1]}, set())
    level = [root]
    for depth in range(1, query.depth + 1):
        level = _expand_level(db, level, kept, depth, query.nodes_max)
    edges, more_edges = _list_edges(db, kept, query)
    return documents.CatalogGraph(
        nodes=[
            documents.GraphNode(entity=find_item(db, node), depth=depth)
            for node, depth in kept.depths.items()
        ],
        edges=[
            documents.GraphEdge(relation=find_item(db, relation), source=source, target=target)
            for relation, source, target in edges
        ],
        more_nodes=kept.more,
        more_edges=more_edges,
    )


def _expand_level(
    db: apsw.Connection, level: Sequence[Node], kept: _KeptNodes, depth: int, most: int
) -> list[Node]:
    """Keep the nodes one step further, as far as there is room, and return them."""
    kept.expanded.update(level)
    if kept.more:
        return []
    come: list[Node] = []
    runs = (_list_neighbours(db, node, rel_type) for node in level for rel_type in kept.types)
    for _, contract_id, other, _ in heapq.merge(*runs, key=_SORT_KEY_AND_ID):
        if other in kept.depths:
            continue
        if len(kept.depths) == most:
            kept.more = True
            break
        kept.depths[other] = depth
        kept.ids[other] = contract_id
        come.append(other)
    return come


def _list_neighbours(db: apsw.Connection, node: Node, rel_type: str) -> Iterator[tuple[Any, ...]]:
    """Yield `(place, id, thing, outward)` of the neighbours by one type of relation, in order."""
    page: list[Any] = db.execute(_FIRST, (node, rel_type, _NEIGHBOURS_PAGE)).fetchall()
    while page:
        yield from page
        if len(page) < _NEIGHBOURS_PAGE:
            return
        sort_key, contract_id, _, outward = page[-1]
        values = (node, rel_type, sort_key, contract_id, outward, _NEIGHBOURS_PAGE)
        page = db.execute(_NEXT, values).fetchall()


def _list_edges(
    db: apsw.Connection, kept: _KeptNodes, query: documents.GraphQuery
) -> tuple[Sequence[tuple[Packed, str, str]], bool]:
    """Return the first edges between kept nodes that have an end in `looked_at`."""
    contract_ids = {node: unpack_id(contract_id) for node, contract_id in kept.ids.items()}
    ordered = sorted(contract_ids, key=lambda node: contract_ids[node])
    seen = [node for node in ordered if node in kept.expanded]
    found: list[tuple[Packed, str, str]] = []
    for source in ordered:
        targets = ordered if source in kept.expanded else seen
        rows = _edges_between(db, source, targets)
        rows = [row for row in rows if row[1] in kept.types]
        rows.sort(key=lambda row: (contract_ids[row[0]], row[1]))
        found += [(r, contract_ids[source], contract_ids[target]) for target, _, r in rows]
        if len(found) > query.edges_max:
            return found[: query.edges_max], True
    return found, False


def _edges_between(db: apsw.Connection, source: Node, targets: Sequence[Node]) -> list[Any]:
    """Return (target, type, relation) of the edges to any of `targets`.

    If the source has few edges, all are read; otherwise each target is looked up.
    """
    outward_rows: list[Any] = db.execute(_OUTWARD, (source, _FEW + 1)).fetchall()
    if len(outward_rows) <= _FEW:
        wanted = frozenset(targets)
        return [row for row in outward_rows if row[0] in wanted]
    room = 1 << (len(targets) - 1).bit_length()  # so that few statements are prepared
    nobody = ("",) * (room - len(targets))
    return db.execute(_edges_sql(room), (*targets, *nobody, source)).fetchall()


@cache  # one statement for each number of rows
def _edges_sql(room: int) -> str:
    return _EDGES.format(marks=", ".join(["(?)"] * room))


K = TypeVar("K")
T = TypeVar("T")

SECONDS: Final = 30.0
"""Time limit of one query."""

_PROJECTS: Final = "SELECT id FROM catalog_projects ORDER BY place, id LIMIT ?"
_COUNTS: Final = "SELECT facet, n FROM counts WHERE list = ? AND owner = ? AND space = ?"
_HOLDER: Final = (
    "SELECT id FROM catalog_items WHERE space = ? AND kind = ? AND word = ? ORDER BY id LIMIT 1"
)
_CALLED: Final = "SELECT id FROM catalog_projects WHERE slug = ? ORDER BY id LIMIT 1"
_JOINED: Final = (
    "SELECT relation FROM catalog_edges WHERE source = ? AND target = ? AND rel_type = ?"
)
_ITEMS: Final = (
    "SELECT thing FROM catalog_items WHERE space = ? AND kind = ? AND (word, id) > (?, ?)"
    " ORDER BY word, id LIMIT ?"
)
_FROM: Final = (
    "SELECT relation FROM catalog_edges WHERE source = ? AND (target, rel_type) > (?, ?)"
    " ORDER BY target, rel_type LIMIT ?"
)


class SqliteCatalog(SqliteView, documents.Catalog):
    """Catalog queries over the tables that the ledger updates in its own transactions."""

    @override
    async def projects(self, spaces: Spaces, *, limit: int) -> Sequence[Space]:
        return await self._read_limited(lambda db: _list_projects(db, spaces, limit))

    @override
    async def search(self, query: documents.CatalogQuery) -> Page[Entity]:
        return await self._read_limited(lambda db: _search_catalog(db, query))

    @override
    async def find_entry(self, project: SpaceId, entity_id: str) -> documents.CatalogEntry:
        return await self._read_limited(lambda db: _read_entry(db, project, entity_id))

    @override
    async def find_graph(self, query: documents.GraphQuery) -> documents.CatalogGraph:
        return await self._read_limited(lambda db: _read_graph(db, query))

    @override
    async def handle_owners(
        self, project: SpaceId, handles: Iterable[tuple[str, str]]
    ) -> Mapping[tuple[str, str], str]:
        space = pack_id(project)
        return await self._select_each(_HOLDER, {each: (space, *each) for each in handles})

    @override
    async def projects_called(self, slugs: Iterable[str]) -> Mapping[str, SpaceId]:
        found = await self._select_each(_CALLED, {slug: (slug,) for slug in slugs})
        return {slug: SpaceId(space) for slug, space in found.items()}

    @override
    async def current_relations(
        self, triples: Iterable[documents.Triple]
    ) -> Mapping[documents.Triple, str]:
        asked = {each: (pack_id(each[0]), pack_id(each[2]), each[1]) for each in triples}
        return await self._select_each(_JOINED, asked)

    @override
    async def list_items(
        self, project: SpaceId, kind: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Entity]:
        word, contract_id = after
        values = (pack_id(project), kind, word, pack_id(contract_id), limit)
        return await self._select_items(_ITEMS, values)

    @override
    async def relations_from(
        self, source: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Relation]:
        values = (pack_id(source), pack_id(after[0]), after[1], limit)
        return await self._select_items(_FROM, values)

    async def _select_each(self, sql: str, asked: Mapping[K, tuple[Any, ...]]) -> Mapping[K, str]:
        """Return the id that a statement selects for the values under each key, if any."""
        return await self._read_consistent(
            lambda db: {
                key: unpack_id(row[0])
                for key, values in asked.items()
                if (row := _fetch_row(db, sql, values)) is not None
            }
        )

    async def _read_limited(self, query: Query[T]) -> T:
        return await self._read_consistent(query, seconds=SECONDS)


def _fetch_row(db: apsw.Connection, sql: str, values: tuple[Any, ...]) -> Any:
    return db.execute(sql, values).fetchone()


def _list_projects(db: apsw.Connection, spaces: Spaces, limit: int) -> Sequence[Space]:
    if spaces is None:
        return select_items(db, _PROJECTS, (limit,))
    known = (find_item(db, pack_id(space)) for space in spaces)
    return catalog.projects_in_order(space for space in known if catalog.is_project(space))[:limit]


def _search_catalog(db: apsw.Connection, query: documents.CatalogQuery) -> Page[Entity]:
    catalog.require_project(find_item(db, pack_id(query.project)))
    numbers, total = search_texts(db, query)
    rows = (_fetch_row(db, "SELECT kind, body FROM things WHERE n = ?", (n,)) for n in numbers)
    return Page(items=[item_in_row(*row) for row in rows], total=total)


def _read_entry(db: apsw.Connection, project: SpaceId, entity_id: str) -> documents.CatalogEntry:
    catalog.require_project(find_item(db, pack_id(project)))
    packed = pack_id(catalog.item_id(project, CONTENT_KINDS[0], entity_id))
    entity = find_item(db, packed)
    if catalog.item_of(entity) is None:
        raise catalog.missing_entity()
    sides = {"out": 0, "in": 0}
    for facet, n in db.execute(_COUNTS, (int(List.RELATIONS_OF), packed, pack_id(project))):
        side, state, rel_type = facet.split("/", 2)
        if state == "current" and rel_type in RELATIONS:
            for each in ("out", "in") if side == "both" else (side,):
                sides[each] += n
    return documents.CatalogEntry(entity=entity, outgoing=sides["out"], incoming=sides["in"])
