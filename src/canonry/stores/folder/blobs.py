"""Blobs and keys in a folder, and local files."""

import asyncio
import errno
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from pathlib import Path, PurePath
from typing import Final

from typing_extensions import override

from canonry.log.ports.ledger import Blobs, LocalFile, LocalFiles, check_blob
from canonry.values.errors import InvalidInput, NotFound, Unavailable

# Blobs in a folder: each is a file that is named by its hash and written once.
#
# A blob is written under a temporary name, synced and renamed, and the folder is synced too. A file
# with a digest for its name is therefore complete.

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_FAN_OUT: Final = 2


class FolderBlobs(Blobs):
    """Bytes by their hash, in 256 folders by its first two characters."""

    def __init__(self, folder: Path, *, syncs: bool = True) -> None:
        """Store blobs under `folder`, which the first blob creates."""
        self._folder = folder
        self._syncs = syncs

    @override
    async def put_bytes(self, data: bytes) -> str:
        return await asyncio.to_thread(self._put_file, data)

    @override
    async def get_bytes(self, digest: str) -> bytes:
        return await asyncio.to_thread(self._get_file, digest)

    @override
    async def delete_bytes(self, digest: str) -> None:
        path = self._path_of(digest)
        if path is not None:
            await asyncio.to_thread(path.unlink, missing_ok=True)

    @override
    async def list_digests(self, *, after: str = "", limit: int) -> Sequence[str]:
        return await asyncio.to_thread(list, islice(self._list_names(after), limit))

    async def stored_at(self, digest: str) -> float | None:
        """Return when the blob was stored, in seconds since 1970, or None."""
        path = self._path_of(digest)
        try:
            return None if path is None else (await asyncio.to_thread(path.stat)).st_mtime
        except FileNotFoundError:
            return None

    def _put_file(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        path = self._folder / digest[:_FAN_OUT] / digest
        try:
            if path.exists():
                # Renew the time of storing, so that this blob is not collected as unused.
                os.utime(path)
                return digest
            _make_private(path.parent)
            with new_file(path.parent, data, syncs=self._syncs) as new:
                new.replace(path)
            if self._syncs:
                sync_folder(path.parent)
                sync_folder(self._folder)
        except OSError as error:
            raise _blob_error(error) from error
        return digest

    def _get_file(self, digest: str) -> bytes:
        path = self._path_of(digest)
        try:
            data = None if path is None else path.read_bytes()
        except FileNotFoundError:
            data = None
        except OSError as error:
            raise _blob_error(error) from error
        return check_blob(data, digest)

    def _list_names(self, after: str) -> Iterator[str]:
        if not self._folder.is_dir():
            return
        for folder in sorted(self._folder.iterdir()):
            if folder.name >= after[:_FAN_OUT] and folder.is_dir():
                names = (p.name for p in folder.iterdir() if _DIGEST.fullmatch(p.name))
                yield from sorted(name for name in names if name > after)

    def _path_of(self, digest: str) -> Path | None:
        """Return the path of the blob, or None if `digest` is not a digest."""
        if _DIGEST.fullmatch(digest) is None:
            return None
        return self._folder / digest[:_FAN_OUT] / digest


@contextmanager
def new_file(folder: Path, data: bytes, *, syncs: bool = True) -> Iterator[Path]:
    """Write `data` to a temporary file, which is deleted after the block unless renamed."""
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
    """Create a folder and its missing parents, closed to other users."""
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _blob_error(error: OSError) -> Unavailable:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return Unavailable("blobs.full", "The disk is full. Nothing was stored. Free space on it.")
    return Unavailable("blobs.io", "Canonry cannot use the blob folder. Check its disk.")


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk, if the system can."""
    if os.name == "nt":  # Windows cannot sync a folder
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_key(path: Path, make: Callable[[], bytes]) -> bytes:
    """Return the key in the file, or create it with `make`. Of two creators, one wins.

    Raises:
        Unavailable: `file.signing-failed`, the file cannot be read or created, or contains no
            key.
    """
    try:
        if not path.exists():
            _create_key(path, make())
        key = path.read_bytes()
    except OSError as error:
        message = "The key for signing links cannot be stored. Check the data folder and its disk."
        raise Unavailable("file.signing-failed", message) from error
    if len(key) < len(make()):
        message = f"The key for signing links is damaged. Delete {path.name} to make a new one."
        raise Unavailable("file.signing-failed", message)
    return key


def _create_key(path: Path, key: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with new_file(path.parent, key) as new:
        try:
            os.link(new, path)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            if not path.exists():
                new.replace(path)


_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE: Final = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe must not block
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_NOT_THERE: Final = frozenset({errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG, errno.EINVAL})
_PATH_MAX: Final = 4_096  # PATH_MAX of Linux


class FolderLocalFiles(LocalFiles):
    """Reads files below `roots`; without roots it finds none."""

    def __init__(self, roots: Sequence[Path]) -> None:
        """Take the roots as configured. A root may itself be a link."""
        self._roots = tuple(roots)

    @override
    async def read_file(self, path: str, *, most: int) -> LocalFile:
        if not path or len(path) > _PATH_MAX or "\0" in path:
            message = "file_path is not the path of a file. Name a file below an allowed folder."
            raise InvalidInput("file.path", message, path="/file_path")
        return await asyncio.to_thread(self._read_local, path, most)

    def _read_local(self, path: str, most: int) -> LocalFile:
        for root in self._roots:
            parts = _parts_below(root, PurePath(path))
            if parts:
                return LocalFile(name=parts[-1], data=_read_content(root, parts, most))
        raise _unknown_error()


def _parts_below(root: Path, path: PurePath) -> tuple[str, ...] | None:
    """Return the parts of the path below the root, or None if it is elsewhere."""
    if ".." in path.parts:
        return None
    if not path.is_absolute():
        return path.parts
    for base in (root.absolute(), root.resolve()):
        if path.is_relative_to(base):
            return path.relative_to(base).parts
    return None


def _read_content(root: Path, parts: Sequence[str], most: int) -> bytes:
    try:
        with open(_open_file(root, parts), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise _unknown_error()
            data = b"" if about.st_size > most else file.read(most + 1)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise _unknown_error() from error
    except OSError as error:
        if error.errno in _NOT_THERE:
            raise _unknown_error() from error
        message = "The file cannot be read. Check its disk."
        raise Unavailable("file.unreadable", message) from error
    if about.st_size > most or len(data) > most:
        message = f"The file is larger than {most} bytes. Split it, or send only its text."
        raise InvalidInput(
            "file.too-large", message, file_size_bytes=about.st_size, max_size_bytes=most
        )
    return data


def _open_file(root: Path, parts: Sequence[str]) -> int:
    """Open the file without following links; each folder is opened from its parent."""
    if os.open not in os.supports_dir_fd:
        # Open the file on systems without folder handles, if its path contains no links.
        path = root.resolve().joinpath(*parts)
        if path.resolve(strict=True) != path:
            raise _unknown_error()
        return os.open(path, _FILE)
    folder = os.open(root.resolve(), os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _unknown_error() -> NotFound:
    message = (
        "No such file exists below the folders in the setting truth.upload_roots. A relative path "
        "starts in the first of these folders."
    )
    return NotFound("file.unknown", message)
