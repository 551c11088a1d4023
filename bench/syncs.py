"""A file system whose syncs are counted, and take as long as we say."""

import time

import apsw


class CountedSyncs(apsw.VFS):
    """The default file system of SQLite under the name `counted`."""

    def __init__(self) -> None:
        """Register; every sync is real and then takes `seconds` more."""
        self.count = 0
        self.seconds = 0.0
        super().__init__("counted", "")

    def xOpen(  # noqa: N802 - the name that SQLite gives it
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> "_CountedFile":
        """Open a file that tells of its syncs."""
        return _CountedFile(self, name, flags)


class _CountedFile(apsw.VFSFile):
    def __init__(
        self, syncs: CountedSyncs, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__("", name, flags)
        self._syncs = syncs

    def xSync(self, flags: int) -> None:  # noqa: N802 - the name that SQLite gives it
        self._syncs.count += 1
        super().xSync(flags)
        if self._syncs.seconds:
            time.sleep(self._syncs.seconds)
