"""What upkeep does to a store that it only looks at: it needs no place to write but a backup's."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import apsw
from typing_extensions import override

from canonry.log.ports.blobs import Blobs
from canonry.readmodels.listing import NOBODY, UNCOUNTED, List
from canonry.readmodels.ports.view import Finding, Upkeep, UpkeepProgress, Verification
from canonry.stores.sqlite.bodies import unpack
from canonry.stores.sqlite.connections import OpenMode
from canonry.stores.sqlite.ledger import records
from canonry.stores.sqlite.lookups import number
from canonry.stores.sqlite.readers import Readers
from canonry.stores.sqlite.store import APPLICATION_ID, FILE, SCHEMA_VERSION, VIEWS_VERSION
from canonry.stores.sqlite.upkeep.backups import claim, copy_database, write_manifest
from canonry.stores.sqlite.upkeep.verification import verify_store
from canonry.values.errors import NotSupported, Unavailable
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant, render_instant

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
"""Kinds of which every thing is a passage."""

_UNCOUNTED: Final = ", ".join(map(str, sorted(UNCOUNTED)))
_PASSAGES: Final = int(List.PASSAGES)
_LISTED: Final = ", ".join(map(str, sorted({*UNCOUNTED, _PASSAGES, int(List.TIMELINE)})))
_LOST: Final = (
    f"SELECT count(*) FROM things t WHERE t.kind IN ({_TOLD})"  # noqa: S608 - our own SQL
    " AND NOT EXISTS (SELECT 1 FROM passage_stems s WHERE s.n = t.n)"
    " AND NOT EXISTS (SELECT 1 FROM unindexed u WHERE u.n = t.n)"
)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two statements that give one number, and what it means where they do not.

    They read no payload and decode nothing, so that a glance may follow every backup. They show a
    view that was lost or half copied; whether a row says what the records say, `verify` tells.
    """

    where: str
    what: str
    one: str
    two: str

    def look(self, db: apsw.Connection) -> Finding | None:
        """What does not agree; `db` sees one moment of the store."""
        if number(db, self.one) == number(db, self.two):
            return None
        return Finding(where=self.where, what=self.what)


_PAIRS: Final = (
    _Pair(
        "passages",
        "the index of words has not the passages that it is said to have",
        "SELECT count(*) FROM passages_docsize",
        f"SELECT coalesce(sum(n), 0) FROM counts WHERE list = {_PASSAGES} AND facet = 'passages'",  # noqa: S608
    ),
    _Pair(
        "passage_stems",
        "the stems are not those of as many passages as there are",
        "SELECT count(*) FROM passage_stems",
        "SELECT count(*) FROM passages_docsize",
    ),
    _Pair(
        "things",
        "something that was told is neither indexed nor waits to be",
        _LOST,
        "SELECT 0",
    ),
    _Pair(
        "listing",
        "the lists have not the rows that they are said to have",
        f"SELECT count(*) FROM listing WHERE list NOT IN ({_UNCOUNTED})",  # noqa: S608
        f"SELECT coalesce(sum(n), 0) FROM counts WHERE list NOT IN ({_LISTED})",  # noqa: S608
    ),
)
"""Each is looked at in a moment of its own, since long ones keep the log from being emptied."""


class LookingUpkeep(Upkeep):
    """Reads the store at `path` by a way that changes nothing."""

    def __init__(
        self,
        path: Path,
        readers: Readers,
        *,
        blobs: Blobs,
        blobs_in: Callable[[Path], Blobs],
        copy_files: Callable[[Path], Awaitable[None]] | None = None,
        way: OpenMode = OpenMode.SERVED,
    ) -> None:
        """`blobs_in` gives the blobs of a folder that a backup is written into.

        `copy_files` copies what else lies beside the store, and no commit refers to by a payload.
        """
        self._path = path
        self._readers = readers
        self._blobs = blobs
        self._blobs_in = blobs_in
        self._copy_files = copy_files
        self._way = way

    @override
    async def verify(self, told: UpkeepProgress) -> Verification:
        fetch, tell, way = self._fetch(), on_loop(told), self._way
        return await asyncio.to_thread(lambda: verify_store(self._path, fetch, tell, way=way))

    @override
    async def glance(self) -> Sequence[Finding]:
        found = [await self._readers.whole(pair.look) for pair in _PAIRS]
        return tuple(each for each in found if each is not None)

    @override
    async def backup(self, target: Path, told: UpkeepProgress) -> Mapping[SpaceId, tuple[int, str]]:
        tell = on_loop(told)
        await asyncio.to_thread(claim, target)
        copied = await asyncio.to_thread(
            lambda: copy_database(self._path, target / FILE, tell, self._way)
        )
        blobs = self._blobs_in(target)
        for digest in copied.digests:
            await blobs.put(await self._blobs.get(digest))
        if self._copy_files is not None:
            await self._copy_files(target)
        await asyncio.to_thread(write_manifest, target, copied.heads)
        return copied.heads

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
        told: dict[str, str | int] = await self._readers.whole(_facts, together=False)
        log = self._path.with_name(f"{self._path.name}-wal")
        told["file_bytes"] = self._path.stat().st_size
        told["log_bytes"] = log.stat().st_size if log.exists() else 0
        told["integrity"] = await self._integrity()
        return told

    async def _integrity(self) -> str:
        try:
            return await self._readers.long(_quick_check)
        except Unavailable:
            return "not known: the file is large, ask `canonry verify`"

    def _fetch(self) -> Callable[[str], bytes]:
        """Reads a blob from a thread, while the event loop goes on."""
        loop = asyncio.get_running_loop()

        def fetch(digest: str) -> bytes:
            return asyncio.run_coroutine_threadsafe(self._blobs.get(digest), loop).result()

        return fetch


def on_loop(told: UpkeepProgress) -> UpkeepProgress:
    """Tells a listener of the event loop from a thread."""
    loop = asyncio.get_running_loop()

    def tell(done: int, total: int | None) -> None:
        loop.call_soon_threadsafe(told, done, total)

    return tell


def _unwritable() -> NotSupported:
    message = "this store is open for reading only: make its disk writable, or make room on it"
    return NotSupported("store.reading-only", message)


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
