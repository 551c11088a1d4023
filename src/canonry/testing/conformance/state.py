"""Promises of the port `State`: lists, relations, histories, secrets and identity."""

from typing import Any

from canonry.log.canon import fold
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import (
    AudienceChanged,
    EntitiesMerged,
    EntityRetconned,
    Erased,
    Made,
    RelationEnded,
    Thing,
    Tombstone,
)
from canonry.log.items.entities import Entity
from canonry.log.schemas.identity_keys import found_under, key_mark, look_mark, part_mark
from canonry.log.schemas.narrative import STATE_TAGS
from canonry.log.schemas.schemas import FieldSpec, IdentityRule, RegisteredSchema
from canonry.log.schemas.typed_records import schema_id_of
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.documents import MemoryQuery, SceneQuery
from canonry.readmodels.ports.state import (
    EntityQuery,
    FactQuery,
    IdentifierQuery,
    RelationQuery,
    Spaces,
)
from canonry.readmodels.ports.text import TextQuery
from canonry.testing.conformance.cases import declared
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import HISTORY, TEXTS, Backend, paged, requirement, whole
from canonry.testing.conformance.state_entities import EntityContract, some
from canonry.testing.conformance.state_records import RecordsContract
from canonry.testing.things import (
    MIDDLE_EARTH,
    a_fact,
    a_memory,
    a_named,
    a_record,
    a_relation,
    a_scene,
    a_schema,
    a_story,
    a_turn,
    an_entity,
    an_entry,
    an_observation,
    ident,
    made,
    merged,
    unmerged,
)
from canonry.testing.worlds import Scribe, thing_named
from canonry.values.audience import ALL_SEEING, ANYBODY, GAME_MASTERS, Viewer, character, is_open
from canonry.values.ids import SpaceId
from canonry.values.moments import Instant


async def edges(backend: Backend, *names: str, **query: Any) -> list[str]:
    """Return the types of the matching relations, in order."""
    asked = RelationQuery(entities=some(*names), **query)
    return [relation.rel_type for relation in await whole(backend.canon.state.relations, asked)]


async def _ids(backend: Backend, space: SpaceId) -> set[str]:
    """Return every id in the log of `space`."""
    log = await backend.canon.ledger.read(space, after=ORIGIN, limit=100)
    things: dict[str, Thing] = {}
    for commit in log:
        things.update(fold(commit, things).things)
    return set(things)


SAM = Viewer(readers=frozenset((character(ident("Sam")),)))
FOR_SAM = (character(ident("Sam")),)


async def seen_by(backend: Backend, viewer: Viewer) -> Spaces:
    """Return Middle-earth and its compartments that a viewer may read."""
    known = await backend.canon.state.compartments()
    return frozenset((MIDDLE_EARTH, *(each for each in known if is_open(each, viewer))))


async def told_to(backend: Backend, viewer: Viewer) -> list[str]:
    """Return the facts that a viewer finds, and require that the total counts only these."""
    query = FactQuery(spaces=await seen_by(backend, viewer))
    return sorted(fact.statement for fact in await whole(backend.canon.state.facts, query))


def a_lamp_schema(version: str) -> RegisteredSchema:
    """Return a schema of lamps, identified by `serial`, or by `room` and `shelf`."""
    return a_schema(
        "lamp",
        version,
        id=schema_id_of(MIDDLE_EARTH, "lamp", version),
        fields=tuple(FieldSpec(name=each) for each in ("serial", "room", "shelf", "label")),
        identity=(IdentityRule(fields=("serial",)), IdentityRule(fields=("room", "shelf"))),
        names=(("label",), ("serial",)),
    )


def said(lamp: str, name: str, **fields: Any) -> Made:
    """Return the entry of a record about a lamp."""
    told = {f"properties.{field}": value for field, value in fields.items()}
    return made(a_record(lamp, name, fields=told, dates={}, schema_version="1.0"))[0]


async def found(backend: Backend, *texts: str) -> dict[str, list[str]]:
    """Return the ids of the entities found under each text."""
    pages = await backend.canon.state.entities_identified(IdentifierQuery(keys=texts))
    return {text: [each.id for each in page.items] for text, page in pages.items()}


async def entity_named(backend: Backend, name: str) -> Entity:
    """Return an entity as it is now."""
    thing = await thing_named(backend.canon.state, name)
    assert isinstance(thing, Entity)
    return thing


class StateContract(EntityContract, RecordsContract):
    """All promises of a state view. Provide a fixture `backend` with an empty store."""

    @requirement("state:things:round-trip")
    async def test_things_of_every_kind_are_found(self, backend: Backend) -> None:
        """Items of every kind are found by id, equal to the folded items."""
        await write_chronicle(backend)
        names = ("space", "friends", "magic fades", "snippet 4", "arc", "turn 3", "ingested")

        found = await backend.canon.state.things(ident(name) for name in names)

        assert set(found) == {ident(name) for name in names}
        assert all(thing.position > 0 and thing.changed_at > 0 for thing in found.values())
        snippet: Any = found[ident("snippet 4")]
        assert (snippet.text, snippet.index, snippet.section) == (TEXTS[4], 4, "I")
        space: Any = found[ident("space")]
        assert (space.id, space.description) == (MIDDLE_EARTH, TEXTS[4])

    @requirement("state:things:beginning")
    async def test_ids_are_found_by_their_beginning(self, backend: Backend) -> None:
        """Ids that begin with a part of a UUID are returned in order, up to the limit."""
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

    @requirement("state:things:absent")
    async def test_unknown_ids_are_left_out(self, backend: Backend) -> None:
        """Unknown ids are left out, whatever their text; a request may have many ids."""
        await Scribe(backend.canon).make(a_fact("one"))
        strange = [*TEXTS, "not-a-uuid", ident("one").upper(), ident("one")[:-1]]
        many = [ident(f"nobody {n}") for n in range(2_500)]

        found = await backend.canon.state.things([*strange, *many, ident("one"), ident("one")])

        assert set(found) == {ident("one")}
        assert await backend.canon.state.things([]) == {}

    test_direction_selects_by_end = declared("state:relations:direction")
    test_a_resumed_edge_is_current_again = declared("state:relations:resumed")
    test_space_type_and_currency_select = declared("state:relations:filters")

    @requirement("state:relations:pages")
    async def test_pages_of_relations_have_no_gap(self, backend: Backend) -> None:
        """Pages of relations follow (created_at, id) without gap, with the exact total."""
        scribe = Scribe(backend.canon)
        for n in range(4):
            backend.clock.move(1_000)
            await scribe.make(*(a_relation(f"{n}/{m}", "king", f"man {m}") for m in range(4)))

        for names in (("king",), ("king", "man 0", "man 1"), ()):
            query = RelationQuery(entities=some(*names))
            seen = await paged(backend.canon.state.relations, query, total=16, limit=3)
            assert seen == sorted(seen, key=lambda r: (r.created_at, r.id))

    test_spaces_are_listed_by_kind_and_parent = declared("state:spaces:filters")
    test_lists_are_of_one_space = declared("state:lists:own-space")

    @requirement("state:reads:own-writes")
    async def test_every_view_shows_what_was_acknowledged(self, backend: Backend) -> None:
        """A read that begins after an append is acknowledged sees it, in every view."""
        canon, scribe = backend.canon, Scribe(backend.canon)
        await scribe.make(a_story(), a_scene())
        for n in range(1, 6):
            await scribe.make(
                an_entity(f"entity {n}"),
                a_fact(f"fact {n}"),
                a_turn(f"turn {n}"),
                a_memory(f"memory {n}"),
            )
            frodo = MemoryQuery(entity_id=ident("frodo"))

            assert (await canon.state.entities(EntityQuery())).total == n
            assert (await canon.state.facts(FactQuery())).total == n
            assert len(await canon.documents.turns(a_scene().id)) == n
            assert (await canon.documents.memories(frodo)).total == n
            (scene,) = (await canon.documents.scenes(SceneQuery())).items
            assert scene.turn_count == n

    @requirement("state:history:as-known")
    async def test_every_past_is_the_fold_of_its_prefix(self, backend: Backend) -> None:
        """`things_as_known_at` returns each item as it was after every single position."""
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

    @requirement("state:history:erased")
    async def test_no_past_tells_what_was_erased(self, backend: Backend) -> None:
        """No past version shows an erased item: the answer is its tombstone, or nothing."""
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

    @requirement("state:secrets:compartments")
    async def test_what_is_for_few_lies_apart(self, backend: Backend) -> None:
        """An audience's items are in a compartment. Revealed, they are in the space itself."""
        scribe = Scribe(backend.canon)
        assert await backend.canon.state.compartments() == frozenset()
        secret = a_fact("a ring", audience=GAME_MASTERS)
        await scribe.write(*made(a_fact("a party"), secret, a_fact("a key", audience=FOR_SAM)))

        assert await told_to(backend, ANYBODY) == ["a party"]
        assert await told_to(backend, SAM) == ["a key", "a party"]
        assert await told_to(backend, ALL_SEEING) == ["a key", "a party", "a ring"]
        named = await backend.canon.state.facts_stating(MIDDLE_EARTH, {"a ring"})
        assert list(named) == []

        await scribe.write(AudienceChanged(thing_id=secret.id, audience=(), reason="told"))
        assert await told_to(backend, ANYBODY) == ["a party", "a ring"]
        assert len(await backend.canon.state.compartments()) == 1

    @requirement("state:secrets:words")
    async def test_words_that_are_for_few_are_counted_for_them_alone(
        self, backend: Backend
    ) -> None:
        """Scores derive from the requested compartments only."""
        scribe = Scribe(backend.canon)
        await scribe.write(*made(a_fact("a golden party"), a_fact("a ring of iron")))

        async def score(viewer: Viewer) -> list[tuple[str, float]]:
            spaces = await seen_by(backend, viewer)
            query = TextQuery(collection=Collection.FACTS, text="golden ring", spaces=spaces)
            found = await backend.canon.text.search(query)
            return [(hit.id, hit.score) for hit in found.hits]

        before = await score(ANYBODY)
        for number in range(5):
            secret = a_fact(f"golden secret {number}", audience=GAME_MASTERS)
            await scribe.write(*made(secret))

        assert await score(ANYBODY) == before
        assert len(await score(ALL_SEEING)) == len(before) + 5

    @requirement("state:secrets:variants")
    async def test_a_thing_is_listed_as_it_is_to_each(self, backend: Backend) -> None:
        """Each kind of viewer finds one variant of an item, and counts one."""
        scribe = Scribe(backend.canon)
        await scribe.write(*a_named("Frodo", tags=("alive",)))
        await scribe.write(*made(a_relation("home", "Frodo", "Shire", rel_type="LOCATED_IN")))
        end = an_entry(RelationEnded, "home", until=Instant(1), audience=GAME_MASTERS)
        fields = {STATE_TAGS: {"marked": True}}
        mark = an_observation("Frodo", "mark", fields=fields, audience=FOR_SAM)
        await scribe.write(end, *made(mark))

        async def known(viewer: Viewer) -> tuple[int, int, int]:
            spaces, state = await seen_by(backend, viewer), backend.canon.state
            marked = EntityQuery(spaces=spaces, all_of=frozenset(("marked", "alive")))
            current = RelationQuery(spaces=spaces, current=True)
            return (
                (await state.entities(EntityQuery(spaces=spaces))).total,
                (await state.entities(marked)).total,
                (await state.relations(current)).total,
            )

        assert await known(ANYBODY) == (1, 0, 1)
        assert await known(SAM) == (1, 1, 1)
        assert await known(ALL_SEEING) == (1, 1, 0)

    @requirement("state:secrets:scenes")
    async def test_scenes_and_turns_for_few_are_told_to_them_alone(self, backend: Backend) -> None:
        """Views restrict a whisper in an open scene, and a scene for few, to their audience."""
        scribe = Scribe(backend.canon)
        await scribe.write(*made(a_story(), a_scene("hall"), a_scene("cellar", audience=FOR_SAM)))
        await scribe.write(*made(a_turn("loud", scene="hall")))
        await scribe.write(*made(a_turn("golden whisper", scene="hall", audience=FOR_SAM)))
        await scribe.write(*made(a_turn("golden echo", scene="cellar", audience=FOR_SAM)))

        async def known(viewer: Viewer) -> tuple[list[str], list[str], int]:
            canon = backend.canon.for_viewer(viewer)
            scenes = await canon.documents.scenes(SceneQuery(spaces=frozenset((MIDDLE_EARTH,))))
            turns = await canon.documents.turns(ident("hall"))
            last = await canon.documents.turns(ident("hall"), last=1)
            assert list(last) == list(turns[-1:])
            asked = TextQuery(
                collection=Collection.SCENES, text="golden", spaces=frozenset((MIDDLE_EARTH,))
            )
            found = await canon.text.search(asked)
            assert scenes.total == len(scenes.items)
            titles = sorted(each.title for each in scenes.items)
            return titles, [each.text for each in turns], len(found.hits)

        assert await known(ANYBODY) == (["hall"], ["loud"], 0)
        assert await known(SAM) == (["cellar", "hall"], ["loud", "golden whisper"], 2)
        assert await known(ALL_SEEING) == (["cellar", "hall"], ["loud", "golden whisper"], 2)
        stories = await backend.canon.state.stories(MIDDLE_EARTH, limit=9, offset=0)
        assert [each.scene_count for each in stories.items] == [1]

    @requirement("state:identified:ever")
    async def test_a_former_text_still_leads_to_its_entity(self, backend: Backend) -> None:
        """Every text and every key that ever identified an entity finds it, also after changes."""
        scribe = Scribe(backend.canon)
        await scribe.write(*a_named("ann", entity_type="person"))
        await scribe.write(*a_named("bo", entity_type="person"))
        for n, (name, mail) in enumerate((("Ann Lee", "a@x.org"), ("Ann Ray", "b@x.org"))):
            fields = {"properties.name": name, "properties.email": mail}
            record = a_record("ann", f"{n}", fields=fields, dates={}, correction=n == 1)
            await scribe.make(record)
        ann, bo = (ident(name) for name in ("ann", "bo"))
        texts = ("ann lee", "ann ray", "a@x.org", "b@x.org", found_under(key_mark("email:a@x.org")))
        assert await found(backend, *texts) == {each: [ann] for each in texts}
        look = look_mark("person", "\u0410nn Lee")
        assert await found(backend, look) == {look: [ann]}

        await scribe.write(merged("bo", "ann"))
        assert await found(backend, *texts) == {each: [bo] for each in texts}
        await scribe.write(unmerged("bo", "ann"))
        assert await found(backend, *texts) == {each: [ann] for each in texts}
        await scribe.write(an_entry(EntityRetconned, "ann"))
        assert await found(backend, *texts) == {}

    @requirement("state:identified:signs")
    async def test_r6_names_are_found_in_whatever_signs_they_were_told(
        self, backend: Backend
    ) -> None:
        """A name is found in plain characters, and a character entity by each word of its name."""
        scribe = Scribe(backend.canon)
        maeve, zoe, anna = "Maeve O\u2019Brien", "Anne\u2011Sophie Zoe\u0308", "Ann\u00ada  Berg"
        for name in (maeve, zoe, anna):
            await scribe.write(*a_named(name, entity_type="character"))
        await scribe.write(*a_named("O\u02bcBrien Hall", entity_type="location"))

        words = {"maeve": maeve, "obrien": maeve, "zo\u00eb": zoe, "berg": anna}
        texts = {"maeve o'brien": maeve, "anne-sophie zo\u00eb": zoe, "anna berg": anna}
        texts |= {part_mark(word): name for word, name in words.items()}
        assert await found(backend, *texts, part_mark("hall")) == {
            text: [ident(name)] for text, name in texts.items()
        }

    @requirement("state:identified:keys")
    async def test_keys_by_a_registered_schema_lead_to_the_entity(self, backend: Backend) -> None:
        """Keys from the identity rules of an observation's schema find its entity."""
        scribe = Scribe(backend.canon)
        lamp = made(an_entity("lamp", entity_type="lamp"))[0]
        first = said("lamp", "first", serial="S-1", room="Hall", shelf="2")
        await scribe.write(*made(a_lamp_schema("1.0")), lamp, first)
        await scribe.write(said("lamp", "second", serial="S-2", room="Attic"))
        shelf = key_mark("room:hall\x1fshelf:2")
        texts = ("s-1", "s-2", shelf)
        assert await found(backend, *texts) == {each: [ident("lamp")] for each in texts}
        assert await found(backend, "hall", key_mark("room:attic\x1fshelf:2")) == {}

    @requirement("state:merged:addressed")
    async def test_what_is_said_of_a_merged_entity_stays_with_it(self, backend: Backend) -> None:
        """Observations of a merged entity show in its root, and leave it with an unmerge."""
        scribe = Scribe(backend.canon)
        await scribe.write(*made(a_lamp_schema("1.0")))
        for name in ("a", "b", "c"):
            lamp = made(an_entity(name, entity_type="lamp"))[0]
            await scribe.write(lamp, said(name, f"{name} born", serial=name, label=f"lamp {name}"))
        alone = {name: await entity_named(backend, name) for name in ("a", "b", "c")}
        a, b, c = (alone[name].id for name in ("a", "b", "c"))
        await scribe.write(merged("a", "c"))
        await scribe.write(an_entry(EntitiesMerged, "b", merged=a, members=(c,)))
        await scribe.write(said("a", "later", room="Attic"))
        await scribe.write(said("c", "last", shelf="9"))

        root = await entity_named(backend, "b")
        assert (root.name, root.observed.count) == ("lamp b", 5)
        assert root.members == tuple(sorted((a, c)))
        assert (root.properties["room"], root.properties["shelf"]) == ("Attic", "9")
        gone = await entity_named(backend, "a")
        assert (gone.merged_into, gone.brought, gone.sightings.count) == (b, (c,), 2)

        await scribe.write(unmerged("b", "a"), merged("a", "c"))
        root, was = await entity_named(backend, "b"), alone["b"]
        assert (root.own, root.snapshot, root.observed) == (was.own, was.snapshot, was.observed)
        again = await entity_named(backend, "a")
        assert (again.name, again.members, again.brought) == ("lamp a", (c,), ())
        assert again.properties == {"serial": "c", "label": "lamp c", "room": "Attic", "shelf": "9"}

    @requirement("state:entities:named-by-fields")
    async def test_a_name_follows_from_fields_in_any_order(self, backend: Backend) -> None:
        """The name of an entity follows from its fields by schema, in any order of observations."""
        scribe = Scribe(backend.canon)
        await scribe.write(*made(a_lamp_schema("1.0")))
        records = ({"serial": "S-1", "label": "Desk"}, {"serial": "S-1", "room": "Hall"})
        for name, order in (("forth", records), ("back", records[::-1])):
            await scribe.write(*made(an_entity(name, entity_type="lamp")))
            for n, fields in enumerate(order):
                await scribe.write(said(name, f"{name} {n}", **fields))
            assert (await entity_named(backend, name)).name == "Desk"
        await scribe.write(*made(an_entity("bare", entity_type="lamp")))
        await scribe.write(said("bare", "bare born", room="Hall"))
        assert (await entity_named(backend, "bare")).name == "lamp"
        await scribe.write(merged("bare", "forth"))
        assert (await entity_named(backend, "bare")).name == "Desk"
