"""The contract of `canonry.log.ports.blobs.Blobs`."""

import asyncio
from hashlib import sha256

import pytest

from canonry.testing.conformance.kit import Backend, Contract, present, requirement
from canonry.values.errors import BrokenInvariant, NotFound

CONTENTS = (b"", b"\x00", bytes(range(256)) * 10, b"a" * 3_000_000, "\u6c49\u5b57".encode())


class BlobsContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement("blobs:put:round-trip", because="A commit holds nothing but the hash.")
    async def test_bytes_are_read_back_equal(self, backend: Backend) -> None:
        """Bytes of any content and size are read back equal, under their SHA-256."""
        for data in CONTENTS:
            digest = await backend.blobs.put(data)

            assert digest == sha256(data).hexdigest()
            assert await backend.blobs.get(digest) == data

    @requirement("blobs:put:same-bytes-same-digest", because="A retry must cost nothing.")
    async def test_same_bytes_are_kept_once(self, backend: Backend) -> None:
        """Putting the same bytes again, also at the same time, stores them once."""
        await backend.blobs.put(b"ring")
        digests = await asyncio.gather(*(backend.blobs.put(b"ring") for _ in range(8)))

        assert len(set(digests)) == 1
        assert list(await backend.blobs.digests(limit=10)) == [digests[0]]

    @requirement("blobs:get:unknown", because="A digest is not a path.")
    @pytest.mark.parametrize(
        "digest", ["0" * 64, "", "..", "../canon.db", "/etc/hosts", "A" * 64, "\u6c49", "0" * 63]
    )
    async def test_unknown_digest_is_not_found(self, backend: Backend, digest: str) -> None:
        """An unknown or malformed digest raises NotFound `blobs.unknown`."""
        with pytest.raises(NotFound) as caught:
            await backend.blobs.get(digest)

        assert caught.value.code == "blobs.unknown"
        await backend.blobs.delete(digest)

    @requirement("blobs:delete:idempotent", because="Erasing must be repeatable after a crash.")
    async def test_deleted_bytes_are_gone(self, backend: Backend) -> None:
        """`delete` forgets the bytes, and does nothing where there are none."""
        digest = await backend.blobs.put(b"ring")
        await backend.blobs.delete(digest)
        await backend.blobs.delete(digest)

        with pytest.raises(NotFound):
            await backend.blobs.get(digest)
        assert list(await backend.blobs.digests(limit=10)) == []
        assert await backend.blobs.put(b"ring") == digest
        assert await backend.blobs.get(digest) == b"ring"

    @requirement("blobs:digests:paged", because="Orphans are found by comparing with all of them.")
    async def test_digests_come_in_order_page_by_page(self, backend: Backend) -> None:
        """`digests` gives every stored digest once, in order, page by page."""
        expected = sorted([await backend.blobs.put(str(n).encode()) for n in range(25)])

        found: list[str] = []
        while page := await backend.blobs.digests(after=found[-1] if found else "", limit=7):
            assert len(page) <= 7
            found += page

        assert found == expected


class DurableBlobsContract(Contract):
    """For backends that can `reopen` and that offer `damages`."""

    @requirement("blobs:durable:reopened", because="The commit that names them is.")
    async def test_bytes_survive_closing(self, backend: Backend) -> None:
        """Bytes are there after closing and opening."""
        digest = await backend.blobs.put(b"ring")

        again = await present(backend.reopen)()

        assert await again.blobs.get(digest) == b"ring"

    @requirement("blobs:get:altered", because="Wrong bytes are worse than none.")
    async def test_altered_bytes_are_refused(self, backend: Backend) -> None:
        """Bytes that no longer have their hash raise BrokenInvariant `blobs.altered`."""
        digest = await backend.blobs.put(b"ring " * 1_000)
        await present(backend.damages).blob(digest)

        with pytest.raises(BrokenInvariant) as caught:
            await backend.blobs.get(digest)

        assert caught.value.code == "blobs.altered"
