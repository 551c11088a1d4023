"""Appending in PostgreSQL: where logs end, and what is known before a commit."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from psycopg import errors
from typing_extensions import override

from canonry.log.canon import Changes, fold, needs
from canonry.log.commits import ORIGIN, Append, Appended, Commit, LookedAt, Outcome, Position, Stale
from canonry.log.encoding import ENCODING_VERSION, encode_thing
from canonry.log.entries import THING_KINDS, Thing
from canonry.log.folding import key_hash
from canonry.log.ports.ledger import Sealer
from canonry.log.ports.world import Call, Clock, Identities
from canonry.log.sealing import GENESIS, Sealed, commit_of, fault_in, unseal
from canonry.stores.postgres import records, views
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
_THINGS_MAX: Final = 200
_LATELY: Final = 0.2
_PAYS: Final = 2 / 3
"""Resting on what is known saves one trip where it is right, and costs two where it is not."""


@dataclass(frozen=True, slots=True)
class WrittenHere:
    """What a commit of this process touched, as hashes of keys, and what became of things."""

    position: Position
    touched: Sequence[int]
    things: Mapping[str, Thing]


@dataclass(frozen=True, slots=True)
class KnownEnd:
    """`row` is what `records.LOCK` gives; `written` are the last commits before it ended there."""

    row: PgRow
    written: Sequence[WrittenHere] = ()

    @property
    def position(self) -> Position:
        """Where the log ends."""
        return Position(self.row[0])

    @property
    def since(self) -> Position:
        """What happened after this is known."""
        return Position(self.row[0] - len(self.written))


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
        known = self._seen.get(space) or self._brought.get(space)
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

    def follow(
        self, space: SpaceId, before: PgRow, after: PgRow, written: Iterable[WrittenHere]
    ) -> None:
        """This process appended to a log that ended at `before`, and ends at `after` now."""
        brought, seen = self._brought.get(space), self._seen.get(space)
        made = deque[WrittenHere](maxlen=_COMMITS)
        if brought is not None and brought.row == before:
            made.extend(brought.written)
        for each in written:
            if len(each.things) > _THINGS_MAX:
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


# Appending within one transaction: drafts are judged, sealed, folded and recorded under the lock.
#
# What has to be known comes in one round trip, what is written goes in another; one more is needed
# where the fold looks at what those things lead to.

_GENESIS: Final = bytes.fromhex(GENESIS)
ENTER: Final = "SELECT pg_advisory_xact_lock_shared(hashtext(%s))"
_GUARD: Final = "SELECT value FROM meta WHERE name = 'min_reader'"


class Appender:
    """Writes what is handed to it into the transaction of a connection."""

    def __init__(self, name: str, clock: Clock, identities: Identities) -> None:
        """Write into the store called `name`."""
        self._name = name
        self.sealer = Sealer(clock, identities)

    @property
    def name(self) -> str:
        """Of the store."""
        return self._name

    async def append(self, db: PgConnection, group: Sequence[Call]) -> "Writing":
        """Append what calls ask for, all in one space, each judged after those before it."""
        items = [item for call in group for item in call.batch]
        space, ids = items[0].draft.space, list({item.draft.id for item in items})
        since = min(item.rests_on for item in items)
        first = {i for item in items if item.foreseen is None for i in needs(item.draft.entries)}
        await run(db, ENTER, (self._name,))
        head, guard, known, touched, rows = await together(
            db,
            (records.LOCK, (space, _GENESIS)),
            (_GUARD, ()),
            (records.KNOWN, (ids,)),
            (records.TOUCHED, (space, since, records.TOUCHED_MAX + 1)),
            (views.LOAD, (list(first),)),
        )
        _require_reader(guard)
        loading = views.Loading(db, views.loaded_in(rows), first)
        writing = Writing(self, LogEnd(head[0]), known, touched, loading)
        await writing.write(group)
        await writing.record(db, space)
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
        loading = views.Loading(db, {}, set())
        for n, item in enumerate(sealed):
            tip = tips[item.space]
            fault = fault_in(item, position=Position(tip.position + 1), previous=tip.hash)
            if fault is None and item.id in there:
                fault = "a commit of that id is in the log"
            if fault is not None:
                raise Conflict("ledger.chain-broken", f"the import does not fit: {fault}")
            told = None if touched is None else touched[n]
            keys = (await _folded(unseal(item), loading)).touched if told is None else told
            there.add(item.id)
            tip.follow(item)
            made[item.space].append(row_of(item, keys))
        for space in spaces:
            await _record(db, space, tips[space], made[space])
        await loading.store()


@dataclass(frozen=True, slots=True)
class MadeCommit:
    """A commit that is written, what it touches, and what became of things where it was folded."""

    sealed: Sealed
    touched: frozenset[str]
    things: Mapping[str, Thing] | None


class Writing:
    """One space while a group is appended to it; `outcomes` tells each of its calls."""

    def __init__(
        self,
        appender: Appender,
        tip: LogEnd,
        known: Sequence[PgRow],
        touched: Sequence[PgRow],
        loading: "views.Loading",
    ) -> None:
        """Begin where the log ends, with what is there of the drafts and what was touched last."""
        self._appender = appender
        self.before = tip.row
        self.tip = tip
        self.made: list[MadeCommit] = []
        self.outcomes: Sequence[Sequence[Outcome]] = ()
        self._there: dict[str, tuple[Position, Instant, str]] = {
            commit_id: (position, recorded_at, digest.hex())
            for commit_id, position, recorded_at, digest in known
        }
        self._touched = list(touched)
        self._loading = loading

    async def write(self, group: Sequence[Call]) -> None:
        """Judge, seal and fold what calls ask for, each after those before it."""
        # Where the answer of an earlier attempt was lost, what it wrote is the call's own.
        own = [frozenset(call.tried) for call in group]
        self.outcomes = [
            () if call.answer.done() else await self._call(call, mine)
            for call, mine in zip(group, own, strict=True)
        ]

    async def record(self, db: PgConnection, space: SpaceId) -> None:
        """Write down what was made, and show it."""
        if self.made:
            made = [row_of(each.sealed, each.touched) for each in self.made]
            await _record(db, space, self.tip, made)
            await self._loading.store()

    async def _call(self, call: Call, own: frozenset[str]) -> Sequence[Outcome]:
        """What becomes of the drafts of one caller, none of which makes another of them stale."""
        start, outcomes, stopped = self.tip.position, list[Outcome](), False
        touched = list[PgRow]()
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
            sealed, keys = await self._write(item)
            touched.append((sealed.position, [key_hash(key) for key in keys]))
            call.tried.add(sealed.hash)
            outcomes.append(Appended(position=sealed.position, recorded_at=sealed.recorded_at))
        self._touched += touched
        return outcomes

    async def _write(self, item: Append) -> tuple[Sealed, frozenset[str]]:
        previous = self.tip.hash
        sealed = self._appender.sealer.sealed(
            item.draft, after=self.tip.position, newest=self.tip.newest, previous=previous
        )
        if item.foreseen is None:
            changes = await _folded(commit_of(item.draft, sealed, previous), self._loading)
            made = MadeCommit(sealed, changes.touched, changes.things)
        else:
            made = MadeCommit(sealed, item.foreseen.touched, None)
        self.tip.follow(sealed)
        self.made.append(made)
        self._there[item.draft.id] = sealed.position, sealed.recorded_at, sealed.hash
        return sealed, made.touched


def _is_stale(item: Append, touched: Sequence[PgRow], head: Position) -> bool:
    if records.is_stale(touched, item.judged_at, head, item.reads):
        return True
    foreseen = item.foreseen
    return foreseen is not None and records.is_stale(touched, foreseen.at, head, foreseen.over)


def _require_reader(guard: Sequence[PgRow]) -> None:
    if not guard or guard[0][0] > ENCODING_VERSION:
        raise newer()


async def _folded(commit: Commit, loading: "views.Loading") -> Changes:
    """What a commit does; `loading` holds it afterwards."""
    changes = fold(commit, await loading.for_entries(commit.entries))
    loading.change(changes.things)
    return changes


async def _record(
    db: PgConnection, space: SpaceId, tip: LogEnd, made: Sequence[Sequence[object]]
) -> None:
    async with db.cursor() as cursor:
        await cursor.executemany(records.INSERT, made)
    await run(db, records.MOVE, (tip.position, tip.recorded_at, bytes.fromhex(tip.hash), space))


# Appending in one trip, where this process knows the log and what the drafts look at.
#
# Drafts are judged, sealed and folded before anything is asked. One statement among those that
# write makes sure that all this rested on is still so, and fails otherwise, so that nothing of it
# happens; then the group is appended as if nothing had been known.

# What is erased leaves a thing changed and the log as long as it was: so things are compared too.
_STILL_SO: Final = (
    "SELECT 1 / (EXISTS (SELECT FROM heads WHERE space = %s AND position = %s AND hash = %s)"
    " AND EXISTS (SELECT FROM meta WHERE name = 'min_reader' AND value <= %s)"
    " AND NOT EXISTS (SELECT FROM commits WHERE id = ANY(%s))"
    " AND NOT EXISTS (SELECT FROM unnest(%s::text[], %s::text[], %s::bytea[]) AS g (id, kind, hash)"
    " LEFT JOIN things t ON t.id = g.id WHERE t.kind IS DISTINCT FROM g.kind"
    " OR sha256(t.body) IS DISTINCT FROM g.hash))::int"
)
"""Divides by zero where it is not."""

_NOT_SO: Final = (errors.DivisionByZero, errors.UniqueViolation)


class ForeknowingAppender:
    """Appends groups, over as many trips as it takes."""

    def __init__(self, appender: Appender, ends: RememberedEnds) -> None:
        """Let `appender` do what is not known."""
        self._appender = appender
        self._ends = ends

    async def append(self, db: PgConnection, group: Sequence[Call]) -> Writing:
        """Append what calls ask for, all in one space, all or nothing; durable on return."""
        items = [item for call in group for item in call.batch]
        space, shown = items[0].draft.space, [i.looked_at for i in items if i.looked_at is not None]
        if len(shown) < len(items):
            return await written(db, lambda db: self._appender.append(db, group))
        known = self._ends.of(space)
        if known is None and all(each.at == ORIGIN for each in shown):
            known = KnownEnd((ORIGIN, 0, _GENESIS))
        if known is not None and self._ends.pays(space) and _covers(known, items, shown):
            foreknown = _Foreknown(self._appender, known, shown, db)
            if await foreknown.is_written(group):
                try:
                    await written(db, lambda db: foreknown.send(db, space, items))
                except _NOT_SO:
                    self._ends.was(space, right=False)
                    known = None
                else:
                    self._ends.was(space, right=True)
                    return self._followed(space, foreknown.writing)
        writing = await written(db, lambda db: self._appender.append(db, group))
        if known is not None:
            self._ends.was(space, right=known.row == writing.before)
        return self._followed(space, writing)

    def _followed(self, space: SpaceId, writing: Writing) -> Writing:
        told = [
            WrittenHere(each.sealed.position, [*map(key_hash, each.touched)], each.things or {})
            for each in writing.made
        ]
        self._ends.follow(space, writing.before, writing.tip.row, told)
        return writing


def _covers(known: KnownEnd, items: Sequence[Append], shown: Sequence[LookedAt]) -> bool:
    """Whether all is known that happened since whatever these rest on."""
    rests_on = [*(item.judged_at for item in items), *(each.at for each in shown)]
    return known.since <= min(rests_on) and max(rests_on) <= known.position


class _Foreknown:
    """A group that is written from what is known."""

    def __init__(
        self, appender: Appender, known: KnownEnd, shown: Sequence[LookedAt], db: PgConnection
    ) -> None:
        self._name = appender.name
        self._known = known
        self._ids = {i for each in shown for i in each.ids}
        self._things: dict[str, Thing] = {}
        for each in {id(each): each for each in shown}.values():
            self._things |= each.things
            for commit in known.written:
                if commit.position > each.at:
                    self._things |= {i: t for i, t in commit.things.items() if i in each.ids}
        touched = [(each.position, each.touched) for each in known.written]
        loading = _OnlyKnown(db, self._things, set(self._ids))
        self.writing = Writing(appender, LogEnd(known.row), (), touched, loading)

    async def is_written(self, group: Sequence[Call]) -> bool:
        """Whether all of it can be written; who is refused may be told so only after a look."""
        try:
            await self.writing.write(group)
        except CanonryError:
            return False
        told = [outcome for each in self.writing.outcomes for outcome in each]
        return bool(self.writing.made) and not any(isinstance(each, Stale) for each in told)

    async def send(self, db: PgConnection, space: SpaceId, items: Sequence[Append]) -> None:
        position, _, digest = self._known.row
        found = {i: self._things.get(i) for i in self._ids}
        await run(db, ENTER, (self._name,))
        await run(db, records.LOCK, (space, _GENESIS))
        so = (
            *(space, position, digest, ENCODING_VERSION, [item.draft.id for item in items]),
            list(found),
            [None if t is None else THING_KINDS[type(t)] for t in found.values()],
            [None if t is None else sha256(encode_thing(t)).digest() for t in found.values()],
        )
        await run(db, _STILL_SO, so)
        await self.writing.record(db, space)


class _OnlyKnown(views.Loading):
    """Things that are known; there is no look at others."""

    @override
    async def _load(self, ids: Iterable[str]) -> None:
        if not self._asked.issuperset(ids):
            raise Conflict("ledger.unknown", "a draft looks at what is not known")
