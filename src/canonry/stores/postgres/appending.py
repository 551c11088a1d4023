"""Records in PostgreSQL as rows, and appending: what is judged, and in how many trips."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from psycopg import errors

from canonry.log.commits import Outcome, Position
from canonry.log.encoding import ENCODING_VERSION
from canonry.log.folding import key_hash
from canonry.log.group_appends import (
    TOUCHED_MAX,
    TOUCHES_ANYTHING,
    JudgedGroup,
    KnownCommit,
    KnownEnds,
    LogEnd,
    judge_group,
)
from canonry.log.ports.ledger import Sealer
from canonry.log.ports.world import Call, Clock, Identities
from canonry.log.sealing import GENESIS, ErasablePart, Sealed, altered, fault_in
from canonry.stores.postgres.database import PgConnection, PgRow, newer, run, together, written
from canonry.values.errors import CanonryError, Conflict
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

# Records as rows: sealed commits, each with its erasable parts in one row.

COLUMNS: Final = "space, position, id, recorded_at, hash, body, salts, payloads"
LOCK: Final = (
    "INSERT INTO heads VALUES (%s, 0, 0, %s) ON CONFLICT (space) DO UPDATE SET space = heads.space"
    " RETURNING position, recorded_at, hash"
)
"""One that is there already is locked by it, in the order in which others asked."""

MOVE: Final = "UPDATE heads SET position = %s, recorded_at = %s, hash = %s WHERE space = %s"
KNOWN: Final = "SELECT id, position, recorded_at, hash FROM commits WHERE id = ANY(%s)"
TOUCHED: Final = (
    "SELECT position, recorded_at, hash, touched FROM commits WHERE space = %s AND position > %s"
    " ORDER BY position DESC LIMIT %s"
)
INSERT: Final = (
    "INSERT INTO commits (space, position, id, recorded_at, hash, body, salts, payloads, touched)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s::bytea[], %s::bytea[], %s::bigint[])"
)


def end_in(row: Sequence[Any]) -> KnownCommit:
    """The newest commit that `LOCK` gives."""
    return KnownCommit(Position(row[0]), Instant(row[1]), row[2].hex(), *row[3:])


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


async def record(
    db: PgConnection, space: SpaceId, end: LogEnd, rows: Sequence[Sequence[object]]
) -> None:
    """Write rows of `INSERT`, of which the last is where the log ends then."""
    async with db.cursor() as cursor:
        await cursor.executemany(INSERT, rows)
    await run(db, MOVE, (end.position, end.newest or 0, bytes.fromhex(end.hash), space))


# Appending within one transaction: drafts are judged, sealed and recorded under the lock.
#
# What has to be known comes in one round trip, what is written goes in another. Views are kept by
# whoever follows the log, who also says what a draft touches.
#
# Where this process knows the log, one trip does. Drafts are judged and sealed before anything is
# asked; one statement among those that write makes sure that all this rested on is still so, and
# fails otherwise, so that nothing of it happens; then the group is appended as if nothing had been
# known.

ENTER: Final = "SELECT pg_advisory_xact_lock_shared(hashtext(%s))"
FIRST: Final = bytes.fromhex(GENESIS)
_GUARD: Final = "SELECT value FROM meta WHERE name = 'min_reader'"
_STILL_SO: Final = (
    "SELECT 1 / (EXISTS (SELECT FROM heads WHERE space = %s AND position = %s AND hash = %s)"
    " AND EXISTS (SELECT FROM meta WHERE name = 'min_reader' AND value <= %s)"
    " AND NOT EXISTS (SELECT FROM commits WHERE id = ANY(%s)))::int"
)
"""Divides by zero where it is not."""

_NOT_SO: Final = (errors.DivisionByZero, errors.UniqueViolation)
_LATELY: Final = 0.2
_PAYS: Final = 2 / 3
"""Resting on what is known saves one trip where it is right, and costs two where it is not."""


@dataclass(frozen=True, slots=True)
class WrittenGroup:
    """A group that was written after the commit `before`."""

    before: KnownCommit
    group: JudgedGroup

    @property
    def outcomes(self) -> Sequence[Sequence[Outcome]]:
        """The outcome of each draft, by call."""
        return self.group.outcomes


class Appender:
    """Writes what is handed to it over a connection, over as many trips as it takes."""

    def __init__(self, name: str, clock: Clock, identities: Identities) -> None:
        """Write into the store called `name`."""
        self._name = name
        self._sealer = Sealer(clock, identities)
        self._right: dict[SpaceId, float] = {}
        self.ends: Final = KnownEnds()

    async def append(self, db: PgConnection, group: Sequence[Call]) -> WrittenGroup:
        """Append what calls ask for, all in one space, all or nothing; durable on return."""
        items = [item for call in group for item in call.batch]
        space, done = items[0].draft.space, None
        known = self.ends.under(items)
        before = self._right.get(space, 1.0)
        if known and before > _PAYS:
            done = await self._foreknown(db, group, known)
        if done is None:
            done = await written(db, lambda db: self._judged(db, group))
        if known:
            is_right = known[-1].hash == done.before.hash
            self._right[space] = before + _LATELY * (is_right - before)
        self.ends.follow(space, done.before, done.group.written)
        return done

    async def _judged(self, db: PgConnection, group: Sequence[Call]) -> WrittenGroup:
        """Append within a transaction, each draft judged by what the server has."""
        items = [item for call in group for item in call.batch]
        space, ids = items[0].draft.space, list({item.draft.id for item in items})
        since = min(item.rests_on for item in items)
        await run(db, ENTER, (self._name,))
        head, guard, known, touched = await together(
            db,
            (LOCK, (space, FIRST)),
            (_GUARD, ()),
            (KNOWN, (ids,)),
            (TOUCHED, (space, since, TOUCHED_MAX + 1)),
        )
        _require_reader(guard)
        before = end_in(head[0])
        there = {identity: end_in(row) for identity, *row in known}
        judged = judge_group(group, before, there, list(map(end_in, touched)), self._sealer)
        await _record(db, space, judged)
        return WrittenGroup(before, judged)

    async def _foreknown(
        self, db: PgConnection, group: Sequence[Call], known: Sequence[KnownCommit]
    ) -> WrittenGroup | None:
        """Append from what is known; None: nothing was written, and a look may tell otherwise."""
        items = [item for call in group for item in call.batch]
        space, before = items[0].draft.space, known[-1]
        try:
            judged = judge_group(group, before, {}, known[1:], self._sealer)
        except CanonryError:
            return None
        if not judged.made or judged.has_stale:
            return None

        async def send(db: PgConnection) -> None:
            so = (space, before.position, bytes.fromhex(before.hash), ENCODING_VERSION)
            await run(db, ENTER, (self._name,))
            await run(db, LOCK, (space, FIRST))
            await run(db, _STILL_SO, (*so, [item.draft.id for item in items]))
            await _record(db, space, judged)

        try:
            await written(db, send)
        except _NOT_SO:
            return None
        return WrittenGroup(before, judged)

    async def restore(
        self, db: PgConnection, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None
    ) -> None:
        """Append commits as they were exported, as `canonry.log.ports.ledger` says."""
        await run(db, ENTER, (self._name,))
        spaces = sorted({item.space for item in sealed})  # always in one order: nobody waits round
        *heads, guard, known = await together(
            db,
            *((LOCK, (space, FIRST)) for space in spaces),
            (_GUARD, ()),
            (KNOWN, ([item.id for item in sealed],)),
        )
        _require_reader(guard)
        ends = {space: LogEnd(end_in(rows[0])) for space, rows in zip(spaces, heads, strict=True)}
        made: dict[SpaceId, list[tuple[object, ...]]] = {space: [] for space in spaces}
        there = {row[0] for row in known}
        for n, item in enumerate(sealed):
            end = ends[item.space]
            fault = fault_in(item, position=Position(end.position + 1), previous=end.hash)
            if fault is None and item.id in there:
                fault = "a commit of that id is in the log"
            if fault is not None:
                raise Conflict("ledger.chain-broken", f"the import does not fit: {fault}")
            there.add(item.id)
            end.follow(item)
            keys = TOUCHES_ANYTHING if touched is None else touched[n]
            made[item.space].append(row_of(item, keys))
        for space in spaces:
            await record(db, space, ends[space], made[space])


def _require_reader(guard: Sequence[PgRow]) -> None:
    if not guard or guard[0][0] > ENCODING_VERSION:
        raise newer()


async def _record(db: PgConnection, space: SpaceId, judged: JudgedGroup) -> None:
    if judged.made:
        rows = [row_of(*each) for each in judged.made]
        await record(db, space, LogEnd(judged.written[-1]), rows)
