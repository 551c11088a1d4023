"""The canonization tool as agents call it: what it answers, what it refuses, and why."""

from typing import Any

import pytest

from canonry.values.policy import Policy, Scoring
from tests.toolsets.narrative.kit import NOWHERE, World, a_world

pytestmark = pytest.mark.anyio


async def a_scene(world: World, **more: Any) -> str:
    """An active scene of a new story."""
    story = await world.story()
    reply = await world.call(
        "mongodb_create_scene",
        agent="Orchestrator",
        story_id=story,
        universe_id=world.universe_id,
        title="At the gate",
        **{"participating_entities": [], **more},
    )
    return str(reply["scene_id"])


async def a_turn(world: World, scene: str, text: str) -> str:
    """Something the game master says."""
    reply = await world.call(
        "mongodb_append_turn", agent="Narrator", scene_id=scene, speaker="gm", text=text
    )
    return str(reply["turn_id"])


async def propose_content(
    world: World, scene: str, kind: str, content: dict[str, Any], **more: Any
) -> str:
    """A proposal by the resolver, by default with the weight of a player."""
    cited = [{"type": "source", "ref_id": world.source_id}]
    arguments = {"evidence": cited, "confidence": 1.0, "authority": "gm", **more}
    reply = await world.call(
        "mongodb_create_proposed_change",
        agent="Resolver",
        scene_id=scene,
        type=kind,
        content=content,
        **arguments,
    )
    return str(reply["proposal_id"])


async def test_a_scene_becomes_canon_and_refusals_have_reasons() -> None:
    world = await a_world()
    frodo = await world.entity("Frodo")
    scene = await a_scene(world, participating_entities=[frodo])
    turn = await a_turn(world, scene, "Frodo is wounded at the gate.")
    cited = {"turn_id": turn, "evidence": [{"type": "turn", "ref_id": turn}]}
    state = await propose_content(
        world,
        scene,
        "state_change",
        {"entity_id": frodo, "tag": "wounded", "action": "add"},
        **cited,
    )
    event = await propose_content(
        world, scene, "event", {"title": "A fight", "entity_ids": [frodo]}, **cited
    )
    weak = await propose_content(
        world,
        scene,
        "fact",
        {"statement": "It rains"},
        authority="system",
        confidence=0.4,
        evidence=[],
    )

    reply = await world.call("composite_canonize_scene", scene_id=scene)

    assert reply["accepted_proposals"] == [state, event]
    assert reply["rejected_proposals"] == [weak]
    assert reply["pending_proposals"] == []
    assert len(reply["canonical_fact_ids"]) == len(reply["canonical_event_ids"]) == 1
    assert reply["summary"] == "Frodo is wounded. A fight."
    by_id = {one["proposal_id"]: one for one in reply["verdicts"]}
    assert by_id[weak]["rule"] == "gate:score-reaches-threshold"
    assert by_id[weak]["score"] == 0.1
    assert by_id[state]["canonical_id"] == reply["canonical_fact_ids"][0]
    entity = await world.call("neo4j_get_entity", entity_id=frodo)
    assert entity["state_tags"] == ["wounded"]
    shown = await world.call("mongodb_get_scene", scene_id=scene)
    assert shown["status"] == "completed"
    assert set(shown["canonical_outcomes"]) >= set(reply["canonical_fact_ids"])


async def test_a_contradiction_names_the_conflicting_item() -> None:
    world = await a_world()
    gollum = await world.entity("Gollum")
    scene = await a_scene(world)
    await propose_content(world, scene, "state_change", {"entity_id": gollum, "add": ["dead"]})
    await world.call("composite_canonize_scene", scene_id=scene)
    later = await a_scene(world)
    acts = await propose_content(
        world, later, "event", {"title": "He steals", "actor": gollum}, authority="player",
        evidence=[{"type": "source", "ref_id": world.source_id}],
    )  # fmt: skip

    reply = await world.call("composite_canonize_scene", scene_id=later)

    (verdict,) = reply["verdicts"]
    assert reply["rejected_proposals"] == [acts]
    assert verdict["rule"] == "gate:actor-alive"
    facts = await world.call("neo4j_query_facts", universe_id=world.universe_id)
    assert verdict["conflicts"] == [facts["facts"][0]["fact_id"]]


async def test_a_completed_scene_is_refused_with_its_own_code() -> None:
    world = await a_world()
    scene = await a_scene(world)
    await world.call("composite_canonize_scene", scene_id=scene)

    data = await world.refused("composite_canonize_scene", scene_id=scene, code=-32006)

    assert data["error"] == "ALREADY_CANONIZED"
    await world.refused("composite_canonize_scene", scene_id=NOWHERE, code=-32002)
    await world.refused("composite_canonize_scene", agent="Narrator", scene_id=scene, code=-32001)


async def test_without_evaluation_proposals_stay_pending() -> None:
    world = await a_world()
    scene = await a_scene(world)
    waiting = await propose_content(world, scene, "fact", {"statement": "x"})

    reply = await world.call("composite_canonize_scene", scene_id=scene, evaluate_proposals=False)

    assert reply["pending_proposals"] == [waiting]
    assert reply["accepted_proposals"] == reply["canonical_fact_ids"] == []


async def test_a_policy_may_let_weak_proposals_wait() -> None:
    world = await a_world(Policy(scoring=Scoring(below="defer")))
    scene = await a_scene(world)
    waiting = await propose_content(
        world, scene, "fact", {"statement": "x"}, authority="system", evidence=[]
    )

    reply = await world.call("composite_canonize_scene", scene_id=scene)

    assert reply["pending_proposals"] == [waiting]
    assert reply["verdicts"][0]["rule"] == "gate:score-reaches-threshold"


async def test_a_review_gives_the_reason_of_each_conflict() -> None:
    world = await a_world()
    bo = await world.entity("Bo", state_tags=["dead"])
    scene = await a_scene(world)
    revival = await propose_content(
        world, scene, "state_change", {"entity_id": bo, "add": ["alive"]}, authority="player",
        evidence=[{"type": "source", "ref_id": world.source_id}],
    )  # fmt: skip

    reply = await world.call("composite_canonize_scene", scene_id=scene)

    assert reply["pending_proposals"] == [revival]
    (verdict,) = reply["verdicts"]
    assert (verdict["status"], verdict["rule"]) == ("needs_review", "gate:state-tags-exclusive")
    (detail,) = verdict["conflict_details"]
    assert verdict["conflicts"] == [detail["id"]]
    assert detail["grade"] == "contradiction"
    assert detail["reason"] in verdict["rationale"]
    listed = await world.call("mongodb_query_proposals", detail=True, scene_id=scene)
    (proposal,) = listed["proposals"]
    assert (proposal["status"], proposal["decision"]) == ("pending", None)
    assert proposal["review"]["conflict_details"] == verdict["conflict_details"]
