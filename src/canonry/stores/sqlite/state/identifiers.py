"""Identifiers in SQLite: under which texts an entity is found, each a row that names its root."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import apsw

from canonry.log.entries import Thing
from canonry.log.items.entities import Entity
from canonry.log.schemas.identity_keys import rows_of
from canonry.readmodels.listing import MERGED, NOBODY, List, difference
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import IdentifierQuery, Spaces
from canonry.stores.sqlite.bodies import Packed, pack, thing_under, unpack
from canonry.stores.sqlite.lookups import look_up
from canonry.stores.sqlite.pages import counted

PackedIdentifier: TypeAlias = tuple[Packed, str, Packed, str, int, Packed | None]
"""(space, key, id, entity type, born at, the root if it is another): the key is the first three."""

LAST: Final = "\U0010ffff"
_PUT: Final = "INSERT INTO identifiers VALUES (?, ?, ?, ?, ?, ?)"
_DROP: Final = "DELETE FROM identifiers WHERE space = ? AND key = ? AND id = ?"
_KEY: Final = 3
_TOGETHER: Final = 64
_FEW: Final = 8
"""For fewer texts than this a statement of its own is cheaper."""

_EXACT: Final = "SELECT key, root, min(born) FROM identifiers WHERE space = ? AND key"
EXACT: Final = f"{_EXACT} = ?"
EXACTLY: Final = f"{_EXACT} IN ({', '.join('?' * _TOGETHER)})"
LONGER: Final = (
    "SELECT root, min(key) AS place FROM identifiers WHERE space = ? AND key > ? AND key < ?"
)
_PlacedEntity: TypeAlias = tuple[Any, Packed]
"""By what it is ordered, and the root."""


def packed_rows(thing: Thing) -> Iterator[PackedIdentifier]:
    """The rows of an entity as they are stored; others have none."""
    if isinstance(thing, Entity):
        own = pack(thing.id)
        for row in rows_of(thing):
            root = None if row.root == row.id else pack(row.root)
            yield pack(row.space), row.key, own, row.entity_type, row.born, root


def reidentify(db: apsw.Connection, gone: Sequence[Thing], come: Sequence[Thing]) -> None:
    """Let things be found under the texts that they bear now."""
    dropped, put = difference(packed_rows, gone, come)
    if dropped:
        db.executemany(_DROP, [row[:_KEY] for row in dropped])
    if put:
        db.executemany(_PUT, put)


def select_identified(
    db: apsw.Connection, query: IdentifierQuery, part: type | None = None
) -> Mapping[str, Page[Any]]:
    """The entities that bear each of the keys, or a `part` of each."""
    spaces = _spaces(db, query.spaces)
    keys = tuple(dict.fromkeys(query.keys))
    exact = _exact(db, spaces, keys, query.entity_type)
    found: dict[str, Sequence[Packed]] = {}
    for key in keys:
        roots = _in_order(exact.get(key, ()))
        if query.begins:
            longer = _longer(db, spaces, key, query.entity_type)
            known = frozenset(roots)
            roots = [*roots, *(root for root in longer if root not in known)]
        if roots:
            found[key] = roots
    shown = {root: None for roots in found.values() for root in roots[: query.limit]}
    things = {
        packed: thing_under(packed, *row[1:], part) for packed, row in look_up(db, shown).items()
    }
    return {
        key: Page(
            items=[things[root] for root in roots[: query.limit] if root in things],
            total=len(roots),
        )
        for key, roots in found.items()
    }


def _exact(
    db: apsw.Connection, spaces: Sequence[Packed], keys: Sequence[str], entity_type: str | None
) -> Mapping[str, Sequence[_PlacedEntity]]:
    """Who bears each of the texts, with when they were born: many texts by one statement."""
    typed, more = _typed(entity_type)
    size, sql = (1, EXACT) if len(keys) < _FEW else (_TOGETHER, EXACTLY)
    found: dict[str, list[_PlacedEntity]] = {}
    for start in range(0, len(keys), size):
        some = keys[start : start + size]
        filled = [*some, *[some[-1]] * (size - len(some))]  # one length, compiled once
        for space in spaces:
            rows: Any = db.execute(f"{sql}{typed} GROUP BY key, root", (space, *filled, *more))
            for key, root, born in rows:
                found.setdefault(key, []).append((born, root))
    return found


def _longer(
    db: apsw.Connection, spaces: Sequence[Packed], key: str, entity_type: str | None
) -> Sequence[Packed]:
    """Who bears a text that begins with `key`, by the text."""
    typed, more = _typed(entity_type)
    rows: list[_PlacedEntity] = []
    for space in spaces:
        values = (space, key, key + LAST, *more)
        found: Any = db.execute(f"{LONGER}{typed} GROUP BY root", values)
        rows += [(place, root) for root, place in found]
    return _in_order(rows)


def _typed(entity_type: str | None) -> tuple[str, tuple[str, ...]]:
    return ("", ()) if entity_type is None else (" AND entity_type = ?", (entity_type,))


def _in_order(rows: Collection[_PlacedEntity]) -> Sequence[Packed]:
    if len(rows) <= 1:
        return [root for _, root in rows]
    return [root for _, root in sorted(rows, key=lambda row: (row[0], unpack(row[1])))]


def _spaces(db: apsw.Connection, spaces: Spaces) -> Sequence[Packed]:
    if spaces is not None:
        return [pack(space) for space in spaces]
    owners = (NOBODY, MERGED)
    runs = (run for owner in owners for run in counted(db, List.ENTITIES, owner, None))
    return list(dict.fromkeys(space for space, _, _ in runs))
