"""Pages of a list: its facets are known from their counts, and each is a run in the right order.

So a page costs its own length times the number of facets that match, however long the list is, and
a total is a sum of counts. Only filters inside a run (time, a second tag, a pattern) must look on.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import apsw

from canonry.readmodels.listing import NOBODY, List, Owner
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.selections import Selection, parts_of_pattern
from canonry.readmodels.ports.state import Spaces
from canonry.stores.sqlite.bodies import Packed, altered, pack, unpack
from canonry.stores.sqlite.lookups import PackedOwner, number, things_of

_RUN: Final = "l.list = ? AND l.owner = ? AND l.space = ? AND l.facet = ?"
_ORDER: Final = "ORDER BY l.rank, l.later, l.id"
_SHALLOW: Final = 1000
"""So many rows of each run are merged here; deeper pages are merged by SQLite, run beside run."""

_RUNS_MAX: Final = 400
"""SQLite compounds at most 500 statements."""

_NEWEST: Final = "ORDER BY l.rank DESC, l.later, l.id"
_FIRST_IDS: Final = f"SELECT l.id FROM listing l WHERE {_RUN} {_ORDER} LIMIT ?"  # noqa: S608 - our SQL
_NEWEST_IDS: Final = f"SELECT l.id FROM listing l WHERE {_RUN} {_NEWEST} LIMIT ?"  # noqa: S608 - our SQL
_AT_ONCE: Final = 8
"""The owners whose ids one statement gives; one number, so that it is compiled once."""

_SPECIAL: Final = re.compile(r"([*?\[])")
_STANDS: Final = (
    "SELECT 1 FROM listing o WHERE o.list = ? AND o.owner IN ({owners}) AND o.space = l.space"
    " AND o.facet = l.facet AND o.rank = l.rank AND o.later = l.later AND o.id = l.id"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sql:
    """A selection as SQLite carries it out.

    `where` is SQL over the row `l` with its `values`; it starts with AND.
    """

    told: Selection
    owners: Sequence[PackedOwner]
    where: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _PageRun:
    owner: PackedOwner
    space: Packed
    facet: str
    n: int


def page_of(db: apsw.Connection, selection: Selection, limit: int, offset: int) -> Page[Any]:
    """The things of a page, and how many there are in all.

    Raises:
        BrokenInvariant: `store.altered`, there are more or fewer rows than are counted: the key of
            an index is not what was written, so that a list lacks a thing or shows a strange one.
    """
    sql = _sql_of(selection)
    runs = _runs(db, sql)
    total = _total(db, sql, runs)
    ids = _ids(db, sql, runs, limit, offset) if offset < total else ()
    if len(ids) != max(0, min(limit, total - offset)):
        raise altered()
    return Page(items=things_of(db, ids), total=total)


def counted(
    db: apsw.Connection, listed: List, owner: PackedOwner, spaces: Spaces
) -> Sequence[tuple[Packed, str, int]]:
    """(space, facet, rows) of an owner's list."""
    if spaces is None:
        sql = "SELECT space, facet, n FROM counts WHERE list = ? AND owner = ?"
        return list[Any](db.execute(sql, (int(listed), owner)))
    sql = "SELECT space, facet, n FROM counts WHERE list = ? AND owner = ? AND space = ?"
    found: list[Any] = []
    for space in spaces:
        found += db.execute(sql, (int(listed), owner, pack(space)))
    return found


def first_ids(
    db: apsw.Connection, listed: List, owner: PackedOwner, limit: int, space: str = NOBODY
) -> Sequence[Packed]:
    """The first ids of an uncounted list, in the order of its ranks."""
    rows: Any = db.execute(_FIRST_IDS, (int(listed), owner, pack(space), "", limit))
    return [row[0] for row in rows]


def ids_under(
    db: apsw.Connection,
    listed: List,
    owners: Sequence[tuple[PackedOwner, int]],
    space: str,
    *,
    newest: bool,
) -> Sequence[Packed]:
    """The ids, each once, of an uncounted list: of each owner so many with the lowest ranks.

    Or with the highest, where the `newest` are asked for.
    """
    whole = _MANY_NEWEST if newest else _MANY_FIRST
    found: dict[Packed, None] = {}
    for start in range(0, len(owners), _AT_ONCE):
        some = owners[start : start + _AT_ONCE]
        filled = [*some, *[(owners[0][0], 0)] * (_AT_ONCE - len(some))]
        values = [
            each for owner, limit in filled for each in (int(listed), owner, pack(space), "", limit)
        ]
        found |= dict.fromkeys([row[0] for row in db.execute(whole, values)])
    return list(found)


def _sql_of(selection: Selection) -> _Sql:
    where, values = "", list[Any]()
    bounds = (
        (" AND (l.starts IS NULL OR l.starts <= ?)", selection.begun_by),
        (" AND (l.ends IS NULL OR l.ends > ?)", selection.open_after),
        (" AND l.rank <= ?", selection.rank_most),
    )
    for bound, value in bounds:
        if value is not None:
            where += bound
            values.append(value)
    for each in selection.standing:
        owners = _packed(each.owners)
        stands = _STANDS.format(owners=", ".join("?" * len(owners)))
        values += [int(each.listed), *owners]
        if each.named is not None:
            stands += " AND o.name GLOB ?"
            values.append(_glob(each.named))
        where += f" AND {'NOT ' if each.never else ''}EXISTS ({stands})"
    owners = _packed(selection.owners)
    return _Sql(told=selection, owners=owners, where=where, values=tuple(values))


def _packed(owners: Sequence[Owner]) -> Sequence[PackedOwner]:
    return [pack(owner) if isinstance(owner, str) else owner for owner in owners]


def _glob(pattern: str) -> str:
    """`pattern` for SQLite: only its own wildcards are wild."""
    parts = (_SPECIAL.sub(r"[\1]", part) for part in parts_of_pattern(pattern))
    return "*".join(("", *parts, ""))


def _runs(db: apsw.Connection, said: _Sql) -> Sequence[_PageRun]:
    return [
        _PageRun(owner, space, facet, n)
        for owner in said.owners
        for space, facet, n in counted(db, said.told.listed, owner, said.told.spaces)
        if said.told.facet is None or said.told.facet.fits(facet)
    ]


def _total(db: apsw.Connection, said: _Sql, runs: Sequence[_PageRun]) -> int:
    if len(said.owners) > 1 and not said.told.disjoint:
        sql = f"SELECT l.id FROM listing l WHERE {_RUN} {said.where}"  # noqa: S608 - our SQL
        seen: set[Packed] = set()
        for run in runs:
            seen.update([row[0] for row in db.execute(sql, _values(said, run))])
        return len(seen)
    if not said.where:
        return sum(run.n for run in runs)
    sql = f"SELECT count(*) FROM listing l WHERE {_RUN} {said.where}"  # noqa: S608 - our SQL
    return sum(number(db, sql, _values(said, run)) for run in runs)


def _ids(
    db: apsw.Connection, said: _Sql, runs: Sequence[_PageRun], limit: int, offset: int
) -> Sequence[Packed]:
    order = _NEWEST if said.told.newest_first else _ORDER
    turn = -1 if said.told.newest_first else 1
    bare = f"SELECT l.rank, l.later, l.id FROM listing l WHERE {_RUN} {said.where}"  # noqa: S608
    head = f"{bare} {order}"
    if len(runs) == 1:
        values = (*_values(said, runs[0]), limit, offset)
        return [row[2] for row in db.execute(f"{head} LIMIT ? OFFSET ?", values)]
    if limit + offset > _SHALLOW and len(runs) <= _RUNS_MAX:
        whole = compounded(bare, order, len(runs))
        values = tuple(value for run in runs for value in _values(said, run))
        return [row[2] for row in db.execute(whole, (*values, limit, offset))]
    rows: set[tuple[Any, ...]] = set()
    for run in runs:
        rows.update(db.execute(f"{head} LIMIT ?", (*_values(said, run), limit + offset)))
    ordered = sorted(rows, key=lambda row: (turn * row[0], row[1], unpack(row[2])))
    return [row[2] for row in ordered[offset : offset + limit]]


_MANY_FIRST, _MANY_NEWEST = (
    " UNION ALL ".join([f"SELECT * FROM ({one})"] * _AT_ONCE)  # noqa: S608 - our SQL
    for one in (_FIRST_IDS, _NEWEST_IDS)
)


def compounded(bare: str, order: str, runs: int) -> str:
    """The statement that merges so many runs, each in its own order already, row by row."""
    return f"{' UNION '.join([bare] * runs)} {order.replace('l.', '')} LIMIT ? OFFSET ?"


def _values(said: _Sql, run: _PageRun) -> tuple[Any, ...]:
    return (int(said.told.listed), run.owner, run.space, run.facet, *said.values)
