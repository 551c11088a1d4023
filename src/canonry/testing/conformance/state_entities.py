"""Promises about entities and facts."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import (
    EntityRetconned,
    Entry,
    FactRead,
    FactResumed,
    FactRetconned,
    FactSuperseded,
)
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Fact, FactType
from canonry.log.schemas.narrative import EntityType
from canonry.readmodels.ports.state import EntityQuery, EventQuery, FactQuery
from canonry.testing.conformance.kit import (
    LONGEST_DURATION,
    YEAR_9999,
    YEAR_ONE,
    Backend,
    Contract,
    paged,
    requirement,
    whole,
)
from canonry.testing.things import (
    ELSEWHERE,
    MIDDLE_EARTH,
    a_fact,
    a_named,
    a_record,
    an_entity,
    an_entry,
    an_event,
    an_observation,
    ident,
    made,
    merged,
    unmerged,
)
from canonry.testing.worlds import Scribe, make_elsewhere, thing_named
from canonry.values.ids import EntityId
from canonry.values.moments import DAY, SECOND, Instant
from canonry.values.provenance import Authority, CanonLevel
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

    @requirement("state:entities:tags")
    async def test_tags_select_all_any_and_none(self, backend: Backend) -> None:
        """`all_of`, `any_of` and `none_of` select by current tags, also combined."""
        await Scribe(backend.canon).write(
            *a_named("ann", tags=("alive", "in:shire")),
            *a_named("bob", tags=("alive",)),
            *a_named("cid", tags=("dead", "in:shire")),
            *a_named("dan"),
        )

        assert await found(backend, all_of=tags("alive")) == ["ann", "bob"]
        assert await found(backend, all_of=tags("alive", "in:shire")) == ["ann"]
        assert await found(backend, any_of=tags("dead", "in:shire")) == ["ann", "cid"]
        assert await found(backend, none_of=tags("alive")) == ["cid", "dan"]
        assert await found(backend, none_of=tags("alive", "dead")) == ["dan"]
        both = {"all_of": tags("in:shire"), "any_of": tags("alive", "lost")}
        assert await found(backend, **both) == ["ann"]
        assert await found(backend, **both, none_of=tags("alive")) == []
        assert await found(backend, any_of=tags("nobody")) == []
        assert await found(backend, all_of=tags("alive", "nobody")) == []
        assert await found(backend, none_of=tags("nobody")) == ["ann", "bob", "cid", "dan"]

    @requirement("state:entities:filters")
    async def test_space_type_class_and_level_select(self, backend: Backend) -> None:
        """Space, type, class and level select, alone and combined with tags."""
        place, idea = EntityType.LOCATION, EntityClass.ARCHETYPE
        there = Scribe(backend.canon, "there", ELSEWHERE)
        await Scribe(backend.canon).write(
            *a_named("ann", tags=("old",)),
            *a_named("moor", tags=("old",), entity_type=place),
            *a_named("elf", tags=("old",), entity_class=idea),
            *a_named("draft", tags=("old",), level=CanonLevel.PROPOSED),
        )
        await there.write(*a_named("eve", tags=("old",), space=ELSEWHERE))
        here, both = frozenset((MIDDLE_EARTH,)), frozenset((MIDDLE_EARTH, ELSEWHERE))

        assert await found(backend, entity_type=place) == ["moor"]
        assert await found(backend, entity_class=idea) == ["elf"]
        assert await found(backend, level=CanonLevel.PROPOSED) == ["draft"]
        assert await found(backend, spaces=here) == ["ann", "draft", "elf", "moor"]
        assert await found(backend, spaces=frozenset((ELSEWHERE,))) == ["eve"]
        assert await found(backend, spaces=both, level=CanonLevel.CANON) == [
            "ann",
            "elf",
            "eve",
            "moor",
        ]
        assert await found(backend, spaces=frozenset()) == []
        mine = {"spaces": here, "all_of": tags("old"), "level": CanonLevel.CANON}
        assert await found(backend, **mine, entity_type=EntityType.CHARACTER) == ["ann", "elf"]
        assert await found(backend, **mine, entity_class=EntityClass.INSTANCE) == ["ann", "moor"]

    @requirement("state:entities:patterns")
    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("of", ["Lord of [Lies]", "house_of.cards"]),
            ("LORD", ["Lord of [Lies]"]),
            ("lord*lies", ["Lord of [Lies]"]),
            ("l%d%s", ["Lord of [Lies]"]),
            ("[lies]", ["Lord of [Lies]"]),
            ("f.c", ["house_of.cards"]),
            ("e_o", ["house_of.cards"]),
            ("h_u", []),
            ("^Lord", []),
            ("\\", ["back\\slash"]),
            ("'", ["d'Arc"]),
            ("\u00c4", ["\u00c4rger"]),
            ("a\u0308rg", ["\u00c4rger"]),
            ("arg", []),
            ("lord  of", ["Lord of [Lies]"]),
            ("", ["Lord of [Lies]", "back\\slash", "d'Arc", "house_of.cards", "\u00c4rger"]),
            ("*", ["Lord of [Lies]", "back\\slash", "d'Arc", "house_of.cards", "\u00c4rger"]),
            ("x*", []),
        ],
    )
    async def test_pattern_is_a_substring_with_wildcards(
        self, backend: Backend, pattern: str, expected: Sequence[str]
    ) -> None:
        """`name_pattern` is a case-insensitive substring in which only * and % are wildcards."""
        for name in ("Lord of [Lies]", "house_of.cards", "back\\slash", "d'Arc", "\u00c4rger"):
            await Scribe(backend.canon, name).write(*a_named(name))

        assert await found(backend, name_pattern=pattern) == list(expected)

    @requirement("state:entities:former-names")
    async def test_former_and_other_names_match_a_pattern(self, backend: Backend) -> None:
        """`name_pattern` matches every name of an entity, also of entities merged into it."""
        scribe = Scribe(backend.canon)
        await scribe.write(*a_named("Strider"))
        await scribe.write(*a_named("Marn the Tall"))
        await scribe.make(an_observation("Strider", "new", fields={"name": "Aragorn"}))
        await scribe.write(merged("Strider", "Marn the Tall"))

        for pattern in ("strid", "ARAGORN", "the tall"):
            assert await found(backend, name_pattern=pattern) == ["Aragorn"]
        assert await found(backend, name_pattern="aragorn strider") == []

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

    @requirement("state:entities:current")
    async def test_queries_follow_every_change(self, backend: Backend) -> None:
        """Queries follow changes of tags, names and levels, and leave out merged entities."""
        scribe = Scribe(backend.canon)
        await scribe.write(
            *a_named("ann", tags=("alive",)), *a_named("bob", tags=("alive",)), *a_named("cid")
        )
        fields = {"name": "anna", "state_tags": {"alive": False, "ghost": True}}
        await scribe.make(an_observation("ann", "died", fields=fields))

        assert await found(backend, all_of=tags("alive")) == ["bob"]
        assert await found(backend, name_pattern="anna") == ["anna"]
        assert await found(backend, all_of=tags("ghost"), none_of=tags("alive")) == ["anna"]
        await scribe.write(merged("cid", "bob"))
        # The later observation of two merged entities determines the name.
        assert len(await found(backend)) == 2
        assert len(await found(backend, all_of=tags("alive"))) == 1
        await scribe.write(unmerged("cid", "bob"))
        assert await found(backend) == ["anna", "bob", "cid"]
        await scribe.write(an_entry(EntityRetconned, "bob"))
        assert await found(backend, level=CanonLevel.CANON) == ["anna", "cid"]
        assert await found(backend, level=CanonLevel.RETCONNED, all_of=tags("alive")) == ["bob"]

    @requirement("state:entities:named")
    async def test_namesakes_are_found(self, backend: Backend) -> None:
        """`entities_named` finds canon entities of a type by normalised name, oldest first.

        Entities with a former name come after all entities with the present name.
        """
        scribe, hero, state = Scribe(backend.canon), EntityType.CHARACTER, backend.canon.state
        await scribe.write(*a_named("Frodo  Baggins"))
        await scribe.write(*a_named("FRODO BAGGINS"))
        await scribe.write(
            *a_named("frodo baggins", entity_type=EntityType.FACTION),
            *a_named("frodo Baggins", level=CanonLevel.RETCONNED),
            *a_named("Frod\u00f6 Baggins"),
        )
        there = Scribe(backend.canon, "there", ELSEWHERE)
        await there.write(*a_named("Frodo Baggins", space=ELSEWHERE))

        same = await state.entities_named(MIDDLE_EARTH, hero, " frodo baggins\t")

        assert [e.id for e in same] == [ident("Frodo  Baggins"), ident("FRODO BAGGINS")]
        assert await state.entities_named(MIDDLE_EARTH, hero, "frodo") == []
        renamed = an_observation("FRODO BAGGINS", "new name", fields={"name": "Underhill"})
        await scribe.make(renamed)
        await scribe.write(*a_named("FRODO baggins"))
        found = await state.entities_named(MIDDLE_EARTH, hero, "frodo baggins")
        names = [e.name for e in found]
        assert names == ["Frodo  Baggins", "FRODO baggins", "Underhill"]

    @requirement("state:observations:order")
    async def test_observations_are_read_in_log_order(self, backend: Backend) -> None:
        """`observations` returns those of one entity, past a position, in log order."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make(an_entity("ann"), an_entity("bob"))
        for n in range(4):
            await scribe.make(an_observation("ann", f"a{n}"), an_observation("bob", f"b{n}"))
        await scribe.write(merged("ann", "bob"))

        ann = ident("ann")
        seen = await state.observations(ann, after=ORIGIN, limit=10)
        later = await state.observations(ann, after=Position(3), limit=1)

        assert [o.id for o in seen] == [ident(f"a{n}") for n in range(4)]
        assert [o.position for o in seen] == [2, 3, 4, 5]
        assert [o.id for o in later] == [ident("a2")]

    @requirement("state:fields:provenance")
    async def test_each_field_names_its_observation(self, backend: Backend) -> None:
        """Each field of an entity names the observation that it comes from, after storing."""
        scribe = Scribe(backend.canon)
        await scribe.write(*a_named("ann", tags=("alive", "young")))
        age = {"properties.age": 20}
        await scribe.make(an_observation("ann", "first", fields={**age, "description": "new"}))
        await scribe.make(
            an_observation("ann", "fix", fields={"properties.age": 21}, correction=True)
        )
        await scribe.make(an_observation("ann", "late", fields={**age, "name": "Anna"}))
        said = {"state_tags": {"young": False, "old": True}}
        await scribe.write(*made(an_observation("ann", "aged", fields=said)))

        ann = await thing_named(backend.canon.state, "ann")

        assert isinstance(ann, Entity)
        assert (ann.name, ann.description) == ("Anna", "new")
        assert (ann.properties, ann.state_tags) == ({"age": 21}, ("alive", "old"))
        assert ann.provenance == {
            "description": ident("first"),
            "name": ident("late"),
            "properties.age": ident("fix"),
            "state_tags.alive": ident("ann/born"),
            "state_tags.old": ident("aged"),
            "state_tags.young": ident("aged"),
        }

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

    @requirement("state:facts:overlap")
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
        """`start` and `end` select by overlap of half-open intervals. Either may be missing."""
        scribe = Scribe(backend.canon)
        lasting = 2 * DAY // SECOND
        await scribe.make(a_fact("day 2 to 4", time_ref=Instant(2 * DAY), duration=lasting))
        await scribe.make(a_fact("from day 3", time_ref=Instant(3 * DAY)))

        bounds = {
            "start": None if start is None else Instant(start * DAY),
            "end": None if end is None else Instant(end * DAY),
        }
        assert await facts(backend, **bounds) == expected

    @requirement("state:facts:timeless")
    async def test_timeless_facts_hold_until_superseded(self, backend: Backend) -> None:
        """A fact without time overlaps everything until a later fact supersedes it."""
        scribe = Scribe(backend.canon)
        await scribe.make(a_fact("always"))
        ages = a_fact("for ages", time_ref=YEAR_ONE, duration=LONGEST_DURATION)
        await scribe.make(ages)
        await scribe.make(a_fact("at last", time_ref=YEAR_9999, duration=LONGEST_DURATION))
        first, last = {"end": YEAR_ONE}, {"start": YEAR_9999}

        assert await facts(backend, **first) == ["always", "for ages"]
        assert await facts(backend, **last) == ["always", "for ages", "at last"]
        end = {"until": Instant(5), "superseded_by": ident("at last")}
        for name in ("always", "for ages"):
            await scribe.write(an_entry(FactSuperseded, name, **end))
        assert await facts(backend, start=Instant(5)) == ["at last"]
        assert await facts(backend, start=Instant(4), end=Instant(9)) == ["always", "for ages"]
        assert await facts(backend) == ["always", "for ages", "at last"]
        last_id = ident("at last")
        await scribe.write(FactResumed(fact_id=ident("always"), fallen=last_id))
        assert await facts(backend, start=Instant(5)) == ["always", "at last"]

    @requirement("state:facts:undated-end")
    async def test_what_ended_without_a_date_is_found_as_before(self, backend: Backend) -> None:
        """A fact that is superseded without a date keeps its interval and names its successor."""
        scribe = Scribe(backend.canon)
        await scribe.make(a_fact("before", time_ref=Instant(0)), a_fact("after"))
        before, heir = ident("before"), ident("after")
        await scribe.write(an_entry(FactSuperseded, "before", superseded_by=heir))

        assert await facts(backend, start=Instant(9 * DAY)) == ["before", "after"]
        found = (await backend.canon.state.things((before,)))[before]
        assert isinstance(found, Fact)
        assert (found.until, found.superseded_by) == (None, heir)

    @requirement("state:facts:filters")
    async def test_space_entities_level_and_authority_select(self, backend: Backend) -> None:
        """Space, entities, level, authority and type select facts, alone and combined."""
        scribe, gm, player = Scribe(backend.canon), Authority.GM, Authority.PLAYER
        await scribe.make(a_fact("one", "ann", authority=gm))
        event, attribute = FactType.OCCURRENCE, FactType.ATTRIBUTE
        await scribe.make(a_fact("two", "ann", "bob", authority=player, fact_type=event))
        await scribe.make(a_fact("three", "bob", level=CanonLevel.PROPOSED, fact_type=attribute))
        await make_elsewhere(backend.canon, a_fact("four", "ann"))
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
        await scribe.write(an_entry(FactRetconned, "two"))
        canon = {"spaces": here, "level": CanonLevel.CANON}
        assert await facts(backend, **canon) == ["one"]
        assert await facts(backend, **canon, entities=some("bob")) == []
        assert await facts(backend, level=CanonLevel.RETCONNED, entities=some("bob")) == ["two"]

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

    @requirement("state:facts:stating")
    async def test_same_statements_are_found(self, backend: Backend) -> None:
        """`facts_stating` finds equal statements, ignoring case, punctuation and articles."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make(a_fact("one", statement="The ring  burns"))
        await scribe.make(a_fact("two", statement="the RING burns ", level=CanonLevel.RETCONNED))
        await scribe.make(a_fact("three", statement="the ring burns not"))
        await make_elsewhere(backend.canon, a_fact("four", statement="The ring burns"))

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

    @requirement("state:events:filters")
    async def test_space_entities_scene_and_level_select(self, backend: Backend) -> None:
        """Space, entities, scene and level select events."""
        scribe, scene = Scribe(backend.canon), ident("scene")
        await scribe.make(an_event("one", "ann", "bob", scene_id=scene))
        await scribe.make(an_event("two", "bob", level=CanonLevel.RETCONNED))
        await make_elsewhere(backend.canon, an_event("three", "ann"))

        assert await events(backend, entities=some("ann", "bob"), level=CanonLevel.CANON) == [
            "one",
            "three",
        ]
        assert await events(backend, scene_id=scene) == ["one"]
        assert await events(backend, spaces=frozenset((MIDDLE_EARTH,))) == ["one", "two"]
        assert await events(backend, spaces=frozenset()) == []
        assert await events(backend, entities=some("bob"), scene_id=scene) == ["one"]
