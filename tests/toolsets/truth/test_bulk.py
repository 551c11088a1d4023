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
from tests.toolsets.truth.kit import Desk, a_desk

pytestmark = pytest.mark.anyio
MANY = 600


def payments(count: int) -> dict[str, Any]:
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


def statement(count: int) -> dict[str, Any]:
    """The same as a file."""
    rows = "".join(f"t-{n},2025-01-15,Shop {n % 50},{n}.00,EUR\n" for n in range(count))
    text = f"transaction_id,date,merchant_name,amount,currency\n{rows}"
    return {
        "file_content": base64.b64encode(text.encode()).decode(),
        "mime_type": "text/csv",
        "original_filename": "bank.csv",
    }


@asynccontextmanager
async def a_stored_desk(folder: Path) -> AsyncIterator[Desk]:
    """A desk whose canon is a store on disk."""
    clock = HandClock()
    store = await open_embedded(folder, clock=clock)
    try:
        desk = a_desk(store.canon)
        desk.clock = clock
        yield desk
    finally:
        await store.close()


async def brought(desk: Desk, what: dict[str, Any], progress: Any) -> Any:
    """The outcome of an ingest whose caller listens."""
    arguments = {"user_id": desk.user, **what}
    principal = Principal(agent_id="desk", user=desk.user)
    return await desk.gateway.call("ingest", arguments, principal, progress=progress)


@pytest.mark.parametrize("form", [payments, statement])
async def test_t12_a_long_ingest_tells_how_far_it_is(form: Any, tmp_path: Path) -> None:
    seen: list[float] = []

    async def listen(done: float, total: float | None, message: str) -> None:
        assert total == 3 * MANY
        assert message in {"records read", "records matched", "records kept"}
        seen.append(done)

    async with a_stored_desk(tmp_path) as desk:
        outcome = await brought(desk, form(MANY), listen)
        assert outcome.body["entities_total"] == MANY
        await brought(desk, form(3), listen)  # too short to tell of

    assert seen == sorted(set(seen))
    assert len(seen) > 2 * MANY // 100
    assert seen[-1] == 3 * MANY


@pytest.mark.parametrize("form", [payments, statement])
@pytest.mark.parametrize("phase", ["records read", "records matched"])
async def test_t12_an_ingest_that_is_stopped_leaves_nothing(
    form: Any, phase: str, tmp_path: Path
) -> None:
    async with a_stored_desk(tmp_path) as desk:
        call: asyncio.Task[Any] | None = None

        async def stop(done: float, total: float | None, message: str) -> None:
            if message == phase and call is not None:
                call.cancel()

        before = await desk.heads()
        call = asyncio.create_task(brought(desk, form(MANY), stop))
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await desk.heads() == before

        async def listen(done: float, total: float | None, message: str) -> None: ...

        again = await brought(desk, form(MANY), listen)
        assert again.body["entities_total"] == MANY


@pytest.mark.parametrize("form", [payments, statement])
async def test_t12_the_operators_deadline_ends_a_long_ingest_which_leaves_nothing(
    form: Any, tmp_path: Path
) -> None:
    async def listen(done: float, total: float | None, message: str) -> None:
        await asyncio.Event().wait()  # longer than any deadline

    async with a_stored_desk(tmp_path) as stored:
        settings = GatewaySettings(limits=Limits(seconds=0.5))
        desk = a_desk(stored.canon, settings=settings)
        before = await desk.heads()
        outcome = await brought(desk, form(MANY), listen)

        assert outcome.error is not None
        assert outcome.body["error"]["details"]["reason"] == "call.deadline"
        assert await desk.heads() == before


async def test_t12_others_are_served_while_a_long_ingest_runs(tmp_path: Path) -> None:
    turns, going = 0, True

    async def others() -> None:
        nonlocal turns
        while going:
            turns += 1
            await asyncio.sleep(0)

    async def listen(done: float, total: float | None, message: str) -> None:
        turns_at.append(turns)

    turns_at: list[int] = []
    async with a_stored_desk(tmp_path) as desk:
        beside = asyncio.create_task(others())
        await brought(desk, payments(MANY), listen)
        going = False
        await beside

    assert all(later > earlier for earlier, later in itertools.pairwise(turns_at))
