"""Upkeep of PostgreSQL: migrate, rebuild, verify and erase."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from psycopg import AsyncConnection, errors, sql
from typing_extensions import override

from canonry.log.canon import fold
from canonry.log.commits import ORIGIN, Position
from canonry.log.encoding import ENCODING_VERSION, MIN_READER
from canonry.log.folding import key_hash
from canonry.log.ports.world import forget
from canonry.log.sealing import GENESIS, Sealed, fault_in, require_unaltered, unseal
from canonry.readmodels.listing import UNCOUNTED, List
from canonry.readmodels.ports.view import Finding, Upkeep, UpkeepProgress, Verification
from canonry.stores.postgres.database import (
    Database,
    PgConnection,
    PgRow,
    fetched,
    newer,
    run,
    translated,
)
from canonry.stores.postgres.records import COLUMNS, sealed_in
from canonry.stores.postgres.views import VIEW_TABLES, Loading, loaded_in
from canonry.values.errors import BrokenInvariant
from canonry.values.ids import SpaceId
from canonry.values.json_values import decode_json

PAGE: Final = 200

FOLDER: Final = files("canonry.stores.postgres")
_PAGE: Final = f"SELECT seq, {COLUMNS} FROM commits WHERE seq > %s ORDER BY seq LIMIT %s"
_NEW: Final = (
    f"SELECT seq, {COLUMNS} FROM commits c WHERE position > coalesce((SELECT k.position"
    " FROM unnest(%s::text[], %s::bigint[]) AS k (space, position) WHERE k.space = c.space), 0)"
    " ORDER BY seq"
)


async def looking_in(db: PgConnection, *schemas: str) -> None:
    """Let the tables of this transaction be looked for, and made, in these schemas."""
    path = sql.SQL(", ").join(map(sql.Identifier, schemas))
    await db.execute(sql.SQL("SET LOCAL search_path = {}").format(path))


async def make_views(db: PgConnection) -> None:
    """Make empty views where tables are made."""
    text = (FOLDER / "views.sql").read_text(encoding="utf-8")
    await db.execute(text)


async def pages_of(db: PgConnection) -> AsyncIterator[list[PgRow]]:
    """All commits in the order of their causes, page by page: (seq, the columns of a commit)."""
    after = 0
    while rows := await fetched(db, _PAGE, (after, PAGE)):
        yield rows
        after = rows[-1][0]


async def not_among(db: PgConnection, shown: Mapping[SpaceId, Position]) -> list[PgRow]:
    """The commits that follow what was shown of each space."""
    return await fetched(db, _NEW, (list(shown), list(shown.values())))


async def fold_rows(
    db: PgConnection,
    rows: list[PgRow],
    shown: dict[SpaceId, Position],
    check: Callable[[Sealed], Sealed] = require_unaltered,
) -> list[list[int]]:
    """Fold commits into the views of this transaction; the hashes of the keys that each touches.

    `shown` is where the views stand then.
    """
    loading, touched = Loading(db, {}, set()), list[list[int]]()
    for _, *row in rows:
        sealed = check(sealed_in(tuple(row)))
        commit = unseal(sealed)
        changes = fold(commit, await loading.for_entries(commit.entries))
        loading.change(changes.things)
        shown[sealed.space] = sealed.position
        touched.append(sorted(map(key_hash, changes.touched)))
    await loading.store()
    return touched


# Preparing a store: records are migrated step by step, views are made anew where they changed.
#
# A migration only adds, so that an older process goes on beside it. Views of another version are
# folded into a schema of their own, which takes the place of the old one in one transaction; a
# process that is too old to keep them finds that it is, and refuses.

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


# Erasure: payloads are dropped, and what the views then differ in is put right in the same step.
#
# The space is folded afresh without the payloads while others go on writing; only the differences,
# which are few, are written while nobody else appends.

_ERASED: Final = "space.erased"
_CHUNK: Final = 500
_OF_SPACE: Final = (
    f"SELECT seq, {COLUMNS} FROM commits WHERE space = %s AND position > %s"
    " ORDER BY position LIMIT %s"
)
# Arrays begin at 1.
_DROP: Final = (
    "UPDATE commits SET salts[%(entry)s] = NULL, payloads[%(entry)s] = NULL"
    " WHERE space = %(space)s AND position = %(position)s"
)
_CHANGED: Final = (
    "SELECT f.id, f.kind, f.body FROM {fresh}.things f LEFT JOIN {views}.things m ON m.id = f.id"
    " WHERE m.id IS NULL OR m.kind <> f.kind OR m.body <> f.body"
)
_NEVER_WERE: Final = (
    "DELETE FROM {views}.versions v WHERE v.id IN (SELECT id FROM {fresh}.things) AND NOT EXISTS"
    " (SELECT 1 FROM {fresh}.versions f WHERE f.id = v.id AND f.since = v.since"
    " AND f.kind = v.kind AND f.body = v.body)"
)
_WERE: Final = "INSERT INTO {views}.versions SELECT * FROM {fresh}.versions ON CONFLICT DO NOTHING"


@dataclass(slots=True, kw_only=True)
class SpaceErasure:
    """The erasure of everything about `targets` in one space."""

    database: Database
    space: SpaceId
    targets: frozenset[str]
    shown: dict[SpaceId, Position] = field(default_factory=dict)
    dropped: set[tuple[Position, int]] = field(default_factory=set)

    async def done(self, db: PgConnection) -> int:
        """Drop the payloads and mend the views; how many were dropped."""
        fresh = f"{self.database.views}_erasing"
        async with db.transaction():
            await begin_views(db, self.database, fresh)
            await self._fold(db)
        async with db.transaction():
            await db.execute(ALONE, (self.database.name,))
            await looking_in(db, fresh, self.database.name)
            await self._fold(db)
            for position, entry in sorted(self.dropped):
                place = {"entry": entry + 1, "space": self.space, "position": position}
                await run(db, _DROP, place)
            await self._mend(db, fresh)
            await db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(fresh)))
        return len(self.dropped)

    async def _fold(self, db: PgConnection) -> None:
        """Fold the commits of the space that were not yet, without what is to be dropped."""
        while rows := await self._page(db):
            await fold_rows(db, rows, self.shown, self._without)

    async def _page(self, db: PgConnection) -> list[PgRow]:
        after = self.shown.get(self.space, ORIGIN)
        return await fetched(db, _OF_SPACE, (self.space, after, PAGE))

    def _without(self, sealed: Sealed) -> Sealed:
        """A commit without the entries that are about the targets.

        The entry that records the erasure stays: it tells which ids are gone, and why.
        """
        parts = list(require_unaltered(sealed).parts)
        for entry, (kind, _, ids, _) in enumerate(decode_json(sealed.body)["entries"]):
            about = kind != _ERASED and not self.targets.isdisjoint(ids)
            if about and parts[entry] is not None:
                self.dropped.add((sealed.position, entry))
                parts[entry] = None
        return replace(sealed, parts=tuple(parts))

    async def _mend(self, db: PgConnection, fresh: str) -> None:
        names = {
            "fresh": sql.Identifier(fresh).as_string(db),
            "views": sql.Identifier(self.database.views).as_string(db),
        }
        changed = list(loaded_in(await fetched(db, _CHANGED.format(**names))).values())
        await looking_in(db, self.database.views, self.database.name)
        for start in range(0, len(changed), _CHUNK):
            some = changed[start : start + _CHUNK]
            loading = Loading(db, {}, set())
            await loading.for_things(some)
            loading.change({thing.id: thing for thing in some})
            await loading.store()
        # Storing keeps what was there before as a version; these were never versions of anything.
        for statement in (_NEVER_WERE, _WERE):
            await run(db, statement.format(**names))


# Verification: every chain link by link, every view row by row, all of one moment.
#
# The views are folded again into tables that only this transaction sees, and compared.

_FINDINGS_MAX: Final = 20
_SCRATCH: Final = "pg_temp"
_DIFFERENT: Final = (
    "SELECT (SELECT count(*) FROM (TABLE pg_temp.{table} EXCEPT ALL TABLE {views}.{table}) a),"
    " (SELECT count(*) FROM (TABLE {views}.{table} EXCEPT ALL TABLE pg_temp.{table}) b)"
)
_HEADS: Final = "SELECT space, position, hash FROM heads WHERE position > 0"
_TOUCHED: Final = "SELECT space, position, touched FROM commits WHERE seq >= %s AND seq <= %s"


@dataclass(slots=True)
class Check:
    """One pass over the store; the last commit that was right of each space is in `heads`."""

    db: PgConnection
    database: Database
    told: UpkeepProgress
    heads: dict[SpaceId, tuple[int, str]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    redacted: set[SpaceId] = field(default_factory=set)
    shown: dict[SpaceId, Position] = field(default_factory=dict)
    commits: int = 0
    folds: bool = True

    async def done(self) -> Verification:
        """What is wrong with the store."""
        async with self.db.transaction(force_rollback=True):
            await self.db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            await self.db.execute("SET LOCAL statement_timeout = 0")
            await looking_in(self.db, _SCRATCH, self.database.name)
            await make_views(self.db)
            async for rows in pages_of(self.db):
                await self._look_at(rows)
                self.told(self.commits, None)
            await self._compare_heads()
            if self.folds:
                await self._compare_views()
            else:
                self._find("views", "not compared, because the records are damaged")
            ((things,),) = await fetched(self.db, "SELECT count(*) FROM things")
        return Verification(
            commits=self.commits,
            things=things,
            heads=self.heads,
            findings=tuple(self.findings[:_FINDINGS_MAX]),
        )

    async def _look_at(self, rows: list[PgRow]) -> None:
        self.commits += len(rows)
        for _, *row in rows:
            where = f"{row[0]} at {row[1]}"
            try:
                sealed = sealed_in(tuple(row))
                fault = self._fault(sealed)
            except (BrokenInvariant, ValueError, KeyError, TypeError, IndexError):
                fault = "the sealed bytes cannot be read"
            if fault is not None:
                self._find(where, fault)
                self.folds = False
        if not self.folds:
            return
        keys = {row[:2]: sorted(row[2]) for row in await self._touched(rows)}
        try:
            touched = await fold_rows(self.db, rows, self.shown)
        except BrokenInvariant as error:
            self._find(f"after {rows[0][1]} at {rows[0][2]}", f"it cannot be folded: {error.code}")
            self.folds = False
            return
        for (_, space, position, *_, payloads), found in zip(rows, touched, strict=True):
            if None in payloads:
                self.redacted.add(space)  # what was erased does not tell which keys it touched
            if space not in self.redacted and keys[space, position] != found:
                self._find(f"{space} at {position}", "it touches other keys than it is said to")

    async def _touched(self, rows: list[PgRow]) -> list[PgRow]:
        return await fetched(self.db, _TOUCHED, (rows[0][0], rows[-1][0]))

    def _fault(self, sealed: Sealed) -> str | None:
        position, previous = self.heads.get(sealed.space, (0, GENESIS))
        self.heads[sealed.space] = (sealed.position, sealed.hash)
        return fault_in(sealed, position=Position(position + 1), previous=previous)

    async def _compare_heads(self) -> None:
        said = {row[0]: (row[1], row[2].hex()) for row in await fetched(self.db, _HEADS)}
        for space in sorted({*said, *self.heads}):
            if said.get(space) != self.heads.get(SpaceId(space)):
                self._find(f"head of {space}", "the log ends elsewhere than it is said to")

    async def _compare_views(self) -> None:
        views = sql.Identifier(self.database.views).as_string(self.db)
        for table in VIEW_TABLES:
            statement = _DIFFERENT.format(table=table, views=views)
            ((missing, strange),) = await fetched(self.db, statement)
            if missing or strange:
                self._find(table, f"{missing} rows are missing, {strange} are not from the records")

    def _find(self, where: str, what: str) -> None:
        self.findings.append(Finding(where=where, what=what))


# Upkeep of a store in PostgreSQL: long work has a connection of its own and stops nobody for long.
#
# What the server keeps besides (its write-ahead log, replicas and their backups) belongs to whoever
# runs it; purging rewrites the tables, and no more can be said from here.

Copy = Callable[[Path, UpkeepProgress], Awaitable[Mapping[SpaceId, tuple[int, str]]]]
"""Copies the store into a new folder, as an embedded one; the heads that the copy holds."""

_PASSAGES: Final = int(List.PASSAGES)
_OTHERWISE: Final = sorted({*UNCOUNTED, _PASSAGES, int(List.TIMELINE)})
_INDEXED: Final = (
    "SELECT (SELECT count(*) FROM passages), (SELECT coalesce(sum(n), 0)::bigint FROM counts"
    f" WHERE list = {_PASSAGES} AND facet = 'passages')"
)
_LISTED: Final = (
    "SELECT (SELECT count(*) FROM listing WHERE list <> ALL(%(others)s)),"
    " (SELECT coalesce(sum(n), 0)::bigint FROM counts WHERE list <> ALL(%(others)s))"
)
_TOLD: Final = (
    "SELECT (SELECT count(*) FROM things WHERE kind IN ('turn', 'memory', 'snippet')),"
    " (SELECT count(*) FROM things t WHERE kind IN ('turn', 'memory', 'snippet')"
    " AND EXISTS (SELECT 1 FROM passages p WHERE p.id = t.id))"
)
_PAIRS: Final = (
    ("passages", "the index of words has not the passages that it is said to have", _INDEXED),
    ("listing", "the lists have not the rows that they are said to have", _LISTED),
    ("passages", "turns, memories or snippets are not in the index of words", _TOLD),
)
"""Two numbers each that are the same in good views, and what it means where they are not."""

_FACTS: Final = (
    "SELECT current_setting('server_version'), pg_database_size(current_database()),"
    " (SELECT count(*) FROM heads WHERE position > 0), (SELECT count(*) FROM commits),"
    " (SELECT count(*) FROM things), current_setting('synchronous_commit'),"
    " current_setting('fsync')"
)


class PostgresUpkeep(Upkeep):
    """Works on an open store."""

    def __init__(self, database: Database, copy: Copy) -> None:
        """Share `database` with the ledger; `copy` makes backups."""
        self._database = database
        self._copy = copy

    @override
    async def verify(self, told: UpkeepProgress) -> Verification:
        with translated():
            async with self._own() as db:
                return await Check(db, self._database, told).done()

    @override
    async def glance(self) -> Sequence[Finding]:
        async def look(db: PgConnection) -> Sequence[Finding]:
            found: list[Finding] = []
            for where, what, statement in _PAIRS:
                ((one, two),) = await fetched(db, statement, {"others": _OTHERWISE})
                if one != two:
                    found.append(Finding(where=where, what=what))
            return tuple(found)

        return await self._database.reading(look)

    @override
    async def rebuild(self, told: UpkeepProgress) -> int:
        return await rebuild(self._database, told)

    @override
    async def backup(self, target: Path, told: UpkeepProgress) -> Mapping[SpaceId, tuple[int, str]]:
        return await self._copy(target, told)

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        with translated():
            async with self._own() as db:
                erasure = SpaceErasure(
                    database=self._database, space=space, targets=frozenset(targets)
                )
                dropped = await erasure.done(db)
        await self.rewrite()
        forget()
        return dropped

    async def rewrite(self) -> None:
        """Leave nothing in the files of tables that is in no row."""
        named = [sql.Identifier(self._database.name, "commits")]
        named += [sql.Identifier(self._database.views, table) for table in VIEW_TABLES]
        with translated():
            async with self._own() as db:
                for table in named:
                    await db.execute(sql.SQL("VACUUM (FULL) {}").format(table))

    @override
    async def collect_orphans(self) -> int:
        """Every payload is a part of its commit, so that there are none."""
        return 0

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        ((server, size, spaces, commits, things, commit, fsync),) = await self._database.rows(
            _FACTS
        )
        return {
            "engine": f"PostgreSQL {server}",
            "schema": SCHEMA_VERSION,
            "views": VIEWS_VERSION,
            "bytes": size,
            "spaces": spaces,
            "commits": commits,
            "things": things,
            "synchronous_commit": commit,
            "fsync": fsync,
        }

    def _own(self) -> AbstractAsyncContextManager[PgConnection]:
        return _Own(self._database.url)


class _Own(AbstractAsyncContextManager[PgConnection]):
    """A connection for work of any length."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._db: PgConnection | None = None

    async def __aenter__(self) -> PgConnection:
        self._db = await AsyncConnection.connect(self._url, autocommit=True)
        return self._db

    async def __aexit__(self, *_: object) -> None:
        if self._db is not None:
            await self._db.close()
