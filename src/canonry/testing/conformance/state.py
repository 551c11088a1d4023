"""Promises of the port `State`: lists, relations, histories, secrets and identity."""

from typing import Any

from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import EntitiesMerged, Erased, Made, StoredItem, Tombstone
from canonry.log.fold_commit import fold_commit
from canonry.log.items.entities import Entity
from canonry.log.schemas.schemas import FieldSpec, IdentityRule, RegisteredSchema
from canonry.log.schemas.typed_records import schema_id_of
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.documents import MemoryQuery, SceneQuery
from canonry.readmodels.ports.state import EntityQuery, FactQuery, TimelineQuery
from canonry.readmodels.ports.text import TextQuery
from canonry.testing.clocks import Scribe, item_named
from canonry.testing.conformance.cases import SAM, DeclaredContract, seen_by
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import HISTORY, TEXTS, Backend, requirement
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    a_memory,
    a_record,
    a_scene,
    a_schema,
    a_story,
    a_turn,
    an_entity,
    an_entry,
    creation_entries,
    merged,
    unmerged,
    uuid_of,
)
from canonry.values.audience import ANYBODY, FULL_VIEWER, GAME_MASTERS, Viewer, character_reader
from canonry.values.ids import SpaceId


async def _ids_in_log(backend: Backend, space: SpaceId) -> set[str]:
    """Return every id in the log of `space`."""
    log = await backend.canon.ledger.read_commits(space, after=ORIGIN, limit=100)
    items: dict[str, StoredItem] = {}
    for commit in log:
        items.update(fold_commit(commit, items).items)
    return set(items)


FOR_SAM = (character_reader(uuid_of("Sam")),)


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


def lamp_record(lamp: str, name: str, **fields: Any) -> Made:
    """Return the entry of a record about a lamp."""
    record_fields = {f"properties.{field}": value for field, value in fields.items()}
    return creation_entries(
        a_record(lamp, name, fields=record_fields, dates={}, schema_version="1.0")
    )[0]


async def entity_named(backend: Backend, name: str) -> Entity:
    """Return an entity as it is now."""
    item = await item_named(backend.canon.state, name)
    assert isinstance(item, Entity)
    return item


class StateContract(DeclaredContract):
    """All promises of a state view. Provide a fixture `backend` with an empty store."""

    @requirement("state:things:round-trip")
    async def test_items_of_every_kind_are_found(self, backend: Backend) -> None:
        """Items of every kind are found by id, equal to the folded items."""
        await write_chronicle(backend)
        names = ("space", "friends", "magic fades", "snippet 4", "arc", "turn 3", "ingested")

        found = await backend.canon.state.items_by_id(uuid_of(name) for name in names)

        assert set(found) == {uuid_of(name) for name in names}
        assert all(item.position > 0 and item.changed_at > 0 for item in found.values())
        snippet: Any = found[uuid_of("snippet 4")]
        assert (snippet.text, snippet.index, snippet.section) == (TEXTS[4], 4, "I")
        space: Any = found[uuid_of("space")]
        assert (space.id, space.description) == (MIDDLE_EARTH, TEXTS[4])

    @requirement("state:things:beginning")
    async def test_ids_are_found_by_their_beginning(self, backend: Backend) -> None:
        """Ids that begin with a part of a UUID are returned in order, up to the limit."""
        facts = [a_fact(f"fact {n}") for n in range(5)]
        await Scribe(backend.canon).make_items(*facts)
        ids = sorted(each.id for each in facts)
        find = backend.canon.state.ids_beginning

        for length in (1, 8, 9, 14, 36):
            begun = ids[0][:length]
            found_ids = [each for each in await find(begun, limit=50) if each in ids]
            assert found_ids == [each for each in ids if each.startswith(begun)]
        assert await find(ids[1], limit=50) == [ids[1]]
        assert len(await find("", limit=2)) == 2

    @requirement("state:things:absent")
    async def test_unknown_ids_are_left_out(self, backend: Backend) -> None:
        """Unknown ids are left out, whatever their text; a request may have many ids."""
        await Scribe(backend.canon).make_items(a_fact("one"))
        strange = [*TEXTS, "not-a-uuid", uuid_of("one").upper(), uuid_of("one")[:-1]]
        many = [uuid_of(f"nobody {n}") for n in range(2_500)]

        found = await backend.canon.state.items_by_id(
            [*strange, *many, uuid_of("one"), uuid_of("one")]
        )

        assert set(found) == {uuid_of("one")}
        assert await backend.canon.state.items_by_id([]) == {}

    @requirement("state:reads:own-writes")
    async def test_every_view_shows_what_was_acknowledged(self, backend: Backend) -> None:
        """A read that begins after an append is acknowledged sees it, in every view."""
        canon, scribe = backend.canon, Scribe(backend.canon)
        await scribe.make_items(a_story(), a_scene())
        for n in range(1, 6):
            await scribe.make_items(
                an_entity(f"entity {n}"),
                a_fact(f"fact {n}"),
                a_turn(f"turn {n}"),
                a_memory(f"memory {n}"),
            )
            frodo = MemoryQuery(entity_id=uuid_of("frodo"))

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
            items: dict[str, StoredItem] = {}
            log = await backend.canon.ledger.read_commits(space, after=ORIGIN, limit=100)
            everything = set(await _ids_in_log(backend, space))
            for commit in log:
                items.update(fold_commit(commit, items).items)
                past = await backend.canon.state.items_as_known_at(everything, commit.position)
                expected = {i: t for i, t in items.items() if isinstance(t, HISTORY)}
                assert {i: t for i, t in past.items() if isinstance(t, HISTORY)} == expected
            assert await backend.canon.state.items_as_known_at(everything, ORIGIN) == {}

    @requirement("state:history:erased")
    async def test_no_past_shows_what_was_erased(self, backend: Backend) -> None:
        """No past version shows an erased item: the answer is its tombstone, or nothing."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make_items(a_fact("a right to be forgotten"))
        await scribe.make_items(a_fact("another"))
        target = uuid_of("a right to be forgotten")
        await scribe.write_entries(Erased(targets=(target,), reason="a right"))

        for position in range(4):
            past = await state.items_as_known_at([target], Position(position))
            assert all(isinstance(item, Tombstone) for item in past.values())
        now = await state.items_by_id([target])
        assert isinstance(now[target], Tombstone)

    @requirement("state:secrets:words")
    async def test_words_that_are_for_few_are_counted_for_them_alone(
        self, backend: Backend
    ) -> None:
        """Scores derive from the requested compartments only."""
        scribe = Scribe(backend.canon)
        await scribe.write_entries(
            *creation_entries(a_fact("a golden party"), a_fact("a ring of iron"))
        )

        async def scores_for(viewer: Viewer) -> list[tuple[str, float]]:
            spaces = await seen_by(backend, viewer)
            query = TextQuery(collection=Collection.FACTS, text="golden ring", spaces=spaces)
            found = await backend.canon.text.search(query)
            return [(hit.id, hit.score) for hit in found.hits]

        before = await scores_for(ANYBODY)
        for number in range(5):
            secret = a_fact(f"golden secret {number}", audience=GAME_MASTERS)
            await scribe.write_entries(*creation_entries(secret))

        assert await scores_for(ANYBODY) == before
        assert len(await scores_for(FULL_VIEWER)) == len(before) + 5

    @requirement("state:secrets:scenes")
    async def test_scenes_and_turns_for_few_are_shown_to_them_alone(self, backend: Backend) -> None:
        """Views restrict a whisper in an open scene, and a scene for few, to their audience."""
        scribe = Scribe(backend.canon)
        await scribe.write_entries(
            *creation_entries(a_story(), a_scene("hall"), a_scene("cellar", audience=FOR_SAM))
        )
        await scribe.write_entries(*creation_entries(a_turn("loud", scene="hall")))
        await scribe.write_entries(
            *creation_entries(a_turn("golden whisper", scene="hall", audience=FOR_SAM))
        )
        await scribe.write_entries(
            *creation_entries(a_turn("golden echo", scene="cellar", audience=FOR_SAM))
        )

        async def known_to(viewer: Viewer) -> tuple[list[str], list[str], int]:
            canon = backend.canon.for_viewer(viewer)
            scenes = await canon.documents.scenes(SceneQuery(spaces=frozenset((MIDDLE_EARTH,))))
            turns = await canon.documents.turns(uuid_of("hall"))
            last = await canon.documents.turns(uuid_of("hall"), last=1)
            assert list(last) == list(turns[-1:])
            asked = TextQuery(
                collection=Collection.SCENES, text="golden", spaces=frozenset((MIDDLE_EARTH,))
            )
            found = await canon.text.search(asked)
            assert scenes.total == len(scenes.items)
            titles = sorted(each.title for each in scenes.items)
            return titles, [each.text for each in turns], len(found.hits)

        assert await known_to(ANYBODY) == (["hall"], ["loud"], 0)
        assert await known_to(SAM) == (["cellar", "hall"], ["loud", "golden whisper"], 2)
        assert await known_to(FULL_VIEWER) == (["cellar", "hall"], ["loud", "golden whisper"], 2)
        stories = await backend.canon.state.stories(MIDDLE_EARTH, limit=9, offset=0)
        assert [each.scene_count for each in stories.items] == [1]

    @requirement("state:merged:addressed")
    async def test_records_of_a_merged_entity_stay_with_it(self, backend: Backend) -> None:
        """Observations of a merged entity show in its root, and leave it with an unmerge."""
        scribe = Scribe(backend.canon)
        await scribe.write_entries(*creation_entries(a_lamp_schema("1.0")))
        for name in ("a", "b", "c"):
            lamp = creation_entries(an_entity(name, entity_type="lamp"))[0]
            await scribe.write_entries(
                lamp, lamp_record(name, f"{name} born", serial=name, label=f"lamp {name}")
            )
        alone = {name: await entity_named(backend, name) for name in ("a", "b", "c")}
        a, b, c = (alone[name].id for name in ("a", "b", "c"))
        await scribe.write_entries(merged("a", "c"))
        await scribe.write_entries(an_entry(EntitiesMerged, "b", merged=a, members=(c,)))
        await scribe.write_entries(lamp_record("a", "later", room="Attic"))
        await scribe.write_entries(lamp_record("c", "last", shelf="9"))

        root = await entity_named(backend, "b")
        assert (root.name, root.observed.count) == ("lamp b", 5)
        assert root.members == tuple(sorted((a, c)))
        assert (root.properties["room"], root.properties["shelf"]) == ("Attic", "9")
        gone = await entity_named(backend, "a")
        assert (gone.merged_into, gone.brought, gone.sightings.count) == (b, (c,), 2)

        await scribe.write_entries(unmerged("b", "a"), merged("a", "c"))
        root, was = await entity_named(backend, "b"), alone["b"]
        assert (root.own, root.snapshot, root.observed) == (was.own, was.snapshot, was.observed)
        again = await entity_named(backend, "a")
        assert (again.name, again.members, again.brought) == ("lamp a", (c,), ())
        assert again.properties == {"serial": "c", "label": "lamp c", "room": "Attic", "shelf": "9"}

    @requirement("state:timeline:together")
    async def test_what_a_source_dates_alike_is_one_event(self, backend: Backend) -> None:
        """Entries of one source, type and instant are one event."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        for name in ("a", "b", "c"):
            due = 1 if name == "c" else 0
            await scribe.make_items(an_entity(name), a_record(name, f"{name} said", due=due))

        page = await state.timeline(TimelineQuery())
        assert page.total == 2
        assert [sorted(e.entity_id for e in event.entries) for event in page.items] == [
            [uuid_of("c")],
            sorted(map(uuid_of, "ab")),
        ]
        assert len({event.id for event in page.items}) == 2
        assert {e.field for event in page.items for e in event.entries} == {"due"}
        assert {event.source_id for event in page.items} == {uuid_of("ledger")}
