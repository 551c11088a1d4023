"""Blobs in a folder, each in a file that is named by its hash and written once.

A blob is written under another name, synced, and then renamed, and the folder is synced as well: a
file with a digest for its name is whole.
"""

import asyncio
import errno
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from typing_extensions import override

from canonry.log.ports.blobs import Blobs
from canonry.values.errors import BrokenInvariant, NotFound, Unavailable

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_FAN_OUT: Final = 2


class FolderBlobs(Blobs):
    """Bytes by their hash, in 256 folders by its first two characters."""

    def __init__(self, folder: Path, *, syncs: bool = True) -> None:
        """Keep blobs under `folder`, which is made with the first of them."""
        self._folder = folder
        self._syncs = syncs

    @override
    async def put(self, data: bytes) -> str:
        return await asyncio.to_thread(self._put, data)

    @override
    async def get(self, digest: str) -> bytes:
        return await asyncio.to_thread(self._get, digest)

    @override
    async def delete(self, digest: str) -> None:
        path = self._path(digest)
        if path is not None:
            await asyncio.to_thread(path.unlink, missing_ok=True)

    @override
    async def digests(self, *, after: str = "", limit: int) -> Sequence[str]:
        return await asyncio.to_thread(self._digests, after, limit)

    async def stored_at(self, digest: str) -> float | None:
        """When the blob was stored, in seconds since 1970; None where there is none."""
        path = self._path(digest)
        try:
            return None if path is None else (await asyncio.to_thread(path.stat)).st_mtime
        except FileNotFoundError:
            return None

    def _put(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        path = self._folder / digest[:_FAN_OUT] / digest
        try:
            if path.exists():
                # It counts as stored now, so that nobody collects it as an orphan meanwhile.
                os.utime(path)
                return digest
            _make_private(path.parent)
            self._write(path, data)
        except OSError as error:
            raise _fault(error) from error
        return digest

    def _write(self, path: Path, data: bytes) -> None:
        with new_file(path.parent, data, syncs=self._syncs) as new:
            new.replace(path)
        if self._syncs:
            sync_folder(path.parent)
            sync_folder(self._folder)

    def _get(self, digest: str) -> bytes:
        path = self._path(digest)
        try:
            data = None if path is None else path.read_bytes()
        except FileNotFoundError:
            data = None
        except OSError as error:
            raise _fault(error) from error
        if data is None:
            raise NotFound("blobs.unknown", "there are no bytes under this digest", digest=digest)
        if sha256(data).hexdigest() != digest:
            message = "a stored blob was altered: run `canonry verify` and restore a backup"
            raise BrokenInvariant("blobs.altered", message, digest=digest)
        return data

    def _digests(self, after: str, limit: int) -> Sequence[str]:
        found: list[str] = []
        for name in self._names(after):
            if len(found) >= limit:
                break
            found.append(name)
        return found

    def _names(self, after: str) -> Iterator[str]:
        if not self._folder.is_dir():
            return
        for folder in sorted(self._folder.iterdir()):
            if folder.name >= after[:_FAN_OUT] and folder.is_dir():
                names = (p.name for p in folder.iterdir() if _DIGEST.fullmatch(p.name))
                yield from sorted(name for name in names if name > after)

    def _path(self, digest: str) -> Path | None:
        """Where the blob is; None for what is no digest, and so names no file."""
        if _DIGEST.fullmatch(digest) is None:
            return None
        return self._folder / digest[:_FAN_OUT] / digest


@contextmanager
def new_file(folder: Path, data: bytes, *, syncs: bool = True) -> Iterator[Path]:
    """A file that holds `data` whole, under a name of its own; gone unless it gets another."""
    handle, name = tempfile.mkstemp(prefix=".new-", dir=folder)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if syncs:
                os.fsync(file.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, which others cannot enter."""
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _fault(error: OSError) -> Unavailable:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return Unavailable("blobs.full", "the disk is full: make room, nothing was stored")
    return Unavailable("blobs.io", "the blob folder cannot be used: check it and its disk")


def sync_folder(folder: Path) -> None:
    """Make durable which names are in the folder, where the system can."""
    if os.name == "nt":  # Windows has no handle of a folder to sync
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
