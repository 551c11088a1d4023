"""The log in MongoDB: a commit is one document, and its place in the log is its `_id`.

So whoever inserts a place first has it, and nothing rests on a transaction. Who comes second looks
at what was touched meanwhile, and takes the next place.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeAlias

from pymongo.errors import PyMongoError
from typing_extensions import override

from canonry.adapters.mongodb.database import BsonDocument, MongoDatabase
from canonry.adapters.mongodb.ends import KnownEnds
from canonry.adapters.mongodb.faults import as_canonry, is_taken, is_unsure
from canonry.adapters.mongodb.gate import WriterGate
from canonry.adapters.mongodb.records import (
    TIP,
    TOUCHED_MAX,
    ChainEnd,
    document_of,
    is_stale,
    next_after,
    past,
    sealed_in,
)
from canonry.domain.errors import Conflict, Unavailable
from canonry.domain.ids import CommitId, SpaceId
from canonry.domain.log.commits import ORIGIN, Append, Appended, Commit, Outcome, Position, Stale
from canonry.domain.log.dating import Dating
from canonry.domain.log.keys import ANY
from canonry.domain.log.sealing import Sealed, fault_in, require_unaltered, seal, unseal
from canonry.domain.time import Instant
from canonry.ports.call_scope import answers
from canonry.ports.records.ledger import Head, Ledger, Touched
from canonry.ports.world import Clock, Identities

ATTEMPTS_MAX: Final = 100
"""So often an append tries the next place while others are quicker."""

LOST_MAX: Final = 5
"""So often it asks whether it was written, where the answer was lost."""

_BATCH: Final = 100
_LONGEST_PAUSE: Final = 0.05
_SETTLES: Final = 60_000
"""What is written is seen by everybody after so many milliseconds of the server's clock."""

_ALONGSIDE: Final = 4096
_ANYTHING: Final = frozenset((ANY,))
_NEWEST: Final = [("_id", -1)]
_WRITTEN: Final = "written to MongoDB"
"""What a call wrote last, which the views that it brings up need not ask for."""


class MongoLedger(Ledger):
    """One log a space in one collection."""

    def __init__(self, database: MongoDatabase, clock: Clock, identities: Identities) -> None:
        """Share `database` with the documents."""
        self._database = database
        self._clock = clock
        self._identities = identities
        self._dating = Dating(clock.now(), clock.monotonic())
        self._turns: defaultdict[SpaceId, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._gate = WriterGate(database, identities)
        self._ends = KnownEnds()
        self._commits = database.collection("commits")
        self._latest = database.latest("commits")

    @override
    async def head(self, space: SpaceId) -> Position:
        async with self._database.working():
            found = await self._commits.find_one(past(space, ORIGIN), TIP, sort=_NEWEST)
        if found is None:
            return ORIGIN
        self._ends.stands(space, found)
        return Position(int(found["position"]))

    @override
    async def heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        async with self._database.working():
            opened = self._commits.find({"opens": {"$gt": after or ""}}, {"opens": 1})
            spaces = [each["opens"] async for each in opened.sort("opens", 1).limit(limit)]
            wanted = {"space": 1, **TIP}
            tips = await asyncio.gather(
                *(
                    self._commits.find_one(past(space, ORIGIN), wanted, sort=_NEWEST)
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
    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if not batch:
            return []
        async with self._database.working():
            writing = _Batched(self, batch)
            for attempt in range(ATTEMPTS_MAX):
                async with self._gate.passing(), self._turns[writing.space]:
                    look = self._looked if attempt else self._looked_first
                    is_open, found = await asyncio.gather(
                        self._gate.is_open(mine=self._gate.is_mine), look(writing)
                    )
                    if is_open and await self._written(writing, *found):
                        return writing.outcomes
                if is_open:
                    await asyncio.sleep(self._pause(attempt))
                else:
                    await self._gate.wait()
        raise Unavailable("ledger.busy", "others write without a pause; try again")

    async def _looked_first(self, writing: "_Batched") -> "_Looked":
        """What an attempt rests on, from memory where the log still ends as this process knows."""
        known = self._ends.since(writing.space, writing.since)
        if known:
            tip = known[-1]
            beside = next_after(writing.space, Position(int(tip["position"]) - 1), 2)
            found = self._latest.find(beside, TIP)
            there, now = await asyncio.gather(found.to_list(), self._database.now())
            if [each["hash"] for each in there] == [tip["hash"]]:
                return tip, None, known[1:], now
        return await self._looked(writing)

    async def _looked(self, writing: "_Batched") -> "_Looked":
        """What an attempt rests on, asked together."""
        space = writing.space
        known = self._latest.find({"commit": {"$in": writing.ids}}, {"commit": 1, **TIP})
        touched = self._latest.find(
            past(space, writing.since), {"position": 1, "hash": 1, "touched": 1}
        )
        return await asyncio.gather(
            self._latest.find_one(past(space, ORIGIN), TIP, sort=_NEWEST),
            known.to_list(),
            touched.sort("_id", -1).limit(TOUCHED_MAX + 1).to_list(),
            self._database.now(),
        )

    async def _written(
        self,
        writing: "_Batched",
        tip: BsonDocument | None,
        known: Sequence[BsonDocument] | None,
        touched: Sequence[BsonDocument],
        now: int,
    ) -> bool:
        """Whether the batch came to its end; else others were quicker, or the answer was lost.

        Where nobody asked whether drafts are `known`, none is told to be stale: it may be there.
        """
        made = writing.planned(ChainEnd(tip), known or (), touched, now)
        if known is None and len(made) < len(writing.ids):
            return False
        try:
            for start in range(0, len(made), _BATCH):
                await self._latest.insert_many(made[start : start + _BATCH], ordered=True)
        except PyMongoError as error:
            if is_unsure(error):
                writing.lost += 1
                if writing.lost >= LOST_MAX:
                    raise as_canonry(error) from error
            elif not is_taken(error):
                raise
            return False
        if made:
            self._ends.follow(writing.space, made)
            after = Position(made[0]["position"] - 1)
            answers()[_WRITTEN] = (writing.space, after, tuple(map(sealed_in, made)))
        return True

    def _pause(self, attempt: int) -> float:
        """Somewhere within a time that grows, so that those who met do not meet again."""
        longest: float = min(0.001 * 2**attempt, _LONGEST_PAUSE)
        return longest * self._identities.salt()[0] / 255

    def sealed(self, item: Append, tip: ChainEnd) -> Sealed:
        """The draft as the commit that follows `tip`."""
        return seal(
            item.draft,
            position=Position(tip.position + 1),
            recorded_at=self._dating.next(self._clock.now(), self._clock.monotonic(), tip.newest),
            previous=tip.hash,
            salts=[self._identities.salt() for _ in item.draft.entries],
        )

    @override
    async def find(self, commit_id: CommitId) -> Commit | None:
        async with self._database.working():
            found = await self._commits.find_one({"commit": commit_id})
        return None if found is None else unseal(require_unaltered(sealed_in(found)))

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        asked = {"space": space, "recorded_at": {"$lte": instant}}
        async with self._database.working():
            found = await self._commits.find_one(
                asked, {"position": 1}, sort=[("space", -1), ("recorded_at", -1)]
            )
        return ORIGIN if found is None else Position(int(found["position"]))

    @override
    async def read(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Commit]:
        return [unseal(s) for s in await self.read_sealed(space, after=after, limit=limit)]

    @override
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        *written, sealed = answers().get(_WRITTEN, (None, None, ()))
        if written == [space, after]:
            return list(sealed[:limit])
        async with self._database.working():
            # A short page by its ids: a server may look at a whole collection for a part of it.
            asked = next_after(space, after, limit) if limit <= _BATCH else past(space, after)
            found = self._commits.find(asked, batch_size=_BATCH + 1).sort("_id", 1).limit(limit)
            return [require_unaltered(sealed_in(each)) async for each in found]

    @override
    async def restore(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        """All are looked at before the first is written; only others' writes can part them."""
        async with self._database.working(), self._gate.passing():
            if not await self._gate.is_open(mine=self._gate.is_mine):
                await self._gate.wait()
            now, ids = await self._database.now(), [item.id for item in sealed]
            known = self._latest.find({"commit": {"$in": ids}}, {"commit": 1})
            there = {each["commit"] async for each in known}
            tips: dict[SpaceId, ChainEnd] = {}
            made: list[BsonDocument] = []
            for n, item in enumerate(sealed):
                if item.space not in tips:
                    tip = await self._latest.find_one(past(item.space, ORIGIN), TIP, sort=_NEWEST)
                    tips[item.space] = ChainEnd(tip)
                end = tips[item.space]
                fault = fault_in(item, position=Position(end.position + 1), previous=end.hash)
                if fault is None and item.id in there:
                    fault = "a commit of that id is in the log"
                if fault is not None:
                    raise _unfit(fault)
                there.add(item.id)
                end.follow(item)
                made.append(document_of(item, _ANYTHING if touched is None else touched[n], now))
            await self._restored(made)

    async def _restored(self, made: Sequence[BsonDocument]) -> None:
        try:
            for start in range(0, len(made), _BATCH):
                await self._latest.insert_many(made[start : start + _BATCH], ordered=True)
        except PyMongoError as error:
            if not is_taken(error):
                raise
            raise _unfit("somebody writes into the same log") from error

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        """Writes are stamped by the server's clock, and all of the last minute are looked at.

        The cursor tells when that began and how many there were; where there are as many, nothing
        happened.
        """
        async with self._database.working():
            now = await self._database.now() - _SETTLES
            since, seen = divmod(cursor, _ALONGSIDE)
            if cursor and seen < _ALONGSIDE - 1:
                count = await self._database.count("commits", _from(since), seen + limit + 1)
                if count == seen:
                    return Touched(cursor=cursor, keys=frozenset())
                if count <= seen + limit:
                    return await self._told(since, max(now, since))
            count = await self._database.count("commits", _from(now), _ALONGSIDE - 1)
        return Touched(cursor=now * _ALONGSIDE + count, keys=None)

    async def _told(self, since: int, now: int) -> Touched:
        told = dict.fromkeys(("space", "position", "touched", "written"), 1)
        found = await self._latest.find(_from(since), told, batch_size=_ALONGSIDE).to_list()
        count = min(sum(each["written"] >= now for each in found), _ALONGSIDE - 1)
        keys = frozenset(int(key) for each in found for key in each["touched"])
        reached: dict[SpaceId, Position] = {}
        for each in found:
            space, position = SpaceId(each["space"]), Position(int(each["position"]))
            reached[space] = max(position, reached.get(space, ORIGIN))
        return Touched(cursor=now * _ALONGSIDE + count, keys=keys, reached=reached)

    @override
    def exclusive(self) -> AbstractAsyncContextManager[None]:
        return self._exclusive()

    @asynccontextmanager
    async def _exclusive(self) -> AsyncIterator[None]:
        async with self._gate.exclusive():
            yield


_Looked: TypeAlias = tuple[
    BsonDocument | None, Sequence[BsonDocument] | None, Sequence[BsonDocument], int
]
"""The newest commit, those of the drafts that are there, who touched what since, and the time."""


class _Batched:
    """A batch on its way into the log, over as many attempts as it takes."""

    def __init__(self, ledger: MongoLedger, batch: Sequence[Append]) -> None:
        self.space = batch[0].draft.space
        self.ids = sorted({item.draft.id for item in batch})
        self.since = min(_rests_on(item) for item in batch)
        self.lost = 0
        self.outcomes: list[Outcome] = []
        self._ledger = ledger
        self._batch = batch
        self._tried: set[str] = set()

    def planned(
        self,
        end: ChainEnd,
        known: Sequence[BsonDocument],
        touched: Sequence[BsonDocument],
        now: int,
    ) -> list[BsonDocument]:
        """What is to be inserted; what becomes of each draft then is in `outcomes`.

        Where an earlier attempt was written in part, that part is the call's own.
        """
        there: dict[str, BsonDocument] = {each["commit"]: each for each in known}
        others = [each for each in touched if each["hash"] not in self._tried]
        head, stopped, made = end.position, False, list[BsonDocument]()
        self.outcomes = []
        for item in self._batch:
            if item.draft.id in there:
                self.outcomes.append(self._known(there[item.draft.id]))
                continue
            stopped = stopped or is_stale(item, others, head)
            if stopped:
                self.outcomes.append(Stale(head=head))
                continue
            sealed = self._ledger.sealed(item, end)
            end.follow(sealed)
            keys = _ANYTHING if item.foreseen is None else item.foreseen.touched
            made.append(document_of(sealed, keys, now))
            there[item.draft.id] = made[-1]
            self.outcomes.append(Appended(position=sealed.position, recorded_at=sealed.recorded_at))
        self._tried |= {each["hash"] for each in made}
        return made

    def _known(self, stored: BsonDocument) -> Appended:
        mine: bool = stored["hash"] in self._tried
        return Appended(
            position=Position(int(stored["position"])),
            recorded_at=Instant(int(stored["recorded_at"])),
            replayed=not mine,
        )


def _rests_on(item: Append) -> Position:
    foreseen = item.foreseen
    return item.judged_at if foreseen is None else min(item.judged_at, foreseen.at)


def _from(written: int) -> dict[str, Any]:
    return {"written": {"$gte": written}}


def _unfit(fault: str) -> Conflict:
    return Conflict("ledger.chain-broken", f"the import does not fit: {fault}")
