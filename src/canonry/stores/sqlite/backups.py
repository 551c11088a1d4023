"""Backups of SQLite, scratch files, and erasure."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import apsw

from canonry.log.commits import ORIGIN, Position
from canonry.log.ports.ledger import entries_about
from canonry.log.sealing import require_unaltered, unseal
from canonry.readmodels.ports.view import MaintenanceProgress
from canonry.stores.sqlite import commits, connections, views
from canonry.stores.sqlite import store as schema
from canonry.stores.sqlite.ledger import heads_of
from canonry.stores.sqlite.rows import Packed, item_in_row, select_number, unpack_id
from canonry.stores.sqlite.store import make_views
from canonry.stores.sqlite.views import PAGE, Fetch, complete_commit, fold_into
from canonry.values.errors import Conflict, Unavailable
from canonry.values.ids import SpaceId

MANIFEST: Final = "manifest.json"
_PAGES_A_STEP: Final = 500  # writers go on between two steps
_HEADS_A_PAGE: Final = 500


def claim_folder(target: Path) -> None:
    """Create the folder of a backup, or accept an empty one.

    Raises:
        Conflict: `backup.exists`, the folder is not empty.
    """
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(target.iterdir()):
        message = f"The folder {target} is not empty. Name a new folder for the backup."
        raise Conflict("backup.exists", message)


def copy_database(
    store: Path,
    target: Path,
    progress: MaintenanceProgress,
    mode: connections.OpenMode = connections.OpenMode.SERVED,
) -> tuple[Mapping[SpaceId, tuple[int, str]], Sequence[str]]:
    """Copy the database file. Call this in a thread.

    Return the heads of the copy, and the digests of the blobs that it needs.
    """
    with connections.translated_errors():
        source = connections.open_connection(store, patience_ms=10_000, mode=mode)
        connections.make_private(target)
        copy = apsw.Connection(str(target))
        try:
            source.execute("BEGIN")
            heads: dict[SpaceId, tuple[int, str]] = {}
            last: SpaceId | None = None
            while page := heads_of(source, last, _HEADS_A_PAGE):
                heads.update((head.space, (head.position, head.hash)) for head in page)
                last = page[-1].space
            with copy.backup("main", source, "main") as steps:
                while not steps.done:
                    steps.step(_PAGES_A_STEP)
                    progress(steps.page_count - steps.remaining, steps.page_count)
            sql = "SELECT DISTINCT blob FROM parts WHERE blob IS NOT NULL ORDER BY blob"
            digests = [row[0] for row in source.execute(sql)]
        finally:
            copy.close()
            source.close()
    return heads, digests


def write_manifest(folder: Path, heads: Mapping[SpaceId, tuple[int, str]]) -> None:
    """Write the list of heads. A backup with this file is complete."""
    manifest = {"format": 1, "heads": {space: list(head) for space, head in sorted(heads.items())}}
    connections.make_private(folder / MANIFEST)
    with (folder / MANIFEST).open("w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=2)
        file.flush()
        os.fsync(file.fileno())


# Scratch: views that are folded again from the records into a temporary file.
#
# The file is in the data folder, because its content must be erased with the rest. The store is
# attached to it as `live`, so that one statement can compare or copy.

IN_MEMORY: Final = ":memory:"
FOLDER: Final = "scratch"
LOCK: Final = "in-use.lock"
_CLAIMS_MAX: Final = 10  # a folder may be removed as abandoned before it is locked


@contextmanager
def scratch_for(store: Path) -> Iterator[apsw.Connection]:
    """Open a connection to empty views in a scratch file, with the store attached as `live`."""
    with (
        _claimed_folder(store.parent / FOLDER) as folder,
        scratch_in(str(folder / "views.db"), store) as db,
    ):
        yield db


@contextmanager
def scratch_in(
    file: str, store: Path, *, mode: connections.OpenMode = connections.OpenMode.SERVED
) -> Iterator[apsw.Connection]:
    """Open the same connection for a given file name or `IN_MEMORY`."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    with connections.translated_errors():
        db = apsw.Connection(file, flags=flags)
        try:
            db.execute("PRAGMA journal_mode = OFF")
            db.execute("PRAGMA synchronous = OFF")
            db.execute(f"PRAGMA cache_size = -{connections.CACHE_KB}")
            db.set_busy_timeout(10_000)
            schema.make_views(db)
            db.execute("ATTACH ? AS live", (connections.store_uri(store, mode),))
            yield db
        finally:
            db.close()


def forget_others(store: Path) -> None:
    """Remove scratch files of processes that were killed."""
    for folder in (store.parent / FOLDER).glob("*"):
        with suppress(OSError):
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                abandoned = connections.try_lock(lock)
            finally:
                os.close(lock)
            if abandoned:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _claimed_folder(parent: Path) -> Iterator[Path]:
    """Create a folder that is locked until the block ends."""
    folder, lock = _try_claim(parent)
    try:
        yield folder
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # another process has scratch files there
            parent.rmdir()


def _try_claim(parent: Path) -> tuple[Path, int]:
    for _ in range(_CLAIMS_MAX):
        with suppress(OSError):  # another process removed it as abandoned before it was locked
            parent.mkdir(mode=0o700, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=parent))
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            if connections.try_lock(lock) and (folder / LOCK).exists():
                return folder, lock
            os.close(lock)
    raise Unavailable("store.unreachable", "No file can be created in the data folder. Check it.")


# Erasure drops payloads and corrects the views in the same transaction.
#
# The space is folded again without the payloads while other calls write. Only the differences,
# which are few, are written under the write lock.

_CHUNK: Final = 500  # SQLite limits the variables of a statement
_CHANGED: Final = (
    "SELECT f.id FROM fresh.things f LEFT JOIN main.things m ON m.id = f.id"
    " WHERE m.id IS NULL OR m.kind <> f.kind OR m.body <> f.body ORDER BY f.n"
)
_OURS: Final = (
    "SELECT id, since, kind, body FROM main.versions WHERE id IN (SELECT id FROM fresh.things)"
)
_TRUE: Final = "SELECT id, since, kind, body FROM fresh.versions"
_REVISED: Final = (
    f"SELECT id FROM ({_TRUE} EXCEPT {_OURS})"  # noqa: S608 - our own SQL
    f" UNION SELECT id FROM ({_OURS} EXCEPT {_TRUE})"
)
_DROP: Final = (
    "UPDATE parts SET salt = NULL, payload = NULL, blob = NULL WHERE seq = ? AND entry = ?"
)


@dataclass(slots=True, kw_only=True)
class StoreErasure:
    """Erases all data about `targets`. `db` has scratch views and the store attached as `live`."""

    db: apsw.Connection
    space: SpaceId
    targets: frozenset[str]
    fetch: Fetch
    purges: int = -1
    folded: Position = ORIGIN
    dropped: dict[int, frozenset[int]] = field(default_factory=dict)
    digests: set[str] = field(default_factory=set)

    def fold_new(self) -> None:
        """Fold the new commits of the space, without the payloads to be dropped."""
        with connections.translated_errors(), connections.transaction(self.db):
            # Start again if another purge may have erased data that was folded here.
            now = count_purges(self.db)
            if self.purges not in {-1, now}:
                make_views(self.db)
                self.folded = ORIGIN
                self.dropped.clear()
                self.digests.clear()
            self.purges = now
            while page := commits.by_space(self.db, self.space, after=self.folded, limit=PAGE):
                for stored in page:
                    about = entries_about(stored.sealed.body, stored.sealed.parts, self.targets)
                    if about:
                        self.dropped[stored.seq] = about
                        self.digests.update(d for e, d in stored.blobs.items() if e in about)
                    fold_into(
                        self.db,
                        unseal(require_unaltered(complete_commit(stored, self.fetch, about))),
                    )
                    self.folded = stored.sealed.position

    def drop_payloads(self, writer: apsw.Connection) -> None:
        """Drop the payloads and correct the views in one transaction; the caller holds the lock."""
        self.fold_new()
        with connections.translated_errors():
            self.db.execute("DETACH live")
            writer.execute("ATTACH ? AS fresh", (self.db.filename,))
            try:
                with connections.transaction(writer, "BEGIN IMMEDIATE"):
                    dropped = [(seq, entry) for seq, some in self.dropped.items() for entry in some]
                    writer.executemany(_DROP, dropped)
                    count = (count_purges(writer) + 1,)
                    writer.execute("INSERT OR REPLACE INTO main.meta VALUES ('purges', ?)", count)
                    _correct_views(writer)
            finally:
                writer.execute("DETACH fresh")


def count_purges(db: apsw.Connection) -> int:
    """Return the number of purges that dropped records."""
    return select_number(db, "SELECT coalesce(max(value), 0) FROM meta WHERE name = 'purges'")


def _correct_views(writer: apsw.Connection) -> None:
    """Copy the items and versions of `fresh` that differ into the views."""
    changed = [row[0] for row in list[Any](writer.execute(_CHANGED))]
    for start in range(0, len(changed), _CHUNK):
        chunk = changed[start : start + _CHUNK]
        before = views.load_items(writer, map(unpack_id, chunk))
        views.store_items(writer, ([item] for item in _fresh_items(writer, chunk)), before)
    # Storing adds the old state as a version, but it was never a version of the item.
    for (packed,) in list[Any](writer.execute(_REVISED)):
        writer.execute("DELETE FROM main.versions WHERE id = ?", (packed,))
        writer.execute(
            f"INSERT INTO main.versions (id, since, kind, body) {_TRUE} WHERE id = ?"
            " ORDER BY since",
            (packed,),
        )


def _fresh_items(writer: apsw.Connection, ids: Sequence[Packed]) -> list[Any]:
    found = []
    for packed in ids:
        sql = "SELECT kind, body FROM fresh.things WHERE id = ?"
        kind, body = list[Any](writer.execute(sql, (packed,)))[0]
        found.append(item_in_row(kind, body))
    return found
