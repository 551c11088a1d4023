"""Scratch: the views folded afresh from the records, in a file of its own that is thrown away.

The file stands in the data folder, because what it holds must be erased with the rest; the store
is attached to it as `live`, so that one statement can compare or copy.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw

from canonry.stores.sqlite import schema
from canonry.stores.sqlite.connections import CACHE_KB, OpenMode, address
from canonry.stores.sqlite.faults import translated
from canonry.stores.sqlite.turnstile import try_lock
from canonry.values.errors import Unavailable

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
