"""Blobs in a dictionary."""

from collections.abc import Sequence
from hashlib import sha256

from typing_extensions import override

from canonry.log.ports.blobs import Blobs
from canonry.values.errors import NotFound


class MemoryBlobs(Blobs):
    """Bytes by their hash."""

    def __init__(self) -> None:
        """Start empty."""
        self._held: dict[str, bytes] = {}

    @override
    async def put(self, data: bytes) -> str:
        digest = sha256(data).hexdigest()
        self._held[digest] = data
        return digest

    @override
    async def get(self, digest: str) -> bytes:
        if digest not in self._held:
            raise NotFound("blobs.unknown", "there are no bytes under this digest", digest=digest)
        return self._held[digest]

    @override
    async def delete(self, digest: str) -> None:
        self._held.pop(digest, None)

    @override
    async def digests(self, *, after: str = "", limit: int) -> Sequence[str]:
        return sorted(d for d in self._held if d > after)[:limit]
