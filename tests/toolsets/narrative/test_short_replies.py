"""Lists and searches answer little where nobody asks for more, with names beside ids."""

from typing import Any

import pytest

from tests.toolsets.narrative.heavy import a_long_campaign, heavy_questions, reply_weights
from tests.toolsets.narrative.kit import NOWHERE
from tests.toolsets.narrative.stage import a_stage, assemble_context

pytestmark = pytest.mark.anyio

LISTED = 12_000
"""The most bytes of a page of 20 rows of sentences of usual length."""
PUBLISHED = 26_000
"""The same of 50 rows, which is what the contract publishes as their number."""
FIFTY = {"neo4j_query_entities", "neo4j_query_facts", "mongodb_get_pending_proposals"}
CONTEXT = 17_000
"""About the 4,000 tokens of the policy."""


async def test_no_default_reply_is_long_whatever_the_amount_of_data() -> None:
    stage, scene_id = await a_long_campaign()
    for tool, size in (await reply_weights(stage, scene_id)).items():
        context = CONTEXT if tool.startswith("composite") else LISTED
        assert size <= (PUBLISHED if tool in FIFTY else context), (tool, size)


async def test_a_list_returns_whole_rows_with_detail() -> None:
    stage, scene_id = await a_long_campaign()
    shorter = set()
    for tool, arguments in heavy_questions(stage, scene_id).items():
        if tool.startswith(("composite", "mongodb_get_turns", "mongodb_get_scene", "qdrant")):
            continue
        short = await stage.world.call(tool, **arguments)
        whole = await stage.world.call(tool, **arguments, detail=True)
        (name,) = (key for key, value in short.items() if isinstance(value, list))
        assert short["total"] == whole["total"]
        for brief, full in zip(short[name], whole[name], strict=True):
            for key, value in brief.items():
                if isinstance(value, str) and value.endswith("…"):
                    assert full[key].startswith(value[:-1])
                elif tool != "neo4j_get_timeline":
                    assert full[key] == value
            shorter.add((tool, len(str(brief)) < len(str(full))))
    assert {each for _, each in shorter} == {True}


async def test_a_scene_returns_its_last_turns_and_says_that_there_are_more() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for n in range(25):
        await stage.turn(scene_id, f"Turn {n}")
    found = await stage.world.call("mongodb_get_scene", scene_id=scene_id)
    every = await stage.world.call("mongodb_get_scene", scene_id=scene_id, turn_limit=500)

    assert [turn["text"] for turn in found["turns"]] == [f"Turn {n}" for n in range(5, 25)]
    assert (found["truncated"], found["total_turns"]) == (True, 25)
    assert (len(every["turns"]), every["truncated"]) == (25, False)


async def test_names_accompany_ids_in_lists_and_timelines() -> None:
    stage = await a_stage()
    world = stage.world
    since = "3018-01-01T00:00:00Z"
    await world.fact("Sam lives in the Shire", stage.sam, stage.shire, time_ref=since)
    await world.event("The party", stage.frodo, stage.shire, time_ref="3018-09-22T00:00:00Z")
    await world.relation(stage.sam, "KNOWS", stage.frodo)
    await stage.scene()

    (fact,) = (await world.call("neo4j_query_facts"))["facts"]
    (event,) = (await world.call("neo4j_query_events", detail=True))["events"]
    (edge,) = (await world.call("neo4j_query_relationships"))["relationships"]
    (scene,) = (await world.call("mongodb_query_scenes"))["scenes"]
    reply = await world.call("neo4j_get_timeline", universe_id=world.universe_id)
    assert fact["involved_names"] == ["Sam", "The Shire"]
    assert event["involved_names"] == ["Frodo", "The Shire"]
    assert (edge["from_name"], edge["to_name"]) == ("Sam", "Frodo")
    assert scene["location_name"] == "The Shire"
    assert [item[item["kind"]]["involved_names"] for item in reply["items"]] == [
        ["Sam", "The Shire"],
        ["Frodo", "The Shire"],
    ]


async def test_a_scene_without_a_place_has_no_name_of_one() -> None:
    stage = await a_stage()
    await stage.world.call(
        "mongodb_create_scene",
        "Orchestrator",
        story_id=stage.story_id,
        universe_id=stage.world.universe_id,
        title="Nowhere",
        participating_entities=[stage.frodo],
    )
    (scene,) = (await stage.world.call("mongodb_query_scenes"))["scenes"]
    assert (scene["location_ref"], scene["location_name"]) == (None, None)


async def test_an_item_owner_is_found_by_canon_search() -> None:
    stage = await a_stage()
    world = stage.world
    blade = await world.entity("Sting", entity_type="object")
    edge = await world.relation(stage.frodo, "WIELDS", blade)
    asked = {"query_text": "who wields Sting", "universe_id": world.universe_id}

    found = (await world.call("qdrant_search_canon", **asked))["results"]
    (only,) = (await world.call("qdrant_search_canon", **asked, kinds=["relation"]))["results"]
    without = (await world.call("qdrant_search_canon", **asked, kinds=["entity"]))["results"]

    assert {edge, blade} <= {hit["id"] for hit in found}
    assert only["text"] == "Frodo wields Sting"
    assert (only["payload"]["from_name"], only["payload"]["to_name"]) == ("Frodo", "Sting")
    assert [hit["id"] for hit in without] == [blade]


async def test_relations_are_searched_in_every_visible_universe() -> None:
    stage = await a_stage()
    world = stage.world
    asked: dict[str, Any] = {"query_text": "whom Frodo knows", "kinds": ["relation"]}
    unseen = await world.refused("qdrant_search_canon", code=-32002, universe_id=NOWHERE, **asked)
    edge = await world.relation(stage.frodo, "KNOWS", stage.sam)
    everywhere = await world.call("qdrant_search_canon", **asked)

    assert unseen["code"] == "universe.unknown"
    assert [hit["id"] for hit in everywhere["results"]] == [edge]


async def test_a_context_is_as_long_as_requested() -> None:
    stage, scene_id = await a_long_campaign()
    whole, short = (
        await assemble_context(stage, scene_id),
        await assemble_context(stage, scene_id, tokens=800),
    )

    assert (short["metadata"]["tokens"]["budget"], whole["metadata"]["tokens"]["budget"]) == (
        800,
        stage.world.canon.policy.context.tokens,
    )
    assert short["metadata"]["tokens"]["used"] <= 800
    assert len(str(short)) < len(str(whole)) / 2
