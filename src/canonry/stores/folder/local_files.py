"""Files of this machine below allowed folders, opened part by part so that no link is followed."""

import asyncio
import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Final

from typing_extensions import override

from canonry.log.ports.local_files import LocalFile, LocalFiles
from canonry.values.errors import InvalidInput, NotFound, Unavailable

_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE: Final = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe must not keep anybody waiting
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_NOT_THERE: Final = frozenset({errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG, errno.EINVAL})
_PATH_MAX: Final = 4_096


class FolderLocalFiles(LocalFiles):
    """Reads below `roots`; without roots there are no files."""

    def __init__(self, roots: Sequence[Path]) -> None:
        """A root may itself be a link: the operator named it."""
        self._roots = tuple(roots)

    @override
    async def read(self, path: str, *, most: int) -> LocalFile:
        if not path or len(path) > _PATH_MAX or "\0" in path:
            message = "file_path is no path of a file; name one below an allowed folder"
            raise InvalidInput("file.path", message, path="/file_path")
        return await asyncio.to_thread(self._read, path, most)

    def _read(self, path: str, most: int) -> LocalFile:
        for root in self._roots:
            parts = _below(root, PurePath(path))
            if parts:
                return LocalFile(name=parts[-1], data=_content(root, parts, most))
        raise _unknown()


def _below(root: Path, path: PurePath) -> tuple[str, ...] | None:
    """The parts of the path below the root, None where it is not below it."""
    if ".." in path.parts:
        return None
    if not path.is_absolute():
        return path.parts
    for base in (root.absolute(), root.resolve()):
        if path.is_relative_to(base):
            return path.relative_to(base).parts
    return None


def _content(root: Path, parts: Sequence[str], most: int) -> bytes:
    try:
        with open(_opened(root, parts), "rb") as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode):
                raise _unknown()
            data = b"" if about.st_size > most else file.read(most + 1)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise _unknown() from error
    except OSError as error:
        if error.errno in _NOT_THERE:
            raise _unknown() from error
        message = "the file cannot be read: check the disk that it is on"
        raise Unavailable("file.unreadable", message) from error
    if about.st_size > most or len(data) > most:
        message = f"the file is larger than {most} bytes; split it, or bring its text alone"
        raise InvalidInput(
            "file.too-large", message, file_size_bytes=about.st_size, max_size_bytes=most
        )
    return data


def _opened(root: Path, parts: Sequence[str]) -> int:
    """A descriptor of the file; each folder on the way is opened from the one above it."""
    if os.open not in os.supports_dir_fd:
        return _resolved(root, parts)
    folder = os.open(root.resolve(), os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _resolved(root: Path, parts: Sequence[str]) -> int:
    """The same where folders have no descriptors: a path that resolves to itself has no links."""
    path = root.resolve().joinpath(*parts)
    if path.resolve(strict=True) != path:
        raise _unknown()
    return os.open(path, _FILE)


def _unknown() -> NotFound:
    message = (
        "there is no such file below the allowed folders, which the setting truth.upload_roots "
        "names; a path without a root begins in the first of them"
    )
    return NotFound("file.unknown", message)
