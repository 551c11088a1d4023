"""The servers of a divided store, and where each space lies."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, TypeVar

from canonry.log.ports.world import WorkUnderWay
from canonry.stores.postgres.database import (
    MOVED,
    Database,
    PgConnection,
    fetched,
    moved,
    run,
)
from canonry.stores.postgres.store import PostgresStore
from canonry.values.audience import space_of
from canonry.values.errors import CanonryError, Unavailable
from canonry.values.ids import SpaceId

# The directory: on which server each space lives, kept on the first one and trusted for a second.
#
# Whoever has asked what has moved trusts the answer for `LEASE` seconds, and asks again after that.
# Whoever moves a space lets nobody write at the new place before so many seconds are over, so that
# nobody reads at the old place what was written at the new one.

LEASE: Final = 1.0
_KNOWN_MAX: Final = 100_000
"""So many places are remembered; those of spaces that were moved are besides, and all are."""

_HOMES: Final = (
    "SELECT s.space, h.server, EXISTS (SELECT 1 FROM heads d WHERE d.space = s.space"
    " AND d.position > 0) FROM unnest(%s::text[]) AS s (space)"
    " LEFT JOIN homes h ON h.space = s.space"
)
_SINCE: Final = "SELECT space, server, moved FROM homes WHERE moved > %s ORDER BY moved"
# What was written before there were several servers lives on the first one.
_PLACE: Final = (
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
    """Where spaces live, as this process knows it."""

    def __init__(self, database: Database, first: str, servers: Sequence[str]) -> None:
        """Ask `database`, which is on the server `first`, about spaces on any of `servers`."""
        self._database = database
        self._first = first
        self._servers = tuple(sorted(servers))
        self._known: dict[str, str] = {}
        self._moved: dict[str, str] = {}
        self._moves = 0
        self._until = 0.0
        self._asking = asyncio.Lock()

    async def moves(self) -> int:
        """How many moves there were by now; nobody's place changes while this stays the same."""
        if time.monotonic() >= self._until:
            async with self._asking:
                if time.monotonic() >= self._until:
                    await self._ask()
        return self._moves

    async def _ask(self) -> None:
        asked = time.monotonic()
        for space, server, number in await self._database.rows(_SINCE, (self._moves,)):
            self._moved[space], self._moves = server, number
        self._until = asked + LEASE

    def doubt(self) -> None:
        """Trust nothing from now on: somebody was told that a space has moved."""
        self._until = 0.0

    async def home(self, space: SpaceId) -> str:
        """The server of one space."""
        return (await self.homes((space,)))[space_of(space)]

    async def homes(self, spaces: Iterable[SpaceId]) -> Mapping[SpaceId, str]:
        """The server of each space; those that nobody has written to yet count to the first."""
        await self.moves()
        wanted = {space_of(each) for each in spaces}
        found = {space: self._place_of(space) for space in wanted}
        missing = [space for space, server in found.items() if server is None]
        if missing:
            for space, server, is_here in await self._database.rows(_HOMES, (missing,)):
                found[SpaceId(space)] = server or self._first
                if server is not None or is_here:
                    self._keep(space, server or self._first)
        return {space: server for space, server in found.items() if server is not None}

    async def place(self, space: SpaceId) -> str:
        """The server on which to write to a space; one that is new is given a place for good."""
        await self.moves()
        known = self._place_of(space)
        if known is None:
            chosen = max(
                self._servers, key=lambda each: sha256(f"{each}/{space}".encode()).digest()
            )
            values = {"space": space, "first": self._first, "server": chosen}
            ((known,),) = await self._database.rows(_PLACE, values)
            self._keep(space, known)
        return known

    def is_elsewhere(self, space: str, server: str) -> bool:
        """Whether what a server shows of a space is left over, because the space has moved."""
        return self._moved.get(space_of(space), server) != server

    async def switch(self, space: SpaceId, server: str) -> None:
        """Say that a space lives on another server from now on."""

        async def write(db: PgConnection) -> None:
            await run(db, _ONE_BY_ONE, (f"{self._database.name} homes",))
            await run(db, _SWITCH, (space, server))

        await self._database.writing(write)
        self.doubt()

    async def asked(self, space: SpaceId) -> str:
        """The server of a space as the directory has it now, whatever is remembered."""

        async def ask(db: PgConnection) -> str | None:
            rows = await fetched(db, "SELECT server FROM homes WHERE space = %s", (space,))
            return rows[0][0] if rows else None

        return await self._database.attempt(ask) or self._first

    def _place_of(self, space: str) -> str | None:
        return self._moved.get(space) or self._known.get(space)

    def _keep(self, space: str, server: str) -> None:
        if len(self._known) >= _KNOWN_MAX:
            del self._known[next(iter(self._known))]
        self._known[space] = server


T = TypeVar("T")

PATIENCE: Final = 10.0
"""So many seconds a writer waits for a space that is moving; its call may end before that."""

_PAUSE: Final = 0.05
ANEW_MAX: Final = 8
"""So often a question is asked anew because spaces moved while it was answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server by the id that it has in this store; `name` is how an operator knows it."""

    id: str
    name: str
    store: PostgresStore

    @property
    def database(self) -> Database:
        """The store's database there."""
        return self.store.database


@dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """All servers by their ids, the first one first."""

    servers: Mapping[str, Server]
    directory: Directory
    mend: Callable[["Shards", SpaceId], Awaitable[bool]]
    """Ends a move of the space whose mover is gone; False where somebody is still at it."""

    writes: WorkUnderWay = field(default_factory=WorkUnderWay)
    """They take several servers, so that all stay open until they end."""

    @property
    def first(self) -> Server:
        """The server that has the directory."""
        return next(iter(self.servers.values()))

    async def at_home(self, space: SpaceId, ask: Callable[[Server], Awaitable[T]]) -> T:
        """What the server of a space answers; anew where the space has moved meanwhile."""
        for _ in range(ANEW_MAX):
            home = await self.directory.home(space)
            try:
                answer = await ask(self.servers[home])
            except CanonryError:
                if await self.directory.home(space) == home:
                    raise
                continue
            if await self.directory.home(space) == home:
                return answer
        raise moved()

    async def everywhere(self, ask: Callable[[Server], Awaitable[T]]) -> Sequence[tuple[Server, T]]:
        """What all servers answer; no space has changed its place meanwhile."""
        servers = list(self.servers.values())
        for _ in range(ANEW_MAX):
            moves = await self.directory.moves()
            found = await asyncio.gather(*map(ask, servers))
            if await self.directory.moves() == moves:
                return list(zip(servers, found, strict=True))
        raise moved()

    async def writing(self, space: SpaceId, write: Callable[[Server], Awaitable[T]]) -> T:
        """Write to a space where it lives; where it is just moving, wait until it has arrived.

        Raises:
            Unavailable: `space.moved`, it takes longer than `PATIENCE`, or `ledger.closed`;
                nothing was written.
        """
        with self.writes.begun():
            return await self._write(space, write)

    async def _write(self, space: SpaceId, write: Callable[[Server], Awaitable[T]]) -> T:
        ends, mends = time.monotonic() + PATIENCE, time.monotonic() + 3 * LEASE
        while True:
            home = await self.directory.place(space)
            try:
                return await write(self.servers[home])
            except Unavailable as error:
                now = time.monotonic()
                if error.code != MOVED or now > ends:
                    raise
                if now > mends:
                    await self.mend(self, space)
            await asyncio.sleep(_PAUSE)
            self.directory.doubt()
