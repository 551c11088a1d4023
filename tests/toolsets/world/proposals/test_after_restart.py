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
from tests.toolsets.world.proposals.adversarial import (
    DRIP,
    GO,
    MOOD,
    TALK,
    change_parameters,
    make_envelope,
)
from tests.toolsets.world.proposals.kit import send_proposal, the_isle, with_new_ids
from tests.toolsets.world.proposals.test_scheduling import fail_appends, location_name

pytestmark = pytest.mark.anyio
LONG = (
    "The wind howls along the gallery and shakes the old shutters until the whole house groans"
    " like a ship at sea."
)
NEARLY = change_parameters(TALK, text=LONG.replace("old shutters", "old shutter"))


def restart_isle(isle: Isle, after: int = 0) -> Isle:
    """The isle in a process that has admitted nothing itself, seconds later."""
    clock = HandClock()
    clock.move_by(after * SECOND)
    canon = replace(isle.canon, clock=clock).revise_service(WorldServices, admissions=Admissions())
    return Isle(canon=canon, gateway=Gateway(canon, (WORLD,)), world=isle.world)


async def test_proposals_admitted_by_another_process_are_not_repeated() -> None:
    isle = await the_isle()
    reply = await send_proposal(isle, make_envelope(change_parameters(TALK, text=LONG)))
    assert reply["outcome"] == "accepted"

    again = await send_proposal(restart_isle(isle), with_new_ids(make_envelope(NEARLY)))

    assert again["rejection"]["rule"] == "duplication.near"
    assert reply["proposalId"] in again["rejection"]["reason"]


async def test_day_old_proposals_of_another_process_may_be_repeated() -> None:
    isle = await the_isle()
    await send_proposal(isle, make_envelope(change_parameters(TALK, text=LONG)))

    later = restart_isle(isle, 86_401)
    reply = await send_proposal(
        later, with_new_ids(make_envelope(NEARLY, issuedUtc="2025-01-16T00:00:00Z"))
    )

    assert reply["outcome"] == "accepted"


async def test_work_left_by_one_process_is_finished_by_another() -> None:
    isle = await the_isle()
    reply = await send_proposal(fail_appends(isle, 2), make_envelope(GO))
    assert "commitId" not in reply

    await send_proposal(restart_isle(isle, 120), with_new_ids(make_envelope(MOOD)))

    assert await location_name(isle) == "Yard"


async def test_an_unsettleable_proposal_blocks_its_successors() -> None:
    isle = await the_isle()
    await send_proposal(fail_appends(isle, 2), make_envelope(GO))
    drip = await send_proposal(fail_appends(isle, 2), with_new_ids(make_envelope(DRIP)))

    await fail_appends(isle, 2).call("advance-clock", durationMs=1)

    assert await location_name(isle) == "Inn"
    waiting = await isle.call("get-proposal", "Narrative", proposalId=drip["proposalId"])
    assert "commitId" not in waiting
    await isle.call("advance-clock", durationMs=1)
    assert await location_name(isle) == "Yard"
    done = await isle.call("get-proposal", "Narrative", proposalId=drip["proposalId"])
    assert done["commitId"]


async def test_proposals_applied_by_another_process_are_not_applied_again() -> None:
    isle = await the_isle()
    reply = await send_proposal(isle, make_envelope(GO))
    caller = a_caller()
    world = await require_world(isle.canon, caller, isle.world)
    head = await isle.canon.ledger.head_position(isle.world)

    await apply_admitted(isle.canon, caller, world, reply["proposalId"])
    await apply_admitted(isle.canon, caller, world, isle.id("inn"))

    assert await isle.canon.ledger.head_position(isle.world) == head
    assert await location_name(isle) == "Yard"


async def test_an_unknown_event_error_lists_the_known_ones() -> None:
    isle = await the_isle()
    caller = a_caller()
    world = await require_world(isle.canon, caller, isle.world)

    with pytest.raises(InvalidInput, match=r"Location\.Environment\.Changed") as refused:
        await enqueue_world_event(isle.canon, caller, world, "World.Ends", {})

    assert refused.value.code == "event.unknown"
