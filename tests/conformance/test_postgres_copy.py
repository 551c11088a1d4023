"""A store in PostgreSQL that is answered from a copy on each machine keeps its promises."""

from collections.abc import AsyncIterator

import pytest

from canonry.testing.conformance import (
    Backend,
    DocumentsContract,
    DurabilityContract,
    KnownGap,
    LedgerContract,
    SharedHistoriesContract,
    UpkeepContract,
    WritersContract,
)
from tests.conformance.postgres_store import schemas


class OnCopies:
    @pytest.fixture
    async def backend(self, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Backend]:
        async with schemas(tmp_path_factory.mktemp("stores"), copied=True) as opened:
            yield await opened.fresh()


class TestCopiedLedger(OnCopies, LedgerContract):
    pass


class TestCopiedDurability(OnCopies, DurabilityContract):
    pass


class TestCopiedWriters(OnCopies, WritersContract):
    pass


class TestCopiedHistories(OnCopies, SharedHistoriesContract):
    pass


class TestCopiedDocuments(OnCopies, DocumentsContract):
    pass


class TestCopiedUpkeep(OnCopies, UpkeepContract):
    known_gaps = (
        KnownGap(
            requirement="upkeep:purge:leaves-no-trace",
            reason="the files are the server's: its write-ahead log and its replicas keep what a "
            "purge took out of the tables until they are recycled",
        ),
    )
