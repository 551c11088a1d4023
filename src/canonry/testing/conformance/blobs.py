"""Promises of blobs and of durability."""

import asyncio
from hashlib import sha256

import pytest

from canonry.log.commits import ORIGIN, Appended, Position, Stale
from canonry.log.folding import facts_key, key_hash, thing_key
from canonry.readmodels.ports.state import FactQuery
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import Backend, Contract, answers, present, requirement
from canonry.testing.conformance.ledger import whole_log
from canonry.testing.things import MIDDLE_EARTH, a_fact, ident, made
from canonry.testing.worlds import Scribe
from canonry.values.errors import BrokenInvariant, NotFound, Unavailable

CONTENTS = (b"", b"\x00", bytes(range(256)) * 10, b"a" * 3_000_000, "\u6c49\u5b57".encode())


class BlobsContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement("blobs:put:round-trip", because="A commit holds nothing but the hash.")
    async def test_bytes_are_read_back_equal(self, backend: Backend) -> None:
        """Bytes of any content and size are read back equal, under their SHA-256."""
        for data in CONTENTS:
            digest = await backend.blobs.put(data)

            assert digest == sha256(data).hexdigest()
            assert await backend.blobs.get(digest) == data

    @requirement("blobs:put:same-bytes-same-digest", because="A retry must cost nothing.")
    async def test_same_bytes_are_kept_once(self, backend: Backend) -> None:
        """Putting the same bytes again, also at the same time, stores them once."""
        await backend.blobs.put(b"ring")
        digests = await asyncio.gather(*(backend.blobs.put(b"ring") for _ in range(8)))

        assert len(set(digests)) == 1
        assert list(await backend.blobs.digests(limit=10)) == [digests[0]]

    @requirement("blobs:get:unknown", because="A digest is not a path.")
    @pytest.mark.parametrize(
        "digest", ["0" * 64, "", "..", "../canon.db", "/etc/hosts", "A" * 64, "\u6c49", "0" * 63]
    )
    async def test_unknown_digest_is_not_found(self, backend: Backend, digest: str) -> None:
        """An unknown or malformed digest raises NotFound `blobs.unknown`."""
        with pytest.raises(NotFound) as caught:
            await backend.blobs.get(digest)

        assert caught.value.code == "blobs.unknown"
        await backend.blobs.delete(digest)

    @requirement("blobs:delete:idempotent", because="Erasing must be repeatable after a crash.")
    async def test_deleted_bytes_are_gone(self, backend: Backend) -> None:
        """`delete` forgets the bytes, and does nothing where there are none."""
        digest = await backend.blobs.put(b"ring")
        await backend.blobs.delete(digest)
        await backend.blobs.delete(digest)

        with pytest.raises(NotFound):
            await backend.blobs.get(digest)
        assert list(await backend.blobs.digests(limit=10)) == []
        assert await backend.blobs.put(b"ring") == digest
        assert await backend.blobs.get(digest) == b"ring"

    @requirement("blobs:digests:paged", because="Orphans are found by comparing with all of them.")
    async def test_digests_come_in_order_page_by_page(self, backend: Backend) -> None:
        """`digests` gives every stored digest once, in order, page by page."""
        expected = sorted([await backend.blobs.put(str(n).encode()) for n in range(25)])

        found: list[str] = []
        while page := await backend.blobs.digests(after=found[-1] if found else "", limit=7):
            assert len(page) <= 7
            found += page

        assert found == expected


class DurableBlobsContract(Contract):
    """For backends that can `reopen` and that offer `damages`."""

    @requirement("blobs:durable:reopened", because="The commit that names them is.")
    async def test_bytes_survive_closing(self, backend: Backend) -> None:
        """Bytes are there after closing and opening."""
        digest = await backend.blobs.put(b"ring")

        again = await present(backend.reopen)()

        assert await again.blobs.get(digest) == b"ring"

    @requirement("blobs:get:altered", because="Wrong bytes are worse than none.")
    async def test_altered_bytes_are_refused(self, backend: Backend) -> None:
        """Bytes that no longer have their hash raise BrokenInvariant `blobs.altered`."""
        digest = await backend.blobs.put(b"ring " * 1_000)
        await present(backend.damages).blob(digest)

        with pytest.raises(BrokenInvariant) as caught:
            await backend.blobs.get(digest)

        assert caught.value.code == "blobs.altered"


class DurabilityContract(Contract):
    """For backends that can `reopen` and `close`."""

    @requirement(
        "ledger:durable:reopened", because="An acknowledgement is a promise about tomorrow."
    )
    async def test_everything_survives_closing(self, backend: Backend) -> None:
        """After closing and opening, log, views and positions are what they were."""
        await write_chronicle(backend)
        log, told = await whole_log(backend), await answers(backend.canon)

        again = await present(backend.reopen)()

        assert await whole_log(again) == log
        assert await answers(again.canon) == told
        head = await again.canon.ledger.head(MIDDLE_EARTH)
        after = await Scribe(again.canon, "after").make(a_fact("after"))
        assert after.position == Position(head + 1)

    @requirement(
        "ledger:durable:closed", because="A late call must learn that nothing was written."
    )
    async def test_closed_store_refuses(self, backend: Backend) -> None:
        """A closed store refuses with Unavailable `ledger.closed`."""
        scribe = Scribe(backend.canon)
        drafts = [scribe.next(made(a_fact(f"early {n}"))) for n in range(5)]
        early = asyncio.gather(*(scribe.append([draft]) for draft in drafts))
        await asyncio.sleep(0)
        await present(backend.close)()

        with pytest.raises(Unavailable) as caught:
            await scribe.make(a_fact("late"))

        assert caught.value.code == "ledger.closed"
        answered = await early
        again = await present(backend.reopen)()
        assert await again.canon.ledger.head(MIDDLE_EARTH) == Position(len(answered))


class WritersContract(Contract):
    """For backends that offer a `second` instance on the same store."""

    @requirement("ledger:writers:share", because="Each desktop client starts a server of its own.")
    async def test_instances_see_each_other(self, backend: Backend) -> None:
        """Two instances on one store see each other's commits at once, in one order."""
        other = await present(backend.second)()
        both = (backend, other)
        scribes = [Scribe(one.canon, name) for one, name in zip(both, "ab", strict=True)]
        for n in range(1, 9):
            writer, reader = scribes[n % 2], both[(n + 1) % 2]
            written = await writer.make(a_fact(f"fact {n}"))

            assert written.position == Position(n)
            assert await reader.canon.ledger.head(MIDDLE_EARTH) == Position(n)
            assert (await reader.canon.state.facts(FactQuery())).total == n
        assert await answers(backend.canon) == await answers(other.canon)

    @requirement(
        "ledger:writers:conflict", because="The truth is one, however many processes serve it."
    )
    async def test_verdicts_and_ids_hold_across_instances(self, backend: Backend) -> None:
        """What one instance touched makes the other's verdict stale, and ids are replayed."""
        other = await present(backend.second)()
        ours, theirs = Scribe(backend.canon, "same"), Scribe(other.canon, "same")
        first = ours.next(made(a_fact("one", "ann")))
        again = theirs.next(made(a_fact("two", "ann")))
        reads = [facts_key(ident("ann"))]
        await ours.append([first])

        (replayed,) = await theirs.append([again])
        (stale,) = await theirs.append([theirs.next(made(a_fact("three")), reads=reads)])

        assert isinstance(replayed, Appended)
        assert replayed.replayed
        assert stale == Stale(head=Position(1))

    @requirement(
        "ledger:writers:many-at-once", because="Busy is not an answer that a client should see."
    )
    async def test_concurrent_instances_lose_nothing(self, backend: Backend) -> None:
        """Two instances under concurrent load lose and repeat nothing."""
        other = await present(backend.second)()
        calls = [
            Scribe(one.canon, f"{name} {n}").make(a_fact(f"{name} {n}"))
            for n in range(100)
            for one, name in ((backend, "a"), (other, "b"))
        ]
        reads = [one.canon.state.facts(FactQuery()) for one in (backend, other) for _ in range(20)]

        written, _ = await asyncio.gather(asyncio.gather(*calls), asyncio.gather(*reads))

        assert sorted(w.position for w in written) == list(range(1, 201))
        log = await other.canon.ledger.read(MIDDLE_EARTH, after=ORIGIN, limit=500)
        assert len({commit.id for commit in log}) == 200
        # Views may be each machine's own; whoever has looked at the head sees all of it.
        assert await backend.canon.ledger.head(MIDDLE_EARTH) == Position(200)
        assert (await backend.canon.state.facts(FactQuery())).total == 200

    @requirement(
        "ledger:writers:exclusive", because="The writer that starves may sit in another process."
    )
    async def test_exclusive_keeps_the_other_instance_out(self, backend: Backend) -> None:
        """`exclusive` keeps the other instance out as well, until the block ends."""
        other = await present(backend.second)()
        ours, theirs = Scribe(backend.canon, "ours"), Scribe(other.canon, "theirs")

        async with backend.canon.ledger.exclusive():
            waiting = asyncio.ensure_future(theirs.make(a_fact("theirs")))
            for n in range(3):
                await ours.make(a_fact(f"ours {n}"))
                # Reading takes real time, in which a store that does not wait would write.
                await other.canon.ledger.head(MIDDLE_EARTH)
            assert not waiting.done()

        assert (await waiting).position == Position(4)

    @requirement(
        "ledger:writers:touched",
        because="A cache must not outlive a change that another process made.",
    )
    async def test_touches_of_the_other_instance_are_told(self, backend: Backend) -> None:
        """`touched_since` tells what other instances touched."""
        other = await present(backend.second)()
        cursor = (await backend.canon.ledger.touched_since(0, limit=10)).cursor
        await Scribe(other.canon, "theirs").make(a_fact("ring", "ann"))

        told = await backend.canon.ledger.touched_since(cursor, limit=10)
        again = await backend.canon.ledger.touched_since(told.cursor, limit=10)

        assert told.keys is not None
        assert {key_hash(facts_key(ident("ann"))), key_hash(thing_key(ident("ring")))} <= told.keys
        assert again.keys == frozenset()
