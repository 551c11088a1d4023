"""Appending within one transaction: drafts are judged, sealed, folded and recorded under the lock.

What has to be known comes in one round trip, what is written goes in another; one more is needed
where the fold looks at what those things lead to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.log.canon import Changes, fold, needs
from canonry.log.commits import Append, Appended, Commit, Outcome, Position, Stale
from canonry.log.entries import Thing
from canonry.log.keys import key_hash
from canonry.log.ports.sealer import Sealer
from canonry.log.ports.turns import Call
from canonry.log.ports.world import Clock, Identities
from canonry.log.sealing import GENESIS, Sealed, commit_of, fault_in, unseal
from canonry.log.upcasters import ENCODING_VERSION
from canonry.stores.postgres import records, views
from canonry.stores.postgres.database import PgConnection, PgRow, run, together
from canonry.stores.postgres.faults import newer
from canonry.stores.postgres.records import LogEnd, row_of
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId
from canonry.values.time import Instant

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
