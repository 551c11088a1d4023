"""Purging: removed vectors are overwritten in every file, also in those that others still map.

No search returns a row that was removed, so its bytes may change while somebody reads the file.
"""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from canonry.recall.vectors.codes import Numbers
from canonry.recall.vectors.owner import owning
from canonry.values.errors import Unavailable

_TRIES: Final = 1200
_PAUSE: Final = 0.05


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


def overwrite(path: Path, places: Numbers, width: int) -> None:
    """Write zeros over so many bytes at each of the places."""
    if not len(places):
        return
    with path.open("r+b") as file:
        for place in places:
            file.seek(int(place))
            file.write(bytes(width))
        file.flush()
        os.fsync(file.fileno())


def unfinished() -> Unavailable:
    """The error for bytes that stay because somebody else uses the file."""
    message = "removed, but another process keeps a file of the vector index: do it again"
    return Unavailable("vectors.unfinished", message)
