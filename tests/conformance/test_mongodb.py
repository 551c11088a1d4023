"""Records in MongoDB keep every promise, on a server that speaks its protocol.

The views are those of a copy of the log, which keeps its promises elsewhere; here they answer
beside the records.
"""

from collections.abc import AsyncIterator

import pytest

from canonry.testing.conformance import (
    Backend,
    CutsContract,
    DurabilityContract,
    LedgerContract,
    MaintenanceContract,
    SharedHistoriesContract,
    WritersContract,
)
from tests.conformance.mongodb_store import open_databases
from tests.conformance.serving import Served


class OnMongo:
    @pytest.fixture
    async def backend(self, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Backend]:
        async with open_databases(tmp_path_factory.mktemp("machines")) as opened:
            yield await opened.fresh()


class TestMongoLedger(OnMongo, LedgerContract):
    pass


class TestMongoDurability(OnMongo, DurabilityContract):
    pass


class TestMongoWriters(OnMongo, WritersContract):
    pass


class TestMongoHistories(OnMongo, SharedHistoriesContract):
    pass


class TestMongoCuts(OnMongo, Served, CutsContract):
    ends = ("killed",)
    rounds = 2


class TestMongoMaintenance(OnMongo, MaintenanceContract):
    pass
