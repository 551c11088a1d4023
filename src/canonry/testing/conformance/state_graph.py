"""The contract of reading things by id, now and in the past, relations, and lists of a space."""

from typing import Any

from canonry.log.canon import fold
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import (
    Erased,
    RelationEnded,
    RelationResumed,
    RelationRetconned,
    Thing,
    Tombstone,
)
from canonry.log.items.facts import Relation
from canonry.readmodels.ports.documents import MemoryQuery, SceneQuery
from canonry.readmodels.ports.state import EntityQuery, FactQuery, RelationQuery
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import HISTORY, TEXTS, Backend, Contract, requirement
from canonry.testing.things import (
    ELSEWHERE,
    MIDDLE_EARTH,
    a_fact,
    a_memory,
    a_relation,
    a_scene,
    a_source,
    a_space,
    a_story,
    a_turn,
    an_axiom,
    an_entity,
    ident,
)
from canonry.testing.worlds import Scribe
from canonry.values.ids import EntityId, RelationId, SpaceId, SpaceKind
from canonry.values.moments import Instant


def some(*names: str) -> frozenset[EntityId]:
    """Entities as a query takes them."""
    return frozenset(EntityId(ident(name)) for name in names)


async def edges(backend: Backend, *names: str, **query: Any) -> list[str]:
    """The types of the relations that match, in order."""
    asked = RelationQuery(entities=some(*names), **query)
    page = await backend.canon.state.relations(asked)
    assert page.total == len(page.items)
    return [relation.rel_type for relation in page.items]


class GraphContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "state:things:round-trip", because="A view is the fold of the log, and nothing else."
    )
    async def test_things_of_every_kind_are_found(self, backend: Backend) -> None:
        """Things of every kind are found by id, equal to what was folded."""
        await write_chronicle(backend)
        names = ("space", "friends", "magic fades", "snippet 4", "arc", "turn 3", "ingested")

        found = await backend.canon.state.things(ident(name) for name in names)

        assert set(found) == {ident(name) for name in names}
        assert all(thing.position > 0 and thing.changed_at > 0 for thing in found.values())
        snippet: Any = found[ident("snippet 4")]
        assert (snippet.text, snippet.index, snippet.section) == (TEXTS[4], 4, "I")
        space: Any = found[ident("space")]
        assert (space.id, space.description) == (MIDDLE_EARTH, TEXTS[4])

    @requirement("state:things:beginning", because="People copy the first part of an id.")
    async def test_ids_are_found_by_their_beginning(self, backend: Backend) -> None:
        """Ids that begin with a part of a UUID are given in order, at most as many as asked."""
        facts = [a_fact(f"fact {n}") for n in range(5)]
        await Scribe(backend.canon).make(*facts)
        ids = sorted(each.id for each in facts)
        find = backend.canon.state.ids_beginning

        for length in (1, 8, 9, 14, 36):
            begun = ids[0][:length]
            told = [each for each in await find(begun, limit=50) if each in ids]
            assert told == [each for each in ids if each.startswith(begun)]
        assert await find(ids[1], limit=50) == [ids[1]]
        assert len(await find("", limit=2)) == 2

    @requirement("state:things:absent", because="Ids come from agents, and agents invent some.")
    async def test_unknown_ids_are_left_out(self, backend: Backend) -> None:
        """Ids that name nothing are left out, whatever text they are; many may be asked."""
        await Scribe(backend.canon).make(a_fact("one"))
        strange = [*TEXTS, "not-a-uuid", ident("one").upper(), ident("one")[:-1]]
        many = [ident(f"nobody {n}") for n in range(2_500)]

        found = await backend.canon.state.things([*strange, *many, ident("one"), ident("one")])

        assert set(found) == {ident("one")}
        assert await backend.canon.state.things([]) == {}

    @requirement("state:relations:direction", because="Loving is not being loved.")
    async def test_direction_selects_by_end(self, backend: Backend) -> None:
        """`direction` selects by end: out, in or any; an edge within the set comes once."""
        scribe = Scribe(backend.canon)
        await scribe.make(a_relation("1", "ann", "bob", rel_type="LOVES"))
        await scribe.make(a_relation("2", "bob", "cid", rel_type="HATES"))
        await scribe.make(a_relation("3", "ann", "ann", rel_type="KNOWS"))

        assert await edges(backend, "ann") == ["LOVES", "KNOWS"]
        assert await edges(backend, "ann", direction="out") == ["LOVES", "KNOWS"]
        assert await edges(backend, "ann", direction="in") == ["KNOWS"]
        assert await edges(backend, "bob", direction="in") == ["LOVES"]
        assert await edges(backend, "bob", direction="out") == ["HATES"]
        assert await edges(backend, "ann", "bob") == ["LOVES", "HATES", "KNOWS"]
        assert await edges(backend, "ann", "bob", direction="in") == ["LOVES", "KNOWS"]
        assert await edges(backend) == ["LOVES", "HATES", "KNOWS"]
        assert await edges(backend, "nobody") == []

    @requirement("state:relations:resumed", because="Whoever never owned it took it from nobody.")
    async def test_a_resumed_edge_is_current_again(self, backend: Backend) -> None:
        """An edge that ended for one that never was is current again, without an end."""
        scribe = Scribe(backend.canon)
        await scribe.make(a_relation("first", "ann", "bob", rel_type="OWNS"))
        await scribe.make(a_relation("later", "cid", "bob", rel_type="OWNS"))
        first, later = (RelationId(ident(n)) for n in ("first", "later"))
        ended = RelationEnded(
            relation_id=first, until=Instant(7), superseded_by=later, reason="given away"
        )
        await scribe.write(ended)
        old = (await backend.canon.state.things((first,)))[first]
        assert isinstance(old, Relation)
        assert (old.until, old.superseded_by, old.current) == (Instant(7), later, False)

        await scribe.write(RelationResumed(relation_id=first, fallen=later))

        now = (await backend.canon.state.things((first,)))[first]
        assert isinstance(now, Relation)
        assert (now.until, now.superseded_by, now.current) == (None, None, True)
        assert await edges(backend, "ann", current=True) == ["OWNS"]

    @requirement("state:relations:filters", because="An old alliance is history.")
    async def test_space_type_and_currency_select(self, backend: Backend) -> None:
        """Space, type and currency select; ended and retconned edges are not current."""
        scribe = Scribe(backend.canon)
        for name in ("ONE", "TWO", "THREE"):
            await scribe.make(a_relation(name, "ann", "bob", rel_type=name))
        there = a_relation("FOUR", "ann", "bob", rel_type="FOUR", space=ELSEWHERE)
        await Scribe(backend.canon, "there", ELSEWHERE).make(there)
        one, two = (RelationId(ident(n)) for n in ("ONE", "TWO"))
        until = Instant(7)
        await scribe.write(
            RelationEnded(relation_id=one, until=until, superseded_by=None, reason="over"),
            RelationRetconned(relation_id=two, replaced_by=None, reason="never"),
        )
        here = frozenset((MIDDLE_EARTH,))

        assert await edges(backend, "ann", spaces=here) == ["ONE", "TWO", "THREE"]
        assert await edges(backend, "ann", spaces=here, current=True) == ["THREE"]
        assert await edges(backend, "bob", spaces=frozenset((ELSEWHERE,))) == ["FOUR"]
        assert await edges(backend, "bob", spaces=frozenset()) == []
        assert await edges(backend, "ann", rel_type="TWO") == ["TWO"]
        assert await edges(backend, "ann", rel_type="TWO", current=True) == []
        assert await edges(backend, rel_type="THREE", direction="out", current=True) == ["THREE"]

    @requirement("state:relations:pages", because="A king has many subjects.")
    async def test_pages_of_relations_have_no_gap(self, backend: Backend) -> None:
        """Pages of relations follow (created_at, id) without gap, with the exact total."""
        scribe = Scribe(backend.canon)
        for n in range(4):
            backend.clock.move(1_000)
            await scribe.make(*(a_relation(f"{n}/{m}", "king", f"man {m}") for m in range(4)))

        for names in (("king",), ("king", "man 0", "man 1"), ()):
            seen: list[Relation] = []
            for offset in range(0, 20, 3):
                query = RelationQuery(entities=some(*names), limit=3, offset=offset)
                page = await backend.canon.state.relations(query)
                assert page.total == 16
                seen += page.items
            assert len(seen) == 16
            assert seen == sorted(seen, key=lambda r: (r.created_at, r.id))

    @requirement("state:spaces:filters", because="A multiverse lists its universes.")
    async def test_spaces_are_listed_by_kind_and_parent(self, backend: Backend) -> None:
        """`spaces` selects by kind and parent, page by page."""
        state, many = backend.canon.state, SpaceId(ident("many"))
        scribe = Scribe(backend.canon)
        await scribe.make(a_space("many", kind=SpaceKind.MULTIVERSE))
        await scribe.make(a_space("one", parent=many))
        await scribe.make(a_space("two", parent=many))
        await scribe.make(a_space("alone"))

        async def listed(limit: int = 10, offset: int = 0, **chosen: Any) -> list[str]:
            asked: dict[str, Any] = {"kind": None, "parent": None, **chosen}
            page = await state.spaces(**asked, limit=limit, offset=offset)
            assert page.total >= len(page.items)
            return [space.name for space in page.items]

        assert await listed() == ["many", "one", "two", "alone"]
        assert await listed(kind=SpaceKind.MULTIVERSE) == ["many"]
        assert await listed(parent=many) == ["one", "two"]
        assert await listed(kind=SpaceKind.MULTIVERSE, parent=many) == []
        assert await listed(limit=2, offset=1) == ["one", "two"]

    @requirement("state:lists:own-space", because="A law of one world is none of another.")
    async def test_lists_are_of_one_space(self, backend: Backend) -> None:
        """`axioms`, sources and stories are those of one space, page by page."""
        state = backend.canon.state
        for name, space in (("here", MIDDLE_EARTH), ("there", ELSEWHERE)):
            scribe = Scribe(backend.canon, name, space)
            for n in range(3):
                what = f"{name} {n}"
                await scribe.make(
                    an_axiom(f"law {what}", space=space),
                    a_source(f"book {what}", space=space),
                    a_story(f"tale {what}", space=space),
                )

        axioms = await state.axioms(ELSEWHERE, limit=2, offset=1)
        sources = await state.sources(MIDDLE_EARTH, limit=2, offset=0)
        stories = await state.stories(ELSEWHERE, limit=10, offset=2)

        assert (axioms.total, sources.total, stories.total) == (3, 3, 3)
        assert [a.statement for a in axioms.items] == ["law there 1", "law there 2"]
        assert [s.title for s in sources.items] == ["book here 0", "book here 1"]
        assert [s.title for s in stories.items] == ["tale there 2"]
        assert (await state.axioms(SpaceId(ident("no")), limit=9, offset=0)).total == 0

    @requirement("state:reads:own-writes", because="An agent reads what it has just written.")
    async def test_every_view_shows_what_was_acknowledged(self, backend: Backend) -> None:
        """A read that begins after an append was acknowledged sees it, in every view."""
        canon, scribe = backend.canon, Scribe(backend.canon)
        await scribe.make(a_story(), a_scene())
        for n in range(1, 6):
            await scribe.make(
                an_entity(f"entity {n}"),
                a_fact(f"fact {n}"),
                a_turn(f"turn {n}"),
                a_memory(f"memory {n}"),
            )
            frodo = MemoryQuery(entity_id=EntityId(ident("frodo")))

            assert (await canon.state.entities(EntityQuery())).total == n
            assert (await canon.state.facts(FactQuery())).total == n
            assert len(await canon.documents.turns(a_scene().id)) == n
            assert (await canon.documents.memories(frodo)).total == n
            (scene,) = (await canon.documents.scenes(SceneQuery())).items
            assert scene.turn_count == n


class HistoryContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "state:history:as-known",
        because="Why something was decided shows only in what was known then.",
    )
    async def test_every_past_is_the_fold_of_its_prefix(self, backend: Backend) -> None:
        """`things_as_known_at` gives each thing as it stood after every single position."""
        written = await write_chronicle(backend)

        for space in written:
            things: dict[str, Thing] = {}
            log = await backend.canon.ledger.read(space, after=ORIGIN, limit=100)
            everything = set(await _ids(backend, space))
            for commit in log:
                things.update(fold(commit, things).things)
                past = await backend.canon.state.things_as_known_at(everything, commit.position)
                expected = {i: t for i, t in things.items() if isinstance(t, HISTORY)}
                assert {i: t for i, t in past.items() if isinstance(t, HISTORY)} == expected
            assert await backend.canon.state.things_as_known_at(everything, ORIGIN) == {}

    @requirement("state:history:erased", because="The past must not tell what the present forgot.")
    async def test_no_past_tells_what_was_erased(self, backend: Backend) -> None:
        """An erased thing is told by no past: there is its tombstone, or nothing."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make(a_fact("a right to be forgotten"))
        await scribe.make(a_fact("another"))
        target = ident("a right to be forgotten")
        await scribe.write(Erased(targets=(target,), reason="a right"))

        for position in range(4):
            past = await state.things_as_known_at([target], Position(position))
            assert all(isinstance(thing, Tombstone) for thing in past.values())
        now = await state.things([target])
        assert isinstance(now[target], Tombstone)


async def _ids(backend: Backend, space: SpaceId) -> set[str]:
    """Every id that the log of `space` names."""
    log = await backend.canon.ledger.read(space, after=ORIGIN, limit=100)
    things: dict[str, Thing] = {}
    for commit in log:
        things.update(fold(commit, things).things)
    return set(things)
