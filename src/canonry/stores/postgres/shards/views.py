"""Views and upkeep over several servers."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from psycopg.conninfo import conninfo_to_dict
from typing_extensions import override

from canonry.log.commits import Position
from canonry.log.ports.world import Clock, Identities
from canonry.log.schemas.identity_keys import Bearer
from canonry.readmodels.catalog import place_of
from canonry.readmodels.keywords import Figures, sought_in
from canonry.readmodels.ports.catalog import Catalog
from canonry.readmodels.ports.documents import Documents
from canonry.readmodels.ports.places import Places
from canonry.readmodels.ports.state import Spaces, State
from canonry.readmodels.ports.text import Hit, Text, TextFound, TextQuery
from canonry.readmodels.ports.view import Finding, Folded, Upkeep, UpkeepProgress, Verification
from canonry.readmodels.ranking import Asked
from canonry.stores.postgres.database import CONNECTIONS, DEADLINE, Database, PgConnection
from canonry.stores.postgres.shards.joining import joined
from canonry.stores.postgres.shards.ledger import ShardedLedger
from canonry.stores.postgres.shards.moving import drop_stage, hand, mend, mend_all, turn
from canonry.stores.postgres.shards.servers import (
    Directory,
    PortQuestion,
    PortRoute,
    Server,
    Shards,
    at_home,
    first,
    least,
    owned,
    page,
    routed,
    summed,
    united,
)
from canonry.stores.postgres.state.identifiers import pages_of
from canonry.stores.postgres.store import open_store
from canonry.stores.postgres.text.text import AskAll, figures_in, search_in, silent
from canonry.stores.postgres.upkeep import Copy, PostgresUpkeep
from canonry.values.errors import CanonryError
from canonry.values.ids import SpaceId


def _born(thing: Any) -> tuple[Any, ...]:
    return thing.created_at, thing.id


def _newest(thing: Any) -> tuple[Any, ...]:
    return -thing.created_at, thing.id


def _happened(event: Any) -> tuple[Any, ...]:
    return *event.rank, event.id


def _seen(observation: Any) -> tuple[Any, ...]:
    return -observation.seen_at, -observation.position, observation.id


async def _relations(question: PortQuestion) -> Any:
    newest_first = question.value("newest_first")
    return await page(_newest if newest_first else _born)(question)


async def _identified(question: PortQuestion) -> Any:
    part = Bearer if question.method == "bearers" else None
    query = question.arguments["query"]
    found = await question.shards.gathered(
        query.spaces,
        lambda server, spaces, _: server.store.state.identified(
            replace(query, spaces=spaces), part
        ),
    )
    return pages_of([bearers for _, bearers in found], query)


async def _into_place(question: PortQuestion) -> None:
    folded: Sequence[Any] = question.value("folded")
    if folded:
        await question.shards.writing(folded[0].space, question.at)


OF_EVERY_VIEW: Final[Mapping[str, PortRoute]] = {"cursor": at_home(), "apply": _into_place}

STATE: Final[Mapping[str, PortRoute]] = {
    **OF_EVERY_VIEW,
    "things": united,
    "ids_beginning": first(lambda identity: identity),
    "things_as_known_at": united,
    "spaces": page(_born),
    "compartments": united,
    "entities": page(_born),
    "entities_named": at_home(),
    "observations": owned,
    "entities_identified": _identified,
    "bearers": _identified,
    "entity_types": summed,
    "entities_seen_until": united,
    "observations_newest": page(_seen),
    "observations_from": owned,
    "timeline": page(lambda event: (-event.instant, event.id, event.space)),
    "facts": page(_born),
    "facts_stating": at_home(),
    "facts_framed": at_home(),
    "events": page(_happened),
    "relations": _relations,
    "axioms": at_home(),
    "sources": at_home(),
    "stories": at_home(),
    "schemas": page(_born),
    "runs": owned,
    "runs_newest": page(_newest),
}
DOCUMENTS: Final[Mapping[str, PortRoute]] = {
    **OF_EVERY_VIEW,
    "scenes": page(lambda scene: (scene.order, scene.created_at, scene.id)),
    "turns": owned,
    "proposals": page(_born),
    "memories": owned,
    "snippets": owned,
    "open_scenes": first(_born),
}
CATALOG: Final[Mapping[str, PortRoute]] = {
    **OF_EVERY_VIEW,
    "projects": first(lambda project: (place_of(project.name), project.id)),
    "search": at_home("project"),
    "entry": at_home("project"),
    "graph": at_home("project"),
    "bearers": at_home("project"),
    "projects_called": least,
    "joined": united,
    "items": at_home("project"),
    "relations_from": owned,
}
PLACES: Final[Mapping[str, PortRoute]] = {
    **OF_EVERY_VIEW,
    "edges": at_home(),
    "ways": at_home(),
    "events_until": at_home(),
    "entities_after": at_home(),
    "events_after": at_home(),
}


# Keyword search over several servers: what counts is counted in all that hold a space asked for.
#
# So a passage scores what it would score if all of them were one server.

T = TypeVar("T")


class ShardedText(Text):
    """Asks the servers of the spaces that a query covers, each step of all of them at once."""

    def __init__(self, shards: Shards) -> None:
        """Nobody closes the servers here."""
        self._shards = shards

    @override
    async def cursor(self, space: SpaceId) -> Position:
        return await self._shards.at_home(space, lambda s: s.store.text.cursor(space))

    @override
    async def apply(self, folded: Sequence[Folded]) -> None:
        if folded:
            await self._shards.writing(folded[0].space, lambda s: s.store.text.apply(folded))

    @override
    async def search(self, query: TextQuery) -> TextFound:
        sought = sought_in(query.text)
        if not (sought.stems or sought.begun) or query.limit < 1:
            return TextFound(hits=(), asked=Asked(terms={}, strongest=0.0))
        try:
            return await search_in(self._everywhere(query), query, sought)
        except CanonryError as error:
            raise silent(error) from error

    @override
    async def figures(self, stems: Iterable[str], query: TextQuery) -> Figures:
        try:
            return (await figures_in(self._everywhere(query), frozenset(stems)))[0]
        except CanonryError as error:
            raise silent(error) from error

    @override
    async def placed(self, ids: Iterable[str], query: TextQuery) -> Sequence[Hit]:
        wanted = tuple(ids)
        found = await self._shards.gathered(
            query.spaces,
            lambda s, spaces, _: s.store.text.placed(wanted, replace(query, spaces=spaces)),
        )
        return list({hit.id: hit for _, hits in found for hit in hits}.values())

    def _everywhere(self, query: TextQuery) -> AskAll:
        async def asked(ask: Callable[[PgConnection, TextQuery], Awaitable[T]], /) -> Sequence[T]:
            def here(server: Server, spaces: Spaces, _: int) -> Awaitable[T]:
                part = replace(query, spaces=spaces)
                return server.database.reading(lambda db: ask(db, part))

            return [answer for _, answer in await self._shards.gathered(query.spaces, here)]

        return asked


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardedStore:
    """An open store; `close` must be awaited once."""

    shards: Shards
    ledger: ShardedLedger
    state: State
    documents: Documents
    text: ShardedText
    catalog: Catalog
    places: Places

    @property
    def database(self) -> Database:
        """The database of the first server, which has what belongs to no space."""
        return self.shards.first.database

    async def close(self) -> None:
        """Finish what was begun, then let go of all servers; closing twice is allowed."""
        await self.shards.writes.end(DEADLINE)
        await asyncio.gather(*(each.store.close() for each in self.shards.servers.values()))


async def open_shards(
    urls: Sequence[str],
    *,
    clock: Clock,
    identities: Identities,
    name: str = "canonry",
    connections: int = CONNECTIONS,
    deadline: float = DEADLINE,
) -> ShardedStore:
    """Open the store in the schema `name` on each of these servers.

    Raises:
        BrokenInvariant: `store.newer`, or `store.failed` where a server is too old.
        Conflict: as `canonry.stores.postgres.shards.joining.joined` says.
        Unavailable: `store.unreachable`.
    """
    async with AsyncExitStack() as opening:
        stores = {}
        for url in urls:
            store = await open_store(
                url,
                clock=clock,
                identities=identities,
                name=name,
                connections=connections,
                deadline=deadline,
                is_whole=False,
            )
            opening.push_async_callback(store.close)
            stores[store.database] = store
        found = await joined(list(stores))
        servers = {
            server: Server(id=server, name=_name_of(database.url), store=stores[database])
            for server, database in found.items()
        }
        first = next(iter(servers))
        directory = Directory(servers[first].database, first, list(servers))
        shards = Shards(servers=servers, directory=directory, mend=mend)
        await mend_all(shards)
        opening.pop_all()
    return ShardedStore(
        shards=shards,
        ledger=ShardedLedger(shards),
        state=routed(shards, "state", State, STATE),
        documents=routed(shards, "documents", Documents, DOCUMENTS),
        text=ShardedText(shards),
        catalog=routed(shards, "catalog", Catalog, CATALOG),
        places=routed(shards, "places", Places, PLACES),
    )


def _name_of(url: str) -> str:
    """A server as people know it, without whoever connects to it."""
    told = conninfo_to_dict(url)
    return f"{told.get('host', 'localhost')}:{told.get('port', 5432)}/{told.get('dbname', '')}"


_SUMS: Final = frozenset({"bytes", "spaces", "commits", "things"})
_HAS_LEFT: Final = "SELECT EXISTS (SELECT 1 FROM heads WHERE space = %s AND away)"


class ShardedUpkeep(Upkeep):
    """Works on all servers, one after the other."""

    def __init__(self, shards: Shards, copy: Copy) -> None:
        """Share the servers with the ledger; `copy` makes backups."""
        self._shards = shards
        self._copy = copy
        self._parts: Final = [
            (server, PostgresUpkeep(server.database, copy)) for server in shards.servers.values()
        ]

    @override
    async def verify(self, told: UpkeepProgress) -> Verification:
        commits, things, findings = 0, 0, list[Finding]()
        heads: dict[SpaceId, tuple[int, str]] = {}
        await self._shards.directory.moves()
        for server, upkeep in self._parts:
            before = commits

            def onward(done: int, _: int | None, before: int = before) -> None:
                told(before + done, None)

            seen = await upkeep.verify(onward)
            commits, things = commits + seen.commits, things + seen.things
            findings += _at(server, seen.findings)
            is_elsewhere = self._shards.directory.is_elsewhere
            heads |= {s: head for s, head in seen.heads.items() if not is_elsewhere(s, server.id)}
        return Verification(commits=commits, things=things, heads=heads, findings=tuple(findings))

    @override
    async def glance(self) -> Sequence[Finding]:
        return tuple(
            [one for server, each in self._parts for one in _at(server, await each.glance())]
        )

    @override
    async def rebuild(self, told: UpkeepProgress) -> int:
        return sum([await upkeep.rebuild(told) for _, upkeep in self._parts])

    @override
    async def backup(self, target: Path, told: UpkeepProgress) -> Mapping[SpaceId, tuple[int, str]]:
        return await self._copy(target, told)

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        """Also on the servers that it has left, whose files may hold traces of it."""
        async with turn(self._shards, space, waits=True):
            home = await self._shards.directory.asked(space)
            dropped = 0
            for server, upkeep in self._parts:
                if server.id == home:
                    dropped += await upkeep.purge(space, targets)
                    continue
                async with hand(server.database) as db:
                    await drop_stage(db, server.database, space)
                ((has_left,),) = await server.database.rows(_HAS_LEFT, (space,))
                if has_left:
                    await upkeep.rewrite()
            return dropped

    @override
    async def collect_orphans(self) -> int:
        return sum([await upkeep.collect_orphans() for _, upkeep in self._parts])

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        facts: dict[str, str | int] = {"servers": len(self._parts)}
        for server, upkeep in self._parts:
            found = await upkeep.facts_about_store()
            for name, value in found.items():
                so_far = facts.get(name)
                if name in _SUMS and isinstance(so_far, int) and isinstance(value, int):
                    facts[name] = so_far + value
                else:
                    facts.setdefault(name, value)
            told = f"{found['spaces']} spaces, {found['commits']} commits, {found['engine']}"
            facts[f"server {server.name}"] = told
        return facts


def _at(server: Server, findings: Sequence[Finding]) -> Sequence[Finding]:
    return [replace(each, where=f"{server.name}: {each.where}") for each in findings]
