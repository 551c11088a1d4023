"""The contracts of stores that outlive a process, and that several processes share."""

import asyncio

import pytest

from canonry.log.commits import ORIGIN, Appended, Position, Stale
from canonry.log.keys import facts_key, key_hash, thing_key
from canonry.readmodels.ports.state import FactQuery
from canonry.testing.conformance.answers import answers
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import Backend, Contract, present, requirement
from canonry.testing.conformance.log import whole_log
from canonry.testing.scribe import Scribe
from canonry.testing.things import MIDDLE_EARTH, a_fact, ident, made
from canonry.values.errors import Unavailable


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
