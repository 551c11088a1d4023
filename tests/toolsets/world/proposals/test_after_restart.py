"""Another process knows by the log what a world has admitted, and goes on where one stopped."""

from dataclasses import replace

import pytest

from canonry.gateway.call import Gateway
from canonry.testing.clocks import HandClock, a_caller
from canonry.values.errors import InvalidInput
from canonry.values.moments import SECOND
from canonry.world.models.services import Admissions, WorldServices
from canonry.world.toolset import WORLD
from canonry.world.usecases.proposals.admission import enqueue_world_event
from canonry.world.usecases.proposals.outcomes import apply_admitted
from canonry.world.usecases.worlds import require_world
from tests.toolsets.world.kit import Isle
from tests.toolsets.world.proposals.adversarial import DRIP, GO, MOOD, TALK, but, envelope
from tests.toolsets.world.proposals.kit import fresh, propose, the_isle
from tests.toolsets.world.proposals.test_scheduling import failing, where

pytestmark = pytest.mark.anyio
LONG = (
    "The wind howls along the gallery and shakes the old shutters until the whole house groans"
    " like a ship at sea."
)
NEARLY = but(TALK, text=LONG.replace("old shutters", "old shutter"))


def restarted(isle: Isle, after: int = 0) -> Isle:
    """The isle in a process that has admitted nothing itself, seconds later."""
    clock = HandClock()
    clock.move_by(after * SECOND)
    canon = replace(isle.canon, clock=clock).revise_service(WorldServices, admissions=Admissions())
    return Isle(canon=canon, gateway=Gateway(canon, (WORLD,)), world=isle.world)


async def test_what_another_process_admitted_is_not_said_again() -> None:
    isle = await the_isle()
    told = await propose(isle, envelope(but(TALK, text=LONG)))
    assert told["outcome"] == "accepted"

    again = await propose(restarted(isle), fresh(envelope(NEARLY)))

    assert again["rejection"]["rule"] == "duplication.near"
    assert told["proposalId"] in again["rejection"]["reason"]


async def test_what_another_process_admitted_a_day_ago_may_be_said_again() -> None:
    isle = await the_isle()
    await propose(isle, envelope(but(TALK, text=LONG)))

    later = restarted(isle, 86_401)
    told = await propose(later, fresh(envelope(NEARLY, issuedUtc="2025-01-16T00:00:00Z")))

    assert told["outcome"] == "accepted"


async def test_what_a_process_left_behind_is_finished_by_another() -> None:
    isle = await the_isle()
    told = await propose(failing(isle, 2), envelope(GO))
    assert "commitId" not in told

    await propose(restarted(isle, 120), fresh(envelope(MOOD)))

    assert await where(isle) == "Yard"


async def test_what_cannot_be_settled_stays_with_all_that_follow_it() -> None:
    isle = await the_isle()
    await propose(failing(isle, 2), envelope(GO))
    drip = await propose(failing(isle, 2), fresh(envelope(DRIP)))

    await failing(isle, 2).call("advance-clock", durationMs=1)

    assert await where(isle) == "Inn"
    waiting = await isle.call("get-proposal", "Narrative", proposalId=drip["proposalId"])
    assert "commitId" not in waiting
    await isle.call("advance-clock", durationMs=1)
    assert await where(isle) == "Yard"
    done = await isle.call("get-proposal", "Narrative", proposalId=drip["proposalId"])
    assert done["commitId"]


async def test_what_another_process_has_applied_is_not_applied_again() -> None:
    isle = await the_isle()
    told = await propose(isle, envelope(GO))
    caller = a_caller()
    world = await require_world(isle.canon, caller, isle.world)
    head = await isle.canon.ledger.head_position(isle.world)

    await apply_admitted(isle.canon, caller, world, told["proposalId"])
    await apply_admitted(isle.canon, caller, world, isle.id("inn"))

    assert await isle.canon.ledger.head_position(isle.world) == head
    assert await where(isle) == "Yard"


async def test_an_event_that_does_not_exist_is_answered_with_those_that_do() -> None:
    isle = await the_isle()
    caller = a_caller()
    world = await require_world(isle.canon, caller, isle.world)

    with pytest.raises(InvalidInput, match=r"Location\.Environment\.Changed") as refused:
        await enqueue_world_event(isle.canon, caller, world, "World.Ends", {})

    assert refused.value.code == "event.unknown"
