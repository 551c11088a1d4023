"""When items were said: what a question asks of a time finds, and what it is told by."""

from dataclasses import replace

import pytest

from canonry.canon.session.canon import Canon
from canonry.log.entries import SpaceRevised, StoredItem
from canonry.log.items.scenes import StoryType
from canonry.readmodels.passages import Collection
from canonry.readmodels.ports.text import TextQuery
from canonry.recall.usecases.find_passages import FoundPassages, find_passages, passage_times
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_memory,
    a_scene,
    a_snippet,
    a_source,
    a_story,
    a_turn,
    an_axiom,
    an_event,
    uuid_of,
)
from canonry.values.calendars.declaring import read_calendar
from canonry.values.ids import SceneId, SourceId, Space
from canonry.values.moments import DAY, Instant, parse_instant
from tests.usecases.stage import Stage, a_stage

pytestmark = pytest.mark.anyio


@pytest.fixture
async def stage() -> Stage:
    return await a_stage()


async def find_text(canon: Canon, text: str, **asked: object) -> FoundPassages:
    query = TextQuery(collection=Collection.SCENES, text=text, spaces=frozenset((MIDDLE_EARTH,)))
    return await find_passages(canon, replace(query, **asked))  # type: ignore[arg-type]


def hit_ids(found: FoundPassages) -> list[str]:
    return [hit.passage.id for hit in found.hits]


async def test_a_question_about_a_time_prefers_statements_of_then(stage: Stage) -> None:
    days = {"may": "2023-05-08T13:00:00Z", "june": "2023-06-20T13:00:00Z", "later": None}
    await stage.make(
        *(
            a_scene(f"scene {name}", order=n, said_at=None if day is None else parse_instant(day))
            for n, (name, day) in enumerate(days.items(), 1)
        )
    )
    await stage.make(*(a_turn(name, f"scene {name}", text="I sold a boat") for name in days))

    found = await find_text(stage.canon, "Who sold a boat on 8 May 2023?")
    by_scene = await find_text(stage.canon, "Who sold a boat in scene 2?")
    unasked = await find_text(stage.canon, "I sold a boat on 8 May 2023", question=False)

    assert hit_ids(found)[:2] == [uuid_of("may"), uuid_of("june")]
    assert found.hits[0].why.dated > found.hits[1].why.dated > 0
    assert hit_ids(by_scene)[0] == uuid_of("june")
    assert [hit.why.dated for hit in unasked.hits] == [0, 0, 0]


async def test_an_unplayed_scene_0_is_no_error(stage: Stage) -> None:
    await stage.make(a_memory("a boat", text="I sold a boat"))

    query = TextQuery(collection=Collection.MEMORIES, text="Who sold a boat in scene 0?")
    found = await find_passages(stage.canon, query)

    assert hit_ids(found) == [uuid_of("a boat")]


async def test_before_an_event_means_before_its_time_in_the_world(stage: Stage) -> None:
    await stage.make(an_event("The siege of Dol", time_ref=Instant(100 * DAY)))
    for n, name in enumerate(("eve", "aftermath"), 1):
        when = Instant((50 if name == "eve" else 150) * DAY)
        await stage.make(a_scene(f"scene {name}", order=n, time_ref=when))
        await stage.make(a_turn(name, f"scene {name}", text="The captain wept"))

    before = await find_text(stage.canon, "Who wept before the siege?")
    after = await find_text(stage.canon, "Who wept after the siege?")
    nothing = await find_text(stage.canon, "Who wept before the great flood of nowhere?")

    assert hit_ids(before)[0] == uuid_of("eve")
    assert hit_ids(after)[0] == uuid_of("aftermath")
    assert all(hit.why.dated == 0 for hit in nothing.hits)


async def test_a_session_is_an_episode_if_a_campaign_has_several(stage: Stage) -> None:
    for n, name in enumerate(("first", "second"), 1):
        await stage.make(a_story(f"story {name}", story_type=StoryType.EPISODE))
        await stage.make(a_scene(f"scene {name}", f"story {name}", order=1))
        await stage.make(a_turn(name, f"scene {name}", text=f"We met a giant, number {n}"))

    assert hit_ids(await find_text(stage.canon, "Which giant did we meet in session 2?"))[0] == (
        uuid_of("second")
    )
    assert hit_ids(await find_text(stage.canon, "Which giant did we meet in the first session?"))[
        0
    ] == (uuid_of("first"))
    assert (await find_text(stage.canon, "Which giant did we meet in session 9?")).hits[
        0
    ].why.dated == 0


async def test_the_words_of_a_worlds_own_calendar_give_the_time(stage: Stage) -> None:
    calendar = {
        "name": "Shire",
        "months": [{"name": "Afteryule", "days": 30}, {"name": "Solmath", "days": 30}],
    }
    space = await stage.canon.state.items_by_id((MIDDLE_EARTH,))
    here = space[MIDDLE_EARTH]
    assert isinstance(here, Space)
    await stage.scribe.write_entries(
        SpaceRevised(space_id=here.id, name="M", description="", properties={"calendar": calendar})
    )
    declared = read_calendar(calendar)
    for n, name in enumerate(("Afteryule", "Solmath")):
        when = declared.instant_of(1402, n, 3)
        await stage.make(a_scene(f"scene {name}", order=n + 1, time_ref=when))
        await stage.make(a_turn(name, f"scene {name}", text="They drank ale"))

    found = await find_text(stage.canon, "Who drank ale in Solmath 1402?")

    assert hit_ids(found)[0] == uuid_of("Solmath")
    assert [hit.why.dated == 0.3 for hit in found.hits] == [True, False]


async def test_memories_and_excerpts_have_the_time_of_their_container(stage: Stage) -> None:
    await stage.entity("ann")
    when = parse_instant("2023-05-08T13:00:00Z")
    scene, source = a_scene("played", said_at=when), a_source("book", said_at=when)
    memory = a_memory("m", "ann", text="a red key", scene_id=SceneId(uuid_of("played")))
    snippet = a_snippet("s", "book", text="a red key")
    around: dict[str, StoredItem] = {each.id: each for each in (scene, source)}

    for each in (memory, snippet, a_turn("t", "played")):
        assert passage_times(each, around).said_at == when
    assert passage_times(scene, {}).known_times == [when]
    assert passage_times(a_memory(), {}).said_at == a_memory().created_at
    assert passage_times(an_event(), {}).in_world is None
    assert passage_times(an_axiom(), {}).known_times == []

    await stage.make(a_scene("played", said_at=when), a_source("book", said_at=when))
    await stage.make(snippet)
    asked = {"collection": Collection.SNIPPETS}
    (found,) = (await find_text(stage.canon, "a red key in May 2023", **asked)).hits
    assert found.why.dated > 0


async def test_a_question_about_an_unknown_event_asks_for_no_time(
    stage: Stage,
) -> None:
    await stage.make(a_scene("scene", order=1, said_at=parse_instant("2023-05-08T13:00:00Z")))
    await stage.make(*(a_turn(f"t{n}", "scene", text=f"I sold boat {n}") for n in range(30)))

    asked = await find_text(stage.canon, "Who sold a boat before the flood?")
    plain = await find_text(stage.canon, "Who sold a boat before the flood?", question=False)

    assert asked.hits == plain.hits
    assert {hit.why.dated for hit in asked.hits} == {0.0}


def test_lines_of_an_undated_document_have_no_known_time() -> None:
    played = a_scene("played")
    read = a_scene("read", source_id=SourceId(uuid_of("source")))
    turn = a_turn("turn", "read")

    assert passage_times(turn, {turn.scene_id: read}).said_at is None
    assert passage_times(turn, {turn.scene_id: played}).said_at == turn.timestamp
    ended = replace(read, completed_at=Instant(DAY))
    assert passage_times(ended, {}).said_at is None
    assert passage_times(replace(played, completed_at=Instant(DAY)), {}).said_at == Instant(DAY)
    dated = replace(read, said_at=Instant(3 * DAY))
    assert passage_times(turn, {turn.scene_id: dated}).said_at == Instant(3 * DAY)
