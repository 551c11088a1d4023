"""A process notices the writes of another at once, or finds them later after a lost connection."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from canonry.app.backends.postgres import Shared, open_postgres
from canonry.server.binding import Subscriptions
from canonry.stores.postgres import Database
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_fact
from tests.conformance.postgres_store import URL, drop_data
from tests.server.recall_world import becomes

pytestmark = pytest.mark.anyio
LONG = 120.0
"""So many seconds nobody waits who hears anything."""

WRITER = """
import asyncio, sys
from pathlib import Path
from canonry.app.backends.postgres import open_postgres
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import a_fact

async def main():
    url, schema, folder = sys.argv[1:]
    store = await open_postgres(url, schema=schema, folder=Path(folder), connections=2)
    print("ready", flush=True)
    while word := await asyncio.to_thread(sys.stdin.readline):
        await Scribe(store.canon, word).make_items(a_fact(word))
        print("written", flush=True)
    await store.close()

asyncio.run(main())
"""
LISTENERS = "SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN \"%s\"'"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Shared]:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    schema = f"test_{uuid4().hex}"
    opened = await open_postgres(URL, schema=schema, folder=tmp_path / "ours", connections=3)
    yield opened
    await opened.close()
    await drop_data(schema)


async def listener(store: Shared, but: int = 0) -> int | None:
    """The connection that listens, once there is another one than `but`."""
    rows = await store.store.database.fetch_rows(LISTENERS % store.store.database.name)
    return rows[0][0] if rows and rows[0][0] != but else None


async def nobody(database: Database, name: str) -> bool | None:
    return not await database.fetch_rows(LISTENERS % name) or None


class Other:
    """A process that writes a fact whenever it is told to."""

    def __init__(self, store: Shared, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, URL, store.store.database.name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": "src"},
            text=True,
        )
        self._read_answer("ready")

    def write_word(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        self._read_answer("written")

    def _read_answer(self, wanted: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == f"{wanted}\n"

    def end_process(self) -> None:
        self._process.communicate(timeout=60)


@pytest.fixture
async def other(store: Shared, tmp_path: Path) -> AsyncIterator[Other]:
    process = await asyncio.to_thread(Other, store, tmp_path / "other")
    yield process
    await asyncio.to_thread(process.end_process)


async def seconds_until_notified(store: Shared, other: Other, word: str) -> float:
    """Return the seconds until a process notices a write of another."""
    waiting = asyncio.ensure_future(store.canon.ledger.await_news(LONG))
    await asyncio.sleep(0)
    await asyncio.to_thread(other.write_word, word)
    began = time.monotonic()
    await waiting
    return time.monotonic() - began


async def test_writes_of_another_process_are_notified(store: Shared, other: Other) -> None:
    await store.canon.ledger.await_news(0.01)  # it begins to listen
    await becomes(lambda: listener(store), "it listens")

    assert await seconds_until_notified(store, other, "one") < LONG / 10
    assert await seconds_until_notified(store, other, "two") < LONG / 10


async def test_a_disconnected_listener_reconnects_and_polls_meanwhile(
    store: Shared, other: Other
) -> None:
    await store.canon.ledger.await_news(0.01)
    first = await becomes(lambda: listener(store), "it listens")
    await store.store.database.fetch_rows("SELECT pg_terminate_backend(%s)", (first,))

    cursor = (await store.canon.ledger.touched_since(0, limit=9)).cursor
    await asyncio.to_thread(other.write_word, "unheard")
    await store.canon.ledger.await_news(0.01)  # nobody tells, and it ends all the same
    assert (await store.canon.ledger.touched_since(cursor, limit=9)).keys

    await becomes(lambda: listener(store, but=first), "it listens again")
    assert await seconds_until_notified(store, other, "heard") < LONG / 10


async def test_a_watcher_is_notified_of_writes_by_another_process(
    store: Shared, other: Other
) -> None:
    notified = asyncio.Event()

    class Somebody:
        pass

    async def look() -> str:
        return str(await store.canon.ledger.head_position(MIDDLE_EARTH))

    async def notify(_: object) -> None:
        notified.set()

    watching, who = Subscriptions(store.canon.ledger), Somebody()
    await watching.add_subscription(who, "head", look, notify)
    await asyncio.to_thread(other.write_word, "watched")
    await asyncio.wait_for(notified.wait(), 30)
    watching.drop_subscriptions(who)


async def test_a_closed_store_stops_listening(store: Shared) -> None:
    await store.canon.ledger.await_news(0.01)
    await becomes(lambda: listener(store), "it listens")
    await Scribe(store.canon, "last").make_items(a_fact("last"))
    watching = Database(URL, "unused", connections=1)  # a store would listen by itself
    await watching.open()
    await store.close()

    await becomes(lambda: nobody(watching, store.store.database.name), "nobody listens")
    await watching.close()
