"""Writing: concurrent calls share a sync, and one that fails harms no other."""

import asyncio
import os
import random
import threading
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest
from typing_extensions import override

from canonry.app.embedded import open_embedded
from canonry.log.commits import ORIGIN, Append, Appended, Outcome, Stale
from canonry.log.entries import Erased, FactRetconned
from canonry.log.folding import ANY, item_key
from canonry.log.sealing import GENESIS
from canonry.stores.sqlite import Durability, SqliteStore
from canonry.testing.clocks import HandClock, an_append
from canonry.testing.conformance.maintenance import check_progress
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    a_space,
    a_turn,
    an_entity,
    creation_entries,
    uuid_of,
)
from canonry.values.errors import BrokenInvariant, Unavailable
from canonry.values.ids import FactId
from canonry.values.moments import Instant
from tests.adapters.sqlite.opened import a_store, run_statement

pytestmark = pytest.mark.anyio

WRITERS = 16
EACH = 10


class CountedSyncs(apsw.VFS):
    """The default file system; counts how often anything waits for the disk."""

    def __init__(self, name: str) -> None:
        self.count = 0
        super().__init__(name, "")

    def xOpen(  # noqa: N802 - the name that SQLite gives it
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> "CountedFile":
        return CountedFile(self, name, flags)


class CountedFile(apsw.VFSFile):
    """A file that tells of its syncs."""

    def __init__(
        self, syncs: CountedSyncs, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__("", name, flags)
        self._syncs = syncs

    def xSync(self, flags: int) -> None:  # noqa: N802 - the name that SQLite gives it
        self._syncs.count += 1
        super().xSync(flags)


def a_dangling(name: str) -> Append:
    """A draft that cannot be folded."""
    fact = FactId(uuid_of("never made"))
    return an_append(name, [FactRetconned(fact_id=fact, replaced_by=None, reason="r")])


async def append_one(store: SqliteStore, append: Append) -> Outcome:
    (outcome,) = await store.ledger.append_drafts([append])
    return outcome


async def test_concurrent_writers_share_syncs(tmp_path: Path) -> None:
    syncs = CountedSyncs("shared")
    async with a_store(tmp_path, durability=Durability.FULL, vfs="shared") as store:
        await append_one(store, an_append("space", creation_entries(a_space())))
        syncs.count = 0

        async def write(writer: int) -> None:
            for n in range(EACH):
                await append_one(
                    store,
                    an_append(f"{writer}/{n}", creation_entries(a_turn(f"turn {writer}/{n}"))),
                )

        await asyncio.gather(*(write(writer) for writer in range(WRITERS)))

        assert syncs.count <= 0.2 * WRITERS * EACH
        assert await store.ledger.head_position(MIDDLE_EARTH) == 1 + WRITERS * EACH
    syncs.unregister()


async def test_every_single_write_is_synced(tmp_path: Path) -> None:
    syncs = CountedSyncs("lone")
    async with a_store(tmp_path, durability=Durability.FULL, vfs="lone") as store:
        await append_one(store, an_append("space", creation_entries(a_space())))
        for n in range(EACH):
            before = syncs.count
            await append_one(store, an_append(str(n), creation_entries(a_turn(f"turn {n}"))))
            assert syncs.count > before
    syncs.unregister()


async def test_a_failing_draft_harms_no_other_of_its_group(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await append_one(store, an_append("space", creation_entries(a_space())))
        answers = await asyncio.gather(
            append_one(store, an_append("a", creation_entries(an_entity("a")))),
            append_one(store, a_dangling("wrong")),
            append_one(store, an_append("b", creation_entries(an_entity("b")))),
            return_exceptions=True,
        )

        kinds = [type(answer) for answer in answers]
        assert kinds == [Appended, BrokenInvariant, Appended]
        assert await store.ledger.head_position(MIDDLE_EARTH) == 3
        assert set(await store.state.items_by_id([uuid_of("a"), uuid_of("b")])) == {
            uuid_of("a"),
            uuid_of("b"),
        }


async def test_a_failing_batch_leaves_nothing(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await append_one(store, an_append("space", creation_entries(a_space())))

        with pytest.raises(BrokenInvariant):
            await store.ledger.append_drafts(
                [an_append("a", creation_entries(an_entity("a"))), a_dangling("wrong")]
            )

        assert await store.ledger.head_position(MIDDLE_EARTH) == 1
        assert await store.state.items_by_id([uuid_of("a")]) == {}


async def test_a_write_cancelled_while_waiting_is_not_done(
    tmp_path: Path,
) -> None:
    async with a_store(tmp_path) as store:
        await append_one(store, an_append("space", creation_entries(a_space())))
        async with store.ledger.lock_appends():
            waiting = asyncio.create_task(
                append_one(store, an_append("a", creation_entries(an_entity("a"))))
            )
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        await append_one(store, an_append("b", creation_entries(an_entity("b"))))

        assert await store.ledger.head_position(MIDDLE_EARTH) == 2
        assert set(await store.state.items_by_id([uuid_of("a"), uuid_of("b")])) == {uuid_of("b")}


class HeldClock(HandClock):
    """A clock that, once it is held, does not answer the writer until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = threading.Event(), threading.Event()
        self.held = False

    @override
    def now(self) -> Instant:
        if self.held:
            self.asked.set()
            self.go.wait()
        return super().now()


async def test_a_long_write_that_is_cancelled_is_rolled_back(tmp_path: Path) -> None:
    clock = HeldClock()
    async with a_store(tmp_path, clock=clock) as store:
        await append_one(store, an_append("space", creation_entries(a_space())))
        many = creation_entries(*(an_entity(f"one of {n}") for n in range(100)))
        clock.held = True
        writing = asyncio.create_task(append_one(store, an_append("many", many)))
        await asyncio.to_thread(clock.asked.wait)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        clock.held = False
        clock.go.set()
        await append_one(store, an_append("b", creation_entries(an_entity("b"))))

        assert await store.ledger.head_position(MIDDLE_EARTH) == 2
        assert await store.state.items_by_id([uuid_of("one of 0")]) == {}


async def test_many_short_payloads_make_no_files_and_each_is_erased_alone(
    tmp_path: Path,
) -> None:
    words = "x" * 5_000
    store = await open_embedded(tmp_path, durability=Durability.NORMAL)
    try:
        many = [an_entity(f"{n}", entity_type=f"{words}{n}") for n in range(1_000)]
        await store.canon.ledger.append_drafts(
            [an_append("space", creation_entries(a_space(), *many))]
        )

        assert not [path for path in tmp_path.rglob("*") if len(path.name) == len(GENESIS)]
        (sealed,) = await store.canon.ledger.read_sealed(MIDDLE_EARTH, after=ORIGIN, limit=1)
        assert sum(len(part.payload) for part in sealed.parts if part) > 5_000_000
        erased = Erased(targets=(uuid_of("7"),), reason="asked for")
        await store.canon.ledger.append_drafts([an_append("erase", [erased])])
        await store.maintenance.purge(MIDDLE_EARTH, erased.targets)

        (after,) = await store.canon.ledger.read_sealed(MIDDLE_EARTH, after=ORIGIN, limit=1)
        assert [n for n, part in enumerate(after.parts) if part is None] == [8]
        assert after.body == sealed.body
        assert not (await store.maintenance.verify(check_progress)).findings
    finally:
        await store.close()


async def test_a_full_disk_refuses_writes_and_recovers(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await append_one(store, an_append("space", creation_entries(a_space())))
        limit = store.writer.pragma("page_count")
        store.writer.execute(f"PRAGMA max_page_count = {limit}")

        pages = [a_turn(f"turn {n}", text="word " * 5000) for n in range(100)]
        with pytest.raises(Unavailable) as caught:
            await append_one(store, an_append("pages", creation_entries(*pages)))
        assert caught.value.code == "ledger.full"
        head = await store.ledger.head_position(MIDDLE_EARTH)
        store.writer.execute("PRAGMA max_page_count = 1000000")
        await append_one(store, an_append("after", creation_entries(an_entity("after"))))

        assert await store.ledger.head_position(MIDDLE_EARTH) == head + 1


async def test_a_cancelled_write_is_done_or_not_and_nothing_hangs(tmp_path: Path) -> None:
    async with a_store(tmp_path, durability=Durability.FULL) as store:
        await append_one(store, an_append("space", creation_entries(a_space())))
        gone = asyncio.create_task(
            append_one(store, an_append("gone", creation_entries(an_entity("gone"))))
        )
        await asyncio.sleep(0)
        gone.cancel()
        outcome = await append_one(store, an_append("here", creation_entries(an_entity("here"))))

        assert isinstance(outcome, Appended)
        wrote = bool(await store.state.items_by_id([uuid_of("gone")]))
        assert outcome.position == 2 + wrote
        assert gone.cancelled()


async def test_a_write_cancelled_while_waiting_passes_the_lock_on(tmp_path: Path) -> None:
    async with a_store(tmp_path, prefix=1) as here, a_store(tmp_path, prefix=2) as there:
        await append_one(here, an_append("space", creation_entries(a_space())))

        async def wait_and_enter() -> None:
            async with there.ledger.lock_appends():
                pass

        async with here.ledger.lock_appends():
            gone = asyncio.create_task(wait_and_enter())
            await asyncio.sleep(0)
            gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone

        assert isinstance(
            await append_one(here, an_append("a", creation_entries(an_entity("a")))), Appended
        )
        assert isinstance(
            await append_one(there, an_append("b", creation_entries(an_entity("b")))), Appended
        )


async def test_a_foreign_writer_is_waited_for(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await append_one(store, an_append("space", creation_entries(a_space())))
        stranger = apsw.Connection(str(tmp_path / "canon.db"))
        stranger.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(
            append_one(store, an_append("a", creation_entries(an_entity("a"))))
        )
        await asyncio.sleep(0)
        stranger.execute("COMMIT")
        stranger.close()

        assert isinstance(await waiting, Appended)


async def test_closing_finishes_pending_writes(tmp_path: Path) -> None:
    async with a_store(tmp_path, durability=Durability.FULL) as store:
        await append_one(store, an_append("space", creation_entries(a_space())))
        asked = [
            asyncio.create_task(
                append_one(store, an_append(str(n), creation_entries(an_entity(str(n)))))
            )
            for n in range(20)
        ]
        await asyncio.sleep(0)
        await store.close()
        outcomes = await asyncio.gather(*asked)

    assert all(isinstance(outcome, Appended) for outcome in outcomes)
    assert run_statement(tmp_path, "SELECT count(*) FROM commits") == [(21,)]


def random_text(length: int, seed: int) -> str:
    """A text that cannot be packed much."""
    return random.Random(seed).randbytes(length // 2).hex()


async def test_long_payloads_are_files_and_many_short_ones_are_rows(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await append_one(store, an_append("space", creation_entries(a_space())))
        await append_one(
            store, an_append("book", creation_entries(a_turn("book", text=random_text(200_000, 0))))
        )
        pages = [a_turn(f"page {n}", text=random_text(60_000, n)) for n in range(80)]
        await append_one(store, an_append("pages", creation_entries(*pages)))
        sealed = await store.ledger.read_sealed(MIDDLE_EARTH, after=1, limit=2)  # type: ignore[arg-type]

    payloads = [part.payload for item in sealed for part in item.parts if part is not None]
    assert len(payloads) == 81
    assert all(payloads)
    kept = run_statement(
        tmp_path, "SELECT seq, sum(length(payload)), count(blob) FROM parts GROUP BY seq"
    )
    assert kept[1][1:] == (None, 1)
    assert kept[2][1] > 80 * 60_000 // 2
    assert kept[2][2] == 0


async def test_verdicts_older_than_a_thousand_commits_are_recomputed(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await append_one(store, an_append("space", creation_entries(a_space())))
        batch = [an_append(str(n), creation_entries(a_fact(f"fact {n}"))) for n in range(1001)]
        await store.ledger.append_drafts(batch)
        reads = [item_key(uuid_of("nothing that was touched"))]

        old = await append_one(
            store, an_append("old", creation_entries(an_entity("old")), judged_at=1, reads=reads)
        )
        young = an_append("young", creation_entries(an_entity("young")), judged_at=2, reads=reads)

        assert isinstance(old, Stale)
        assert isinstance(await append_one(store, young), Appended)


async def test_a_group_judges_each_call_by_the_earlier_ones(tmp_path: Path) -> None:
    async with a_store(tmp_path) as store:
        await append_one(store, an_append("space", creation_entries(a_space())))
        drafts = [
            an_append(str(n), creation_entries(an_entity(str(n))), judged_at=1, reads=[ANY])
            for n in range(8)
        ]

        outcomes = await asyncio.gather(*(append_one(store, draft) for draft in drafts))

        assert [type(outcome) for outcome in outcomes] == [Appended, *[Stale] * 7]


async def test_two_stores_on_a_folder_alternate(tmp_path: Path) -> None:
    async with a_store(tmp_path, prefix=1) as here, a_store(tmp_path, prefix=2) as there:
        await append_one(here, an_append("space", creation_entries(a_space())))

        async def write(store: SqliteStore, name: str) -> Sequence[Outcome]:
            return [
                await append_one(
                    store, an_append(f"{name}/{n}", creation_entries(a_turn(f"{name}/{n}")))
                )
                for n in range(30)
            ]

        outcomes = await asyncio.gather(write(here, "here"), write(there, "there"))

        positions = sorted(o.position for mine in outcomes for o in mine if isinstance(o, Appended))
        assert positions == list(range(2, 62))
        assert (
            await there.ledger.head_position(MIDDLE_EARTH)
            == await here.ledger.head_position(MIDDLE_EARTH)
            == 61
        )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
async def test_a_forked_child_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_store(tmp_path) as store:
        monkeypatch.setattr(os, "getpid", lambda: -1)

        with pytest.raises(Unavailable) as caught:
            await append_one(store, an_append("space", creation_entries(a_space())))

        assert caught.value.code == "ledger.closed"
