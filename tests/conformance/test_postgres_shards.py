"""A store whose spaces are divided between two servers keeps every promise of one on one server."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from canonry.testing.conformance import (
    Backend,
    BlobsContract,
    DurabilityContract,
    KnownGap,
    LedgerContract,
    MaintenanceContract,
    SharedHistoriesContract,
    WritersContract,
)
from tests.conformance.postgres_store import BOTH, open_schemas


class OnShards:
    @pytest.fixture
    async def backend(self, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Backend]:
        async with open_schemas(tmp_path_factory.mktemp("stores"), BOTH) as opened:
            yield await opened.fresh()


class TestShardedLedger(OnShards, LedgerContract):
    pass


class TestShardedDurability(OnShards, DurabilityContract):
    pass


class TestShardedWriters(OnShards, WritersContract):
    pass


class TestShardedHistories(OnShards, SharedHistoriesContract):
    pass


class TestShardedBlobs(OnShards, BlobsContract):
    pass


class TestShardedMaintenance(MaintenanceContract):
    @pytest.fixture
    async def backend(self, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Backend]:
        async with open_schemas(tmp_path_factory.mktemp("stores"), BOTH) as opened:
            yield replace(await opened.fresh(), files=lambda: ())

    known_gaps = (
        KnownGap(
            requirement="upkeep:purge:leaves-no-trace",
            reason="the files are the servers': their write-ahead logs and their replicas keep "
            "what a purge took out of the tables until they are recycled",
        ),
    )
