"""Records as rows: sealed commits in the order in which the store took them, and their parts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, TypeVar
from zlib import error

import apsw

from canonry.log.commits import ORIGIN, Position
from canonry.log.folding import ANY, key_hash
from canonry.log.sealing import GENESIS, ErasablePart, Sealed, altered
from canonry.stores.sqlite.bodies import Packed, pack, pack_keys, unpack, unpack_keys
from canonry.stores.sqlite.ledger.packed import PartPacking, pack_body, unpack_body
from canonry.values.ids import CommitId, SpaceId
from canonry.values.json_values import decode_json
from canonry.values.moments import Instant

T = TypeVar("T")

TOUCHED_MAX: Final = 1000
"""After more commits than this a verdict is stale without a look at what they touched."""

_HEAD: Final = (
    "SELECT position, recorded_at, hash, body FROM commits WHERE space = ?"
    " ORDER BY position DESC LIMIT 1"
)
_KNOWN: Final = "SELECT position, recorded_at FROM commits WHERE id = ?"
_TOUCHED: Final = "SELECT touched FROM commits WHERE space = ? AND position > ? LIMIT ?"
_INSERT: Final = (
    "INSERT INTO commits (space, position, id, recorded_at, hash, body, touched)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_PART: Final = "INSERT INTO parts (seq, entry, salt, payload, blob) VALUES (?, ?, ?, ?, ?)"
_COLUMNS: Final = "seq, space, position, id, recorded_at, hash, body"
_BY_ID: Final = f"SELECT {_COLUMNS} FROM commits WHERE id = ?"  # noqa: S608 - constant columns
_BY_SPACE: Final = (
    f"SELECT {_COLUMNS} FROM commits WHERE space = ? AND position > ?"  # noqa: S608 - as above
    " ORDER BY position LIMIT ?"
)
_BY_SEQ: Final = f"SELECT {_COLUMNS} FROM commits WHERE seq > ? ORDER BY seq LIMIT ?"  # noqa: S608
_PARTS: Final = "SELECT salt, payload, blob FROM parts WHERE seq = ? ORDER BY entry"
_ANYTHING: Final = key_hash(ANY)
_NEVER: Final = Instant(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tip:
    """Where a space's log stands."""

    position: Position = ORIGIN
    recorded_at: Instant = _NEVER
    hash: str = GENESIS


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A commit as read; `blobs` maps the entries whose payload is a blob to its digest."""

    seq: int
    sealed: Sealed
    blobs: Mapping[int, str]

    def filled(self, payloads: Mapping[int, bytes]) -> Sealed:
        """The sealed commit with the payloads of its blobs in place."""
        if not payloads:
            return self.sealed
        parts = tuple(
            part if part is None else replace(part, payload=payloads.get(entry, part.payload))
            for entry, part in enumerate(self.sealed.parts)
        )
        return replace(self.sealed, parts=parts)


def tip_of(db: apsw.Connection, space: SpaceId) -> Tip:
    """The newest commit of `space`."""
    row = db.execute(_HEAD, (pack(space),)).fetchone()
    if row is None:
        return Tip()
    position, recorded_at, digest, held = row
    try:
        whole = sha256(unpack_body(held)).digest() == digest
    except (TypeError, error) as fault:
        raise altered() from fault
    if not whole:  # the next commit would be chained to it
        raise altered()
    return Tip(position=position, recorded_at=recorded_at, hash=digest.hex())


def known(db: apsw.Connection, commit_id: CommitId) -> tuple[Position, Instant] | None:
    """Where the commit of that id stands, if it is in the log."""
    return db.execute(_KNOWN, (pack(commit_id),)).fetchone()


def is_stale(
    db: apsw.Connection, space: SpaceId, judged_at: Position, reads: Iterable[str]
) -> bool:
    """Whether a commit of `space` past `judged_at` touches one of `reads`."""
    rows: list[tuple[Any, ...]] = db.execute(
        _TOUCHED, (pack(space), judged_at, TOUCHED_MAX + 1)
    ).fetchall()
    if not rows:
        return False
    if len(rows) > TOUCHED_MAX:
        return True
    touched = set(unpack_keys(b"".join([packed for (packed,) in rows])))
    if not touched:
        return False
    reads = frozenset(reads)
    return ANY in reads or _ANYTHING in touched or not touched.isdisjoint(map(key_hash, reads))


def insert(
    db: apsw.Connection, sealed: Sealed, touched: Iterable[str], blobs: Mapping[int, str]
) -> None:
    """Write a commit; `blobs` names the digests of the parts that are kept outside."""
    row = (
        pack(sealed.space),
        sealed.position,
        pack(sealed.id),
        sealed.recorded_at,
        bytes.fromhex(sealed.hash),
        pack_body(sealed.body),
        pack_keys(map(key_hash, touched)),
    )
    db.execute(_INSERT, row)
    seq = db.last_insert_rowid()
    packing = PartPacking(decode_json(sealed.body))
    db.executemany(
        _PART,
        [_row(seq, n, part, blobs.get(n), packing) for n, part in enumerate(sealed.parts)],
    )


def _row(
    seq: int, entry: int, part: ErasablePart | None, digest: str | None, packing: PartPacking
) -> tuple[Any, ...]:
    if part is None:
        return (seq, entry, None, None, None)
    payload = None if digest is not None else packing.pack(entry, part.payload)
    return (seq, entry, part.salt, payload, digest)


def by_id(db: apsw.Connection, commit_id: CommitId) -> Stored | None:
    """The commit of that id."""
    found = _stored(db, db.execute(_BY_ID, (pack(commit_id),)).fetchall())
    return found[0] if found else None


def by_space(
    db: apsw.Connection, space: SpaceId, *, after: Position, limit: int
) -> Sequence[Stored]:
    """Up to `limit` commits of `space` past `after`."""
    return _stored(db, db.execute(_BY_SPACE, (pack(space), after, limit)).fetchall())


def by_seq(db: apsw.Connection, *, after: int, limit: int) -> Sequence[Stored]:
    """Up to `limit` commits of all spaces past the number `after`, as the store took them."""
    return _stored(db, db.execute(_BY_SEQ, (after, limit)).fetchall())


def _stored(db: apsw.Connection, rows: Sequence[tuple[Any, ...]]) -> Sequence[Stored]:
    try:
        return [_one(row, db.execute(_PARTS, (row[0],)).fetchall()) for row in rows]
    except (error, LookupError, TypeError, ValueError, AttributeError) as fault:
        raise altered() from fault  # not even of the columns' types


def _one(row: tuple[Any, ...], rows_of_parts: Sequence[tuple[Any, ...]]) -> Stored:
    seq, space, position, commit_id, recorded_at, digest, body = row
    body = unpack_body(_required(body, bytes))
    packing = PartPacking(decode_json(body))
    blobs: dict[int, str] = {}
    parts: list[ErasablePart | None] = []
    for entry, (salt, payload, blob) in enumerate(rows_of_parts):
        if blob is not None and salt is not None:
            blobs[entry] = _required(blob, str)
        parts.append(None if salt is None else _part(salt, packing, entry, payload))
    sealed = Sealed(
        space=SpaceId(unpack(space)),
        position=Position(position),
        id=CommitId(unpack(commit_id)),
        recorded_at=Instant(recorded_at),
        body=body,
        hash=digest.hex(),
        parts=tuple(parts),
    )
    return Stored(seq=seq, sealed=sealed, blobs=blobs)


def _part(salt: Any, packing: PartPacking, entry: int, payload: Any) -> ErasablePart:
    held = _required(payload or b"", bytes)
    return ErasablePart(salt=_required(salt, bytes), payload=packing.unpack(entry, held))


def _required(value: Any, kind: type[T]) -> T:
    """The value of a column: a bit that flips in a row's head changes what the others are."""
    if not isinstance(value, kind):
        raise TypeError(kind)
    return value


def spaces_after(db: apsw.Connection, after: Packed | None, limit: int) -> Sequence[Packed]:
    """Up to `limit` spaces past `after`, by jumps in the index rather than a scan."""
    found: list[Packed] = []
    while len(found) < limit:
        if after is None:
            row = db.execute("SELECT min(space) FROM commits").fetchone()
        else:
            row = db.execute("SELECT min(space) FROM commits WHERE space > ?", (after,)).fetchone()
        if row is None or row[0] is None:
            break
        after = row[0]
        found.append(row[0])
    return found


def position_at(db: apsw.Connection, space: SpaceId, instant: Instant) -> Position:
    """By halving: within a space the instants grow with the positions."""
    sql = "SELECT recorded_at FROM commits WHERE space = ? AND position = ?"
    low, high = ORIGIN, tip_of(db, space).position
    while low < high:
        middle = Position((low + high + 1) // 2)
        row: Any = db.execute(sql, (pack(space), middle)).fetchone()
        if row[0] <= instant:
            low = middle
        else:
            high = Position(middle - 1)
    return low
