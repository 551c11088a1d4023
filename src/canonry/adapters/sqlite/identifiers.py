"""Identifiers in SQLite: under which texts an entity is found, each a row that names its root."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import apsw

from canonry.adapters.sqlite.listing import MERGED, NOBODY, List, difference
from canonry.adapters.sqlite.packing import Packed, pack, unpack
from canonry.adapters.sqlite.pages import counted, things_of
from canonry.domain.entities import Entity
from canonry.domain.entries import Thing
from canonry.domain.identifiers import identifiers_of
from canonry.ports.views.pages import Page
from canonry.ports.views.queries import IdentifierQuery, Spaces

Row: TypeAlias = tuple[Packed, str, Packed, str, int, Packed]
"""(space, key, id, entity type, born at, root): the first three are the key of the table."""

LAST: Final = "\U0010ffff"
_PUT: Final = "INSERT INTO identifiers VALUES (?, ?, ?, ?, ?, ?)"
_DROP: Final = "DELETE FROM identifiers WHERE space = ? AND key = ? AND id = ?"
_KEY: Final = 3
EXACT: Final = "SELECT root, min(born) AS place FROM identifiers WHERE space = ? AND key = ?"
LONGER: Final = (
    "SELECT root, min(key) AS place FROM identifiers WHERE space = ? AND key > ? AND key < ?"
)


def rows_of(thing: Thing) -> Iterator[Row]:
    """The rows of an entity; others have none."""
    if isinstance(thing, Entity):
        space, own = pack(thing.space), pack(thing.id)
        root = own if thing.merged_into is None else pack(thing.merged_into)
        for key in identifiers_of(thing):
            yield space, key, own, thing.entity_type, thing.created_at, root


def reidentify(db: apsw.Connection, gone: Sequence[Thing], come: Sequence[Thing]) -> None:
    """Let things be found under the texts that they bear now."""
    dropped, put = difference(rows_of, gone, come)
    db.executemany(_DROP, [row[:_KEY] for row in dropped])
    db.executemany(_PUT, put)


def select_identified(db: apsw.Connection, query: IdentifierQuery) -> Mapping[str, Page[Entity]]:
    """The entities that bear each of the keys."""
    spaces = _spaces(db, query.spaces)
    found: dict[str, Page[Entity]] = {}
    for key in dict.fromkeys(query.keys):
        roots = _roots(db, spaces, EXACT, (key,), query.entity_type)
        if query.begins:
            longer = _roots(db, spaces, LONGER, (key, key + LAST), query.entity_type)
            known = frozenset(roots)
            roots = [*roots, *(root for root in longer if root not in known)]
        if roots:
            found[key] = Page(items=things_of(db, roots[: query.limit]), total=len(roots))
    return found


def _roots(
    db: apsw.Connection,
    spaces: Sequence[Packed],
    sql: str,
    values: tuple[str, ...],
    entity_type: str | None,
) -> list[Packed]:
    """The roots in order: by birth where the text is exact, else by the text."""
    rows: list[Any] = []
    typed, more = ("", ()) if entity_type is None else (" AND entity_type = ?", (entity_type,))
    for space in spaces:
        rows += db.execute(f"{sql}{typed} GROUP BY root", (space, *values, *more))
    return [root for root, _ in sorted(rows, key=lambda row: (row[1], unpack(row[0])))]


def _spaces(db: apsw.Connection, spaces: Spaces) -> Sequence[Packed]:
    if spaces is not None:
        return [pack(space) for space in spaces]
    owners = (NOBODY, MERGED)
    runs = (run for owner in owners for run in counted(db, List.ENTITIES, owner, None))
    return list(dict.fromkeys(space for space, _, _ in runs))
