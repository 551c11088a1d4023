"""Pages of a list: its facets are known from their counts, and each is a run in the right order.

So a page costs its own length times the number of facets that match, however long the list is, and
a total is a sum of counts. Only filters inside a run (time, a second tag, a pattern) must look on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import apsw

from canonry.adapters.sqlite.bodies import altered
from canonry.adapters.sqlite.listing import PackedOwner
from canonry.adapters.sqlite.lookups import number, things_of
from canonry.adapters.sqlite.packing import Packed, pack, unpack
from canonry.domain.views.listing import NOBODY, List
from canonry.ports.views.pages import Page
from canonry.ports.views.state import Spaces

_RUN: Final = "l.list = ? AND l.owner = ? AND l.space = ? AND l.facet = ?"
_ORDER: Final = "ORDER BY l.rank, l.later, l.id"
_SHALLOW: Final = 1000
"""So many rows of each run are merged here; deeper pages are merged by SQLite, run beside run."""

_RUNS_MAX: Final = 400
"""SQLite compounds at most 500 statements."""

_NEWEST: Final = "ORDER BY l.rank DESC, l.later, l.id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Rows of a list under any of `owners` whose facet fits.

    `where` is SQL over the row `l` with its `values`; it starts with AND. `disjoint` owners have no
    row in common. `newest_first` turns the order of the ranks around, but not that of the ids.
    """

    listed: List
    owners: Sequence[PackedOwner] = (NOBODY,)
    spaces: Spaces = None
    facet: Callable[[str], bool] | None = None
    where: str = ""
    values: tuple[Any, ...] = ()
    disjoint: bool = False
    newest_first: bool = False


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
    runs = _runs(db, selection)
    total = _total(db, selection, runs)
    ids = _ids(db, selection, runs, limit, offset) if offset < total else ()
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
    sql = f"SELECT l.id FROM listing l WHERE {_RUN} {_ORDER} LIMIT ?"  # noqa: S608 - our SQL
    rows: Any = db.execute(sql, (int(listed), owner, pack(space), "", limit))
    return [row[0] for row in rows]


def _runs(db: apsw.Connection, selection: Selection) -> Sequence[_PageRun]:
    return [
        _PageRun(owner, space, facet, n)
        for owner in selection.owners
        for space, facet, n in counted(db, selection.listed, owner, selection.spaces)
        if selection.facet is None or selection.facet(facet)
    ]


def _total(db: apsw.Connection, selection: Selection, runs: Sequence[_PageRun]) -> int:
    if len(selection.owners) > 1 and not selection.disjoint:
        sql = f"SELECT l.id FROM listing l WHERE {_RUN} {selection.where}"  # noqa: S608 - our SQL
        seen: set[Packed] = set()
        for run in runs:
            seen.update(row[0] for row in db.execute(sql, _values(selection, run)))
        return len(seen)
    if not selection.where:
        return sum(run.n for run in runs)
    sql = f"SELECT count(*) FROM listing l WHERE {_RUN} {selection.where}"  # noqa: S608 - our SQL
    return sum(number(db, sql, _values(selection, run)) for run in runs)


def _ids(
    db: apsw.Connection, selection: Selection, runs: Sequence[_PageRun], limit: int, offset: int
) -> Sequence[Packed]:
    order = _NEWEST if selection.newest_first else _ORDER
    turn = -1 if selection.newest_first else 1
    bare = f"SELECT l.rank, l.later, l.id FROM listing l WHERE {_RUN} {selection.where}"  # noqa: S608
    head = f"{bare} {order}"
    if len(runs) == 1:
        values = (*_values(selection, runs[0]), limit, offset)
        return [row[2] for row in db.execute(f"{head} LIMIT ? OFFSET ?", values)]
    if limit + offset > _SHALLOW and len(runs) <= _RUNS_MAX:
        whole = compounded(bare, order, len(runs))
        values = tuple(value for run in runs for value in _values(selection, run))
        return [row[2] for row in db.execute(whole, (*values, limit, offset))]
    rows: set[tuple[Any, ...]] = set()
    for run in runs:
        rows.update(db.execute(f"{head} LIMIT ?", (*_values(selection, run), limit + offset)))
    ordered = sorted(rows, key=lambda row: (turn * row[0], row[1], unpack(row[2])))
    return [row[2] for row in ordered[offset : offset + limit]]


def compounded(bare: str, order: str, runs: int) -> str:
    """The statement that merges so many runs, each in its own order already, row by row."""
    return f"{' UNION '.join([bare] * runs)} {order.replace('l.', '')} LIMIT ? OFFSET ?"


def _values(selection: Selection, run: _PageRun) -> tuple[Any, ...]:
    return (int(selection.listed), run.owner, run.space, run.facet, *selection.values)
