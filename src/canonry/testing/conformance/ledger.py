"""The contract of the ledger: appending to an event log, and reading it."""

import asyncio
from dataclasses import replace

import pytest

from canonry.log.commits import ORIGIN, Appended, Position
from canonry.log.fold_commit import fold_commit
from canonry.log.folding import facts_key, item_key, key_hash
from canonry.log.sealing import GENESIS, ErasablePart, Sealed, fault_in
from canonry.testing.clocks import Scribe, a_draft, an_append
from canonry.testing.conformance.cases import DeclaredContract
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import PROPERTIES, TEXTS, Backend, requirement, view_answers
from canonry.testing.example_items import (
    ELSEWHERE,
    MIDDLE_EARTH,
    a_fact,
    a_turn,
    creation_entries,
    uuid_of,
)
from canonry.values.errors import Conflict, Unavailable
from canonry.values.ids import CommitId
from canonry.values.moments import DAY, SECOND, Instant


async def whole_log(backend: Backend) -> list[Sealed]:
    """Return every stored commit of every space."""
    ledger = backend.canon.ledger
    log: list[Sealed] = []
    for head in await ledger.list_heads(limit=100):
        log += await ledger.read_sealed(head.space, after=ORIGIN, limit=1_000)
    return log


def alter_payload(sealed: Sealed) -> Sealed:
    """Return the commit with a changed first payload."""
    part = sealed.parts[0]
    assert part is not None
    other = ErasablePart(salt=part.salt, payload=part.payload.replace(b"2", b"3"))
    return replace(sealed, parts=(other, *sealed.parts[1:]))


class LedgerContract(DeclaredContract):
    """Provide a fixture `backend` with an empty store. These promises hold within one process."""

    @requirement("ledger:exclusive:keeps-others-out")
    async def test_exclusive_block_is_alone(self, backend: Backend) -> None:
        """While an exclusive block runs, only its own appends are written.

        Others wait for its end.
        """
        ledger, scribe = backend.canon.ledger, Scribe(backend.canon)
        other = scribe.next_append(creation_entries(a_fact("other")))

        async with ledger.lock_appends():
            waiting = asyncio.ensure_future(ledger.append_drafts([other]))
            for n in range(3):
                await scribe.make_items(a_fact(f"mine {n}"))
                await asyncio.sleep(0)
            assert not waiting.done()
            assert await ledger.head_position(MIDDLE_EARTH) == Position(3)
        (outcome,) = await waiting

        assert isinstance(outcome, Appended)
        assert outcome.position == Position(4)

    @requirement("ledger:exclusive:ends-with-the-block")
    async def test_failing_block_lets_others_go_on(self, backend: Backend) -> None:
        """An error in the exclusive block, or its cancellation, releases other writers."""
        ledger, scribe = backend.canon.ledger, Scribe(backend.canon)
        entered = asyncio.Event()

        async def hold_block() -> None:
            async with ledger.lock_appends():
                entered.set()
                await asyncio.Event().wait()

        with pytest.raises(ZeroDivisionError):
            async with ledger.lock_appends():
                raise ZeroDivisionError
        holding = asyncio.ensure_future(hold_block())
        await entered.wait()
        waiting = asyncio.ensure_future(hold_block())
        await asyncio.sleep(0)
        for block in (waiting, holding):
            block.cancel()
        await asyncio.gather(holding, waiting, return_exceptions=True)

        assert (await scribe.make_items(a_fact("after"))).position == Position(1)

    @requirement("ledger:find:by-id")
    async def test_commit_is_found_by_its_id(self, backend: Backend) -> None:
        """`find` returns the commit with this id from any space, and None for an unknown id."""
        scribe = Scribe(backend.canon)
        await scribe.open_spaces("there")
        draft = scribe.next_append(creation_entries(a_fact("one")))
        await scribe.append_batch([draft])

        found = await backend.canon.ledger.find_commit(draft.draft.id)

        assert found is not None
        assert (found.entries, found.position) == (draft.draft.entries, Position(1))
        there = await backend.canon.ledger.find_commit(uuid_of("commit/scribe/open/there"))
        assert there is not None
        assert there.space == uuid_of("there")
        assert await backend.canon.ledger.find_commit(uuid_of("nobody")) is None
        assert await backend.canon.ledger.find_commit(CommitId("no id at all")) is None

    @requirement("ledger:heads:paged")
    async def test_heads_of_all_spaces_page_by_page(self, backend: Backend) -> None:
        """`heads` pages through all spaces with commits, in order of their ids."""
        ledger = backend.canon.ledger
        names = [f"space {n}" for n in range(5)]
        await Scribe(backend.canon).open_spaces(*names)

        page1 = list(await ledger.list_heads(limit=3))
        page2 = list(await ledger.list_heads(after=page1[-1].space, limit=3))

        assert [h.space for h in (*page1, *page2)] == sorted(map(uuid_of, names))
        for head in (*page1, *page2):
            (sealed,) = await ledger.read_sealed(head.space, after=ORIGIN, limit=5)
            assert (head.position, head.hash) == (sealed.position, sealed.hash)

    @requirement("ledger:chain:verifies")
    async def test_log_is_a_chain(self, backend: Backend) -> None:
        """Sealed commits are a chain without a fault from GENESIS to the head."""
        await write_chronicle(backend)

        for head in await backend.canon.ledger.list_heads(limit=100):
            previous = GENESIS
            log = await backend.canon.ledger.read_sealed(head.space, after=ORIGIN, limit=1_000)
            for position, sealed in enumerate(log, start=1):
                assert fault_in(sealed, position=Position(position), previous=previous) is None
                previous = sealed.hash
            assert previous == head.hash

    @requirement("ledger:restore:byte-identical")
    async def test_restored_log_is_the_same(self, backend: Backend) -> None:
        """Sealed commits that are restored elsewhere are sealed alike, and give equal views."""
        empty = await backend.another()
        await write_chronicle(backend)
        log = await whole_log(backend)

        await empty.canon.ledger.restore_commits(log[:7])
        await empty.canon.ledger.restore_commits(log[7:])

        assert await whole_log(empty) == log
        assert await view_answers(empty.canon) == await view_answers(backend.canon)

    @requirement("ledger:restore:refuses-what-does-not-fit")
    async def test_damaged_export_is_refused(self, backend: Backend) -> None:
        """`restore` refuses a gap, a repetition and an altered commit with Conflict."""
        empty = await backend.another()
        scribe, target = Scribe(backend.canon), empty.canon.ledger
        for n in range(3):
            await scribe.make_items(a_fact(f"fact {n} 2"))
        one, two, three = await whole_log(backend)
        await target.restore_commits([one])

        for wrong in ([three], [one], [alter_payload(two)], [replace(two, hash="f" * 64)]):
            with pytest.raises(Conflict, match=r"^ledger\.chain-broken:"):
                await target.restore_commits(wrong)
            assert await target.head_position(MIDDLE_EARTH) == Position(1)
        await target.restore_commits([two, three])

        assert await whole_log(empty) == [one, two, three]

    @requirement("ledger:touched:tells-keys")
    async def test_touched_keys_are_returned(self, backend: Backend) -> None:
        """`touched_since` returns all keys touched since a cursor, and none if there are none."""
        ledger, scribe = backend.canon.ledger, Scribe(backend.canon)
        start = await ledger.touched_since(0, limit=100)
        nothing = await ledger.touched_since(start.cursor, limit=100)
        await scribe.make_items(a_fact("ring", "frodo"))
        there = uuid_of("there")
        await Scribe(backend.canon, "there", there).make_items(a_fact("sword", "sam", space=there))

        both = await ledger.touched_since(nothing.cursor, limit=100)
        again = await ledger.touched_since(both.cursor, limit=100)

        keys = {item_key(uuid_of(name)) for name in ("ring", "sword")}
        keys |= {facts_key(uuid_of(name)) for name in ("frodo", "sam")}
        assert nothing.keys == frozenset()
        assert both.keys is not None
        assert both.keys >= {key_hash(key) for key in keys}
        assert again.keys == frozenset()

    @requirement("ledger:touched:gives-up")
    async def test_too_many_touched_keys_are_none(self, backend: Backend) -> None:
        """`touched_since` returns None for cursor 0 and after more than `limit` commits."""
        ledger, scribe = backend.canon.ledger, Scribe(backend.canon)
        start = await ledger.touched_since(0, limit=3)
        for n in range(3):
            await scribe.make_items(a_fact(f"fact {n}"))
        at_limit = await ledger.touched_since(start.cursor, limit=3)
        await scribe.make_items(a_fact("one more"))
        past_limit = await ledger.touched_since(start.cursor, limit=3)
        after = await ledger.touched_since(past_limit.cursor, limit=3)

        assert start.keys is None
        assert at_limit.keys is not None
        assert past_limit.keys is None
        assert after.keys == frozenset()

    @requirement("ledger:append:round-trip")
    async def test_commit_is_read_back_equal(self, backend: Backend) -> None:
        """A commit is read back equal to its draft, with any texts and numbers."""
        entries = [
            *creation_entries(a_fact("hostile", properties=PROPERTIES, statement=TEXTS[-1])),
            *creation_entries(*(a_turn(f"turn {n}", text=text) for n, text in enumerate(TEXTS))),
        ]
        draft = a_draft("hostile", entries)

        (outcome,) = await backend.canon.ledger.append_drafts([an_append("hostile", entries)])

        (commit,) = await backend.canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=10)
        assert isinstance(outcome, Appended)
        assert (commit.id, commit.space, commit.actor) == (draft.id, draft.space, draft.actor)
        assert (commit.tool, commit.entries) == (draft.tool, draft.entries)
        assert commit.position == outcome.position == Position(1)
        assert commit.recorded_at == outcome.recorded_at == backend.clock.now()

    @requirement("ledger:append:every-kind")
    async def test_every_kind_of_entry_is_kept_and_folded(self, backend: Backend) -> None:
        """Entries of every kind are stored, read back equal and folded into the views."""
        written = await write_chronicle(backend)

        items: dict[str, object] = {}
        for space, drafts in written.items():
            commits = await backend.canon.ledger.read_commits(space, after=ORIGIN, limit=100)
            assert [c.entries for c in commits] == [d.entries for d in drafts]
            for commit in commits:
                items.update(fold_commit(commit, items).items)  # type: ignore[arg-type]
        assert await backend.canon.state.items_by_id(items) == items

    @requirement("ledger:append:replay-elsewhere")
    async def test_f1_an_id_of_another_space_blocks_no_view(self, backend: Backend) -> None:
        """A commit id of another space is replayed, and later reads wait for no commit.

        If the spaces are on servers that share no ids, the commit may be written in both.
        """
        scribe = Scribe(backend.canon)
        for name in ("one", "two", "three"):
            await scribe.make_items(a_fact(name))
        elsewhere = an_append(
            "scribe/3", creation_entries(a_fact("other", space=ELSEWHERE)), space=ELSEWHERE
        )

        (outcome,) = await scribe.append_batch([elsewhere])

        assert isinstance(outcome, Appended)
        replayed = outcome.replayed
        assert outcome.position == Position(3 if replayed else 1)
        found = await backend.canon.state.items_by_id(uuid_of(n) for n in ("three", "other"))
        assert set(found) == {
            uuid_of(n) for n in ("three", "other") if n == "three" or not replayed
        }
        head = await backend.canon.ledger.head_position(ELSEWHERE)
        assert head == (ORIGIN if replayed else outcome.position)

    @requirement("ledger:append:no-date-by-a-wrong-clock")
    async def test_r13_a_wrong_clock_dates_nothing(self, backend: Backend) -> None:
        """A clock that cannot be right dates no commit.

        This includes a clock more than a day behind the newest commit. The append is refused, and
        the log continues when the clock is right.
        """
        scribe, clock = Scribe(backend.canon), backend.clock
        right = clock.now()
        await scribe.make_items(a_fact("before"))
        far = (Instant(-SECOND), Instant(right + 730_000 * DAY), Instant(right - 400 * DAY))
        for n, wrong in enumerate(far):
            clock.move_by(wrong - clock.now())
            with pytest.raises(Unavailable) as refused:
                await scribe.make_items(a_fact(f"refused {n}"))
            assert refused.value.code in {"clock.implausible", "clock.behind"}
        clock.move_by(right - clock.now() - DAY + SECOND)
        await scribe.make_items(a_fact("nearly a day off"))
        clock.move_by(right - clock.now() + SECOND)
        await scribe.make_items(a_fact("after"))

        commits = await backend.canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=10)

        assert [c.recorded_at - right for c in commits] == [0, 1, SECOND]

    @requirement("ledger:append:large")
    async def test_large_commits_are_kept(self, backend: Backend) -> None:
        """Commits of several megabytes are stored and read back equal."""
        scribe = Scribe(backend.canon)
        one = creation_entries(a_turn("book", text="word " * 200_000))
        many = creation_entries(*(a_turn(f"page {n}", text=f"{n} " * 15_000) for n in range(120)))

        await scribe.write_entries(*one)
        await scribe.write_entries(*many)

        first, second = await backend.canon.ledger.read_commits(
            MIDDLE_EARTH, after=ORIGIN, limit=10
        )
        assert first.entries == one
        assert second.entries == many
        (book,) = (await backend.canon.state.items_by_id([uuid_of("book")])).values()
        assert getattr(book, "text", None) == "word " * 200_000

    @requirement("ledger:append:many-at-once")
    async def test_concurrent_callers_get_positions_of_their_own(self, backend: Backend) -> None:
        """Concurrent callers get distinct positions, and every commit is stored once."""
        scribe = Scribe(backend.canon)
        drafts = [scribe.next_append(creation_entries(a_fact(f"fact {n}"))) for n in range(60)]

        answers = await asyncio.gather(*(scribe.append_batch([d]) for d in [*drafts, drafts[7]]))

        outcomes = [o for (o,) in answers if isinstance(o, Appended)]
        assert sorted(o.position for o in outcomes if not o.replayed) == list(range(1, 61))
        assert sum(o.replayed for o in outcomes) == 1
        items = await backend.canon.state.items_by_id(uuid_of(f"fact {n}") for n in range(60))
        assert len(items) == 60

    @requirement("ledger:append:cancelled")
    async def test_cancelled_caller_leaves_the_ledger_in_order(self, backend: Backend) -> None:
        """A cancelled caller leaves the ledger consistent, and its commit complete or absent."""
        scribe = Scribe(backend.canon)
        drafts = [
            scribe.next_append(creation_entries(a_fact(f"a{n}"), a_fact(f"b{n}")))
            for n in range(20)
        ]
        calls = [asyncio.ensure_future(scribe.append_batch([draft])) for draft in drafts]
        await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

        for draft in drafts:
            await scribe.append_batch([draft])

        commits = await backend.canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=100)
        assert [c.position for c in commits] == list(range(1, 21))
        assert {c.id for c in commits} == {d.draft.id for d in drafts}
