"""The memory backend keeps every promise that it can: it is the executable specification."""

import pytest

from canonry.app.compose import compose_memory
from canonry.stores.memory import MemoryBlobs
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.testing.conformance import (
    BlobsContract,
    CatalogContract,
    CutsContract,
    DocumentsContract,
    HistoriesContract,
    LedgerContract,
    PlacesContract,
    StateContract,
    TextContract,
)
from canonry.testing.conformance.kit import Backend
from tests.conformance.serving import Served


async def open_memory() -> Backend:
    clock = HandClock()
    canon = compose_memory(clock=clock, identities=CountingIdentities())
    return Backend(canon=canon, blobs=MemoryBlobs(), clock=clock, another=open_memory)


class OnMemory:
    @pytest.fixture
    async def backend(self) -> Backend:
        return await open_memory()


class TestMemoryLedger(OnMemory, LedgerContract):
    pass


class TestMemoryHistories(OnMemory, HistoriesContract):
    pass


class TestMemoryBlobs(OnMemory, BlobsContract):
    pass


class TestMemoryState(OnMemory, StateContract):
    pass


class TestMemoryCuts(OnMemory, Served, CutsContract):
    pass


class TestMemoryDocuments(OnMemory, DocumentsContract):
    pass


class TestMemoryCatalog(OnMemory, CatalogContract):
    pass


class TestMemoryText(OnMemory, TextContract):
    pass


class TestMemoryPlaces(OnMemory, PlacesContract):
    pass
