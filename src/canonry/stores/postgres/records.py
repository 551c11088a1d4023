"""Records as rows: sealed commits, each with its erasable parts in one row."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from canonry.log.commits import ORIGIN, Position
from canonry.log.folding import ANY, key_hash
from canonry.log.sealing import GENESIS, ErasablePart, Sealed, altered
from canonry.stores.postgres.database import PgRow
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

TOUCHED_MAX: Final = 1000
"""After more commits than this a verdict is stale without a look at what they touched."""

COLUMNS: Final = "space, position, id, recorded_at, hash, body, salts, payloads"
LOCK: Final = (
    "INSERT INTO heads VALUES (%s, 0, 0, %s) ON CONFLICT (space) DO UPDATE SET space = heads.space"
    " RETURNING position, recorded_at, hash"
)
"""One that is there already is locked by it, in the order in which others asked."""

MOVE: Final = "UPDATE heads SET position = %s, recorded_at = %s, hash = %s WHERE space = %s"
KNOWN: Final = "SELECT id, position, recorded_at, hash FROM commits WHERE id = ANY(%s)"
TOUCHED: Final = (
    "SELECT position, touched FROM commits WHERE space = %s AND position > %s"
    " ORDER BY position DESC LIMIT %s"
)
INSERT: Final = (
    "INSERT INTO commits (space, position, id, recorded_at, hash, body, salts, payloads, touched)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s::bytea[], %s::bytea[], %s::bigint[])"
)
_ANYTHING: Final = key_hash(ANY)


class LogEnd:
    """Where a space's log stands while it is written."""

    __slots__ = ("hash", "position", "recorded_at")

    def __init__(self, row: PgRow) -> None:
        """Take what `LOCK` gives."""
        self.position = Position(row[0])
        self.recorded_at = Instant(row[1])
        self.hash: str = row[2].hex() if row[0] else GENESIS

    @property
    def row(self) -> PgRow:
        """The same as `LOCK` gives it."""
        return self.position, self.recorded_at, bytes.fromhex(self.hash)

    def follow(self, sealed: Sealed) -> None:
        """Stand at a commit that has been written."""
        self.position, self.hash = sealed.position, sealed.hash
        self.recorded_at = sealed.recorded_at

    @property
    def newest(self) -> Instant | None:
        """When the newest commit was recorded."""
        return self.recorded_at if self.position != ORIGIN else None


def row_of(sealed: Sealed, touched: Iterable[str]) -> tuple[Any, ...]:
    """The values of `INSERT`."""
    return (
        sealed.space,
        sealed.position,
        sealed.id,
        sealed.recorded_at,
        bytes.fromhex(sealed.hash),
        sealed.body,
        [None if part is None else part.salt for part in sealed.parts],
        [None if part is None else part.payload for part in sealed.parts],
        sorted(map(key_hash, touched)),
    )


def sealed_in(row: PgRow) -> Sealed:
    """The commit that a row holds.

    Raises:
        BrokenInvariant: `ledger.altered`, it has as many salts as no payloads.
    """
    space, position, commit_id, recorded_at, digest, body, salts, payloads = row
    if len(salts) != len(payloads):
        raise altered()
    parts = tuple(
        None if salt is None else ErasablePart(salt=salt, payload=payload or b"")
        for salt, payload in zip(salts, payloads, strict=True)
    )
    return Sealed(
        space=SpaceId(space),
        position=Position(position),
        id=CommitId(commit_id),
        recorded_at=Instant(recorded_at),
        body=body,
        hash=digest.hex(),
        parts=parts,
    )


def is_stale(rows: Sequence[PgRow], at: Position, head: Position, reads: frozenset[str]) -> bool:
    """Whether a commit past `at` touches one of `reads`; `rows` are what `TOUCHED` gives."""
    if at >= head:
        return False
    if head - at > TOUCHED_MAX:
        return True
    touched: set[int] = set()
    for position, keys in rows:
        if position > at:
            touched.update(keys)
    if not touched:
        return False
    return ANY in reads or _ANYTHING in touched or not touched.isdisjoint(map(key_hash, reads))
