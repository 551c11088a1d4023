"""The server is killed or cut off under load, or one of two processes: nothing is lost or twice."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from canonry.app.backends.mongodb import SplitStore, open_mongodb
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries
from tests.conformance.kills import require_whole, written_while
from tests.conformance.mongodb_store import URL, drop_data, require_server, server_of_our_own
from tests.faults.relay import relayed_url
from tests.servers.documents import Documents

pytestmark = pytest.mark.anyio
WRITER = """
import asyncio, sys
from pathlib import Path
from canonry.app.backends.mongodb import open_mongodb
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import a_fact

async def main():
    url, database, folder = sys.argv[1:]
    store = await open_mongodb(url, database=database, folder=Path(folder))
    for n in range(10_000):
        await Scribe(store.canon, f"other {n}").make_items(a_fact(f"other {n}"))
        print(n, flush=True)

asyncio.run(main())
"""


@pytest.fixture
def server() -> Iterator[Documents]:
    yield from server_of_our_own(89)


@asynccontextmanager
async def open_store(url: str, name: str, folder: Path) -> AsyncIterator[SplitStore]:
    store = await open_mongodb(url, database=name, folder=folder)
    try:
        yield store
    finally:
        await store.close()


async def test_a_killed_and_restarted_server_loses_nothing(
    server: Documents, tmp_path: Path
) -> None:
    async def kill() -> None:
        await asyncio.to_thread(server.stop, signal.SIGKILL)
        await asyncio.to_thread(server.start)

    async with open_store(server.url, "killed", tmp_path) as store:
        acknowledged = await written_while(store.canon, kill)

        await require_whole(store.canon, store.maintenance, acknowledged)
        assert await store.canon.ledger.head_position(MIDDLE_EARTH) == len(acknowledged)


async def test_cut_connections_lose_nothing(tmp_path: Path) -> None:
    require_server()
    name = f"test_{uuid4().hex}"
    async with relayed_url(URL) as (relay, url), open_store(url, name, tmp_path) as store:
        acknowledged = await written_while(store.canon, relay.cut_lines)

        await require_whole(store.canon, store.maintenance, acknowledged)
        assert await store.canon.ledger.head_position(MIDDLE_EARTH) == len(acknowledged)
    await drop_data(name)


async def test_a_killed_process_does_not_stop_the_other(tmp_path: Path) -> None:
    require_server()
    name = f"test_{uuid4().hex}"
    other = subprocess.Popen(  # noqa: ASYNC220 - the other process writes while this one does
        [sys.executable, "-c", WRITER, URL, name, str(tmp_path / "other")],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": "src"},
        text=True,
    )
    assert other.stdout is not None
    found = [await asyncio.to_thread(other.stdout.readline) for _ in range(3)]
    ours: set[str] = set()
    async with open_store(URL, name, tmp_path / "ours") as store:
        for n in range(40):
            scribe = Scribe(store.canon, f"ours {n}")
            draft = scribe.next_append(creation_entries(a_fact(f"ours {n}")))
            await scribe.append_batch([draft])
            ours.add(draft.draft.id)
            if n == 20:
                other.kill()
        rest, _ = await asyncio.to_thread(other.communicate)
        found += rest.splitlines()

        theirs = {
            Scribe(store.canon, f"other {n}").next_append(()).draft.id for n in range(len(found))
        }
        await require_whole(store.canon, store.maintenance, ours | theirs)
    await drop_data(name)
