"""Every proposal that was written down before the gates is stopped by the rule that it names."""

import pytest

from tests.toolsets.world.proposals.adversarial import Case
from tests.toolsets.world.proposals.cases import CASES, LEGITIMATE
from tests.toolsets.world.proposals.kit import send_proposal, the_isle

pytestmark = pytest.mark.anyio


def test_there_are_enough_adversarial_cases() -> None:
    assert len(CASES) >= 150
    assert len({case.title for case in (*CASES, *LEGITIMATE)}) == len(CASES) + len(LEGITIMATE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
async def test_the_gate_stops_an_adversarial_case(case: Case) -> None:
    isle = await the_isle()
    before = await isle.call("get-location-context", "Narrative", locationId="inn")

    reply = await send_proposal(isle, case.envelope, case.player)

    assert reply["outcome"] == "rejected"
    assert (reply["rejection"]["gate"], reply["rejection"]["rule"]) == (case.gate, case.rule)
    assert len(reply["gatesPassed"]) == reply["rejection"]["gateIndex"] - 1
    assert await isle.call("get-location-context", "Narrative", locationId="inn") == before
    kept = await isle.call("get-proposal", "Canonicality", proposalId=reply["proposalId"])
    assert kept["rejection"] == reply["rejection"]


@pytest.mark.parametrize("case", LEGITIMATE, ids=lambda case: case.title)
async def test_legitimate_proposals_apply(case: Case) -> None:
    isle = await the_isle()

    reply = await send_proposal(isle, case.envelope, case.player)

    assert reply["outcome"] == "accepted", reply["rejection"]
    assert reply["commitId"]
    assert len(reply["eventIds"]) == len(case.envelope["proposedActions"])
