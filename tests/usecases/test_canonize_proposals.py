"""Canonizing loose proposals: interrupted anywhere, or run twice at once, it ends the same."""

import asyncio

import pytest

from canonry.canon.canonization.canonize_scene import canonize_proposals
from canonry.canon.canonization.decide_proposals import BATCH, Judged
from canonry.log.items.proposals import ProposalStatus
from canonry.testing.clocks import a_caller
from canonry.testing.example_items import uuid_of
from canonry.values.errors import Unavailable
from tests.usecases.stage import ACCEPTED, REJECTED, Stage
from tests.usecases.test_canonize_interrupted import (
    PROPOSALS,
    FragileLedger,
    Killed,
    a_fragile_stage,
    read_items,
)

pytestmark = pytest.mark.anyio
WANTED = [uuid_of(f"proposal {number}") for number in range(1, PROPOSALS + 1)]


async def a_loose_stage() -> tuple[Stage, FragileLedger]:
    """The proposals of a scene, but without the scene."""
    return await a_fragile_stage(loose=True)


async def judge_all(stage: Stage) -> Judged:
    return await canonize_proposals(stage.canon, a_caller(), WANTED)


@pytest.mark.parametrize("written", [False, True])
async def test_after_a_kill_at_any_append_the_next_call_gives_the_same_end(written: bool) -> None:
    calm, _ = await a_loose_stage()
    expected = await judge_all(calm)
    for kill_at in range(1, 1 + -(-PROPOSALS // BATCH)):
        stage, ledger = await a_loose_stage()
        ledger.kill_at, ledger.written_before_death = kill_at, written
        with pytest.raises(Killed):
            await judge_all(stage)

        report = await judge_all(stage)

        assert report.verdicts == expected.verdicts
        assert await read_items(stage) == await read_items(calm)


async def test_two_concurrent_calls_decide_every_proposal_once() -> None:
    stage, _ = await a_loose_stage()

    one, other = await asyncio.gather(judge_all(stage), judge_all(stage))

    assert one == other
    assert len(one.with_status(ACCEPTED)) + len(one.with_status(REJECTED)) == PROPOSALS


async def test_an_unwritable_proposal_stays_pending_and_the_rest_continues() -> None:
    stage, ledger = await a_loose_stage()
    failing = WANTED[-1]
    ledger.refuses = frozenset({failing})

    with pytest.raises(Unavailable) as failure:
        await judge_all(stage)

    assert failure.value.code == "canonization.partial"
    (failed,) = failure.value.details["failed"]
    assert failed["proposal_id"] == failing
    details = failure.value.details
    assert len(details["accepted"]) + len(details["rejected"]) == PROPOSALS - 1
    ledger.refuses = frozenset()
    assert not (await judge_all(stage)).with_status(ProposalStatus.PENDING)
