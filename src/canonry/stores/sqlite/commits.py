"""Commits in SQLite: packing, writing and reading."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final, TypeVar
from zlib import DEFLATED, Z_DEFAULT_STRATEGY, compress, compressobj, decompressobj, error

import apsw

from canonry.log.commits import ORIGIN, Position
from canonry.log.folding import collides, key_hash
from canonry.log.group_appends import TOUCHED_MAX
from canonry.log.sealing import GENESIS, ErasablePart, Sealed, altered_commit
from canonry.stores.sqlite.rows import Packed, pack_id, pack_keys, unpack_id, unpack_keys
from canonry.values.ids import CommitId, SpaceId
from canonry.values.json_values import decode_json
from canonry.values.moments import Instant

# Packed records: a payload or sealed body is deflated if that makes it shorter.
#
# Payloads consist mostly of field names and of ids that their commit also contains. Each payload is
# packed alone, so that it can be erased alone. Its dictionary is `parts.txt` and the sealed body,
# which is never erased. A value that begins with another byte was written by an earlier version.
#
# Never change `parts.txt`: stored records need it for ever. Another dictionary needs another mark.

_PACKED: Final = b"\x01"
"""First byte of a packed value. JSON never begins with it."""

_LEAST: Final = 200  # shorter payloads are not packed

_PAYLOAD_MAX: Final = 64_000  # longer ones are kept apart and read alone
_TRIED_MAX: Final = 256_000  # longer payloads are not packed in order to find their packed length

_BODY_LEAST: Final = 4_096
_LONG: Final = 8_192  # a wider window pays only for longer texts
_LEVEL: Final = 3  # higher levels cost more time than they save: bench growth
_IDS_MAX: Final = 8  # later ids rarely repeat within a commit
_COMMON: Final = files(__package__).joinpath("parts.txt").read_bytes()


class PartPacking:
    """Packs and unpacks the payloads of one commit."""

    def __init__(self, body: Any) -> None:
        """Prepare for the commit with this decoded sealed body."""
        self._entries: Sequence[Sequence[Any]] = body["entries"]
        ends = (*self._entries[:2], *self._entries[-1:])
        shared = [body["space"], *[i for each in ends for i in each[2][:_IDS_MAX]]]
        self._shared = _COMMON + " ".join(shared).encode()

    def pack_payload(self, entry: int, payload: bytes) -> bytes:
        """Return the stored form of an entry's payload; `entry` is its number in the commit."""
        if len(payload) < _LEAST:
            return payload
        window, memory = (-12, 5) if len(payload) < _LONG else (-15, 8)
        words = self._dictionary_for(entry)
        packer = compressobj(_LEVEL, DEFLATED, window, memory, Z_DEFAULT_STRATEGY, words)
        return _PACKED + packer.compress(payload) + packer.flush()

    def unpack_payload(self, entry: int, held: bytes) -> bytes:
        """Return the payload of a stored form.

        Raises:
            zlib.error: the bytes are not a packed value.
        """
        return held if held[:1] != _PACKED else _inflate_all(held, -15, self._dictionary_for(entry))

    def _dictionary_for(self, entry: int) -> bytes:
        return self._shared + " ".join(self._entries[entry][2][:_IDS_MAX]).encode()


def is_long(payload: bytes) -> bool:
    """Return whether a payload is stored as a blob file instead of a row."""
    if len(payload) <= _PAYLOAD_MAX:
        return False
    return len(payload) > _TRIED_MAX or len(compress(payload, 1)) > _PAYLOAD_MAX


def pack_body(body: bytes) -> bytes:
    """Return the stored form of a sealed body."""
    return body if len(body) < _BODY_LEAST else _PACKED + compress(body, 1)


def unpack_body(held: bytes) -> bytes:
    """Return the sealed body of a stored form.

    Raises:
        zlib.error: the bytes are not a packed value.
    """
    return _inflate_all(held, 15) if held[:1] == _PACKED else held


def _inflate_all(held: bytes, window: int, words: bytes = b"") -> bytes:
    unpacker = decompressobj(window, words)
    value = unpacker.decompress(held[1:])
    if not unpacker.eof or unpacker.unused_data:  # every byte of a row must count
        raise error
    return value


T = TypeVar("T")

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
_NEVER: Final = Instant(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tip:
    """The newest commit of a space's log."""

    position: Position = ORIGIN
    recorded_at: Instant = _NEVER
    hash: str = GENESIS


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A commit as read. `blobs` maps entries with a blob payload to its digest."""

    seq: int
    sealed: Sealed
    blobs: Mapping[int, str]

    def with_payloads(self, payloads: Mapping[int, bytes]) -> Sealed:
        """Return the sealed commit with the payloads of its blobs."""
        if not payloads:
            return self.sealed
        parts = tuple(
            part if part is None else replace(part, payload=payloads.get(entry, part.payload))
            for entry, part in enumerate(self.sealed.parts)
        )
        return replace(self.sealed, parts=parts)


def tip_of(db: apsw.Connection, space: SpaceId) -> Tip:
    """Return the newest commit of `space`."""
    row = db.execute(_HEAD, (pack_id(space),)).fetchone()
    if row is None:
        return Tip()
    position, recorded_at, digest, held = row
    try:
        whole = sha256(unpack_body(held)).digest() == digest
    except (TypeError, error) as fault:
        raise altered_commit() from fault
    if not whole:  # the next commit would be chained to it
        raise altered_commit()
    return Tip(position=position, recorded_at=recorded_at, hash=digest.hex())


def find_known(db: apsw.Connection, commit_id: CommitId) -> tuple[Position, Instant] | None:
    """Return position and time of the commit with this id, or None."""
    return db.execute(_KNOWN, (pack_id(commit_id),)).fetchone()


def is_stale(
    db: apsw.Connection, space: SpaceId, judged_at: Position, reads: Iterable[str]
) -> bool:
    """Return whether a commit of `space` past `judged_at` touches one of `reads`."""
    rows: list[tuple[Any, ...]] = db.execute(
        _TOUCHED, (pack_id(space), judged_at, TOUCHED_MAX + 1)
    ).fetchall()
    if not rows:
        return False
    if len(rows) > TOUCHED_MAX:
        return True
    touched = set(unpack_keys(b"".join([packed for (packed,) in rows])))
    return collides(frozenset(reads), touched)


def insert_commit(
    db: apsw.Connection, sealed: Sealed, touched: Iterable[str], blobs: Mapping[int, str]
) -> None:
    """Write a commit. `blobs` names the digests of the parts that are stored as blobs."""
    row = (
        pack_id(sealed.space),
        sealed.position,
        pack_id(sealed.id),
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
        [_part_row(seq, n, part, blobs.get(n), packing) for n, part in enumerate(sealed.parts)],
    )


def _part_row(
    seq: int, entry: int, part: ErasablePart | None, digest: str | None, packing: PartPacking
) -> tuple[Any, ...]:
    if part is None:
        return (seq, entry, None, None, None)
    payload = None if digest is not None else packing.pack_payload(entry, part.payload)
    return (seq, entry, part.salt, payload, digest)


def by_id(db: apsw.Connection, commit_id: CommitId) -> Stored | None:
    """Return the commit with this id."""
    found = _read_commits(db, db.execute(_BY_ID, (pack_id(commit_id),)).fetchall())
    return found[0] if found else None


def by_space(
    db: apsw.Connection, space: SpaceId, *, after: Position, limit: int
) -> Sequence[Stored]:
    """Return up to `limit` commits of `space` past `after`."""
    return _read_commits(db, db.execute(_BY_SPACE, (pack_id(space), after, limit)).fetchall())


def by_seq(db: apsw.Connection, *, after: int, limit: int) -> Sequence[Stored]:
    """Return up to `limit` commits of all spaces past the number `after`, in the store's order."""
    return _read_commits(db, db.execute(_BY_SEQ, (after, limit)).fetchall())


def _read_commits(db: apsw.Connection, rows: Sequence[tuple[Any, ...]]) -> Sequence[Stored]:
    try:
        return [_commit_in(row, db.execute(_PARTS, (row[0],)).fetchall()) for row in rows]
    except (error, LookupError, TypeError, ValueError, AttributeError) as fault:
        raise altered_commit() from fault  # even the types of columns may be damaged


def _commit_in(row: tuple[Any, ...], rows_of_parts: Sequence[tuple[Any, ...]]) -> Stored:
    seq, space, position, commit_id, recorded_at, digest, body = row
    body = unpack_body(_require_type(body, bytes))
    packing = PartPacking(decode_json(body))
    blobs: dict[int, str] = {}
    parts: list[ErasablePart | None] = []
    for entry, (salt, payload, blob) in enumerate(rows_of_parts):
        if blob is not None and salt is not None:
            blobs[entry] = _require_type(blob, str)
        parts.append(None if salt is None else _part_in(salt, packing, entry, payload))
    sealed = Sealed(
        space=SpaceId(unpack_id(space)),
        position=Position(position),
        id=CommitId(unpack_id(commit_id)),
        recorded_at=Instant(recorded_at),
        body=body,
        hash=digest.hex(),
        parts=tuple(parts),
    )
    return Stored(seq=seq, sealed=sealed, blobs=blobs)


def _part_in(salt: Any, packing: PartPacking, entry: int, payload: Any) -> ErasablePart:
    held = _require_type(payload or b"", bytes)
    return ErasablePart(
        salt=_require_type(salt, bytes), payload=packing.unpack_payload(entry, held)
    )


def _require_type(value: Any, kind: type[T]) -> T:
    """Check the type of a column: a flipped bit in a row's header changes the types."""
    if not isinstance(value, kind):
        raise TypeError(kind)
    return value


def spaces_after(db: apsw.Connection, after: Packed | None, limit: int) -> Sequence[Packed]:
    """Return up to `limit` spaces past `after`, by jumps in the index instead of a scan."""
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
    """Find the position by binary search: within a space, times grow with positions."""
    sql = "SELECT recorded_at FROM commits WHERE space = ? AND position = ?"
    low, high = ORIGIN, tip_of(db, space).position
    while low < high:
        middle = Position((low + high + 1) // 2)
        row: Any = db.execute(sql, (pack_id(space), middle)).fetchone()
        if row[0] <= instant:
            low = middle
        else:
            high = Position(middle - 1)
    return low
