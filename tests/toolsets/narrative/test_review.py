"""Reviewing what was proposed, as agents call it: foresee, list, waive, decide after the scene."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import NOWHERE, World, a_world
from tests.toolsets.narrative.test_canonization import a_scene, propose_content
from tests.toolsets.narrative.test_canonizing_proposals import brought_up

pytestmark = pytest.mark.anyio
CLOSED: dict[str, Any] = {"evaluate_proposals": False}


async def a_revival(world: World) -> tuple[str, str]:
    """Bo is dead by the game master's word; a player revives him, and the scene is closed."""
    bo = await world.entity("Bo", state_tags=["dead"])
    scene = await a_scene(world)
    revival = await propose_content(
        world,
        scene,
        "state_change",
        {"entity_id": bo, "add": ["alive"]},
        authority="player",
        evidence=[{"type": "source", "ref_id": world.source_id}],
    )
    await world.call("composite_canonize_scene", scene_id=scene)
    return bo, revival


async def a_funeral(world: World) -> str:
    """Bo is dead, and an event involves him without letting him act; it is canon."""
    bo = await world.entity("Bo", state_tags=["dead"])
    content = {"title": "The funeral", "involved_entity_ids": [bo]}
    funeral = await brought_up(world, "event", content)
    await world.call("composite_canonize_proposals", proposal_ids=[funeral])
    return funeral


async def test_proposals_left_by_a_closed_scene_are_judged_afterwards() -> None:
    world = await a_world()
    scene = await a_scene(world)
    gimli = {"name": "Gimli", "entity_type": "character", "ref": "$g"}
    entity = await propose_content(world, scene, "entity", gimli)
    fact = await propose_content(
        world, scene, "fact", {"statement": "Gimli is here", "entity_ids": ["$g"]}
    )
    await world.call("composite_canonize_scene", scene_id=scene, **CLOSED)

    first = await world.call("composite_canonize_proposals", proposal_ids=[entity])
    reply = await world.call("composite_canonize_proposals", proposal_ids=[fact])

    assert first["accepted_proposals"] == [entity]
    assert reply["accepted_proposals"] == [fact]
    facts = await world.call("neo4j_query_facts", universe_id=world.universe_id, detail=True)
    (known,) = facts["facts"]
    assert known["scene_id"] == scene
    assert known["involved_entity_ids"] == first["canonical_entity_ids"]


async def test_the_keeper_overrules_a_review_and_effects_are_written() -> None:
    world = await a_world()
    bo, revival = await a_revival(world)
    arguments = {"proposal_id": revival, "decision": "accepted"}

    data = await world.refused("mongodb_evaluate_proposal", code=-32003, **arguments)
    await world.refused(
        "mongodb_evaluate_proposal", agent="Narrator", code=-32001, **arguments, rationale="x"
    )
    arguments["rationale"] = "the elves brought him back"
    reply = await world.call("mongodb_evaluate_proposal", **arguments)
    again = await world.call("mongodb_evaluate_proposal", **arguments)

    assert data["code"] == "proposal.canonical-id-missing"
    assert reply["status"] == "accepted"
    assert again == reply
    assert (await world.call("neo4j_get_entity", entity_id=bo))["state_tags"] == ["alive"]
    listed = await world.call("mongodb_query_proposals", detail=True, status="accepted")
    (proposal,) = listed["proposals"]
    assert proposal["rationale"] == "the elves brought him back"
    assert proposal["decision"]["rule"] == "keeper:evaluation"
    explained = await world.call("neo4j_explain", id=proposal["canonical_id"])
    assert explained["proposal"]["proposal_id"] == revival


async def test_the_keeper_overrules_scores_but_no_law_and_no_missing_item() -> None:
    world = await a_world()
    await world.call(
        "neo4j_create_axiom",
        universe_id=world.universe_id,
        statement="Nobody is undead",
        domain="magic",
        authority="gm",
        evidence_refs=[f"source:{world.source_id}"],
        constraint={"kind": "forbidden_tag", "values": ["undead"]},
    )
    bo = await world.entity("Bo")
    weak = await brought_up(
        world, "fact", {"statement": "It rains"}, authority="system", confidence=0.1
    )
    forbidden = await brought_up(world, "state_change", {"entity_id": bo, "add": ["undead"]})
    lost = await brought_up(world, "fact", {"statement": "x", "entity_ids": [NOWHERE]})
    because = {"decision": "accepted", "rationale": "I say so"}

    reply = await world.call("mongodb_evaluate_proposal", proposal_id=weak, **because)

    assert reply["status"] == "accepted"
    facts = await world.call("neo4j_query_facts", universe_id=world.universe_id)
    assert [one["statement"] for one in facts["facts"]] == ["It rains"]
    for one, rule in ((forbidden, "gate:axiom-holds"), (lost, "gate:references-exist")):
        data = await world.refused(
            "mongodb_evaluate_proposal", code=-32004, proposal_id=one, **because
        )
        assert (data["code"], data["rule"]) == ("proposal.not-writable", rule)
        kept = await world.call("mongodb_query_proposals", detail=True, status="pending")
        assert one in [each["proposal_id"] for each in kept["proposals"]]


async def test_a_preview_gives_the_verdicts_of_canonizing_and_writes_nothing() -> None:
    world = await a_world()
    bo = await world.entity("Bo", state_tags=["dead"])
    scene = await a_scene(world)
    cited = {"authority": "player", "evidence": [{"type": "source", "ref_id": world.source_id}]}
    said = (
        ("entity", {"name": "Gimli", "entity_type": "character", "ref": "$g"}),
        ("fact", {"statement": "Gimli is here", "entity_ids": ["$g"]}),
        ("state_change", {"entity_id": bo, "add": ["alive"]}),
        ("event", {"title": "Bo walks", "actor_ids": [bo]}),
    )
    ids = [await propose_content(world, scene, kind, content, **cited) for kind, content in said]
    heads = await world.heads()

    predicted = await world.call("composite_get_verdicts", scene_id=scene)

    assert await world.heads() == heads
    statuses = [each["status"] for each in predicted["verdicts"]]
    assert statuses == ["accepted", "accepted", "needs_review", "rejected"]
    done = await world.call("composite_canonize_scene", scene_id=scene)
    assert predicted["verdicts"] == done["verdicts"]
    assert [each["proposal_id"] for each in predicted["verdicts"]] == ids
    await world.refused("composite_get_verdicts", code=-32006, scene_id=scene)


async def test_a_preview_is_of_a_scene_or_of_proposals() -> None:
    world = await a_world()
    loose = [await brought_up(world, "fact", {"statement": f"Fact {n}"}) for n in range(2)]

    predicted = await world.call("composite_get_verdicts", proposal_ids=loose)
    done = await world.call("composite_canonize_proposals", proposal_ids=loose)

    assert predicted["verdicts"] == done["verdicts"]
    wrong: list[dict[str, Any]] = [{}, {"scene_id": NOWHERE, "proposal_ids": loose}]
    for arguments in wrong:
        data = await world.refused("composite_get_verdicts", code=-32003, **arguments)
        assert data["code"] == "preview.of-what"


async def test_the_review_list_has_reasons_filters_and_pages() -> None:
    world = await a_world()
    _, revival = await a_revival(world)
    funeral = await a_funeral(world)
    unjudged = await brought_up(world, "fact", {"statement": "It rains"})
    await brought_up(await world.another_universe(), "fact", {"statement": "It snows"})
    universe = {"universe_id": world.universe_id}

    listed = await world.call("mongodb_query_reviews", detail=True, **universe)

    asks = {each["proposal_id"]: each["asks"] for each in listed["proposals"]}
    assert asks == {revival: ["needs_review"], funeral: ["possible"], unjudged: ["pending"]}
    (why,) = [each for each in listed["proposals"] if each["proposal_id"] == revival]
    assert why["review"]["rule"] == "gate:state-tags-exclusive"
    assert why["review"]["rationale"].startswith("needs review")
    assert why["review"]["conflict_details"][0]["grade"] == "contradiction"
    for wanted, found in asks.items():
        only = await world.call("mongodb_query_reviews", detail=True, **universe, asks=found)
        assert [each["proposal_id"] for each in only["proposals"]] == [wanted]
    page = await world.call("mongodb_query_reviews", detail=True, **universe, limit=1, offset=1)
    assert [each["proposal_id"] for each in page["proposals"]] == [funeral]
    assert page["total"] == 3


async def test_a_waived_conflict_is_recorded_and_not_asked_again() -> None:
    world = await a_world()
    funeral = await a_funeral(world)
    ask: dict[str, Any] = {"asks": ["possible"]}
    (listed,) = (await world.call("mongodb_query_reviews", detail=True, **ask))["proposals"]
    (doubt,) = listed["possible_conflicts"]
    arguments = {"proposal_id": funeral, "conflict_id": doubt["id"], "reason": "he is buried"}

    await world.refused("mongodb_waive_conflict", agent="Narrator", code=-32001, **arguments)
    waived = await world.call("mongodb_waive_conflict", **arguments)
    heads = await world.heads()
    await world.call("mongodb_waive_conflict", **arguments)

    assert waived["conflict_id"] == doubt["id"]
    assert await world.heads() == heads
    assert (await world.call("mongodb_query_reviews", detail=True, **ask))["total"] == 0
    (kept,) = (await world.call("mongodb_query_proposals", detail=True))["proposals"]
    assert kept["waived"] == [doubt["id"]]
    data = await world.refused(
        "mongodb_waive_conflict", code=-32004, **{**arguments, "conflict_id": NOWHERE}
    )
    assert data["code"] == "conflict.not-possible"
