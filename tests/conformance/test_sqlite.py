"""The embedded store keeps every promise, on one file in a folder that others may share."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from typing_extensions import override

from canonry.readmodels.ports.text import VectorBatch
from canonry.recall.vectors import FolderVectors
from canonry.stores.sqlite import Durability
from canonry.testing.conformance import (
    Backend,
    BlobsContract,
    CatalogContract,
    CutsContract,
    DocumentsContract,
    DurabilityContract,
    DurableBlobsContract,
    HistoriesContract,
    LedgerContract,
    MaintenanceContract,
    PlacesContract,
    SharedHistoriesContract,
    SharedMaintenanceContract,
    SizesContract,
    StateContract,
    TextContract,
    VectorsContract,
    WritersContract,
)
from tests.conformance.serving import Served
from tests.conformance.sqlite_store import Folders


class OnSqlite:
    @pytest.fixture
    async def backend(self, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Backend]:
        root: Path = tmp_path_factory.mktemp("stores")
        async with AsyncExitStack() as closing:
            yield await Folders(root=root, closing=closing).fresh()


class OnSyncingSqlite:
    """As it is served: each commit waits for the disk, which takes another path to the writer."""

    @pytest.fixture
    async def backend(self, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Backend]:
        root: Path = tmp_path_factory.mktemp("stores")
        async with AsyncExitStack() as closing:
            folders = Folders(root=root, closing=closing, durability=Durability.FULL)
            yield await folders.fresh()


class TestSyncingSqliteLedger(OnSyncingSqlite, LedgerContract, DurabilityContract):
    pass


class TestSyncingSqliteWriters(OnSyncingSqlite, WritersContract):
    pass


class TestSqliteLedger(OnSqlite, LedgerContract):
    pass


class TestSqliteDurability(OnSqlite, DurabilityContract):
    pass


class TestSqliteWriters(OnSqlite, WritersContract):
    pass


class TestSqliteHistories(OnSqlite, HistoriesContract, SharedHistoriesContract):
    pass


class TestSqliteBlobs(OnSqlite, BlobsContract, DurableBlobsContract):
    pass


class TestSqliteState(OnSqlite, StateContract):
    pass


class TestSqliteCuts(OnSqlite, Served, CutsContract):
    pass


class TestSqliteDocuments(OnSqlite, DocumentsContract):
    pass


class TestSqliteCatalog(OnSqlite, CatalogContract):
    pass


class TestSqliteText(OnSqlite, TextContract):
    pass


class TestSqlitePlaces(OnSqlite, PlacesContract):
    pass


class TestSqliteMaintenance(
    OnSqlite, MaintenanceContract, SharedMaintenanceContract, SizesContract
):
    pass


class TestFolderVectors(VectorsContract):
    @pytest.fixture
    async def vectors(self, tmp_path: Path) -> AsyncIterator[FolderVectors]:
        opened = FolderVectors(tmp_path / "index")
        yield opened
        await opened.close()


class TestPublishedVectors(VectorsContract):
    """Every batch is published at once, so that searches go through the mapped index."""

    @pytest.fixture
    async def vectors(self, tmp_path: Path) -> AsyncIterator[FolderVectors]:
        opened = Published(tmp_path / "index", waiting=0)
        yield opened
        await opened.close()


class Published(FolderVectors):
    @override
    async def apply(self, batch: VectorBatch) -> None:
        await super().apply(batch)
        await self.compact_updates(batch.model)
