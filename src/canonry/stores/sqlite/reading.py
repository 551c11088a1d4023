"""A store opened for reading alone: no byte of it changes, and others may write meanwhile."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canonry.log.ports.blobs import Blobs
from canonry.stores.sqlite.anchor import Anchor
from canonry.stores.sqlite.connections import OpenMode, connect
from canonry.stores.sqlite.readers import Readers
from canonry.stores.sqlite.store import DEADLINE, FILE, SqlitePorts, is_current, ports_over, size_of
from canonry.values.errors import BrokenInvariant, NotFound, Unavailable

UNWRITABLE: Final = frozenset(
    {"store.unreachable", "store.read-only", "store.io", "ledger.full", "file.signing-failed"}
)
"""What opening says of a disk that is full or cannot be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedStore(SqlitePorts):
    """Everything that reads one folder, for as long as it is open."""

    path: Path
    way: OpenMode

    async def close(self) -> None:
        """Let running queries end, and let go of the folder."""
        await self.readers.close()


async def open_sealed(folder: Path, *, blobs: Blobs) -> SealedStore:
    """Open the store in `folder` as it is.

    Raises:
        NotFound: `store.absent`.
        BrokenInvariant: `store.not-canonry`, `store.newer`, `store.older` or `store.corrupt`.
        Unavailable: `store.unreachable`, `store.io`, or `store.unclosed`, a server died and left
            commits in a write-ahead log that cannot be read where nothing can be written.
    """
    path = folder / FILE
    if not path.is_file():
        message = f"there is no store in {folder}; name its folder with --data"
        raise NotFound("store.absent", message, path=str(folder))
    way = await asyncio.to_thread(_way_to, path)
    anchor = Anchor(path)
    if way is OpenMode.FROZEN:
        anchor.freeze()
    readers = Readers(path, deadline=DEADLINE, anchor=anchor, way=way)
    anchor.hold()
    return SealedStore(**ports_over(readers, blobs, None), path=path, way=way)


def _way_to(path: Path) -> OpenMode:
    """The first way that leads there; a disk that is full or cannot be written leaves fewer."""
    try:
        _require_current(path, OpenMode.SEALED)
    except Unavailable as error:
        if error.code not in UNWRITABLE:
            raise
    else:
        return OpenMode.SEALED
    way = OpenMode.APART if size_of(Path(f"{path}-wal")) else OpenMode.FROZEN
    try:
        _require_current(path, way)
    except Unavailable as error:
        if way is OpenMode.FROZEN or error.code not in UNWRITABLE:
            raise
        message = (
            "a server died and left commits in the write-ahead log, which cannot be read here: "
            "open the store once where its disk can be written, or copy its folder there"
        )
        raise Unavailable("store.unclosed", message) from error
    return way


def _require_current(path: Path, way: OpenMode) -> None:
    db = connect(path, way=way)
    try:
        if not is_current(db):
            message = "an earlier Canonry wrote this store: open it once for writing"
            raise BrokenInvariant("store.older", message)
    finally:
        db.close()
