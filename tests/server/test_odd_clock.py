"""A clock that is off is told by the page of health and by the log, while reading goes on."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from canonry.app.embedded import open_embedded
from canonry.gateway.audit import Audit
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.server.http import http_app
from canonry.server.options import ServerOptions
from canonry.testing.clocks import HandClock, Scribe
from canonry.testing.example_items import a_fact, a_space
from canonry.values.moments import DAY, SECOND
from tests.gateway.sample import LAMPS

pytestmark = pytest.mark.anyio

READER = Principal(agent_id="probe", agent_type="Narrator")


class SteadyClock(HandClock):
    """One that is set without the other that counts seconds taking part."""

    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@asynccontextmanager
async def open_client(
    data: Path, clock: SteadyClock, lines: list[bytes]
) -> AsyncIterator[tuple[httpx2.AsyncClient, Scribe]]:
    """A client of a server on a store that tells the time by `clock`."""
    store = await open_embedded(data, clock=clock)
    try:
        gateway = Gateway(store.canon, [LAMPS], audit=Audit(lines.append))
        app = http_app(gateway, READER, server_options=ServerOptions())
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            yield client, Scribe(store.canon)
    finally:
        await store.close()


async def read_health(client: httpx2.AsyncClient) -> tuple[int, str]:
    answer = await client.get("/healthz")
    return answer.status_code, answer.text


def outcomes_in(lines: list[bytes]) -> list[str]:
    found = [json.loads(line) for line in lines]
    return [line["outcome"] for line in found if line["event"] == "clock"]


async def test_health_and_log_report_a_clock_jump_until_corrected(
    tmp_path: Path,
) -> None:
    clock, lines = SteadyClock(), list[bytes]()
    async with open_client(tmp_path, clock, lines) as (client, _):
        assert await read_health(client) == (200, "ok\n")
        clock.move_by(400 * DAY)
        assert await read_health(client) == (200, "ok\nclock.jumped\n")
        assert await read_health(client) == (200, "ok\nclock.jumped\n")
        assert (await client.get("/readyz")).status_code == 200, "what is stored can be read"
        clock.move_by(-400 * DAY)
        assert await read_health(client) == (200, "ok\n")

    assert outcomes_in(lines) == ["clock.jumped", "ok"]


async def test_health_reports_a_clock_behind_the_records(tmp_path: Path) -> None:
    clock, lines = SteadyClock(), list[bytes]()
    async with open_client(tmp_path, clock, lines) as (_, scribe):
        await scribe.make_items(a_space(), a_fact("while the clock was ahead"))
    clock.move_by(-400 * DAY)
    async with open_client(tmp_path, clock, lines) as (client, _):
        assert await read_health(client) == (200, "ok\nclock.behind\n")
        clock.move_by(400 * DAY + SECOND)
        clock.seconds += 400 * 86_400
        assert await read_health(client) == (200, "ok\n")

    assert outcomes_in(lines) == ["clock.behind", "ok"]


async def test_health_reports_an_impossible_clock(tmp_path: Path) -> None:
    clock = SteadyClock()
    async with open_client(tmp_path, clock, []) as (client, _):
        clock.move_by(-clock.now())
        assert await read_health(client) == (200, "ok\nclock.implausible\n")
