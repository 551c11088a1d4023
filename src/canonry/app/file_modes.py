"""File modes: only its owner can read what Canonry writes.

The mask of the process does it for every file and folder, whoever in the process makes them.
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
    """Whatever this process makes within is closed to everybody else."""
    before = os.umask(_OTHERS) if _POSIX else 0
    try:
        yield
    finally:
        if _POSIX:
            os.umask(before)


def open_to_others(data: Path) -> Sequence[Path]:
    """What others may read of the store in `data`, made by an older version or a looser mask.

    The folder itself is among it only where nothing lies in it that is not the store's.
    """
    if not _POSIX or not data.is_dir():
        return ()
    ours = {each for pattern in _OURS for each in data.glob(pattern)}
    found = [*ours, *(each for folder in ours if folder.is_dir() for each in folder.rglob("*"))]
    if ours and ours.issuperset(data.iterdir()):
        found.append(data)
    return sorted(each for each in found if _is_open(each))


def close_to_others(paths: Sequence[Path]) -> None:
    """Take every right from others; the owner's stay as they are.

    Raises:
        OSError: one of them belongs to somebody else, or its disk cannot be written.
    """
    for path in paths:
        with suppress(FileNotFoundError):  # a server tidied it away meanwhile
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)


def _is_open(path: Path) -> bool:
    with suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        return not stat.S_ISLNK(mode) and bool(mode & _OTHERS)
    return False
