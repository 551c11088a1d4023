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


async def test_r16_a_log_that_grew_beside_a_reader_is_emptied_when_the_reader_has_gone(
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


async def test_r16_verify_lets_the_log_be_emptied_while_it_reads_the_records(
    tmp_path: Path,
) -> None:
    async with a_store(tmp_path) as store:
        appends = [an_append(f"{n}", creation_entries(a_fact(f"fact {n}"))) for n in range(450)]
        await store.ledger.append_drafts(appends)
        other = apsw.Connection(str(store.path))
        tried: list[tuple[int, int]] = []

        def told(done: int, _total: int | None) -> None:
            """Change the store and ask for an empty log, while the folding has got so far."""
            other.execute(FILL)
            ((busy, _, _),) = other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            tried.append((done, int(busy)))

        seen = await asyncio.to_thread(verify_store, store.path, _no_blob, told)
        other.close()

    assert tried[:2] == [(200, 0), (400, 0)]
    assert (seen.commits, seen.findings) == (450, ())


async def test_r16_verify_tells_of_the_moment_after_what_was_erased_meanwhile(
    tmp_path: Path,
) -> None:
    async with a_store(tmp_path) as store:
        appends = [an_append(f"{n}", creation_entries(a_fact(f"fact {n}"))) for n in range(250)]
        await store.ledger.append_drafts(appends)
        upkeep = SqliteMaintenance(
            store, blobs=MemoryBlobs(), stored_at=_never, blobs_in=FolderBlobs, clock=HandClock()
        )
        loop, told_of = asyncio.get_running_loop(), list[int]()

        def told(done: int, _total: int | None) -> None:
            if not told_of:
                purging = upkeep.purge(MIDDLE_EARTH, [uuid_of("fact 7")])
                told_of.append(asyncio.run_coroutine_threadsafe(purging, loop).result(60))

        seen = await asyncio.to_thread(verify_store, store.path, _no_blob, told)

    assert told_of == [1]
    assert (seen.commits, seen.findings) == (250, ())


async def test_r16_statements_that_need_not_agree_hold_no_moment(tmp_path: Path) -> None:
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


async def _never(_digest: str) -> float | None:
    return None
