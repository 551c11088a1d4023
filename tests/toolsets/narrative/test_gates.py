"""The gates that an operator opens for proposals of the narrative: by itself none judges."""

import asyncio
from typing import Any

import pytest

from canonry.app.settings import policy_from
from canonry.canon.canonization.proposals import restate_proposal
from canonry.gateway.audit import Audit
from canonry.gateway.call import Gateway
from canonry.log.items.proposals import ProposalDraft
from canonry.narrative.toolset import NARRATIVE
from canonry.testing.clocks import a_caller
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.moments import DAY, SECOND, Instant
from canonry.values.policy import Policy, StagingGates
from canonry.world.domain.moderation.moderating import moderate_by_words
from canonry.world.models.services import WorldServices, usage_report
from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio

CREATE = "mongodb_create_proposed_change"
UNSAFE = "send nudes and kill yourself"
ALL = StagingGates(safety=True, duplication=True, agent_a_minute=3, universe_a_minute=4)


async def a_gated(**gates: Any) -> tuple[Stage, str]:
    stage = await a_stage(Policy(staging=StagingGates(**gates)))
    return stage, await stage.scene()


def stage_fact(stage: Stage, scene: str, statement: str, **more: Any) -> dict[str, Any]:
    content = {"statement": statement, "entity_ids": [stage.frodo]}
    return stage.proposal(scene, type="fact", content=content, **more)


async def stage_statement(stage: Stage, scene: str, statement: str, agent: str = "Narrator") -> str:
    reply = await stage.world.call(CREATE, agent, **stage_fact(stage, scene, statement))
    return str(reply["proposal_id"])


async def refuse_proposal(
    stage: Stage, arguments: dict[str, Any], agent: str = "Narrator"
) -> dict[str, Any]:
    """Return a refusal, which stages nothing."""
    before = await stage.world.call("mongodb_query_proposals", "Indexer")
    outcome = await stage.world.outcome(CREATE, arguments, agent=agent)
    assert outcome.error is not None, outcome.text
    assert await stage.world.call("mongodb_query_proposals", "Indexer") == before
    return {**outcome.error.data, "number": outcome.error.code}


async def test_no_gate_judges_by_default() -> None:
    stage, scene = await a_gated()
    first = await stage_statement(stage, scene, UNSAFE)
    assert await stage_statement(stage, scene, UNSAFE) != first


async def test_a_forbidden_text_is_refused_with_its_rule() -> None:
    stage, scene = await a_gated(safety=True)
    reply = await refuse_proposal(stage, stage_fact(stage, scene, UNSAFE))
    assert (reply["number"], reply["code"], reply["retryable"]) == (
        -32003,
        "proposal.unsafe",
        False,
    )
    assert (reply["gate"], reply["gateIndex"], reply["gatesPassed"]) == ("safety", 2, ["schema"])
    assert reply["rule"] == "safety.self-harm"
    assert reply["path"] == "/content/statement"
    assert reply["admissible"] == "Remove the flagged content from the text"
    await stage_statement(stage, scene, "Frodo cuts down the orc and kicks its head away.")


async def test_an_id_that_looks_like_a_card_number_is_not_checked() -> None:
    stage, scene = await a_gated(safety=True)
    like_a_card = "12345678-9012-4005-8bcd-000000000001"
    assert not moderate_by_words(like_a_card).allowed
    content = {"statement": "Frodo met a stranger.", "entity_ids": [like_a_card]}
    await stage.propose(scene, type="fact", content=content)
    reply = await refuse_proposal(
        stage, stage_fact(stage, scene, f"Frodo's number is {like_a_card}.")
    )
    assert reply["rule"] == "safety.privacy"


async def test_an_equal_proposal_is_staged_once_and_near_ones_are_refused() -> None:
    stage, scene = await a_gated(duplication=True)
    first = await stage_statement(stage, scene, "Frodo carries the ring to the mountain of fire.")
    for again, rule in (
        ("Frodo carries the ring to the mountain of fire.", "duplication.repeated"),
        ("Frodo carries the ring to the mountains of fire!", "duplication.near"),
    ):
        reply = await refuse_proposal(stage, stage_fact(stage, scene, again))
        assert (reply["number"], reply["code"]) == (-32004, "proposal.repeated")
        assert (reply["gate"], reply["rule"]) == ("duplication", rule)
        assert first in reply["reason"]
    await stage_statement(stage, scene, "Frodo never carries the ring to the mountain of fire.")
    elsewhere = await stage.scene()
    await stage_statement(stage, elsewhere, "Frodo carries the ring to the mountain of fire.")


async def test_rejected_or_day_old_proposals_may_be_repeated() -> None:
    stage, scene = await a_gated(duplication=True)
    first = await stage_statement(stage, scene, "Frodo has lost the ring.")
    await stage.world.call("mongodb_evaluate_proposal", proposal_id=first, decision="rejected")
    await stage_statement(stage, scene, "Frodo has lost the ring.")
    await refuse_proposal(stage, stage_fact(stage, scene, "Frodo has lost the ring."))
    stage.world.clock.move_by(DAY + SECOND)
    await stage_statement(stage, scene, "Frodo has lost the ring.")


async def test_adding_a_tag_is_not_similar_to_removing_it() -> None:
    stage, scene = await a_gated(duplication=True)
    for action in ("add", "remove"):
        content = {"entity_id": stage.frodo, "tag": "weary of long roads", "action": action}
        await stage.propose(scene, type="state_change", content=content)
    content = {"entity_id": stage.sam, "tag": "weary of long roads", "action": "add"}
    await stage.propose(scene, type="state_change", content=content)


async def test_rates_apply_per_agent_and_in_total_with_retry_time() -> None:
    stage, scene = await a_gated(agent_a_minute=2, universe_a_minute=3)
    for text in ("One ring.", "Three rings."):
        await stage_statement(stage, scene, text)
        stage.world.clock.move_by(10 * SECOND)
    reply = await refuse_proposal(stage, stage_fact(stage, scene, "Seven rings."))
    assert (reply["number"], reply["code"], reply["retryable"]) == (
        -32005,
        "proposal.too-many",
        True,
    )
    assert reply["error"] == "RATE_LIMITED"
    assert (reply["gate"], reply["rule"], reply["transient"]) == ("rate", "rate.player", True)
    assert 39_000 < reply["retryAfterMs"] <= 40_001
    await stage_statement(stage, scene, "Seven rings.", "Resolver")
    reply = await refuse_proposal(stage, stage_fact(stage, scene, "Nine rings."), "Indexer")
    assert reply["rule"] == "rate.world"
    stage.world.clock.move_by(41 * SECOND)
    await stage_statement(stage, scene, "Nine rings.")


async def test_a_resent_call_is_answered_as_before() -> None:
    stage, scene = await a_gated(duplication=True, agent_a_minute=1)
    arguments = stage_fact(stage, scene, "Frodo sleeps.")
    first = await stage.world.outcome(CREATE, arguments, agent="Narrator", key="k")
    again = await stage.world.outcome(CREATE, arguments, agent="Narrator", key="k")
    assert first.error is None
    assert again.body == first.body


async def test_one_of_equal_concurrent_proposals_is_staged() -> None:
    stage, scene = await a_gated(duplication=True)
    arguments = stage_fact(stage, scene, "Frodo sleeps in the cold barn.")
    calls = (stage.world.outcome(CREATE, arguments, agent="Narrator") for _ in range(5))
    outcomes = await asyncio.gather(*calls)
    assert [each.error is None for each in outcomes].count(True) == 1


async def test_a_refusal_is_audited_and_counted_without_content() -> None:
    lines: list[bytes] = []
    stage, scene = await a_gated(safety=True)
    canon = stage.world.canon
    stage.world.gateway = Gateway(canon, (NARRATIVE,), audit=Audit(lines.append))
    await refuse_proposal(stage, stage_fact(stage, scene, UNSAFE))
    written = b"".join(lines)
    assert b"proposal.unsafe" in written
    assert b"nudes" not in written
    [row] = [
        e
        for e in usage_report(canon.find_service(WorldServices).telemetry, Instant(0))
        if "Rejected" in e["eventType"]
    ]
    assert row["rejections"] == {"safety:safety.self-harm": 1}


async def test_proposals_without_a_scene_pass_the_same_gates() -> None:
    stage, _ = await a_gated(duplication=True)
    given = stage.proposal("", type="fact", content={"statement": "The barn burned in the spring."})
    arguments = {key: given[key] for key in ("type", "content", "confidence", "authority")}
    arguments |= {"universe_id": stage.world.universe_id, "evidence": []}
    arguments["evidence"] = [{"type": "source", "ref_id": stage.world.source_id}]
    assert (await stage.world.outcome("mongodb_propose_change", arguments)).error is None
    again = await stage.world.outcome("mongodb_propose_change", arguments)
    assert again.error is not None
    assert again.error.data["rule"] == "duplication.repeated"


def test_settings_enable_gates() -> None:
    table = {
        "staging": {
            "safety": True,
            "duplication": True,
            "agent_a_minute": 3,
            "universe_a_minute": 4,
        }
    }
    assert policy_from(table, "file").staging == ALL
    assert not policy_from({}, "file").staging.is_enabled
    for wrong in (-1, 501):
        with pytest.raises(InvalidInput, match="0 to 500"):
            policy_from({"staging": {"agent_a_minute": wrong}}, "file")


async def test_a_rewording_repeats_others_but_not_its_own_original() -> None:
    stage, scene = await a_gated(duplication=True)
    former = await stage_statement(stage, scene, "Frodo carries the silver lantern")
    await stage_statement(stage, scene, "Frodo has lost his old and faithful pony")
    canon, keeper = stage.world.canon, a_caller("CanonKeeper")

    def said(statement: str) -> dict[str, Any]:
        return {"statement": statement, "entity_ids": [stage.frodo]}

    receipt = await restate_proposal(
        canon, keeper, former, said("Frodo carries the silver lantern now")
    )
    with pytest.raises(Conflict, match=r"proposal\.repeated"):
        await restate_proposal(
            canon, keeper, former, said("Frodo has lost his old and faithful pony")
        )

    assert len(receipt.drafts_made(ProposalDraft)) == 1
