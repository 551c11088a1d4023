"""Erasing: what goes with an entity, that no byte of it stays, and that the log still verifies."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canonry.app.embedded import Embedded, open_embedded
from canonry.canon.maintenance.erase import erase_items, plan_erasure
from canonry.canon.maintenance.log_transfer import verify_store
from canonry.canon.session.canon import Canon
from canonry.log.entries import SceneCompleted, Tombstone
from canonry.log.items.entities import Entity
from canonry.log.items.scenes import Turn
from canonry.log.schemas.narrative import EntityType
from canonry.narrative.usecases.scenes import Recollection, keep_memory
from canonry.narrative.usecases.transcripts import (
    ImportReport,
    ImportRequest,
    Summary,
    Transcript,
    TranscriptLine,
    import_transcripts,
)
from canonry.testing.clocks import Scribe, a_caller
from canonry.testing.example_items import (
    a_fact,
    a_scene,
    a_story,
    an_entity,
    an_observation,
    uuid_of,
)
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.ids import EntityId, SceneId, SpaceId

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_rows")]

SECRET = "Xanthippe"


def ignore_progress(done: int, total: int | None) -> None:
    """Ignore progress, because no test watches it."""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Embedded]:
    opened = await open_embedded(tmp_path)
    yield opened
    await opened.close()


async def a_played_world(canon: Canon) -> ImportReport:
    lines = (
        TranscriptLine(speakers=("GM",), text="The hall is empty."),
        TranscriptLine(speakers=(SECRET,), text="I open the chest and take the letter."),
        TranscriptLine(speakers=("Ben",), text="I watch the door."),
        TranscriptLine(speakers=("Ben",), text=f"Hurry, {SECRET}!"),
    )
    transcript = Transcript(
        title="Session 1",
        lines=lines,
        summaries=(Summary(start=0, end=1, text="She opens the chest and takes the letter."),),
    )
    request = ImportRequest(
        universe="Home", story="Home", transcripts=(transcript,), gm_names=frozenset({"gm"})
    )
    return await import_transcripts(canon, a_caller(), request, ignore_progress)


async def the_entity(canon: Canon, space: str) -> Entity:
    (found,) = await canon.state.entities_named(SpaceId(space), EntityType.CHARACTER, SECRET)
    return found


async def test_an_entity_is_erased_with_everything_about_it(store: Embedded) -> None:
    report = await a_played_world(store.canon)
    entity = await the_entity(store.canon, report.universe_id)
    request = Recollection(
        entity_id=entity.id,
        text="The letter was mine.",
        linked_fact_id=None,
        scene_id=None,
        emotional_valence=0.1,
        importance=0.5,
        certainty=1.0,
    )
    await keep_memory(store.canon, a_caller("MemoryManager"), request)

    plan = await plan_erasure(store.canon, "entity", entity.id)

    assert dict(plan.counts) == {
        "entity": 1,
        "observation": 1,
        "turn": 1,
        "memory": 1,
        "event": 1,
        "fact": 1,
        "proposal": 1,
    }
    assert [mention.kind for mention in plan.mentions] == ["turn"]


async def test_no_byte_of_an_erased_entity_stays_and_the_log_verifies(
    store: Embedded, tmp_path: Path
) -> None:
    report = await a_played_world(store.canon)
    entity = await the_entity(store.canon, report.universe_id)
    plan = await plan_erasure(store.canon, "entity", entity.id, with_mentions=True)
    assert (dict(plan.counts)["turn"], plan.mentions) == (2, ())
    await erase_items(store.canon, store.maintenance, a_caller(), plan, reason="asked for")

    items = await store.canon.state.items_by_id(plan.targets)
    assert all(isinstance(item, Tombstone) for item in items.values())
    verification = await verify_store(store.canon.ledger, store.maintenance, ignore_progress)
    assert not verification.findings
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"take the letter" not in path.read_bytes(), path
            assert f"Hurry, {SECRET}".encode() not in path.read_bytes(), path


async def test_a_text_with_the_whole_name_is_a_mention(store: Embedded) -> None:
    report = await a_played_world(store.canon)
    space = SpaceId(report.universe_id)
    entity = await the_entity(store.canon, space)
    scribe = Scribe(store.canon, "more", space)
    fields = {"name": "Zoe", "description": f"married to {SECRET.upper()}"}
    await scribe.make_items(
        a_story("tale", space=space),
        a_scene("hall", story="tale", space=space),
        a_fact("Nobody trusts\tXanthippe's word", space=space),
        a_fact("The Xanthippes are many", space=space),
        a_fact("Xanti is away", space=space),
        an_entity("zoe", space=space),
        an_observation("zoe", "zoe is told of", space=space, fields=fields),
    )
    said = f"All but {SECRET} left"
    await scribe.write_entries(
        SceneCompleted(scene_id=SceneId(uuid_of("hall")), outcomes=(), summary=said)
    )

    plan = await plan_erasure(store.canon, "entity", entity.id, also_called=("xanti",))
    most = await plan_erasure(
        store.canon, "entity", entity.id, also_called=("xanti",), with_mentions=True
    )

    kinds = ["turn", "fact", "fact", "observation", "scene"]
    assert [mention.kind for mention in plan.mentions] == kinds
    assert [mention.kind for mention in most.mentions] == ["observation", "scene"]
    assert set(most.targets) - set(plan.targets) == {each.id for each in plan.mentions[:3]}


async def test_mentions_can_be_erased_after_the_mentioned_entity(store: Embedded) -> None:
    report = await a_played_world(store.canon)
    entity = await the_entity(store.canon, report.universe_id)
    plan = await plan_erasure(store.canon, "entity", entity.id)
    await erase_items(store.canon, store.maintenance, a_caller(), plan, reason="asked for")

    again = await plan_erasure(
        store.canon, "entity", entity.id, also_called=(SECRET,), with_mentions=True
    )
    done = await erase_items(store.canon, store.maintenance, a_caller(), again, reason="asked for")

    assert set(again.targets) - set(plan.targets) == {each.id for each in plan.mentions}
    assert done.entries == 1
    assert not (await verify_store(store.canon.ledger, store.maintenance, ignore_progress)).findings


async def test_erasing_again_finishes_interrupted_work(store: Embedded) -> None:
    report = await a_played_world(store.canon)
    entity = await the_entity(store.canon, report.universe_id)
    plan = await plan_erasure(store.canon, "entity", entity.id)
    first = await erase_items(store.canon, store.maintenance, a_caller(), plan, reason="asked for")

    again = await plan_erasure(store.canon, "entity", entity.id)
    second = await erase_items(
        store.canon, store.maintenance, a_caller(), again, reason="asked for"
    )

    assert again.targets == plan.targets
    assert dict(again.counts) == dict(plan.counts)
    assert await store.canon.ledger.head_position(SpaceId(report.universe_id)) == first.position
    assert second.targets == first.targets


async def test_planning_changes_nothing(store: Embedded) -> None:
    report = await a_played_world(store.canon)
    space = SpaceId(report.universe_id)
    before = await store.canon.ledger.head_position(space)
    await plan_erasure(store.canon, "entity", (await the_entity(store.canon, space)).id)

    assert await store.canon.ledger.head_position(space) == before


async def test_scenes_and_unknown_ids_are_refused(store: Embedded) -> None:
    with pytest.raises(InvalidInput, match="only these"):
        await plan_erasure(store.canon, "scene", "01890a5d-ac96-774b-bcce-b302099a8057")
    with pytest.raises(NotFound):
        await plan_erasure(store.canon, "turn", EntityId("01890a5d-ac96-774b-bcce-b302099a8057"))


async def test_a_turn_can_be_erased_alone(store: Embedded) -> None:
    report = await a_played_world(store.canon)
    entity = await the_entity(store.canon, report.universe_id)
    plan = await plan_erasure(store.canon, "entity", entity.id)
    (turn_id,) = [
        item.id
        for item in (await store.canon.state.items_by_id(plan.targets)).values()
        if isinstance(item, Turn)
    ]
    alone = await plan_erasure(store.canon, "turn", turn_id)

    assert dict(alone.counts) == {"turn": 1}
