"""Stories: a tree within one universe."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import NOWHERE, a_world
from tests.toolsets.narrative.stage import a_stage

pytestmark = pytest.mark.anyio


async def test_the_orchestrator_creates_a_story_and_others_do_not() -> None:
    world = await a_world()
    arguments = {
        "universe_id": world.universe_id,
        "title": "The Ring",
        "story_type": "campaign",
        "theme": "Courage",
        "premise": "A ring must go.",
        "start_time_ref": "3018-09-23T00:00:00Z",
    }

    made = await world.call("neo4j_create_story", "Orchestrator", **arguments)
    await world.refused("neo4j_create_story", "Narrator", code=-32001, **arguments)

    assert made["status"] == "planned"
    listed = await world.call("neo4j_query_stories", detail=True, universe_id=world.universe_id)
    (story,) = listed["stories"]
    assert story == {
        **arguments,
        "story_id": made["story_id"],
        "parent_story_id": None,
        "status": "planned",
        "scene_count": 0,
        "created_at": made["created_at"],
    }


@pytest.mark.parametrize(
    ("parent", "child", "fits"),
    [
        ("campaign", "arc", True),
        ("arc", "arc", True),
        ("campaign", "episode", True),
        ("arc", "episode", True),
        ("episode", "arc", False),
        ("episode", "episode", False),
        ("one_shot", "episode", False),
        ("campaign", "campaign", False),
        ("campaign", "one_shot", False),
    ],
)
async def test_arcs_and_episodes_belong_to_campaigns_or_arcs(
    parent: str, child: str, fits: bool
) -> None:
    world = await a_world()
    outer = await world.story("Outer", story_type=parent)
    arguments: dict[str, Any] = {"universe_id": world.universe_id, "title": "Inner"}
    arguments |= {"story_type": child, "parent_story_id": outer}

    if fits:
        await world.call("neo4j_create_story", **arguments)
        listed = await world.call("neo4j_query_stories", detail=True, universe_id=world.universe_id)
        assert [story["parent_story_id"] for story in listed["stories"]] == [None, outer]
    else:
        data = await world.refused("neo4j_create_story", code=-32004, **arguments)
        assert data["code"] == "story.parent-mismatch"


async def test_a_parent_is_a_known_story_of_the_same_universe() -> None:
    world = await a_world()
    other = await world.another_universe()
    foreign = await other.story()
    arguments = {"universe_id": world.universe_id, "title": "Inner", "story_type": "arc"}

    for parent, code in ((foreign, -32004), (NOWHERE, -32002), (world.source_id, -32002)):
        await world.refused("neo4j_create_story", code=code, **arguments, parent_story_id=parent)


@pytest.mark.parametrize(
    ("spoiled", "code", "path"),
    [
        ({"title": ""}, -32003, "/title"),
        ({"story_type": "saga"}, -32003, "/story_type"),
        ({"start_time_ref": "long ago"}, -32003, "/start_time_ref"),
        ({"universe_id": NOWHERE}, -32002, None),
    ],
)
async def test_a_wrong_argument_is_named(
    spoiled: dict[str, Any], code: int, path: str | None
) -> None:
    world = await a_world()
    arguments = {"universe_id": world.universe_id, "title": "T", "story_type": "arc", **spoiled}

    data = await world.refused("neo4j_create_story", code=code, **arguments)

    assert data.get("path") == path
    await world.refused("neo4j_query_stories", code=-32002, universe_id=NOWHERE)


async def test_a_story_is_completed_and_resumed() -> None:
    stage = await a_stage()
    world, story = stage.world, stage.story_id
    scene = await stage.scene()
    asked = {"story_id": story, "status": "completed"}

    open_ = await world.refused("neo4j_update_story", code=-32004, **asked)
    await stage.complete(scene)
    done = await world.call("neo4j_update_story", **asked)
    assert (open_["code"], open_["conflicts"]) == ("story.scenes-open", [scene])
    assert done["status"] == "completed"
    closed = await world.refused(
        "mongodb_create_scene",
        "Orchestrator",
        code=-32004,
        story_id=story,
        universe_id=world.universe_id,
        title="One more",
        participating_entities=[],
    )
    assert closed["code"] == "story.closed"

    again = await world.call("neo4j_update_story", story_id=story, status="active")

    assert again["status"] == "active"
    await stage.scene("One more")


async def test_a_resumed_story_without_scenes_is_planned() -> None:
    world = await a_world()
    story = await world.story()
    await world.call("neo4j_update_story", story_id=story, status="abandoned")
    before = await world.heads()

    reply = await world.call("neo4j_update_story", story_id=story, status="active")

    assert reply["status"] == "planned"
    assert await world.heads() != before
    await world.refused(
        "neo4j_update_story", "Narrator", code=-32001, story_id=story, status="completed"
    )
    await world.refused("neo4j_update_story", code=-32002, story_id=NOWHERE, status="completed")
