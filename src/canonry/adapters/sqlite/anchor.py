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

_stat: Final = os.stat  # before every read: that of a path object takes twice the time


class Anchor:
    """The files of one store as they were when they were opened."""

    def __init__(self, path: Path) -> None:
        """Hold nothing yet; `hold` follows when the files are open."""
        self._path: Final = str(path.absolute())
        self._log: Final = f"{self._path}-wal"
        self._index: Final = f"{self._path}-shm"
        self._known: Sequence[_Id | None] = ()
        self._index_bytes = 0
        self._bytes = 0
        self._frozen: tuple[int, ...] | None = None
        self.mapped = False
        self.mended = 0

    def hold(self) -> None:
        """Remember which files are open; no other process makes them anew meanwhile."""
        self._known = [_id_at(each) for each in (self._path, self._log, self._index)]
        self.look()

    def freeze(self) -> None:
        """From now on nobody may write, because nobody would be noticed."""
        self._frozen = self._lies()

    def look(self) -> bool:
        """Look before anything is read: whether the database is shorter than at the last look.

        Raises:
            Unavailable: `store.changed`, somebody writes into what is read as it lies.
        """
        if self._frozen is not None:
            if self._lies() != self._frozen:
                raise _changed()
            return False
        self._mend_index()
        return self.mapped and self._is_shorter()

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

    def _lies(self) -> tuple[int, ...]:
        try:
            log = _stat(self._log).st_size
        except OSError:
            log = 0
        found = _stat(self._path)
        return found.st_ino, found.st_size, found.st_mtime_ns, log

    def _is_shorter(self) -> bool:
        """By a purge or by damage; whoever has it in memory must let go of what is no more."""
        try:
            size = _stat(self._path).st_size
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
            size = _stat(self._index).st_size
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


def _id_at(path: str) -> _Id | None:
    try:
        found = _stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _changed() -> Unavailable:
    message = "the store was opened as it lay, and somebody writes into it: open it again"
    return Unavailable("store.changed", message)


def _moved() -> Unavailable:
    message = (
        "the store is no longer where it was opened: its folder was deleted, moved or replaced, "
        "so nothing more is written; stop this server, put the folder back, or start it on the "
        "folder's new place"
    )
    return Unavailable("store.moved", message)
