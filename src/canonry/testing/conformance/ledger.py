"""The contract of appending: what `Ledger.append` does, and what it refuses."""

import asyncio
from dataclasses import replace

import pytest

from canonry.domain.errors import BrokenInvariant, Unavailable
from canonry.domain.ids import FactId, SpaceId
from canonry.domain.log.canon import fold
from canonry.domain.log.commits import ORIGIN, Appended, Position, Stale
from canonry.domain.log.entries import Erased, EvidenceLinked, FactRetconned
from canonry.domain.log.keys import ANY, facts_key, name_key, thing_key
from canonry.domain.provenance import Evidence, EvidenceKind
from canonry.domain.time import DAY, SECOND, Instant
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.hostile import PROPERTIES, TEXTS
from canonry.testing.conformance.kit import Backend, Contract
from canonry.testing.conformance.log import LogContract
from canonry.testing.conformance.requirements import requirement
from canonry.testing.scribe import Scribe, a_draft, an_append
from canonry.testing.things import MIDDLE_EARTH, a_fact, a_named, a_turn, ident, made

ELSEWHERE = SpaceId(ident("elsewhere"))


class AppendContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement("ledger:empty:head-is-origin")
    async def test_new_ledger_is_empty(self, backend: Backend) -> None:
        """Nothing has happened yet, in any space."""
        ledger = backend.canon.ledger

        assert await ledger.head(MIDDLE_EARTH) == ORIGIN
        assert list(await ledger.read(MIDDLE_EARTH, after=ORIGIN, limit=10)) == []
        assert list(await ledger.read_sealed(MIDDLE_EARTH, after=ORIGIN, limit=10)) == []
        assert list(await ledger.heads(limit=10)) == []

    @requirement("ledger:append:round-trip")
    async def test_commit_is_read_back_equal(self, backend: Backend) -> None:
        """Actor, tool and every hostile value survive."""
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
        """The whole chronicle reads back as it was written, and folds to what the view shows."""
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
        """A stale draft burns no position."""
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
        """Whoever read a fact, or the facts of an entity, looks again; nothing was written."""
        scribe = Scribe(backend.canon)
        frodo = ident("frodo")
        await scribe.make(a_fact("ring", "frodo"))
        ring = FactId(ident("ring"))
        await scribe.write(FactRetconned(fact_id=ring, replaced_by=None, reason=""))

        for key in (thing_key(ident("ring")), facts_key(frodo)):
            draft = scribe.next(made(a_fact("late")), judged_at=1, reads=[key])
            (outcome,) = await scribe.append([draft])
            assert outcome == Stale(head=Position(2))
            assert await backend.canon.ledger.find(draft.draft.id) is None
        assert await backend.canon.state.things([ident("late")]) == {}

    @requirement("ledger:append:absence-can-be-read")
    async def test_verdict_on_a_free_name_is_stale_once_it_is_taken(self, backend: Backend) -> None:
        """The name key guards what was not there; its case and spaces are folded."""
        scribe = Scribe(backend.canon)
        free = name_key("character", "  FRODO ")
        judged_at = await backend.canon.ledger.head(MIDDLE_EARTH)
        await scribe.write(*a_named("Frodo"))

        draft = scribe.next(a_named("frodo"), judged_at=judged_at, reads=[free])
        (outcome,) = await scribe.append([draft])

        assert outcome == Stale(head=Position(1))

    @requirement("ledger:append:untouched-reads-pass")
    async def test_others_progress_does_not_matter(self, backend: Backend) -> None:
        """Judged at the origin, appended after twenty commits about something else."""
        scribe = Scribe(backend.canon)
        for n in range(20):
            await scribe.make(a_fact(f"fact {n}", "sam"))

        draft = scribe.next(made(a_fact("mine", "frodo")), reads=[facts_key(ident("frodo"))])
        (outcome,) = await scribe.append([draft])

        assert isinstance(outcome, Appended)
        assert outcome.position == Position(21)

    @requirement("ledger:append:any-is-everything")
    async def test_any_conflicts_with_everything(self, backend: Backend) -> None:
        """Both ways: reading everything, and touching everything."""
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
        """Even reading everything reads only one's own space."""
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
        """The second draft even changes what the first made."""
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
        """The third is fresh, but may rest on the second."""
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
        """Though everything it read has been touched, and though it says something else."""
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

    @requirement("ledger:append:replay-within-batch")
    async def test_same_id_twice_in_a_batch_is_one_commit(self, backend: Backend) -> None:
        """Also behind a stale draft, where it is only asked about."""
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
        """It stands still, goes back a second, and goes on."""
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
        """Before 1970, in two thousand years, and 400 days behind what it said before."""
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
        """Its first entry is good, its second changes what does not exist."""
        scribe = Scribe(backend.canon)
        await scribe.make(a_fact("one"))
        dangling = FactRetconned(fact_id=FactId(ident("nobody")), replaced_by=None, reason="")

        with pytest.raises(BrokenInvariant) as caught:
            await scribe.write(*made(a_fact("good")), dangling)
        after = await scribe.make(a_fact("two"))

        assert caught.value.code == "canon.dangling-entry"
        assert after.position == Position(2)
        assert await backend.canon.state.things([ident("good")]) == {}

    @requirement("ledger:append:large")
    async def test_large_commits_are_kept(self, backend: Backend) -> None:
        """One entry of a megabyte, and five megabytes of small ones."""
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
        """Sixty callers, two of them with the same commit."""
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
        """Each cancelled draft is there whole, or not at all; sending it again settles it."""
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


class LedgerContract(AppendContract, LogContract):
    """All that a ledger promises within one process."""
