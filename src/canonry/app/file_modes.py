"""File modes: only the owner can read files that Canonry writes.

The umask of the process applies to every file and folder that any part of it creates.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_OURS: Final = ("canon.db*", "recall*", "blobs", "files", "files.key", "scratch", "*.lock")
_POSIX: Final = os.name == "posix"


@contextmanager
def private_files() -> Iterator[None]:
    """Close all files that this process creates within the block to other users."""
    before = os.umask(_OTHERS) if _POSIX else 0
    try:
        yield
    finally:
        if _POSIX:
            os.umask(before)


def paths_open_to_others(data: Path) -> Sequence[Path]:
    """Return the paths of the store in `data` that other users may read.

    An older version or a looser umask made them. The folder itself is one of them only if it holds
    nothing but the store.
    """
    if not _POSIX or not data.is_dir():
        return ()
    ours = {each for pattern in _OURS for each in data.glob(pattern)}
    found = [*ours, *(each for folder in ours if folder.is_dir() for each in folder.rglob("*"))]
    if ours and ours.issuperset(data.iterdir()):
        found.append(data)
    return sorted(each for each in found if _is_open(each))


def close_to_others(paths: Sequence[Path]) -> None:
    """Remove all rights of other users; the owner's rights stay.

    Raises:
        OSError: if another user owns one of them, or its disk is not writable.
    """
    for path in paths:
        with suppress(FileNotFoundError):  # a server deleted it meanwhile
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)


def _is_open(path: Path) -> bool:
    with suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        return not stat.S_ISLNK(mode) and bool(mode & _OTHERS)
    return False
