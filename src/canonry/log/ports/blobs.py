"""The blobs port: bytes under their SHA-256, for payloads that are too large for a row."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol


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
