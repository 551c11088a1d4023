"""Enqueue a domain event: it passes the same gates, and comes about in order when it is due."""

from dataclasses import replace
from typing import Any, Final

from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.readmodels.ticks import checked_tick
from canonry.values.errors import InvalidInput
from canonry.values.time import render_instant
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.proposals.admission import propose
from canonry.world.usecases.proposals.applying import EVENT_NAMES
from canonry.world.usecases.proposals.decided import Decided, decided
from canonry.world.usecases.proposals.settling import proposal_in, settle

SCOPE: Final = "scopeKey"
_ACTION: Final = "/proposedActions/0"


async def enqueue_world_event(
    canon: Canon,
    caller: Caller,
    world: BoundWorld,
    event_type: str,
    payload: dict[str, Any],
    *,
    key: str | None = None,
    correlation: str | None = None,
    due: int | None = None,
) -> Decided:
    """Have an event come about now or at a tick; `payload` has the parameters and the `scopeKey`.

    Once for each key. What is due before it comes about first.

    Raises:
        InvalidInput: `event.unknown` or `tick.out-of-range`.
    """
    action = EVENT_NAMES.get(event_type)
    if action is None:
        known = ", ".join(EVENT_NAMES)
        message = f"there is no such event; these are: {known}"
        raise InvalidInput("event.unknown", message, path="/type")
    proposal_id = step(caller, "proposal").commit_id(world.space, canon.identities.fresh)
    before = await proposal_in(canon, world.space, proposal_id)
    if before is not None and before.decision is not None:  # an earlier sending was told this
        return _as_sent(decided(before))
    envelope = {
        "proposalId": proposal_id,
        "version": 1,
        "issuedUtc": render_instant(canon.clock.now()),
        "actor": {"kind": "system"},
        "correlationId": correlation or proposal_id,
        "idempotencyKey": key or proposal_id,
        "proposedActions": [
            {
                "actionType": action,
                "scopeKey": payload.get(SCOPE, ""),
                "params": {name: value for name, value in payload.items() if name != SCOPE},
            }
        ],
    }
    tick = None if due is None else checked_tick(due, path="/dueTick")
    await settle(canon, caller, world)
    return _as_sent(await propose(canon, caller, world, "", envelope, due=tick))


def _as_sent(fared: Decided) -> Decided:
    """The same, where what is wrong stands at its place in the payload and in no envelope."""
    told = fared.rejection
    if told is None or told.path is None or not told.path.startswith(_ACTION):
        return fared
    within = told.path.removeprefix(_ACTION).removeprefix("/params")
    return replace(fared, rejection=replace(told, path=f"/payload{within}"))
