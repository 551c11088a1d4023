"""Views of catalogs in SQLite, and their search."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias

import apsw

from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.schemas.catalog_tables import CONTENT_KINDS
from canonry.readmodels.catalog import (
    CatalogEdge,
    CatalogItem,
    edge_of,
    fold,
    is_project,
    item_of,
    place_of,
)
from canonry.readmodels.listing import List
from canonry.readmodels.ports.documents import CatalogQuery
from canonry.stores.sqlite.rows import Packed, in_order, number, pack, thing_in
from canonry.values.ids import Space

# Search in a catalog: exact substrings, all of them counted, the newest entities first.
#
# SQLite's trigram index finds texts that few entities have. A text that many have, or one of fewer
# than three characters, is sought by reading the texts of the project in the order of the reply:
# some 50 ms for 10^5 of them, and the page is among the first.

FEW: Final = 1_000
"""So many texts of all projects at most are looked up one by one."""

_GRAM: Final = 3
_CONFUSED: Final = frozenset("\ufffd\ufffe\uffff")
"""Characters that the index takes for each other."""

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
    """Make the entity of the thing `n` findable by its text."""
    texts = _folded(item)
    db.execute(_TEXT, (pack(item.project), item.updated, pack(item.id), item.kind, n, *texts))
    db.execute(_GRAMS, (n, *texts))


def take(db: apsw.Connection, n: int, item: CatalogItem) -> None:
    """Make the entity of the thing `n` no longer findable."""
    db.execute(_NO_GRAMS, (n, *_folded(item)))
    db.execute(_NO_TEXT, (n,))


def search_texts(db: apsw.Connection, query: CatalogQuery) -> tuple[Sequence[int], int]:
    """The numbers of the things on the page, and how many match in all."""
    text = fold(query.text)
    if "\0" in text:  # no text holds one, and to a statement it is the end
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
    if len(page) < query.limit:  # then every text was read for it
        return page, len(page)
    return page, number(db, _COUNT, values)


def _phrase(text: str) -> str | None:
    """The query for the trigram index; None where the index cannot answer."""
    if len(text) < _GRAM or not _CONFUSED.isdisjoint(text):
        return None
    return '"' + text.replace('"', '""') + '"'


def _folded(item: CatalogItem) -> tuple[str, str, str]:
    return fold(item.title), fold(item.slug), fold(item.summary or "")


def _numbers(db: apsw.Connection, sql: str, values: dict[str, Any]) -> Sequence[int]:
    rows: list[Any] = db.execute(sql, values).fetchall()
    return [row[0] for row in rows]


# The rows of a catalog: its projects, items and relations in the tables that answer questions.
#
# They follow from the things alone. Items are written before relations, because the rows of a
# relation hold the titles of its ends.

Changed: TypeAlias = tuple[int, Thing | None, Thing]
"""The number of a thing, what it was, and what it is."""

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
    """Make the tables of the catalog show these things as they are now."""
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
            _project(db, was, thing)
    for edge in gone:
        _remove(db, edge)
    _join(db, come)


def _project(db: apsw.Connection, was: Thing | None, thing: Thing) -> None:
    if isinstance(was, Space):
        db.execute(_NO_PROJECT, (place_of(was.name), pack(was.id)))
    if isinstance(thing, Space):
        slug = str(thing.properties.get("slug", ""))
        db.execute(_PROJECT, (place_of(thing.name), pack(thing.id), slug))


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
        _move(db, thing, before, after)
        db.execute(_NO_NODE, (thing,))
    if now is not None and after is not None:
        db.execute(_NODE, (thing, pack(now.id), now.place))


def _move(
    db: apsw.Connection, thing: Any, before: tuple[str, str], after: tuple[str, str] | None
) -> None:
    """List an entity under its new title at each neighbour; `after` None: at none of them."""
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


def _remove(db: apsw.Connection, edge: CatalogEdge) -> None:
    source, target = pack(edge.source), pack(edge.target)
    db.execute(_NO_EDGE, (source, target, edge.rel_type, pack(edge.relation)))
    nodes = _nodes(db, (source, target))
    one, two = nodes.get(source), nodes.get(target)
    if one is not None and two is not None:
        db.execute(_NO_NEIGHBOUR, (source, edge.rel_type, two[1], two[0], 1))
        db.execute(_NO_NEIGHBOUR, (target, edge.rel_type, one[1], one[0], 0))


def _join(db: apsw.Connection, come: Sequence[CatalogEdge]) -> None:
    """Insert edges in the order of the table, so that those of one item are written together."""
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
    """The edges of an item that was gone and is back, as after a merger that was undone."""
    rows: list[Any] = db.execute(_RELATIONS, (int(List.RELATIONS_OF), pack(item.thing))).fetchall()
    relations = (thing_in(*row) for row in rows)
    return [edge for edge in map(edge_of, relations) if edge is not None]


def _nodes(db: apsw.Connection, things: Collection[Packed]) -> Mapping[Packed, tuple[Any, Any]]:
    """(id, place) of those ids that are entities and exist."""
    wanted, found = list(things), dict[Packed, tuple[Any, Any]]()
    for start in range(0, len(wanted), _TOGETHER):
        some = wanted[start : start + _TOGETHER]
        rows: Any = db.execute(_FIND_NODES, (*some, *some[-1:] * (_TOGETHER - len(some))))
        found |= {thing: (contract_id, place) for thing, contract_id, place in rows}
    return found
