"""Joining: servers become one store, and know each other by ids, whatever their addresses are.

The first one named when there was none has the directory from then on. Every server knows which
store it is a part of, so that none is left out, and none of another store is let in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.stores.postgres.database import Database, PgConnection, fetched, run
from canonry.values.errors import Conflict

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
