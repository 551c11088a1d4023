"""Pages of a list in one statement: what is counted of it leads to runs that are in order already.

So a page costs its own length times the number of runs that fit, however long the list is, and a
total is a sum of counts. Only filters inside a run (time, a second tag, a pattern) must look on.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from canonry.log.encoding import decode_thing
from canonry.log.items.entities import normalised_name
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.selections import AlsoListed, FacetWish, Selection
from canonry.stores.neo4j.database import GraphRow, Neo4jDatabase
from canonry.stores.neo4j.faults import Torn
from canonry.stores.neo4j.rows import head_of
from canonry.values.errors import InvalidInput

STANDS: Final = "l.rank IS NOT NULL AND l.later IS NOT NULL AND l.id IS NOT NULL"
"""An index over several properties is used where something is asked of each."""

_PATTERN_BYTES: Final = 40_000
_WILD: Final = re.compile(r"[*%]")
_SIGNS: Final = re.compile(r"([^\w\s])")
_SAME: Final = (
    "EXISTS {{ MATCH (o:_Row) WHERE o.run IN [head IN $heads{n} | head + u.tail]"
    " AND o.rank = l.rank AND o.later = l.later AND o.id = l.id{named} }}"
)
_RUNS: Final = "MATCH (u:_Run) WHERE u.store = $store AND u.list = $list AND u.owner IN $owners"
_PAGE: Final = """
CALL () {{ {total} }}
CALL () {{
  {runs}{facets}
  CALL (u) {{
    MATCH (l:_Row) WHERE l.run = u.run AND {stands}{where}
    RETURN l.rank AS rank, l.later AS later, l.id AS id ORDER BY {within} LIMIT $deep
  }}
  WITH DISTINCT rank, later, id ORDER BY {among} SKIP $offset LIMIT $limit
  OPTIONAL MATCH (t:Thing {{store: $store, id: id}})
  WITH rank, later, id, t ORDER BY {among}
  RETURN collect([t.kind, t.body]) AS shown
}}
RETURN total, shown
"""
_WITHIN: Final = {
    False: "l.run, l.rank, l.later, l.id",
    True: "l.run DESC, l.rank DESC, l.later, l.id",
}
_AMONG: Final = {False: "rank, later, id", True: "rank DESC, later, id"}


async def page_of(
    database: Neo4jDatabase, selection: Selection, limit: int, offset: int
) -> Page[Any]:
    """The things of a page, and how many there are in all.

    Raises:
        BrokenInvariant: `store.altered`, a list leads to a thing that is not there.
    """
    facets, where, values = _conditions(selection)
    several = len(selection.owners) > 1 and not selection.disjoint
    if several or selection.filtered:
        what = "count(DISTINCT l.id)" if several else "count(l)"
        total = (
            f"{_RUNS}{facets} MATCH (l:_Row) WHERE l.run = u.run AND {STANDS}{where}"
            f" RETURN {what} AS total"
        )
    else:
        total = f"{_RUNS}{facets} RETURN sum(u.n) AS total"
    statement = _PAGE.format(
        total=total,
        runs=_RUNS,
        facets=facets,
        stands=STANDS,
        where=where,
        within=_WITHIN[selection.newest_first],
        among=_AMONG[selection.newest_first],
    )
    values |= {
        "list": int(selection.listed),
        "owners": list(map(str, selection.owners)),
        "limit": limit,
        "offset": offset,
        "deep": limit + offset,
    }

    def made(rows: list[GraphRow]) -> Page[Any]:
        ((count, shown),) = rows
        if len(shown) != max(0, min(limit, count - offset)):
            raise Torn
        return Page(items=things_in(shown), total=count)

    return await database.read(statement, values, made)


def things_in(pairs: Sequence[Sequence[Any]]) -> list[Any]:
    """The things that pairs of (kind, body) hold.

    Raises:
        Torn: one of them is not there.
    """
    if any(body is None for _, body in pairs):
        raise Torn
    return [decode_thing(kind, body.encode()) for kind, body in pairs]


def _conditions(selection: Selection) -> tuple[str, str, dict[str, Any]]:
    """What is asked of runs, what of rows, and the values of both."""
    facets, values = _wished(selection.facet)
    if selection.spaces is not None:
        facets += " AND u.space IN $spaces"
        values["spaces"] = list(selection.spaces)
    where = ""
    if selection.begun_by is not None:
        where += " AND (l.starts IS NULL OR l.starts <= $begun_by)"
        values["begun_by"] = selection.begun_by
    if selection.open_after is not None:
        where += " AND (l.ends IS NULL OR l.ends > $open_after)"
        values["open_after"] = selection.open_after
    for n, standing in enumerate(selection.standing):
        where += _stands(n, standing, values)
    return facets, where, values


def _wished(wish: FacetWish | None) -> tuple[str, dict[str, Any]]:
    facets, values = "", dict[str, Any]()
    if wish is None:
        return facets, values
    if wish.whole is not None:
        facets += " AND u.facet IN $whole"
        values["whole"] = list(wish.whole)
    for place, among in wish.parts.items():
        name = f"part{abs(place)}{'' if place >= 0 else 'last'}"
        facets += f" AND split(u.facet, '/')[{place}] IN ${name}"
        values[name] = list(among)
    return facets, values


def _stands(n: int, standing: AlsoListed, values: dict[str, Any]) -> str:
    values[f"heads{n}"] = [head_of(standing.listed, owner) for owner in standing.owners]
    named = ""
    if standing.named is not None:
        named = f" AND o.name =~ $pattern{n}"
        values[f"pattern{n}"] = _regular(standing.named)
    sign = " AND NOT " if standing.never else " AND "
    return sign + _SAME.format(n=n, named=named)


def _regular(pattern: str) -> str:
    """`pattern` as a regular expression: only its own wildcards are wild."""
    if len(pattern.encode()) > _PATTERN_BYTES:
        message = f"a pattern has at most {_PATTERN_BYTES} bytes"
        raise InvalidInput("query.pattern-long", message, path="name_pattern")
    parts = (_SIGNS.sub(r"\\\1", part) for part in _WILD.split(normalised_name(pattern)))
    return "(?s)" + ".*".join(("", *parts, ""))
