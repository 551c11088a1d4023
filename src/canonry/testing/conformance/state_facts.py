"""The contract of reading facts and events: intervals, whose word it was, order and causes."""

from typing import Any

import pytest

from canonry.language.clauses.keys import rival_keys
from canonry.log.entries import CausesLinked, FactResumed, FactRetconned, FactSuperseded
from canonry.log.items.facts import Event, Fact, FactType
from canonry.readmodels.ports.state import EventQuery, FactQuery
from canonry.testing.conformance.hostile import LONGEST_DURATION, YEAR_9999, YEAR_ONE
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.scribe import Scribe
from canonry.testing.things import ELSEWHERE, MIDDLE_EARTH, a_fact, an_event, ident, made
from canonry.values.ids import EntityId, EventId, FactId, SceneId
from canonry.values.provenance import Authority, CanonLevel
from canonry.values.time import DAY, SECOND, Instant


def some(*names: str) -> frozenset[EntityId]:
    """Entities as a query takes them."""
    return frozenset(EntityId(ident(name)) for name in names)


async def facts(backend: Backend, **query: Any) -> list[str]:
    """The statements of the facts that match, in order."""
    page = await backend.canon.state.facts(FactQuery(**query))
    assert page.total == len(page.items)
    return [fact.statement for fact in page.items]


async def events(backend: Backend, **query: Any) -> list[str]:
    """The titles of the events that match, in order."""
    page = await backend.canon.state.events(EventQuery(**query))
    assert page.total == len(page.items)
    return [event.title for event in page.items]


class FactContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "state:facts:overlap", because="A fact that ended when another began did not hold then."
    )
    @pytest.mark.parametrize(
        ("start", "end", "expected"),
        [
            (None, None, ["day 2 to 4", "from day 3"]),
            (4, 5, ["from day 3"]),
            (3, 4, ["day 2 to 4", "from day 3"]),
            (0, 1, []),
            (0, 2, ["day 2 to 4"]),
            (2, 2, ["day 2 to 4"]),
            (0, 3, ["day 2 to 4", "from day 3"]),
            (4, None, ["from day 3"]),
            (None, 2, ["day 2 to 4"]),
            (None, 1, []),
            (9, 9, ["from day 3"]),
        ],
    )
    async def test_interval_selects_by_overlap(
        self, backend: Backend, start: int | None, end: int | None, expected: list[str]
    ) -> None:
        """`start` and end select by overlap of half-open intervals, each may be missing."""
        scribe = Scribe(backend.canon)
        lasting = 2 * DAY // SECOND
        await scribe.make(a_fact("day 2 to 4", time_ref=Instant(2 * DAY), duration=lasting))
        await scribe.make(a_fact("from day 3", time_ref=Instant(3 * DAY)))

        bounds = {
            "start": None if start is None else Instant(start * DAY),
            "end": None if end is None else Instant(end * DAY),
        }
        assert await facts(backend, **bounds) == expected

    @requirement("state:facts:timeless", because="Most facts are simply true.")
    async def test_timeless_facts_hold_until_superseded(self, backend: Backend) -> None:
        """A fact without time overlaps everything until a later one supersedes it."""
        scribe = Scribe(backend.canon)
        await scribe.make(a_fact("always"))
        ages = a_fact("for ages", time_ref=YEAR_ONE, duration=LONGEST_DURATION)
        await scribe.make(ages)
        await scribe.make(a_fact("at last", time_ref=YEAR_9999, duration=LONGEST_DURATION))
        first, last = {"end": YEAR_ONE}, {"start": YEAR_9999}

        assert await facts(backend, **first) == ["always", "for ages"]
        assert await facts(backend, **last) == ["always", "for ages", "at last"]
        for name in ("always", "for ages"):
            await scribe.write(
                FactSuperseded(
                    fact_id=FactId(ident(name)),
                    until=Instant(5),
                    superseded_by=FactId(ident("at last")),
                )
            )
        assert await facts(backend, start=Instant(5)) == ["at last"]
        assert await facts(backend, start=Instant(4), end=Instant(9)) == ["always", "for ages"]
        assert await facts(backend) == ["always", "for ages", "at last"]
        last_id = FactId(ident("at last"))
        await scribe.write(FactResumed(fact_id=FactId(ident("always")), fallen=last_id))
        assert await facts(backend, start=Instant(5)) == ["always", "at last"]

    @requirement("state:facts:undated-end", because="Nobody knows when it ended, but that it did.")
    async def test_what_ended_without_a_date_is_found_as_before(self, backend: Backend) -> None:
        """A fact superseded without a date keeps its interval and names its heir."""
        scribe = Scribe(backend.canon)
        await scribe.make(a_fact("before", time_ref=Instant(0)), a_fact("after"))
        heir = FactId(ident("after"))
        before = FactId(ident("before"))
        await scribe.write(FactSuperseded(fact_id=before, until=None, superseded_by=heir))

        assert await facts(backend, start=Instant(9 * DAY)) == ["before", "after"]
        found = (await backend.canon.state.things((before,)))[before]
        assert isinstance(found, Fact)
        assert (found.until, found.superseded_by) == (None, heir)

    @requirement(
        "state:facts:filters", because="Whose word it was matters as much as what was said."
    )
    async def test_space_entities_level_and_authority_select(self, backend: Backend) -> None:
        """Space, entities, level, authority and type select facts, alone and combined."""
        scribe, gm, player = Scribe(backend.canon), Authority.GM, Authority.PLAYER
        await scribe.make(a_fact("one", "ann", authority=gm))
        event, attribute = FactType.OCCURRENCE, FactType.ATTRIBUTE
        await scribe.make(a_fact("two", "ann", "bob", authority=player, fact_type=event))
        await scribe.make(a_fact("three", "bob", level=CanonLevel.PROPOSED, fact_type=attribute))
        there = a_fact("four", "ann", space=ELSEWHERE)
        await Scribe(backend.canon, "there", ELSEWHERE).make(there)
        here = frozenset((MIDDLE_EARTH,))

        assert await facts(backend, spaces=here) == ["one", "two", "three"]
        assert await facts(backend, spaces=frozenset()) == []
        assert await facts(backend, entities=some("ann"), spaces=here) == ["one", "two"]
        assert await facts(backend, entities=some("ann", "bob"), spaces=here) == [
            "one",
            "two",
            "three",
        ]
        assert await facts(backend, authority=player) == ["two"]
        assert await facts(backend, level=CanonLevel.PROPOSED) == ["three"]
        assert await facts(backend, fact_type=event) == ["two"]
        assert await facts(backend, fact_type=attribute, entities=some("ann")) == []
        assert await facts(backend, fact_type=attribute, entities=some("bob")) == ["three"]
        combined = {"entities": some("bob"), "authority": gm, "level": CanonLevel.PROPOSED}
        assert await facts(backend, **combined) == ["three"]
        two = FactId(ident("two"))
        await scribe.write(FactRetconned(fact_id=two, replaced_by=None, reason="no"))
        canon = {"spaces": here, "level": CanonLevel.CANON}
        assert await facts(backend, **canon) == ["one"]
        assert await facts(backend, **canon, entities=some("bob")) == []
        assert await facts(backend, level=CanonLevel.RETCONNED, entities=some("bob")) == ["two"]

    @requirement(
        "state:facts:pages", because="A fact about two of the entities asked for is still one fact."
    )
    async def test_pages_of_facts_have_no_gap(self, backend: Backend) -> None:
        """Pages of facts follow (created_at, id) without gap, with the exact total."""
        scribe = Scribe(backend.canon)
        for n in range(4):
            backend.clock.move(1_000)
            await scribe.make(*(a_fact(f"{n}/{m}", "ann", "bob", "ann") for m in range(4)))
        queries: list[dict[str, Any]] = [
            {},
            {"entities": some("ann", "bob")},
            {"entities": some("bob"), "start": Instant(0), "level": CanonLevel.CANON},
        ]

        for query in queries:
            seen: list[Fact] = []
            for offset in range(0, 20, 3):
                page = await backend.canon.state.facts(FactQuery(**query, limit=3, offset=offset))
                assert page.total == 16
                seen += page.items
            assert len(seen) == 16
            assert seen == sorted(seen, key=lambda f: (f.created_at, f.id))

    @requirement(
        "state:facts:stating", because="Saying something twice does not make it two facts."
    )
    async def test_same_statements_are_found(self, backend: Backend) -> None:
        """`facts_stating` finds facts that say one of them but for case, signs and articles."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make(a_fact("one", statement="The ring  burns"))
        await scribe.make(a_fact("two", statement="the RING burns ", level=CanonLevel.RETCONNED))
        await scribe.make(a_fact("three", statement="the ring burns not"))
        there = a_fact("four", statement="The ring burns", space=ELSEWHERE)
        await Scribe(backend.canon, "there", ELSEWHERE).make(there)

        await scribe.make(a_fact("five", statement="A ring burns!"))

        same = await state.facts_stating(MIDDLE_EARTH, {"the ring burns"})
        either = await state.facts_stating(
            MIDDLE_EARTH, {"The ring burns!", "nobody burns", "the ring burns not"}
        )

        found = ["one", "two", "three", "five"]
        assert [f.id for f in same] == [ident("one"), ident("two"), ident("five")]
        assert [f.id for f in either] == list(map(ident, found))
        assert await state.facts_stating(MIDDLE_EARTH, {""}) == []
        assert await state.facts_stating(MIDDLE_EARTH, frozenset()) == []

    @requirement(
        "state:facts:framed",
        because="Whatever may contradict a statement is looked up, not sought.",
    )
    async def test_rivals_are_found_by_the_keys_of_their_frames(self, backend: Backend) -> None:
        """`facts_framed` finds canon facts that have any of the keys, of each the newest."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        bo = (EntityId(ident("Bo")),)
        fallen = CanonLevel.RETCONNED
        await scribe.make(a_fact("one", statement="Bo owns a mill.", involved=bo))
        await scribe.make(a_fact("two", statement="Bo owns a horse.", involved=bo))
        await scribe.make(a_fact("three", statement="Bo has no mill", involved=bo, level=fallen))
        there = a_fact("four", statement="Bo owns a mill.", space=ELSEWHERE, involved=bo)
        await Scribe(backend.canon, "there", ELSEWHERE).make(there)
        await scribe.make(a_fact("five", statement="Bo owns a mill in Velm.", involved=bo))
        denial = rival_keys("Bo owns neither a mill nor a horse", bo)
        mills = rival_keys("Bo doesn't own a mill", bo)
        monk = rival_keys("Odo is a monk")

        async def found(*keys: str, most: int = 2) -> list[str]:
            facts = await state.facts_framed(MIDDLE_EARTH, dict.fromkeys(keys, most))
            return [fact.id for fact in facts]

        assert await found(*denial) == [ident("one"), ident("two"), ident("five")]
        assert await found(*mills) == [ident("one"), ident("five")]
        assert await found(*mills, most=1) == [ident("five")]
        assert await found(*monk) == await found() == []

    @requirement("state:events:order", because="A timeline is in the order of the world.")
    async def test_events_come_in_the_order_of_the_world(self, backend: Backend) -> None:
        """Events come by their own time where known, else by their recording."""
        scribe, now = Scribe(backend.canon), backend.clock.now()
        await scribe.make(an_event("recorded"))
        await scribe.make(an_event("after", time_ref=Instant(now + DAY)))
        await scribe.make(an_event("long ago", time_ref=YEAR_ONE))
        await scribe.make(an_event("before", time_ref=Instant(now - 1)))
        order = ["long ago", "before", "recorded", "after"]

        assert await events(backend) == order
        paged: list[Event] = []
        for offset in range(5):
            page = await backend.canon.state.events(EventQuery(limit=1, offset=offset))
            assert page.total == 4
            paged += page.items
        assert [e.title for e in paged] == order

    @requirement("state:events:filters", because="A timeline of one hero is not that of the world.")
    async def test_space_entities_scene_and_level_select(self, backend: Backend) -> None:
        """Space, entities, scene and level select events."""
        scribe, scene = Scribe(backend.canon), SceneId(ident("scene"))
        await scribe.make(an_event("one", "ann", "bob", scene_id=scene))
        await scribe.make(an_event("two", "bob", level=CanonLevel.RETCONNED))
        there = an_event("three", "ann", space=ELSEWHERE)
        await Scribe(backend.canon, "there", ELSEWHERE).make(there)

        assert await events(backend, entities=some("ann", "bob"), level=CanonLevel.CANON) == [
            "one",
            "three",
        ]
        assert await events(backend, scene_id=scene) == ["one"]
        assert await events(backend, spaces=frozenset((MIDDLE_EARTH,))) == ["one", "two"]
        assert await events(backend, spaces=frozenset()) == []
        assert await events(backend, entities=some("bob"), scene_id=scene) == ["one"]

    @requirement(
        "state:events:causes",
        because="Causes must not run in circles, and only this shows a circle.",
    )
    async def test_causes_are_found_from_their_effects(self, backend: Backend) -> None:
        """`causes_of` finds the events that brought any of the given ones about."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        storm, flood, death = (EventId(ident(n)) for n in ("storm", "flood", "death"))
        await scribe.write(
            *made(an_event("storm", causes=(flood,)), an_event("flood"), an_event("death"))
        )
        await scribe.write(CausesLinked(cause=storm, effect=death))
        await scribe.write(CausesLinked(cause=flood, effect=death))

        async def causes(*ids: EventId) -> list[str]:
            return sorted(e.title for e in await state.causes_of(ids))

        assert await causes(flood) == ["storm"]
        assert await causes(death) == ["flood", "storm"]
        assert await causes(death, flood) == ["flood", "storm"]
        assert await causes(storm) == []
        assert await causes() == []
