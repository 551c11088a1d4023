"""Promises of the ports `Documents` and `Places`."""

from collections.abc import Sequence
from typing import Any

from canonry.log.entries import (
    ConflictWaived,
    EventRetconned,
    ProposalDecided,
    ProposalDeferred,
    RelationEnded,
    RelationRetconned,
    SceneCompleted,
    SceneMoved,
    SceneNoted,
)
from canonry.log.items.entities import Entity, EntityClass
from canonry.log.items.facts import Event, Relation
from canonry.log.items.proposals import (
    Ask,
    Grade,
    GradedConflict,
    Proposal,
    ProposalStatus,
    ProposalType,
)
from canonry.log.items.scenes import Scene, SceneStatus, Story, StoryStatus
from canonry.readmodels.ports.documents import EdgeQuery, MemoryQuery, ProposalQuery, SceneQuery
from canonry.testing.conformance.kit import Backend, Contract, requirement, whole
from canonry.testing.things import (
    ELSEWHERE,
    MIDDLE_EARTH,
    a_decision,
    a_memory,
    a_proposal,
    a_relation,
    a_scene,
    a_snippet,
    a_source,
    a_story,
    a_turn,
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

    @requirement("documents:scenes:filters")
    async def test_scenes_come_in_the_order_of_play(self, backend: Backend) -> None:
        """`scenes` filters by space, story and status, in the order of play, with totals."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(a_story(), a_story("side"))
        for name, story, order in (("c", "story", 3), ("a", "story", 1), ("b", "side", 2)):
            await scribe.make(a_scene(name, story, order=order))
        await make_elsewhere(backend.canon, a_scene("d", "tale", order=4))
        await scribe.write(SceneCompleted(scene_id=ident("c"), outcomes=(), summary="it ends"))

        async def scenes(query: SceneQuery) -> list[str]:
            return [scene.title for scene in await whole(documents.scenes, query)]

        assert await scenes(SceneQuery()) == ["a", "b", "c", "d"]
        assert await scenes(SceneQuery(story_id=ident("story"))) == ["a", "c"]
        assert await scenes(SceneQuery(status=SceneStatus.COMPLETED)) == ["c"]
        assert await scenes(SceneQuery(spaces=frozenset((ELSEWHERE,)))) == ["d"]
        assert await scenes(SceneQuery(spaces=frozenset())) == []
        page = await documents.scenes(SceneQuery(limit=2, offset=1))
        assert ([s.title for s in page.items], page.total) == (["b", "c"], 4)

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

    @requirement("documents:scenes:counts")
    async def test_scenes_and_stories_count_what_is_in_them(self, backend: Backend) -> None:
        """A scene counts its turns and proposals, and a story counts its scenes."""
        scribe, state = Scribe(backend.canon), backend.canon.state
        await scribe.make(a_story(), a_scene(), a_turn("t0"), a_turn("t1"), a_proposal("p0"))
        await scribe.make(a_turn("t2"), a_proposal("p1"), a_proposal("p2"))
        await scribe.make(a_scene("later", order=7), a_proposal("ingested", None))
        await scribe.write(SceneNoted(scene_id=SCENE, gm_notes="watch the door"))

        scene = await thing_named(state, "scene")
        story = await thing_named(state, "story")

        assert isinstance(scene, Scene)
        assert isinstance(story, Story)
        assert (scene.turn_count, scene.proposal_count) == (3, 3)
        assert scene.gm_notes == "watch the door"
        assert (story.scene_count, story.last_order) == (2, 7)
        assert story.status is StoryStatus.ACTIVE

    @requirement("documents:turns:indexes")
    async def test_turns_are_numbered_within_their_scene(self, backend: Backend) -> None:
        """Turns are numbered 0, 1, 2, ... within a scene in the order of their commits."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(a_scene(), a_scene("other"))
        for n in range(3):
            await scribe.make(a_turn(f"a{n}"), a_turn(f"b{n}"), a_turn(f"x{n}", "other"))

        turns = await documents.turns(SCENE)

        assert [t.index for t in turns] == [0, 1, 2, 3, 4, 5]
        assert [t.text for t in turns] == ["a0", "b0", "a1", "b1", "a2", "b2"]
        other = await documents.turns(ident("other"))
        assert [t.index for t in other] == [0, 1, 2]
        assert await documents.turns(ident("nowhere")) == []

    @requirement("documents:turns:last")
    async def test_last_turns_are_the_newest(self, backend: Backend) -> None:
        """`last` returns that many of the newest turns, the oldest of them first."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(a_scene(), *(a_turn(f"turn {n}") for n in range(12)))

        async def last(count: int) -> list[int]:
            return [turn.index for turn in await documents.turns(SCENE, last=count)]

        assert await last(3) == [9, 10, 11]
        assert await last(1) == [11]
        assert await last(99) == list(range(12))
        assert await last(0) == []

    @requirement("documents:turns:after")
    async def test_turns_are_paged_without_a_gap(self, backend: Backend) -> None:
        """`after` and `limit` page through all turns without a gap."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(a_scene(), *(a_turn(f"turn {n}") for n in range(12)))

        seen: list[int] = []
        while page := await documents.turns(SCENE, after=seen[-1] if seen else -1, limit=5):
            assert len(page) <= 5
            seen += [turn.index for turn in page]

        assert seen == list(range(12))
        assert await documents.turns(SCENE, after=99) == []

    @requirement("documents:proposals:filters")
    async def test_proposals_are_found_by_scene_type_and_status(self, backend: Backend) -> None:
        """`proposals` filters by space, scene, type, status and request, oldest first.

        Proposals of worlds are found by their type only.
        """
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(a_scene(), a_scene("other"))
        event, pending = ProposalType.EVENT, ProposalStatus.PENDING
        for name, scene, kind in (
            ("one", "scene", ProposalType.FACT),
            ("two", "scene", event),
            ("three", "other", event),
            ("four", None, event),
            ("five", None, ProposalType.WORLD),
        ):
            await scribe.make(a_proposal(name, scene, type=kind))
        decision = a_decision(status=ProposalStatus.REJECTED, conflicts=(ident("fact"),))
        two = ident("two")
        decided = await scribe.write(ProposalDecided(proposal_id=two, decision=decision))

        async def proposals(query: ProposalQuery) -> list[str]:
            found = await whole(documents.proposals, query)
            return [str(proposal.content["statement"]) for proposal in found]

        assert await proposals(ProposalQuery()) == ["one", "two", "three", "four"]
        assert await proposals(ProposalQuery(types=frozenset((ProposalType.WORLD,)))) == ["five"]
        assert await proposals(ProposalQuery(scene_id=SCENE)) == ["one", "two"]
        assert await proposals(ProposalQuery(scene_id=SCENE, status=pending)) == ["one"]
        assert await proposals(ProposalQuery(types=frozenset((event,)), status=pending)) == [
            "three",
            "four",
        ]
        assert await proposals(ProposalQuery(status=ProposalStatus.REJECTED)) == ["two"]
        assert await proposals(ProposalQuery(spaces=frozenset((ELSEWHERE,)))) == []
        doubt = GradedConflict(id=ident("fact"), grade=Grade.POSSIBLE, reason="perhaps")
        ruling = a_decision(status=pending, graded=(doubt,))
        await scribe.write(ProposalDeferred(proposal_id=ident("three"), ruling=ruling))
        review, possible = frozenset((Ask.NEEDS_REVIEW,)), frozenset((Ask.POSSIBLE,))
        assert await proposals(ProposalQuery(asks=review | possible)) == ["three"]
        assert await proposals(ProposalQuery(asks=frozenset((Ask.PENDING,)))) == ["one", "four"]
        assert await proposals(ProposalQuery(asks=frozenset(Ask), scene_id=SCENE)) == ["one"]
        waived = ConflictWaived(proposal_id=ident("three"), other=doubt.id, reason="meant")
        await scribe.write(waived)
        assert await proposals(ProposalQuery(asks=possible)) == []
        assert await proposals(ProposalQuery(asks=review)) == ["three"]
        page = await documents.proposals(ProposalQuery(limit=2, offset=1))
        assert ([p.id for p in page.items], page.total) == ([two, ident("three")], 4)
        rejected = await thing_named(backend.canon.state, "two")
        assert isinstance(rejected, Proposal)
        assert rejected.decision is not None
        assert rejected.decision.decided_at == decided.recorded_at
        assert rejected.decision.conflicts == (ident("fact"),)

    @requirement("documents:memories:order")
    async def test_memories_come_most_important_first(self, backend: Backend) -> None:
        """`memories` returns one character's, most important first, then newest, above a floor."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        frodo = ident("frodo")
        for name, importance in (("old", 0.5), ("new", 0.5), ("top", 1.0), ("low", 0.0)):
            await scribe.make(a_memory(name, importance=importance))

        async def memories(floor: float, limit: int = 20, offset: int = 0) -> list[str]:
            query = MemoryQuery(entity_id=frodo, min_importance=floor, limit=limit, offset=offset)
            return [memory.text for memory in (await documents.memories(query)).items]

        assert await memories(0.0) == ["top", "new", "old", "low"]
        assert await memories(0.5) == ["top", "new", "old"]
        assert await memories(0.500001) == ["top"]
        assert await memories(0.0, limit=2, offset=1) == ["new", "old"]
        assert (await documents.memories(MemoryQuery(entity_id=frodo, limit=1))).total == 4

    @requirement("documents:memories:own")
    async def test_memories_are_one_characters_own(self, backend: Backend) -> None:
        """A character's memories never contain another's."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(*(a_memory(f"m{n}", "sam", importance=1.0) for n in range(5)))
        await scribe.make(a_memory("mine", "frodo", importance=0.1))

        page = await documents.memories(MemoryQuery(entity_id=ident("frodo")))

        assert ([m.text for m in page.items], page.total) == (["mine"], 1)

    @requirement("documents:snippets:order")
    async def test_snippets_come_by_their_index(self, backend: Backend) -> None:
        """`snippets` returns those of one source by index, page by page, with the total."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(a_source(), a_source("other"), a_snippet("x", "other"))
        for n in (3, 1, 0, 2):
            await scribe.make(a_snippet(f"s{n}", index=n))

        page = await documents.snippets(ident("source"), limit=2, offset=1)

        assert ([s.text for s in page.items], page.total) == (["s1", "s2"], 4)


def an_edge(name: str, start: str, end: str, **changes: Any) -> Relation:
    """Return the edge of an entity in a location, by default without end, with properties."""
    kind = changes.pop("kind", "player")
    asked = {"rel_type": "LOCATED_IN", "since": None, "properties": {"kind": kind}, **changes}
    return a_relation(name, start, end, **asked)


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

    @requirement("places:edges:interval")
    async def test_an_edge_holds_over_a_half_open_interval(self, backend: Backend) -> None:
        """An edge holds from `since` until just before `until`. Either may be missing."""
        scribe = Scribe(backend.canon)
        await scribe.make(
            an_edge("both", "ann", "inn", since=Instant(10), until=Instant(20)),
            an_edge("open", "bob", "inn", since=Instant(20)),
            an_edge("past", "cid", "inn", until=Instant(10)),
            an_edge("ever", "dan", "inn"),
            an_edge("none", "eve", "inn", since=Instant(15), until=Instant(15)),
        )

        async def among(at: int) -> set[str]:
            return set(await held(backend, "inn", at=at))

        assert await among(-(2**60)) == set(ids("past", "ever"))
        assert await among(9) == set(ids("past", "ever"))
        assert await among(10) == set(ids("both", "ever"))
        assert await among(15) == set(ids("both", "ever"))
        assert await among(19) == set(ids("both", "ever"))
        assert await among(20) == set(ids("open", "ever"))
        assert await among(2**60) == set(ids("open", "ever"))

    @requirement("places:edges:ended")
    async def test_what_was_ended_held_until_then(self, backend: Backend) -> None:
        """An ended edge holds until its end. Without an end date, or retconned, it never held."""
        scribe = Scribe(backend.canon)
        names = ("left", "lost", "never")
        await scribe.make(*(an_edge(name, name, "inn", since=Instant(0)) for name in names))
        left = an_entry(RelationEnded, "left", until=Instant(30))
        lost, never = an_entry(RelationEnded, "lost"), an_entry(RelationRetconned, "never")
        await scribe.write(left, lost, never)

        assert await held(backend, "inn", at=29) == ids("left")
        assert await held(backend, "inn", at=30) == []
        assert await held(backend, "lost", "never", at=5, outward=True) == []

    @requirement("places:edges:selection")
    async def test_edges_are_chosen_by_what_they_are(self, backend: Backend) -> None:
        """Space, type, side, entities and kinds select edges. Other relations are not edges."""
        scribe = Scribe(backend.canon)
        await scribe.make(
            an_edge("player", "ann", "inn"),
            an_edge("character", "bob", "inn", kind="character"),
            an_edge("exit", "inn", "yard", rel_type="EXIT", kind="north"),
            an_edge("loop", "inn", "inn", rel_type="EXIT", kind="in"),
            an_edge("friend", "ann", "inn", rel_type="KNOWS"),
            a_relation("plain", "cup", "inn", rel_type="HELD_BY", since=None),
        )
        await make_elsewhere(backend.canon, an_edge("there", "ann", "inn"))

        assert await held(backend, "inn") == ids("player")
        assert await held(backend, "inn", kinds=("character",)) == ids("character")
        assert await held(backend, "inn", kinds=("character", "player")) == ids(
            "character", "player"
        )
        assert await held(backend, "ann", outward=True) == ids("player")
        assert await held(backend, "ann", outward=False) == []
        assert await held(backend, "inn", space=ELSEWHERE) == ids("there")
        assert await held(backend, "inn", rel_type="KNOWS") == []
        assert await held(backend, "inn", rel_type="HELD_BY", kinds=("",)) == ids("plain")
        ways: dict[str, Any] = {"rel_type": "EXIT", "kinds": ("north", "in")}
        assert await held(backend, "inn", outward=True, **ways) == ids("exit", "loop")
        assert await held(backend, "inn", "yard", **ways) == ids("loop", "exit")
        assert await held(backend, "inn", "yard", rel_type="EXIT", kinds=None) == ids(
            "loop", "exit"
        )
        assert await held(backend, "inn", kinds=None) == ids("character", "player")
        assert await held(backend, "inn", kinds=None, limit=1) == ids("character")
        assert await held(backend) == []

    @requirement("places:edges:order")
    async def test_edges_come_in_the_order_of_their_beginnings(self, backend: Backend) -> None:
        """Edges are grouped by entity and kind as requested, at most `limit` of each.

        The edge that began first comes first or, with `newest_first`, the edge that began last.
        """
        scribe = Scribe(backend.canon)
        for name, since in (("c", 30), ("a", 10), ("b", 20)):
            await scribe.make(an_edge(name, name, "inn", since=Instant(since)))
        await scribe.make(an_edge("home", "f", "house"))

        assert await held(backend, "inn") == ids("a", "b", "c")
        assert await held(backend, "inn", limit=2) == ids("a", "b")
        assert await held(backend, "inn", limit=2, newest_first=True) == ids("c", "b")
        assert await held(backend, "inn", kinds=None, newest_first=True) == ids("c", "b", "a")
        assert await held(backend, "house", "inn", limit=1) == ids("home", "a")
        await scribe.write(an_entry(RelationEnded, "b", until=Instant(55)))
        assert await held(backend, "inn", limit=2) == ids("a", "b")
        assert await held(backend, "inn", at=55, limit=2) == ids("a", "c")

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

    @requirement("places:events:newest")
    async def test_the_newest_events_come_first(self, backend: Backend) -> None:
        """`events_until` returns canon events that involve an entity, the newest first.

        They are dated at or before an instant.
        """
        scribe = Scribe(backend.canon)
        for name, when in (("second", 20), ("first", 10), ("third", 30), ("never", 25)):
            await scribe.make(an_event(name, "inn", time_ref=Instant(when)))
        await scribe.make(
            an_event("other", "house", time_ref=Instant(15)),
            an_event("wish", "inn", time_ref=Instant(15), level=CanonLevel.PROPOSED),
        )
        await scribe.write(an_entry(EventRetconned, "never"))

        async def until(at: int, limit: int = 10, place: str = "inn") -> Sequence[Event]:
            return await backend.canon.places.events_until(
                MIDDLE_EARTH, ident(place), Instant(at), limit=limit
            )

        assert [e.id for e in await until(99)] == ids("third", "second", "first")
        assert [e.id for e in await until(20)] == ids("second", "first")
        assert [e.id for e in await until(99, limit=1)] == ids("third")
        assert [e.id for e in await until(99, place="house")] == ids("other")
        assert await until(9) == []

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
