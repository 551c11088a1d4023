"""Calendars through the tools: declared, read back, and spoken wherever a time is taken."""

from typing import Any

import pytest

from canonry.values.moments import render_instant
from tests.domain.calendars.examples import ALDMOOR, MONTHS, read_time
from tests.toolsets.narrative.kit import NOWHERE
from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio


async def in_aldmoor() -> Stage:
    """The usual stage in a universe that counts its days in its own way."""
    stage = await a_stage()
    await stage.world.call(
        "neo4j_declare_calendar", universe_id=stage.world.universe_id, calendar=MONTHS
    )
    return stage


def time_of(said: str) -> str:
    return render_instant(read_time(said, ALDMOOR))


async def test_a_calendar_is_declared_with_the_universe_and_read_back() -> None:
    stage = await a_stage()
    made = await stage.world.call("neo4j_create_universe", name="Aldmoor", calendar=MONTHS)

    shown = await stage.world.call("neo4j_get_universe", universe_id=made["universe_id"])

    assert shown["calendar"] == MONTHS
    usual = await stage.world.call("neo4j_get_universe", universe_id=stage.world.universe_id)
    assert usual.get("calendar") is None


async def test_a_calendar_is_declared_later_and_removed() -> None:
    stage = await in_aldmoor()
    universe = {"universe_id": stage.world.universe_id}
    assert (await stage.world.call("neo4j_get_universe", **universe))["calendar"] == MONTHS
    scene_id = await stage.scene()
    dated = {"scene_id": scene_id, "time_ref": "3 Frostmoon 1402 AE"}
    await stage.world.call("mongodb_update_scene", **dated)

    await stage.world.call("neo4j_declare_calendar", **universe, calendar=None)

    assert (await stage.world.call("neo4j_get_universe", **universe)).get("calendar") is None
    shown = await stage.world.call("mongodb_get_scene", scene_id=scene_id)
    assert shown["time_ref"] == time_of("3 Frostmoon 1402 AE")
    await stage.world.refused("mongodb_update_scene", code=-32003, **dated)
    earlier = {"scene_id": scene_id, "time_ref": "15 March 44 BC"}
    await stage.world.call("mongodb_update_scene", **earlier)
    shown = await stage.world.call("mongodb_get_scene", scene_id=scene_id)
    assert shown["time_ref"] == "-000043-03-15T00:00:00Z"


async def test_an_invalid_calendar_is_refused_with_its_path() -> None:
    stage = await a_stage()
    wrong = {"months": [{"name": "M", "days": -1}]}

    for tool, more in (
        ("neo4j_create_universe", {"name": "Aldmoor"}),
        ("neo4j_declare_calendar", {"universe_id": stage.world.universe_id}),
    ):
        reply = await stage.world.refused(tool, code=-32003, **more, calendar=wrong)
        assert "/calendar/months/0/days" in str(reply)
    await stage.world.refused(
        "neo4j_declare_calendar", code=-32002, universe_id=NOWHERE, calendar=MONTHS
    )


async def test_direct_writes_and_reads_accept_time_words() -> None:
    stage = await in_aldmoor()
    universe = stage.world.universe_id
    backed: dict[str, Any] = {
        "confidence": 1.0,
        "authority": "gm",
        "evidence_refs": stage.world.evidence,
    }
    fact = await stage.world.call(
        "neo4j_create_fact", universe_id=universe, statement="Frodo leaves",
        involved_entity_ids=[stage.frodo], time_ref="3 Frostmoon 1402 AE", **backed,
    )  # fmt: skip
    event = await stage.world.call(
        "neo4j_create_event", universe_id=universe, title="A feast", description="They eat",
        involved_entity_ids=[stage.frodo], time_ref="Day of the Dead 12 BE", **backed,
    )  # fmt: skip

    found = await stage.world.call(
        "neo4j_query_facts", detail=True, universe_id=universe,
        time_range={"start": "2 Frostmoon 1402 AE", "end": "4 Frostmoon 1402 AE"},
    )  # fmt: skip
    assert [each["fact_id"] for each in found["facts"]] == [fact["fact_id"]]
    assert found["facts"][0]["time_ref"] == time_of("3 Frostmoon 1402 AE")
    reply = await stage.world.call("neo4j_get_timeline", universe_id=universe, end="1 AE")
    assert event["event_id"] in str(reply)
    assert fact["fact_id"] not in str(reply)
    assert time_of("Day of the Dead 12 BE") < "0"


async def test_proposals_accept_and_keep_time_words() -> None:
    stage = await in_aldmoor()
    scene_id = await stage.scene()
    await stage.world.call(
        "mongodb_update_scene", scene_id=scene_id, time_ref="3 Frostmoon 1402 AE 10:00"
    )
    content = {"statement": "It snows", "entity_ids": [stage.frodo], "time_ref": "two hours later"}
    proposal_id = await stage.propose(scene_id, content=content)

    (kept,) = (await stage.world.call("mongodb_get_pending_proposals", scene_id=scene_id))[
        "proposals"
    ]
    noon = time_of("3 Frostmoon 1402 AE 12:00")
    assert kept["content"]["time_ref"] == noon
    reply = await stage.world.call("composite_canonize_scene", scene_id=scene_id)
    assert reply["accepted_proposals"] == [proposal_id]
    found = await stage.world.call(
        "neo4j_query_facts", detail=True, universe_id=stage.world.universe_id
    )
    assert [each["time_ref"] for each in found["facts"]] == [noon]


async def test_relative_times_count_from_the_present_of_their_scene() -> None:
    stage = await in_aldmoor()
    first, second = await stage.scene("First"), await stage.scene("Second")
    alone = {"scene_id": second, "time_ref": "next day"}
    refused = await stage.world.refused("mongodb_update_scene", code=-32003, **alone)
    assert "/time_ref" in str(refused)

    await stage.world.call("mongodb_update_scene", scene_id=first, time_ref="30 Leaffall 1402 AE")
    await stage.world.call("mongodb_update_scene", **alone)

    shown = await stage.world.call("mongodb_get_scene", scene_id=second)
    assert shown["time_ref"] == time_of("1 Frostmoon 1403 AE")
    await stage.world.call(
        "mongodb_update_scene", scene_id=second, time_ref="three days before that"
    )
    shown = await stage.world.call("mongodb_get_scene", scene_id=second)
    assert shown["time_ref"] == time_of("28 Leaffall 1402 AE")


async def test_a_new_scene_follows_the_latest_time_of_its_story() -> None:
    stage = await in_aldmoor()
    first, flashback = await stage.scene("First"), await stage.scene("Flashback")
    for scene_id, time in ((first, "30 Leaffall 1402 AE"), (flashback, "30 Leaffall 1399 AE")):
        await stage.world.call("mongodb_update_scene", scene_id=scene_id, time_ref=time)

    third = await stage.scene("Third", time_ref="next day")

    shown = await stage.world.call("mongodb_get_scene", scene_id=third)
    assert shown["time_ref"] == time_of("1 Frostmoon 1403 AE")


async def test_as_of_reads_accept_time_words() -> None:
    stage = await in_aldmoor()
    for tag, year in (("wounded", "1402 AE"), ("healed", "1403 AE")):
        scene_id = await stage.scene(tag)
        content = {"entity_id": stage.frodo, "add": [tag], "time_ref": year}
        await stage.propose(scene_id, type="state_change", content=content)
        await stage.world.call("composite_canonize_scene", scene_id=scene_id)

    then = await stage.world.call("neo4j_get_entity_at", entity_id=stage.frodo, at="5 Thaw 1402 AE")

    assert then["state_tags"] == ["wounded"]


@pytest.mark.parametrize(
    ("said", "words"),
    [("3 Frostmon 1402 AE", "Did you mean Frostmoon"), ("whenever", "Write it like")],
)
async def test_an_error_names_the_months_and_the_path(said: str, words: str) -> None:
    stage = await in_aldmoor()
    scene_id = await stage.scene()
    refused = await stage.world.refused(
        "mongodb_update_scene", code=-32003, scene_id=scene_id, time_ref=said
    )
    assert "/time_ref" in str(refused)
    outcome = await stage.world.outcome(
        "mongodb_create_proposed_change",
        stage.proposal(scene_id, content={"statement": "x", "time_ref": said}),
    )
    assert outcome.error is not None
    assert words in outcome.text
    assert "/content/time_ref" in outcome.text


async def test_times_beyond_the_years_of_rfc_3339_are_kept_and_shown() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()

    for said, shown in (
        ("12025 AD", "+012025-01-01T00:00:00Z"),
        ("44 BC", "-000043-01-01T00:00:00Z"),
        ("+012025-06-01T00:00:00Z", "+012025-06-01T00:00:00Z"),
    ):
        await stage.world.call("mongodb_update_scene", scene_id=scene_id, time_ref=said)
        kept = await stage.world.call("mongodb_get_scene", scene_id=scene_id)
        assert kept["time_ref"] == shown
    refused = await stage.world.refused(
        "mongodb_update_scene", code=-32003, scene_id=scene_id, time_ref="400000 BC"
    )
    assert "time.out-of-range" in str(refused)


async def test_words_of_times_are_kept_on_facts_events_and_scenes() -> None:
    stage = await in_aldmoor()
    said, plain = "3 Frostmoon 1402 AE", "1402-01-01T00:00:00Z"
    scene_id = await stage.scene(time_ref=said)
    fact = await stage.world.fact("Frodo left", stage.frodo, time_ref=said)
    event = await stage.world.event("A meal", stage.frodo, time_ref=said)
    for content in (
        {"statement": "Frodo ate", "time_ref": "next day"},
        {"statement": "Frodo drank"},
        {"statement": "Frodo slept", "time_ref": plain},
    ):
        await stage.propose(scene_id, content={**content, "entity_ids": [stage.frodo]})
    await stage.world.call("composite_canonize_scene", scene_id=scene_id)

    shown = await stage.world.call("mongodb_get_scene", scene_id=scene_id)
    facts = (await stage.world.call("neo4j_query_facts", detail=True, entity_id=stage.frodo))[
        "facts"
    ]
    (reported,) = (
        await stage.world.call("neo4j_query_events", detail=True, entity_id=stage.frodo)
    )["events"]

    assert (shown["time_ref"], shown["time_words"]) == (time_of(said), said)
    assert (reported["event_id"], reported["time_words"], reported["time_ref"]) == (
        event,
        said,
        time_of(said),
    )
    assert fact in {each["fact_id"] for each in facts}
    assert {each["statement"]: each["time_words"] for each in facts} == {
        "Frodo left": said,
        "Frodo ate": "next day",
        "Frodo drank": said,
        "Frodo slept": None,
    }

    open_scene = await stage.scene()
    await stage.world.call("mongodb_update_scene", scene_id=open_scene, time_ref="next day")
    shown = await stage.world.call("mongodb_get_scene", scene_id=open_scene)
    assert shown["time_words"] == "next day"
    await stage.world.call("mongodb_update_scene", scene_id=open_scene, time_ref=plain)
    shown = await stage.world.call("mongodb_get_scene", scene_id=open_scene)
    assert shown["time_words"] is None


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("14:30", "3 Frostmoon 1402 AE 14:30"),
        ("12 BE", "1 Frostmoon 12 BE"),
        ("5 Thaw 12 BE 14:30", "5 Thaw 12 BE 14:30"),
        ("the next morning", "4 Frostmoon 1402 AE 06:00"),
        ("tomorrow at 09:00", "4 Frostmoon 1402 AE 09:00"),
        ("next Thaw", "1 Thaw 1402 AE"),
        ("about 1300 AE", "1 Frostmoon 1300 AE"),
    ],
)
async def test_proposals_and_scenes_accept_phrases_of_the_game_calendar(
    said: str, means: str
) -> None:
    stage = await in_aldmoor()
    scene_id = await stage.scene(time_ref="3 Frostmoon 1402 AE 10:00")
    await stage.propose(scene_id, content={"statement": "It snows", "time_ref": said})
    later = await stage.scene("Later", time_ref=said)
    await stage.world.call("composite_canonize_scene", scene_id=scene_id)

    (fact,) = (
        await stage.world.call(
            "neo4j_query_facts", detail=True, universe_id=stage.world.universe_id
        )
    )["facts"]
    scene = await stage.world.call("mongodb_get_scene", scene_id=later)

    assert (fact["time_ref"], fact["time_words"]) == (time_of(means), said)
    assert (scene["time_ref"], scene["time_words"]) == (time_of(means), said)
