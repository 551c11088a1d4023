"""The owner's lock: of all processes with a folder one builds the index, and none waits for it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt

    def _take(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(file: IO[bytes]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def owning(path: Path) -> Iterator[bool]:
    """Whether the lock at `path` was free; it is held within, and falls with the process."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(0o600)
    with path.open("ab") as file:
        try:
            _take(file)
        except OSError:
            yield False
        else:
            yield True
