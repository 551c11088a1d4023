"""Review: what is not decided says why in the log, so that nobody judges again to tell it."""

import pytest

from canonry.canon.canonization.canonize_scene import canonize_proposals
from canonry.log.commits import ORIGIN
from canonry.log.entries import ConflictWaived, ProposalDeferred
from canonry.log.items.proposals import Grade, ProposalStatus
from canonry.log.schemas.narrative import EntityType
from canonry.testing.clocks import a_caller
from canonry.testing.example_items import MIDDLE_EARTH
from canonry.values.ids import ProposalId
from tests.usecases.stage import ACCEPTED, PENDING, Stage, a_stage, id_of, verdict_on

pytestmark = pytest.mark.anyio


async def a_revival() -> tuple[Stage, str]:
    """The game master has killed Bo; a player says that Bo lives."""
    stage = await a_stage()
    await stage.entity("Bo", EntityType.CHARACTER, "dead")
    content = {"entity": id_of("Bo"), "add": ["alive"]}
    return stage, await stage.propose("state_change", content)


async def list_deferrals(stage: Stage) -> list[ProposalDeferred]:
    commits = await stage.canon.ledger.read_commits(MIDDLE_EARTH, after=ORIGIN, limit=1000)
    entries = [entry for commit in commits for entry in commit.entries]
    return [entry for entry in entries if isinstance(entry, ProposalDeferred)]


async def test_a_review_reason_is_logged_and_the_proposal_stays_pending() -> None:
    stage, revival = await a_revival()

    verdict = verdict_on(await stage.canonize(), revival)

    assert (verdict.status, verdict.needs_review) == (PENDING, True)
    assert verdict.rule == "gate:state-tags-exclusive"
    assert verdict.rationale.startswith("needs review: the authority player")
    (conflict,) = verdict.graded
    assert conflict.grade is Grade.CONTRADICTION
    assert conflict.reason in verdict.rationale
    proposal = await stage.find_item(revival)
    assert (proposal.status, proposal.decision) == (ProposalStatus.PENDING, None)
    assert proposal.review.rationale == verdict.rationale
    (entry,) = await list_deferrals(stage)
    assert entry.ruling.graded == verdict.graded


async def test_judging_again_with_the_same_result_writes_nothing() -> None:
    stage = await a_stage()
    await stage.entity("Bo", EntityType.CHARACTER, "dead")
    content = {"entity": id_of("Bo"), "add": ["alive"]}
    revival = await stage.propose("state_change", content, scene_id=None, turn_id=None)

    first = await canonize_proposals(stage.canon, a_caller(), [revival])
    again = await canonize_proposals(stage.canon, a_caller(), [revival])

    assert again == first
    assert len(await list_deferrals(stage)) == 1


async def a_funeral() -> tuple[Stage, str]:
    """Bo is dead, and an event of a later scene involves him without letting him act."""
    stage = await a_stage()
    await stage.entity("Bo", EntityType.CHARACTER, "dead")
    funeral = await stage.propose(
        "event", {"title": "The funeral", "involved_entity_ids": [id_of("Bo")]}
    )
    return stage, funeral


async def test_a_possible_conflict_has_its_grade_and_blocks_nothing() -> None:
    stage, funeral = await a_funeral()

    verdict = verdict_on(await stage.canonize(), funeral)

    assert verdict.status is ACCEPTED
    assert [(one.grade, one.reason) for one in verdict.graded] == [
        (Grade.POSSIBLE, "Bo is involved in it but is dead then")
    ]
    assert verdict.conflicts == ()
    assert (await stage.find_item(funeral)).decision.graded == verdict.graded


async def test_a_waived_possible_conflict_is_not_named_again() -> None:
    stage, funeral = await a_funeral()
    reported = verdict_on(await (await a_funeral())[0].canonize(), funeral).graded
    for one in reported:
        await stage.scribe.write_entries(
            ConflictWaived(proposal_id=ProposalId(funeral), other=one.id, reason="he is buried")
        )

    verdict = verdict_on(await stage.canonize(), funeral)

    assert (verdict.status, verdict.graded) == (ACCEPTED, ())
