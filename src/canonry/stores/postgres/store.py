"""Records and blobs in one PostgreSQL database: opening, migration, checks and erasure."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from typing import Any, Final

from psycopg import AsyncConnection, errors, sql
from typing_extensions import override

from canonry.log.commits import ORIGIN, Position
from canonry.log.folding import ANY, key_hash
from canonry.log.ports.ledger import Blobs, check_blob, entries_about
from canonry.log.ports.world import Clock, Identities, newer_store
from canonry.log.sealing import ENCODING_VERSION, MIN_READER
from canonry.readmodels.ports.view import Finding, TouchedThere
from canonry.stores.postgres.database import (
    CONNECTIONS,
    Database,
    PgConnection,
    fetch_rows,
    run_statement,
    translated_errors,
)
from canonry.stores.postgres.ledger import PostgresLedger
from canonry.values.errors import BrokenInvariant
from canonry.values.ids import SpaceId

# Preparing a store: records are migrated step by step.
#
# A process of a former version refuses a migrated store. If it has the store open already, it lacks
# a table that it needs for every read and append.

_MIGRATIONS: Final = tuple(
    sorted(
        (
            each
            for each in (files("canonry.stores.postgres") / "migrations").iterdir()
            if each.name.endswith(".sql")
        ),
        key=lambda each: each.name,
    )
)
SCHEMA_VERSION: Final = len(_MIGRATIONS)
_OLDEST: Final = 150_000  # PostgreSQL 15
_STATE: Final = (
    "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


async def set_schemas(db: PgConnection, *schemas: str) -> None:
    """Set the schemas for tables of this transaction."""
    path = sql.SQL(", ").join(map(sql.Identifier, schemas))
    await db.execute(sql.SQL("SET LOCAL search_path = {}").format(path))


async def migrate_store(database: Database) -> None:
    """Bring the store to this version. Of several concurrent processes, one does.

    Raises:
        BrokenInvariant: `store.newer`, or `store.failed`, the server is too old.
        Unavailable: `store.unreachable`.
    """
    async with own_connection(database) as db:
        if db.info.server_version < _OLDEST:
            message = f"PostgreSQL {db.info.server_version // 10_000} is too old. Use 15 or newer."
            raise BrokenInvariant("store.failed", message)
        if not await _is_current(db, database):
            await _run_migrations(db, database)


async def _is_current(db: PgConnection, database: Database) -> bool:
    try:
        async with db.transaction():
            await set_schemas(db, database.name)
            stated = await _read_versions(db)
    except errors.UndefinedTable:
        return False
    if stated["schema"] > SCHEMA_VERSION or stated["min_reader"] > ENCODING_VERSION:
        raise newer_store()
    return stated["schema"] == SCHEMA_VERSION and stated["min_reader"] >= MIN_READER


async def _read_versions(db: PgConnection) -> dict[str, int]:
    rows: Any = await fetch_rows(db, "SELECT name, value FROM meta")
    return {"schema": 0, "min_reader": 0, **dict(rows)}


async def _run_migrations(db: PgConnection, database: Database) -> None:
    async with db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (database.name,))
        if await _is_current(db, database):
            return
        name = sql.Identifier(database.name)
        await db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
        await set_schemas(db, database.name)
        there = await fetch_rows(db, "SELECT to_regclass('meta')::text")
        stated = await _read_versions(db) if there[0][0] is not None else {"schema": 0}
        for migration in _MIGRATIONS[stated["schema"] :]:
            await db.execute(migration.read_text(encoding="utf-8"))
        await db.execute(_STATE, ("schema", SCHEMA_VERSION))
        await db.execute(_STATE, ("min_reader", max(MIN_READER, stated.get("min_reader", 0))))


@asynccontextmanager
async def own_connection(database: Database) -> AsyncIterator[PgConnection]:
    """Provide a connection for work of any length."""
    with translated_errors():
        async with await AsyncConnection.connect(database.url, autocommit=True) as db:
            yield db


# Maintenance of the records: long work has its own connection and locks nothing for long.
#
# Erasing rewrites the table. The server's write-ahead log, replicas and backups are outside of
# Canonry's reach; their operator has to clean them.

_PAGE: Final = 200  # bounds the memory of a walk through the log
_OF_SPACE: Final = (
    "SELECT position, body, salts FROM commits WHERE space = %s AND position > %s"
    " ORDER BY position LIMIT %s"
)
# Arrays begin at 1.
_DROP: Final = (
    "UPDATE commits SET salts[%(entry)s] = NULL, payloads[%(entry)s] = NULL"
    " WHERE space = %(space)s AND position = %(position)s"
)
_ENDS: Final = (
    "SELECT coalesce(h.space, c.space) FROM (SELECT * FROM heads WHERE position > 0) h FULL JOIN"
    " (SELECT DISTINCT ON (space) space, position, hash FROM commits"
    " ORDER BY space, position DESC) c ON c.space = h.space"
    " WHERE (h.position, h.hash) IS DISTINCT FROM (c.position, c.hash) ORDER BY 1"
)
_TOUCHED: Final = (
    "SELECT space, position, touched, array_position(salts, NULL) IS NOT NULL FROM commits"
    " WHERE (space, position) > (%s, %s) ORDER BY space, position LIMIT %s"
)
_ANYTHING: Final = key_hash(ANY)
_FACTS: Final = (
    "SELECT current_setting('server_version'), pg_database_size(current_database()),"
    " (SELECT count(*) FROM heads WHERE position > 0), (SELECT count(*) FROM commits),"
    " current_setting('synchronous_commit'), current_setting('fsync')"
)


class PostgresMaintenance:
    """Checks and erases the records of one database."""

    def __init__(self, database: Database) -> None:
        """Share `database` with the ledger."""
        self._database = database

    async def check_rows(self, touched: TouchedThere) -> Sequence[Finding]:
        """Check the rows besides the commits: the heads of logs, and the keys of commits."""
        what = "the stored head is not the last commit of the log"
        ends = await self._database.fetch_rows(_ENDS)
        found = [Finding(where=f"head of {space}", what=what) for (space,) in ends]
        what, redacted = "its stored keys are not the keys that it touches", set[str]()
        last: tuple[str, int] = ("", 0)
        while rows := await self._database.fetch_rows(_TOUCHED, (*last, _PAGE)):
            for space, page in groupby(rows, lambda row: row[0]):
                own = list(page)
                there = await touched(space, Position(own[0][1] - 1), len(own))
                for _, position, keys, is_redacted in own:
                    if is_redacted:  # an erased payload no longer shows which keys it touched
                        redacted.add(space)
                    wanted = there.get(position, frozenset())
                    if (
                        space not in redacted
                        and not wanted.issubset(keys)
                        and _ANYTHING not in keys
                    ):
                        found.append(Finding(where=f"{space} at {position}", what=what))
            last = rows[-1][:2]
        return found

    async def erase_entries(self, space: SpaceId, targets: Sequence[str]) -> int:
        """Drop payload and salt of every entry about `targets`; return the number of entries."""
        wanted, dropped, after = frozenset(targets), 0, ORIGIN
        async with own_connection(self._database) as db:
            await self._database.configure_connection(db)
            await run_statement(db, "SET statement_timeout = 0")
            async with db.transaction():
                while rows := await fetch_rows(db, _OF_SPACE, (space, after, _PAGE)):
                    for position, body, salts in rows:
                        for entry in sorted(entries_about(body, salts, wanted)):
                            target = {"entry": entry + 1, "space": space, "position": position}
                            await run_statement(db, _DROP, target)
                            dropped += 1
                    after = rows[-1][0]
        await self.rewrite_table()
        return dropped

    async def rewrite_table(self) -> None:
        """Rewrite the table, so that its files contain no deleted data."""
        table = sql.Identifier(self._database.name, "commits")
        async with own_connection(self._database) as db:
            await db.execute(sql.SQL("VACUUM (FULL) {}").format(table))

    async def store_facts(self) -> Mapping[str, str | int]:
        """Return the version of the server, its sizes and its durability."""
        ((server, size, spaces, commits, commit, fsync),) = await self._database.fetch_rows(_FACTS)
        return {
            "engine": f"PostgreSQL {server}",
            "schema": SCHEMA_VERSION,
            "bytes": size,
            "spaces": spaces,
            "commits": commits,
            "synchronous_commit": commit,
            "fsync": fsync,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresStore:
    """The records in one database. Await `close` once."""

    database: Database
    ledger: PostgresLedger

    @property
    def maintenance(self) -> PostgresMaintenance:
        """Return the object that checks and erases the records."""
        return PostgresMaintenance(self.database)

    async def close(self) -> None:
        """Disconnect from the server."""
        await self.database.close()


async def open_database(
    url: str, *, clock: Clock, identities: Identities, name: str, connections: int = CONNECTIONS
) -> PostgresStore:
    """Open the schema `name` of a database; create or upgrade it if needed.

    Raises:
        BrokenInvariant: `store.newer`, or `store.failed`, the server is too old.
        Unavailable: `store.unreachable`.
    """
    database = Database(url, name, connections=connections)
    await migrate_store(database)
    await database.open()
    return PostgresStore(database=database, ledger=PostgresLedger(database, clock, identities))


_PUT: Final = (
    "INSERT INTO blobs (owner, digest, data) VALUES (%s, %s, %s)"
    " ON CONFLICT (owner, digest) DO UPDATE SET stored_at = now() RETURNING 1"
)
_GET: Final = "SELECT data FROM blobs WHERE owner = %s AND digest = %s"
_DELETE: Final = "DELETE FROM blobs WHERE owner = %s AND digest = %s RETURNING 1"
_DIGESTS: Final = (
    "SELECT digest FROM blobs WHERE owner = %s AND digest > %s ORDER BY digest LIMIT %s"
)

_STORED: Final = (
    "SELECT extract(epoch FROM stored_at)::float8 FROM blobs WHERE owner = %s AND digest = %s"
)
_OWNERS: Final = "SELECT DISTINCT owner FROM blobs WHERE owner <> '' ORDER BY owner"


class PostgresBlobs(Blobs):
    """Blobs as rows. The server itself stores long values outside of the row."""

    def __init__(self, database: Database, owner: str = "") -> None:
        """Share `database` with the ledger. Owners have separate blobs."""
        self._database = database
        self._owner = owner

    @override
    async def put_bytes(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        await self._database.fetch_rows(_PUT, (self._owner, digest, data))
        return digest

    @override
    async def get_bytes(self, digest: str) -> bytes:
        rows = await self._database.fetch_rows(_GET, (self._owner, digest))
        return check_blob(rows[0][0] if rows else None, digest)

    @override
    async def delete_bytes(self, digest: str) -> None:
        await self._database.fetch_rows(_DELETE, (self._owner, digest))

    @override
    async def list_digests(self, *, after: str = "", limit: int) -> Sequence[str]:
        rows = await self._database.fetch_rows(_DIGESTS, (self._owner, after, limit))
        return [digest for (digest,) in rows]

    async def stored_at(self, digest: str) -> float | None:
        """Return when the bytes were last stored, in seconds since 1970, or None."""
        rows = await self._database.fetch_rows(_STORED, (self._owner, digest))
        return rows[0][0] if rows else None


async def owners_of_blobs(database: Database) -> Sequence[str]:
    """Return the owners of any blobs, in order."""
    return [owner for (owner,) in await database.fetch_rows(_OWNERS)]
