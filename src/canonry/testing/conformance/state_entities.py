"""Promises about entities and facts."""

from collections.abc import Iterable
from typing import Any

from canonry.log.entries import Entry, FactRead
from canonry.log.items.entities import Entity
from canonry.readmodels.ports.state import EntityQuery, EventQuery, FactQuery
from canonry.testing.conformance.cases import declared
from canonry.testing.conformance.kit import YEAR_ONE, Backend, Contract, paged, requirement, whole
from canonry.testing.things import (
    ELSEWHERE,
    MIDDLE_EARTH,
    a_fact,
    a_named,
    a_record,
    an_entity,
    an_event,
    ident,
    made,
)
from canonry.testing.worlds import Scribe
from canonry.values.ids import EntityId
from canonry.values.moments import DAY, Instant
from canonry.values.provenance import CanonLevel
from canonry.values.statements import Statement


def names(entities: Iterable[Entity]) -> list[str]:
    """Return their names, sorted, because items of one commit are ordered by id only."""
    return sorted(entity.name for entity in entities)


async def found(backend: Backend, **query: Any) -> list[str]:
    """Return the names of the matching entities."""
    return names(await whole(backend.canon.state.entities, EntityQuery(**query)))


def tags(*tags: str) -> frozenset[str]:
    """Return a set of tags for a query."""
    return frozenset(tags)


def some(*names: str) -> frozenset[EntityId]:
    """Return a set of entity ids for a query."""
    return frozenset(ident(name) for name in names)


async def facts(backend: Backend, **query: Any) -> list[str]:
    """Return the statements of the matching facts, in order."""
    return [fact.statement for fact in await whole(backend.canon.state.facts, FactQuery(**query))]


async def events(backend: Backend, **query: Any) -> list[str]:
    """Return the titles of the matching events, in order."""
    return [event.title for event in await whole(backend.canon.state.events, EventQuery(**query))]


def owns(owner: str, value: str | None, *, holds: bool = True) -> Statement:
    """Return the statement that the entity with this name owns the value."""
    return Statement(subject=ident(owner), attribute="owns", value=value, holds=holds)


def a_read(name: str, *statements: Statement) -> FactRead:
    """Return the entry with the statements of a fact."""
    return FactRead(fact_id=ident(name), reader=1, statements=statements)


def a_reading(name: str, *statements: Statement, **changes: Any) -> tuple[Entry, ...]:
    """Return the entries that create a fact and its statements, as an acceptance writes them."""
    return (*made(a_fact(name, **changes)), a_read(name, *statements))


class EntityContract(Contract):
    """Provide a fixture `backend` with an empty store."""

    test_tags_select_all_any_and_none = declared("state:entities:tags")
    test_space_type_class_and_level_select = declared("state:entities:filters")
    test_pattern_is_a_substring_with_wildcards = declared("state:entities:patterns")
    test_former_and_other_names_match_a_pattern = declared("state:entities:former-names")

    @requirement("state:entities:pages")
    async def test_pages_of_entities_have_no_gap(self, backend: Backend) -> None:
        """Pages follow (created_at, id) without gap or repetition, with the exact total."""
        scribe = Scribe(backend.canon)
        for n in range(5):
            backend.clock.move(1_000)
            group = [a_named(f"{n}/{m}", tags=("odd",) if m % 2 else ()) for m in range(4)]
            await scribe.write(*(entry for pair in group for entry in pair))
        await scribe.write(*a_named("last 1"), *a_named("last 2"), *a_named("last 3"))

        for query, total in (({}, 23), ({"all_of": tags("odd")}, 10), ({"name_pattern": "/"}, 20)):
            asked: Any = EntityQuery(**query)
            seen = await paged(backend.canon.state.entities, asked, total=total, limit=4)
            assert seen == sorted(seen, key=lambda e: (e.created_at, e.id))

    test_queries_follow_every_change = declared("state:entities:current")
    test_namesakes_are_found = declared("state:entities:named")
    test_observations_are_read_in_log_order = declared("state:observations:order")
    test_each_field_names_its_observation = declared("state:fields:provenance")

    @requirement("state:entities:seen-until:names")
    async def test_names_told_late_are_all_kept(self, backend: Backend) -> None:
        """`entities_seen_until` keeps every name until then, in any order of recording."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make(an_entity("bill"))
        for day in (9, 4, 1, 3, 2):
            said = {"name": f"called on day {day}"}
            seen = Instant(day * DAY)
            await scribe.make(a_record("bill", f"day {day}", fields=said, observed_at=seen))
        bill = ident("bill")

        async def until(day: int) -> list[str]:
            found = await state.entities_seen_until((bill,), Instant(day * DAY))
            return [name.removeprefix("called on day ") for name in found[bill].known_as]

        assert await until(4) == ["2", "3", "1", "4"]
        assert await until(3) == ["2", "3", "1"]
        assert await until(1) == ["1"]
        assert await until(9) == ["2", "3", "1", "4", "9"]

    test_interval_selects_by_overlap = declared("state:facts:overlap")
    test_timeless_facts_hold_until_superseded = declared("state:facts:timeless")
    test_what_ended_without_a_date_is_found_as_before = declared("state:facts:undated-end")
    test_space_entities_level_and_authority_select = declared("state:facts:filters")

    @requirement("state:facts:pages")
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
            seen = await paged(backend.canon.state.facts, FactQuery(**query), total=16, limit=3)
            assert seen == sorted(seen, key=lambda f: (f.created_at, f.id))

    test_same_statements_are_found = declared("state:facts:stating")

    @requirement("state:facts:framed")
    async def test_rivals_are_found_by_the_keys_of_their_statements(self, backend: Backend) -> None:
        """`facts_framed` finds canon facts with any of the keys, the newest of each."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.write(*a_reading("one", owns("Bo", "~mill")))
        await scribe.write(*a_reading("two", owns("Bo", "~horse"), owns("Bo", "~mill:of_wind")))
        await scribe.write(*a_reading("three", owns("Bo", "~mill"), level=CanonLevel.RETCONNED))
        there = Scribe(backend.canon, "there", ELSEWHERE)
        await there.write(*a_reading("four", owns("Bo", "~mill"), space=ELSEWHERE))
        await scribe.make(a_fact("five", statement="Bo owns a mill in Velm."))
        await scribe.make(a_fact("unread", statement="Bo owns a mill."))
        await scribe.write(a_read("five", owns("Bo", "~mill", holds=False)))
        denial = owns("Bo", None).index_keys
        mills = (owns("Ana", "~mill").index_keys[1],)
        monk = Statement(subject=ident("Odo"), attribute="office", value="monk").index_keys

        async def found(*keys: str, most: int = 2) -> list[str]:
            facts = await state.facts_framed(MIDDLE_EARTH, dict.fromkeys(keys, most))
            return [fact.id for fact in facts]

        assert await found(*denial, most=3) == [ident("one"), ident("two"), ident("five")]
        assert await found(*mills) == [ident("one"), ident("five")]
        assert await found(*mills, most=1) == [ident("five")]
        assert await found(*monk) == await found() == []
        await scribe.write(a_read("five", owns("Ana", "~mill")), a_read("two"))
        assert await found(*denial) == [ident("one")]
        assert await found(*mills) == [ident("one"), ident("five")]

    @requirement("state:events:order")
    async def test_events_come_in_the_order_of_the_world(self, backend: Backend) -> None:
        """Events are sorted by their own time if known, otherwise by their recording."""
        scribe, now = Scribe(backend.canon), backend.clock.now()
        await scribe.make(an_event("recorded"))
        await scribe.make(an_event("after", time_ref=Instant(now + DAY)))
        await scribe.make(an_event("long ago", time_ref=YEAR_ONE))
        await scribe.make(an_event("before", time_ref=Instant(now - 1)))
        order = ["long ago", "before", "recorded", "after"]

        assert await events(backend) == order
        seen = await paged(backend.canon.state.events, EventQuery(), total=4, limit=1)
        assert [e.title for e in seen] == order

    test_space_entities_scene_and_level_select = declared("state:events:filters")
