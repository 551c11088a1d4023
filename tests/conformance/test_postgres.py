"""The store in PostgreSQL keeps every promise, on a real server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import uuid4

import pytest
from typing_extensions import override

from canonry.readmodels.ports.text import VectorBatch
from canonry.stores.postgres import Database, PostgresVectors
from canonry.stores.postgres.store import migrate_store
from canonry.testing.conformance import (
    Backend,
    BlobsContract,
    CutsContract,
    DurabilityContract,
    KnownGap,
    LedgerContract,
    MaintenanceContract,
    SharedHistoriesContract,
    SizesContract,
    VectorsContract,
    WritersContract,
)
from tests.conformance.postgres_store import URL, drop_data, open_schemas
from tests.conformance.serving import Served


class OnPostgres:
    @pytest.fixture
    async def backend(self, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Backend]:
        async with open_schemas(tmp_path_factory.mktemp("stores")) as opened:
            yield await opened.fresh()


class TestPostgresLedger(OnPostgres, LedgerContract):
    pass


class TestPostgresDurability(OnPostgres, DurabilityContract):
    pass


class TestPostgresWriters(OnPostgres, WritersContract):
    pass


class TestPostgresHistories(OnPostgres, SharedHistoriesContract):
    pass


class TestPostgresBlobs(OnPostgres, BlobsContract):
    pass


class TestPostgresCuts(OnPostgres, Served, CutsContract):
    ends = ("killed",)
    rounds = 2


class TestPostgresMaintenance(MaintenanceContract, SizesContract):
    @pytest.fixture
    async def backend(self, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Backend]:
        async with open_schemas(tmp_path_factory.mktemp("stores")) as opened:
            yield replace(await opened.fresh(), files=lambda: ())

    known_gaps = (
        KnownGap(
            requirement="upkeep:purge:leaves-no-trace",
            reason="the files are the server's: its write-ahead log and its replicas keep what a "
            "purge took out of the tables until they are recycled",
        ),
    )


@asynccontextmanager
async def empty_database() -> AsyncIterator[Database]:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    database = Database(URL, f"test_{uuid4().hex}")
    await migrate_store(database)
    await database.open()
    yield database
    await database.close()
    await drop_data(database.name)


class TestPostgresVectors(VectorsContract):
    @pytest.fixture
    async def vectors(self) -> AsyncIterator[PostgresVectors]:
        async with empty_database() as database:
            yield PostgresVectors(database)


class TestIndexedPostgresVectors(VectorsContract):
    """Every batch is indexed at once, so that searches may go through HNSW."""

    @pytest.fixture
    async def vectors(self) -> AsyncIterator[PostgresVectors]:
        async with empty_database() as database:
            yield Indexed(database, indexed_from=1)


class Indexed(PostgresVectors):
    @override
    async def apply(self, batch: VectorBatch) -> None:
        await super().apply(batch)
        await self.compact_updates(batch.model)
