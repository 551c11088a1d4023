"""A scheduled proposal happens when it is due, in order, once; none is lost on the way."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from typing_extensions import override

from canonry.gateway.call import Gateway
from canonry.log.commits import Append, Outcome
from canonry.log.ports.ledger import Ledger
from canonry.testing.clocks import HandClock
from canonry.values.errors import Unavailable
from canonry.values.moments import SECOND
from canonry.world.toolset import WORLD
from tests.simulation.loops import Faults, FaultyLedger
from tests.toolsets.world.kit import Isle
from tests.toolsets.world.proposals.adversarial import GO, MOOD, make_envelope
from tests.toolsets.world.proposals.kit import send_proposal, the_isle, with_new_ids

pytestmark = pytest.mark.anyio
_CHANGED = "Location.Environment.Changed"
RAIN = {
    "scopeKey": "loc:inn",
    "locationId": "inn",
    "layerType": "weather",
    "layerContent": "Rain drums on the roof.",
}


class Failing(FaultyLedger):
    """A ledger that refuses the appends of these numbers, from 1 on, and else does all at once."""

    def __init__(self, inner: Ledger, *refused: int) -> None:
        super().__init__(inner, random.Random(1), Faults(delay=0))
        self._refused = refused

    @override
    async def append_drafts(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        if self.appends + 1 in self._refused:
            self.appends += 1
            raise Unavailable("ledger.busy", "the ledger is busy; send the request again")
        return await super().append_drafts(batch)


def fail_appends(isle: Isle, *refused: int) -> Isle:
    canon = replace(isle.canon, ledger=Failing(isle.canon.ledger, *refused))
    return Isle(canon=canon, gateway=Gateway(canon, (WORLD,)), world=isle.world)


async def location_name(isle: Isle) -> str:
    reply = await isle.call("get-player-context", "World", playerId="ann")
    return str(reply["location"]["name"])


async def read_weather(isle: Isle, **at: Any) -> str:
    reply = await isle.call("get-atmosphere", "World", locationId="inn", **at)
    return str(reply["weather"]["value"])


async def test_an_event_without_a_tick_applies_at_once() -> None:
    isle = await the_isle()

    reply = await isle.call("enqueue-world-event", "World", type=_CHANGED, payload=RAIN)

    assert reply["outcome"] == "accepted"
    assert reply["commitId"]
    assert await read_weather(isle) == "Rain drums on the roof."


async def test_an_event_with_a_tick_waits_and_is_dated_there() -> None:
    isle = await the_isle()
    due = {**RAIN, "toTick": 90_000_000}
    reply = await isle.call(
        "enqueue-world-event",
        "Encounter",
        type=_CHANGED,
        payload=due,
        dueTick=60_000_000,
    )
    assert "commitId" not in reply
    assert await read_weather(isle) == "rain"

    await isle.call("advance-clock", durationMs=20_000_000)

    assert await read_weather(isle) == "Rain drums on the roof."
    assert await read_weather(isle, tick=60_000_000) == "Rain drums on the roof."
    assert await read_weather(isle, tick=59_999_999) == "rain"
    kept = await isle.call("get-proposal", "World", proposalId=reply["proposalId"])
    assert kept["commitId"]
    assert kept["dueTick"] == 60_000_000


async def test_events_apply_in_the_order_of_their_ticks() -> None:
    isle = await the_isle()
    for tick, direction in ((70_000_000, "north"), (60_000_000, "out")):
        await isle.call(
            "enqueue-world-event",
            "World",
            type="Player.Move",
            payload={"scopeKey": "player:ann", "moverId": "ann", "direction": direction},
            dueTick=tick,
        )

    await isle.call("advance-clock", durationMs=30_000_000)

    assert await location_name(isle) == "Road"


async def test_one_key_is_one_event() -> None:
    isle = await the_isle()
    call = {
        "type": "World.Ambience.Requested",
        "payload": {"scopeKey": "loc:inn", "locationId": "inn"},
        "idempotencyKey": "once",
    }
    first = await isle.call("enqueue-world-event", "World", **call)

    again = await isle.call("enqueue-world-event", "World", **call)

    assert again["duplicateOf"] == first["proposalId"]
    assert again["commitId"] == first["commitId"]


async def test_a_permanently_impossible_event_is_refused_when_enqueued() -> None:
    isle = await the_isle()
    nowhere = {**RAIN, "scopeKey": "loc:zed", "locationId": "zed"}

    reply = await isle.call(
        "enqueue-world-event",
        "World",
        type=_CHANGED,
        payload=nowhere,
        dueTick=60_000_000,
    )

    assert reply["rejection"]["rule"] == "reference.unknown"


async def test_a_payload_error_is_reported_with_its_path() -> None:
    isle = await the_isle()
    unscoped = {name: value for name, value in RAIN.items() if name != "scopeKey"}

    paths = [
        (await isle.call("enqueue-world-event", "World", type=_CHANGED, payload=payload))[
            "rejection"
        ]["path"]
        for payload in (unscoped, {**RAIN, "layerType": "soup"})
    ]

    assert paths == ["/payload/scopeKey", "/payload/layerType"]


async def test_an_unknown_event_is_named() -> None:
    isle = await the_isle()
    outcome = await isle.outcome(
        "enqueue-world-event", {"type": "World.Ends", "payload": {}}, "World"
    )
    assert outcome.error is not None


async def test_a_scheduled_event_can_be_withdrawn_until_due() -> None:
    isle = await the_isle()
    call = {"type": "Location.Environment.Changed", "payload": RAIN, "dueTick": 60_000_000}
    reply = await isle.call("enqueue-world-event", "World", **call)
    own = {"proposalId": reply["proposalId"], "reason": "the sky clears"}

    gone = await isle.call("withdraw-proposal", "World", **own)
    assert gone["withdrawn"] == "the sky clears"
    await isle.call("advance-clock", durationMs=20_000_000)
    assert await read_weather(isle) == "rain"

    again = await isle.outcome("withdraw-proposal", own, "World")
    assert again.body["error"]["details"]["reason"] == "proposal.decided"
    stranger = await isle.outcome("withdraw-proposal", own, "Planner")
    assert stranger.body["error"]["details"]["reason"] == "proposal.unknown"


async def test_an_applied_event_cannot_be_withdrawn() -> None:
    isle = await the_isle()
    reply = await send_proposal(isle, make_envelope(GO))
    own = {"proposalId": reply["proposalId"], "reason": "no"}

    outcome = await isle.outcome("withdraw-proposal", own, "Narrative")

    assert outcome.body["error"]["details"]["reason"] == "proposal.decided"


async def test_without_its_record_nothing_is_written() -> None:
    isle = await the_isle()
    broken = fail_appends(isle, 1)

    reply = await send_proposal(broken, make_envelope(GO))

    assert reply["rejection"]["gate"] == "audit"
    assert reply["rejection"]["transient"]
    assert len(reply["gatesPassed"]) == 6
    assert await location_name(isle) == "Inn"
    assert (await send_proposal(isle, make_envelope(GO)))["outcome"] == "accepted"


async def test_an_unrecordable_refusal_is_audited() -> None:
    isle = fail_appends(await the_isle(), 1)

    reply = await send_proposal(isle, make_envelope(GO, version=2))

    assert reply["rejection"]["rule"] == "audit.unavailable"


async def test_a_retry_finishes_an_interrupted_application() -> None:
    isle = await the_isle()
    broken = fail_appends(isle, 2)

    reply = await send_proposal(broken, make_envelope(GO))
    assert reply["outcome"] == "accepted"
    assert "commitId" not in reply
    assert await location_name(isle) == "Inn"

    again = await send_proposal(isle, make_envelope(GO))

    assert again["commitId"]
    assert await location_name(isle) == "Yard"
    assert (await send_proposal(isle, make_envelope(GO)))["commitId"] == again["commitId"]


async def test_the_next_proposer_finishes_interrupted_work() -> None:
    isle = await the_isle()
    clock = HandClock()
    await send_proposal(fail_appends(isle, 2), make_envelope(GO))
    clock.move_by(120 * SECOND)
    canon = replace(isle.canon, clock=clock)
    later = Isle(canon=canon, gateway=Gateway(canon, (WORLD,)), world=isle.world)

    await send_proposal(later, with_new_ids(make_envelope(MOOD)))

    assert await location_name(isle) == "Yard"


async def test_an_event_blocked_by_the_world_is_refused_with_a_reason() -> None:
    isle = await the_isle()
    reply = await send_proposal(fail_appends(isle, 2), make_envelope(GO))
    await isle.call("remove-exit", fromLocationId="inn", direction="out")

    await isle.call("advance-clock", durationMs=1)

    kept = await isle.call("get-proposal", "World", proposalId=reply["proposalId"])
    assert kept["outcome"] == "rejected"
    assert kept["rejection"]["rule"] == "exit.unknown"
    assert await location_name(isle) == "Inn"
