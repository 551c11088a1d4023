"""Upkeep of an embedded store: long work runs in a thread, and only its last step stops writers."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import apsw
from typing_extensions import override

from canonry.adapters.sqlite.faults import translated
from canonry.adapters.sqlite.ledger import records
from canonry.adapters.sqlite.packing import unpack
from canonry.adapters.sqlite.schema import APPLICATION_ID, SCHEMA_VERSION, VIEWS_VERSION, make_views
from canonry.adapters.sqlite.store import FILE, SqliteStore
from canonry.adapters.sqlite.upkeep.backups import claim, copy_database, write_manifest
from canonry.adapters.sqlite.upkeep.erasure import Erasure, purges
from canonry.adapters.sqlite.upkeep.rebuilding import fold_aside, put_in_place
from canonry.adapters.sqlite.upkeep.scratch import forget_others, number, scratch_beside
from canonry.adapters.sqlite.upkeep.verification import verify_store
from canonry.domain.errors import Unavailable
from canonry.domain.ids import SpaceId
from canonry.domain.time import DAY, SECOND, Instant, render_instant
from canonry.domain.views.listing import NOBODY, List
from canonry.ports.records.blobs import Blobs
from canonry.ports.views.upkeep import Told, Upkeep, Verification
from canonry.ports.world import Clock

_PAGE: Final = 500
_PATIENCE_MS: Final = 10_000
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

StoredAt = Callable[[str], Awaitable[float | None]]
"""When a blob was stored, in seconds since 1970."""


class SqliteUpkeep(Upkeep):
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
        """`blobs_in` gives the blobs of a folder that a backup is written into.

        `copy_files` copies what else lies beside the store, and no commit refers to by a payload.
        """
        self._store = store
        self._blobs = blobs
        self._stored_at = stored_at
        self._blobs_in = blobs_in
        self._clock = clock
        self._copy_files = copy_files

    @override
    async def verify(self, told: Told) -> Verification:
        fetch, tell = self._fetch(), _on_loop(told)
        return await asyncio.to_thread(verify_store, self._store.path, fetch, tell)

    @override
    async def rebuild(self, told: Told) -> int:
        fetch, tell, store = self._fetch(), _on_loop(told), self._store
        with scratch_beside(store.path) as db:
            purged = purges(db)
            last = await asyncio.to_thread(lambda: fold_aside(db, fetch, tell))
            async with store.pump.exclusive():
                await store.pump.in_thread(
                    lambda: _finish(store.writer, db, fetch, tell, after=last, purged=purged)
                )
        return await store.readers.whole(lambda db: number(db, "SELECT count(*) FROM commits"))

    @override
    async def backup(self, target: Path, told: Told) -> Mapping[SpaceId, tuple[int, str]]:
        tell, store = _on_loop(told), self._store.path
        await asyncio.to_thread(claim, target)
        copied = await asyncio.to_thread(copy_database, store, target / FILE, tell)
        blobs = self._blobs_in(target)
        for digest in copied.digests:
            await blobs.put(await self._blobs.get(digest))
        if self._copy_files is not None:
            await self._copy_files(target)
        await asyncio.to_thread(write_manifest, target, copied.heads)
        return copied.heads

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        fetch, store = self._fetch(), self._store
        with scratch_beside(store.path) as db:
            wanted = frozenset(targets)
            erasure = Erasure(db=db, space=space, targets=wanted, fetch=fetch)
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
        told: dict[str, str | int] = await self._store.readers.whole(_facts)
        path = self._store.path
        log = path.with_name(f"{path.name}-wal")
        told["file_bytes"] = path.stat().st_size
        told["log_bytes"] = log.stat().st_size if log.exists() else 0
        told["durability"] = str(self._store.durability)
        told["integrity"] = await self._integrity()
        return told

    async def _integrity(self) -> str:
        try:
            return await self._store.readers.long(_quick_check)
        except Unavailable:
            return "not known: the file is large, ask `canonry verify`"

    async def _is_used(self, digest: str) -> bool:
        sql = "SELECT count(*) FROM parts WHERE blob = ?"
        return await self._store.readers.short(lambda db: number(db, sql, (digest,))) > 0

    async def _is_old(self, digest: str) -> bool:
        stored = await self._stored_at(digest)
        return stored is not None and self._clock.now() - int(stored * SECOND) > DAY

    def _fetch(self) -> Callable[[str], bytes]:
        """Reads a blob from a thread, while the event loop goes on."""
        loop = asyncio.get_running_loop()

        def fetch(digest: str) -> bytes:
            return asyncio.run_coroutine_threadsafe(self._blobs.get(digest), loop).result()

        return fetch


def _on_loop(told: Told) -> Told:
    """Tells a listener of the event loop from a thread."""
    loop = asyncio.get_running_loop()

    def tell(done: int, total: int | None) -> None:
        loop.call_soon_threadsafe(told, done, total)

    return tell


def _finish(
    writer: apsw.Connection,
    db: apsw.Connection,
    fetch: Callable[[str], bytes],
    told: Told,
    *,
    after: int,
    purged: int,
) -> None:
    with translated():
        if purges(db) != purged:  # what was folded holds what has been erased since
            make_views(db)
            after = 0
        fold_aside(db, fetch, told, after=after)
        db.execute("DETACH live")
        put_in_place(writer, db.filename)


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


def _quick_check(db: apsw.Connection) -> str:
    """What SQLite finds wrong with the file, or `ok`."""
    rows: Any = db.execute("PRAGMA quick_check(1)")
    return str(next(iter(rows))[0])


def _facts(db: apsw.Connection) -> dict[str, str | int]:
    sql = "SELECT coalesce(sum(n), 0) FROM counts WHERE list = ? AND owner = ?"
    return {
        "sqlite": apsw.sqlite_lib_version(),
        "apsw": apsw.apsw_version(),
        "application_id": f"{APPLICATION_ID:#x}",
        "schema": SCHEMA_VERSION,
        "views": VIEWS_VERSION,
        "page_bytes": number(db, "PRAGMA page_size"),
        "newest_commit": _newest(db),
        "commits": number(db, "SELECT max(seq) FROM commits"),
        "things": number(db, "SELECT max(n) FROM things"),
        "blobs_named": number(db, "SELECT count(DISTINCT blob) FROM parts WHERE blob IS NOT NULL"),
        **{listed.name.lower(): number(db, sql, (int(listed), NOBODY)) for listed in _WHOLE_LISTS},
    }


def _newest(db: apsw.Connection) -> str:
    """When the newest commit of any space was recorded; nothing where there is none."""
    newest, after = 0, None
    while spaces := records.spaces_after(db, after, _SPACES):
        after = spaces[-1]
        tips = (records.tip_of(db, SpaceId(unpack(each))) for each in spaces)
        newest = max(newest, *(tip.recorded_at for tip in tips))
    return render_instant(Instant(newest)) if newest else ""
