"""The contract of reading entities: tags, patterns, levels, pages, names and observations."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import EntitiesMerged, EntitiesUnmerged, EntityRetconned
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.schemas.narrative_types import EntityType
from canonry.readmodels.ports.state import EntityQuery
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.scribe import Scribe, thing_named
from canonry.testing.things import (
    ELSEWHERE,
    MIDDLE_EARTH,
    a_named,
    a_record,
    an_entity,
    an_observation,
    ident,
    made,
)
from canonry.values.ids import EntityId
from canonry.values.provenance import CanonLevel
from canonry.values.time import DAY, Instant


def names(entities: Iterable[Entity]) -> list[str]:
    """Their names, sorted, since what is made together has no order but its id."""
    return sorted(entity.name for entity in entities)


async def found(backend: Backend, **query: Any) -> list[str]:
    """The names of the entities that match."""
    page = await backend.canon.state.entities(EntityQuery(**query))
    assert page.total == len(page.items)
    return names(page.items)


def tags(*tags: str) -> frozenset[str]:
    """Tags as a query takes them."""
    return frozenset(tags)


class EntityContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "state:entities:tags", because="Who is alive and here is the most frequent question."
    )
    async def test_tags_select_all_any_and_none(self, backend: Backend) -> None:
        """`all_of`, any_of and none_of select by the tags that hold now, also combined."""
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

    @requirement(
        "state:entities:filters", because="A faction called like a character is not that character."
    )
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

    @requirement("state:entities:patterns", because="Names hold brackets, dots and underscores.")
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
        """`name_pattern` is a case-insensitive substring in which only * and % are wild."""
        for name in ("Lord of [Lies]", "house_of.cards", "back\\slash", "d'Arc", "\u00c4rger"):
            await Scribe(backend.canon, name).write(*a_named(name))

        assert await found(backend, name_pattern=pattern) == list(expected)

    @requirement("state:entities:former-names", because="People go on asking by the old name.")
    async def test_former_and_other_names_match_a_pattern(self, backend: Backend) -> None:
        """`name_pattern` matches every name of an entity, also of those merged into it."""
        scribe = Scribe(backend.canon)
        await scribe.write(*a_named("Strider"))
        await scribe.write(*a_named("Marn the Tall"))
        await scribe.make(an_observation("Strider", "new", fields={"name": "Aragorn"}))
        kept, gone = (EntityId(ident(name)) for name in ("Strider", "Marn the Tall"))
        await scribe.write(EntitiesMerged(kept=kept, merged=gone, members=(), reason=""))

        for pattern in ("strid", "ARAGORN", "the tall"):
            assert await found(backend, name_pattern=pattern) == ["Aragorn"]
        assert await found(backend, name_pattern="aragorn strider") == []

    @requirement("state:entities:pages", because="Agents count what they see.")
    async def test_pages_of_entities_have_no_gap(self, backend: Backend) -> None:
        """Pages follow (created_at, id) without gap or repetition, with the exact total."""
        scribe = Scribe(backend.canon)
        for n in range(5):
            backend.clock.move(1_000)
            group = [a_named(f"{n}/{m}", tags=("odd",) if m % 2 else ()) for m in range(4)]
            await scribe.write(*(entry for pair in group for entry in pair))
        await scribe.write(*a_named("last 1"), *a_named("last 2"), *a_named("last 3"))

        for query, total in (({}, 23), ({"all_of": tags("odd")}, 10), ({"name_pattern": "/"}, 20)):
            seen: list[Entity] = []
            for offset in range(0, total + 4, 4):
                sized: dict[str, Any] = {**query, "limit": 4, "offset": offset}
                page = await backend.canon.state.entities(EntityQuery(**sized))
                assert page.total == total
                seen += page.items
            assert len(seen) == total
            assert seen == sorted(seen, key=lambda e: (e.created_at, e.id))

    @requirement("state:entities:current", because="An index that lags tells an old truth.")
    async def test_queries_follow_every_change(self, backend: Backend) -> None:
        """Queries follow changes of tags, names and levels, and leave out merged ones."""
        scribe = Scribe(backend.canon)
        await scribe.write(
            *a_named("ann", tags=("alive",)), *a_named("bob", tags=("alive",)), *a_named("cid")
        )
        fields = {"name": "anna", "state_tags": {"alive": False, "ghost": True}}
        await scribe.make(an_observation("ann", "died", fields=fields))
        bob, cid = EntityId(ident("bob")), EntityId(ident("cid"))

        assert await found(backend, all_of=tags("alive")) == ["bob"]
        assert await found(backend, name_pattern="anna") == ["anna"]
        assert await found(backend, all_of=tags("ghost"), none_of=tags("alive")) == ["anna"]
        await scribe.write(EntitiesMerged(kept=cid, merged=bob, members=(), reason=""))
        # The later observation of two merged ones gives the name.
        assert len(await found(backend)) == 2
        assert len(await found(backend, all_of=tags("alive"))) == 1
        await scribe.write(EntitiesUnmerged(kept=cid, separated=bob, remaining=(), reason=""))
        assert await found(backend) == ["anna", "bob", "cid"]
        await scribe.write(EntityRetconned(entity_id=bob, replaced_by=None, reason=""))
        assert await found(backend, level=CanonLevel.CANON) == ["anna", "cid"]
        assert await found(backend, level=CanonLevel.RETCONNED, all_of=tags("alive")) == ["bob"]

    @requirement(
        "state:entities:named", because="Two names that a reader cannot tell apart are one."
    )
    async def test_namesakes_are_found(self, backend: Backend) -> None:
        """`entities_named` finds canon entities of a type by normalised name, oldest first.

        Those that only bore it before come after all who bear it.
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

    @requirement(
        "state:observations:order", because="The history of an entity is told from its beginning."
    )
    async def test_observations_are_read_in_log_order(self, backend: Backend) -> None:
        """`observations` gives exactly one entity's, past a position, in log order."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make(an_entity("ann"), an_entity("bob"))
        for n in range(4):
            await scribe.make(an_observation("ann", f"a{n}"), an_observation("bob", f"b{n}"))
        ann, bob = EntityId(ident("ann")), EntityId(ident("bob"))
        await scribe.write(EntitiesMerged(kept=ann, merged=bob, members=(), reason=""))

        seen = await state.observations(ann, after=ORIGIN, limit=10)
        later = await state.observations(ann, after=Position(3), limit=1)

        assert [o.id for o in seen] == [ident(f"a{n}") for n in range(4)]
        assert [o.position for o in seen] == [2, 3, 4, 5]
        assert [o.id for o in later] == [ident("a2")]

    @requirement("state:fields:provenance", because="Every value can be traced to its evidence.")
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

    @requirement(
        "state:entities:seen-until:names",
        because="Who looks for a thing by what it was called then must find it.",
    )
    async def test_names_told_late_are_all_kept(self, backend: Backend) -> None:
        """`entities_seen_until` keeps every name until then, in whatever order they were told."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make(an_entity("bill"))
        for day in (9, 4, 1, 3, 2):
            said = {"name": f"called on day {day}"}
            seen = Instant(day * DAY)
            await scribe.make(a_record("bill", f"day {day}", fields=said, observed_at=seen))
        bill = EntityId(ident("bill"))

        async def until(day: int) -> list[str]:
            found = await state.entities_seen_until((bill,), Instant(day * DAY))
            return [name.removeprefix("called on day ") for name in found[bill].known_as]

        assert await until(4) == ["2", "3", "1", "4"]
        assert await until(3) == ["2", "3", "1"]
        assert await until(1) == ["1"]
        assert await until(9) == ["2", "3", "1", "4", "9"]
