"""A store with its spaces on several servers: opening it, joining servers, and maintenance."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Final

from psycopg.conninfo import conninfo_to_dict

from canonry.log.ports.world import Clock, Identities
from canonry.readmodels.ports.view import Finding, TouchedThere
from canonry.stores.postgres.database import (
    DEADLINE,
    Database,
    PgConnection,
    fetch_rows,
    run_statement,
)
from canonry.stores.postgres.shards import move_space
from canonry.stores.postgres.shards.servers import Directory, Server, ShardedLedger, Shards
from canonry.stores.postgres.store import PostgresStore, open_database
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId

# A store on one or several servers: opening it, joining servers, and maintenance.
#
# Servers of a store know each other by ids, not by addresses. The server that is named first when
# the store is divided has the directory from then on. Every server knows its store. A missing
# server and a server of another store are therefore refused.

_IS_EMPTY: Final = "SELECT NOT EXISTS (SELECT 1 FROM heads WHERE position > 0)"
_ALONE: Final = "SELECT pg_advisory_xact_lock(hashtext(%s))"
_ADD: Final = (
    "WITH made AS MATERIALIZED (SELECT gen_random_uuid()::text AS id) INSERT INTO shards"
    " SELECT id, coalesce(%s, id), true FROM made ON CONFLICT DO NOTHING"
)
_ADD_PEER: Final = "INSERT INTO shards VALUES (%s, %s, false) ON CONFLICT DO NOTHING"
_PART: Final = "SELECT count(*) > 1 OR bool_or(server <> store) FROM shards"


@dataclass(frozen=True, slots=True)
class _KnownServers:
    """The stored knowledge of a server: its own id, its store, and the other servers."""

    own: str | None
    store: str | None
    others: frozenset[str]


async def require_whole(database: Database) -> None:
    """Refuse a single server of a divided store.

    Raises:
        Conflict: `shards.missing`.
    """
    ((is_part,),) = await database.fetch_rows(_PART)
    if is_part:
        message = "This store is spread over several servers. Name all of them in records.shards."
        raise Conflict("shards.missing", message)


async def join_servers(databases: Sequence[Database]) -> Mapping[str, Database]:
    """Return the databases by their server ids, the one with the directory first.

    An empty server joins the store.

    Raises:
        Conflict: `shards.twice`, `shards.foreign`, `shards.occupied` or `shards.missing`.
    """
    known = [await _read_known(database) for database in databases]
    owns = [each.own for each in known if each.own is not None]
    if len(owns) != len(set(owns)):
        raise Conflict("shards.twice", "records.shards names a server twice. Remove one.")
    leads = [n for n, each in enumerate(known) if each.own is not None and each.own == each.store]
    lead = leads[0] if leads else 0
    if leads[1:] or any(each.own and each.store != known[lead].store for each in known):
        message = "records.shards names servers of different stores. Name those of one store."
        raise Conflict("shards.foreign", message)
    if not leads:
        known[lead] = await _add_server(databases[lead], None)
    store, others = known[lead].own or "", set(known[lead].others)
    for n, database in enumerate(databases):
        if known[n].own is None:
            known[n] = await _add_server(database, store)
        if n != lead and known[n].own not in others:
            await _add_peer(databases[lead], known[n].own or "", store)
    missing = others.difference(each.own for each in known)
    if missing:
        message = f"records.shards lacks {len(missing)} servers of this store. Name all."
        raise Conflict("shards.missing", message)
    found = {each.own or "": each for each in known}
    by_id = dict(zip(found, databases, strict=True))
    return {store: by_id.pop(store), **by_id}


async def _read_known(database: Database) -> _KnownServers:
    rows = await database.fetch_rows("SELECT server, store, own FROM shards")
    own, store = next((row[:2] for row in rows if row[2]), (None, None))
    return _KnownServers(own, store, frozenset(server for server, _, is_own in rows if not is_own))


async def _add_server(database: Database, store: str | None) -> _KnownServers:
    """Assign an id in a store to a server, or begin a store. Concurrent calls are safe."""

    async def write_server(db: PgConnection) -> bool:
        await run_statement(db, _ALONE, (f"{database.name} shards",))
        ((is_empty,),) = await fetch_rows(db, _IS_EMPTY)
        if store and not is_empty:
            return False
        await run_statement(db, _ADD, (store,))
        return True

    if not await database.write_transaction(write_server):
        message = (
            "A server in records.shards already holds another store. Name an empty server, or set "
            "another postgres.schema."
        )
        raise Conflict("shards.occupied", message)
    return await _read_known(database)


async def _add_peer(database: Database, server: str, store: str) -> None:
    async def write_peer(db: PgConnection) -> None:
        await run_statement(db, _ADD_PEER, (server, store))

    await database.write_transaction(write_peer)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardedStore:
    """The records on several servers. Await `close` once."""

    shards: Shards
    ledger: ShardedLedger

    @property
    def database(self) -> Database:
        """Return the database of the first server, which has the data without a space."""
        return self.shards.first_server.database

    @property
    def maintenance(self) -> "ShardedMaintenance":
        """Return the object that checks and erases the records."""
        return ShardedMaintenance(self.shards)

    async def close(self) -> None:
        """Finish pending calls, then disconnect from all servers. Closing twice is allowed."""
        await self.shards.writes.end_work(DEADLINE)
        await asyncio.gather(*(each.store.close() for each in self.shards.servers.values()))


async def open_store(
    urls: Sequence[str], *, clock: Clock, identities: Identities, name: str, connections: int
) -> PostgresStore | ShardedStore:
    """Open the store in the schema `name` on each of these servers.

    Raises:
        BrokenInvariant: `store.newer`, or `store.failed`, a server is too old.
        Conflict: see `join_servers`; also `shards.missing`, a single server is a part of a divided
            store.
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
        found = await join_servers(list(stores))
        servers = {
            server: Server(id=server, name=_name_of(database.url), store=stores[database])
            for server, database in found.items()
        }
        first = next(iter(servers))
        directory = Directory(servers[first].database, first, list(servers))
        shards = Shards(servers=servers, directory=directory, finish_move=move_space.finish_move)
        left = {
            SpaceId(space)
            for server in shards.servers.values()
            for (space,) in await server.database.fetch_rows(move_space.LEFTOVERS)
        }
        for space in sorted(left):
            await move_space.finish_move(shards, space)
        opening.pop_all()
    return ShardedStore(shards=shards, ledger=ShardedLedger(shards))


def _name_of(url: str) -> str:
    """Return the name of a server for people, without user and password."""
    parameters = conninfo_to_dict(url)
    host, port = parameters.get("host", "localhost"), parameters.get("port", 5432)
    return f"{host}:{port}/{parameters.get('dbname', '')}"


_SUMS: Final = frozenset({"bytes", "spaces", "commits"})
_HAS_LEFT: Final = "SELECT EXISTS (SELECT 1 FROM heads WHERE space = %s AND away)"


class ShardedMaintenance:
    """Checks and erases the records of all servers, one after the other."""

    def __init__(self, shards: Shards) -> None:
        """Share the servers with the ledger."""
        self._shards = shards

    async def check_rows(self, touched: TouchedThere) -> Sequence[Finding]:
        """Check the rows besides the commits on each server."""
        return [
            replace(each, where=f"{server.name}: {each.where}")
            for server in self._shards.servers.values()
            for each in await server.store.maintenance.check_rows(touched)
        ]

    async def erase_entries(self, space: SpaceId, targets: Sequence[str]) -> int:
        """Erase in a space, also on its former servers, whose files may contain traces."""
        async with move_space.lock_space(self._shards, space, waits=True):
            home = await self._shards.directory.ask_directory(space)
            dropped = 0
            for server in self._shards.servers.values():
                maintenance = server.store.maintenance
                if server.id == home:
                    dropped += await maintenance.erase_entries(space, targets)
                    continue
                async with move_space.moving_connection(server.database) as db:
                    await move_space.drop_stage(db, server.database, space)
                ((has_left,),) = await server.database.fetch_rows(_HAS_LEFT, (space,))
                if has_left:
                    await maintenance.rewrite_table()
            return dropped

    async def store_facts(self) -> Mapping[str, str | int]:
        """Return the facts of each server, and their sums."""
        facts: dict[str, str | int] = {"servers": len(self._shards.servers)}
        for server in self._shards.servers.values():
            found = await server.store.maintenance.store_facts()
            for name, value in found.items():
                so_far = facts.get(name)
                if name in _SUMS and isinstance(so_far, int) and isinstance(value, int):
                    facts[name] = so_far + value
                else:
                    facts.setdefault(name, value)
            summary = f"{found['spaces']} spaces, {found['commits']} commits, {found['engine']}"
            facts[f"server {server.name}"] = summary
        return facts
