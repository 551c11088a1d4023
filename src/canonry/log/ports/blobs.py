"""Bytes that are kept beside the log, and files of this machine."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from canonry.values.errors import BrokenInvariant, NotFound


class Blobs(Protocol):
    """The behaviour is stated in `canonry.testing.conformance` under `blobs:*`."""

    @abstractmethod
    async def put(self, data: bytes) -> str:
        """Store `data` durably; its lower-case hex SHA-256, the same for the same bytes.

        Raises:
            Unavailable: `blobs.full`, nothing was stored.
        """

    @abstractmethod
    async def get(self, digest: str) -> bytes:
        """The bytes under `digest`.

        Raises:
            NotFound: `blobs.unknown`.
            BrokenInvariant: `blobs.altered`, the stored bytes have another hash.
        """

    @abstractmethod
    async def delete(self, digest: str) -> None:
        """Forget the bytes; nothing happens where there are none."""

    @abstractmethod
    async def digests(self, *, after: str = "", limit: int) -> Sequence[str]:
        """Up to `limit` digests past `after`, in order."""


def genuine(data: bytes | None, digest: str) -> bytes:
    """The bytes that were found under `digest`, None where none were.

    Raises:
        NotFound: `blobs.unknown`.
        BrokenInvariant: `blobs.altered`.
    """
    if data is None:
        raise NotFound("blobs.unknown", "there are no bytes under this digest", digest=digest)
    if sha256(data).hexdigest() != digest:
        message = "a stored blob was altered: run `canonry verify` and restore a backup"
        raise BrokenInvariant("blobs.altered", message, digest=digest)
    return data


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
