"""A store whose spaces are divided between two servers keeps every promise of one on one server."""

from collections.abc import AsyncIterator

import pytest

from canonry.testing.conformance import (
    Backend,
    BlobsContract,
    CatalogContract,
    DocumentsContract,
    DurabilityContract,
    HistoriesContract,
    KnownGap,
    LedgerContract,
    PlacesContract,
    SharedHistoriesContract,
    SharedUpkeepContract,
    SizesContract,
    StateContract,
    TextContract,
    UpkeepContract,
    ViewContract,
    WritersContract,
)
from tests.conformance.postgres_store import BOTH, schemas


class OnShards:
    @pytest.fixture
    async def backend(self, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Backend]:
        async with schemas(tmp_path_factory.mktemp("stores"), BOTH) as opened:
            yield await opened.fresh()


class TestShardedLedger(OnShards, LedgerContract):
    pass


class TestShardedDurability(OnShards, DurabilityContract):
    pass


class TestShardedWriters(OnShards, WritersContract):
    pass


class TestShardedHistories(OnShards, HistoriesContract, SharedHistoriesContract):
    pass


class TestShardedBlobs(OnShards, BlobsContract):
    pass


class TestShardedState(OnShards, StateContract):
    pass


class TestShardedDocuments(OnShards, DocumentsContract):
    pass


class TestShardedCatalog(OnShards, CatalogContract):
    pass


class TestShardedText(OnShards, TextContract):
    pass


class TestShardedPlaces(OnShards, PlacesContract):
    pass


class TestShardedViews(OnShards, ViewContract):
    pass


class TestShardedUpkeep(OnShards, UpkeepContract, SharedUpkeepContract, SizesContract):
    known_gaps = (
        KnownGap(
            requirement="upkeep:purge:leaves-no-trace",
            reason="the files are the servers': their write-ahead logs and their replicas keep "
            "what a purge took out of the tables until they are recycled",
        ),
    )
