"""Secret ends: what is said to all to be over, where few know what came next, or never did."""

from typing import Any

import pytest

from canonry.gateway.principal import Principal
from tests.toolsets.narrative.kit import World, a_world
from tests.toolsets.narrative.test_audiences import PIP, a_secret_source
from tests.toolsets.narrative.test_secret_timelines import (
    FOR_PIP,
    KNOWING,
    STRANGER,
    ann_and_three_places,
    places_seen,
    propose_move,
    state_seen,
)

pytestmark = pytest.mark.anyio


async def stays(world: World, ann: str, who: Principal) -> list[tuple[str, str | None]]:
    """From which year until which she was anywhere, as somebody sees it; None: not known, or yet.

    The year is followed by a star where she is there now.
    """
    asked = {"entity_id": ann, "rel_type": "LOCATED_IN", "current_only": False, "detail": True}
    reply = await world.gateway.call("neo4j_query_relationships", asked, who)
    assert reply.error is None, reply.text
    listed = [one for one in reply.body["relationships"] if one["canon_level"] == "canon"]
    found = [
        ((one["since"] or "")[:4] + "*" * one["current"], one["until"] and one["until"][:4])
        for one in listed
    ]
    return sorted(found)


@pytest.mark.parametrize(
    ("until", "to_all", "to_those_who_know"),
    [(None, None, "1402"), ("1401", "1401", "1401"), ("1403", "1403", "1402")],
)
async def test_a_public_end_holds_at_the_latest_when_the_next_begins(
    until: str | None, to_all: str | None, to_those_who_know: str
) -> None:
    world = await a_world()
    ann, (inn, mill, _keep) = await ann_and_three_places(world)
    shown = await propose_move(world, ann, inn, 1400)
    await propose_move(world, ann, mill, 1402, **FOR_PIP)

    when = {} if until is None else {"until": f"{until}-01-01T00:00:00Z"}
    await world.call("neo4j_end_relationship", relationship_id=shown, reason="all saw it", **when)

    assert await stays(world, ann, STRANGER) == [("1400", to_all)]
    assert await stays(world, ann, KNOWING) == [("1400", to_those_who_know), ("1402*", None)]


@pytest.mark.parametrize("until", [None, "1401", "1403"])
async def test_a_public_end_stays_when_a_secret_successor_is_retracted(
    until: str | None,
) -> None:
    world = await a_world()
    ann, (inn, mill, _keep) = await ann_and_three_places(world)
    shown = await propose_move(world, ann, inn, 1400)
    secret = await propose_move(world, ann, mill, 1402, **FOR_PIP)
    when = {} if until is None else {"until": f"{until}-01-01T00:00:00Z"}
    await world.call("neo4j_end_relationship", relationship_id=shown, reason="all saw it", **when)

    await world.call("neo4j_retcon_thing", id=secret, reason="it never was")

    assert await stays(world, ann, STRANGER) == [("1400", until)]
    assert await stays(world, ann, KNOWING) == [("1400", until)]


async def state_move(
    world: World, story: str, order: int, moved: tuple[str, str], year: int, **more: Any
) -> str:
    """Tell in a scene of its own that she moved somewhere then; the id of what that becomes."""
    ann, place = moved
    scene = await world.call(
        "mongodb_create_scene",
        "Orchestrator",
        story_id=story,
        universe_id=world.universe_id,
        title=f"Scene {order}",
        order=order,
        participating_entities=[],
        time_ref=f"{year}-01-01T00:00:00Z",
    )
    await world.call(
        "mongodb_create_proposed_change",
        "Resolver",
        scene_id=scene["scene_id"],
        type="relationship",
        content={"from": ann, "type": "LOCATED_IN", "to": place, **more},
        evidence=[{"type": "source", "ref_id": world.source_id}],
        confidence=1.0,
        authority="gm",
    )
    reply = await world.call("composite_canonize_scene", scene_id=scene["scene_id"])
    (verdict,) = reply["verdicts"]
    assert verdict["status"] == "accepted", verdict
    return str(verdict["canonical_id"])


async def test_a_reader_informed_of_a_return_knows_it_despite_later_statements() -> None:
    world = await a_world()
    story = await world.story()
    ann, (inn, mill, _keep) = await ann_and_three_places(world)
    await state_move(world, story, 1, (ann, inn), 1400)
    await state_move(world, story, 3, (ann, inn), 1402, **FOR_PIP)

    await state_move(world, story, 2, (ann, mill), 1401, **FOR_PIP)

    assert await places_seen(world, ann, STRANGER) == [(inn, True)]
    assert await places_seen(world, ann, KNOWING) == [(inn, False), (mill, False), (inn, True)]


async def test_a_no_longer_hidden_item_stops_affecting_public_knowledge() -> None:
    world = await a_world()
    story = await world.story()
    ann, (inn, _mill, keep) = await ann_and_three_places(world)
    kept = await state_move(world, story, 3, (ann, keep), 1400)
    await world.relation(ann, "LOCATED_IN", inn, authority="gm")
    await state_move(world, story, 1, (ann, inn), 1401)
    assert await stays(world, ann, STRANGER) == [("*", None), ("1400", "1401"), ("1401", None)]

    few = FOR_PIP["audience"]
    await world.call("neo4j_set_audience", id=kept, audience=few, reason="better not known")

    assert await stays(world, ann, STRANGER) == [("", "1401"), ("1401*", None)]
    assert await stays(world, ann, KNOWING) == [("*", None), ("1400", "1401"), ("1401", None)]


async def test_a_revealed_item_that_is_retracted_is_retracted_for_all() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    letters = await a_secret_source(world, f"player:{PIP}")
    reply = await world.call(
        "neo4j_update_entity_state",
        entity_id=ann,
        state_tag_changes={"add": ["cursed"]},
        authority="gm",
        evidence_refs=[f"source:{letters}"],
    )
    (fact,) = reply["fact_ids"]
    await world.call("neo4j_set_audience", id=fact, audience=["everyone"], reason="it came out")
    assert await state_seen(world, ann, STRANGER) == (["cursed"], {"Ann is cursed"})

    await world.call("neo4j_retcon_thing", id=fact, reason="it never was")

    for who in (STRANGER, KNOWING):
        assert await state_seen(world, ann, who) == ([], set())
