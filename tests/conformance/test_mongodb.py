"""Records and documents in MongoDB keep every promise, on a server that speaks its protocol.

The other views are those of a copy of the log, which keeps its promises elsewhere; here they answer
beside the records.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from canonry.stores.following.join import join
from canonry.testing.conformance import (
    Backend,
    CutsContract,
    DocumentsContract,
    DurabilityContract,
    LedgerContract,
    SharedHistoriesContract,
    UpkeepContract,
    ViewContract,
    WritersContract,
)
from tests.conformance.mongodb_store import a_view_of_documents, databases
from tests.conformance.serving import Served
from tests.conformance.test_memory import open_memory


class OnMongo:
    @pytest.fixture
    async def backend(self, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Backend]:
        async with databases(tmp_path_factory.mktemp("machines")) as opened:
            yield await opened.fresh()


class TestMongoLedger(OnMongo, LedgerContract):
    pass


class TestMongoDurability(OnMongo, DurabilityContract):
    pass


class TestMongoWriters(OnMongo, WritersContract):
    pass


class TestMongoHistories(OnMongo, SharedHistoriesContract):
    pass


class TestMongoDocuments(OnMongo, DocumentsContract):
    pass


class TestMongoCuts(OnMongo, Served, CutsContract):
    ends = ("killed",)
    rounds = 2


class TestMongoViews(ViewContract):
    """The documents alone, fed by a ledger in memory."""

    @pytest.fixture
    async def backend(self) -> AsyncIterator[Backend]:
        async with AsyncExitStack() as closing:

            async def fresh() -> Backend:
                memory = await open_memory()
                documents = await a_view_of_documents(closing)
                canon = join(replace(memory.canon, documents=documents)).canon
                return replace(memory, canon=canon, another=fresh)

            yield await fresh()


class TestMongoUpkeep(OnMongo, UpkeepContract):
    pass
