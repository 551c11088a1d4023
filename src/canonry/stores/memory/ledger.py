"""The ledger and blobs in memory."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from hashlib import sha256

from typing_extensions import override

from canonry.log.commits import ORIGIN, Append, Appended, Commit, Outcome, Position, Stale
from canonry.log.ports.blobs import Blobs
from canonry.log.ports.ledger import Head, Ledger, Sealer, Touched
from canonry.log.sealing import GENESIS, Sealed, commit_of, fault_in, unseal
from canonry.stores.memory.store import MemoryStore, collides
from canonry.values.errors import Conflict, NotFound
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant


class MemoryLedger(Ledger):
    """One log a space, in a list."""

    def __init__(self, store: MemoryStore, sealer: Sealer) -> None:
        """Share `store` with the views."""
        self._store = store
        self._sealer = sealer
        self._turn = asyncio.Lock()
        self._owner: asyncio.Task[object] | None = None

    @override
    async def head(self, space: SpaceId) -> Position:
        return Position(len(self._store.log.get(space, ())))

    @override
    async def heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        spaces = sorted(s for s, log in self._store.log.items() if log and s > (after or ""))
        tips = [self._store.log[space][-1] for space in spaces[:limit]]
        return [
            Head(
                space=tip.space,
                position=tip.position,
                hash=tip.hash,
                recorded_at=tip.recorded_at,
            )
            for tip in tips
        ]

    @override
    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if self._owner is asyncio.current_task():
            return self._append(batch)
        async with self._turn:
            return self._append(batch)

    def _append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        start = {a.draft.space: len(self._store.log[a.draft.space]) for a in batch}
        fresh = [not self._stale(item) for item in batch]
        outcomes: list[Outcome] = []
        stopped = False
        for item, is_fresh in zip(batch, fresh, strict=True):
            known = self._sealed(item.draft.id)
            if known is not None:
                outcomes.append(
                    Appended(position=known.position, recorded_at=known.recorded_at, replayed=True)
                )
                continue
            stopped = stopped or not is_fresh
            if stopped:
                outcomes.append(Stale(head=Position(start[item.draft.space])))
            else:
                outcomes.append(self._write(item))
        return outcomes

    def _stale(self, item: Append) -> bool:
        space, foreseen = item.draft.space, item.foreseen
        if collides(item.reads, self._store.touched_after(space, item.judged_at)):
            return True
        return foreseen is not None and collides(
            foreseen.over, self._store.touched_after(space, foreseen.at)
        )

    def _write(self, item: Append) -> Appended:
        draft = item.draft
        log = self._store.log[draft.space]
        previous = log[-1].hash if log else GENESIS
        newest = log[-1].recorded_at if log else None
        sealed = self._sealer.sealed(draft, after=len(log), newest=newest, previous=previous)
        touched = None if item.foreseen is None else item.foreseen.touched
        self._store.take(sealed, touched, commit_of(draft, sealed, previous))
        return Appended(position=sealed.position, recorded_at=sealed.recorded_at)

    def _sealed(self, commit_id: CommitId) -> Sealed | None:
        return next((s for log in self._store.log.values() for s in log if s.id == commit_id), None)

    @override
    async def find(self, commit_id: CommitId) -> Commit | None:
        sealed = self._sealed(commit_id)
        return None if sealed is None else unseal(sealed)

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        log = self._store.log.get(space, ())
        return max((s.position for s in log if s.recorded_at <= instant), default=ORIGIN)

    @override
    async def read(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Commit]:
        return [unseal(s) for s in await self.read_sealed(space, after=after, limit=limit)]

    @override
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        return self._store.log.get(space, [])[after : after + limit]

    @override
    async def restore(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        for n, item in enumerate(sealed):
            log = self._store.log[item.space]
            previous = log[-1].hash if log else GENESIS
            fault = fault_in(item, position=Position(len(log) + 1), previous=previous)
            if fault is not None:
                raise Conflict("ledger.chain-broken", f"the import does not fit: {fault}")
            self._store.take(item, None if touched is None else touched[n], unseal(item))

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        now = len(self._store.touched) + 1
        if cursor == 0 or now - cursor > limit:
            return Touched(cursor=now, keys=None)
        news = self._store.touched[cursor - 1 :]
        return Touched(cursor=now, keys=frozenset().union(*(keys for _, keys in news)))

    @override
    def exclusive(self) -> AbstractAsyncContextManager[None]:
        return self._exclusive()

    @asynccontextmanager
    async def _exclusive(self) -> AsyncIterator[None]:
        async with self._turn:
            self._owner = asyncio.current_task()
            try:
                yield
            finally:
                self._owner = None


class MemoryBlobs(Blobs):
    """Bytes by their hash."""

    def __init__(self) -> None:
        """Start empty."""
        self._held: dict[str, bytes] = {}

    @override
    async def put(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        self._held[digest] = data
        return digest

    @override
    async def get(self, digest: str) -> bytes:
        if digest not in self._held:
            raise NotFound("blobs.unknown", "there are no bytes under this digest", digest=digest)
        return self._held[digest]

    @override
    async def delete(self, digest: str) -> None:
        self._held.pop(digest, None)

    @override
    async def digests(self, *, after: str = "", limit: int) -> Sequence[str]:
        return sorted(d for d in self._held if d > after)[:limit]
