"""Proposals: staged by anybody with evidence, normalised at once, decided once."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import NOWHERE
from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio


async def pending_ids(stage: Stage, **more: Any) -> list[str]:
    found = await stage.world.call("mongodb_get_pending_proposals", detail=True, **more)
    return [each["proposal_id"] for each in found["proposals"]]


async def the_proposal(stage: Stage, proposal_id: str) -> dict[str, Any]:
    found = await stage.world.call("mongodb_query_proposals", "Indexer", detail=True)
    (proposal,) = [p for p in found["proposals"] if p["proposal_id"] == proposal_id]
    return dict(proposal)


async def evaluate_proposal(
    stage: Stage, proposal_id: str, decision: str, **more: Any
) -> dict[str, Any]:
    return await stage.world.call(
        "mongodb_evaluate_proposal", proposal_id=proposal_id, decision=decision, **more
    )


@pytest.mark.parametrize(
    "agent",
    [
        "Orchestrator",
        "CanonKeeper",
        "Narrator",
        "ContextAssembly",
        "Resolver",
        "MemoryManager",
        "Indexer",
    ],
)
async def test_any_agent_may_propose(agent: str) -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    reply = await stage.world.call(
        "mongodb_create_proposed_change", agent, **stage.proposal(scene_id)
    )
    assert reply["status"] == "pending"
    proposal = await the_proposal(stage, reply["proposal_id"])
    assert proposal["proposed_by"] == f"{agent.lower()}-001"


async def test_content_is_normalized_and_kept_as_given() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    came = {"entity": stage.frodo, "tag": "brave", "action": "add"}
    one = await stage.propose(scene_id, type="state_change", content=came)
    other = await stage.propose(
        scene_id,
        type="state_change",
        content={"entity_id": stage.frodo.upper(), "changes": {"add": ["brave"], "remove": []}},
    )
    first, second = await the_proposal(stage, one), await the_proposal(stage, other)
    assert first["content"] == second["content"]
    assert first["original_content"] == came


async def test_empty_content_is_refused_at_once_with_its_path() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    for kind, content, path in (
        ("fact", {}, "/content/statement"),
        ("fact", {"statement": "x" * 1_001, "entity_ids": [stage.frodo]}, "/content/statement"),
        ("entity", {"name": "Bilbo"}, "/content/entity_type"),
        ("relationship", {"from": stage.frodo, "to": stage.sam}, "/content/rel_type"),
        ("event", {"title": ""}, "/content/title"),
    ):
        data = await stage.world.refused(
            "mongodb_create_proposed_change",
            code=-32003,
            **stage.proposal(scene_id, type=kind, content=content),
        )
        assert data["path"] == path


async def test_a_turn_of_another_scene_is_refused() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    elsewhere = await stage.turn(await stage.scene("Elsewhere"))
    data = await stage.world.refused(
        "mongodb_create_proposed_change",
        code=-32004,
        **stage.proposal(scene_id, turn_id=elsewhere),
    )
    assert data["code"] == "turn.foreign"
    await stage.world.refused(
        "mongodb_create_proposed_change", code=-32002, **stage.proposal(scene_id, turn_id=NOWHERE)
    )


async def test_evidence_exists_in_this_universe_and_is_optional() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    turn_id = await stage.turn(scene_id)
    await stage.propose(scene_id, evidence=[])
    await stage.propose(scene_id, turn_id=turn_id, evidence=[{"type": "turn", "ref_id": turn_id}])
    other = await stage.world.another_universe()
    for cited, code in (
        ({"type": "turn", "ref_id": NOWHERE}, -32002),
        ({"type": "source", "ref_id": turn_id}, -32002),
        ({"type": "source", "ref_id": other.source_id}, -32004),
    ):
        await stage.world.refused(
            "mongodb_create_proposed_change",
            code=code,
            **stage.proposal(scene_id, evidence=[cited]),
        )


async def test_a_document_can_propose_without_a_scene() -> None:
    stage = await a_stage()
    said = stage.proposal("", authority="source")
    del said["scene_id"]
    said["universe_id"] = stage.world.universe_id
    reply = await stage.world.call("mongodb_propose_change", "Indexer", **said)
    proposal = await the_proposal(stage, reply["proposal_id"])
    assert (proposal["scene_id"], proposal["status"]) == (None, "pending")
    assert await pending_ids(stage) == [reply["proposal_id"]]
    await stage.world.refused(
        "mongodb_propose_change", "Indexer", code=-32002, **{**said, "universe_id": NOWHERE}
    )


async def test_a_higher_authority_than_permitted_is_refused() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    stage.world.authorities = frozenset()
    await stage.world.refused(
        "mongodb_create_proposed_change", code=-32001, **stage.proposal(scene_id)
    )


async def test_pending_proposals_are_listed_oldest_first_by_scene_and_type() -> None:
    stage = await a_stage()
    scene_id, other = await stage.scene(), await stage.scene("Another")
    first = await stage.propose(scene_id)
    second = await stage.propose(
        scene_id, type="event", content={"title": "Party", "entity_ids": [stage.frodo]}
    )
    third = await stage.propose(other)
    assert await pending_ids(stage) == [first, second, third]
    assert await pending_ids(stage, scene_id=scene_id) == [first, second]
    assert await pending_ids(stage, type="event") == [second]
    found = await stage.world.call("mongodb_get_pending_proposals", detail=True, limit=1)
    assert (len(found["proposals"]), found["total"]) == (1, 3)
    await stage.world.refused("mongodb_get_pending_proposals", code=-32002, scene_id=NOWHERE)
    for limit in (0, -1, 501):
        await stage.world.refused("mongodb_get_pending_proposals", code=-32003, limit=limit)


async def test_an_accepted_proposal_names_its_item_and_is_no_longer_pending() -> None:
    stage = await a_stage()
    proposal_id = await stage.propose(await stage.scene())
    fact_id = await stage.world.fact("Frodo has the Ring", stage.frodo)
    reply = await evaluate_proposal(
        stage, proposal_id, "accepted", canonical_id=fact_id, rationale="It was told."
    )
    assert reply["status"] == "accepted"
    proposal = await the_proposal(stage, proposal_id)
    assert (proposal["status"], proposal["canonical_id"]) == ("accepted", fact_id)
    assert proposal["rationale"] == "It was told."
    assert proposal["evaluated_at"] == reply["evaluated_at"]
    assert proposal["decision"]["rule"] == "keeper:evaluation"
    assert proposal["decision"]["decided_by"] == "canonkeeper-001"
    assert await pending_ids(stage) == []


async def test_acceptance_requires_a_canon_item_and_rejection_forbids_one() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    proposal_id = await stage.propose(scene_id)
    turn_id = await stage.turn(scene_id)
    other = await stage.world.another_universe()
    stranger = await other.entity("Stranger")
    for decision, canonical, code in (
        ("accepted", {}, -32003),
        ("accepted", {"canonical_id": NOWHERE}, -32002),
        ("accepted", {"canonical_id": turn_id}, -32002),
        ("accepted", {"canonical_id": stranger}, -32004),
        ("rejected", {"canonical_id": stage.frodo}, -32003),
    ):
        await stage.world.refused(
            "mongodb_evaluate_proposal",
            code=code,
            proposal_id=proposal_id,
            decision=decision,
            **canonical,
        )
    assert await pending_ids(stage) == [proposal_id]


async def test_a_retconned_item_cannot_be_the_result_of_a_proposal() -> None:
    stage = await a_stage()
    proposal_id = await stage.propose(await stage.scene())
    fact_id = await stage.world.fact("Frodo has the Ring", stage.frodo)
    await stage.world.call("neo4j_retcon_fact", fact_id=fact_id, reason="a slip")
    data = await stage.world.refused(
        "mongodb_evaluate_proposal",
        code=-32004,
        proposal_id=proposal_id,
        decision="accepted",
        canonical_id=fact_id,
    )
    assert data["code"] == "outcome.retconned"


async def test_a_repeated_decision_changes_nothing_and_another_is_refused() -> None:
    stage = await a_stage()
    proposal_id = await stage.propose(await stage.scene())
    first = await evaluate_proposal(stage, proposal_id, "rejected", rationale="No.")
    before = await stage.world.heads()
    stage.world.clock.move_by(1_000_000)
    assert await evaluate_proposal(stage, proposal_id, "rejected") == first
    assert await stage.world.heads() == before
    data = await stage.world.refused(
        "mongodb_evaluate_proposal",
        code=-32004,
        proposal_id=proposal_id,
        decision="accepted",
        canonical_id=stage.frodo,
    )
    assert (data["code"], data["status"]) == ("proposal.decided", "rejected")


async def test_a_rejected_proposal_keeps_its_content_and_the_reason() -> None:
    stage = await a_stage()
    proposal_id = await stage.propose(await stage.scene())
    await evaluate_proposal(stage, proposal_id, "rejected", rationale="Nobody saw it.")
    proposal = await the_proposal(stage, proposal_id)
    assert proposal["content"]["statement"] == "Frodo has the Ring"
    assert (proposal["rationale"], proposal["canonical_id"]) == ("Nobody saw it.", None)


async def test_a_proposal_left_pending_by_a_scene_can_still_be_decided() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    proposal_id = await stage.propose(scene_id)
    await stage.complete(scene_id)
    assert (await evaluate_proposal(stage, proposal_id, "rejected"))["status"] == "rejected"


@pytest.mark.parametrize("written", [False, True])
async def test_late_canon_of_a_closed_scene_is_among_its_outcomes(
    written: bool,
) -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    proposal_id = await stage.propose(scene_id)
    await stage.complete(scene_id)
    named = await stage.world.fact("Frodo has the Ring", stage.frodo)
    more = {"canonical_id": named} if written else {"rationale": "Everybody saw it."}

    await evaluate_proposal(stage, proposal_id, "accepted", **more)

    became = (await the_proposal(stage, proposal_id))["canonical_id"]
    shown = await stage.world.call("mongodb_get_scene", scene_id=scene_id)
    assert shown["canonical_outcomes"] == [became]


async def test_a_rejected_proposal_is_accepted_later_for_a_reason() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    proposal_id = await stage.propose(scene_id, confidence=0.1, authority="player")
    await stage.world.call("composite_canonize_scene", scene_id=scene_id)
    assert (await the_proposal(stage, proposal_id))["status"] == "rejected"

    await evaluate_proposal(stage, proposal_id, "accepted", rationale="I had planned it.")

    proposal = await the_proposal(stage, proposal_id)
    assert (proposal["status"], proposal["rationale"]) == ("accepted", "I had planned it.")
    reply = await stage.world.call("neo4j_query_facts", entity_id=stage.frodo, canon_level="canon")
    assert [fact["fact_id"] for fact in reply["facts"]] == [proposal["canonical_id"]]


async def test_proposals_are_queried_with_verdicts_by_any_role() -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    kept, refused = await stage.propose(scene_id), await stage.propose(scene_id)
    await evaluate_proposal(stage, refused, "rejected", rationale="No.")
    query = {"scene_id": scene_id, "universe_id": stage.world.universe_id}
    for status, ids in (("rejected", [refused]), ("pending", [kept]), ("accepted", [])):
        found = await stage.world.call(
            "mongodb_query_proposals", "Narrator", detail=True, status=status, **query
        )
        assert [each["proposal_id"] for each in found["proposals"]] == ids
        assert found["total"] == len(ids)


async def test_proposals_of_an_invisible_space_do_not_exist() -> None:
    stage = await a_stage()
    proposal_id = await stage.propose(await stage.scene())
    stage.world.spaces = frozenset()
    assert await pending_ids(stage) == []
    await stage.world.refused(
        "mongodb_evaluate_proposal", code=-32002, proposal_id=proposal_id, decision="rejected"
    )
