"""Bulk: thousands of records in one call tell how far they are, and end when they are stopped."""

import asyncio
import base64
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import open_embedded
from canonry.gateway.call import GatewaySettings
from canonry.gateway.limits import Limits
from canonry.gateway.principal import Principal
from canonry.testing.clocks import HandClock
from tests.toolsets.truth.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio
MANY = 600


def make_payments(count: int) -> dict[str, Any]:
    """Records as they are handed over."""
    return {
        "entities": [
            {
                "entity_type": "transaction",
                "transaction_id": f"t-{n}",
                "amount": n,
                "currency": "EUR",
                "date": "2025-01-15",
                "merchant_name": f"Shop {n % 50}",
                "description": "x" * 1_000,
            }
            for n in range(count)
        ]
    }


def make_statement(count: int) -> dict[str, Any]:
    """The same as a file."""
    rows = "".join(f"t-{n},2025-01-15,Shop {n % 50},{n}.00,EUR\n" for n in range(count))
    text = f"transaction_id,date,merchant_name,amount,currency\n{rows}"
    return {
        "file_content": base64.b64encode(text.encode()).decode(),
        "mime_type": "text/csv",
        "original_filename": "bank.csv",
    }


@asynccontextmanager
async def open_stored_driver(folder: Path) -> AsyncIterator[ToolDriver]:
    """A driver whose canon is a store on disk."""
    clock = HandClock()
    store = await open_embedded(folder, clock=clock)
    try:
        driver = make_driver(store.canon)
        driver.clock = clock
        yield driver
    finally:
        await store.close()


async def ingest_listening(driver: ToolDriver, what: dict[str, Any], progress: Any) -> Any:
    """The outcome of an ingest whose caller listens."""
    arguments = {"user_id": driver.user, **what}
    principal = Principal(agent_id="desk", user=driver.user)
    return await driver.gateway.call("ingest", arguments, principal, progress=progress)


@pytest.mark.parametrize("form", [make_payments, make_statement])
async def test_a_long_ingest_reports_its_progress(form: Any, tmp_path: Path) -> None:
    seen: list[float] = []

    async def listen(done: float, total: float | None, message: str) -> None:
        assert total == 3 * MANY
        assert message in {"records read", "records matched", "records kept"}
        seen.append(done)

    async with open_stored_driver(tmp_path) as driver:
        outcome = await ingest_listening(driver, form(MANY), listen)
        assert outcome.body["entities_total"] == MANY
        await ingest_listening(driver, form(3), listen)  # too short to tell of

    assert seen == sorted(set(seen))
    assert len(seen) > 2 * MANY // 100
    assert seen[-1] == 3 * MANY


@pytest.mark.parametrize("form", [make_payments, make_statement])
@pytest.mark.parametrize("phase", ["records read", "records matched"])
async def test_a_stopped_ingest_leaves_nothing(form: Any, phase: str, tmp_path: Path) -> None:
    async with open_stored_driver(tmp_path) as driver:
        call: asyncio.Task[Any] | None = None

        async def stop(done: float, total: float | None, message: str) -> None:
            if message == phase and call is not None:
                call.cancel()

        before = await driver.heads()
        call = asyncio.create_task(ingest_listening(driver, form(MANY), stop))
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await driver.heads() == before

        async def listen(done: float, total: float | None, message: str) -> None: ...

        again = await ingest_listening(driver, form(MANY), listen)
        assert again.body["entities_total"] == MANY


@pytest.mark.parametrize("form", [make_payments, make_statement])
async def test_the_operators_deadline_ends_a_long_ingest_cleanly(form: Any, tmp_path: Path) -> None:
    async def listen(done: float, total: float | None, message: str) -> None:
        await asyncio.Event().wait()  # longer than any deadline

    async with open_stored_driver(tmp_path) as stored:
        settings = GatewaySettings(limits=Limits(seconds=0.5))
        driver = make_driver(stored.canon, settings=settings)
        before = await driver.heads()
        outcome = await ingest_listening(driver, form(MANY), listen)

        assert outcome.error is not None
        assert outcome.body["error"]["details"]["reason"] == "call.deadline"
        assert await driver.heads() == before


async def test_other_callers_are_served_during_a_long_ingest(tmp_path: Path) -> None:
    turns, going = 0, True

    async def others() -> None:
        nonlocal turns
        while going:
            turns += 1
            await asyncio.sleep(0)

    async def listen(done: float, total: float | None, message: str) -> None:
        turns_at.append(turns)

    turns_at: list[int] = []
    async with open_stored_driver(tmp_path) as driver:
        beside = asyncio.create_task(others())
        await ingest_listening(driver, make_payments(MANY), listen)
        going = False
        await beside

    assert all(later > earlier for earlier, later in itertools.pairwise(turns_at))
