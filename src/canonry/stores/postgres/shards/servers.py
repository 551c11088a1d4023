"""The servers of a divided store, and where each space lies."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from hashlib import sha256
from inspect import signature
from typing import Any, Final, TypeAlias, TypeVar, cast

from canonry.log.ports.world import WorkUnderWay
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import Spaces
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


# Routes: for each question of a port, which servers are asked, and how answers become one.
#
# A question is a method with the names of its arguments, so that one route serves many of them: who
# names a space is asked at its home; who asks for a page of several spaces is given one that was
# put together from the first pages of all, in the order that the port states.

P = TypeVar("P")

ItemOrder: TypeAlias = Callable[[Any], Any]
"""What items are ordered by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortQuestion:
    """A method of a port, asked with these arguments; an argument `query` stands for its fields."""

    shards: Shards
    port: str
    method: str
    arguments: Mapping[str, Any]

    def value(self, name: str, default: Any = None) -> Any:
        """An argument by its name."""
        if name in self.arguments:
            return self.arguments[name]
        return getattr(self.arguments.get("query"), name, default)

    def at(self, server: Server, **changed: Any) -> Awaitable[Any]:
        """What one server answers, with other values for some arguments."""
        ask: Callable[..., Awaitable[Any]] = getattr(getattr(server.store, self.port), self.method)
        return ask(**self._changed(changed))

    def _changed(self, changed: Mapping[str, Any]) -> Mapping[str, Any]:
        arguments, query = dict(self.arguments), self.arguments.get("query")
        if is_dataclass(query) and not isinstance(query, type):
            named = {each.name for each in fields(query)}
            inner = {name: value for name, value in changed.items() if name in named}
            arguments["query"] = replace(query, **inner)
        return arguments | {n: value for n, value in changed.items() if n in arguments}

    async def everywhere(self, **changed: Any) -> Sequence[tuple[Server, Any]]:
        """What each server of the spaces asked for answers.

        Where there is one alone, it is asked for what was asked; of several with what is `changed`.
        """

        def ask(server: Server, spaces: Spaces, among: int) -> Awaitable[Any]:
            return self.at(server, spaces=spaces, **(changed if among > 1 else {}))

        return await self.shards.gathered(self.value("spaces"), ask)

    def here(self, server: Server, items: Sequence[Any]) -> Sequence[Any]:
        """Those that are not left over on a server which their space has left."""
        is_elsewhere = self.shards.directory.is_elsewhere
        return [i for i in items if not is_elsewhere(getattr(i, "space", ""), server.id)]


PortRoute: TypeAlias = Callable[[PortQuestion], Awaitable[Any]]


def at_home(name: str = "space") -> PortRoute:
    """Asked at the home of the one space that the question names."""

    async def route(question: PortQuestion) -> Any:
        space: SpaceId = question.value(name)
        return await question.shards.at_home(space, question.at)

    return route


def page(key: ItemOrder) -> PortRoute:
    """A page of all servers' items by `key`; a total is the sum of theirs."""

    async def route(question: PortQuestion) -> Any:
        limit, offset = question.value("limit"), question.value("offset", 0)
        pages = await question.everywhere(limit=limit + offset, offset=0)
        if len(pages) == 1:
            return pages[0][1]
        items = in_order([i for s, p in pages for i in question.here(s, p.items)], key)
        return Page(items=items[offset : offset + limit], total=sum(p.total for _, p in pages))

    return route


def first(key: ItemOrder, most: int | None = None) -> PortRoute:
    """The first of all servers' items by `key`, as many as are asked for or `most`."""

    async def route(question: PortQuestion) -> Any:
        pages = await question.everywhere()
        items = in_order([i for s, page in pages for i in question.here(s, page)], key)
        return items[: question.value("limit", most)]

    return route


async def owned(question: PortQuestion) -> Any:
    """What belongs to one thing lies where that lives: all are asked, and one has it."""
    answers = await question.everywhere()
    for server, found in answers:
        items = found.items if isinstance(found, Page) else found
        if items and question.here(server, items):
            return found
    return max((found for _, found in answers), key=_size)


def _size(found: Any) -> int:
    return found.total if isinstance(found, Page) else len(found)


async def united(question: PortQuestion) -> Any:
    """Everything that any server knows under the ids asked for, or anything like it."""
    answers = await question.everywhere()
    if isinstance(answers[0][1], frozenset):
        return frozenset().union(*(found for _, found in answers))
    told: dict[str, Any] = {}
    for server, found in answers:
        mine = question.here(server, list(found.values()))
        told |= found if len(mine) == len(found) else {i: t for i, t in found.items() if t in mine}
    return told


async def summed(question: PortQuestion) -> Any:
    """Counts by name, in the order of the names."""
    told: dict[str, int] = {}
    for _, found in await question.everywhere():
        for name, n in found.items():
            told[name] = told.get(name, 0) + n
    return dict(sorted(told.items()))


async def least(question: PortQuestion) -> Any:
    """Of each name the first id that any server knows."""
    told: dict[str, str] = {}
    for _, found in await question.everywhere():
        for name, identity in found.items():
            told[name] = min(identity, told.get(name, identity))
    return told


def in_order(items: Sequence[Any], key: ItemOrder) -> Sequence[Any]:
    """Each of them once: while a space moves, two servers may show the same."""
    seen: set[Hashable] = set()
    once: list[Any] = []
    for item in sorted(items, key=key):
        known = item if isinstance(item, str) else item.id
        if known not in seen:
            seen.add(known)
            once.append(item)
    return once


class RoutedView:
    """A port of which every question goes its route."""

    def __init__(
        self,
        shards: Shards,
        port: str,
        contract: Callable[..., Any],
        routes: Mapping[str, PortRoute],
    ) -> None:
        """Let questions of `contract` go to the `port` of the servers."""
        self._asked: Final = {
            name: (route, signature(getattr(contract, name))) for name, route in routes.items()
        }
        self._shards = shards
        self._port = port

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        if method not in self._asked:
            raise AttributeError(method)
        route, named = self._asked[method]

        async def ask(*args: Any, **kwargs: Any) -> Any:
            bound = named.bind(self, *args, **kwargs)
            bound.apply_defaults()
            _, *rest = bound.arguments.items()
            arguments = {name: kept(value) for name, value in rest}
            question = PortQuestion(
                shards=self._shards, port=self._port, method=method, arguments=arguments
            )
            return await route(question)

        return ask


def kept(value: Any) -> Any:
    """An argument that several may read: what gives its items only once becomes a list."""
    return list(value) if hasattr(value, "__next__") else value


def routed(
    shards: Shards, port: str, contract: Callable[..., P], routes: Mapping[str, PortRoute]
) -> P:
    """The port over all servers."""
    return cast("P", RoutedView(shards, port, contract, routes))
