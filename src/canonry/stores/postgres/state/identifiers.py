"""Identifiers in PostgreSQL: under which texts an entity is found, and who bears a text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from canonry.log.encoding import decode_thing
from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.schemas import identity_keys as identifiers
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import IdentifierQuery
from canonry.stores.postgres.database import PgConnection, fetched

StoredIdentifier: TypeAlias = tuple[str, str, str, str, int, str]
"""(space, key, id, entity type, born, root)."""


def identifiers_of(thing: Thing) -> Iterator[StoredIdentifier]:
    """The rows of an entity; others have none."""
    if isinstance(thing, Entity):
        for row in identifiers.rows_of(thing):
            yield row.space, row.key, row.id, row.entity_type, row.born, row.root


_LAST: Final = "\U0010ffff"
_OF: Final = (
    "(%(spaces)s::text[] IS NULL OR i.space = ANY(%(spaces)s))"
    " AND (%(entity_type)s::text IS NULL OR i.entity_type = %(entity_type)s)"
)
_EXACT: Final = (
    "SELECT i.key, i.root, 0 AS longer, min(i.born) AS born, '' COLLATE \"C\" AS place"
    f" FROM identifiers i WHERE i.key = ANY(%(keys)s) AND {_OF} GROUP BY i.key, i.root"
)
_LONGER: Final = (
    " UNION ALL SELECT k.key, i.root, 1, 0, min(i.key) FROM unnest(%(keys)s::text[]) AS k (key)"
    ' JOIN identifiers i ON i.key > k.key COLLATE "C"'
    f' AND i.key < (k.key || %(last)s) COLLATE "C" WHERE {_OF}'
    " AND NOT EXISTS (SELECT 1 FROM identifiers i2 WHERE i2.key = k.key AND i2.root = i.root"
    f" AND {_OF.replace('i.', 'i2.')}) GROUP BY k.key, i.root"
)
_SELECT: Final = (
    "WITH found AS ({found}), placed AS (SELECT f.*, row_number() OVER (PARTITION BY key"
    " ORDER BY longer, born, place, root) AS n, count(*) OVER (PARTITION BY key) AS total"
    " FROM found f) SELECT p.key, p.total, t.kind, t.body, p.longer, p.born, p.place, p.root"
    " FROM placed p"
    " LEFT JOIN things t ON t.id = p.root WHERE p.n <= %(limit)s ORDER BY p.key, p.n"
)


@dataclass(frozen=True, slots=True)
class FoundBearers:
    """Who bears one text: each after the place that they have among all who do, and how many."""

    placed: list[tuple[tuple[Any, ...], Any]]
    total: int


async def select_identified(
    db: PgConnection, query: IdentifierQuery, part: type | None = None
) -> Mapping[str, FoundBearers]:
    """The entities that bear each of the keys, or a `part` of each."""
    found = _EXACT + (_LONGER if query.begins else "")
    values = {
        "keys": list(dict.fromkeys(query.keys)),
        "spaces": None if query.spaces is None else list(query.spaces),
        "entity_type": query.entity_type,
        "last": _LAST,
        "limit": max(query.limit, 1),
    }
    rows = await fetched(db, _SELECT.format(found=found), values)
    told: dict[str, FoundBearers] = {}
    for key, total, kind, body, *place in rows:
        bearers = told.setdefault(key, FoundBearers([], total))
        if kind is not None:
            bearers.placed.append((tuple(place), decode_thing(kind, body, part=part)))
    return told


def pages_of(
    found: Sequence[Mapping[str, FoundBearers]], query: IdentifierQuery
) -> Mapping[str, Page[Any]]:
    """The pages that a query asks for, from what one server or several have found."""
    pages: dict[str, Page[Any]] = {}
    for key in query.keys:
        some = [each[key] for each in found if key in each]
        if some:
            placed = dict(sorted((one for each in some for one in each.placed), key=_place))
            items = list(placed.values())[: query.limit]
            pages[key] = Page(items=items, total=sum(each.total for each in some))
    return pages


def _place(one: tuple[tuple[Any, ...], Any]) -> tuple[Any, ...]:
    return one[0]
