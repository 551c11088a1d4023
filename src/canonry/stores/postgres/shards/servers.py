"""The servers of a divided store, the directory of spaces, and one ledger over all servers."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, TypeVar

from typing_extensions import override

from canonry.log.commits import ORIGIN, Append, Appended, Commit, Outcome, Position
from canonry.log.ports.ledger import Head, Ledger, Touched, require_next_commit
from canonry.log.ports.world import RunningWork
from canonry.log.sealing import GENESIS, Sealed
from canonry.stores.postgres.database import (
    MOVED,
    Database,
    PgConnection,
    fetch_rows,
    moved_error,
    run_statement,
)
from canonry.stores.postgres.store import PostgresStore
from canonry.values.audience import space_of
from canonry.values.errors import CanonryError, Conflict, Unavailable
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant

# The directory names the server of each space. The first server stores it.
#
# A process trusts an answer about moved spaces for `LEASE` seconds and then asks again. A move
# blocks writes at the new server until this time is over, so that no process reads old data at the
# old server.

LEASE: Final = 1.0
_KNOWN_MAX: Final = 100_000
"""Server names that are cached for unmoved spaces. All moved spaces are cached besides."""

_HOMES: Final = (
    "SELECT s.space, h.server, EXISTS (SELECT 1 FROM heads d WHERE d.space = s.space"
    " AND d.position > 0) FROM unnest(%s::text[]) AS s (space)"
    " LEFT JOIN homes h ON h.space = s.space"
)
_SINCE: Final = "SELECT space, server, moved FROM homes WHERE moved > %s ORDER BY moved"
# Spaces that are older than the second server are on the first one.
_ASSIGN: Final = (
    "INSERT INTO homes (space, server) SELECT %(space)s, CASE WHEN EXISTS (SELECT 1 FROM heads"
    " WHERE space = %(space)s AND position > 0) THEN %(first)s ELSE %(server)s END"
    " ON CONFLICT (space) DO UPDATE SET space = homes.space RETURNING server"
)
_ONE_BY_ONE: Final = "SELECT pg_advisory_xact_lock(hashtext(%s))"
_SWITCH: Final = (
    "INSERT INTO homes VALUES (%s, %s, (SELECT coalesce(max(moved), 0) + 1 FROM homes))"
    " ON CONFLICT (space) DO UPDATE SET server = excluded.server, moved = excluded.moved"
)


class Directory:
    """The servers of the spaces, as this process knows them."""

    def __init__(self, database: Database, first: str, servers: Sequence[str]) -> None:
        """Ask `database`, on the server `first`, about spaces on any of `servers`."""
        self._database = database
        self._first = first
        self._servers = tuple(sorted(servers))
        self._known: dict[str, str] = {}
        self._moved: dict[str, str] = {}
        self._moves = 0
        self._until = 0.0
        self._asking = asyncio.Lock()

    async def count_moves(self) -> int:
        """Return the number of moves. No space has changed its server while it stays the same."""
        if time.monotonic() >= self._until:
            async with self._asking:
                if time.monotonic() >= self._until:
                    asked = time.monotonic()
                    for space, server, number in await self._database.fetch_rows(
                        _SINCE, (self._moves,)
                    ):
                        self._moved[space], self._moves = server, number
                    self._until = asked + LEASE
        return self._moves

    def drop_cache(self) -> None:
        """Drop all cached answers, after a server has refused a moved space."""
        self._until = 0.0

    async def server_of(self, space: SpaceId) -> str:
        """Return the server of one space."""
        return (await self.servers_of((space,)))[space_of(space)]

    async def servers_of(self, spaces: Iterable[SpaceId]) -> Mapping[SpaceId, str]:
        """Return the server of each space; the first server for spaces that are not stored yet."""
        await self.count_moves()
        wanted = {space_of(each) for each in spaces}
        found = {space: self._cached_server(space) for space in wanted}
        missing = [space for space, server in found.items() if server is None]
        if missing:
            for space, server, is_here in await self._database.fetch_rows(_HOMES, (missing,)):
                found[SpaceId(space)] = server or self._first
                if server is not None or is_here:
                    self._cache_server(space, server or self._first)
        return {space: server for space, server in found.items() if server is not None}

    async def assign_server(self, space: SpaceId) -> str:
        """Return the server for writes to a space. A new space is assigned to one permanently."""
        await self.count_moves()
        known = self._cached_server(space)
        if known is None:
            chosen = max(
                self._servers, key=lambda each: sha256(f"{each}/{space}".encode()).digest()
            )
            values = {"space": space, "first": self._first, "server": chosen}
            ((known,),) = await self._database.fetch_rows(_ASSIGN, values)
            self._cache_server(space, known)
        return known

    def is_elsewhere(self, space: str, server: str) -> bool:
        """Return whether a server's data of a space is left over from before a move."""
        return self._moved.get(space_of(space), server) != server

    async def record_move(self, space: SpaceId, server: str) -> None:
        """Record that a space is on another server from now on."""

        async def write_move(db: PgConnection) -> None:
            await run_statement(db, _ONE_BY_ONE, (f"{self._database.name} homes",))
            await run_statement(db, _SWITCH, (space, server))

        await self._database.write_transaction(write_move)
        self.drop_cache()

    async def ask_directory(self, space: SpaceId) -> str:
        """Return the server of a space from the directory, not from the cache."""

        async def ask_server(db: PgConnection) -> str | None:
            rows = await fetch_rows(db, "SELECT server FROM homes WHERE space = %s", (space,))
            return rows[0][0] if rows else None

        return await self._database.attempt_work(ask_server) or self._first

    def _cached_server(self, space: str) -> str | None:
        return self._moved.get(space) or self._known.get(space)

    def _cache_server(self, space: str, server: str) -> None:
        if len(self._known) >= _KNOWN_MAX:
            del self._known[next(iter(self._known))]
        self._known[space] = server


T = TypeVar("T")

PATIENCE: Final = 10.0
"""Seconds that a writer waits for a moving space, within the time of its call."""

_PAUSE: Final = 0.05  # a move ends within seconds; its directory serves others too
ANEW_MAX: Final = 8
"""Attempts of a read while spaces move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server and its id in this store. `name` is for operators."""

    id: str
    name: str
    store: PostgresStore

    @property
    def database(self) -> Database:
        """Return the store's database on this server."""
        return self.store.database


@dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """All servers by their ids, the first one first."""

    servers: Mapping[str, Server]
    directory: Directory
    finish_move: Callable[["Shards", SpaceId], Awaitable[bool]]
    """Finishes the move of a space whose process is gone; False if the process still runs."""

    writes: RunningWork = field(default_factory=RunningWork)
    """Writes to several servers, which must stay open until the writes end."""

    @property
    def first_server(self) -> Server:
        """Return the server with the directory."""
        return next(iter(self.servers.values()))

    async def ask_home(self, space: SpaceId, ask: Callable[[Server], Awaitable[T]]) -> T:
        """Ask the server of a space, and ask again if the space has moved meanwhile."""
        for _ in range(ANEW_MAX):
            home = await self.directory.server_of(space)
            try:
                answer = await ask(self.servers[home])
            except CanonryError:
                if await self.directory.server_of(space) == home:
                    raise
                continue
            if await self.directory.server_of(space) == home:
                return answer
        raise moved_error()

    async def ask_everywhere(
        self, ask: Callable[[Server], Awaitable[T]]
    ) -> Sequence[tuple[Server, T]]:
        """Ask all servers, and ask again if a space has moved meanwhile."""
        servers = list(self.servers.values())
        for _ in range(ANEW_MAX):
            moves = await self.directory.count_moves()
            found = await asyncio.gather(*map(ask, servers))
            if await self.directory.count_moves() == moves:
                return list(zip(servers, found, strict=True))
        raise moved_error()

    async def write_home(self, space: SpaceId, write: Callable[[Server], Awaitable[T]]) -> T:
        """Write to the server of a space. Wait for a space that is moving.

        Raises:
            Unavailable: `space.moved`, the move takes longer than `PATIENCE`, or
                `ledger.closed`; nothing was written.
        """
        with self.writes.begin_work():
            ends, repair_after = time.monotonic() + PATIENCE, time.monotonic() + 3 * LEASE
            while True:
                home = await self.directory.assign_server(space)
                try:
                    return await write(self.servers[home])
                except Unavailable as error:
                    now = time.monotonic()
                    if error.code != MOVED or now > ends:
                        raise
                    if now > repair_after:
                        await self.finish_move(self, space)
                await asyncio.sleep(_PAUSE)
                self.directory.drop_cache()


_BITS: Final = 96
"""Bits of one server's cursor. The common cursor concatenates the cursors of all servers."""


class ShardedLedger(Ledger):
    """Sends each request to the server of its space."""

    def __init__(self, shards: Shards) -> None:
        """Share the servers without closing them."""
        self._shards = shards

    @override
    async def head_position(self, space: SpaceId) -> Position:
        return await self._shards.ask_home(space, lambda s: s.store.ledger.head_position(space))

    @override
    async def list_heads(self, *, after: SpaceId | None = None, limit: int) -> Sequence[Head]:
        is_elsewhere = self._shards.directory.is_elsewhere
        while True:
            found = await self._shards.ask_everywhere(_heads_reader(after, limit))
            # Further spaces of a server come after the last one returned.
            ends = [page[-1].space for _, page in found if len(page) == limit]
            heads_by_space = {
                head.space: head
                for server, page in found
                for head in page
                if not is_elsewhere(head.space, server.id) and (not ends or head.space <= min(ends))
            }
            if heads_by_space or not ends:
                return [heads_by_space[space] for space in sorted(heads_by_space)][:limit]
            after = min(ends)

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if not batch:
            return []
        space = batch[0].draft.space
        known = await self._known_elsewhere(space, [item.draft.id for item in batch])
        rest = [item for item in batch if item.draft.id not in known]
        if not rest:
            return [known[item.draft.id] for item in batch]
        written = await self._shards.write_home(space, lambda s: s.store.ledger.append_drafts(rest))
        outcomes = iter(written)
        return [known.get(item.draft.id) or next(outcomes) for item in batch]

    async def _known_elsewhere(
        self, space: SpaceId, ids: Sequence[CommitId]
    ) -> Mapping[CommitId, Appended]:
        """Return those of `ids` that other servers have: an id is unique across servers."""
        home = await self._shards.directory.assign_server(space)
        others = [each for each in self._shards.servers.values() if each.id != home]
        found = await asyncio.gather(*(each.store.ledger.known_commits(ids) for each in others))
        return {identity: each for known in found for identity, each in known.items()}

    @override
    def pass_commits_to(self, take: Callable[[Sequence[Sealed]], None]) -> None:
        for server in self._shards.servers.values():
            server.store.ledger.pass_commits_to(take)

    @override
    async def find_commit(self, commit_id: CommitId) -> Commit | None:
        found = await self._shards.ask_everywhere(lambda s: s.store.ledger.find_commit(commit_id))
        return next((commit for _, commit in found if commit is not None), None)

    @override
    async def position_at(self, space: SpaceId, instant: Instant) -> Position:
        return await self._shards.ask_home(
            space, lambda s: s.store.ledger.position_at(space, instant)
        )

    @override
    async def read_sealed(self, space: SpaceId, *, after: Position, limit: int) -> Sequence[Sealed]:
        return await self._shards.ask_home(
            space, lambda s: s.store.ledger.read_sealed(space, after=after, limit=limit)
        )

    @override
    async def restore_commits(
        self, sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None = None
    ) -> None:
        """Restore all or nothing on each server; with several servers, check everything before."""
        homes = {each.space: "" for each in sealed}
        for space in homes:
            homes[space] = await self._shards.directory.assign_server(space)
            if await self._known_elsewhere(space, [e.id for e in sealed if e.space == space]):
                message = "The import contains a commit whose id is already in the log."
                raise Conflict("ledger.chain-broken", message)
        groups = [[s for s in homes if homes[s] == home] for home in set(homes.values())]
        if len(groups) > 1:
            for space in homes:
                await self._require_following([each for each in sealed if each.space == space])
        for group in groups:
            mine = [n for n, each in enumerate(sealed) if each.space in group]
            touched_here = None if touched is None else [touched[n] for n in mine]
            await self._shards.write_home(
                group[0], _commits_restorer([sealed[n] for n in mine], touched_here)
            )

    async def _require_following(self, sealed: Sequence[Sealed]) -> None:
        space, previous = sealed[0].space, GENESIS
        position = await self.head_position(space)
        if position != ORIGIN:
            (last,) = await self.read_sealed(space, after=Position(position - 1), limit=1)
            previous = last.hash
        for each in sealed:
            require_next_commit(each, after=position, previous=previous)
            position, previous = each.position, each.hash

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
        key_sets = [each.keys for each in found if each.keys is not None]
        reached: dict[SpaceId, Position] = {}
        for each in found:
            for space, position in (each.reached or {}).items():
                reached[space] = max(position, reached.get(space, position))
        return Touched(
            cursor=sum(each.cursor << (_BITS * n) for n, each in enumerate(found)),
            keys=frozenset[int]().union(*key_sets) if len(key_sets) == len(found) else None,
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
    @asynccontextmanager
    async def lock_appends(self) -> AsyncIterator[None]:
        """Lock all servers in the order of their ids, to avoid deadlocks."""
        async with AsyncExitStack() as held:
            for _, server in sorted(self._shards.servers.items()):
                await held.enter_async_context(server.store.ledger.lock_appends())
            yield


def _heads_reader(
    after: SpaceId | None, limit: int
) -> Callable[[Server], Awaitable[Sequence[Head]]]:
    return lambda server: server.store.ledger.list_heads(after=after, limit=limit)


def _commits_restorer(
    sealed: Sequence[Sealed], touched: Sequence[frozenset[str]] | None
) -> Callable[[Server], Awaitable[None]]:
    return lambda server: server.store.ledger.restore_commits(sealed, touched)
