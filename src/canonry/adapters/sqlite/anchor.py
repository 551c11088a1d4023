"""The anchor: what is open is what lies at the store's path, and no shorter than it was.

A folder that is deleted or moved takes its open files along, and what is written into them then is
found by nobody. A file that is cut kills whoever has it in memory: SQLite shares the index of the
write-ahead log that way (`-shm`), and reads large stores so. Both are looked for where they would
do harm, by the cheapest question that the system answers: what stands at a path.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from canonry.domain.errors import Unavailable

_Id: TypeAlias = tuple[int, int]


class Anchor:
    """The files of one store as they were when they were opened."""

    def __init__(self, path: Path) -> None:
        """Hold nothing yet; `hold` follows when the files are open."""
        self._path: Final = path.absolute()
        self._log: Final = Path(f"{self._path}-wal")
        self._index: Final = Path(f"{self._path}-shm")
        self._known: Sequence[_Id | None] = ()
        self._index_bytes = 0
        self._bytes = 0
        self.mended = 0

    def hold(self) -> None:
        """Remember which files are open; no other process makes them anew meanwhile."""
        self._known = [_id_at(each) for each in (self._path, self._log, self._index)]
        self.look()

    def look(self) -> bool:
        """Look before anything is read: whether the database is shorter than at the last look."""
        self._mend_index()
        return self._is_shorter()

    def require_in_place(self) -> None:
        """Refuse to go on where the open files are no longer those at their paths.

        Raises:
            Unavailable: `store.moved`.
        """
        known = self._known
        if known and [_id_at(each) for each in (self._path, self._log, self._index)] != known:
            raise _moved()

    def require_file(self) -> None:
        """The same by a shorter look, for what has just been written.

        Raises:
            Unavailable: `store.moved`.
        """
        if self._known and _id_at(self._path) != self._known[0]:
            raise _moved()

    def _is_shorter(self) -> bool:
        """By a purge or by damage; whoever has it in memory must let go of what is no more."""
        try:
            size = self._path.stat().st_size
        except OSError:
            return False
        self._bytes, before = size, self._bytes
        return size < before

    def _mend_index(self) -> None:
        """Give a shared index that was cut its length again, as zeros, which SQLite makes anew.

        Memory that is mapped past the end of a file is death to whoever touches it. What was read
        meanwhile may miss commits: `mended` counts up, so that it is read again.
        """
        try:
            size = self._index.stat().st_size
            if size >= self._index_bytes:
                self._index_bytes = size
                return
            # By its name: closing a file of one's own would give up every lock on it. To nothing
            # first: what is left of a cut index is believed, although the rest of it is gone.
            os.truncate(self._index, 0)
            os.truncate(self._index, self._index_bytes)
        except OSError:  # none yet, or gone with its folder: whoever writes is told
            return
        self.mended += 1


def _id_at(path: Path) -> _Id | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _moved() -> Unavailable:
    message = (
        "the store is no longer where it was opened: its folder was deleted, moved or replaced, "
        "so nothing more is written; stop this server, put the folder back, or start it on the "
        "folder's new place"
    )
    return Unavailable("store.moved", message)
