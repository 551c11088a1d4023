"""A ledger of one engine and views of another keep every promise, also over lines that fail."""

import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from canonry.canon.session.canon import Canon
from canonry.stores.following.join import join
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
from canonry.testing.simulation import Faults, faulty
from tests.conformance.sqlite_store import Folders
from tests.conformance.test_memory import open_memory

FAULTS = Faults(delay=0.0, refused=0.1, lost=0.15, twice=0.15)


def behind_bad_lines(canon: Canon, seed: int) -> Canon:
    lots = random.Random(seed)
    return replace(
        canon,
        state=faulty(canon.state, lots, FAULTS),
        documents=faulty(canon.documents, lots, FAULTS),
        text=faulty(canon.text, lots, FAULTS),
        catalog=faulty(canon.catalog, lots, FAULTS),
        places=faulty(canon.places, lots, FAULTS),
    )


def mixed(log: Backend, views: Backend, seed: int) -> Canon:
    """The ledger of one canon before the views of another."""
    return join(replace(behind_bad_lines(views.canon, seed), ledger=log.canon.ledger)).canon


class LedgerInMemory:
    """A ledger in memory; state, documents, places, text and catalog in SQLite."""

    @pytest.fixture
    async def backend(self, tmp_path: Path) -> AsyncIterator[Backend]:
        async with AsyncExitStack() as closing:
            folders = Folders(root=tmp_path, closing=closing)

            async def fresh() -> Backend:
                log, views = await open_memory(), await folders.fresh()
                return replace(log, canon=mixed(log, views, 1), another=fresh)

            yield await fresh()


class LedgerInSqlite:
    """A ledger in SQLite; the views in memory."""

    @pytest.fixture
    async def backend(self, tmp_path: Path) -> AsyncIterator[Backend]:
        async with AsyncExitStack() as closing:
            folders = Folders(root=tmp_path, closing=closing)

            async def fresh() -> Backend:
                log, views = await folders.fresh(), await open_memory()
                canon = mixed(log, views, 2)
                return Backend(canon=canon, blobs=log.blobs, clock=log.clock, another=fresh)

            yield await fresh()


class EachItsOwn:
    """A ledger in memory, and each view in an engine or a store of its own."""

    @pytest.fixture
    async def backend(self, tmp_path: Path) -> AsyncIterator[Backend]:
        async with AsyncExitStack() as closing:
            folders = Folders(root=tmp_path, closing=closing)

            async def fresh() -> Backend:
                log = await open_memory()
                views = replace(
                    log.canon,
                    state=(await open_memory()).canon.state,
                    documents=(await folders.fresh()).canon.documents,
                    text=(await folders.fresh()).canon.text,
                    catalog=(await open_memory()).canon.catalog,
                    places=(await folders.fresh()).canon.places,
                )
                canon = join(behind_bad_lines(views, 3)).canon
                return replace(log, canon=canon, another=fresh)

            yield await fresh()


class TestLedgerInMemory(LedgerInMemory, LedgerContract):
    pass


class TestStateBesideMemory(LedgerInMemory, StateContract):
    pass


class TestDocumentsBesideMemory(LedgerInMemory, DocumentsContract):
    pass


class TestTextBesideMemory(LedgerInMemory, TextContract):
    pass


class TestCatalogBesideMemory(LedgerInMemory, CatalogContract):
    pass


class TestPlacesBesideMemory(LedgerInMemory, PlacesContract):
    pass


class TestLedgerInSqlite(LedgerInSqlite, LedgerContract):
    pass


class TestStateBesideSqlite(LedgerInSqlite, StateContract):
    pass


class TestDocumentsBesideSqlite(LedgerInSqlite, DocumentsContract):
    pass


class TestTextBesideSqlite(LedgerInSqlite, TextContract):
    pass


class TestCatalogBesideSqlite(LedgerInSqlite, CatalogContract):
    pass


class TestPlacesBesideSqlite(LedgerInSqlite, PlacesContract):
    pass


class TestHistoriesOfEachItsOwn(EachItsOwn, HistoriesContract):
    pass


class TestLedgerOfEachItsOwn(EachItsOwn, LedgerContract):
    pass


class TestStateOfEachItsOwn(EachItsOwn, StateContract):
    pass


class TestDocumentsOfEachItsOwn(EachItsOwn, DocumentsContract):
    pass


class TestTextOfEachItsOwn(EachItsOwn, TextContract):
    pass


class TestCatalogOfEachItsOwn(EachItsOwn, CatalogContract):
    pass


class TestPlacesOfEachItsOwn(EachItsOwn, PlacesContract):
    pass
