"""The contract of reading what not everybody may see: where it lies, and what it is to whom."""

from typing import Any

from canonry.log.entries import AudienceChanged, RelationEnded
from canonry.log.schemas.narrative_fields import STATE_TAGS
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.documents import SceneQuery
from canonry.readmodels.ports.state import EntityQuery, FactQuery, RelationQuery, Spaces
from canonry.readmodels.ports.text import TextQuery
from canonry.testing.conformance.kit import Backend, Contract, requirement
from canonry.testing.scribe import Scribe
from canonry.testing.things import (
    MIDDLE_EARTH,
    a_fact,
    a_named,
    a_relation,
    a_scene,
    a_story,
    a_turn,
    an_observation,
    ident,
    made,
)
from canonry.values.audience import ALL_SEEING, ANYBODY, GAME_MASTERS, Viewer, character, is_open
from canonry.values.ids import RelationId, SceneId
from canonry.values.time import Instant

SAM = Viewer(readers=frozenset((character(ident("Sam")),)))
FOR_SAM = (character(ident("Sam")),)


async def seen_by(backend: Backend, viewer: Viewer) -> Spaces:
    """The compartments of Middle-earth that are open to a viewer, and Middle-earth."""
    known = await backend.canon.state.compartments()
    return frozenset((MIDDLE_EARTH, *(each for each in known if is_open(each, viewer))))


async def told_to(backend: Backend, viewer: Viewer) -> list[str]:
    """The facts that a viewer finds, which are all that are counted."""
    spaces = await seen_by(backend, viewer)
    page = await backend.canon.state.facts(FactQuery(spaces=spaces))
    assert page.total == len(page.items)
    return sorted(fact.statement for fact in page.items)


class SecretsContract(Contract):
    """Provide a fixture `backend` that yields an empty one."""

    @requirement(
        "state:secrets:compartments",
        because="A query that does not name where secrets lie must find none, nor count any.",
    )
    async def test_what_is_for_few_lies_apart(self, backend: Backend) -> None:
        """What an audience may see lies in a compartment; revealed, it lies with all else."""
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

    @requirement(
        "state:secrets:words",
        because="What a secret says must not be found, nor weigh in what others find.",
    )
    async def test_words_that_are_for_few_are_counted_for_them_alone(
        self, backend: Backend
    ) -> None:
        """Scores are those of the compartments asked for, whatever lies in others."""
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

    @requirement(
        "state:secrets:variants",
        because="Whoever does not know that a thing has changed must find it as it was.",
    )
    async def test_a_thing_is_listed_as_it_is_to_each(self, backend: Backend) -> None:
        """Each kind of viewer finds one variant of it, and counts one."""
        scribe = Scribe(backend.canon)
        await scribe.write(*a_named("Frodo", tags=("alive",)))
        await scribe.write(*made(a_relation("home", "Frodo", "Shire", rel_type="LOCATED_IN")))
        ended: dict[str, Any] = {"until": Instant(1), "superseded_by": None, "reason": "fled"}
        await scribe.write(
            RelationEnded(relation_id=RelationId(ident("home")), audience=GAME_MASTERS, **ended),
            *made(
                an_observation(
                    "Frodo", "mark", fields={STATE_TAGS: {"marked": True}}, audience=FOR_SAM
                )
            ),
        )

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

    @requirement(
        "state:secrets:scenes",
        because="A scene and a turn that few may read must be found, listed and counted for them.",
    )
    async def test_scenes_and_turns_for_few_are_told_to_them_alone(self, backend: Backend) -> None:
        """A whisper in an open scene, and a scene for few, as views narrow them for a viewer."""
        scribe = Scribe(backend.canon)
        await scribe.write(*made(a_story(), a_scene("hall"), a_scene("cellar", audience=FOR_SAM)))
        await scribe.write(*made(a_turn("loud", scene="hall")))
        await scribe.write(*made(a_turn("golden whisper", scene="hall", audience=FOR_SAM)))
        await scribe.write(*made(a_turn("golden echo", scene="cellar", audience=FOR_SAM)))

        async def known(viewer: Viewer) -> tuple[list[str], list[str], int]:
            canon = backend.canon.for_viewer(viewer)
            scenes = await canon.documents.scenes(SceneQuery(spaces=frozenset((MIDDLE_EARTH,))))
            turns = await canon.documents.turns(SceneId(ident("hall")))
            last = await canon.documents.turns(SceneId(ident("hall")), last=1)
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
