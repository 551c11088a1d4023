"""Backups of SQLite, and scratch files."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw

from canonry.readmodels.ports.view import UpkeepProgress
from canonry.stores.sqlite import store as schema
from canonry.stores.sqlite.checkpoints import try_lock
from canonry.stores.sqlite.connections import (
    CACHE_KB,
    OpenMode,
    address,
    connect,
    make_private,
    translated,
)
from canonry.stores.sqlite.ledger.ledger import heads_of
from canonry.values.errors import Conflict, Unavailable
from canonry.values.ids import SpaceId

MANIFEST: Final = "manifest.json"
_PAGES_A_STEP: Final = 500
_HEADS_A_PAGE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What a copy of the database holds: heads, and the digests of the blobs that it needs."""

    heads: Mapping[SpaceId, tuple[int, str]]
    digests: Sequence[str]


def claim(target: Path) -> None:
    """Make the folder that a backup goes into.

    Raises:
        Conflict: `backup.exists`.
    """
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(target.iterdir()):
        message = "the folder is not empty: name a new one for the backup"
        raise Conflict("backup.exists", message)


def copy_database(
    store: Path, target: Path, told: UpkeepProgress, way: OpenMode = OpenMode.SERVED
) -> Copied:
    """Copy the database file; a thread of its own runs this."""
    with translated():
        source = connect(store, patience_ms=10_000, way=way)
        make_private(target)
        copy = apsw.Connection(str(target))
        try:
            source.execute("BEGIN")
            heads = _heads(source)
            with copy.backup("main", source, "main") as steps:
                while not steps.done:
                    steps.step(_PAGES_A_STEP)
                    told(steps.page_count - steps.remaining, steps.page_count)
            sql = "SELECT DISTINCT blob FROM parts WHERE blob IS NOT NULL ORDER BY blob"
            digests = [row[0] for row in source.execute(sql)]
        finally:
            copy.close()
            source.close()
    return Copied(heads=heads, digests=digests)


def write_manifest(folder: Path, heads: Mapping[SpaceId, tuple[int, str]]) -> None:
    """Say what the backup holds; it is whole when this file is there."""
    said = {"format": 1, "heads": {space: list(head) for space, head in sorted(heads.items())}}
    make_private(folder / MANIFEST)
    with (folder / MANIFEST).open("w", encoding="utf-8") as file:
        json.dump(said, file, indent=2)
        file.flush()
        os.fsync(file.fileno())


def _heads(db: apsw.Connection) -> dict[SpaceId, tuple[int, str]]:
    heads: dict[SpaceId, tuple[int, str]] = {}
    last: SpaceId | None = None
    while page := heads_of(db, last, _HEADS_A_PAGE):
        heads.update((head.space, (head.position, head.hash)) for head in page)
        last = page[-1].space
    return heads


# Scratch: the views folded afresh from the records, in a file of its own that is thrown away.
#
# The file stands in the data folder, because what it holds must be erased with the rest; the store
# is attached to it as `live`, so that one statement can compare or copy.

IN_MEMORY: Final = ":memory:"
FOLDER: Final = "scratch"
LOCK: Final = "in-use.lock"
_CLAIMS_MAX: Final = 10


@contextmanager
def scratch_beside(store: Path) -> Iterator[apsw.Connection]:
    """A connection with empty views in a scratch file, and the store attached as `live`."""
    with (
        _claimed(store.parent / FOLDER) as folder,
        scratch_in(str(folder / "views.db"), store) as db,
    ):
        yield db


@contextmanager
def scratch_in(
    file: str, store: Path, *, way: OpenMode = OpenMode.SERVED
) -> Iterator[apsw.Connection]:
    """The same in a file of that name; in memory where the name says so."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    with translated():
        db = apsw.Connection(file, flags=flags)
        try:
            db.execute("PRAGMA journal_mode = OFF")
            db.execute("PRAGMA synchronous = OFF")
            db.execute(f"PRAGMA cache_size = -{CACHE_KB}")
            db.set_busy_timeout(10_000)
            schema.make_views(db)
            db.execute("ATTACH ? AS live", (address(store, way),))
            yield db
        finally:
            db.close()


def forget_others(store: Path) -> None:
    """Remove scratch files that processes left behind when they were killed."""
    for folder in (store.parent / FOLDER).glob("*"):
        with suppress(OSError):
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                abandoned = try_lock(lock)
            finally:
                os.close(lock)
            if abandoned:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _claimed(parent: Path) -> Iterator[Path]:
    """A new folder that is known to be in use until the block ends."""
    folder, lock = _claim(parent)
    try:
        yield folder
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # another process has its own scratch in there
            parent.rmdir()


def _claim(parent: Path) -> tuple[Path, int]:
    for _ in range(_CLAIMS_MAX):
        with suppress(OSError):  # another process took it for abandoned before it was locked
            parent.mkdir(mode=0o700, exist_ok=True)
            folder = Path(tempfile.mkdtemp(dir=parent))
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            if try_lock(lock) and (folder / LOCK).exists():
                return folder, lock
            os.close(lock)
    raise Unavailable("store.unreachable", "no file can be made in the data folder: check it")
