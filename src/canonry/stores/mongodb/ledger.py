"""The log in MongoDB: a commit is one document, and its place in the log is its `_id`.

So whoever inserts a place first has it, and nothing rests on a transaction. Who comes second looks
at what was touched meanwhile, and takes the next place. What waits in one process is inserted
together.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial

from pymongo.errors import PyMongoError
from typing_extensions import override

from canonry.log.commits import ORIGIN, Append, Commit, Outcome, Position
from canonry.log.ports.call_scope import scope
from canonry.log.ports.ledger import Head, Ledger, Touched
from canonry.log.ports.turns import Call, Turns
from canonry.log.ports.world import Clock, Identities
from canonry.log.sealing import Sealed, fault_in, require_unaltered, unseal
from canonry.stores.mongodb.appending import (
    ATTEMPTS_MAX,
    BATCH,
    NEWEST,
    GateClosed,
    GroupInserter,
)
from canonry.stores.mongodb.database import BsonDocument, MongoDatabase
from canonry.stores.mongodb.faults import is_taken
from canonry.stores.mongodb.gate import WriterGate
from canonry.stores.mongodb.looks import Looks, SharedAnswers
from canonry.stores.mongodb.records import (
    TIP,
    TOUCHES_ANYTHING,
    ChainEnd,
    document_of,
    next_after,
    past,
    sealed_in,
)
from canonry.values.errors import Conflict, Unavailable
from canonry.values.ids import CommitId, SpaceId
from canonry.values.time import Instant


class MongoLedger(Ledger):
    """One log a space in one collection."""

    def __init__(self, database: MongoDatabase, clock: Clock, identities: Identities) -> None:
        """Share `database` with the documents."""
        self._database = database
        self._gate = WriterGate(database, identities)
        self._looks, self._shared = Looks(database), SharedAnswers()
        self._appender = GroupInserter(database, self._gate, self._looks, clock, identities)
        self._turns = Turns(self._appender.write)
        self._commits = database.collection("commits")
        self._latest = database.latest("commits")

    @override
    async def head(self, space: SpaceId) -> Position:
        async with self._database.working():
            found = await self._commits.find_one(past(space, ORIGIN), TIP, sort=NEWEST)
        self._database.ends.stands(space, found)
        return ORIGIN if found is None else Position(int(found["position"]))

    @override
    async def heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        async with self._database.working():
            opened = self._commits.find({"opens": {"$gt": after or ""}}, {"opens": 1})
            spaces = [each["opens"] async for each in opened.sort("opens", 1).limit(limit)]
            wanted = {"space": 1, **TIP}
            tips = await asyncio.gather(
                *(
                    self._commits.find_one(past(space, ORIGIN), wanted, sort=NEWEST)
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
        tried = set[str]()
        async with self._database.working():
            for _attempt in range(ATTEMPTS_MAX):
                async with self._gate.passing():
                    call, mine = Call(batch, tried), self._gate.is_mine
                    with suppress(GateClosed):
                        if await self._gate.is_open(mine=mine):
                            if not mine:
                                return await self._turns.append(call)
                            (outcomes,) = await self._appender.write([call], mine=True)
                            return outcomes
                await self._gate.wait()
        raise Unavailable("ledger.busy", "others write without a pause; try again")

    @override
    def hand_to(self, take: Callable[[Sequence[Sealed]], None]) -> None:
        self._appender.takers.append(take)

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
        async with self._database.working():
            # A short page by its ids: a server may look at a whole collection for a part of it.
            asked = next_after(space, after, limit) if limit <= BATCH else past(space, after)
            found = self._commits.find(asked, batch_size=BATCH + 1).sort("_id", 1).limit(limit)
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
                    tip = await self._latest.find_one(past(item.space, ORIGIN), TIP, sort=NEWEST)
                    tips[item.space] = ChainEnd(tip)
                end = tips[item.space]
                fault = fault_in(item, position=Position(end.position + 1), previous=end.hash)
                if fault is None and item.id in there:
                    fault = "a commit of that id is in the log"
                if fault is not None:
                    raise _unfit(fault)
                there.add(item.id)
                end.follow(item)
                made.append(
                    document_of(item, TOUCHES_ANYTHING if touched is None else touched[n], now)
                )
            await self._restored(made)

    async def _restored(self, made: Sequence[BsonDocument]) -> None:
        try:
            for start in range(0, len(made), BATCH):
                await self._latest.insert_many(made[start : start + BATCH], ordered=True)
        except PyMongoError as error:
            if not is_taken(error):
                raise
            raise _unfit("somebody writes into the same log") from error

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        call = scope()
        asked = self._shared.ask((cursor, limit), partial(self._looks.since, cursor, limit))
        if call is None or not call.writes:
            return await asked
        touched, _ = await asyncio.gather(asked, self._gate.look())
        return touched

    @override
    def exclusive(self) -> AbstractAsyncContextManager[None]:
        return self._exclusive()

    @asynccontextmanager
    async def _exclusive(self) -> AsyncIterator[None]:
        async with self._gate.exclusive():
            yield


def _unfit(fault: str) -> Conflict:
    return Conflict("ledger.chain-broken", f"the import does not fit: {fault}")
