"""The contract of `canonry.readmodels.ports.documents.Documents`."""

from canonry.log.entries import (
    ConflictWaived,
    ProposalDecided,
    ProposalDeferred,
    SceneCompleted,
    SceneMoved,
    SceneNoted,
)
from canonry.log.items.proposals import (
    Ask,
    Grade,
    GradedConflict,
    Proposal,
    ProposalStatus,
    ProposalType,
)
from canonry.log.items.scenes import Scene, SceneStatus, Story, StoryStatus
from canonry.readmodels.ports.documents import MemoryQuery, ProposalQuery, SceneQuery
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.things import (
    ELSEWHERE,
    MIDDLE_EARTH,
    a_decision,
    a_memory,
    a_proposal,
    a_scene,
    a_snippet,
    a_source,
    a_story,
    a_turn,
    ident,
)
from canonry.testing.worlds import Scribe, thing_named
from canonry.values.ids import EntityId, ProposalId, SceneId, SourceId, StoryId

SCENE = SceneId(ident("scene"))


class DocumentsContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement("documents:scenes:filters", because="A game master asks where the story stands.")
    async def test_scenes_come_in_the_order_of_play(self, backend: Backend) -> None:
        """`scenes` filters by space, story and status, in the order of play, with totals."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(a_story(), a_story("side"))
        for name, story, order in (("c", "story", 3), ("a", "story", 1), ("b", "side", 2)):
            await scribe.make(a_scene(name, story, order=order))
        there = a_scene("d", "tale", order=4, space=ELSEWHERE)
        await Scribe(backend.canon, "there", ELSEWHERE).make(there)
        await scribe.write(
            SceneCompleted(scene_id=SceneId(ident("c")), outcomes=(), summary="it ends")
        )

        async def scenes(query: SceneQuery) -> list[str]:
            page = await documents.scenes(query)
            assert page.total == len(page.items)
            return [scene.title for scene in page.items]

        assert await scenes(SceneQuery()) == ["a", "b", "c", "d"]
        assert await scenes(SceneQuery(story_id=StoryId(ident("story")))) == ["a", "c"]
        assert await scenes(SceneQuery(status=SceneStatus.COMPLETED)) == ["c"]
        assert await scenes(SceneQuery(spaces=frozenset((ELSEWHERE,)))) == ["d"]
        assert await scenes(SceneQuery(spaces=frozenset())) == []
        page = await documents.scenes(SceneQuery(limit=2, offset=1))
        assert ([s.title for s in page.items], page.total) == (["b", "c"], 4)

    @requirement(
        "documents:scenes:open", because="A crash in the middle of canonizing must be found."
    )
    async def test_open_scenes_are_those_being_canonized(self, backend: Backend) -> None:
        """`open_scenes` gives scenes that are being canonized, of one space or all."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(a_scene("one"), a_scene("two"), a_scene("three"))
        one, two = SceneId(ident("one")), SceneId(ident("two"))
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

    @requirement(
        "documents:scenes:counts",
        because="Nobody should have to read all turns to number the next.",
    )
    async def test_scenes_and_stories_count_what_is_in_them(self, backend: Backend) -> None:
        """A scene counts its turns and proposals, and its story its scenes."""
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

    @requirement("documents:turns:indexes", because="A transcript without an order is not one.")
    async def test_turns_are_numbered_within_their_scene(self, backend: Backend) -> None:
        """Turns are numbered 0, 1, 2, ... within a scene in the order of their commits."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(a_scene(), a_scene("other"))
        for n in range(3):
            await scribe.make(a_turn(f"a{n}"), a_turn(f"b{n}"), a_turn(f"x{n}", "other"))

        turns = await documents.turns(SCENE)

        assert [t.index for t in turns] == [0, 1, 2, 3, 4, 5]
        assert [t.text for t in turns] == ["a0", "b0", "a1", "b1", "a2", "b2"]
        other = await documents.turns(SceneId(ident("other")))
        assert [t.index for t in other] == [0, 1, 2]
        assert await documents.turns(SceneId(ident("nowhere"))) == []

    @requirement("documents:turns:last", because="An agent's context ends with what was said last.")
    async def test_last_turns_are_the_newest(self, backend: Backend) -> None:
        """`last` gives that many of the newest turns, oldest of them first."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(a_scene(), *(a_turn(f"turn {n}") for n in range(12)))

        async def last(count: int) -> list[int]:
            return [turn.index for turn in await documents.turns(SCENE, last=count)]

        assert await last(3) == [9, 10, 11]
        assert await last(1) == [11]
        assert await last(99) == list(range(12))
        assert await last(0) == []

    @requirement("documents:turns:after", because="Long scenes are read in pieces.")
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

    @requirement(
        "documents:proposals:filters",
        because="Canonizing decides each pending proposal once, in order.",
    )
    async def test_proposals_are_found_by_scene_type_and_status(self, backend: Backend) -> None:
        """`proposals` filters by space, scene, type, status and what they ask for, oldest first.

        Those of a world are only found by their type.
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
        two = ProposalId(ident("two"))
        decided = await scribe.write(ProposalDecided(proposal_id=two, decision=decision))

        async def proposals(query: ProposalQuery) -> list[str]:
            page = await documents.proposals(query)
            assert page.total == len(page.items)
            return [str(proposal.content["statement"]) for proposal in page.items]

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
        await scribe.write(ProposalDeferred(proposal_id=ProposalId(ident("three")), ruling=ruling))
        review, possible = frozenset((Ask.NEEDS_REVIEW,)), frozenset((Ask.POSSIBLE,))
        assert await proposals(ProposalQuery(asks=review | possible)) == ["three"]
        assert await proposals(ProposalQuery(asks=frozenset((Ask.PENDING,)))) == ["one", "four"]
        assert await proposals(ProposalQuery(asks=frozenset(Ask), scene_id=SCENE)) == ["one"]
        waived = ConflictWaived(
            proposal_id=ProposalId(ident("three")), other=doubt.id, reason="meant"
        )
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

    @requirement("documents:memories:order", because="The context of a character has room for few.")
    async def test_memories_come_most_important_first(self, backend: Backend) -> None:
        """`memories` gives one character's, most important first, then newest, above a floor."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        frodo = EntityId(ident("frodo"))
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

    @requirement("documents:memories:own", because="What somebody believes is nobody else's.")
    async def test_memories_are_one_characters_own(self, backend: Backend) -> None:
        """A character's memories never hold another's."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(*(a_memory(f"m{n}", "sam", importance=1.0) for n in range(5)))
        await scribe.make(a_memory("mine", "frodo", importance=0.1))

        page = await documents.memories(MemoryQuery(entity_id=EntityId(ident("frodo"))))

        assert ([m.text for m in page.items], page.total) == (["mine"], 1)

    @requirement("documents:snippets:order", because="A book is read from its beginning.")
    async def test_snippets_come_by_their_index(self, backend: Backend) -> None:
        """`snippets` gives those of one source by index, page by page, with the total."""
        scribe, documents = Scribe(backend.canon), backend.canon.documents
        await scribe.make(a_source(), a_source("other"), a_snippet("x", "other"))
        for n in (3, 1, 0, 2):
            await scribe.make(a_snippet(f"s{n}", index=n))

        page = await documents.snippets(SourceId(ident("source")), limit=2, offset=1)

        assert ([s.text for s in page.items], page.total) == (["s1", "s2"], 4)
