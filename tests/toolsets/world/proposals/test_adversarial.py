"""Every proposal that was written down before the gates is stopped by the rule that it names."""

import pytest

from tests.toolsets.world.proposals.adversarial import Case
from tests.toolsets.world.proposals.cases import CASES, LEGITIMATE
from tests.toolsets.world.proposals.kit import propose, the_isle

pytestmark = pytest.mark.anyio


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 150
    assert len({case.title for case in (*CASES, *LEGITIMATE)}) == len(CASES) + len(LEGITIMATE)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
async def test_the_gate_stops_it(case: Case) -> None:
    isle = await the_isle()
    before = await isle.call("get-location-context", "Narrative", locationId="inn")

    told = await propose(isle, case.envelope, case.player)

    assert told["outcome"] == "rejected"
    assert (told["rejection"]["gate"], told["rejection"]["rule"]) == (case.gate, case.rule)
    assert len(told["gatesPassed"]) == told["rejection"]["gateIndex"] - 1
    assert await isle.call("get-location-context", "Narrative", locationId="inn") == before
    kept = await isle.call("get-proposal", "Canonicality", proposalId=told["proposalId"])
    assert kept["rejection"] == told["rejection"]


@pytest.mark.parametrize("case", LEGITIMATE, ids=lambda case: case.title)
async def test_what_is_legitimate_becomes_true(case: Case) -> None:
    isle = await the_isle()

    told = await propose(isle, case.envelope, case.player)

    assert told["outcome"] == "accepted", told["rejection"]
    assert told["commitId"]
    assert len(told["eventIds"]) == len(case.envelope["proposedActions"])
