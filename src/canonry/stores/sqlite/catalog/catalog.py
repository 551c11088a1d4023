"""The catalog in SQLite: each question is one read of one state, stopped when its time is over."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import apsw
from typing_extensions import override

from canonry.log.items.entities import Entity
from canonry.log.items.relations import Relation
from canonry.log.schemas.catalog_kinds import CONTENT_KINDS, RELATIONS
from canonry.readmodels.catalog import is_project, item_id, item_of, projects_in_order
from canonry.readmodels.listing import List
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
from canonry.stores.sqlite.bodies import thing_in
from canonry.stores.sqlite.catalog.graph import graph_around
from canonry.stores.sqlite.catalog.search import search_texts
from canonry.stores.sqlite.keeping import SqliteView
from canonry.stores.sqlite.lookups import thing_of, things_found
from canonry.stores.sqlite.packing import pack, unpack
from canonry.stores.sqlite.readers import Query
from canonry.values.errors import NotFound
from canonry.values.ids import SpaceId
from canonry.values.spaces import Space

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


def _require_project(db: apsw.Connection, project: SpaceId) -> None:
    if not is_project(thing_of(db, pack(project))):
        raise NotFound("project.unknown", "there is no project with this id", path="/projectId")


def _projects(db: apsw.Connection, spaces: Spaces, limit: int) -> Sequence[Space]:
    if spaces is None:
        return things_found(db, _PROJECTS, (limit,))
    known = (thing_of(db, pack(space)) for space in spaces)
    return projects_in_order(space for space in known if is_project(space))[:limit]


def _search(db: apsw.Connection, query: CatalogQuery) -> CatalogFound:
    _require_project(db, query.project)
    numbers, total = search_texts(db, query)
    rows = (_row(db, _NUMBERED, (n,)) for n in numbers)
    return CatalogFound(entities=[thing_in(*row) for row in rows], total=total)


def _entry(db: apsw.Connection, project: SpaceId, entity_id: str) -> CatalogEntry:
    _require_project(db, project)
    packed = pack(item_id(project, CONTENT_KINDS[0], entity_id))
    entity = thing_of(db, packed)
    if item_of(entity) is None:
        raise _no_entity()
    sides = {"out": 0, "in": 0}
    for facet, n in db.execute(_COUNTS, (int(List.RELATIONS_OF), packed, pack(project))):
        side, state, rel_type = facet.split("/", 2)
        if state == "current" and rel_type in RELATIONS:
            for each in ("out", "in") if side == "both" else (side,):
                sides[each] += n
    return CatalogEntry(entity=entity, outgoing=sides["out"], incoming=sides["in"])


def _graph(db: apsw.Connection, query: GraphQuery) -> CatalogGraph:
    _require_project(db, query.project)
    root = pack(item_id(query.project, CONTENT_KINDS[0], query.entity_id))
    around = graph_around(db, root, query)
    if around is None:
        raise _no_entity()
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


def _no_entity() -> NotFound:
    message = "there is no entity with this id in the project"
    return NotFound("entity.unknown", message, path="/entityId")
