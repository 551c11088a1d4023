"""Maintenance of an embedded store, and checks of a store that is opened read-only."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import apsw
from typing_extensions import override

from canonry.log.ports.ledger import Blobs
from canonry.log.ports.world import Clock
from canonry.readmodels.listing import NOBODY, UNCOUNTED, List
from canonry.readmodels.ports.view import Finding, Upkeep, UpkeepProgress, Verification
from canonry.stores.sqlite import records
from canonry.stores.sqlite.backups import (
    StoreErasure,
    claim,
    copy_database,
    forget_others,
    purges,
    scratch_beside,
    write_manifest,
)
from canonry.stores.sqlite.connections import OpenMode, Readers, connect, transaction, translated
from canonry.stores.sqlite.rows import number, unpack
from canonry.stores.sqlite.store import (
    APPLICATION_ID,
    FILE,
    SCHEMA_VERSION,
    VIEWS_VERSION,
    SqliteStore,
    make_views,
)
from canonry.stores.sqlite.text import index_waiting
from canonry.stores.sqlite.verification import verify_store
from canonry.stores.sqlite.views import Fetch, fetch_on_loop, fold_all
from canonry.values.errors import NotSupported, Unavailable
from canonry.values.ids import SpaceId
from canonry.values.moments import DAY, SECOND, Instant, render_instant

_SPACES: Final = 1000
_WHOLE_LISTS: Final = (
    List.SPACES,
    List.ENTITIES,
    List.FACTS,
    List.EVENTS,
    List.RELATIONS,
    List.STORIES,
    List.SCENES,
    List.PROPOSALS,
)


_TOLD: Final = "'turn', 'memory', 'snippet'"
"""Kinds whose items are all passages."""

_UNCOUNTED: Final = ", ".join(map(str, sorted(UNCOUNTED)))
_PASSAGES: Final = int(List.PASSAGES)
_LISTED: Final = ", ".join(map(str, sorted({*UNCOUNTED, _PASSAGES, int(List.TIMELINE)})))
_LOST: Final = (
    f"SELECT count(*) FROM things t WHERE t.kind IN ({_TOLD})"  # noqa: S608 - our own SQL
    " AND NOT EXISTS (SELECT 1 FROM passage_stems s WHERE s.n = t.n)"
    " AND NOT EXISTS (SELECT 1 FROM unindexed u WHERE u.n = t.n)"
)


_PAIRS: Final = (
    (
        "passages",
        "the word index does not have as many passages as are counted",
        "SELECT count(*) FROM passages_docsize",
        f"SELECT coalesce(sum(n), 0) FROM counts WHERE list = {_PASSAGES} AND facet = 'passages'",  # noqa: S608
    ),
    (
        "passage_stems",
        "the number of passages with stems is not the number of passages",
        "SELECT count(*) FROM passage_stems",
        "SELECT count(*) FROM passages_docsize",
    ),
    ("things", "a passage is neither indexed nor queued for indexing", _LOST, "SELECT 0"),
    (
        "listing",
        "the lists do not have as many rows as are counted",
        f"SELECT count(*) FROM listing WHERE list NOT IN ({_UNCOUNTED})",  # noqa: S608
        f"SELECT coalesce(sum(n), 0) FROM counts WHERE list NOT IN ({_LISTED})",  # noqa: S608
    ),
)
"""The finding where two statements do not select the same number, and the statements.

They read no payload and decode nothing, so they are cheap enough to follow every backup. They
reveal a view that was lost or half copied. Only `verify` compares each row with the records.
"""


def _differ(db: apsw.Connection, one: str, two: str) -> bool:
    return number(db, one) != number(db, two)


@dataclass(eq=False)
class LookingUpkeep(Upkeep):
    """Reads the store at `path` without changing it.

    `blobs_in` returns the blobs of a backup's folder. `copy_files` copies the other files of the
    store, which no payload refers to.
    """

    path: Path
    readers: Readers
    _: KW_ONLY
    blobs: Blobs
    blobs_in: Callable[[Path], Blobs]
    copy_files: Callable[[Path], Awaitable[None]] | None = None
    way: OpenMode = OpenMode.SERVED

    @override
    async def verify(self, told: UpkeepProgress) -> Verification:
        fetch, tell, way = fetch_on_loop(self.blobs), on_loop(told), self.way
        return await asyncio.to_thread(lambda: verify_store(self.path, fetch, tell, way=way))

    @override
    async def glance(self) -> Sequence[Finding]:
        # One transaction for each, because a long one keeps the log from being emptied.
        return tuple(
            [
                Finding(where=where, what=what)
                for where, what, one, two in _PAIRS
                if await self.readers.whole(partial(_differ, one=one, two=two))
            ]
        )

    @override
    async def backup(self, target: Path, told: UpkeepProgress) -> Mapping[SpaceId, tuple[int, str]]:
        tell = on_loop(told)
        await asyncio.to_thread(claim, target)
        path, way = self.path, self.way
        heads, digests = await asyncio.to_thread(copy_database, path, target / FILE, tell, way)
        blobs = self.blobs_in(target)
        for digest in digests:
            await blobs.put(await self.blobs.get(digest))
        if self.copy_files is not None:
            await self.copy_files(target)
        await asyncio.to_thread(write_manifest, target, heads)
        return heads

    @override
    async def rebuild(self, told: UpkeepProgress) -> int:
        raise _unwritable()

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        raise _unwritable()

    @override
    async def collect_orphans(self) -> int:
        raise _unwritable()

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        told: dict[str, str | int] = await self.readers.whole(_facts)
        log = self.path.with_name(f"{self.path.name}-wal")
        told["file_bytes"] = self.path.stat().st_size
        told["log_bytes"] = log.stat().st_size if log.exists() else 0
        try:
            told["integrity"] = await self.readers.long(
                lambda db: list[Any](db.execute("PRAGMA quick_check(1)"))[0][0]
            )
        except Unavailable:
            told["integrity"] = "not known, because the file is large; run `canonry verify`"
        return told


def on_loop(told: UpkeepProgress) -> UpkeepProgress:
    """Return a listener that may be called from a thread and calls `told` on the event loop."""
    loop = asyncio.get_running_loop()

    def tell(done: int, total: int | None) -> None:
        loop.call_soon_threadsafe(told, done, total)

    return tell


def _unwritable() -> NotSupported:
    message = "This store is open for reading only. Make its disk writable, or free space on it."
    return NotSupported("store.reading-only", message)


def _facts(db: apsw.Connection) -> dict[str, str | int]:
    sql = "SELECT coalesce(sum(n), 0) FROM counts WHERE list = ? AND owner = ?"
    # The time of the newest commit of any space, or an empty text.
    newest, after = 0, None
    while spaces := records.spaces_after(db, after, _SPACES):
        after = spaces[-1]
        tips = (records.tip_of(db, SpaceId(unpack(each))) for each in spaces)
        newest = max(newest, *(tip.recorded_at for tip in tips))
    return {
        "sqlite": apsw.sqlite_lib_version(),
        "apsw": apsw.apsw_version(),
        "application_id": f"{APPLICATION_ID:#x}",
        "schema": SCHEMA_VERSION,
        "views": VIEWS_VERSION,
        "page_bytes": number(db, "PRAGMA page_size"),
        "newest_commit": (render_instant(Instant(newest)) if newest else ""),
        "commits": number(db, "SELECT max(seq) FROM commits"),
        "things": number(db, "SELECT max(n) FROM things"),
        "blobs_named": number(db, "SELECT count(DISTINCT blob) FROM parts WHERE blob IS NOT NULL"),
        **{listed.name.lower(): number(db, sql, (int(listed), NOBODY)) for listed in _WHOLE_LISTS},
    }


# Maintenance of a store: long work runs in a thread, and only its last step blocks writers.
#
# A rebuild folds the views in a scratch file while other calls write, and installs them in one
# transaction. The old views stay until it is committed. A killed process or a concurrent reader
# never sees half of it.

_PAGE: Final = 500
_PATIENCE_MS: Final = 10_000
_TELL_EVERY: Final = 200
_TABLES: Final = (
    "SELECT name FROM fresh.sqlite_schema WHERE type = 'table'"
    " AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)
"""Every table with rows. A full-text index keeps its rows in tables named after it."""

_COLUMNS: Final = "SELECT name FROM pragma_table_info(?, 'fresh')"
"""Only the columns that are not generated."""

StoredAt = Callable[[str], Awaitable[float | None]]
"""Returns when a blob was stored, in seconds since 1970."""


class SqliteUpkeep(LookingUpkeep):
    """Maintains the folder of an open store."""

    def __init__(
        self,
        store: SqliteStore,
        *,
        blobs: Blobs,
        stored_at: StoredAt,
        blobs_in: Callable[[Path], Blobs],
        clock: Clock,
        copy_files: Callable[[Path], Awaitable[None]] | None = None,
    ) -> None:
        """Take the same arguments as `LookingUpkeep`."""
        super().__init__(
            store.path, store.readers, blobs=blobs, blobs_in=blobs_in, copy_files=copy_files
        )
        self._store = store
        self._stored_at = stored_at
        self._clock = clock

    @override
    async def rebuild(self, told: UpkeepProgress) -> int:
        fetch, tell, store = fetch_on_loop(self.blobs), on_loop(told), self._store
        with scratch_beside(store.path) as db:
            purged = purges(db)
            last = await asyncio.to_thread(lambda: _fold_aside(db, fetch, tell))
            async with store.pump.exclusive():
                await store.pump.in_thread(
                    lambda: _finish(store, db, fetch, tell, after=last, purged=purged)
                )
        return await store.readers.whole(lambda db: number(db, "SELECT count(*) FROM commits"))

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        fetch, store = fetch_on_loop(self.blobs), self._store
        with scratch_beside(store.path) as db:
            wanted = frozenset(targets)
            erasure = StoreErasure(db=db, space=space, targets=wanted, fetch=fetch)
            await asyncio.to_thread(erasure.fold)
            async with store.pump.exclusive():
                await store.pump.in_thread(lambda: erasure.finish(store.writer))
                for digest in erasure.digests:
                    if not await self._is_used(digest):
                        await self.blobs.delete(digest)
                db.close()
                await store.pump.in_thread(lambda: _scrub(store))
        return sum(len(entries) for entries in erasure.dropped.values())

    @override
    async def collect_orphans(self) -> int:
        collected, last = 0, ""
        while page := await self.blobs.digests(after=last, limit=_PAGE):
            last = page[-1]
            for digest in page:
                if await self._is_used(digest):
                    continue
                stored = await self._stored_at(digest)
                if stored is not None and self._clock.now() - int(stored * SECOND) > DAY:
                    await self.blobs.delete(digest)
                    collected += 1
        return collected

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        return {**await super().facts_about_store(), "durability": str(self._store.durability)}

    async def _is_used(self, digest: str) -> bool:
        sql = "SELECT count(*) FROM parts WHERE blob = ?"
        return await self._store.readers.short(lambda db: number(db, sql, (digest,))) > 0


def _finish(
    store: SqliteStore,
    db: apsw.Connection,
    fetch: Fetch,
    told: UpkeepProgress,
    *,
    after: int,
    purged: int,
) -> None:
    with translated():
        if purges(db) != purged:  # the folded views contain data that was erased since
            make_views(db)
            after = 0
        _fold_aside(db, fetch, told, after=after)
        db.execute("DETACH live")
        durability = store.durability
        own = connect(store.path, writes=True, durability=durability, patience_ms=_PATIENCE_MS)
        with closing(own):
            _put_in_place(own, db.filename)


def _fold_aside(db: apsw.Connection, fetch: Fetch, told: UpkeepProgress, *, after: int = 0) -> int:
    """Fold the commits past `after` into the scratch views of `db`; return the last number."""
    total = number(db, "SELECT count(*) FROM live.commits")

    def seen(done: int) -> None:
        if done % _TELL_EVERY == 0:
            told(min(done, total), total)

    with transaction(db):
        last = fold_all(db, fetch, after=after, seen=seen)
        index_waiting(db)
    told(total, total)
    return last


def _put_in_place(writer: apsw.Connection, fresh: str) -> None:
    """Replace the views by those in the file `fresh`. The caller holds the write lock.

    Close the connection afterwards: it caches the state of the full-text index from before its
    tables were filled. Other connections read it again.
    """
    writer.execute("ATTACH ? AS fresh", (fresh,))
    try:
        with transaction(writer, "BEGIN IMMEDIATE"):
            make_views(writer)
            # Copy every table that has rows, so that no view can be forgotten here.
            for (table,) in list[Any](writer.execute(_TABLES)):
                writer.execute(f"DELETE FROM main.{table}")  # noqa: S608 - as the next
                columns = ", ".join(
                    name for (name,) in list[Any](writer.execute(_COLUMNS, (table,)))
                )
                writer.execute(
                    f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM fresh.{table}"  # noqa: S608 - our own names
                )
    finally:
        writer.execute("DETACH fresh")


def _scrub(store: SqliteStore) -> None:
    """Remove all traces from free pages, the write-ahead log and scratch files."""
    forget_others(store.path)
    with translated():
        store.writer.set_busy_timeout(_PATIENCE_MS)
        try:
            store.writer.execute("VACUUM")
        finally:
            store.writer.set_busy_timeout(0)
        emptied = store.checkpoints.empty()
    if not emptied:
        message = "Erased, but traces remain while others read the old file. Purge again later."
        raise Unavailable("purge.unfinished", message)
