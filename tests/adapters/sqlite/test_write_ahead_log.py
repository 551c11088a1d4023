"""The write-ahead log beside a long reader: it grows, and gives its room back afterwards."""

import asyncio
from pathlib import Path

import apsw
import pytest

from canonry.stores.folder import FolderBlobs
from canonry.stores.memory import MemoryBlobs
from canonry.stores.sqlite import SqliteMaintenance
from canonry.stores.sqlite.connections import PAGES_KEPT
from canonry.stores.sqlite.verification import verify_store
from canonry.testing.clocks import HandClock, an_append
from canonry.testing.example_items import MIDDLE_EARTH, a_fact, creation_entries, uuid_of
from tests.adapters.sqlite.opened import a_store

pytestmark = pytest.mark.anyio

PAGE = 4096
FILL = "INSERT OR REPLACE INTO meta VALUES ('filler', randomblob(8000000))"


async def test_a_grown_write_ahead_log_is_emptied_after_its_reader_leaves(
    tmp_path: Path,
) -> None:
    log = tmp_path / "canon.db-wal"
    async with a_store(tmp_path) as store:
        reader = apsw.Connection(str(tmp_path / "canon.db"))
        reader.execute("BEGIN; SELECT count(*) FROM commits")
        written = 0
        while written < PAGES_KEPT * PAGE:
            await store.pump.submit_work(lambda: store.writer.execute(FILL), 1)
            written = log.stat().st_size - PAGE * PAGE
        assert not store.checkpoints.short.is_set()
        reader.execute("COMMIT")
        reader.close()

        assert await asyncio.to_thread(store.checkpoints.short.wait, 60)
        assert log.stat().st_size == 0


async def test_verify_allows_emptying_the_log_while_it_reads(
    tmp_path: Path,
) -> None:
    async with a_store(tmp_path) as store:
        appends = [an_append(f"{n}", creation_entries(a_fact(f"fact {n}"))) for n in range(450)]
        await store.ledger.append_drafts(appends)
        other = apsw.Connection(str(store.path))
        tried: list[tuple[int, int]] = []

        def on_progress(done: int, _total: int | None) -> None:
            """Change the store and ask for an empty log, while the folding has got so far."""
            other.execute(FILL)
            ((busy, _, _),) = other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            tried.append((done, int(busy)))

        seen = await asyncio.to_thread(verify_store, store.path, _no_blob, on_progress)
        other.close()

    assert tried[:2] == [(200, 0), (400, 0)]
    assert (seen.commits, seen.findings) == (450, ())


async def test_verify_reports_the_state_after_a_concurrent_erasure(
    tmp_path: Path,
) -> None:
    async with a_store(tmp_path) as store:
        appends = [an_append(f"{n}", creation_entries(a_fact(f"fact {n}"))) for n in range(250)]
        await store.ledger.append_drafts(appends)
        maintenance = SqliteMaintenance(
            store,
            blobs=MemoryBlobs(),
            stored_at=refuse_call,
            blobs_in=FolderBlobs,
            clock=HandClock(),
        )
        loop, purges = asyncio.get_running_loop(), list[int]()

        def on_progress(done: int, _total: int | None) -> None:
            if not purges:
                purging = maintenance.purge(MIDDLE_EARTH, [uuid_of("fact 7")])
                purges.append(asyncio.run_coroutine_threadsafe(purging, loop).result(60))

        seen = await asyncio.to_thread(verify_store, store.path, _no_blob, on_progress)

    assert purges == [1]
    assert (seen.commits, seen.findings) == (250, ())


async def test_independent_statements_hold_no_snapshot(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await store.ledger.append_drafts([an_append("one", creation_entries(a_fact("one")))])
        other = apsw.Connection(str(store.path))

        def emptied_between(db: apsw.Connection) -> int:
            db.execute("SELECT count(*) FROM commits").fetchall()
            other.execute(FILL)
            ((busy, _, _),) = other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.execute("SELECT count(*) FROM things").fetchall()
            return int(busy)

        apart = await store.readers.run_whole(emptied_between, consistent=False)
        together = await store.readers.run_whole(emptied_between)
        other.close()

    assert (apart, together) == (0, 1)


def _no_blob(digest: str) -> bytes:
    raise LookupError(digest)


async def refuse_call(_digest: str) -> float | None:
    return None
