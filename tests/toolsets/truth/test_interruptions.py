"""An ingest that is interrupted leaves all of its records or none, and can simply be repeated."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from canonry.app.embedded import open_embedded
from canonry.gateway.call import Gateway, GatewaySettings
from canonry.gateway.limits import Limits
from canonry.log.commits import Append, Outcome
from canonry.records.toolset import TRUTH
from canonry.stores.memory import MemoryLedger
from canonry.testing.clocks import HandClock
from canonry.values.errors import Unavailable
from tests.toolsets.truth.filled_account import NOTE
from tests.toolsets.truth.kit import ToolDriver, an_invoice, make_driver

pytestmark = pytest.mark.anyio
RECORDS = [an_invoice(f"INV-{n}", vendor_name=f"Vendor {n % 3}") for n in range(10)]


class Killed(BaseException):
    """The process ends here."""


class FragileLedger(MemoryLedger):
    """A ledger whose process is killed at an append, before or after that is written."""

    def __init__(self, whole: MemoryLedger, *, written: bool) -> None:
        super().__init__(whole._store, whole._sealer)
        self.kill_at: int | None = None
        self.busy = False
        self.appends = 0
        self._written = written

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        self.appends += 1
        if self.busy:
            raise Unavailable("ledger.busy", "try again")
        if self.appends != self.kill_at:
            return await super().append_drafts(batch)
        if self._written:
            await super().append_drafts(batch)
        raise Killed


def make_fragile_driver(*, written: bool) -> tuple[ToolDriver, FragileLedger]:
    driver = make_driver()
    assert isinstance(driver.canon.ledger, MemoryLedger)
    ledger = FragileLedger(driver.canon.ledger, written=written)
    canon = replace(driver.canon, ledger=ledger)
    return replace(driver, canon=canon, gateway=Gateway(canon, (TRUTH,))), ledger


@pytest.mark.parametrize("written", [False, True])
async def test_records_are_one_append_that_exists_or_not(written: bool) -> None:
    driver, ledger = make_fragile_driver(written=written)
    ledger.kill_at = 1
    with pytest.raises(Killed):
        await driver.ingest(*RECORDS)
    found = await driver.call("retrieve_entities", entity_type="invoice")
    assert found["total"] == (len(RECORDS) if written else 0)
    again = await driver.ingest(*RECORDS)
    assert again["deduplicated"] is written
    assert ledger.appends == (1 if written else 2)
    assert (await driver.call("retrieve_entities", entity_type="invoice"))["total"] == len(RECORDS)
    assert (await driver.call("retrieve_entities", entity_type="company"))["total"] == 3


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("step", [1, 2])
async def test_a_file_is_kept_completely_or_not_at_all(step: int, written: bool) -> None:
    whole, _ = make_fragile_driver(written=False)
    said = {"user_id": whole.user, "file_content": NOTE, "mime_type": "text/markdown"}
    expected = await whole.call("ingest", **said)
    driver, ledger = make_fragile_driver(written=written)
    ledger.kill_at = step
    with suppress(Killed):
        await driver.call("ingest", **said)
    ledger.kill_at = None
    reply = await driver.call("ingest", **said)
    assert reply["interpretation"] == expected["interpretation"]
    total = (await whole.call("retrieve_entities"))["total"]
    assert (await driver.call("retrieve_entities"))["total"] == total


class StuckLedger(MemoryLedger):
    """A ledger at which an append waits until it is set free."""

    def __init__(self, whole: MemoryLedger) -> None:
        super().__init__(whole._store, whole._sealer)
        self.free = asyncio.Event()

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        await self.free.wait()
        return await super().append_drafts(batch)


@pytest.mark.parametrize("form", ["file", "records"])
async def test_an_operators_deadline_applies_to_tools_that_take_files(form: str) -> None:
    driver = make_driver()
    assert isinstance(driver.canon.ledger, MemoryLedger)
    ledger = StuckLedger(driver.canon.ledger)
    canon = replace(driver.canon, ledger=ledger)
    settings = GatewaySettings(limits=Limits(seconds=0.05))
    driver = replace(driver, canon=canon, gateway=Gateway(canon, (TRUTH,), settings=settings))
    file = {"file_content": NOTE, "mime_type": "text/markdown"}
    given = {"user_id": driver.user, **(file if form == "file" else {"entities": RECORDS})}
    error = await driver.refused("ingest", "SERVICE_UNAVAILABLE", **given)
    assert (error["details"]["reason"], error["details"]["seconds"]) == ("call.deadline", 0.05)
    ledger.free.set()
    patient = replace(driver, gateway=Gateway(canon, (TRUTH,)))
    assert (await patient.call("ingest", **given))["deduplicated"] is False


async def test_a_busy_store_is_reported_as_the_contract_says() -> None:
    driver, ledger = make_fragile_driver(written=False)
    ledger.busy = True
    arguments = {"user_id": driver.user, "entities": RECORDS}
    error = await driver.refused("ingest", "DB_INSERT_FAILED", **arguments)
    assert error["details"]["retryable"] is True


async def test_records_survive_the_process(tmp_path: Path) -> None:
    first = await open_embedded(tmp_path)
    driver = ToolDriver(
        canon=first.canon, gateway=Gateway(first.canon, (TRUTH,)), clock=HandClock()
    )
    reply = await driver.ingest(*RECORDS)
    entity = reply["entities"][0]["entity_id"]
    before = await driver.call("get_entity_snapshot", entity_id=entity)
    await first.close()
    second = await open_embedded(tmp_path)
    driver = ToolDriver(
        canon=second.canon, gateway=Gateway(second.canon, (TRUTH,)), clock=HandClock()
    )
    try:
        assert await driver.call("get_entity_snapshot", entity_id=entity) == before
        assert (await driver.ingest(*RECORDS))["deduplicated"]
    finally:
        await second.close()
