"""Events: who took part, what came of them, and that nothing causes itself."""

from itertools import pairwise
from typing import Any

import pytest

from canonry.canon.commands import facts as link_causes
from tests.toolsets.narrative.kit import NOWHERE, World, a_world

pytestmark = pytest.mark.anyio

T1, T2, T3 = (f"2020-01-0{day}T00:00:00Z" for day in (1, 2, 3))


async def link_events(world: World, cause: str, effect: str) -> None:
    await world.call("neo4j_create_causal_link", cause_event_id=cause, effect_event_id=effect)


async def refuse_link(world: World, cause: str, effect: str, *, code: int = -32004) -> str:
    data = await world.refused(
        "neo4j_create_causal_link", code=code, cause_event_id=cause, effect_event_id=effect
    )
    return str(data["code"])


async def a_scene(world: World, **more: Any) -> str:
    arguments = {"universe_id": world.universe_id, "title": "A scene", **more}
    reply = await world.call(
        "mongodb_create_scene", "Orchestrator", participating_entities=[], **arguments
    )
    return str(reply["scene_id"])


async def test_an_event_reads_as_it_was_created() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    war = await world.event("War", ann, time_ref=T2)

    made = await world.event(
        "Murder", ann, time_ref=T1, severity=9, causes_event_ids=[war], description="In the inn."
    )

    murder, later = (await world.call("neo4j_query_events", "Narrator"))["events"]
    assert murder["event_id"] == made
    assert later["event_id"] == war
    assert (murder["title"], murder["description"]) == ("Murder", "In the inn.")
    assert (murder["severity"], murder["time_ref"]) == (9, T1)
    assert murder["causes_event_ids"] == [war]
    assert murder["involved_entity_ids"] == [ann]


async def test_severity_is_five_by_default() -> None:
    world = await a_world()
    await world.event("Rain", await world.entity("Ann"))

    (event,) = (await world.call("neo4j_query_events"))["events"]

    assert event["severity"] == 5


async def test_an_event_already_in_canon_is_written_with_a_warning() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    first = await world.event("War", ann, time_ref=T1)
    story = await world.story()
    here, there = [await a_scene(world, story_id=story) for _ in range(2)]

    async def warned(title: str, *involved: str, **more: Any) -> list[str]:
        backed = world.backed(entities=involved, title=title, description=f"{title}.", **more)
        return list((await world.call("neo4j_create_event", **backed))["warnings"])

    (same,) = await warned("WAR", ann, time_ref=T1)
    rain = await world.event("Rain", ann, scene_id=here)
    (perhaps,) = await warned("Rain", ann, scene_id=there)

    assert same == f"The event {first} already records this."
    assert perhaps == f"This may be the event {rain}."
    assert await warned("war", ann, time_ref=T2) == []
    assert await warned("war", ben, time_ref=T1) == await warned("Peace", ann) == []


async def test_effects_exist_here_once_and_not_before_their_cause() -> None:
    world = await a_world()
    other = await world.another_universe()
    ann = await world.entity("Ann")
    early = await world.event("Early", ann, time_ref=T1)
    foreign = await other.event("Foreign", await other.entity("Zed"))
    wrong = [
        ([NOWHERE], -32002, "event.unknown"),
        ([foreign], -32004, "space.foreign"),
        ([early], -32004, "event.effect-before-cause"),
        ([early, early.upper()], -32004, "event.repeated-effect"),
    ]

    for causes, number, code in wrong:
        data = await world.refused(
            "neo4j_create_event",
            code=number,
            **world.backed(entities=(ann,), title="T", description="D", time_ref=T2),
            causes_event_ids=causes,
        )
        assert data["code"] == code


@pytest.mark.parametrize(
    ("spoiled", "code", "path"),
    [
        ({"severity": 11}, -32003, "/severity"),
        ({"severity": -1}, -32003, "/severity"),
        ({"title": " "}, -32003, "/title"),
        ({"description": "x" * 2001}, -32003, "/description"),
        ({"involved_entity_ids": []}, -32003, "/involved_entity_ids"),
        ({"scene_id": NOWHERE}, -32002, None),
        ({"universe_id": NOWHERE}, -32002, None),
    ],
)
async def test_a_wrong_argument_is_named(
    spoiled: dict[str, Any], code: int, path: str | None
) -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    arguments = {**world.backed(entities=(ann,), title="T", description="D"), **spoiled}

    data = await world.refused("neo4j_create_event", code=code, **arguments)

    assert data.get("path") == path


async def test_an_event_of_a_scene_is_found_by_it() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    scene = await a_scene(world, story_id=await world.story())
    made = await world.event("Toast", ann, scene_id=scene)
    await world.event("Elsewhere", ann)

    found = await world.call("neo4j_query_events", scene_id=scene, entity_id=ann)

    assert [event["event_id"] for event in found["events"]] == [made]
    await world.refused("neo4j_query_events", code=-32002, scene_id=NOWHERE)


async def test_a_scene_of_another_universe_is_refused() -> None:
    world = await a_world()
    other = await world.another_universe()
    scene = await a_scene(other, story_id=await other.story())
    arguments = world.backed(entities=(await world.entity("Ann"),), title="T", description="D")

    data = await world.refused("neo4j_create_event", code=-32004, **arguments, scene_id=scene)

    assert data["path"] == "/scene_id"


async def test_a_completed_scene_may_still_be_referred_to() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    scene = await a_scene(world, story_id=await world.story())
    await world.call(
        "mongodb_finalize_scene", scene_id=scene, canonical_outcome_ids=[], summary="Done."
    )
    before = await world.call("mongodb_get_scene", scene_id=scene)

    await world.event("Found out later", ann, scene_id=scene)

    assert await world.call("mongodb_get_scene", scene_id=scene) == before


async def test_a_cause_is_linked_to_its_effect() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    cause, effect = await world.event("Spark", ann), await world.event("Fire", ann)

    await link_events(world, cause, effect)

    spark, fire = (await world.call("neo4j_query_events"))["events"]
    assert spark["causes_event_ids"] == [effect]
    assert fire["causes_event_ids"] == []


async def test_no_event_causes_itself_at_any_distance() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    chain = [await world.event(f"Link {n}", ann) for n in range(5)]
    for cause, effect in pairwise(chain):
        await link_events(world, cause, effect)

    assert await refuse_link(world, chain[0], chain[0]) == "event.causes-itself"
    assert await refuse_link(world, chain[1], chain[0]) == "event.causal-cycle"
    assert await refuse_link(world, chain[4], chain[0]) == "event.causal-cycle"
    await link_events(world, chain[0], chain[4])


async def test_a_link_is_made_once_in_time_order_within_a_universe() -> None:
    world = await a_world()
    other = await world.another_universe()
    ann = await world.entity("Ann")
    early = await world.event("Early", ann, time_ref=T1)
    late = await world.event("Late", ann, time_ref=T3)
    foreign = await other.event("Foreign", await other.entity("Zed"))
    await link_events(world, early, late)

    assert await refuse_link(world, early, late) == "event.repeated-effect"
    assert await refuse_link(world, late, early) == "event.effect-before-cause"
    assert await refuse_link(world, early, foreign) == "space.foreign"
    assert await refuse_link(world, early, NOWHERE, code=-32002) == "event.unknown"


async def test_a_chain_too_long_to_search_is_not_extended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_causes, "WALK_MAX", 3)
    world = await a_world()
    ann = await world.entity("Ann")
    chain = [await world.event(f"Link {n}", ann) for n in range(5)]
    for cause, effect in reversed(list(pairwise(chain[1:]))):
        await link_events(world, cause, effect)

    assert await refuse_link(world, chain[0], chain[1]) == "event.chain-too-long"
