"""Local files: those of this machine that a caller may name by a path, and no others."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """A file that was read; `name` is the last part of its path."""

    name: str
    data: bytes = field(repr=False)


class LocalFiles(Protocol):
    """Reads below the folders that an operator allowed; everything else does not exist."""

    @abstractmethod
    async def read(self, path: str, *, most: int) -> LocalFile:
        """The file at `path`, absolute or below the first allowed folder.

        Links are not followed, so that nothing below the folder leads out of it. What is outside,
        what is missing and what is no regular file are told alike.

        Raises:
            NotFound: `file.unknown`.
            InvalidInput: `file.too-large`, it has more than `most` bytes; `file.path`, it is no
                path.
            Unavailable: `file.unreadable`, the disk does not give it.
        """
