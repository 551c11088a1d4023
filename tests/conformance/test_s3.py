"""Files in an object store keep every promise of bytes, on a real server that speaks S3."""

from collections.abc import AsyncIterator
from dataclasses import replace

import obstore
import pytest

from canonry.testing.conformance import BlobsContract, DurableBlobsContract
from canonry.testing.conformance.kit import Backend, Damages
from tests.conformance.s3_store import a_bucket
from tests.conformance.test_memory import open_memory

OWNER = "somebody"


class TestObjects(BlobsContract, DurableBlobsContract):
    @pytest.fixture
    async def backend(self) -> AsyncIterator[Backend]:
        async with a_bucket() as place:

            async def alter(digest: str) -> None:
                await obstore.put_async(place.store, f"{OWNER}/{digest}", b"something else")

            async def reopened() -> Backend:
                return replace(await open_memory(), blobs=place.blobs_of(OWNER))

            damages = Damages(views={}, records={}, blob=alter)
            yield replace(await reopened(), reopen=reopened, damages=damages)
