"""A store on one server or several: opening it, joining servers to one store, and its upkeep.

Servers become one store, and know each other by ids, whatever their addresses are. The first one
named when there was none has the directory from then on. Every server knows which store it is a
part of, so that none is left out, and none of another store is let in.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Final

from psycopg.conninfo import conninfo_to_dict

from canonry.log.ports.world import Clock, Identities
from canonry.readmodels.ports.view import Finding, TouchedThere
from canonry.stores.postgres.database import DEADLINE, Database, PgConnection, fetched, run
from canonry.stores.postgres.shards.moving import drop_stage, hand, mend, mend_all, turn
from canonry.stores.postgres.shards.servers import Directory, Server, ShardedLedger, Shards
from canonry.stores.postgres.store import PostgresStore, open_database
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId

_OWN: Final = "SELECT server, store, own FROM shards"
_IS_EMPTY: Final = "SELECT NOT EXISTS (SELECT 1 FROM heads WHERE position > 0)"
_ALONE: Final = "SELECT pg_advisory_xact_lock(hashtext(%s))"
_ADD: Final = (
    "WITH made AS MATERIALIZED (SELECT gen_random_uuid()::text AS id) INSERT INTO shards"
    " SELECT id, coalesce(%s, id), true FROM made ON CONFLICT DO NOTHING"
)
_TELL: Final = "INSERT INTO shards VALUES (%s, %s, false) ON CONFLICT DO NOTHING"
_PART: Final = "SELECT count(*) > 1 OR bool_or(server <> store) FROM shards"


@dataclass(frozen=True, slots=True)
class _Known:
    """What a server knows: its own id, that of the store, and the other servers of it."""

    own: str | None
    store: str | None
    others: frozenset[str]


async def require_whole(database: Database) -> None:
    """Refuse one server of several.

    Raises:
        Conflict: `shards.missing`.
    """
    ((is_part,),) = await database.rows(_PART)
    if is_part:
        message = "the store is divided between several servers: name all of them in records.shards"
        raise Conflict("shards.missing", message)


async def joined(databases: Sequence[Database]) -> Mapping[str, Database]:
    """The databases by the ids of their servers, the one with the directory first.

    A server that holds nothing yet becomes a part of the store.

    Raises:
        Conflict: `shards.twice`, `shards.foreign`, `shards.occupied` or `shards.missing`.
    """
    known = [await _known(database) for database in databases]
    owns = [each.own for each in known if each.own is not None]
    if len(owns) != len(set(owns)):
        raise Conflict("shards.twice", "records.shards names a server twice: leave one of them out")
    leads = [n for n, each in enumerate(known) if each.own is not None and each.own == each.store]
    lead = leads[0] if leads else 0
    if leads[1:] or any(each.own and each.store != known[lead].store for each in known):
        message = "records.shards names servers of different stores: name those of one store"
        raise Conflict("shards.foreign", message)
    if not leads:
        known[lead] = await _added(databases[lead], None)
    store, others = known[lead].own or "", set(known[lead].others)
    for n, database in enumerate(databases):
        if known[n].own is None:
            known[n] = await _added(database, store)
        if n != lead and known[n].own not in others:
            await _told(databases[lead], known[n].own or "", store)
    missing = others.difference(each.own for each in known)
    if missing:
        message = f"records.shards leaves out {len(missing)} servers of this store: name all"
        raise Conflict("shards.missing", message)
    found = {each.own or "": each for each in known}
    by_id = dict(zip(found, databases, strict=True))
    return {store: by_id.pop(store), **by_id}


async def _known(database: Database) -> _Known:
    rows = await database.rows(_OWN)
    own, store = next((row[:2] for row in rows if row[2]), (None, None))
    return _Known(own, store, frozenset(server for server, _, is_own in rows if not is_own))


async def _added(database: Database, store: str | None) -> _Known:
    """Let a server have an id in a store, or begin one; another process may be quicker."""

    async def write(db: PgConnection) -> bool:
        await run(db, _ALONE, (f"{database.name} shards",))
        ((is_empty,),) = await fetched(db, _IS_EMPTY)
        if store and not is_empty:
            return False
        await run(db, _ADD, (store,))
        return True

    if not await database.writing(write):
        message = (
            "a server of records.shards holds a store already: name one that is empty, or another "
            "postgres.schema"
        )
        raise Conflict("shards.occupied", message)
    return await _known(database)


async def _told(database: Database, server: str, store: str) -> None:
    async def write(db: PgConnection) -> None:
        await run(db, _TELL, (server, store))

    await database.writing(write)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardedStore:
    """The records on several servers; `close` must be awaited once."""

    shards: Shards
    ledger: ShardedLedger

    @property
    def database(self) -> Database:
        """The database of the first server, which has what belongs to no space."""
        return self.shards.first.database

    @property
    def mending(self) -> "ShardedMending":
        """How upkeep checks and erases them."""
        return ShardedMending(self.shards)

    async def close(self) -> None:
        """Finish what was begun, then let go of all servers; closing twice is allowed."""
        await self.shards.writes.end(DEADLINE)
        await asyncio.gather(*(each.store.close() for each in self.shards.servers.values()))


async def open_store(
    urls: Sequence[str],
    *,
    clock: Clock,
    identities: Identities,
    name: str,
    connections: int,
) -> PostgresStore | ShardedStore:
    """Open the store in the schema `name` on each of these servers.

    Raises:
        BrokenInvariant: `store.newer`, or `store.failed` where a server is too old.
        Conflict: as `joined` says, or `shards.missing` where one server is a part of a store.
        Unavailable: `store.unreachable`.
    """
    async with AsyncExitStack() as opening:
        stores = {}
        for url in urls:
            store = await open_database(
                url, clock=clock, identities=identities, name=name, connections=connections
            )
            opening.push_async_callback(store.close)
            stores[store.database] = store
        if len(stores) == 1:
            await require_whole(store.database)
            opening.pop_all()
            return store
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
    return ShardedStore(shards=shards, ledger=ShardedLedger(shards))


def _name_of(url: str) -> str:
    """A server as people know it, without whoever connects to it."""
    told = conninfo_to_dict(url)
    return f"{told.get('host', 'localhost')}:{told.get('port', 5432)}/{told.get('dbname', '')}"


_SUMS: Final = frozenset({"bytes", "spaces", "commits"})
_HAS_LEFT: Final = "SELECT EXISTS (SELECT 1 FROM heads WHERE space = %s AND away)"


class ShardedMending:
    """Checks and erases the records of all servers, one server after the other."""

    def __init__(self, shards: Shards) -> None:
        """Share the servers with the ledger."""
        self._shards = shards

    async def check(self, touched: TouchedThere) -> Sequence[Finding]:
        """Faults in the rows beside the commits on each server."""
        return [
            replace(each, where=f"{server.name}: {each.where}")
            for server in self._shards.servers.values()
            for each in await server.store.mending.check(touched)
        ]

    async def erase(self, space: SpaceId, targets: Sequence[str]) -> int:
        """Erase in a space, also on the servers that it has left, whose files may hold traces."""
        async with turn(self._shards, space, waits=True):
            home = await self._shards.directory.asked(space)
            dropped = 0
            for server in self._shards.servers.values():
                mending = server.store.mending
                if server.id == home:
                    dropped += await mending.erase(space, targets)
                    continue
                async with hand(server.database) as db:
                    await drop_stage(db, server.database, space)
                ((has_left,),) = await server.database.rows(_HAS_LEFT, (space,))
                if has_left:
                    await mending.rewrite()
            return dropped

    async def facts(self) -> Mapping[str, str | int]:
        """The facts of each server, and their sums."""
        facts: dict[str, str | int] = {"servers": len(self._shards.servers)}
        for server in self._shards.servers.values():
            found = await server.store.mending.facts()
            for name, value in found.items():
                so_far = facts.get(name)
                if name in _SUMS and isinstance(so_far, int) and isinstance(value, int):
                    facts[name] = so_far + value
                else:
                    facts.setdefault(name, value)
            told = f"{found['spaces']} spaces, {found['commits']} commits, {found['engine']}"
            facts[f"server {server.name}"] = told
        return facts
