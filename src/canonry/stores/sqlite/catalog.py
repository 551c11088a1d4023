"""Catalogs in SQLite: their tables, and queries over them."""

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, Final, TypeAlias, TypeVar

import apsw
from typing_extensions import override

from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.schemas.catalog_tables import CONTENT_KINDS, LINKS, RELATIONS
from canonry.readmodels.catalog import (
    CatalogEdge,
    CatalogItem,
    edge_of,
    fold,
    is_project,
    item_id,
    item_of,
    no_entity,
    place_of,
    projects_in_order,
    require_project,
)
from canonry.readmodels.listing import List
from canonry.readmodels.ports.documents import (
    Catalog,
    CatalogEntry,
    CatalogGraph,
    CatalogQuery,
    GraphEdge,
    GraphNode,
    GraphQuery,
    Triple,
)
from canonry.readmodels.ports.state import Spaces
from canonry.readmodels.ports.view import Page
from canonry.stores.sqlite.connections import Query
from canonry.stores.sqlite.rows import (
    Packed,
    filled,
    in_order,
    number,
    pack,
    thing_in,
    thing_of,
    things_found,
    unpack,
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
_NO_TEXT: Final = "DELETE FROM catalog_texts WHERE n = ?"
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


def put(db: apsw.Connection, n: int, item: CatalogItem) -> None:
    """Index the text of the entity with the row number `n`."""
    texts = _folded(item)
    db.execute(_TEXT, (pack(item.project), item.updated, pack(item.id), item.kind, n, *texts))
    db.execute(_GRAMS, (n, *texts))


def take(db: apsw.Connection, n: int, item: CatalogItem) -> None:
    """Remove the text of the entity with the row number `n` from the index."""
    db.execute(_NO_GRAMS, (n, *_folded(item)))
    db.execute(_NO_TEXT, (n,))


def search_texts(db: apsw.Connection, query: CatalogQuery) -> tuple[Sequence[int], int]:
    """Return the row numbers of the items on the page, and the number of all matches."""
    text = fold(query.text)
    if "\0" in text:  # no text contains NUL, which would end the statement's value
        return (), 0
    kinds = sorted(query.kinds or CONTENT_KINDS)
    among = (*kinds, *("",) * (len(CONTENT_KINDS) - len(kinds)))
    values = {"space": pack(query.project), "text": text, "limit": query.limit}
    values |= {f"kind{i}": kind for i, kind in enumerate(among)}
    phrase = _phrase(text)
    if phrase is not None and number(db, _HELD, (phrase, FEW + 1)) <= FEW:
        found = _numbers(db, _FOUND, {**values, "phrase": phrase})
        return found[: query.limit], len(found)
    page = _numbers(db, _PAGE, values)
    if len(page) < query.limit:  # then every text was read
        return page, len(page)
    return page, number(db, _COUNT, values)


def _phrase(text: str) -> str | None:
    """Return the query for the trigram index, or None if the index cannot answer."""
    if len(text) < _GRAM or not _CONFUSED.isdisjoint(text):
        return None
    return '"' + text.replace('"', '""') + '"'


def _folded(item: CatalogItem) -> tuple[str, str, str]:
    return fold(item.title), fold(item.slug), fold(item.summary or "")


def _numbers(db: apsw.Connection, sql: str, values: dict[str, Any]) -> Sequence[int]:
    rows: list[Any] = db.execute(sql, values).fetchall()
    return [row[0] for row in rows]


# Rows of a catalog: projects, items and relations in the tables that answer queries.
#
# The rows derive from the items alone. Items are written before relations, because the rows of a
# relation contain the titles of its ends.

Changed: TypeAlias = tuple[int, Thing | None, Thing]
"""(row number, item before, item after)."""

_PROJECT: Final = "INSERT INTO catalog_projects VALUES (?, ?, ?)"
_NO_PROJECT: Final = "DELETE FROM catalog_projects WHERE place = ? AND id = ?"
_ITEM: Final = "INSERT INTO catalog_items VALUES (?, ?, ?, ?, ?)"
_NO_ITEM: Final = "DELETE FROM catalog_items WHERE space = ? AND kind = ? AND word = ? AND id = ?"
_NODE: Final = "INSERT INTO catalog_nodes VALUES (?, ?, ?)"
_NO_NODE: Final = "DELETE FROM catalog_nodes WHERE thing = ?"
_TOGETHER: Final = 64
_FIND_NODES: Final = (
    "SELECT thing, id, place FROM catalog_nodes"  # noqa: S608 - marks for values
    f" WHERE thing IN ({', '.join('?' * _TOGETHER)})"
)
_BESIDE: Final = "SELECT rel_type, outward, other FROM catalog_neighbours WHERE thing = ?"

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


def show(db: apsw.Connection, changed: Sequence[Changed]) -> None:
    """Update the tables of the catalog to these items."""
    gone: list[CatalogEdge] = []
    come: list[CatalogEdge] = []
    for n, was, thing in changed:
        kind = type(thing if was is None else was)
        if kind is Relation:
            before, now = edge_of(was), edge_of(thing)
            if before != now:
                gone += [before] if before else []
                come += [now] if now else []
        elif kind is Entity:
            old, new = item_of(was), item_of(thing)
            _item(db, n, old, new)
            if was is not None and old is None and new is not None:
                come += _edges_at(db, new)
        elif kind is Space and (is_project(was) or is_project(thing)):
            if isinstance(was, Space):
                db.execute(_NO_PROJECT, (place_of(was.name), pack(was.id)))
            if isinstance(thing, Space):
                slug = str(thing.properties.get("slug", ""))
                db.execute(_PROJECT, (place_of(thing.name), pack(thing.id), slug))
    for edge in gone:
        _remove(db, edge)
    _join(db, come)


def _item(db: apsw.Connection, n: int, was: CatalogItem | None, now: CatalogItem | None) -> None:
    if was == now:
        return
    if was is not None:
        db.execute(_NO_ITEM, (pack(was.project), was.kind, was.word, pack(was.id)))
        if was.content:
            take(db, n, was)
    if now is not None:
        space, contract_id = pack(now.project), pack(now.id)
        db.execute(_ITEM, (space, now.kind, now.word, contract_id, pack(now.thing)))
        if now.content:
            put(db, n, now)
    _node(db, was, now)


def _node(db: apsw.Connection, was: CatalogItem | None, now: CatalogItem | None) -> None:
    before = (was.place, was.id) if was is not None and was.content else None
    after = (now.place, now.id) if now is not None and now.content else None
    either = now or was
    if before == after or either is None:
        return
    thing = pack(either.thing)
    if before is not None:
        # Move an entity to its new title in the lists of its neighbours; None removes it.
        place, contract_id = before
        beside: list[Any] = db.execute(_BESIDE, (thing,)).fetchall()
        for rel_type, outward, other in beside:
            inward = 1 - outward
            db.execute(_NO_NEIGHBOUR, (other, rel_type, place, pack(contract_id), inward))
            if after is not None:
                row = (other, rel_type, after[0], pack(after[1]), inward, thing)
                db.execute(_NEIGHBOUR, row)
        if after is None:
            db.execute(_NO_NEIGHBOURS, (thing,))
        db.execute(_NO_NODE, (thing,))
    if now is not None and after is not None:
        db.execute(_NODE, (thing, pack(now.id), now.place))


def _remove(db: apsw.Connection, edge: CatalogEdge) -> None:
    source, target = pack(edge.source), pack(edge.target)
    db.execute(_NO_EDGE, (source, target, edge.rel_type, pack(edge.relation)))
    nodes = _nodes(db, (source, target))
    one, two = nodes.get(source), nodes.get(target)
    if one is not None and two is not None:
        db.execute(_NO_NEIGHBOUR, (source, edge.rel_type, two[1], two[0], 1))
        db.execute(_NO_NEIGHBOUR, (target, edge.rel_type, one[1], one[0], 0))


def _join(db: apsw.Connection, come: Sequence[CatalogEdge]) -> None:
    """Insert edges in the order of the table, so that edges of one item are written together."""
    if not come:
        return
    nodes = _nodes(db, {pack(end) for edge in come for end in (edge.source, edge.target)})
    edges: list[tuple[Any, ...]] = []
    neighbours: list[tuple[Any, ...]] = []
    for edge in come:
        source, target, kind = pack(edge.source), pack(edge.target), edge.rel_type
        edges.append((source, target, kind, pack(edge.relation)))
        one, two = nodes.get(source), nodes.get(target)
        if one is not None and two is not None:
            neighbours.append((source, kind, two[1], two[0], 1, target))
            neighbours.append((target, kind, one[1], one[0], 0, source))
    edges.sort(key=lambda row: in_order(row[0]))
    neighbours.sort(key=lambda row: in_order(row[0]))
    db.executemany(_EDGE, edges)
    db.executemany(_NEIGHBOUR, neighbours)


def _edges_at(db: apsw.Connection, item: CatalogItem) -> list[CatalogEdge]:
    """Return the edges of an item that exists again, such as after an undone merge."""
    rows: list[Any] = db.execute(_RELATIONS, (int(List.RELATIONS_OF), pack(item.thing))).fetchall()
    relations = (thing_in(*row) for row in rows)
    return [edge for edge in map(edge_of, relations) if edge is not None]


def _nodes(db: apsw.Connection, things: Collection[Packed]) -> Mapping[Packed, tuple[Any, Any]]:
    """Return (id, place) of each id that is an existing entity."""
    found: dict[Packed, tuple[Any, Any]] = {}
    for some in filled(list(things), _TOGETHER):
        rows: Any = db.execute(_FIND_NODES, some)
        found |= {thing: (contract_id, place) for thing, contract_id, place in rows}
    return found


# The graph around an entity of a catalog, searched breadth-first in the order of the reply.
#
# A table lists the neighbours of each entity in that order. A step reads little more than it keeps,
# however many neighbours there are. Edges are read only between the kept nodes.

_NEIGHBOURS_PAGE: Final = 64
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
_FEW: Final = 128
_PLACE_AND_ID: Final = itemgetter(0, 1)

Node: TypeAlias = Packed
"""The packed id of an entity."""


@dataclass(slots=True)
class _KeptNodes:
    """Kept nodes in order, with their depth. Edges of the nodes in `looked_at` count."""

    types: Sequence[str]
    depths: dict[Node, int]
    ids: dict[Node, Packed]
    looked_at: set[Node]
    more: bool = False


def _graph(db: apsw.Connection, query: GraphQuery) -> CatalogGraph:
    require_project(thing_of(db, pack(query.project)))
    root = pack(item_id(query.project, CONTENT_KINDS[0], query.entity_id))
    found = db.execute(_FIND_NODE, (root,)).fetchone()
    if found is None:
        raise no_entity()
    types = [name for name in LINKS if not query.rel_types or name in query.rel_types]
    kept = _KeptNodes(types, {root: 0}, {root: found[1]}, set())
    level = [root]
    for depth in range(1, query.depth + 1):
        level = _step(db, level, kept, depth, query.nodes_max)
    edges, more_edges = _edges(db, kept, query)
    return CatalogGraph(
        nodes=[
            GraphNode(entity=thing_of(db, node), depth=depth) for node, depth in kept.depths.items()
        ],
        edges=[
            GraphEdge(relation=thing_of(db, relation), source=source, target=target)
            for relation, source, target in edges
        ],
        more_nodes=kept.more,
        more_edges=more_edges,
    )


def _step(
    db: apsw.Connection, level: Sequence[Node], kept: _KeptNodes, depth: int, most: int
) -> list[Node]:
    """Keep the nodes one step further, as far as there is room, and return them."""
    kept.looked_at.update(level)
    if kept.more:
        return []
    come: list[Node] = []
    runs = (_neighbours(db, node, rel_type) for node in level for rel_type in kept.types)
    for _, contract_id, other, _ in heapq.merge(*runs, key=_PLACE_AND_ID):
        if other in kept.depths:
            continue
        if len(kept.depths) == most:
            kept.more = True
            break
        kept.depths[other] = depth
        kept.ids[other] = contract_id
        come.append(other)
    return come


def _neighbours(db: apsw.Connection, node: Node, rel_type: str) -> Iterator[tuple[Any, ...]]:
    """Yield `(place, id, thing, outward)` of the neighbours by one type of relation, in order."""
    page: list[Any] = db.execute(_FIRST, (node, rel_type, _NEIGHBOURS_PAGE)).fetchall()
    while page:
        yield from page
        if len(page) < _NEIGHBOURS_PAGE:
            return
        place, contract_id, _, outward = page[-1]
        values = (node, rel_type, place, contract_id, outward, _NEIGHBOURS_PAGE)
        page = db.execute(_NEXT, values).fetchall()


def _edges(
    db: apsw.Connection, kept: _KeptNodes, query: GraphQuery
) -> tuple[Sequence[tuple[Packed, str, str]], bool]:
    """Return the first edges between kept nodes that have an end in `looked_at`."""
    told = {node: unpack(contract_id) for node, contract_id in kept.ids.items()}
    ordered = sorted(told, key=lambda node: told[node])
    seen = [node for node in ordered if node in kept.looked_at]
    found: list[tuple[Packed, str, str]] = []
    for source in ordered:
        targets = ordered if source in kept.looked_at else seen
        rows = _between(db, source, targets)
        rows = [row for row in rows if row[1] in kept.types]
        rows.sort(key=lambda row: (told[row[0]], row[1]))
        found += [(relation, told[source], told[target]) for target, _, relation in rows]
        if len(found) > query.edges_max:
            return found[: query.edges_max], True
    return found, False


def _between(db: apsw.Connection, source: Node, targets: Sequence[Node]) -> list[Any]:
    """Return (target, type, relation) of the edges to any of `targets`.

    If the source has few edges, all are read; otherwise each target is looked up.
    """
    beside: list[Any] = db.execute(_OUTWARD, (source, _FEW + 1)).fetchall()
    if len(beside) <= _FEW:
        wanted = frozenset(targets)
        return [row for row in beside if row[0] in wanted]
    room = 1 << (len(targets) - 1).bit_length()  # so that few statements are prepared
    nobody = ("",) * (room - len(targets))
    return db.execute(_edges_sql(room), (*targets, *nobody, source)).fetchall()


@cache
def _edges_sql(room: int) -> str:
    return _EDGES.format(marks=", ".join(["(?)"] * room))


K = TypeVar("K")
T = TypeVar("T")

SECONDS: Final = 30.0
"""Time limit of one query."""

_NUMBERED: Final = "SELECT kind, body FROM things WHERE n = ?"
_PROJECTS: Final = "SELECT id FROM catalog_projects ORDER BY place, id LIMIT ?"
_COUNTS: Final = "SELECT facet, n FROM counts WHERE list = ? AND owner = ? AND space = ?"
_BEARER: Final = (
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


class SqliteCatalog(SqliteView, Catalog):
    """Catalog queries over the tables that the ledger updates in its own transactions."""

    @override
    async def projects(self, spaces: Spaces, *, limit: int) -> Sequence[Space]:
        return await self._ask(lambda db: _projects(db, spaces, limit))

    @override
    async def search(self, query: CatalogQuery) -> Page[Entity]:
        return await self._ask(lambda db: _search(db, query))

    @override
    async def entry(self, project: SpaceId, entity_id: str) -> CatalogEntry:
        return await self._ask(lambda db: _entry(db, project, entity_id))

    @override
    async def graph(self, query: GraphQuery) -> CatalogGraph:
        return await self._ask(lambda db: _graph(db, query))

    @override
    async def bearers(
        self, project: SpaceId, words: Iterable[tuple[str, str]]
    ) -> Mapping[tuple[str, str], str]:
        space = pack(project)
        return await self._each(_BEARER, {each: (space, *each) for each in words})

    @override
    async def projects_called(self, slugs: Iterable[str]) -> Mapping[str, SpaceId]:
        found = await self._each(_CALLED, {slug: (slug,) for slug in slugs})
        return {slug: SpaceId(space) for slug, space in found.items()}

    @override
    async def joined(self, triples: Iterable[Triple]) -> Mapping[Triple, str]:
        asked = {each: (pack(each[0]), pack(each[2]), each[1]) for each in triples}
        return await self._each(_JOINED, asked)

    @override
    async def items(
        self, project: SpaceId, kind: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Entity]:
        word, contract_id = after
        values = (pack(project), kind, word, pack(contract_id), limit)
        return await self._things(_ITEMS, values)

    @override
    async def relations_from(
        self, source: str, *, after: tuple[str, str], limit: int
    ) -> Sequence[Relation]:
        values = (pack(source), pack(after[0]), after[1], limit)
        return await self._things(_FROM, values)

    async def _each(self, sql: str, asked: Mapping[K, tuple[Any, ...]]) -> Mapping[K, str]:
        """Return the id that a statement selects for the values under each key, if any."""
        return await self._read(
            lambda db: {
                key: unpack(row[0])
                for key, values in asked.items()
                if (row := _row(db, sql, values)) is not None
            }
        )

    async def _ask(self, query: Query[T]) -> T:
        return await self._read(query, seconds=SECONDS)


def _row(db: apsw.Connection, sql: str, values: tuple[Any, ...]) -> Any:
    return db.execute(sql, values).fetchone()


def _projects(db: apsw.Connection, spaces: Spaces, limit: int) -> Sequence[Space]:
    if spaces is None:
        return things_found(db, _PROJECTS, (limit,))
    known = (thing_of(db, pack(space)) for space in spaces)
    return projects_in_order(space for space in known if is_project(space))[:limit]


def _search(db: apsw.Connection, query: CatalogQuery) -> Page[Entity]:
    require_project(thing_of(db, pack(query.project)))
    numbers, total = search_texts(db, query)
    rows = (_row(db, _NUMBERED, (n,)) for n in numbers)
    return Page(items=[thing_in(*row) for row in rows], total=total)


def _entry(db: apsw.Connection, project: SpaceId, entity_id: str) -> CatalogEntry:
    require_project(thing_of(db, pack(project)))
    packed = pack(item_id(project, CONTENT_KINDS[0], entity_id))
    entity = thing_of(db, packed)
    if item_of(entity) is None:
        raise no_entity()
    sides = {"out": 0, "in": 0}
    for facet, n in db.execute(_COUNTS, (int(List.RELATIONS_OF), packed, pack(project))):
        side, state, rel_type = facet.split("/", 2)
        if state == "current" and rel_type in RELATIONS:
            for each in ("out", "in") if side == "both" else (side,):
                sides[each] += n
    return CatalogEntry(entity=entity, outgoing=sides["out"], incoming=sides["in"])
