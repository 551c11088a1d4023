"""Catalogs in SQLite."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, Final, TypeAlias, TypeVar

import apsw
from typing_extensions import override

from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.schemas.catalog_tables import CONTENT_KINDS, LINKS, RELATIONS
from canonry.readmodels.catalog import (
    is_project,
    item_id,
    item_of,
    no_entity,
    projects_in_order,
    require_project,
)
from canonry.readmodels.listing import List
from canonry.readmodels.ports.documents import (
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
from canonry.stores.sqlite.catalog_views import search_texts
from canonry.stores.sqlite.connections import Query
from canonry.stores.sqlite.rows import Packed, pack, thing_in, thing_of, things_found, unpack
from canonry.stores.sqlite.state import SqliteView
from canonry.values.ids import Space, SpaceId

# The graph around an entity of a catalog, found step by step in the order of the reply.
#
# A table holds the neighbours of each entity in that order, so that a step reads little more than
# it keeps, however many neighbours there are. Edges are looked up between the nodes that were kept.

_PAGE: Final = 64
_NODE: Final = "SELECT place, id FROM catalog_nodes WHERE thing = ?"
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
_BESIDE: Final = itemgetter(0, 1)

Node: TypeAlias = Packed
"""The id of an entity's thing, packed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What was kept: (thing, contract id, depth) of nodes, (relation, ends) of edges, in order."""

    nodes: Sequence[tuple[Node, str, int]]
    edges: Sequence[tuple[Packed, str, str]]
    more_nodes: bool
    more_edges: bool


@dataclass(slots=True)
class _KeptNodes:
    """The nodes so far, in order, with their depth; `looked_at` are those whose edges count."""

    types: Sequence[str]
    depths: dict[Node, int]
    ids: dict[Node, Packed]
    looked_at: set[Node]
    more: bool = False


def graph_around(db: apsw.Connection, root: Node, query: GraphQuery) -> Around | None:
    """The graph around the entity behind `root`; None if it is not there."""
    found = db.execute(_NODE, (root,)).fetchone()
    if found is None:
        return None
    types = [name for name in LINKS if not query.rel_types or name in query.rel_types]
    kept = _KeptNodes(types, {root: 0}, {root: found[1]}, set())
    level = [root]
    for depth in range(1, query.depth + 1):
        level = _step(db, level, kept, depth, query.nodes_max)
    edges, more_edges = _edges(db, kept, query)
    return Around(
        nodes=[(node, unpack(kept.ids[node]), depth) for node, depth in kept.depths.items()],
        edges=edges,
        more_nodes=kept.more,
        more_edges=more_edges,
    )


def _step(
    db: apsw.Connection, level: Sequence[Node], kept: _KeptNodes, depth: int, most: int
) -> list[Node]:
    """The nodes one step further that have room; they are kept."""
    kept.looked_at.update(level)
    if kept.more:
        return []
    come: list[Node] = []
    runs = (_neighbours(db, node, rel_type) for node in level for rel_type in kept.types)
    for _, contract_id, other, _ in heapq.merge(*runs, key=_BESIDE):
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
    """(place, id, thing, outward) of the neighbours by one type of relation, in order."""
    page: list[Any] = db.execute(_FIRST, (node, rel_type, _PAGE)).fetchall()
    while page:
        yield from page
        if len(page) < _PAGE:
            return
        place, contract_id, _, outward = page[-1]
        values = (node, rel_type, place, contract_id, outward, _PAGE)
        page = db.execute(_NEXT, values).fetchall()


def _edges(
    db: apsw.Connection, kept: _KeptNodes, query: GraphQuery
) -> tuple[Sequence[tuple[Packed, str, str]], bool]:
    """The first edges between kept nodes of which one was looked at."""
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
    """(target, type, relation) of the edges to any of `targets`.

    Where few edges lead from the source all are read, else each target is looked up.
    """
    beside: list[Any] = db.execute(_OUTWARD, (source, _FEW + 1)).fetchall()
    if len(beside) <= _FEW:
        wanted = frozenset(targets)
        return [row for row in beside if row[0] in wanted]
    room = 1 << (len(targets) - 1).bit_length()  # so that there are few statements to prepare
    nobody = ("",) * (room - len(targets))
    return db.execute(_edges_sql(room), (*targets, *nobody, source)).fetchall()


@cache
def _edges_sql(room: int) -> str:
    return _EDGES.format(marks=", ".join(["(?)"] * room))


K = TypeVar("K")
T = TypeVar("T")

SECONDS: Final = 30.0
"""So long a question may take before its statement is stopped."""

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
    """Reads what the ledger folded in its own transactions."""

    @override
    async def projects(self, spaces: Spaces, *, limit: int) -> Sequence[Space]:
        return await self._ask(lambda db: _projects(db, spaces, limit))

    @override
    async def search(self, query: CatalogQuery) -> CatalogFound:
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
        """The id that a statement gives for the values under each key, where it gives one."""
        return await self._read(
            lambda db: {
                key: unpack(row[0])
                for key, values in asked.items()
                if (row := _row(db, sql, values)) is not None
            }
        )

    async def _ask(self, query: Query[T]) -> T:
        return await self._readers.consistent(query, seconds=SECONDS)


def _row(db: apsw.Connection, sql: str, values: tuple[Any, ...]) -> Any:
    return db.execute(sql, values).fetchone()


def _projects(db: apsw.Connection, spaces: Spaces, limit: int) -> Sequence[Space]:
    if spaces is None:
        return things_found(db, _PROJECTS, (limit,))
    known = (thing_of(db, pack(space)) for space in spaces)
    return projects_in_order(space for space in known if is_project(space))[:limit]


def _search(db: apsw.Connection, query: CatalogQuery) -> CatalogFound:
    require_project(thing_of(db, pack(query.project)))
    numbers, total = search_texts(db, query)
    rows = (_row(db, _NUMBERED, (n,)) for n in numbers)
    return CatalogFound(entities=[thing_in(*row) for row in rows], total=total)


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


def _graph(db: apsw.Connection, query: GraphQuery) -> CatalogGraph:
    require_project(thing_of(db, pack(query.project)))
    root = pack(item_id(query.project, CONTENT_KINDS[0], query.entity_id))
    around = graph_around(db, root, query)
    if around is None:
        raise no_entity()
    return CatalogGraph(
        nodes=[
            GraphNode(entity=thing_of(db, thing), depth=depth) for thing, _, depth in around.nodes
        ],
        edges=[
            GraphEdge(relation=thing_of(db, relation), source=source, target=target)
            for relation, source, target in around.edges
        ],
        more_nodes=around.more_nodes,
        more_edges=around.more_edges,
    )
