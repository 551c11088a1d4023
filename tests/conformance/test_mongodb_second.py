"""Records and documents keep their promises on a second server of MongoDB's protocol as well."""

from collections.abc import AsyncIterator

import pytest

from canonry.testing.conformance import (
    Backend,
    DocumentsContract,
    DurabilityContract,
    LedgerContract,
    MaintenanceContract,
    SharedHistoriesContract,
    WritersContract,
)
from tests.conformance.mongodb_store import SECOND_URL, open_databases


class OnSecond:
    @pytest.fixture
    async def backend(self, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Backend]:
        if not SECOND_URL:
            pytest.skip("no second server of MongoDB's protocol: `make servers` starts one")
        async with open_databases(tmp_path_factory.mktemp("machines"), SECOND_URL) as opened:
            yield await opened.fresh()


class TestSecondLedger(OnSecond, LedgerContract):
    pass


class TestSecondDurability(OnSecond, DurabilityContract):
    pass


class TestSecondWriters(OnSecond, WritersContract):
    pass


class TestSecondHistories(OnSecond, SharedHistoriesContract):
    pass


class TestSecondDocuments(OnSecond, DocumentsContract):
    pass


class TestSecondMaintenance(OnSecond, MaintenanceContract):
    pass
