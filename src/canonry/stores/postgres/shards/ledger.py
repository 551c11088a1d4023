"""The ledger over several servers: each space's log is whole on one of them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Final

from typing_extensions import override

from canonry.log.commits import ORIGIN, Append, Appended, Commit, Outcome, Position
from canonry.log.ports.ledger import Head, Ledger, Touched
from canonry.log.sealing import GENESIS, Sealed, fault_in
from canonry.stores.postgres.shards.servers import Server, Shards
from canonry.values.errors import Conflict
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

_BITS: Final = 96
"""Of the cursor of one server; the cursor of all is theirs one after the other."""


class ShardedLedger(Ledger):
    """Sends each question to the server of the space that it names."""

    def __init__(self, shards: Shards) -> None:
        """Nobody closes the servers here."""
        self._shards = shards

    @override
    async def head(self, space: SpaceId) -> Position:
        return await self._shards.at_home(space, lambda s: s.store.ledger.head(space))

    @override
    async def heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        is_elsewhere = self._shards.directory.is_elsewhere
        while True:
            found = await self._shards.everywhere(_heading(after, limit))
            # Whoever has more than that has it after the last that was told.
            ends = [page[-1].space for _, page in found if len(page) == limit]
            told = {
                head.space: head
                for server, page in found
                for head in page
                if not is_elsewhere(head.space, server.id) and (not ends or head.space <= min(ends))
            }
            if told or not ends:
                return [told[space] for space in sorted(told)][:limit]
            after = min(ends)

    @override
    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if not batch:
            return []
        space = batch[0].draft.space
        known = await self._known(space, [item.draft.id for item in batch])
        rest = [item for item in batch if item.draft.id not in known]
        if not rest:
            return [known[item.draft.id] for item in batch]
        told = await self._shards.writing(space, lambda s: s.store.ledger.append(rest))
        outcomes = iter(told)
        return [known.get(item.draft.id) or next(outcomes) for item in batch]

    async def _known(self, space: SpaceId, ids: Sequence[CommitId]) -> Mapping[CommitId, Appended]:
        """Which of these another server has: an id is in the log once, wherever its space lies."""
        home = await self._shards.directory.place(space)
        others = [each for each in self._shards.servers.values() if each.id != home]
        found = await asyncio.gather(*(each.store.ledger.known(ids) for each in others))
        return {identity: each for known in found for identity, each in known.items()}

    @override
    def hand_to(self, take: Callable[[Sequence[Sealed]], None]) -> None:
        for server in self._shards.servers.values():
            server.store.ledger.hand_to(take)

    @override
    async def find(self, commit_id: CommitId) -> Commit | None:
        found = await self._shards.everywhere(lambda s: s.store.ledger.find(commit_id))
        return next((commit for _, commit in found if commit is not None), None)

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        return await self._shards.at_home(
            space, lambda s: s.store.ledger.position_at(space, instant)
        )

    @override
    async def read(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Commit]:
        return await self._shards.at_home(
            space, lambda s: s.store.ledger.read(space, after=after, limit=limit)
        )

    @override
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        return await self._shards.at_home(
            space, lambda s: s.store.ledger.read_sealed(space, after=after, limit=limit)
        )

    @override
    async def restore(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        """All or none on each server; where there are several, all are looked at before."""
        homes = {each.space: "" for each in sealed}
        for space in homes:
            homes[space] = await self._shards.directory.place(space)
            if await self._known(space, [each.id for each in sealed if each.space == space]):
                message = "the import does not fit: a commit of that id is in the log"
                raise Conflict("ledger.chain-broken", message)
        groups = [[s for s in homes if homes[s] == home] for home in set(homes.values())]
        if len(groups) > 1:
            for space in homes:
                await self._require_following([each for each in sealed if each.space == space])
        for group in groups:
            mine = [n for n, each in enumerate(sealed) if each.space in group]
            told = None if touched is None else [touched[n] for n in mine]
            await self._shards.writing(group[0], _restoring([sealed[n] for n in mine], told))

    async def _require_following(self, sealed: Sequence[Sealed]) -> None:
        space, previous = sealed[0].space, GENESIS
        position = await self.head(space)
        if position != ORIGIN:
            (last,) = await self.read_sealed(space, after=Position(position - 1), limit=1)
            previous = last.hash
        for each in sealed:
            position = Position(position + 1)
            if (fault := fault_in(each, position=position, previous=previous)) is not None:
                raise Conflict("ledger.chain-broken", f"the import does not fit: {fault}")
            previous = each.hash

    @override
    async def touched_since(self, cursor: int, *, limit: int) -> Touched:
        servers = list(self._shards.servers.values())
        parts = [cursor >> (_BITS * n) & ((1 << _BITS) - 1) for n in range(len(servers))]
        found = await asyncio.gather(
            *(
                server.store.ledger.touched_since(part, limit=limit)
                for server, part in zip(servers, parts, strict=True)
            )
        )
        told = [each.keys for each in found if each.keys is not None]
        reached: dict[SpaceId, Position] = {}
        for each in found:
            for space, position in (each.reached or {}).items():
                reached[space] = max(position, reached.get(space, position))
        return Touched(
            cursor=sum(each.cursor << (_BITS * n) for n, each in enumerate(found)),
            keys=frozenset[int]().union(*told) if len(told) == len(found) else None,
            reached=reached,
        )

    @override
    async def await_news(self, seconds: float) -> None:
        waiting = [
            asyncio.create_task(server.store.ledger.await_news(seconds), name="news")
            for server in self._shards.servers.values()
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    @override
    def exclusive(self) -> AbstractAsyncContextManager[None]:
        return self._exclusive()

    @asynccontextmanager
    async def _exclusive(self) -> AsyncIterator[None]:
        """On all servers, always in the order of their ids: nobody waits round."""
        async with AsyncExitStack() as held:
            for _, server in sorted(self._shards.servers.items()):
                await held.enter_async_context(server.store.ledger.exclusive())
            yield


def _heading(after: SpaceId | None, limit: int) -> Callable[[Server], Awaitable[Sequence[Head]]]:
    return lambda server: server.store.ledger.heads(after=after, limit=limit)


def _restoring(
    sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None
) -> Callable[[Server], Awaitable[None]]:
    return lambda server: server.store.ledger.restore(sealed, touched)
