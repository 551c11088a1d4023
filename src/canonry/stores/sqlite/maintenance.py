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
from canonry.readmodels.ports.view import Finding, Maintenance, MaintenanceProgress, Verification
from canonry.stores.sqlite import backups, commits, connections
from canonry.stores.sqlite.rows import select_number, unpack_id
from canonry.stores.sqlite.store import (
    APPLICATION_ID,
    FILE,
    SCHEMA_VERSION,
    VIEWS_VERSION,
    SqliteStore,
    make_views,
)
from canonry.stores.sqlite.text import index_queued
from canonry.stores.sqlite.verification import verify_store
from canonry.stores.sqlite.views import Fetch, fetch_on_loop, fold_all
from canonry.values.errors import NotSupported, Unavailable
from canonry.values.ids import SpaceId
from canonry.values.moments import DAY, SECOND, Instant, render_instant

_SPACES: Final = 1000  # bounds the memory of a walk through all spaces
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


_PASSAGE_KINDS: Final = "'turn', 'memory', 'snippet'"
"""Kinds whose items are all passages."""

_UNCOUNTED: Final = ", ".join(map(str, sorted(UNCOUNTED)))
_PASSAGES: Final = int(List.PASSAGES)
_LISTED: Final = ", ".join(map(str, sorted({*UNCOUNTED, _PASSAGES, int(List.TIMELINE)})))
_LOST: Final = (
    f"SELECT count(*) FROM things t WHERE t.kind IN ({_PASSAGE_KINDS})"  # noqa: S608 - our own SQL
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


def _is_unequal(db: apsw.Connection, one: str, two: str) -> bool:
    return select_number(db, one) != select_number(db, two)


@dataclass(eq=False)
class ReadOnlyMaintenance(Maintenance):
    """Reads the store at `path` without changing it.

    `blobs_in` returns the blobs of a backup's folder. `copy_files` copies the other files of the
    store, which no payload refers to.
    """

    path: Path
    readers: connections.Readers
    _: KW_ONLY
    blobs: Blobs
    blobs_in: Callable[[Path], Blobs]
    copy_files: Callable[[Path], Awaitable[None]] | None = None
    mode: connections.OpenMode = connections.OpenMode.SERVED

    @override
    async def verify(self, progress: MaintenanceProgress) -> Verification:
        fetch, report, mode = fetch_on_loop(self.blobs), on_loop(progress), self.mode
        return await asyncio.to_thread(lambda: verify_store(self.path, fetch, report, mode=mode))

    @override
    async def check_quickly(self) -> Sequence[Finding]:
        # One transaction for each, because a long one keeps the log from being emptied.
        return tuple(
            [
                Finding(where=where, what=what)
                for where, what, one, two in _PAIRS
                if await self.readers.run_whole(partial(_is_unequal, one=one, two=two))
            ]
        )

    @override
    async def backup(
        self, target: Path, progress: MaintenanceProgress
    ) -> Mapping[SpaceId, tuple[int, str]]:
        report = on_loop(progress)
        await asyncio.to_thread(backups.claim_folder, target)
        path, mode = self.path, self.mode
        heads, digests = await asyncio.to_thread(
            backups.copy_database, path, target / FILE, report, mode
        )
        blobs = self.blobs_in(target)
        for digest in digests:
            await blobs.put_bytes(await self.blobs.get_bytes(digest))
        if self.copy_files is not None:
            await self.copy_files(target)
        await asyncio.to_thread(backups.write_manifest, target, heads)
        return heads

    @override
    async def rebuild(self, progress: MaintenanceProgress) -> int:
        raise _unwritable_error()

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        raise _unwritable_error()

    @override
    async def collect_orphans(self) -> int:
        raise _unwritable_error()

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        facts: dict[str, str | int] = await self.readers.run_whole(_store_facts)
        log = self.path.with_name(f"{self.path.name}-wal")
        facts["file_bytes"] = self.path.stat().st_size
        facts["log_bytes"] = log.stat().st_size if log.exists() else 0
        try:
            facts["integrity"] = await self.readers.run_long(
                lambda db: list[Any](db.execute("PRAGMA quick_check(1)"))[0][0]
            )
        except Unavailable:
            facts["integrity"] = "not known, because the file is large; run `canonry verify`"
        return facts


def on_loop(progress: MaintenanceProgress) -> MaintenanceProgress:
    """Return a listener that may be called from a thread and calls `progress` on the event loop."""
    loop = asyncio.get_running_loop()

    def report_soon(done: int, total: int | None) -> None:
        loop.call_soon_threadsafe(progress, done, total)

    return report_soon


def _unwritable_error() -> NotSupported:
    message = "This store is open for reading only. Make its disk writable, or free space on it."
    return NotSupported("store.reading-only", message)


def _store_facts(db: apsw.Connection) -> dict[str, str | int]:
    sql = "SELECT coalesce(sum(n), 0) FROM counts WHERE list = ? AND owner = ?"
    # The time of the newest commit of any space, or an empty text.
    newest, after = 0, None
    while spaces := commits.spaces_after(db, after, _SPACES):
        after = spaces[-1]
        tips = (commits.tip_of(db, SpaceId(unpack_id(each))) for each in spaces)
        newest = max(newest, *(tip.recorded_at for tip in tips))
    return {
        "sqlite": apsw.sqlite_lib_version(),
        "apsw": apsw.apsw_version(),
        "application_id": f"{APPLICATION_ID:#x}",
        "schema": SCHEMA_VERSION,
        "views": VIEWS_VERSION,
        "page_bytes": select_number(db, "PRAGMA page_size"),
        "newest_commit": (render_instant(Instant(newest)) if newest else ""),
        "commits": select_number(db, "SELECT max(seq) FROM commits"),
        "things": select_number(db, "SELECT max(n) FROM things"),
        "blobs_named": select_number(
            db, "SELECT count(DISTINCT blob) FROM parts WHERE blob IS NOT NULL"
        ),
        **{
            listed.name.lower(): select_number(db, sql, (int(listed), NOBODY))
            for listed in _WHOLE_LISTS
        },
    }


# Maintenance of a store: long work runs in a thread, and only its last step blocks writers.
#
# A rebuild folds the views in a scratch file while other calls write, and installs them in one
# transaction. The old views stay until it is committed. A killed process or a concurrent reader
# never sees half of it.

_PAGE: Final = 500  # bounds the memory of a walk through all files
_PATIENCE_MS: Final = 10_000  # another process may hold the lock of the file
_REPORT_EVERY: Final = 200
_TABLES: Final = (
    "SELECT name FROM fresh.sqlite_schema WHERE type = 'table'"
    " AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)
"""Every table with rows. A full-text index keeps its rows in tables named after it."""

_COLUMNS: Final = "SELECT name FROM pragma_table_info(?, 'fresh')"
"""Only the columns that are not generated."""

StoredAt = Callable[[str], Awaitable[float | None]]
"""Returns when a blob was stored, in seconds since 1970."""


class SqliteMaintenance(ReadOnlyMaintenance):
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
        """Take the same arguments as `ReadOnlyMaintenance`."""
        super().__init__(
            store.path, store.readers, blobs=blobs, blobs_in=blobs_in, copy_files=copy_files
        )
        self._store = store
        self._stored_at = stored_at
        self._clock = clock

    @override
    async def rebuild(self, progress: MaintenanceProgress) -> int:
        fetch, report, store = fetch_on_loop(self.blobs), on_loop(progress), self._store
        with backups.scratch_for(store.path) as db:
            purged = backups.count_purges(db)
            last = await asyncio.to_thread(lambda: _fold_scratch(db, fetch, report))
            async with store.pump.lock_writes():
                await store.pump.in_thread(
                    lambda: _install_rebuilt(store, db, fetch, report, after=last, purged=purged)
                )
        return await store.readers.run_whole(
            lambda db: select_number(db, "SELECT count(*) FROM commits")
        )

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        fetch, store = fetch_on_loop(self.blobs), self._store
        with backups.scratch_for(store.path) as db:
            wanted = frozenset(targets)
            erasure = backups.StoreErasure(db=db, space=space, targets=wanted, fetch=fetch)
            await asyncio.to_thread(erasure.fold_new)
            async with store.pump.lock_writes():
                await store.pump.in_thread(lambda: erasure.drop_payloads(store.writer))
                for digest in erasure.digests:
                    if not await self._is_used(digest):
                        await self.blobs.delete_bytes(digest)
                db.close()
                await store.pump.in_thread(lambda: _scrub_files(store))
        return sum(len(entries) for entries in erasure.dropped.values())

    @override
    async def collect_orphans(self) -> int:
        collected, last = 0, ""
        while page := await self.blobs.list_digests(after=last, limit=_PAGE):
            last = page[-1]
            for digest in page:
                if await self._is_used(digest):
                    continue
                stored = await self._stored_at(digest)
                if stored is not None and self._clock.now() - int(stored * SECOND) > DAY:
                    await self.blobs.delete_bytes(digest)
                    collected += 1
        return collected

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        return {**await super().facts_about_store(), "durability": str(self._store.durability)}

    async def _is_used(self, digest: str) -> bool:
        sql = "SELECT count(*) FROM parts WHERE blob = ?"
        return await self._store.readers.run_short(lambda db: select_number(db, sql, (digest,))) > 0


def _install_rebuilt(
    store: SqliteStore,
    db: apsw.Connection,
    fetch: Fetch,
    progress: MaintenanceProgress,
    *,
    after: int,
    purged: int,
) -> None:
    with connections.translated_errors():
        if (
            backups.count_purges(db) != purged
        ):  # the folded views contain data that was erased since
            make_views(db)
            after = 0
        _fold_scratch(db, fetch, progress, after=after)
        db.execute("DETACH live")
        durability = store.durability
        own = connections.open_connection(
            store.path, writes=True, durability=durability, patience_ms=_PATIENCE_MS
        )
        with closing(own):
            _install_views(own, db.filename)


def _fold_scratch(
    db: apsw.Connection, fetch: Fetch, progress: MaintenanceProgress, *, after: int = 0
) -> int:
    """Fold the commits past `after` into the scratch views of `db`; return the last number."""
    total = select_number(db, "SELECT count(*) FROM live.commits")

    def report_folded(done: int) -> None:
        if done % _REPORT_EVERY == 0:
            progress(min(done, total), total)

    with connections.transaction(db):
        last = fold_all(db, fetch, after=after, seen=report_folded)
        index_queued(db)
    progress(total, total)
    return last


def _install_views(writer: apsw.Connection, fresh: str) -> None:
    """Replace the views by those in the file `fresh`. The caller holds the write lock.

    Close the connection afterwards: it caches the state of the full-text index from before its
    tables were filled. Other connections read it again.
    """
    writer.execute("ATTACH ? AS fresh", (fresh,))
    try:
        with connections.transaction(writer, "BEGIN IMMEDIATE"):
            make_views(writer)
            # Copy every table that has rows, so that no view can be forgotten here.
            for (table,) in list[Any](writer.execute(_TABLES)):
                writer.execute(f"DELETE FROM main.{table}")  # noqa: S608 - as the next
                columns = ", ".join(n for (n,) in list[Any](writer.execute(_COLUMNS, (table,))))
                writer.execute(
                    f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM fresh.{table}"  # noqa: S608 - our own names
                )
    finally:
        writer.execute("DETACH fresh")


def _scrub_files(store: SqliteStore) -> None:
    """Remove all traces from free pages, the write-ahead log and scratch files."""
    backups.forget_others(store.path)
    with connections.translated_errors():
        store.writer.set_busy_timeout(_PATIENCE_MS)
        try:
            store.writer.execute("VACUUM")
        finally:
            store.writer.set_busy_timeout(0)
        emptied = store.checkpoints.empty_log()
    if not emptied:
        message = "Erased, but traces remain while others read the old file. Purge again later."
        raise Unavailable("purge.unfinished", message)
