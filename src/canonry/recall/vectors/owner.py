"""The owner's lock: of all processes with a folder one publishes or purges at a time."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final

from canonry.values.errors import Unavailable

_TRIES: Final = 1200
_PAUSE: Final = 0.05

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


@contextmanager
def owning_in_the_end(path: Path) -> Iterator[None]:
    """Hold the lock at `path`, after waiting up to a minute, which is longer than publishing takes.

    Raises:
        Unavailable: `vectors.unfinished`.
    """
    for _ in range(_TRIES):
        with ExitStack() as stack:
            if stack.enter_context(owning(path)):
                yield
                return
        time.sleep(_PAUSE)
    raise unfinished()


def unfinished() -> Unavailable:
    """The error for bytes that stay because somebody else uses the file."""
    message = "removed, but another process keeps a file of the vector index: do it again"
    return Unavailable("vectors.unfinished", message)
