"""Appending in PostgreSQL: where logs end, and what is known before a commit."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from psycopg import errors

from canonry.log.commits import ORIGIN, Append, Appended, Outcome, Position, Stale
from canonry.log.encoding import ENCODING_VERSION
from canonry.log.folding import ANY, key_hash
from canonry.log.ports.ledger import Sealer
from canonry.log.ports.world import Call, Clock, Identities
from canonry.log.sealing import GENESIS, Sealed, fault_in
from canonry.stores.postgres import records
from canonry.stores.postgres.database import PgConnection, PgRow, newer, run, together, written
from canonry.stores.postgres.records import LogEnd, row_of
from canonry.values.errors import CanonryError, Conflict
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant

# Where logs end as this process knows them, and what it appended last.
#
# So an append need not ask for it. It may be wrong at any time, because others write as well:
# whoever rests on it has the server make sure, in the same trip as everything else.

_COMMITS: Final = 64
_SPACES: Final = 100
_TOUCHED_MAX: Final = 1000
_LATELY: Final = 0.2
_PAYS: Final = 2 / 3
"""Resting on what is known saves one trip where it is right, and costs two where it is not."""


@dataclass(frozen=True, slots=True)
class KnownEnd:
    """`row` is what `records.LOCK` gives; `written` are the last commits before it ended there.

    They are as `records.TOUCHED` gives them, oldest first.
    """

    row: PgRow
    written: Sequence[PgRow] = ()

    @property
    def position(self) -> Position:
        """Where the log ends."""
        return Position(self.row[0])

    def covers(self, items: Sequence[Append]) -> bool:
        """Whether all is known that happened since whatever these rest on."""
        rests_on = [position for item in items for position in _rests_on(item)]
        return self.position - len(self.written) <= min(rests_on) and (
            max(rests_on) <= self.position
        )


def _rests_on(item: Append) -> Sequence[Position]:
    return (item.judged_at,) if item.foreseen is None else (item.judged_at, item.foreseen.at)


class RememberedEnds:
    """The ends of logs: where this process brought them, and where it saw them since."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._brought: dict[SpaceId, KnownEnd] = {}
        self._seen: dict[SpaceId, KnownEnd] = {}
        self._right: dict[SpaceId, float] = {}

    def of(self, space: SpaceId) -> KnownEnd | None:
        """Where a log ends, if it is known."""
        return self._seen.get(space) or self._brought.get(space)

    def stands(self, space: SpaceId, row: PgRow) -> None:
        """A log was seen to end there, or past it by now."""
        known = self.of(space)
        if known is None or known.position < row[0]:
            self._make_room()
            self._seen[space] = KnownEnd(row)

    def pays(self, space: SpaceId) -> bool:
        """Whether what was known of a log was right often enough lately to rest on it."""
        return self._right.get(space, 1.0) > _PAYS

    def was(self, space: SpaceId, *, right: bool) -> None:
        """What was known of a log was found to be so, or others had been quicker."""
        before = self._right.get(space, 1.0)
        self._right[space] = before + _LATELY * (right - before)

    def follow(self, space: SpaceId, before: PgRow, after: PgRow, written: Iterable[PgRow]) -> None:
        """This process appended to a log that ended at `before`, and ends at `after` now."""
        brought, seen = self._brought.get(space), self._seen.get(space)
        made = deque[PgRow](maxlen=_COMMITS)
        if brought is not None and brought.row == before:
            made.extend(brought.written)
        for each in written:
            if len(each[1]) > _TOUCHED_MAX:
                made.clear()
            else:
                made.append(each)
        self._make_room()
        self._brought[space] = KnownEnd(after, made)
        if seen is not None and seen.position <= after[0]:
            del self._seen[space]

    def _make_room(self) -> None:
        if max(len(self._brought), len(self._seen)) >= _SPACES:
            for each in (self._brought, self._seen, self._right):
                each.clear()


# Appending within one transaction: drafts are judged, sealed and recorded under the lock.
#
# What has to be known comes in one round trip, what is written goes in another. Views are kept by
# whoever follows the log, who also says what a draft touches.

_GENESIS: Final = bytes.fromhex(GENESIS)
ENTER: Final = "SELECT pg_advisory_xact_lock_shared(hashtext(%s))"
_GUARD: Final = "SELECT value FROM meta WHERE name = 'min_reader'"
_TOUCHES_ANYTHING: Final = frozenset((ANY,))


class Writing:
    """One space while a group is appended to it; `outcomes` tells each of its calls."""

    def __init__(
        self, sealer: Sealer, row: PgRow, known: Sequence[PgRow], touched: Sequence[PgRow]
    ) -> None:
        """Begin where the log ends, with what is there of the drafts and what was touched last."""
        self._sealer = sealer
        self.before = row
        self.tip = LogEnd(row)
        self.made: list[tuple[Sealed, frozenset[str]]] = []
        self.outcomes: Sequence[Sequence[Outcome]] = ()
        self._there: dict[str, tuple[Position, Instant, str]] = {
            commit_id: (position, recorded_at, digest.hex())
            for commit_id, position, recorded_at, digest in known
        }
        self._touched = list(touched)

    def write(self, group: Sequence[Call]) -> None:
        """Judge and seal what calls ask for, each after those before it."""
        # Where the answer of an earlier attempt was lost, what it wrote is the call's own.
        own = [frozenset(call.tried) for call in group]
        self.outcomes = [
            () if call.answer.done() else self._call(call, mine)
            for call, mine in zip(group, own, strict=True)
        ]

    async def record(self, db: PgConnection, space: SpaceId) -> None:
        """Write down what was made."""
        if self.made:
            await _record(db, space, self.tip, [row_of(*each) for each in self.made])

    def touched(self) -> Sequence[PgRow]:
        """What each commit touches that was made, as `records.TOUCHED` gives it."""
        return [(sealed.position, [*map(key_hash, keys)]) for sealed, keys in self.made]

    def _call(self, call: Call, own: frozenset[str]) -> Sequence[Outcome]:
        """What becomes of the drafts of one caller, none of which makes another of them stale."""
        start, outcomes, stopped = self.tip.position, list[Outcome](), False
        made = len(self.made)
        for item in call.batch:
            if item.draft.id in self._there:
                position, recorded_at, digest = self._there[item.draft.id]
                replayed = digest not in own
                outcomes.append(
                    Appended(position=position, recorded_at=recorded_at, replayed=replayed)
                )
                continue
            stopped = stopped or _is_stale(item, self._touched, start)
            if stopped:
                outcomes.append(Stale(head=start))
                continue
            sealed = self._write(item)
            call.tried.add(sealed.hash)
            outcomes.append(Appended(position=sealed.position, recorded_at=sealed.recorded_at))
        self._touched += self.touched()[made:]
        return outcomes

    def _write(self, item: Append) -> Sealed:
        sealed = self._sealer.sealed(
            item.draft,
            after=self.tip.position,
            newest=self.tip.newest,
            previous=self.tip.hash,
        )
        touched = _TOUCHES_ANYTHING if item.foreseen is None else item.foreseen.touched
        self.tip.follow(sealed)
        self.made.append((sealed, touched))
        self._there[item.draft.id] = sealed.position, sealed.recorded_at, sealed.hash
        return sealed


def _is_stale(item: Append, touched: Sequence[PgRow], head: Position) -> bool:
    if records.is_stale(touched, item.judged_at, head, item.reads):
        return True
    foreseen = item.foreseen
    return foreseen is not None and records.is_stale(touched, foreseen.at, head, foreseen.over)


def _require_reader(guard: Sequence[PgRow]) -> None:
    if not guard or guard[0][0] > ENCODING_VERSION:
        raise newer()


async def _record(
    db: PgConnection, space: SpaceId, tip: LogEnd, made: Sequence[Sequence[object]]
) -> None:
    async with db.cursor() as cursor:
        await cursor.executemany(records.INSERT, made)
    await run(db, records.MOVE, (tip.position, tip.recorded_at, bytes.fromhex(tip.hash), space))


# Appending in one trip, where this process knows the log.
#
# Drafts are judged and sealed before anything is asked. One statement among those that write makes
# sure that all this rested on is still so, and fails otherwise, so that nothing of it happens; then
# the group is appended as if nothing had been known.

_STILL_SO: Final = (
    "SELECT 1 / (EXISTS (SELECT FROM heads WHERE space = %s AND position = %s AND hash = %s)"
    " AND EXISTS (SELECT FROM meta WHERE name = 'min_reader' AND value <= %s)"
    " AND NOT EXISTS (SELECT FROM commits WHERE id = ANY(%s)))::int"
)
"""Divides by zero where it is not."""

_NOT_SO: Final = (errors.DivisionByZero, errors.UniqueViolation)


class Appender:
    """Writes what is handed to it over a connection, over as many trips as it takes."""

    def __init__(self, name: str, clock: Clock, identities: Identities) -> None:
        """Write into the store called `name`."""
        self._name = name
        self._sealer = Sealer(clock, identities)
        self.ends: Final = RememberedEnds()

    async def append(self, db: PgConnection, group: Sequence[Call]) -> Writing:
        """Append what calls ask for, all in one space, all or nothing; durable on return."""
        items = [item for call in group for item in call.batch]
        space, ends = items[0].draft.space, self.ends
        known = ends.of(space)
        if known is None and all(item.rests_on == ORIGIN for item in items):
            known = KnownEnd((ORIGIN, 0, _GENESIS))
        writing: Writing | None = None
        if known is not None and ends.pays(space) and known.covers(items):
            writing = await self._foreknown(db, group, known)
        if writing is None:
            writing = await written(db, lambda db: self._judged(db, group))
            if known is not None:
                ends.was(space, right=known.row == writing.before)
        ends.follow(space, writing.before, writing.tip.row, writing.touched())
        return writing

    async def _judged(self, db: PgConnection, group: Sequence[Call]) -> Writing:
        """Append within a transaction, each draft judged by what the server has."""
        items = [item for call in group for item in call.batch]
        space, ids = items[0].draft.space, list({item.draft.id for item in items})
        since = min(item.rests_on for item in items)
        await run(db, ENTER, (self._name,))
        head, guard, known, touched = await together(
            db,
            (records.LOCK, (space, _GENESIS)),
            (_GUARD, ()),
            (records.KNOWN, (ids,)),
            (records.TOUCHED, (space, since, records.TOUCHED_MAX + 1)),
        )
        _require_reader(guard)
        writing = Writing(self._sealer, head[0], known, touched)
        writing.write(group)
        await writing.record(db, space)
        return writing

    async def _foreknown(
        self, db: PgConnection, group: Sequence[Call], known: KnownEnd
    ) -> Writing | None:
        """Append from what is known; None: nothing was written, and a look may tell otherwise."""
        items = [item for call in group for item in call.batch]
        space = items[0].draft.space
        writing = Writing(self._sealer, known.row, (), known.written)
        try:
            writing.write(group)
        except CanonryError:
            return None
        told = [outcome for each in writing.outcomes for outcome in each]
        if not writing.made or any(isinstance(each, Stale) for each in told):
            return None

        async def send(db: PgConnection) -> None:
            position, _, digest = known.row
            ids = [item.draft.id for item in items]
            await run(db, ENTER, (self._name,))
            await run(db, records.LOCK, (space, _GENESIS))
            await run(db, _STILL_SO, (space, position, digest, ENCODING_VERSION, ids))
            await writing.record(db, space)

        try:
            await written(db, send)
        except _NOT_SO:
            return None
        self.ends.was(space, right=True)
        return writing

    async def restore(
        self, db: PgConnection, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None
    ) -> None:
        """Append commits as they were exported, as `canonry.log.ports.ledger` says."""
        await run(db, ENTER, (self._name,))
        spaces = sorted({item.space for item in sealed})  # always in one order: nobody waits round
        *heads, guard, known = await together(
            db,
            *((records.LOCK, (space, _GENESIS)) for space in spaces),
            (_GUARD, ()),
            (records.KNOWN, ([item.id for item in sealed],)),
        )
        _require_reader(guard)
        tips = {space: LogEnd(rows[0]) for space, rows in zip(spaces, heads, strict=True)}
        made: dict[SpaceId, list[tuple[object, ...]]] = {space: [] for space in spaces}
        there = {row[0] for row in known}
        for n, item in enumerate(sealed):
            tip = tips[item.space]
            fault = fault_in(item, position=Position(tip.position + 1), previous=tip.hash)
            if fault is None and item.id in there:
                fault = "a commit of that id is in the log"
            if fault is not None:
                raise Conflict("ledger.chain-broken", f"the import does not fit: {fault}")
            there.add(item.id)
            tip.follow(item)
            keys = _TOUCHES_ANYTHING if touched is None else touched[n]
            made[item.space].append(row_of(item, keys))
        for space in spaces:
            await _record(db, space, tips[space], made[space])
