"""Promises of the ports `Documents` and `Places`."""

from collections.abc import Sequence
from typing import Any

from canonry.log.entries import RelationEnded, SceneCompleted, SceneMoved
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Event
from canonry.log.items.scenes import Scene, SceneStatus
from canonry.readmodels.ports.documents import EdgeQuery
from canonry.testing.conformance.cases import declared
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.things import (
    ELSEWHERE,
    MIDDLE_EARTH,
    a_relation,
    a_scene,
    an_edge,
    an_entity,
    an_entry,
    an_event,
    ident,
)
from canonry.testing.worlds import Scribe, make_elsewhere, thing_named
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel

SCENE = ident("scene")


class DocumentsContract(Contract):
    """Provide a fixture `backend` with an empty store."""

    test_scenes_come_in_the_order_of_play = declared("documents:scenes:filters")

    @requirement("documents:scenes:open")
    async def test_open_scenes_are_those_being_canonized(self, backend: Backend) -> None:
        """`open_scenes` returns scenes that are being canonized, of one space or all."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(a_scene("one"), a_scene("two"), a_scene("three"))
        one, two = ident("one"), ident("two")
        finalizing = SceneStatus.FINALIZING
        await scribe.write(SceneMoved(scene_id=one, status=finalizing))
        await scribe.write(SceneMoved(scene_id=two, status=finalizing))

        assert {s.id for s in await documents.open_scenes(None, limit=9)} == {one, two}
        assert len(await documents.open_scenes(MIDDLE_EARTH, limit=1)) == 1
        assert await documents.open_scenes(ELSEWHERE, limit=9) == []
        await scribe.write(SceneMoved(scene_id=one, status=SceneStatus.ACTIVE))
        await scribe.write(SceneCompleted(scene_id=two, outcomes=(ident("fact"),), summary="done"))
        assert await documents.open_scenes(None, limit=9) == []
        done = await thing_named(backend.canon.state, "two")
        assert isinstance(done, Scene)
        assert (done.summary, done.outcomes) == ("done", (ident("fact"),))
        assert done.completed_at == done.updated_at > done.created_at

    test_scenes_and_stories_count_what_is_in_them = declared("documents:scenes:counts")
    test_turns_are_numbered_within_their_scene = declared("documents:turns:indexes")
    test_last_turns_are_the_newest = declared("documents:turns:last")
    test_turns_are_paged_without_a_gap = declared("documents:turns:after")
    test_proposals_are_found_by_scene_type_and_status = declared("documents:proposals:filters")
    test_memories_come_most_important_first = declared("documents:memories:order")
    test_memories_are_one_characters_own = declared("documents:memories:own")
    test_snippets_come_by_their_index = declared("documents:snippets:order")


async def held(backend: Backend, *names: str, at: int = 50, **query: Any) -> list[str]:
    """Return the ids of the matching edges, by default those of entities in these locations."""
    asked: dict[str, Any] = {"outward": False, "kinds": ("player",), **query}
    found = await backend.canon.places.edges(
        EdgeQuery(
            space=asked.pop("space", MIDDLE_EARTH),
            entities=tuple(ident(name) for name in names),
            rel_type=asked.pop("rel_type", "LOCATED_IN"),
            at=Instant(at),
            **asked,
        )
    )
    return [edge.id for edge in found]


def ids(*names: str) -> list[str]:
    """Return the ids for these names."""
    return [ident(name) for name in names]


class PlacesContract(Contract):
    """Provide a fixture `backend` with an empty store."""

    test_an_edge_holds_over_a_half_open_interval = declared("places:edges:interval")
    test_what_was_ended_held_until_then = declared("places:edges:ended")
    test_edges_are_chosen_by_what_they_are = declared("places:edges:selection")
    test_edges_come_in_the_order_of_their_beginnings = declared("places:edges:order")

    @requirement("places:ways:open")
    async def test_ways_are_the_exits_that_can_be_taken(self, backend: Backend) -> None:
        """`ways` returns the current, unblocked exits of locations, by location and direction.

        It follows changes and ends of exits.
        """
        scribe = Scribe(backend.canon)
        exits: dict[str, Any] = {"rel_type": "EXIT"}
        await scribe.make(
            an_edge("north", "inn", "yard", kind="north", **exits),
            an_edge("down", "inn", "cellar", kind="down", until=Instant(60), **exits),
            an_edge("east", "inn", "road", kind="east", since=Instant(70), **exits),
            an_edge("odd", "inn", "moon", kind="widdershins", **exits),
            a_relation(
                "wall",
                "inn",
                "tower",
                since=None,
                properties={"kind": "up", "blocked": "A wall."},
                **exits,
            ),
            an_edge("back", "yard", "inn", kind="south", **exits),
        )

        async def among(at: int) -> list[tuple[str, str, str]]:
            places = [ident(name) for name in ("yard", "inn")]
            ways = await backend.canon.places.ways(MIDDLE_EARTH, places, Instant(at))
            return [(way.start, way.direction, way.end) for way in ways]

        yard, inn, cellar, road = ids("yard", "inn", "cellar", "road")
        home = (yard, "south", inn)
        assert await among(59) == [home, (inn, "down", cellar), (inn, "north", yard)]
        assert await among(70) == [home, (inn, "east", road), (inn, "north", yard)]
        await scribe.write(an_entry(RelationEnded, "north", until=Instant(70)))
        assert await among(70) == [home, (inn, "east", road)]
        assert await among(69) == [home, (inn, "north", yard)]

    test_the_newest_events_come_first = declared("places:events:newest")

    @requirement("places:following:pages")
    async def test_pages_follow_each_other_by_the_last_thing(self, backend: Backend) -> None:
        """`entities_after` and `events_after` page through canon items in a stated order.

        Each page follows the last item of the page before, also while others write.
        """
        scribe, places = Scribe(backend.canon), backend.canon.places
        for name in ("b", "a", "d", "c"):
            await scribe.make(an_entity(name, entity_type="location"))
        await scribe.make(
            an_entity("kind", entity_type="location", entity_class=EntityClass.ARCHETYPE),
            an_entity("wish", entity_type="location", level=CanonLevel.PROPOSED),
            an_entity("player", entity_type="player"),
        )
        await make_elsewhere(backend.canon, an_entity("there", entity_type="location"))

        async def page(last: Entity | None, limit: int = 2) -> Sequence[Entity]:
            return await places.entities_after(MIDDLE_EARTH, "location", last, limit=limit)

        whole = await page(None, 99)
        assert {each.id for each in whole} == set(ids("a", "b", "c", "d", "kind"))
        assert [(e.created_at, e.id) for e in whole] == sorted((e.created_at, e.id) for e in whole)
        first = await page(None)
        await scribe.make(an_entity("new", entity_type="location"))
        second = await page(first[-1])
        assert [*first, *second] == whole[:4]
        rest = await page(second[-1], 99)
        assert {each.id for each in rest} == {whole[4].id, ident("new")}
        assert await page(rest[-1]) == []

        for name, when in (("second", 20), ("first", 10), ("third", 30), ("twin", 20)):
            await scribe.make(an_event(name, "inn", time_ref=Instant(when)))
        await scribe.make(an_event("dream", "inn", level=CanonLevel.PROPOSED))
        told: list[Event] = []
        while more := await places.events_after(MIDDLE_EARTH, told[-1] if told else None, limit=1):
            told += more
        twins = sorted(ids("second", "twin"))
        assert [each.id for each in told] == [ident("first"), *twins, ident("third")]
