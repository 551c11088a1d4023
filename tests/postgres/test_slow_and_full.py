"""A server that is slow answers late, one whose disk is full refuses: nothing is lost or twice."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from canonry.app.backends.postgres import Shared, open_postgres
from canonry.log.commits import ORIGIN
from canonry.testing.example_items import MIDDLE_EARTH
from canonry.values.errors import Unavailable
from tests.conformance.kills import require_whole, written_while
from tests.conformance.postgres_store import URL, drop_data
from tests.faults.disks import Filling
from tests.faults.relay import relayed_url
from tests.servers.__main__ import Postgres
from tests.servers.processes import PORT, ROOT, home_of

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]
LITTLE, MORE = "size=96m", "size=400m"


@pytest.fixture
def cramped() -> Iterator[tuple[Postgres, Path]]:
    """A server whose records and log lie on a disk with room for little."""
    if not URL or not (ROOT / "pg0").is_file() or os.getuid() != 0:
        pytest.skip("no PostgreSQL server of our own, or nobody who may mount a disk for it")
    own, disk = Postgres(name="cramped", port=PORT + 11), home_of("cramped")
    options = f"{LITTLE},uid={disk.stat().st_uid},gid={disk.stat().st_gid},mode=700"
    mounting = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)],
        check=False,
        capture_output=True,
    )
    if mounting.returncode != 0:
        pytest.skip("nobody may mount a disk here")
    try:
        own.start()
        yield own, disk
        own.stop()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=False)


def mount_disk(*words: str) -> int:
    return subprocess.run(["mount", *words], check=False, capture_output=True).returncode


async def open_store(url: str, schema: str, folder: Path) -> Shared:
    return await open_postgres(url, schema=schema, folder=folder, connections=6)


async def test_a_full_disk_refuses_unsaved_writes_and_recovers(
    cramped: tuple[Postgres, Path], tmp_path: Path
) -> None:
    server, disk = cramped
    store = await open_store(server.url, "full", tmp_path)
    filling = Filling(store.canon)

    with pytest.raises(Unavailable) as refused:
        await filling.write_facts(range(20_000))

    assert refused.value.code in {"ledger.full", "store.unreachable"}
    assert filling.acknowledged
    assert await asyncio.to_thread(mount_disk, "-o", f"remount,{MORE}", str(disk)) == 0
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start)
    before = len(filling.acknowledged)
    await filling.write_facts(range(20_000, 20_005))
    assert len(filling.acknowledged) == before + 5
    await require_whole(store.canon, store.maintenance, filling.acknowledged)
    await store.close()


async def test_a_slow_server_loses_nothing_and_recovers(tmp_path: Path) -> None:
    if not URL:
        pytest.skip("no PostgreSQL server: `make servers` starts one")
    schema = f"test_{uuid4().hex}"
    async with relayed_url(URL) as (relay, url):
        store = await open_store(url, schema, tmp_path)

        async def slow() -> None:
            relay.delay = 0.1
            await asyncio.sleep(1.5)
            relay.delay = 0.0

        acknowledged = await written_while(store.canon, slow)

        await require_whole(store.canon, store.maintenance, acknowledged)
        assert await store.canon.ledger.head_position(MIDDLE_EARTH) == len(acknowledged) + ORIGIN
        await store.close()
    await drop_data(schema)
