"""The servers of one store, and the three ways in which they are asked: one, some, or all."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final, TypeVar

from canonry.readmodels.ports.state import Spaces
from canonry.stores.postgres.database import DEADLINE, Database
from canonry.stores.postgres.faults import MOVED, closed, moved
from canonry.stores.postgres.shards.directory import LEASE, Directory
from canonry.stores.postgres.store import PostgresStore
from canonry.values.audience import space_of
from canonry.values.errors import CanonryError, Unavailable
from canonry.values.ids import SpaceId

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


class Writes:
    """The writes under way: they take several servers, so that all stay open until they end."""

    def __init__(self) -> None:
        """Nothing is under way."""
        self._under_way = 0
        self._closed = False
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Let whoever closes wait for the block.

        Raises:
            Unavailable: `ledger.closed`.
        """
        if self._closed:
            raise closed()
        self._under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    async def end(self) -> None:
        """Let nothing begin any more, and wait for what has begun."""
        self._closed = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), DEADLINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shards:
    """All servers by their ids, the first one first."""

    servers: Mapping[str, Server]
    directory: Directory
    mend: Callable[["Shards", SpaceId], Awaitable[bool]]
    """Ends a move of the space whose mover is gone; False where somebody is still at it."""

    writes: Writes = field(default_factory=Writes)

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

    async def gathered(
        self, spaces: Spaces, ask: Callable[[Server, Spaces, int], Awaitable[T]]
    ) -> Sequence[tuple[Server, T]]:
        """What the servers of these spaces answer, each asked for those that live there.

        None: all servers, each asked for everything. Each is told how many are asked. No space has
        changed its place meanwhile.
        """
        for _ in range(ANEW_MAX):
            moves = await self.directory.moves()
            asked = await self._divided(spaces)
            found = await asyncio.gather(*(ask(server, some, len(asked)) for server, some in asked))
            if await self.directory.moves() == moves:
                return [(server, answer) for (server, _), answer in zip(asked, found, strict=True)]
        raise moved()

    async def _divided(self, spaces: Spaces) -> Sequence[tuple[Server, Spaces]]:
        if spaces is None:
            return [(server, None) for server in self.servers.values()]
        homes = await self.directory.homes(spaces)
        divided: dict[str, set[SpaceId]] = {}
        for space in spaces:
            divided.setdefault(homes[space_of(space)], set()).add(space)
        some = [(self.servers[home], frozenset(those)) for home, those in divided.items()]
        return some or [(self.first, spaces)]

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
