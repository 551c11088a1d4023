"""The server is killed or cut off under load, or one of two processes: nothing is lost or twice."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from canonry.app.backends.postgres import Shared, open_postgres
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries
from tests.conformance.kills import require_whole, written_while
from tests.conformance.postgres_store import URL, drop_data
from tests.faults.relay import relayed_url
from tests.servers.__main__ import Postgres
from tests.servers.processes import PORT, ROOT

pytestmark = pytest.mark.anyio
WRITER = """
import asyncio, sys
from pathlib import Path
from canonry.app.backends.postgres import open_postgres
from canonry.testing.clocks import Scribe
from canonry.testing.example_items import a_fact

async def main():
    url, schema, folder = sys.argv[1:]
    store = await open_postgres(url, schema=schema, folder=Path(folder), connections=3)
    for n in range(10_000):
        await Scribe(store.canon, f"other {n}").make_items(a_fact(f"other {n}"))
        print(n, flush=True)

asyncio.run(main())
"""


@pytest.fixture
def server() -> Iterator[Postgres]:
    if not URL or not (ROOT / "pg0").is_file():
        pytest.skip("no PostgreSQL server of our own: `make servers` starts one")
    own = Postgres(name="killed", port=PORT + 8)
    own.start()
    yield own
    own.stop()


async def open_store(url: str, schema: str, folder: Path) -> Shared:
    return await open_postgres(url, schema=schema, folder=folder, connections=6)


async def test_a_killed_and_restarted_server_loses_nothing(
    server: Postgres, tmp_path: Path
) -> None:
    store = await open_store(server.url, f"test_{uuid4().hex}", tmp_path)

    async def kill() -> None:
        await asyncio.to_thread(server.stop, signal.SIGKILL)
        await asyncio.to_thread(server.start)

    acknowledged = await written_while(store.canon, kill)

    await require_whole(store.canon, store.maintenance, acknowledged)
    assert await store.canon.ledger.head_position(MIDDLE_EARTH) == len(acknowledged)
    await store.close()


async def test_cut_connections_lose_nothing(tmp_path: Path) -> None:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    schema = f"test_{uuid4().hex}"
    async with relayed_url(URL) as (relay, url):
        store = await open_store(url, schema, tmp_path)

        acknowledged = await written_while(store.canon, relay.cut_lines)

        await require_whole(store.canon, store.maintenance, acknowledged)
        assert await store.canon.ledger.head_position(MIDDLE_EARTH) == len(acknowledged)
        await store.close()
    await drop_data(schema)


async def test_a_killed_process_does_not_stop_the_other(tmp_path: Path) -> None:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    schema = f"test_{uuid4().hex}"
    store = await open_store(URL, schema, tmp_path / "ours")
    other = subprocess.Popen(  # noqa: ASYNC220 - the other process writes while this one does
        [sys.executable, "-c", WRITER, URL, schema, str(tmp_path / "other")],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": "src"},
        text=True,
    )
    assert other.stdout is not None
    found = [await asyncio.to_thread(other.stdout.readline) for _ in range(3)]
    ours: set[str] = set()
    for n in range(40):
        scribe = Scribe(store.canon, f"ours {n}")
        draft = scribe.next_append(creation_entries(a_fact(f"ours {n}")))
        await scribe.append_batch([draft])
        ours.add(draft.draft.id)
        if n == 20:
            other.kill()
    rest, _ = await asyncio.to_thread(other.communicate)
    found += rest.splitlines()

    theirs = {Scribe(store.canon, f"other {n}").next_append(()).draft.id for n in range(len(found))}
    await require_whole(store.canon, store.maintenance, ours | theirs)
    await store.close()
    await drop_data(schema)
