"""Upkeep of an embedded store: long work runs in a thread, and only its last step stops writers.

A rebuild folds the views in a scratch file while others write, and puts them in place in one
transaction. Until it is committed the old views stand; so a process that is killed meanwhile, or
others that read, never see half of it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import apsw
from typing_extensions import override

from canonry.log.ports.blobs import Blobs
from canonry.log.ports.world import Clock
from canonry.readmodels.ports.view import UpkeepProgress
from canonry.stores.sqlite.connections import connect, transaction, translated
from canonry.stores.sqlite.lookups import number
from canonry.stores.sqlite.store import SqliteStore, make_views
from canonry.stores.sqlite.text.vocabulary import index_waiting
from canonry.stores.sqlite.upkeep.backups import forget_others, scratch_beside
from canonry.stores.sqlite.upkeep.erasure import StoreErasure, purges
from canonry.stores.sqlite.upkeep.looking import LookingUpkeep, on_loop
from canonry.stores.sqlite.views import Fetch, fold_all
from canonry.values.errors import Unavailable
from canonry.values.ids import SpaceId
from canonry.values.moments import DAY, SECOND

_PAGE: Final = 500
_PATIENCE_MS: Final = 10_000
_TELL_EVERY: Final = 200
_TABLES: Final = (
    "SELECT name FROM fresh.sqlite_schema WHERE type = 'table'"
    " AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)
"""Every table that holds rows: an index of words keeps its own in tables beside its name."""

_COLUMNS: Final = "SELECT name FROM pragma_table_info(?, 'fresh')"
"""Those that are not generated out of others."""

StoredAt = Callable[[str], Awaitable[float | None]]
"""When a blob was stored, in seconds since 1970."""


class SqliteUpkeep(LookingUpkeep):
    """Works on the folder of an open store."""

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
        """As for one that only looks."""
        super().__init__(
            store.path, store.readers, blobs=blobs, blobs_in=blobs_in, copy_files=copy_files
        )
        self._store = store
        self._stored_at = stored_at
        self._clock = clock

    @override
    async def rebuild(self, told: UpkeepProgress) -> int:
        fetch, tell, store = self._fetch(), on_loop(told), self._store
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
        fetch, store = self._fetch(), self._store
        with scratch_beside(store.path) as db:
            wanted = frozenset(targets)
            erasure = StoreErasure(db=db, space=space, targets=wanted, fetch=fetch)
            await asyncio.to_thread(erasure.fold)
            async with store.pump.exclusive():
                await store.pump.in_thread(lambda: erasure.finish(store.writer))
                for digest in erasure.digests:
                    if not await self._is_used(digest):
                        await self._blobs.delete(digest)
                db.close()
                await store.pump.in_thread(lambda: _scrub(store))
        return sum(len(entries) for entries in erasure.dropped.values())

    @override
    async def collect_orphans(self) -> int:
        collected, last = 0, ""
        while page := await self._blobs.digests(after=last, limit=_PAGE):
            last = page[-1]
            for digest in page:
                if not await self._is_used(digest) and await self._is_old(digest):
                    await self._blobs.delete(digest)
                    collected += 1
        return collected

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        return {**await super().facts_about_store(), "durability": str(self._store.durability)}

    async def _is_used(self, digest: str) -> bool:
        sql = "SELECT count(*) FROM parts WHERE blob = ?"
        return await self._store.readers.short(lambda db: number(db, sql, (digest,))) > 0

    async def _is_old(self, digest: str) -> bool:
        stored = await self._stored_at(digest)
        return stored is not None and self._clock.now() - int(stored * SECOND) > DAY


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
        if purges(db) != purged:  # what was folded holds what has been erased since
            make_views(db)
            after = 0
        _fold_aside(db, fetch, told, after=after)
        db.execute("DETACH live")
        durability = store.durability
        own = connect(store.path, writes=True, durability=durability, patience_ms=_PATIENCE_MS)
        with closing(own):
            _put_in_place(own, db.filename)


def _fold_aside(
    db: apsw.Connection,
    fetch: Fetch,
    told: UpkeepProgress,
    *,
    after: int = 0,
) -> int:
    """Fold the commits past `after` into the scratch views of `db`; the last number."""
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
    """Replace the views by those in the file `fresh`; the caller holds the turn.

    The connection is to be closed afterwards: it remembers what the index of words looked like
    before its tables were filled, and every other one looks anew.
    """
    writer.execute("ATTACH ? AS fresh", (fresh,))
    try:
        with transaction(writer, "BEGIN IMMEDIATE"):
            make_views(writer)
            # Whatever has rows is copied, so that no view can be forgotten here.
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
    """Leave no trace in free pages, in the write-ahead log, or in scratch files."""
    forget_others(store.path)
    with translated():
        store.writer.set_busy_timeout(_PATIENCE_MS)
        try:
            store.writer.execute("VACUUM")
        finally:
            store.writer.set_busy_timeout(0)
        emptied = store.checkpoints.empty()
    if not emptied:
        message = "erased, but others still read the old file; purge again to remove its traces"
        raise Unavailable("purge.unfinished", message)
