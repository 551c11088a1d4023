"""Pages of a list in one statement: what is counted of it leads to runs in the right order."""

import re
from collections.abc import Iterable, Iterator, Sequence
from struct import pack, unpack
from typing import Any, Final, TypeAlias

from canonry.log.encoding import decode_thing
from canonry.log.entries import Thing
from canonry.readmodels import listing
from canonry.readmodels.listing import List, Owner
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.selections import AlsoListed, FacetWish, Selection, parts_of_pattern
from canonry.stores.postgres.database import PgConnection, PgRow, altered, fetched

StoredRow: TypeAlias = tuple[str, int, str, str, int, int, str, int | None, int | None, str | None]
"""(space, list, owner, facet, rank, later, id, starts, ends, name)."""

_SIGN: Final = 0x7FFF_FFFF_FFFF_FFFF


def rows_of(thing: Thing) -> Iterator[StoredRow]:
    """The rows of `thing` in every list; those without a space are kept in that of the thing."""
    for listed, owner, space, facet, rank, later, identity, *rest in listing.rows_of(thing):
        place = (space or thing.space, listed, str(owner), facet, ranked(listed, rank), later)
        yield (*place, identity, *rest)  # type: ignore[misc] # three are left


def ranked(listed: int, rank: float) -> int:
    """A rank as a whole number in the same order: that of memories is their importance."""
    if listed != List.MEMORIES:
        return int(rank)
    bits: int = unpack(">q", pack(">d", rank + 0.0))[0]
    return bits if bits >= 0 else bits ^ _SIGN


def owners_stored(owners: Iterable[Owner]) -> list[str]:
    """Owners as they are stored."""
    return [str(owner) for owner in owners]


# Pages of a list in one statement: what is counted of it leads to runs that are in order already.
#
# So a page costs its own length times the number of facets that fit, however long the list is, and
# a total is a sum of counts. Only filters inside a run (time, a second tag, a pattern) must look
# on.

_SPECIAL: Final = re.compile(r"([\\%_])")
_SAME: Final = (
    "SELECT 1 FROM listing o WHERE o.space = l.space AND o.list = %(s{n})s"
    " AND o.owner = ANY(%(o{n})s) AND o.facet = l.facet AND o.rank = l.rank AND o.later = l.later"
    " AND o.id = l.id"
)
_OF_RUN: Final = (
    "l.space = r.space AND l.list = %(list)s AND l.owner = r.owner AND l.facet = r.facet"
)
_PAGE: Final = """
WITH runs AS (
  SELECT space, owner, facet, n FROM counts c WHERE c.owner = ANY(%(owners)s)
  AND c.list = %(list)s AND c.n > 0 {facets}
), chosen AS (
  SELECT DISTINCT p.rank, p.later, p.id FROM runs r CROSS JOIN LATERAL (
    SELECT l.rank, l.later, l.id FROM listing l WHERE {of_run} {where}
    ORDER BY l.rank {turn}, l.later, l.id LIMIT %(deep)s
  ) p ORDER BY p.rank {turn}, p.later, p.id LIMIT %(limit)s OFFSET %(offset)s
)
SELECT {total}, t.kind, t.body FROM (SELECT 1) AS always LEFT JOIN (
  SELECT c.rank, c.later, c.id, i.kind, i.body FROM chosen c LEFT JOIN things i ON i.id = c.id
) t ON true ORDER BY t.rank {turn}, t.later, t.id
"""
_SUM: Final = "(SELECT coalesce(sum(n), 0) FROM runs)::bigint"
_COUNT: Final = (
    "(SELECT count({what}) FROM runs r JOIN listing l ON {of_run} WHERE true {where})::bigint"
)
_FIRST: Final = (
    "SELECT t.kind, t.body FROM (SELECT rank, later, id FROM listing WHERE {space} list = %s"
    " AND owner = %s ORDER BY rank, later, id LIMIT %s) l LEFT JOIN things t ON t.id = l.id"
    " ORDER BY l.rank, l.later, l.id"
)


async def page_of(db: PgConnection, selection: Selection, limit: int, offset: int) -> Page[Any]:
    """The things of a page, and how many there are in all.

    Raises:
        BrokenInvariant: `store.altered`, a list leads to a thing that is not there.
    """
    facets, where, values = _conditions(selection)
    several = len(selection.owners) > 1 and not selection.disjoint
    if several or selection.filtered:
        what = "DISTINCT l.id" if several else "*"
        total = _COUNT.format(what=what, of_run=_OF_RUN, where=where)
    else:
        total = _SUM
    statement = _PAGE.format(
        facets=facets,
        of_run=_OF_RUN,
        where=where,
        total=total,
        turn="DESC" if selection.newest_first else "ASC",
    )
    values |= {
        "list": int(selection.listed),
        "owners": owners_stored(selection.owners),
        "limit": limit,
        "offset": offset,
        "deep": limit + offset,
    }
    rows = await fetched(db, statement, values)
    shown = [row for row in rows if row[1] is not None]
    count: int = rows[0][0]
    if len(shown) != max(0, min(limit, count - offset)):
        raise altered()
    return Page(items=things_in(row[1:] for row in shown), total=count)


async def first_of(
    db: PgConnection,
    listed: List,
    owner: Owner,
    limit: int,
    space: str | None,
) -> list[Any]:
    """The first things in the list of one owner, of all its facets."""
    where = "" if space is None else "space = %s AND"
    statement = _FIRST.format(space=where)
    place = () if space is None else (space,)
    return things_in(await fetched(db, statement, (*place, int(listed), str(owner), limit)))


def things_in(rows: Any) -> list[Any]:
    """The things that rows of (kind, body) hold.

    Raises:
        BrokenInvariant: `store.altered`, one of them is not there.
    """
    found: Sequence[PgRow] = list(rows)
    if any(kind is None for kind, _ in found):
        raise altered()
    return [decode_thing(kind, body) for kind, body in found]


def _conditions(selection: Selection) -> tuple[str, str, dict[str, Any]]:
    """What is asked of facets, what of rows, and the values of both."""
    facets, values = _wished(selection.facet)
    if selection.spaces is not None:
        facets += " AND c.space = ANY(%(spaces)s)"
        values["spaces"] = list(selection.spaces)
    where = ""
    if selection.begun_by is not None:
        where += " AND (l.starts IS NULL OR l.starts <= %(begun_by)s)"
        values["begun_by"] = selection.begun_by
    if selection.open_after is not None:
        where += " AND (l.ends IS NULL OR l.ends > %(open_after)s)"
        values["open_after"] = selection.open_after
    if selection.rank_most is not None:
        where += " AND l.rank <= %(rank_most)s"
        values["rank_most"] = ranked(selection.listed, selection.rank_most)
    for n, standing in enumerate(selection.standing):
        where += _stands(n, standing, values)
    return facets, where, values


def _wished(wish: FacetWish | None) -> tuple[str, dict[str, Any]]:
    facets, values = "", dict[str, Any]()
    if wish is None:
        return facets, values
    if wish.whole is not None:
        facets += " AND c.facet = ANY(%(whole)s)"
        values["whole"] = list(wish.whole)
    for place, among in wish.parts.items():
        name = f"part{abs(place)}"
        at = place + 1 if place >= 0 else place
        facets += f" AND split_part(c.facet, '/', {at}) = ANY(%({name})s)"
        values[name] = list(among)
    if wish.asks is not None:
        facets += " AND string_to_array(split_part(c.facet, '/', -1), '+') && %(asks)s::text[]"
        values["asks"] = list(wish.asks)
    return facets, values


def _stands(n: int, standing: AlsoListed, values: dict[str, Any]) -> str:
    values[f"s{n}"] = int(standing.listed)
    values[f"o{n}"] = owners_stored(standing.owners)
    named = ""
    if standing.named is not None:
        named = f" AND o.name LIKE %(p{n})s"
        values[f"p{n}"] = _like(standing.named)
    sign = "NOT EXISTS" if standing.never else "EXISTS"
    return f" AND {sign} ({_SAME.format(n=n)}{named})"


def _like(pattern: str) -> str:
    """`pattern` for PostgreSQL: only its own wildcards are wild."""
    parts = (_SPECIAL.sub(r"\\\1", part) for part in parts_of_pattern(pattern))
    return "%".join(("", *parts, ""))
