"""The graph around an entity of a catalog, found step by step in the order of the reply.

A table holds the neighbours of each entity in that order, so that a step reads little more than it
keeps, however many neighbours there are. Edges are looked up between the nodes that were kept.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any, Final, TypeAlias

import apsw

from canonry.log.schemas.catalog_kinds import LINKS
from canonry.readmodels.ports.catalog import GraphQuery
from canonry.stores.sqlite.packing import Packed, unpack

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
