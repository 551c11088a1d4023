"""Authority: who may speak as the game master, and what a rank by itself is not enough for."""

from typing import Any

import pytest

from canonry.gateway.principal import AGENT_META, Principal
from canonry.gateway.replies import Result
from canonry.values.provenance import Authority
from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio
TOOL = "mongodb_create_proposed_change"


async def propose_as(stage: Stage, principal: Principal, meta: Any = None, **more: Any) -> Result:
    said = stage.proposal(await stage.scene(), **more)
    return await stage.world.gateway.call(TOOL, said, principal, meta)


def principal_of(role: str | None, **more: Any) -> Principal:
    """Somebody to whom the operator has granted no authority in particular."""
    return Principal(agent_id="a", agent_type=role, authorities=None, **more)


@pytest.mark.parametrize("role", ["Narrator", "Orchestrator", "Resolver", "Indexer"])
async def test_only_the_keeper_is_game_master_unless_configured(
    role: str,
) -> None:
    stage = await a_stage()
    refused = await propose_as(stage, principal_of(role))

    assert refused.error is not None
    assert refused.error.code == -32001
    assert "CANONRY_AUTHORITIES" in refused.text
    assert (await propose_as(stage, principal_of("CanonKeeper"))).error is None
    granted = Principal(agent_id="a", agent_type=role, authorities=frozenset({Authority.GM}))
    assert (await propose_as(stage, granted)).error is None


@pytest.mark.parametrize("authority", ["source", "player", "system"])
async def test_every_role_may_claim_lower_authorities(authority: str) -> None:
    stage = await a_stage()

    assert (await propose_as(stage, principal_of("Narrator"), authority=authority)).error is None


async def test_a_trusted_client_speaks_as_the_named_role() -> None:
    stage = await a_stage()
    trusted = principal_of(None, trusted=True)

    keeper = {AGENT_META: {"agent_id": "k", "agent_type": "CanonKeeper"}}
    assert (await propose_as(stage, trusted, keeper)).error is None
    for named in ({}, {"authorities": ["gm"]}):
        meta = {AGENT_META: {"agent_id": "n", "agent_type": "Narrator", **named}}
        assert (await propose_as(stage, trusted, meta)).error is not None
    narrowed = {AGENT_META: {"agent_type": "CanonKeeper", "authorities": ["player"]}}
    assert (await propose_as(stage, trusted, narrowed)).error is not None


@pytest.mark.parametrize(
    "lacking", [{"confidence": 0.0}, {"evidence": []}, {"confidence": 0.0, "evidence": []}]
)
async def test_rank_without_confidence_or_evidence_needs_review(lacking: dict[str, Any]) -> None:
    stage = await a_stage()
    scene_id = await stage.scene()
    proposal_id = await stage.propose(scene_id, **lacking)

    reply = await stage.world.call("composite_canonize_scene", scene_id=scene_id)

    assert reply["accepted_proposals"] == []
    assert reply["rejected_proposals"] == []
    verdict = next(each for each in reply["verdicts"] if each["proposal_id"] == proposal_id)
    assert verdict["rule"] == "gate:score-reaches-threshold"
    assert "needs review" in verdict["rationale"]


async def test_a_formerly_dead_character_did_not_act_then() -> None:
    stage = await a_stage()
    for tag, ends, year in (("dead", "alive", 1401), ("alive", "dead", 1403)):
        scene_id = await stage.scene(f"What is {tag}")
        content = {"entity_id": stage.frodo, "add": [tag], "remove": [ends]}
        when = {"time_ref": f"{year}-01-01T00:00:00Z"}
        await stage.propose(scene_id, type="state_change", content={**content, **when})
        reply = await stage.world.call("composite_canonize_scene", scene_id=scene_id)
        assert len(reply["accepted_proposals"]) == 1, reply
    scene_id = await stage.scene("What was done")
    acts = {"title": "Frodo rows", "actor_ids": [stage.frodo]}
    dead = await stage.propose(
        scene_id,
        type="event",
        authority="player",
        content={**acts, "time_ref": "1402-01-01T00:00:00Z"},
    )
    lives = await stage.propose(
        scene_id,
        type="event",
        authority="player",
        content={**acts, "title": "Frodo sails", "time_ref": "1404-01-01T00:00:00Z"},
    )

    reply = await stage.world.call("composite_canonize_scene", scene_id=scene_id)

    assert reply["accepted_proposals"] == [lives]
    assert reply["rejected_proposals"] == [dead]
