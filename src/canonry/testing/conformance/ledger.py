"""The contract of the ledger: appending to an event log, and reading it."""

import asyncio
from dataclasses import replace

import pytest

from canonry.log.canon import fold
from canonry.log.commits import ORIGIN, Appended, Position, Stale
from canonry.log.entries import Erased, EvidenceLinked, FactRetconned
from canonry.log.folding import ANY, facts_key, key_hash, name_key, thing_key
from canonry.log.sealing import GENESIS, ErasablePart, Sealed, fault_in
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import (
    PROPERTIES,
    TEXTS,
    Backend,
    Contract,
    answers,
    requirement,
)
from canonry.testing.things import (
    ELSEWHERE,
    MIDDLE_EARTH,
    a_fact,
    a_named,
    a_turn,
    an_entry,
    ident,
    made,
)
from canonry.testing.worlds import Scribe, a_draft, an_append
from canonry.values.errors import BrokenInvariant, Conflict, Unavailable
from canonry.values.ids import CommitId
from canonry.values.moments import DAY, SECOND, Instant
from canonry.values.provenance import Evidence, EvidenceKind


async def whole_log(backend: Backend) -> list[Sealed]:
    """Return every stored commit of every space."""
    ledger = backend.canon.ledger
    log: list[Sealed] = []
    for head in await ledger.heads(limit=100):
        log += await ledger.read_sealed(head.space, after=ORIGIN, limit=1_000)
    return log


def altered(sealed: Sealed) -> Sealed:
    """Return the commit with a changed first payload."""
    part = sealed.parts[0]
    assert part is not None
    other = ErasablePart(salt=part.salt, payload=part.payload.replace(b"2", b"3"))
    return replace(sealed, parts=(other, *sealed.parts[1:]))


class LedgerContract(Contract):
    """Provide a fixture `backend` with an empty store. These promises hold within one process."""

    @requirement("ledger:exclusive:keeps-others-out")
    async def test_exclusive_block_is_alone(self, backend: Backend) -> None:
        """While an exclusive block runs, only its own appends are written.

        Others wait for its end.
        """
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

    @requirement("ledger:exclusive:ends-with-the-block")
    async def test_failing_block_lets_others_go_on(self, backend: Backend) -> None:
        """An error in the exclusive block, or its cancellation, releases other writers."""
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

    @requirement("ledger:find:by-id")
    async def test_commit_is_found_by_its_id(self, backend: Backend) -> None:
        """`find` returns the commit with this id from any space, and None for an unknown id."""
        scribe = Scribe(backend.canon)
        await scribe.open("there")
        draft = scribe.next(made(a_fact("one")))
        await scribe.append([draft])

        found = await backend.canon.ledger.find(draft.draft.id)

        assert found is not None
        assert (found.entries, found.position) == (draft.draft.entries, Position(1))
        there = await backend.canon.ledger.find(ident("commit/scribe/open/there"))
        assert there is not None
        assert there.space == ident("there")
        assert await backend.canon.ledger.find(ident("nobody")) is None
        assert await backend.canon.ledger.find(CommitId("no id at all")) is None

    @requirement("ledger:heads:paged")
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

    @requirement("ledger:read:paged")
    async def test_log_is_read_page_by_page(self, backend: Backend) -> None:
        """`read` and `read_sealed` return at most `limit` commits past `after`, oldest first."""
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

    @requirement("ledger:position-at:by-instant")
    async def test_instants_find_positions(self, backend: Backend) -> None:
        """`position_at` returns the last position recorded at or before an instant."""
        scribe, ledger = Scribe(backend.canon), backend.canon.ledger
        start = backend.clock.now()
        for n in range(3):
            await scribe.make(a_fact(f"fact {n}"))
            backend.clock.move(1_000)

        async def at(microseconds: int) -> int:
            return await ledger.position_at(MIDDLE_EARTH, Instant(start + microseconds))

        moments = (-1, 0, 999, 1_000, 1_500, 2_000, 10**12)
        assert [await at(m) for m in moments] == [0, 1, 1, 2, 2, 3, 3]
        nowhere = ident("nowhere")
        assert await ledger.position_at(nowhere, Instant(start + 10**12)) == ORIGIN

    @requirement("ledger:chain:verifies")
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

    @requirement("ledger:restore:byte-identical")
    async def test_restored_log_is_the_same(self, backend: Backend) -> None:
        """Sealed commits that are restored elsewhere are sealed alike, and give equal views."""
        empty = await backend.another()
        await write_chronicle(backend)
        log = await whole_log(backend)

        await empty.canon.ledger.restore(log[:7])
        await empty.canon.ledger.restore(log[7:])

        assert await whole_log(empty) == log
        assert await answers(empty.canon) == await answers(backend.canon)

    @requirement("ledger:restore:refuses-what-does-not-fit")
    async def test_damaged_export_is_refused(self, backend: Backend) -> None:
        """`restore` refuses a gap, a repetition and an altered commit with Conflict."""
        empty = await backend.another()
        scribe, target = Scribe(backend.canon), empty.canon.ledger
        for n in range(3):
            await scribe.make(a_fact(f"fact {n} 2"))
        one, two, three = await whole_log(backend)
        await target.restore([one])

        for wrong in ([three], [one], [altered(two)], [replace(two, hash="f" * 64)]):
            with pytest.raises(Conflict, match=r"^ledger\.chain-broken:"):
                await target.restore(wrong)
            assert await target.head(MIDDLE_EARTH) == Position(1)
        await target.restore([two, three])

        assert await whole_log(empty) == [one, two, three]

    @requirement("ledger:touched:tells-keys")
    async def test_touched_keys_are_told(self, backend: Backend) -> None:
        """`touched_since` returns all keys touched since a cursor, and none if there are none."""
        ledger, scribe = backend.canon.ledger, Scribe(backend.canon)
        start = await ledger.touched_since(0, limit=100)
        nothing = await ledger.touched_since(start.cursor, limit=100)
        await scribe.make(a_fact("ring", "frodo"))
        there = ident("there")
        await Scribe(backend.canon, "there", there).make(a_fact("sword", "sam", space=there))

        both = await ledger.touched_since(nothing.cursor, limit=100)
        again = await ledger.touched_since(both.cursor, limit=100)

        keys = {thing_key(ident(name)) for name in ("ring", "sword")}
        keys |= {facts_key(ident(name)) for name in ("frodo", "sam")}
        assert nothing.keys == frozenset()
        assert both.keys is not None
        assert both.keys >= {key_hash(key) for key in keys}
        assert again.keys == frozenset()

    @requirement("ledger:touched:gives-up")
    async def test_too_much_to_tell_is_told_as_none(self, backend: Backend) -> None:
        """`touched_since` returns None for cursor 0 and after more than `limit` commits."""
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

    @requirement("ledger:empty:head-is-origin")
    async def test_new_ledger_is_empty(self, backend: Backend) -> None:
        """A space without commits has its head at ORIGIN and nothing to read."""
        ledger = backend.canon.ledger

        assert await ledger.head(MIDDLE_EARTH) == ORIGIN
        assert list(await ledger.read(MIDDLE_EARTH, after=ORIGIN, limit=10)) == []
        assert list(await ledger.read_sealed(MIDDLE_EARTH, after=ORIGIN, limit=10)) == []
        assert list(await ledger.heads(limit=10)) == []

    @requirement("ledger:append:round-trip")
    async def test_commit_is_read_back_equal(self, backend: Backend) -> None:
        """A commit is read back equal to its draft, with any texts and numbers."""
        entries = [
            *made(a_fact("hostile", properties=PROPERTIES, statement=TEXTS[-1])),
            *made(*(a_turn(f"turn {n}", text=text) for n, text in enumerate(TEXTS))),
        ]
        draft = a_draft("hostile", entries)

        (outcome,) = await backend.canon.ledger.append([an_append("hostile", entries)])

        (commit,) = await backend.canon.ledger.read(MIDDLE_EARTH, after=ORIGIN, limit=10)
        assert isinstance(outcome, Appended)
        assert (commit.id, commit.space, commit.actor) == (draft.id, draft.space, draft.actor)
        assert (commit.tool, commit.entries) == (draft.tool, draft.entries)
        assert commit.position == outcome.position == Position(1)
        assert commit.recorded_at == outcome.recorded_at == backend.clock.now()

    @requirement("ledger:append:every-kind")
    async def test_every_kind_of_entry_is_kept_and_folded(self, backend: Backend) -> None:
        """Entries of every kind are stored, read back equal and folded into the views."""
        written = await write_chronicle(backend)

        things: dict[str, object] = {}
        for space, drafts in written.items():
            commits = await backend.canon.ledger.read(space, after=ORIGIN, limit=100)
            assert [c.entries for c in commits] == [d.entries for d in drafts]
            for commit in commits:
                things.update(fold(commit, things).things)  # type: ignore[arg-type]
        assert await backend.canon.state.things(things) == things

    @requirement("ledger:append:positions-are-dense")
    async def test_positions_have_no_gap_even_after_a_refusal(self, backend: Backend) -> None:
        """Positions are 1, 2, 3, ... within a space. A refused append uses none."""
        scribe = Scribe(backend.canon)
        await scribe.make(a_fact("one"))
        stale = scribe.next(made(a_fact("two")), reads=[ANY])

        (refused,) = await scribe.append([stale])
        second = await scribe.make(a_fact("three"))

        assert refused == Stale(head=Position(1))
        assert second.position == Position(2)
        assert await backend.canon.ledger.head(MIDDLE_EARTH) == Position(2)

    @requirement("ledger:append:stale-when-touched")
    async def test_verdict_on_a_touched_key_is_stale(self, backend: Backend) -> None:
        """A draft is Stale and not written if a later commit touched a key that it read."""
        scribe = Scribe(backend.canon)
        frodo = ident("frodo")
        await scribe.make(a_fact("ring", "frodo"))
        await scribe.write(an_entry(FactRetconned, "ring"))

        for key in (thing_key(ident("ring")), facts_key(frodo)):
            draft = scribe.next(made(a_fact("late")), judged_at=1, reads=[key])
            (outcome,) = await scribe.append([draft])
            assert outcome == Stale(head=Position(2))
            assert await backend.canon.ledger.find(draft.draft.id) is None
        assert await backend.canon.state.things([ident("late")]) == {}

    @requirement("ledger:append:absence-can-be-read")
    async def test_verdict_on_a_free_name_is_stale_once_it_is_taken(self, backend: Backend) -> None:
        """A draft that read a free name is Stale if another commit took the name."""
        scribe = Scribe(backend.canon)
        free = name_key("character", "  FRODO ")
        judged_at = await backend.canon.ledger.head(MIDDLE_EARTH)
        await scribe.write(*a_named("Frodo"))

        draft = scribe.next(a_named("frodo"), judged_at=judged_at, reads=[free])
        (outcome,) = await scribe.append([draft])

        assert outcome == Stale(head=Position(1))

    @requirement("ledger:append:untouched-reads-pass")
    async def test_others_progress_does_not_matter(self, backend: Backend) -> None:
        """A draft passes at a moved head if no commit touched the keys that it read."""
        scribe = Scribe(backend.canon)
        for n in range(20):
            await scribe.make(a_fact(f"fact {n}", "sam"))

        draft = scribe.next(made(a_fact("mine", "frodo")), reads=[facts_key(ident("frodo"))])
        (outcome,) = await scribe.append([draft])

        assert isinstance(outcome, Appended)
        assert outcome.position == Position(21)

    @requirement("ledger:append:any-is-everything")
    async def test_any_conflicts_with_everything(self, backend: Backend) -> None:
        """A read of ANY conflicts with each later commit. A tombstone conflicts with each read."""
        scribe = Scribe(backend.canon)
        await scribe.make(a_fact("one", "frodo"))

        (read_all,) = await scribe.append([scribe.next(made(a_fact("two")), reads=[ANY])])
        await scribe.write(Erased(targets=(ident("one"),), reason="a right"))
        some_key = [thing_key(ident("unrelated"))]
        late = scribe.next(made(a_fact("three")), judged_at=1, reads=some_key)
        (touched_all,) = await scribe.append([late])

        assert read_all == Stale(head=Position(1))
        assert touched_all == Stale(head=Position(2))

    @requirement("ledger:append:spaces-are-apart")
    async def test_another_space_is_another_log(self, backend: Backend) -> None:
        """Commits of other spaces neither conflict nor use positions."""
        here, there = Scribe(backend.canon), Scribe(backend.canon, "there", ELSEWHERE)
        await here.make(a_fact("one"))
        await here.make(a_fact("two"))

        draft = there.next(made(a_fact("three", space=ELSEWHERE)), reads=[ANY])
        (outcome,) = await there.append([draft])

        assert isinstance(outcome, Appended)
        assert outcome.position == Position(1)
        assert await backend.canon.ledger.head(MIDDLE_EARTH) == Position(2)

    @requirement("ledger:append:batch-ignores-itself")
    async def test_batch_does_not_make_itself_stale(self, backend: Backend) -> None:
        """Drafts of one batch do not make each other stale."""
        scribe = Scribe(backend.canon)
        key = thing_key(ident("ring"))
        link = EvidenceLinked(
            thing_id=ident("ring"), evidence=Evidence(kind=EvidenceKind.TURN, ref=ident("turn"))
        )

        outcomes = await scribe.append(
            [scribe.next(made(a_fact("ring")), reads=[key]), scribe.next([link], reads=[key, ANY])]
        )

        assert [o.position for o in outcomes if isinstance(o, Appended)] == [1, 2]

    @requirement("ledger:append:batch-stops-at-stale")
    async def test_batch_is_written_up_to_the_first_stale_draft(self, backend: Backend) -> None:
        """A stale draft and all drafts after it in a batch are not written; those before it are."""
        scribe = Scribe(backend.canon)
        await scribe.make(a_fact("one"))
        key = thing_key(ident("one"))

        first, second, third = await scribe.append(
            [
                scribe.next(made(a_fact("two"))),
                scribe.next(made(a_fact("three")), reads=[key]),
                scribe.next(made(a_fact("four"))),
            ]
        )

        assert isinstance(first, Appended)
        assert isinstance(second, Stale)
        assert isinstance(third, Stale)
        found = await backend.canon.state.things(ident(n) for n in ("two", "three", "four"))
        assert set(found) == {ident("two")}
        assert await backend.canon.ledger.head(MIDDLE_EARTH) == Position(2)

    @requirement("ledger:append:replay-by-id")
    async def test_same_id_again_is_the_first_answer(self, backend: Backend) -> None:
        """A commit id that is already in the log is Appended as replayed, at any later head."""
        scribe = Scribe(backend.canon)
        first = scribe.next(made(a_fact("one")))
        (before,) = await scribe.append([first])
        await scribe.make(a_fact("two"))
        backend.clock.move(1_000)

        other = an_append("scribe/1", made(a_fact("other")), reads=[ANY])
        (after,) = await scribe.append([other])

        assert isinstance(before, Appended)
        assert not before.replayed
        assert after == replace(before, replayed=True)
        assert await backend.canon.state.things([ident("other")]) == {}
        assert await backend.canon.ledger.head(MIDDLE_EARTH) == Position(2)

    @requirement("ledger:append:replay-elsewhere")
    async def test_f1_an_id_of_another_space_blocks_no_view(self, backend: Backend) -> None:
        """A commit id of another space is replayed, and later reads wait for no commit.

        If the spaces are on servers that share no ids, the commit may be written in both.
        """
        scribe = Scribe(backend.canon)
        for name in ("one", "two", "three"):
            await scribe.make(a_fact(name))
        elsewhere = an_append("scribe/3", made(a_fact("other", space=ELSEWHERE)), space=ELSEWHERE)

        (outcome,) = await scribe.append([elsewhere])

        assert isinstance(outcome, Appended)
        replayed = outcome.replayed
        assert outcome.position == Position(3 if replayed else 1)
        found = await backend.canon.state.things(ident(n) for n in ("three", "other"))
        assert set(found) == {ident(n) for n in ("three", "other") if n == "three" or not replayed}
        head = await backend.canon.ledger.head(ELSEWHERE)
        assert head == (ORIGIN if replayed else outcome.position)

    @requirement("ledger:append:replay-within-batch")
    async def test_same_id_twice_in_a_batch_is_one_commit(self, backend: Backend) -> None:
        """The same commit id twice in a batch, or before it and in it, is one commit."""
        scribe = Scribe(backend.canon)
        one = scribe.next(made(a_fact("one")))
        stale = scribe.next(made(a_fact("two")), reads=[ANY])

        twice = await scribe.append([one, one])
        again = await scribe.append([one, stale, one])

        assert [(o.position, o.replayed) for o in twice if isinstance(o, Appended)] == [
            (1, False),
            (1, True),
        ]
        assert [isinstance(o, Stale) for o in again] == [False, True, False]
        assert await backend.canon.ledger.head(MIDDLE_EARTH) == Position(1)

    @requirement("ledger:append:recorded-at-grows")
    async def test_recorded_at_grows_whatever_the_clock_does(self, backend: Backend) -> None:
        """`recorded_at` grows strictly within a space, even if the clock does not."""
        scribe = Scribe(backend.canon)
        batch = [scribe.next(made(a_fact(f"batch {n}"))) for n in range(3)]
        await scribe.append(batch)
        backend.clock.move(-1_000_000)
        await scribe.make(a_fact("back"))
        backend.clock.move(5_000_000)
        await scribe.make(a_fact("on"))

        commits = await backend.canon.ledger.read(MIDDLE_EARTH, after=ORIGIN, limit=10)

        start = commits[0].recorded_at
        steps = [c.recorded_at - start for c in commits]
        assert steps == [0, 1, 2, 3, 4_000_000]

    @requirement("ledger:append:no-date-by-a-wrong-clock")
    async def test_r13_a_wrong_clock_dates_nothing(self, backend: Backend) -> None:
        """A clock that cannot be right dates no commit.

        This includes a clock more than a day behind the newest commit. The append is refused, and
        the log continues when the clock is right.
        """
        scribe, clock = Scribe(backend.canon), backend.clock
        right = clock.now()
        await scribe.make(a_fact("before"))
        far = (Instant(-SECOND), Instant(right + 730_000 * DAY), Instant(right - 400 * DAY))
        for n, wrong in enumerate(far):
            clock.move(wrong - clock.now())
            with pytest.raises(Unavailable) as refused:
                await scribe.make(a_fact(f"refused {n}"))
            assert refused.value.code in {"clock.implausible", "clock.behind"}
        clock.move(right - clock.now() - DAY + SECOND)
        await scribe.make(a_fact("nearly a day off"))
        clock.move(right - clock.now() + SECOND)
        await scribe.make(a_fact("after"))

        commits = await backend.canon.ledger.read(MIDDLE_EARTH, after=ORIGIN, limit=10)

        assert [c.recorded_at - right for c in commits] == [0, 1, SECOND]

    @requirement("ledger:append:whole-or-nothing")
    async def test_draft_that_cannot_be_folded_leaves_no_trace(self, backend: Backend) -> None:
        """A draft that cannot be folded raises and leaves no trace. The log continues."""
        scribe = Scribe(backend.canon)
        await scribe.make(a_fact("one"))

        with pytest.raises(BrokenInvariant, match=r"^canon\.dangling-entry:"):
            await scribe.write(*made(a_fact("good")), an_entry(FactRetconned, "nobody"))
        after = await scribe.make(a_fact("two"))
        assert after.position == Position(2)
        assert await backend.canon.state.things([ident("good")]) == {}

    @requirement("ledger:append:large")
    async def test_large_commits_are_kept(self, backend: Backend) -> None:
        """Commits of several megabytes are stored and read back equal."""
        scribe = Scribe(backend.canon)
        one = made(a_turn("book", text="word " * 200_000))
        many = made(*(a_turn(f"page {n}", text=f"{n} " * 15_000) for n in range(120)))

        await scribe.write(*one)
        await scribe.write(*many)

        first, second = await backend.canon.ledger.read(MIDDLE_EARTH, after=ORIGIN, limit=10)
        assert first.entries == one
        assert second.entries == many
        (book,) = (await backend.canon.state.things([ident("book")])).values()
        assert getattr(book, "text", None) == "word " * 200_000

    @requirement("ledger:append:many-at-once")
    async def test_concurrent_callers_get_positions_of_their_own(self, backend: Backend) -> None:
        """Concurrent callers get distinct positions, and every commit is stored once."""
        scribe = Scribe(backend.canon)
        drafts = [scribe.next(made(a_fact(f"fact {n}"))) for n in range(60)]

        answers = await asyncio.gather(*(scribe.append([d]) for d in [*drafts, drafts[7]]))

        outcomes = [o for (o,) in answers if isinstance(o, Appended)]
        assert sorted(o.position for o in outcomes if not o.replayed) == list(range(1, 61))
        assert sum(o.replayed for o in outcomes) == 1
        things = await backend.canon.state.things(ident(f"fact {n}") for n in range(60))
        assert len(things) == 60

    @requirement("ledger:append:cancelled")
    async def test_cancelled_caller_leaves_the_ledger_in_order(self, backend: Backend) -> None:
        """A cancelled caller leaves the ledger consistent, and its commit complete or absent."""
        scribe = Scribe(backend.canon)
        drafts = [scribe.next(made(a_fact(f"a{n}"), a_fact(f"b{n}"))) for n in range(20)]
        calls = [asyncio.ensure_future(scribe.append([draft])) for draft in drafts]
        await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

        for draft in drafts:
            await scribe.append([draft])

        commits = await backend.canon.ledger.read(MIDDLE_EARTH, after=ORIGIN, limit=100)
        assert [c.position for c in commits] == list(range(1, 21))
        assert {c.id for c in commits} == {d.draft.id for d in drafts}
