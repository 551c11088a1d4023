"""A real S3 server stores each test below a prefix of its own."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import obstore
import pytest

from canonry.stores.objects import ObjectStore
from tests.servers.processes import PASSWORD

ENDPOINT = os.environ.get("TEST_S3_URL", "")
KEYS = {"AWS_ACCESS_KEY_ID": "for-tests", "AWS_SECRET_ACCESS_KEY": PASSWORD}


@asynccontextmanager
async def a_bucket() -> AsyncIterator[ObjectStore]:
    """A place that nobody else uses, which is empty again in the end."""
    if not ENDPOINT:
        pytest.skip("no server of objects: `make servers` starts one")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        place = ObjectStore(f"s3://canonry-tests/{uuid4().hex}", ENDPOINT)
        yield place
        async for page in obstore.list(place.store):
            await obstore.delete_async(place.store, [each["path"] for each in page])
