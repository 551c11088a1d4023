"""The contracts of storage: blobs, durability, several writers, and maintenance."""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from canonry.log.commits import ORIGIN, Appended, Position, Stale
from canonry.log.entries import EntitiesMerged, Erased, Tombstone
from canonry.log.folding import facts_key, item_key, key_hash
from canonry.log.items.entities import Entity
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.state import FactQuery
from canonry.readmodels.ports.text import TextQuery
from canonry.readmodels.ports.view import Verification
from canonry.testing.clocks import Scribe
from canonry.testing.conformance.chronicle import SECRET, write_chronicle
from canonry.testing.conformance.kit import (
    Backend,
    Contract,
    require_part,
    requirement,
    view_answers,
)
from canonry.testing.conformance.ledger import whole_log
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    a_named,
    a_snippet,
    a_turn,
    an_entry,
    an_observation,
    creation_entries,
    unmerged,
    uuid_of,
)
from canonry.values.errors import BrokenInvariant, Conflict, NotFound, Unavailable

CONTENTS = (b"", b"\x00", bytes(range(256)) * 10, b"a" * 3_000_000, "\u6c49\u5b57".encode())


class BlobsContract(Contract):
    """Provide a fixture `backend` with an empty store."""

    @requirement("blobs:put:round-trip")
    async def test_bytes_are_read_back_equal(self, backend: Backend) -> None:
        """Bytes of any content and size are read back equal, under their SHA-256."""
        for data in CONTENTS:
            digest = await backend.blobs.put_bytes(data)

            assert digest == sha256(data).hexdigest()
            assert await backend.blobs.get_bytes(digest) == data

    @requirement("blobs:put:same-bytes-same-digest")
    async def test_same_bytes_are_kept_once(self, backend: Backend) -> None:
        """Putting the same bytes again, also at the same time, stores them once."""
        await backend.blobs.put_bytes(b"ring")
        digests = await asyncio.gather(*(backend.blobs.put_bytes(b"ring") for _ in range(8)))

        assert len(set(digests)) == 1
        assert list(await backend.blobs.list_digests(limit=10)) == [digests[0]]

    @requirement("blobs:get:unknown")
    @pytest.mark.parametrize(
        "digest", ["0" * 64, "", "..", "../canon.db", "/etc/hosts", "A" * 64, "\u6c49", "0" * 63]
    )
    async def test_unknown_digest_is_not_found(self, backend: Backend, digest: str) -> None:
        """An unknown or malformed digest raises NotFound `blobs.unknown`."""
        with pytest.raises(NotFound, match=r"^blobs\.unknown:"):
            await backend.blobs.get_bytes(digest)
        await backend.blobs.delete_bytes(digest)

    @requirement("blobs:delete:idempotent")
    async def test_deleted_bytes_are_gone(self, backend: Backend) -> None:
        """`delete` deletes the bytes, and does nothing if there are none."""
        digest = await backend.blobs.put_bytes(b"ring")
        await backend.blobs.delete_bytes(digest)
        await backend.blobs.delete_bytes(digest)

        with pytest.raises(NotFound):
            await backend.blobs.get_bytes(digest)
        assert list(await backend.blobs.list_digests(limit=10)) == []
        assert await backend.blobs.put_bytes(b"ring") == digest
        assert await backend.blobs.get_bytes(digest) == b"ring"

    @requirement("blobs:digests:paged")
    async def test_digests_come_in_order_page_by_page(self, backend: Backend) -> None:
        """`digests` returns every stored digest once, in order, page by page."""
        expected = sorted([await backend.blobs.put_bytes(str(n).encode()) for n in range(25)])

        found: list[str] = []
        while page := await backend.blobs.list_digests(after=found[-1] if found else "", limit=7):
            assert len(page) <= 7
            found += page

        assert found == expected


class DurableBlobsContract(Contract):
    """For backends that can `reopen` and that offer `damages`."""

    @requirement("blobs:durable:reopened")
    async def test_bytes_survive_closing(self, backend: Backend) -> None:
        """Bytes are still there after closing and opening."""
        digest = await backend.blobs.put_bytes(b"ring")

        again = await require_part(backend.reopen)()

        assert await again.blobs.get_bytes(digest) == b"ring"

    @requirement("blobs:get:altered")
    async def test_altered_bytes_are_refused(self, backend: Backend) -> None:
        """Bytes that do not match their hash raise BrokenInvariant `blobs.altered`."""
        digest = await backend.blobs.put_bytes(b"ring " * 1_000)
        await require_part(backend.damages).blob(digest)

        with pytest.raises(BrokenInvariant, match=r"^blobs\.altered:"):
            await backend.blobs.get_bytes(digest)


class DurabilityContract(Contract):
    """For backends that can `reopen` and `close`."""

    @requirement("ledger:durable:reopened")
    async def test_everything_survives_closing(self, backend: Backend) -> None:
        """After closing and opening, log, views and positions are unchanged."""
        await write_chronicle(backend)
        log, replies = await whole_log(backend), await view_answers(backend.canon)

        again = await require_part(backend.reopen)()

        assert await whole_log(again) == log
        assert await view_answers(again.canon) == replies
        head = await again.canon.ledger.head_position(MIDDLE_EARTH)
        after = await Scribe(again.canon, "after").make_items(a_fact("after"))
        assert after.position == Position(head + 1)

    @requirement("ledger:durable:closed")
    async def test_closed_store_refuses(self, backend: Backend) -> None:
        """A closed store refuses calls with Unavailable `ledger.closed`."""
        scribe = Scribe(backend.canon)
        drafts = [scribe.next_append(creation_entries(a_fact(f"early {n}"))) for n in range(5)]
        early = asyncio.gather(*(scribe.append_batch([draft]) for draft in drafts))
        await asyncio.sleep(0)
        await require_part(backend.close)()

        with pytest.raises(Unavailable, match=r"^ledger\.closed:"):
            await scribe.make_items(a_fact("late"))
        answered = await early
        again = await require_part(backend.reopen)()
        assert await again.canon.ledger.head_position(MIDDLE_EARTH) == Position(len(answered))


class WritersContract(Contract):
    """For backends that offer a `second` instance on the same store."""

    @requirement("ledger:writers:share")
    async def test_instances_see_each_other(self, backend: Backend) -> None:
        """Two instances on one store see each other's commits at once, in one order."""
        other = await require_part(backend.second)()
        both = (backend, other)
        scribes = [Scribe(one.canon, name) for one, name in zip(both, "ab", strict=True)]
        for n in range(1, 9):
            writer, reader = scribes[n % 2], both[(n + 1) % 2]
            written = await writer.make_items(a_fact(f"fact {n}"))

            assert written.position == Position(n)
            assert await reader.canon.ledger.head_position(MIDDLE_EARTH) == Position(n)
            assert (await reader.canon.state.facts(FactQuery())).total == n
        assert await view_answers(backend.canon) == await view_answers(other.canon)

    @requirement("ledger:writers:conflict")
    async def test_verdicts_and_ids_hold_across_instances(self, backend: Backend) -> None:
        """A commit of one instance makes the other's verdict stale, and ids are replayed."""
        other = await require_part(backend.second)()
        ours, theirs = Scribe(backend.canon, "same"), Scribe(other.canon, "same")
        first = ours.next_append(creation_entries(a_fact("one", "ann")))
        again = theirs.next_append(creation_entries(a_fact("two", "ann")))
        reads = [facts_key(uuid_of("ann"))]
        await ours.append_batch([first])

        (replayed,) = await theirs.append_batch([again])
        (stale,) = await theirs.append_batch(
            [theirs.next_append(creation_entries(a_fact("three")), reads=reads)]
        )

        assert isinstance(replayed, Appended)
        assert replayed.replayed
        assert stale == Stale(head=Position(1))

    @requirement("ledger:writers:many-at-once")
    async def test_concurrent_instances_lose_nothing(self, backend: Backend) -> None:
        """Two instances under concurrent load lose and repeat nothing."""
        other = await require_part(backend.second)()
        calls = [
            Scribe(one.canon, f"{name} {n}").make_items(a_fact(f"{name} {n}"))
            for n in range(100)
            for one, name in ((backend, "a"), (other, "b"))
        ]
        reads = [one.canon.state.facts(FactQuery()) for one in (backend, other) for _ in range(20)]

        written, _ = await asyncio.gather(asyncio.gather(*calls), asyncio.gather(*reads))

        assert sorted(w.position for w in written) == list(range(1, 201))
        log = await other.canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=500)
        assert len({commit.id for commit in log}) == 200
        # Each machine may have its own views; reading the head brings them up to date.
        assert await backend.canon.ledger.head_position(MIDDLE_EARTH) == Position(200)
        assert (await backend.canon.state.facts(FactQuery())).total == 200

    @requirement("ledger:writers:exclusive")
    async def test_exclusive_keeps_the_other_instance_out(self, backend: Backend) -> None:
        """`exclusive` also blocks the other instance, until the block ends."""
        other = await require_part(backend.second)()
        ours, theirs = Scribe(backend.canon, "ours"), Scribe(other.canon, "theirs")

        async with backend.canon.ledger.lock_appends():
            waiting = asyncio.ensure_future(theirs.make_items(a_fact("theirs")))
            for n in range(3):
                await ours.make_items(a_fact(f"ours {n}"))
                # Reading takes real time, in which a store without the lock would write.
                await other.canon.ledger.head_position(MIDDLE_EARTH)
            assert not waiting.done()

        assert (await waiting).position == Position(4)

    @requirement("ledger:writers:touched")
    async def test_touches_of_the_other_instance_are_returned(self, backend: Backend) -> None:
        """`touched_since` includes keys that other instances touched."""
        other = await require_part(backend.second)()
        cursor = (await backend.canon.ledger.touched_since(0, limit=10)).cursor
        await Scribe(other.canon, "theirs").make_items(a_fact("ring", "ann"))

        touched = await backend.canon.ledger.touched_since(cursor, limit=10)
        again = await backend.canon.ledger.touched_since(touched.cursor, limit=10)

        assert touched.keys is not None
        assert {
            key_hash(facts_key(uuid_of("ann"))),
            key_hash(item_key(uuid_of("ring"))),
        } <= touched.keys
        assert again.keys == frozenset()


def check_progress(done: int, total: int | None) -> None:
    """Check progress: it grows and stays within its total."""
    assert done >= 0
    assert total is None or done <= total


async def verify_store(backend: Backend) -> Verification:
    """Return the result of `verify`."""
    return await require_part(backend.maintenance).verify(check_progress)


async def read_heads(backend: Backend) -> dict[str, tuple[int, str]]:
    """Return the heads of the ledger."""
    return {h.space: (h.position, h.hash) for h in await backend.canon.ledger.list_heads(limit=100)}


async def keep_writing(backend: Backend, count: int) -> None:
    """Write one commit after the other, and yield to other tasks in between."""
    scribe = Scribe(backend.canon, "busy")
    for n in range(count):
        await scribe.make_items(a_fact(f"busy {n}", "Frodo"), a_turn(f"busy turn {n}"))
        await asyncio.sleep(0)


def files_with_text(backend: Backend, text: str) -> list[str]:
    """Return the files of the store that contain the bytes of `text`."""
    return [p.name for p in require_part(backend.files)() if text.encode() in p.read_bytes()]


def folder_content(folder: Path) -> dict[str, str]:
    """Return the files of a folder with their content."""
    return {path.name: path.read_text() for path in folder.iterdir()}


async def purge_items(backend: Backend, *names: str) -> int:
    """Erase and purge the items with these names; return the number of dropped entries."""
    targets = tuple(map(uuid_of, names))
    await Scribe(backend.canon, "eraser").write_entries(Erased(targets=targets, reason="a right"))
    return await require_part(backend.maintenance).purge(MIDDLE_EARTH, targets)


SEVERAL = ("secret", "turn 1", "dream", "at home")
"""Items of the chronicle, of several kinds."""


class MaintenanceContract(Contract):
    """For backends that offer `upkeep`, `files`, `open_backup` and `damages`."""

    @requirement("upkeep:verify:good")
    async def test_good_store_verifies(self, backend: Backend) -> None:
        """`verify` finds no fault in a good store, and returns its heads and sizes."""
        await write_chronicle(backend)

        seen = await verify_store(backend)

        assert seen.findings == ()
        assert seen.commits == len(await whole_log(backend))
        assert seen.items > 50
        assert dict(seen.heads) == await read_heads(backend)

    @requirement("upkeep:verify:empty")
    async def test_maintenance_of_an_empty_store(self, backend: Backend, tmp_path: Path) -> None:
        """`verify`, `rebuild` and `backup` work on an empty store."""
        maintenance = require_part(backend.maintenance)

        assert (await verify_store(backend)).findings == ()
        assert await maintenance.rebuild(check_progress) == 0
        assert await maintenance.backup(tmp_path / "copy", check_progress) == {}
        assert await maintenance.collect_orphans() == 0
        assert (await verify_store(backend)).commits == 0

    @requirement("upkeep:verify:finds-altered-records")
    async def test_altered_records_are_found(self, backend: Backend) -> None:
        """`verify` finds each alteration of records that the backend can make."""
        for name in require_part(backend.damages).records:
            fresh = await backend.another()
            await write_chronicle(fresh)
            await require_part(fresh.damages).records[name]()

            assert (await verify_store(fresh)).findings != (), name

    @requirement("upkeep:verify:finds-altered-views")
    async def test_altered_views_are_found(self, backend: Backend) -> None:
        """`verify` finds each alteration of views that the backend can make."""
        for name in require_part(backend.damages).views:
            fresh = await backend.another()
            await write_chronicle(fresh)
            await require_part(fresh.damages).views[name]()

            findings = (await verify_store(fresh)).findings

            assert findings != (), name
            assert all(finding.where and finding.what for finding in findings)

    @requirement("upkeep:verify:while-serving")
    async def test_verify_sees_one_moment(self, backend: Backend) -> None:
        """`verify` finds no fault while others write."""
        await write_chronicle(backend)

        seen, _ = await asyncio.gather(verify_store(backend), keep_writing(backend, 40))

        assert seen.findings == ()

    @requirement("upkeep:rebuild:equals-incremental")
    async def test_rebuilt_views_are_the_same(self, backend: Backend) -> None:
        """Rebuilt views answer every query like the views before."""
        await write_chronicle(backend)
        before = await view_answers(backend.canon)

        folded = await require_part(backend.maintenance).rebuild(check_progress)

        assert folded == len(await whole_log(backend))
        assert await view_answers(backend.canon) == before
        await keep_writing(backend, 3)
        assert (await verify_store(backend)).findings == ()

    @requirement("upkeep:rebuild:repairs")
    async def test_altered_views_are_repaired(self, backend: Backend) -> None:
        """After a rebuild, a store with altered views verifies and answers as before."""
        await write_chronicle(backend)
        before = await view_answers(backend.canon)
        for name, damage in require_part(backend.damages).views.items():
            await damage()
            await require_part(backend.maintenance).rebuild(check_progress)

            assert (await verify_store(backend)).findings == (), name
            assert await view_answers(backend.canon) == before, name

    @requirement("upkeep:rebuild:while-serving")
    async def test_rebuild_misses_no_commit(self, backend: Backend) -> None:
        """Commits appended during a rebuild are in the rebuilt views."""
        await write_chronicle(backend)
        facts = (await backend.canon.state.facts(FactQuery())).total

        await asyncio.gather(
            require_part(backend.maintenance).rebuild(check_progress), keep_writing(backend, 40)
        )

        assert (await backend.canon.state.facts(FactQuery())).total == facts + 40
        assert (await verify_store(backend)).findings == ()

    @requirement("upkeep:backup:opens")
    async def test_backup_is_the_store(self, backend: Backend, tmp_path: Path) -> None:
        """A backup opens, has the reported heads, verifies and answers alike."""
        await write_chronicle(backend)
        await Scribe(backend.canon, "large").make_items(a_turn("book", text="word " * 100_000))
        log, replies = await whole_log(backend), await view_answers(backend.canon)

        held = await require_part(backend.maintenance).backup(tmp_path / "copy", check_progress)
        await keep_writing(backend, 3)
        copy = await require_part(backend.open_backup)(tmp_path / "copy")

        assert dict(held) == await read_heads(copy)
        assert await whole_log(copy) == log
        assert await view_answers(copy.canon) == replies
        assert (await verify_store(copy)).findings == ()

    @requirement("upkeep:backup:while-serving")
    async def test_backup_of_a_busy_store_is_a_prefix(
        self, backend: Backend, tmp_path: Path
    ) -> None:
        """A backup taken while others write is a prefix of every log, and verifies."""
        await write_chronicle(backend)

        held, _ = await asyncio.gather(
            require_part(backend.maintenance).backup(tmp_path / "copy", check_progress),
            keep_writing(backend, 40),
        )
        copy = await require_part(backend.open_backup)(tmp_path / "copy")

        assert dict(held) == await read_heads(copy)
        assert (await verify_store(copy)).findings == ()
        log = await backend.canon.ledger.read_sealed(MIDDLE_EARTH, after=ORIGIN, limit=500)
        kept = await copy.canon.ledger.read_sealed(MIDDLE_EARTH, after=ORIGIN, limit=500)
        assert list(log[: len(kept)]) == list(kept)

    @requirement("upkeep:backup:refuses-a-used-target")
    async def test_used_target_is_left_alone(self, backend: Backend, tmp_path: Path) -> None:
        """A target that is not empty raises Conflict `backup.exists`, and is not changed."""
        (tmp_path / "precious").write_text("mine")

        with pytest.raises(Conflict, match=r"^backup\.exists:"):
            await require_part(backend.maintenance).backup(tmp_path, check_progress)
        assert folder_content(tmp_path) == {"precious": "mine"}

    @requirement("upkeep:purge:leaves-no-trace")
    async def test_purged_text_is_in_no_file(self, backend: Backend) -> None:
        """After a purge, no file of the store contains the erased text, and no view returns it."""
        await write_chronicle(backend)
        scribe = Scribe(backend.canon, "large")
        await scribe.make_items(a_turn("large secret", text=f"{SECRET}-large " * 20_000))
        targets = (uuid_of("secret"), uuid_of("large secret"))
        assert files_with_text(backend, SECRET)
        await scribe.write_entries(Erased(targets=targets, reason="a right"))

        dropped = await require_part(backend.maintenance).purge(MIDDLE_EARTH, targets)

        assert dropped == 2
        assert files_with_text(backend, SECRET) == []
        items = await backend.canon.state.items_by_id(targets)
        assert all(isinstance(item, Tombstone) for item in items.values())
        for collection in Collection:
            query = TextQuery(collection=collection, text=SECRET.replace("-", " "))
            found = await backend.canon.text.search(query)
            assert not {hit.id for hit in found.hits} & set(targets)

    @requirement("upkeep:purge:verifies")
    async def test_purged_store_verifies(self, backend: Backend) -> None:
        """After a purge, the chain and the views verify, and a rebuild gives the same views."""
        await write_chronicle(backend)
        eraser = Scribe(backend.canon, "eraser")
        targets = tuple(map(uuid_of, SEVERAL))
        await eraser.write_entries(Erased(targets=targets, reason="a right"))
        before = await read_heads(backend)

        await require_part(backend.maintenance).purge(MIDDLE_EARTH, targets)
        replies = await view_answers(backend.canon)

        assert await read_heads(backend) == before
        assert (await verify_store(backend)).findings == ()
        await require_part(backend.maintenance).rebuild(check_progress)
        assert await view_answers(backend.canon) == replies
        assert (await verify_store(backend)).findings == ()

    @requirement("upkeep:purge:restored-elsewhere")
    async def test_purged_log_is_restored_elsewhere(self, backend: Backend) -> None:
        """The log of a purged store restores elsewhere with the same answers."""
        await write_chronicle(backend)
        await purge_items(backend, *SEVERAL)
        log = await whole_log(backend)

        copy = await backend.another()
        await copy.canon.ledger.restore_commits(log)

        assert await whole_log(copy) == log
        assert await view_answers(copy.canon) == await view_answers(backend.canon)
        assert (await verify_store(copy)).findings == ()
        assert files_with_text(copy, SECRET) == []

    @requirement("upkeep:purge:merged")
    async def test_purged_entity_leaves_no_trace_in_others(self, backend: Backend) -> None:
        """Data of an erased entity is in no past version of an entity that it was merged with."""
        scribe, ann, bob = Scribe(backend.canon), uuid_of("ann"), uuid_of("bob")
        observation = an_observation("bob", "bob said", fields={"description": SECRET})
        await scribe.write_entries(*a_named("ann"), *a_named("bob"), *creation_entries(observation))
        await scribe.write_entries(an_entry(EntitiesMerged, "ann", merged=bob, reason=SECRET))
        await scribe.write_entries(unmerged("ann", "bob"))
        targets = (bob, uuid_of("bob said"), uuid_of("bob/born"))
        await scribe.write_entries(Erased(targets=targets, reason="a right"))

        await require_part(backend.maintenance).purge(MIDDLE_EARTH, targets)

        assert files_with_text(backend, SECRET) == []
        assert (await verify_store(backend)).findings == ()
        for position in range(1, 5):
            past = await backend.canon.state.items_as_known_at([ann], Position(position))
            assert SECRET not in repr(past)
            assert isinstance(past[ann], Entity)

    @requirement("upkeep:purge:keeps-the-rest")
    async def test_purge_drops_nothing_else(self, backend: Backend) -> None:
        """`purge` drops payloads of the targets only, and may be repeated."""
        await write_chronicle(backend)
        target = uuid_of("secret")
        await Scribe(backend.canon, "eraser").write_entries(
            Erased(targets=(target,), reason="a right")
        )
        before = await whole_log(backend)

        dropped = await require_part(backend.maintenance).purge(MIDDLE_EARTH, [target])
        again = await require_part(backend.maintenance).purge(MIDDLE_EARTH, [target])

        after = await whole_log(backend)
        assert (dropped, again) == (1, 0)
        pairs = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
        ((was, now),) = pairs
        assert was.body == now.body
        assert [p for p, q in zip(was.parts, now.parts, strict=True) if p != q] == [was.parts[2]]
        assert now.parts[2] is None

    @requirement("upkeep:orphans:kept-when-young")
    async def test_young_and_used_blobs_are_kept(self, backend: Backend) -> None:
        """`collect_orphans` keeps blobs that a commit refers to, and blobs younger than a day."""
        await Scribe(backend.canon).make_items(a_turn("book", text="word " * 100_000))
        digest = await backend.blobs.put_bytes(b"about to be named " * 10_000)

        assert await require_part(backend.maintenance).collect_orphans() == 0
        assert await backend.blobs.get_bytes(digest)
        log = await backend.canon.ledger.read_commits(MIDDLE_EARTH, after=Position(0), limit=1)
        assert "word word" in repr(log[0].entries)

    @requirement("upkeep:facts:told")
    async def test_facts_about_the_store_are_returned(self, backend: Backend) -> None:
        """`facts_about_store` returns texts and numbers."""
        await write_chronicle(backend)

        facts = await require_part(backend.maintenance).facts_about_store()

        assert facts
        assert all(isinstance(value, str | int) for value in facts.values())


SIZES = (1, 127, 128, 5_000)
"""Passages in one commit: one, and numbers on both sides of a backend's batch size."""


class SharedMaintenanceContract(Contract):
    """For backends with `upkeep` that offer a `second` instance."""

    @requirement("upkeep:shared:verify-and-backup")
    async def test_what_the_other_writes_is_verified_and_copied(
        self, backend: Backend, tmp_path: Path
    ) -> None:
        """Commits of another instance are verified and backed up like own commits."""
        other = await require_part(backend.second)()
        await write_chronicle(other)
        maintenance = require_part(backend.maintenance)

        seen, held, _ = await asyncio.gather(
            maintenance.verify(check_progress),
            maintenance.backup(tmp_path / "copy", check_progress),
            keep_writing(other, 30),
        )

        assert seen.findings == ()
        copy = await require_part(backend.open_backup)(tmp_path / "copy")
        assert dict(held) == await read_heads(copy)
        assert (await verify_store(copy)).findings == ()

    @requirement("upkeep:shared:rebuild")
    async def test_the_other_does_not_notice_a_rebuild(self, backend: Backend) -> None:
        """Another instance answers alike during and after a rebuild, and continues to write."""
        other = await require_part(backend.second)()
        await write_chronicle(other)
        facts = (await other.canon.state.facts(FactQuery())).total
        before = await view_answers(other.canon)
        rebuilding = asyncio.ensure_future(
            require_part(backend.maintenance).rebuild(check_progress)
        )
        while not rebuilding.done():
            assert (await other.canon.state.facts(FactQuery())).total == facts
            await asyncio.sleep(0)

        assert await view_answers(other.canon) == before
        await asyncio.gather(
            require_part(backend.maintenance).rebuild(check_progress), keep_writing(other, 30)
        )
        for one in (backend, other):
            assert (await one.canon.state.facts(FactQuery())).total == facts + 30
        assert (await verify_store(other)).findings == ()

    @requirement("upkeep:shared:purge")
    async def test_purge_leaves_no_trace_beside_an_open_instance(self, backend: Backend) -> None:
        """A purge leaves no trace, even if another instance has the store open and has read it."""
        other = await require_part(backend.second)()
        await write_chronicle(other)
        target = uuid_of("secret")
        assert SECRET in repr(await other.canon.state.items_by_id([target]))

        assert await purge_items(backend, "secret") == 1
        assert files_with_text(backend, SECRET) == []
        for one in (backend, other):
            assert isinstance((await one.canon.state.items_by_id([target]))[target], Tombstone)
            await Scribe(one.canon, f"after {id(one)}").make_items(a_fact(f"after {id(one)}"))
            assert (await verify_store(one)).findings == ()


async def write_sizes(backend: Backend, name: str = "") -> None:
    """Write one commit of each size. The passages of each commit share a word."""
    for size in SIZES:
        snippets = [
            a_snippet(f"{name}{size}/{n}", text=f"oak{name}{size} leaf{name}{size}n{n}")
            for n in range(size)
        ]
        await Scribe(backend.canon, f"{name}{size}").make_items(*snippets)


async def found_counts(backend: Backend, name: str = "") -> Sequence[int]:
    """Return the number of passages of each size found by its word and the last one's own."""
    counts: list[int] = []
    for size in SIZES:
        for words in (f"oak{name}{size}", f"leaf{name}{size}n{size - 1}"):
            query = TextQuery(collection=Collection.SNIPPETS, text=words, limit=6_000)
            counts.append(len((await backend.canon.text.search(query)).hits))
    return counts


class SizesContract(Contract):
    """For backends that offer `upkeep`."""

    @requirement("upkeep:rebuild:commits-of-any-size")
    async def test_r1_a_rebuild_keeps_the_passages_of_commits_of_any_size(
        self, backend: Backend
    ) -> None:
        """Rebuilt views find every passage of commits of 1, 127, 128 and 5,000 passages.

        This also holds after further commits.
        """
        await write_sizes(backend)
        before = await found_counts(backend)

        for _ in range(2):
            await require_part(backend.maintenance).rebuild(check_progress)
            assert await found_counts(backend) == before
            assert (await verify_store(backend)).findings == ()

        await write_sizes(backend, "late")
        assert await found_counts(backend, "late") == before
        await purge_items(backend, "5000/4999")
        assert (await found_counts(backend))[-2] == before[-2] - 1
        assert (await verify_store(backend)).findings == ()

    @requirement("upkeep:glance:agrees")
    async def test_r1_a_glance_finds_nothing_in_good_views(self, backend: Backend) -> None:
        """`glance` finds no fault in good views, also with queued passages and concurrent writes.

        This also holds after a rebuild and after a purge.
        """
        glance = require_part(backend.maintenance).check_quickly
        assert await glance() == ()
        await write_chronicle(backend)
        assert await glance() == ()
        await write_sizes(backend)
        assert await glance() == ()
        await require_part(backend.maintenance).rebuild(check_progress)
        assert await glance() == ()
        await purge_items(backend, *SEVERAL)

        _, *seen = await asyncio.gather(keep_writing(backend, 40), *(glance() for _ in range(5)))

        assert set(seen) == {()}
