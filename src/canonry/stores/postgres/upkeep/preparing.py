"""Preparing a store: records are migrated step by step, views are made anew where they changed.

A migration only adds, so that an older process goes on beside it. Views of another version are
folded into a schema of their own, which takes the place of the old one in one transaction; a
process that is too old to keep them finds that it is, and refuses.
"""

from typing import Any, Final

from psycopg import AsyncConnection, errors, sql

from canonry.log.commits import Position
from canonry.log.upcasters import ENCODING_VERSION, MIN_READER
from canonry.stores.postgres.database import Database, PgConnection, fetched
from canonry.stores.postgres.faults import newer, translated
from canonry.stores.postgres.upkeep.folding import (
    FOLDER,
    fold_rows,
    looking_in,
    make_views,
    not_among,
    pages_of,
)
from canonry.values.errors import BrokenInvariant
from canonry.values.ids import SpaceId

VIEWS_VERSION: Final = 4
"""Grows when a view changes its shape or what it holds; older views are then folded again."""

_MIGRATIONS: Final = tuple(
    sorted(
        (each for each in (FOLDER / "migrations").iterdir() if each.name.endswith(".sql")),
        key=lambda each: each.name,
    )
)
SCHEMA_VERSION: Final = len(_MIGRATIONS)
_OLDEST: Final = 150_000
ALONE: Final = "SELECT pg_advisory_xact_lock(hashtext(%s))"
_STATE: Final = (
    "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


async def prepare(database: Database) -> None:
    """Bring the store to this version; several processes may do so at once, and one does.

    Raises:
        BrokenInvariant: `store.newer`, or `store.failed` where the server is too old.
        Unavailable: `store.unreachable`.
    """
    with translated():
        db = await AsyncConnection.connect(database.url, autocommit=True)
        async with db:
            if db.info.server_version < _OLDEST:
                raise BrokenInvariant("store.failed", "PostgreSQL 15 or newer is needed")
            if not await _is_current(db, database):
                await _prepared(db, database)


async def _is_current(db: PgConnection, database: Database) -> bool:
    try:
        async with db.transaction():
            await looking_in(db, database.name)
            stated = await _stated(db)
    except errors.UndefinedTable:
        return False
    if stated["schema"] > SCHEMA_VERSION or stated["min_reader"] > ENCODING_VERSION:
        raise newer()
    if stated["views"] > VIEWS_VERSION:
        raise newer()
    return (stated["schema"], stated["views"]) == (SCHEMA_VERSION, VIEWS_VERSION)


async def _stated(db: PgConnection) -> dict[str, int]:
    rows: Any = await fetched(db, "SELECT name, value FROM meta")
    return {"schema": 0, "views": 0, "min_reader": 0, **dict(rows)}


async def _prepared(db: PgConnection, database: Database) -> None:
    async with db.transaction():
        await db.execute(ALONE, (database.name,))
        if await _is_current(db, database):
            return
        name = sql.Identifier(database.name)
        await db.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
        await looking_in(db, database.name)
        there = await fetched(db, "SELECT to_regclass('meta')::text")
        stated = await _stated(db) if there[0][0] is not None else {"schema": 0, "views": 0}
        for migration in _MIGRATIONS[stated["schema"] :]:
            await db.execute(migration.read_text(encoding="utf-8"))
        await db.execute(_STATE, ("schema", SCHEMA_VERSION))
        await db.execute(_STATE, ("min_reader", max(MIN_READER, stated.get("min_reader", 0))))
        if stated["views"] != VIEWS_VERSION:
            fresh = f"{database.views}_fresh"
            await begin_views(db, database, fresh)
            shown: dict[SpaceId, Position] = {}
            async for rows in pages_of(db):
                await fold_rows(db, rows, shown)
            await take_place(db, database, fresh)
            await looking_in(db, database.name)
            await db.execute(_STATE, ("views", VIEWS_VERSION))


async def begin_views(db: PgConnection, database: Database, fresh: str) -> None:
    """Make empty views in the schema `fresh`, and let this transaction write there."""
    named = sql.Identifier(fresh)
    await db.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(named))
    await db.execute(sql.SQL("CREATE SCHEMA {}").format(named))
    await looking_in(db, fresh, database.name)
    await make_views(db)


async def take_place(db: PgConnection, database: Database, fresh: str) -> None:
    """Put the views of `fresh` in the place of those that there are."""
    views, named = sql.Identifier(database.views), sql.Identifier(fresh)
    await db.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(views))
    await db.execute(sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(named, views))


async def rebuild(database: Database, told: Any) -> int:
    """Fold all views from the records again while others read and write; how many commits."""
    with translated():
        db = await AsyncConnection.connect(database.url, autocommit=True)
        async with db:
            fresh, shown, done = f"{database.views}_again", dict[SpaceId, Position](), 0
            async with db.transaction():
                await db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                await begin_views(db, database, fresh)
                async for rows in pages_of(db):
                    await fold_rows(db, rows, shown)
                    done += len(rows)
                    told(done, None)
            async with db.transaction():
                await db.execute(ALONE, (database.name,))
                await looking_in(db, fresh, database.name)
                late = await not_among(db, shown)
                await fold_rows(db, late, shown)
                await take_place(db, database, fresh)
            return done + len(late)
