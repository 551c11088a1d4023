"""A ledger behind a bad line: it waits, refuses, loses answers, hears twice and cries stale."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from typing_extensions import override

from canonry.domain.errors import Unavailable
from canonry.domain.ids import CommitId, SpaceId
from canonry.domain.log.commits import Append, Commit, Outcome, Position, Stale
from canonry.domain.log.sealing import Sealed
from canonry.domain.time import Instant
from canonry.ports.records.ledger import Head, Ledger, Touched


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """The odds of each fault, for each append; each call waits up to `delay` seconds."""

    delay: float = 1.0
    refused: float = 0.0
    """Unavailable, and nothing was written."""
    lost: float = 0.0
    """Unavailable, though it was written."""
    twice: float = 0.0
    """Delivered a second time, later, while others write."""
    stale: float = 0.0
    """Stale though nothing was touched: a backend may be cautious."""


class FaultyLedger(Ledger):
    """Any ledger behind a line with seeded faults; the record itself never lies."""

    def __init__(self, inner: Ledger, lots: random.Random, faults: Faults) -> None:
        """Draw every fault from `lots`."""
        self._inner = inner
        self._lots = lots
        self._faults = faults
        self._late: set[asyncio.Task[None]] = set()
        self.appends = 0

    async def settle(self) -> None:
        """Wait for whatever is still on the line."""
        while self._late:
            await asyncio.gather(*self._late)

    async def _wait(self) -> None:
        await asyncio.sleep(self._lots.random() * self._faults.delay)

    def _happens(self, odds: float) -> bool:
        return self._lots.random() < odds

    @override
    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        self.appends += 1
        await self._wait()
        if self._happens(self._faults.refused):
            raise Unavailable("ledger.busy", "the ledger is busy; send the request again")
        if self._happens(self._faults.stale):
            return [Stale(head=await self._inner.head(item.draft.space)) for item in batch]
        outcomes = await self._inner.append(batch)
        if self._happens(self._faults.twice):
            late = asyncio.ensure_future(self._deliver_again(batch))
            self._late.add(late)
            late.add_done_callback(self._late.discard)
        await self._wait()
        if self._happens(self._faults.lost):
            raise Unavailable("ledger.no-answer", "the ledger did not answer; send it again")
        return outcomes

    async def _deliver_again(self, batch: Sequence[Append]) -> None:
        await self._wait()
        await self._inner.append(batch)

    @override
    async def head(self, space: SpaceId) -> Position:
        await self._wait()
        return await self._inner.head(space)

    @override
    async def heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        await self._wait()
        return await self._inner.heads(after=after, limit=limit)

    @override
    async def find(self, commit_id: CommitId) -> Commit | None:
        await self._wait()
        return await self._inner.find(commit_id)

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        await self._wait()
        return await self._inner.position_at(space, instant)

    @override
    async def read(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Commit]:
        await self._wait()
        return await self._inner.read(space, after=after, limit=limit)

    @override
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        await self._wait()
        return await self._inner.read_sealed(space, after=after, limit=limit)

    @override
    async def restore(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        await self._wait()
        await self._inner.restore(sealed, touched)

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        await self._wait()
        return await self._inner.touched_since(cursor, limit=limit)

    @override
    def exclusive(self) -> AbstractAsyncContextManager[None]:
        return self._exclusive()

    @asynccontextmanager
    async def _exclusive(self) -> AsyncIterator[None]:
        await self._wait()
        async with self._inner.exclusive():
            yield
