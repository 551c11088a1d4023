"""Rows of lists, and things by their ids."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import apsw

from canonry.log.entries import Thing
from canonry.readmodels import listing
from canonry.stores.sqlite.bodies import Packed, altered, pack, thing_under, unpack

PackedOwner: TypeAlias = bytes | str | int
CountKey: TypeAlias = tuple[int, PackedOwner, Packed, str]
PackedRow: TypeAlias = tuple[
    int, PackedOwner, Packed, str, int | float, int, Packed, int | None, int | None, str | None
]


def rows_of(thing: Thing) -> list[PackedRow]:
    """The rows of `thing` in every list, as they are stored."""
    found: list[PackedRow] = []
    for listed, owner, space, facet, rank, later, identity, *rest in listing.rows_of(thing):
        mine = pack(owner) if isinstance(owner, str) else owner
        found.append((listed, mine, pack(space), facet, rank, later, pack(identity), *rest))  # type: ignore[arg-type] # three are left
    return found


LookupRow: TypeAlias = tuple[int, str, bytes]
"""(n, kind, body) of a thing."""

_TOGETHER: Final = 64
_FEW: Final = 8
"""Fewer ids than this are asked for one by one."""

_ONE: Final = "SELECT n, kind, body FROM things WHERE id = ?"
_MANY: Final = f"SELECT id, n, kind, body FROM things WHERE id IN ({', '.join('?' * _TOGETHER)})"  # noqa: S608
_BEGINNING: Final = "SELECT id FROM things WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?"
_UUID_DIGITS: Final = 32
_VERSION: Final = (
    "SELECT kind, body FROM versions WHERE id = ? AND since <= ? ORDER BY since DESC LIMIT 1"
)


def thing_of(db: apsw.Connection, packed: Packed) -> Any:
    """The thing under a stored id; None where there is none."""
    row: Any = db.execute(_ONE, (packed,)).fetchone()
    return None if row is None else thing_under(packed, *row[1:])


def version_of(db: apsw.Connection, packed: Packed, position: int) -> Any:
    """What a thing was at a position that lies before its last change; None before the first."""
    row: Any = db.execute(_VERSION, (packed, position)).fetchone()
    return None if row is None else thing_under(packed, *row)


def ids_beginning(db: apsw.Connection, text: str, limit: int) -> list[str]:
    """The first ids that begin with a part of a UUID, in order."""
    digits = text.replace("-", "")
    ends = [bytes.fromhex(digits.ljust(_UUID_DIGITS, end)) for end in "0f"]
    return [unpack(row[0]) for row in db.execute(_BEGINNING, (*ends, limit))]


def things_of(db: apsw.Connection, ids: Sequence[Packed]) -> list[Any]:
    """The things under the ids that an index holds, in that order.

    Raises:
        BrokenInvariant: `store.altered`, one of them is the id of nothing.
    """
    found = look_up(db, ids)
    if len(found) < len(ids) and len(found) < len(frozenset(ids)):
        raise altered()
    return [thing_under(packed, *found[packed][1:]) for packed in ids]


def things_found(db: apsw.Connection, sql: str, values: Sequence[Any]) -> list[Any]:
    """The things whose ids a statement gives in its first column, in that order."""
    return things_of(db, [row[0] for row in db.execute(sql, values)])


def number(db: apsw.Connection, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> int:
    """The one number that a statement gives; 0 where it gives none."""
    row: Any = db.execute(sql, values).fetchone()
    return int(row[0] or 0)


def look_up(db: apsw.Connection, ids: Iterable[Packed]) -> dict[Packed, LookupRow]:
    """Those of `ids` that there are, in the order in which they are asked for."""
    wanted = list(dict.fromkeys(ids))
    found: dict[Packed, LookupRow] = {}
    for start in range(0, len(wanted), _TOGETHER):
        some = wanted[start : start + _TOGETHER]
        found |= _one_by_one(db, some) if len(some) < _FEW else _together(db, some)
    return found


def _one_by_one(db: apsw.Connection, ids: Sequence[Packed]) -> dict[Packed, LookupRow]:
    rows: Any = [(packed, db.execute(_ONE, (packed,)).fetchone()) for packed in ids]
    return {packed: row for packed, row in rows if row is not None}


def _together(db: apsw.Connection, ids: Sequence[Packed]) -> dict[Packed, LookupRow]:
    # One length of the list for all, so that the statement is compiled once.
    filled = [*ids, *[ids[-1]] * (_TOGETHER - len(ids))]
    rows: Any = db.execute(_MANY, filled)
    found = {packed: (n, kind, body) for packed, n, kind, body in rows}
    return {packed: found[packed] for packed in ids if packed in found}
