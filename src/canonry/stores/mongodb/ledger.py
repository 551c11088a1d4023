"""The event log in MongoDB."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Any, Final, TypeAlias

from pymongo.errors import PyMongoError
from typing_extensions import override

from canonry.log.commits import ORIGIN, Append, Commit, Outcome, Position
from canonry.log.folding import key_hash
from canonry.log.group_appends import (
    EMPTY,
    TOUCHED_MAX,
    TOUCHES_ANYTHING,
    KnownCommit,
    LogEnd,
    judge_group,
)
from canonry.log.ports.ledger import Head, Ledger, Sealer, Touched, require_next_commit
from canonry.log.ports.world import AppendQueues, Call, Clock, Identities, current_scope
from canonry.log.sealing import ErasablePart, Sealed, altered_commit, require_unaltered, unseal
from canonry.stores.mongodb.database import (
    BsonDocument,
    MongoDatabase,
    SharedAnswers,
    StoredCommit,
    TouchedPolls,
    WriterGate,
    as_canonry,
    is_taken,
    is_unsure,
)
from canonry.values.errors import BrokenInvariant, Conflict, Unavailable
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

_DIGITS: Final = 19
TIP: Final = {"position": 1, "recorded_at": 1, "hash": 1}


def commit_key(space: SpaceId, position: int) -> str:
    """Return the `_id` of a commit. The ids of a space sort by position."""
    return f"{space}:{position:0{_DIGITS}}"


def commits_after(space: SpaceId, position: int) -> BsonDocument:
    """Return the filter for the commits of a space past a position."""
    last = f"{space}:{'9' * _DIGITS}"
    return {"_id": {"$gt": commit_key(space, position), "$lte": last}, "space": space}


def known_commit(tip: StoredCommit | None) -> KnownCommit:
    """Return the commit in a document with the fields of `TIP`; None is an empty log."""
    if tip is None:
        return EMPTY
    return KnownCommit(
        Position(int(tip["position"])),
        Instant(int(tip["recorded_at"])),
        tip["hash"],
        [*map(int, tip.get("touched", ()))],
    )


def document_of(sealed: Sealed, touched: Iterable[str], written: int) -> BsonDocument:
    """Return the stored document of a commit. Only the first of a space has `opens`."""
    first = {"opens": sealed.space} if sealed.position == 1 else {}
    return {
        "_id": commit_key(sealed.space, sealed.position),
        "space": sealed.space,
        "position": sealed.position,
        "commit": sealed.id,
        "recorded_at": sealed.recorded_at,
        "hash": sealed.hash,
        "body": _text_or_bytes(sealed.body),
        "payloads": [None if p is None else _text_or_bytes(p.payload) for p in sealed.parts],
        "salts": [None if part is None else part.salt for part in sealed.parts],
        "touched": sorted(map(key_hash, touched)),
        "written": written,
        **first,
    }


def sealed_in(stored: Mapping[str, Any]) -> Sealed:
    """Return the commit in a document.

    Raises:
        BrokenInvariant: `ledger.altered`, the document differs from the one that was written.
    """
    try:
        parts = tuple(
            None if salt is None else ErasablePart(salt=bytes(salt), payload=_stored_bytes(payload))
            for salt, payload in zip(stored["salts"], stored["payloads"], strict=True)
        )
        return Sealed(
            space=SpaceId(stored["space"]),
            position=Position(int(stored["position"])),
            id=CommitId(stored["commit"]),
            recorded_at=Instant(int(stored["recorded_at"])),
            body=_stored_bytes(stored["body"]),
            hash=stored["hash"],
            parts=parts,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise altered_commit() from error


def _text_or_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _stored_bytes(stored: object) -> bytes:
    match stored:
        case str():
            return stored.encode()
        case bytes():
            return stored
        case _:
            message = "A stored commit contains a non-text value. Run `canonry verify`."
            raise BrokenInvariant("ledger.altered", message)


# Appending: waiting drafts are judged, sealed and inserted together at the end of a log.
#
# The first attempt uses the end of the log as this process knows it, without a read. The unique ids
# of positions and drafts refuse it if another process wrote first or a draft is already stored.
# Later attempts read the log.

ATTEMPTS_MAX: Final = 100
"""Attempts of an append while other processes take its position."""

LOST_MAX: Final = 5
"""Attempts to find out whether an append was stored after its answer was lost."""

BATCH: Final = 100  # bounds a request, because the server refuses more than 48 MB
NEWEST: Final = [("_id", -1)]
_LONGEST_PAUSE: Final = 0.05  # losing writers do not wait longer than a write takes: bench writers


class GateClosed(Unavailable):
    """An exclusive block has begun. The caller lets it run and appends again."""


class GroupInserter:
    """Writes groups of calls. All calls of a group write to one space."""

    def __init__(
        self,
        database: MongoDatabase,
        gate: WriterGate,
        polls: TouchedPolls,
        clock: Clock,
        identities: Identities,
    ) -> None:
        """Report written commits to `polls`."""
        self._database = database
        self._gate = gate
        self._polls = polls
        self._identities = identities
        self.sealer = Sealer(clock, identities)
        self.takers: list[Callable[[Sequence[Sealed]], None]] = []
        self._commits = database.committed_collection("commits")
        self._latest = database.primary_collection("commits")

    async def write_calls(
        self, calls: Sequence[Call], *, mine: bool = False
    ) -> Sequence[Sequence[Outcome]]:
        """Write calls that have passed the gate. With `mine`, the caller holds the exclusive block.

        Raises:
            GateClosed: nothing more was written; the attempted commits are in the calls'
                `tried`.
        """
        async with self._database.timed_work():
            writing = _InsertedGroup(calls)
            known = self._database.ends.commits_since(writing.items)
            if known and await self._write_attempt(
                writing, known[-1], None, known[1:], await self._database.server_time()
            ):
                return writing.outcomes
            for attempt in range(ATTEMPTS_MAX):
                is_open, found = await asyncio.gather(
                    self._gate.is_open(mine=mine), self._read_log_state(writing)
                )
                if not is_open:
                    raise GateClosed("ledger.busy", "Another process locks the log. Try again.")
                if await self._write_attempt(writing, *found):
                    return writing.outcomes
                # A random pause within a growing limit, so that competing writers separate.
                longest: float = min(0.001 * 2**attempt, _LONGEST_PAUSE)
                await asyncio.sleep(longest * self._identities.new_salt()[0] / 255)
        raise Unavailable("ledger.busy", "Other calls keep writing first. Try again.")

    async def _read_log_state(self, writing: "_InsertedGroup") -> "_LogState":
        """Read everything that an attempt depends on, in one round trip.

        A draft counts as stored once a majority has it; until then, its id is refused again. The
        end of the log is the newest of the touched commits. A separate query could return an end
        past a commit that the other answer lacks, and a stale verdict would pass.
        """
        space, before = writing.space, Position(max(writing.since - 1, ORIGIN))
        drafts = self._commits.find({"commit": {"$in": writing.ids}}, {"commit": 1, **TIP})
        touched = self._latest.find(commits_after(space, before), {"touched": 1, **TIP})
        there, newest, now = await asyncio.gather(
            drafts.to_list(),
            touched.sort(NEWEST).limit(TOUCHED_MAX + 2).to_list(),
            self._database.server_time(),
        )
        known = {each["commit"]: known_commit(each) for each in there}
        seen = list(map(known_commit, newest))
        if newest or writing.since == ORIGIN:
            return (seen[0] if seen else EMPTY), known, seen, now
        # The log is shorter than the drafts expect, as after a restore of the database.
        tip = await self._latest.find_one(commits_after(space, ORIGIN), TIP, sort=NEWEST)
        return known_commit(tip), known, (), now

    async def _write_attempt(
        self,
        writing: "_InsertedGroup",
        tip: KnownCommit,
        known: Mapping[str, KnownCommit] | None,
        touched: Sequence[KnownCommit],
        now: int,
    ) -> bool:
        """Return whether the group was written. If not, another was first or the answer was lost.

        Without `known`, no draft is reported as stale, because it may be stored already. The same
        holds for a draft that was stored between the two reads.
        """
        if known is not None and writing.is_among(touched, known.values()):
            return False
        judged = judge_group(writing.calls, tip, known or {}, touched, self.sealer)
        writing.outcomes = judged.outcomes
        if known is None and judged.has_stale:
            return False
        made = [document_of(*each, now) for each in judged.made]
        began = self._polls.next_step()
        try:
            for start in range(0, len(made), BATCH):
                await self._latest.insert_many(made[start : start + BATCH], ordered=True)
        except PyMongoError as error:
            if is_unsure(error):
                writing.lost += 1
                if writing.lost >= LOST_MAX:
                    raise as_canonry(error) from error
            elif not is_taken(error):
                raise
            return False
        if made:
            self._polls.record_writes(began, made)
            self._database.ends.note_commits(writing.space, tip, judged.written)
            for take in self.takers:
                take([sealed for sealed, _ in judged.made])
        return True


_LogState: TypeAlias = tuple[KnownCommit, Mapping[str, KnownCommit], Sequence[KnownCommit], int]
"""The newest commit, the stored commits of the drafts, the commits since, and the time."""


class _InsertedGroup:
    """Calls that are being written, over any number of attempts."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.calls = calls
        self.items = [item for call in calls for item in call.batch]
        self.space = self.items[0].draft.space
        self.ids = sorted({item.draft.id for item in self.items})
        self.since = min(item.rests_on for item in self.items)
        self.lost = 0
        self.outcomes: Sequence[Sequence[Outcome]] = ()

    def is_among(self, touched: Sequence[KnownCommit], known: Iterable[KnownCommit]) -> bool:
        """Return whether an attempted commit is among `touched` but not among `known`."""
        tried = {each for call in self.calls for each in call.tried}
        tried.difference_update(each.hash for each in known)
        return any(each.hash in tried for each in touched)


# The log in MongoDB: a commit is one document, and its `_id` is its position in the log.
#
# The first insert of a position wins, without a transaction. A writer that loses reads the commits
# since then and tries the next position. Waiting calls of one process are inserted together.


class MongoLedger(Ledger):
    """The logs of all spaces in one collection."""

    def __init__(self, database: MongoDatabase, clock: Clock, identities: Identities) -> None:
        """Share `database` with the documents."""
        self._database = database
        self._gate = WriterGate(database, identities)
        self._polls, self._shared = TouchedPolls(database), SharedAnswers()
        self._appender = GroupInserter(database, self._gate, self._polls, clock, identities)
        self._queues = AppendQueues(self._appender.write_calls)
        self._commits = database.committed_collection("commits")
        self._latest = database.primary_collection("commits")

    @override
    async def head_position(self, space: SpaceId) -> Position:
        async with self._database.timed_work():
            found = await self._commits.find_one(commits_after(space, ORIGIN), TIP, sort=NEWEST)
        self._database.ends.note_end(space, known_commit(found))
        return ORIGIN if found is None else Position(int(found["position"]))

    @override
    async def list_heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        async with self._database.timed_work():
            opened = self._commits.find({"opens": {"$gt": after or ""}}, {"opens": 1})
            spaces = [each["opens"] async for each in opened.sort("opens", 1).limit(limit)]
            wanted = {"space": 1, **TIP}
            tips = await asyncio.gather(
                *(
                    self._commits.find_one(commits_after(space, ORIGIN), wanted, sort=NEWEST)
                    for space in spaces
                )
            )
        return [
            Head(
                space=SpaceId(tip["space"]),
                position=Position(int(tip["position"])),
                hash=tip["hash"],
                recorded_at=Instant(int(tip["recorded_at"])),
            )
            for tip in tips
            if tip is not None
        ]

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if not batch:
            return []
        tried = set[str]()
        async with self._database.timed_work():
            for _attempt in range(ATTEMPTS_MAX):
                async with self._gate.pass_gate():
                    call, mine = Call(batch, tried), self._gate.is_mine
                    with suppress(GateClosed):
                        if await self._gate.is_open(mine=mine):
                            if not mine:
                                return await self._queues.append_call(call)
                            (outcomes,) = await self._appender.write_calls([call], mine=True)
                            return outcomes
                await self._gate.await_open()
        raise Unavailable("ledger.busy", "Other calls keep writing first. Try again.")

    @override
    def pass_commits_to(self, take: Callable[[Sequence[Sealed]], None]) -> None:
        self._appender.takers.append(take)

    @override
    async def find_commit(self, commit_id: CommitId) -> Commit | None:
        async with self._database.timed_work():
            found = await self._commits.find_one({"commit": commit_id})
        return None if found is None else unseal(require_unaltered(sealed_in(found)))

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        asked = {"space": space, "recorded_at": {"$lte": instant}}
        async with self._database.timed_work():
            found = await self._commits.find_one(
                asked, {"position": 1}, sort=[("space", -1), ("recorded_at", -1)]
            )
        return ORIGIN if found is None else Position(int(found["position"]))

    @override
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        async with self._database.timed_work():
            # Read a short page by its ids: a server may scan a whole collection for a range.
            asked = commits_after(space, after)
            if limit <= BATCH:
                asked = {
                    "_id": {"$in": [commit_key(space, after + n) for n in range(1, limit + 1)]}
                }
            found = self._commits.find(asked, batch_size=BATCH + 1).sort("_id", 1).limit(limit)
            return [require_unaltered(sealed_in(each)) async for each in found]

    @override
    async def restore_commits(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        """Check all commits before the first is written. Only concurrent writes can split them."""
        async with self._database.timed_work(), self._gate.pass_gate():
            if not await self._gate.is_open(mine=self._gate.is_mine):
                await self._gate.await_open()
            now, ids = await self._database.server_time(), [item.id for item in sealed]
            known = self._latest.find({"commit": {"$in": ids}}, {"commit": 1})
            there = {each["commit"] async for each in known}
            tips: dict[SpaceId, LogEnd] = {}
            made: list[BsonDocument] = []
            for n, item in enumerate(sealed):
                if item.space not in tips:
                    tip = await self._latest.find_one(
                        commits_after(item.space, ORIGIN), TIP, sort=NEWEST
                    )
                    tips[item.space] = LogEnd(known_commit(tip))
                end = tips[item.space]
                is_known = item.id in there
                require_next_commit(item, after=end.position, previous=end.hash, is_known=is_known)
                there.add(item.id)
                end.follow_commit(item)
                made.append(
                    document_of(item, TOUCHES_ANYTHING if touched is None else touched[n], now)
                )
            await self._insert_restored(made)

    async def _insert_restored(self, made: Sequence[BsonDocument]) -> None:
        try:
            for start in range(0, len(made), BATCH):
                await self._latest.insert_many(made[start : start + BATCH], ordered=True)
        except PyMongoError as error:
            if not is_taken(error):
                raise
            message = "The import does not fit the log: another process writes into the same log"
            raise Conflict("ledger.chain-broken", message) from error

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        call = current_scope()
        asked = self._shared.share_answer(
            (cursor, limit), partial(self._polls.touched_since, cursor, limit)
        )
        if call is None or not call.writes:
            return await asked
        touched, _ = await asyncio.gather(asked, self._gate.ask_server())
        return touched

    @override
    def lock_appends(self) -> AbstractAsyncContextManager[None]:
        return self._gate.lock_appends()
