"""The write-ahead log beside a long reader: it grows, and gives its room back afterwards."""

import asyncio
import time
from pathlib import Path

import apsw
import pytest

from canonry.adapters.sqlite.checkpoints import PAGES_KEPT
from tests.adapters.sqlite.opened import a_store

pytestmark = pytest.mark.anyio

PAGE = 4096


async def test_r16_a_log_that_grew_beside_a_reader_is_emptied_when_the_reader_has_gone(
    tmp_path: Path,
) -> None:
    log = tmp_path / "canon.db-wal"
    async with a_store(tmp_path) as store:
        reader = apsw.Connection(str(tmp_path / "canon.db"))
        reader.execute("BEGIN; SELECT count(*) FROM commits")
        written = 0
        while written < PAGES_KEPT * PAGE:
            await store.pump.submit(lambda: store.writer.execute(FILL), 1)
            written = log.stat().st_size - PAGE * PAGE
        reader.execute("COMMIT")
        reader.close()

        await asyncio.wait_for(asyncio.to_thread(emptied, log), 60)


def emptied(log: Path) -> None:
    """Wait for it in a thread, while the store does what it does."""
    while log.stat().st_size:
        time.sleep(0.01)


FILL = "INSERT OR REPLACE INTO meta VALUES ('filler', randomblob(8000000))"
