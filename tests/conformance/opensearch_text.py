"""An OpenSearch server as contracts see it: each store is an index of its own."""

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from uuid import uuid4

import pytest

from canonry.app.compose import compose_memory
from canonry.stores.memory import MemoryBlobs
from canonry.stores.opensearch import OpenSearchText, open_text
from canonry.stores.projections.projector import join_views
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.testing.conformance import Backend

URL = os.environ.get("TEST_OPENSEARCH_URL", "")


@asynccontextmanager
async def an_index() -> AsyncIterator[OpenSearchText]:
    """The text view of a new, empty store."""
    if not URL:
        pytest.skip("no OpenSearch server: `make servers` starts one")
    text = open_text(URL, name=f"test-{uuid4().hex}")
    try:
        yield text
    finally:
        await text.drop_index()
        await text.close()


async def beside_memory(closing: AsyncExitStack) -> Backend:
    """A canon whose passages are kept in OpenSearch, and everything else in memory."""
    clock = HandClock()
    memory = compose_memory(clock=clock, identities=CountingIdentities())
    text = await closing.enter_async_context(an_index())
    canon = join_views(replace(memory, text=text)).canon

    async def another() -> Backend:
        return await beside_memory(closing)

    return Backend(canon=canon, blobs=MemoryBlobs(), clock=clock, another=another)
