"""A ledger of one engine and the views of a copy keep every promise, also over lines that fail."""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from canonry.app.backends.servers import canon_over_copy
from canonry.canon.session.canon import Canon
from canonry.stores.projections.projector import Follower, join_views
from canonry.testing.conformance import (
    Backend,
    CatalogContract,
    DocumentsContract,
    HistoriesContract,
    LedgerContract,
    PlacesContract,
    StateContract,
    TextContract,
)
from canonry.values.ids import SpaceId
from tests.conformance.sqlite_store import Folders
from tests.conformance.test_memory import open_memory
from tests.simulation.loops import Faults, FaultyLedger

FAULTS = Faults(delay=0.0, refused=0.1, lost=0.15, twice=0.15)


async def erase_nothing(space: SpaceId, targets: Sequence[str]) -> int:
    """Maintenance erases from a copy what was erased from the record, and there is none here."""
    del space, targets
    return 0


def make_mixed(log: Canon, copy: Canon, seed: int, faults: Faults = FAULTS) -> Canon:
    """The ledger of one canon before the views of another, which follow it over bad lines."""
    behind = FaultyLedger(copy.ledger, random.Random(seed), faults)
    follower = Follower(log=log.ledger, copy=behind, purge=erase_nothing)
    return join_views(canon_over_copy(copy, log.ledger, follower), copied=behind).canon


class CopyInSqlite:
    """A ledger in memory; state, documents, places, text and catalog in SQLite."""

    @pytest.fixture
    async def backend(self, tmp_path: Path) -> AsyncIterator[Backend]:
        async with AsyncExitStack() as closing:
            folders = Folders(root=tmp_path, closing=closing)

            async def fresh() -> Backend:
                log, copy = await open_memory(), await folders.fresh()
                return replace(log, canon=make_mixed(log.canon, copy.canon, 1), another=fresh)

            yield await fresh()


class CopyInMemory:
    """A ledger in memory, and all views in memory of their own."""

    @pytest.fixture
    async def backend(self) -> Backend:
        async def fresh() -> Backend:
            log, copy = await open_memory(), await open_memory()
            return replace(log, canon=make_mixed(log.canon, copy.canon, 3), another=fresh)

        return await fresh()


class TestLedgerBesideSqlite(CopyInSqlite, LedgerContract):
    pass


class TestStateInSqlite(CopyInSqlite, StateContract):
    pass


class TestDocumentsInSqlite(CopyInSqlite, DocumentsContract):
    pass


class TestTextInSqlite(CopyInSqlite, TextContract):
    pass


class TestCatalogInSqlite(CopyInSqlite, CatalogContract):
    pass


class TestPlacesInSqlite(CopyInSqlite, PlacesContract):
    pass


class TestHistoriesBesideMemory(CopyInMemory, HistoriesContract):
    pass


class TestLedgerBesideMemory(CopyInMemory, LedgerContract):
    pass
