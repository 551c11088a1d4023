"""What whoever moves spaces has at hand: a connection of their own, the turn, and what is stored.

By its connection a server knows soon that its owner is gone: nobody waits for who was killed.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Final

from psycopg import AsyncConnection, sql
from psycopg.conninfo import make_conninfo

from canonry.log.commits import Position
from canonry.log.sealing import GENESIS, Sealed
from canonry.stores.postgres.database import Database, PgConnection, fetched, run, translated
from canonry.stores.postgres.records import COLUMNS, sealed_in
from canonry.stores.postgres.shards.servers import Server, Shards
from canonry.stores.postgres.upkeep import make_views
from canonry.stores.postgres.views import VIEW_TABLES
from canonry.values.ids import SpaceId

PAGE: Final = 100

_ALIVE: Final = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
_SESSION: Final = (
    "SELECT set_config('statement_timeout', '0', false), set_config('canonry.moving', 'on', false),"
    " set_config('idle_in_transaction_session_timeout', '60s', false)"
)
_TRY: Final = "SELECT pg_try_advisory_lock(hashtext(%s))"
_WAIT: Final = "SELECT pg_advisory_lock(hashtext(%s))"
_ENTER: Final = "SELECT pg_advisory_xact_lock_shared(hashtext(%s))"
_LOG: Final = (
    f"SELECT {COLUMNS} FROM commits WHERE space = %s AND position > %s ORDER BY position LIMIT %s"
)
_COMMITS: Final = "space, position, id, recorded_at, hash, body, salts, payloads, touched"
# What is in no space of its own lies in that of its thing, and the compartments follow the space.
_OF_SPACE: Final = "space = %(space)s OR (space > %(low)s AND space < %(high)s)"
_ARRIVED: Final = (
    "INSERT INTO heads (space, position, recorded_at, hash, away) SELECT space, position,"
    " recorded_at, hash, true FROM {staged}.heads ON CONFLICT (space) DO UPDATE SET"
    " position = excluded.position, recorded_at = excluded.recorded_at, hash = excluded.hash,"
    " away = true"
)
_LEFT: Final = (
    "UPDATE heads SET position = 0, recorded_at = 0, hash = %s, away = true WHERE space = %s"
)


@asynccontextmanager
async def hand(database: Database) -> AsyncIterator[PgConnection]:
    """A connection for work of any length, which fences do not stop."""
    with translated():
        url = make_conninfo(database.url, **_ALIVE)
        db = await AsyncConnection.connect(url, autocommit=True)
        async with db:
            await database.configure(db)
            await run(db, _SESSION)
            yield db


@asynccontextmanager
async def turn(shards: Shards, space: SpaceId, *, waits: bool = False) -> AsyncIterator[bool]:
    """Whether nobody else moves, mends or erases the space until the block ends."""
    database = shards.first.database
    async with hand(database) as db:
        asked = (f"{database.name} moving {space}",)
        ((got,),) = await fetched(db, _WAIT if waits else _TRY, asked)
        yield waits or got


async def log_of(db: PgConnection, space: SpaceId, after: Position) -> Sequence[Sealed]:
    """A page of the log as this transaction sees it."""
    return [sealed_in(row) for row in await fetched(db, _LOG, (space, after, PAGE))]


def staged_in(database: Database, space: SpaceId) -> str:
    """The schema in which a space is gathered before it arrives."""
    return f"{database.name}_in_{sha256(space.encode()).hexdigest()[:12]}"


async def make_stage(db: PgConnection, database: Database, space: SpaceId) -> None:
    """Make empty tables for records and views of one space, unless they are there."""
    staged = staged_in(database, space)
    async with db.transaction():
        if (await fetched(db, "SELECT to_regclass(%s)::text", (f"{staged}.heads",)))[0][0]:
            return
        names = {"s": sql.Identifier(staged), "r": sql.Identifier(database.name)}
        for statement in (
            "CREATE SCHEMA {s}",
            "CREATE TABLE {s}.heads (LIKE {r}.heads INCLUDING ALL)",
            "CREATE TABLE {s}.commits (LIKE {r}.commits INCLUDING ALL)",
            "SET LOCAL search_path = {s}",
        ):
            await db.execute(sql.SQL(statement).format(**names))
        await make_views(db)


async def drop_stage(db: PgConnection, database: Database, space: SpaceId) -> None:
    """Forget what was gathered of a space that has not arrived, if anything was."""
    staged = sql.Identifier(staged_in(database, space))
    await db.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(staged))


async def arrive(db: PgConnection, database: Database, space: SpaceId) -> None:
    """Put what was gathered among everything else, in a transaction; nobody may write to it yet."""
    staged = sql.Identifier(staged_in(database, space)).as_string(db)
    await run(db, _ENTER, (database.name,))
    await run(
        db,
        f"INSERT INTO commits ({_COMMITS}) SELECT {_COMMITS} FROM {staged}.commits"
        " ORDER BY position",
    )
    for table in VIEW_TABLES:
        await run(db, f"INSERT INTO {table} SELECT * FROM {staged}.{table}")
    await run(db, _ARRIVED.format(staged=staged))


async def leave(server: Server, space: SpaceId) -> None:
    """Take what a space has left behind; the fence stays for whoever still believes it there."""
    async with hand(server.database) as db, db.transaction():
        await run(db, _ENTER, (server.database.name,))
        among = {"space": space, "low": f"{space}\n", "high": f"{space}\v"}
        for table in (*VIEW_TABLES, "shown"):
            await run(db, f"DELETE FROM {table} WHERE {_OF_SPACE}", among)
        await run(db, "DELETE FROM commits WHERE space = %s", (space,))
        await run(db, _LEFT, (bytes.fromhex(GENESIS), space))
