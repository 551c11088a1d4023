"""The contract of the log itself: reading, finding, restoring, exclusive blocks, touched keys."""

import asyncio
from dataclasses import replace

import pytest

from canonry.log.commits import ORIGIN, Appended, Position
from canonry.log.folding import facts_key, key_hash, thing_key
from canonry.log.sealing import GENESIS, ErasablePart, Sealed, fault_in
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import Backend, Contract, answers, requirement
from canonry.testing.things import MIDDLE_EARTH, a_fact, ident, made
from canonry.testing.worlds import Scribe
from canonry.values.errors import Conflict
from canonry.values.ids import CommitId, SpaceId
from canonry.values.moments import Instant


async def whole_log(backend: Backend) -> list[Sealed]:
    """Every commit of every space as stored."""
    ledger = backend.canon.ledger
    log: list[Sealed] = []
    for head in await ledger.heads(limit=100):
        log += await ledger.read_sealed(head.space, after=ORIGIN, limit=1_000)
    return log


def altered(sealed: Sealed) -> Sealed:
    """The same commit with other words in its first payload."""
    part = sealed.parts[0]
    assert part is not None
    other = ErasablePart(salt=part.salt, payload=part.payload.replace(b"2", b"3"))
    return replace(sealed, parts=(other, *sealed.parts[1:]))


class LogContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "ledger:exclusive:keeps-others-out",
        because="A call that lost again and again must be able to win.",
    )
    async def test_exclusive_block_is_alone(self, backend: Backend) -> None:
        """While the block runs only its own appends go through; the others come after it."""
        ledger, scribe = backend.canon.ledger, Scribe(backend.canon)
        other = scribe.next(made(a_fact("other")))

        async with ledger.exclusive():
            waiting = asyncio.ensure_future(ledger.append([other]))
            for n in range(3):
                await scribe.make(a_fact(f"mine {n}"))
                await asyncio.sleep(0)
            assert not waiting.done()
            assert await ledger.head(MIDDLE_EARTH) == Position(3)
        (outcome,) = await waiting

        assert isinstance(outcome, Appended)
        assert outcome.position == Position(4)

    @requirement(
        "ledger:exclusive:ends-with-the-block", because="One failing call must not stop a store."
    )
    async def test_failing_block_lets_others_go_on(self, backend: Backend) -> None:
        """An error in the block, or a cancelled block, lets the others go on."""
        ledger, scribe = backend.canon.ledger, Scribe(backend.canon)
        entered = asyncio.Event()

        async def hold() -> None:
            async with ledger.exclusive():
                entered.set()
                await asyncio.Event().wait()

        with pytest.raises(ZeroDivisionError):
            async with ledger.exclusive():
                raise ZeroDivisionError
        holding = asyncio.ensure_future(hold())
        await entered.wait()
        waiting = asyncio.ensure_future(hold())
        await asyncio.sleep(0)
        for block in (waiting, holding):
            block.cancel()
        await asyncio.gather(holding, waiting, return_exceptions=True)

        assert (await scribe.make(a_fact("after"))).position == Position(1)

    @requirement("ledger:find:by-id", because="An idempotency key is all that a retry has.")
    async def test_commit_is_found_by_its_id(self, backend: Backend) -> None:
        """`find` gives the commit of that id from any space, and None for an unknown id."""
        scribe = Scribe(backend.canon)
        await scribe.open("there")
        draft = scribe.next(made(a_fact("one")))
        await scribe.append([draft])

        found = await backend.canon.ledger.find(draft.draft.id)

        assert found is not None
        assert (found.entries, found.position) == (draft.draft.entries, Position(1))
        there = await backend.canon.ledger.find(CommitId(ident("commit/scribe/open/there")))
        assert there is not None
        assert there.space == ident("there")
        assert await backend.canon.ledger.find(CommitId(ident("nobody"))) is None
        assert await backend.canon.ledger.find(CommitId("no id at all")) is None

    @requirement("ledger:heads:paged", because="An export must not forget a space.")
    async def test_heads_of_all_spaces_page_by_page(self, backend: Backend) -> None:
        """`heads` pages through all spaces with commits, in order of their ids."""
        ledger = backend.canon.ledger
        names = [f"space {n}" for n in range(5)]
        await Scribe(backend.canon).open(*names)

        page1 = list(await ledger.heads(limit=3))
        page2 = list(await ledger.heads(after=page1[-1].space, limit=3))

        assert [h.space for h in (*page1, *page2)] == sorted(map(ident, names))
        for head in (*page1, *page2):
            (sealed,) = await ledger.read_sealed(head.space, after=ORIGIN, limit=5)
            assert (head.position, head.hash) == (sealed.position, sealed.hash)

    @requirement("ledger:read:paged", because="A log does not fit into memory.")
    async def test_log_is_read_page_by_page(self, backend: Backend) -> None:
        """`read` and read_sealed give at most `limit` commits past `after`, oldest first."""
        ledger, scribe = backend.canon.ledger, Scribe(backend.canon)
        for n in range(5):
            await scribe.make(a_fact(f"fact {n}"))

        pages = [
            [c.position for c in await ledger.read(MIDDLE_EARTH, after=Position(after), limit=3)]
            for after in (0, 3, 5, 99)
        ]
        sealed = [
            [s.position for s in await ledger.read_sealed(MIDDLE_EARTH, after=Position(a), limit=3)]
            for a in (0, 3, 5, 99)
        ]

        assert pages == sealed == [[1, 2, 3], [4, 5], [], []]

    @requirement(
        "ledger:position-at:by-instant", because="People ask by date, logs answer by position."
    )
    async def test_instants_find_positions(self, backend: Backend) -> None:
        """`position_at` gives the last position recorded at or before an instant."""
        scribe, ledger = Scribe(backend.canon), backend.canon.ledger
        start = backend.clock.now()
        for n in range(3):
            await scribe.make(a_fact(f"fact {n}"))
            backend.clock.move(1_000)

        async def at(microseconds: int) -> int:
            return await ledger.position_at(MIDDLE_EARTH, Instant(start + microseconds))

        assert [await at(m) for m in (-1, 0, 999, 1_000, 1_500, 2_000, 10**12)] == [
            0,
            1,
            1,
            2,
            2,
            3,
            3,
        ]
        nowhere = SpaceId(ident("nowhere"))
        assert await ledger.position_at(nowhere, Instant(start + 10**12)) == ORIGIN

    @requirement("ledger:chain:verifies", because="The record must prove that nobody altered it.")
    async def test_log_is_a_chain(self, backend: Backend) -> None:
        """Sealed commits are a chain without a fault from GENESIS to the head."""
        await write_chronicle(backend)

        for head in await backend.canon.ledger.heads(limit=100):
            previous = GENESIS
            log = await backend.canon.ledger.read_sealed(head.space, after=ORIGIN, limit=1_000)
            for place, sealed in enumerate(log, start=1):
                assert fault_in(sealed, position=Position(place), previous=previous) is None
                previous = sealed.hash
            assert previous == head.hash

    @requirement(
        "ledger:restore:byte-identical",
        because="A copy that differs in a byte has another hash, and proves nothing.",
    )
    async def test_restored_log_is_the_same(self, backend: Backend) -> None:
        """What was read sealed and restored elsewhere is sealed alike, with equal views."""
        empty = await backend.another()
        await write_chronicle(backend)
        log = await whole_log(backend)

        await empty.canon.ledger.restore(log[:7])
        await empty.canon.ledger.restore(log[7:])

        assert await whole_log(empty) == log
        assert await answers(empty.canon) == await answers(backend.canon)

    @requirement(
        "ledger:restore:refuses-what-does-not-fit",
        because="A damaged export must not become the record.",
    )
    async def test_damaged_export_is_refused(self, backend: Backend) -> None:
        """`restore` refuses a gap, a repetition and an altered commit with Conflict."""
        empty = await backend.another()
        scribe, target = Scribe(backend.canon), empty.canon.ledger
        for n in range(3):
            await scribe.make(a_fact(f"fact {n} 2"))
        one, two, three = await whole_log(backend)
        await target.restore([one])

        for wrong in ([three], [one], [altered(two)], [replace(two, hash="f" * 64)]):
            with pytest.raises(Conflict) as caught:
                await target.restore(wrong)
            assert caught.value.code == "ledger.chain-broken"
            assert await target.head(MIDDLE_EARTH) == Position(1)
        await target.restore([two, three])

        assert await whole_log(empty) == [one, two, three]

    @requirement(
        "ledger:touched:tells-keys",
        because="A cached reply lives until what it rests on is touched.",
    )
    async def test_touched_keys_are_told(self, backend: Backend) -> None:
        """`touched_since` tells all keys touched since a cursor, and none where none were."""
        ledger, scribe = backend.canon.ledger, Scribe(backend.canon)
        start = await ledger.touched_since(0, limit=100)
        nothing = await ledger.touched_since(start.cursor, limit=100)
        await scribe.make(a_fact("ring", "frodo"))
        there = SpaceId(ident("there"))
        await Scribe(backend.canon, "there", there).make(a_fact("sword", "sam", space=there))

        both = await ledger.touched_since(nothing.cursor, limit=100)
        again = await ledger.touched_since(both.cursor, limit=100)

        keys = [
            key(ident(name))
            for key, name in (
                (thing_key, "ring"),
                (facts_key, "frodo"),
                (thing_key, "sword"),
                (facts_key, "sam"),
            )
        ]
        assert nothing.keys == frozenset()
        assert both.keys is not None
        assert both.keys >= {key_hash(key) for key in keys}
        assert again.keys == frozenset()

    @requirement(
        "ledger:touched:gives-up",
        because="Forgetting everything is right, forgetting too little never.",
    )
    async def test_too_much_to_tell_is_told_as_none(self, backend: Backend) -> None:
        """`touched_since` says None for cursor 0 and after more than `limit` commits."""
        ledger, scribe = backend.canon.ledger, Scribe(backend.canon)
        start = await ledger.touched_since(0, limit=3)
        for n in range(3):
            await scribe.make(a_fact(f"fact {n}"))
        at_limit = await ledger.touched_since(start.cursor, limit=3)
        await scribe.make(a_fact("one more"))
        past_limit = await ledger.touched_since(start.cursor, limit=3)
        after = await ledger.touched_since(past_limit.cursor, limit=3)

        assert start.keys is None
        assert at_limit.keys is not None
        assert past_limit.keys is None
        assert after.keys == frozenset()
