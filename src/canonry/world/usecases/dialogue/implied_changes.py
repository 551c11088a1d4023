"""Implied changes: what would follow from a character's words is proposed, like anything else.

A correlation id names one turn of an agent: what the turn proposed once, it never proposes again,
whatever a model says the second time.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.items.proposals import Proposal
from canonry.values.ids import content_id, is_uuid
from canonry.values.moments import render_instant
from canonry.world.domain.dialogue.turns import CHANGES_MAX, TEMPLATE
from canonry.world.domain.merging import thing_id_of
from canonry.world.models.services import WorldServices
from canonry.world.usecases.proposals.settling import decided, proposal_in
from canonry.world.usecases.worlds import BoundWorld

Propose = Callable[[Mapping[str, Any]], Awaitable[Any]]
"""Sends the arguments of `propose-action`: its reply, or `{"error": …}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSpoken:
    """What a turn implies, the ids of those who speak and of the place, and what it cost.

    `messages` are all that the model was told after the template.
    """

    correlation_id: str
    player: str
    npc: str
    place: str
    model: str
    tokens: tuple[int, int]
    messages: Sequence[Mapping[str, Any]]
    changes: Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpliedChange:
    """What became of a change; it is `refused` where a reason is told.

    No `proposal`: it is none that could be proposed. `gate` and `rule` are of the gate's refusal.
    """

    number: int
    proposal: str = ""
    gate: str = ""
    rule: str = ""
    refused: str = ""


async def propose_implied(
    canon: Canon, caller: Caller, world: BoundWorld, turn: TurnSpoken, propose: Propose
) -> tuple[ImpliedChange, ...]:
    """Propose each change by itself, in order; a later one is judged after an earlier one.

    Where the turn has proposed before, what became of that, and nothing is proposed.
    """
    if not turn.changes:
        return ()
    named = ("dialogue", world.space, caller.actor.agent_id, turn.correlation_id)
    ids = [content_id(*named, str(number)) for number in range(CHANGES_MAX)]
    before = [await proposal_in(canon, world.space, each) for each in ids]
    if any(before):
        return tuple(_known(number, one) for number, one in enumerate(before) if one is not None)
    context = canon.service(WorldServices).admissions.gave_out(
        world.space, {"messages": list(turn.messages)}
    )
    found = []
    for number, change in enumerate(turn.changes):
        if number >= CHANGES_MAX:
            told = f"a turn implies at most {CHANGES_MAX} changes; the rest is not looked at"
            found.append(ImpliedChange(number=number, refused=told))
        elif not isinstance(change, Mapping):
            told = "a change is an object of actionType and params"
            found.append(ImpliedChange(number=number, refused=told))
        else:
            envelope = {
                "proposalId": ids[number],
                "version": 1,
                "issuedUtc": render_instant(canon.clock.now()),
                "actor": {"kind": "ai", "id": turn.npc},
                "correlationId": _as_uuid(turn.correlation_id),
                "idempotencyKey": f"dialogue/{ids[number]}",
                "generation": _generation(turn, number, context),
                "proposedActions": [_action(world, change, turn)],
            }
            reply = await propose({"playerId": turn.player, "actionEnvelope": envelope})
            found.append(_answered(number, reply))
    return tuple(found)


def _as_uuid(correlation_id: str) -> str:
    return correlation_id if is_uuid(correlation_id) else content_id("dialogue", correlation_id)


def _generation(turn: TurnSpoken, number: int, context: str) -> Mapping[str, Any]:
    """How the words came about; the tokens are told once, for budgets add them up."""
    prompt, completion = (0, 0) if number else turn.tokens
    return {
        "templateName": TEMPLATE.id,
        "templateVersion": TEMPLATE.version,
        "templateHash": TEMPLATE.hash,
        "contextHash": context,
        "parameters": {},
        "model": turn.model,
        "promptTokens": prompt,
        "completionTokens": completion,
    }


def _action(world: BoundWorld, change: Mapping[str, Any], turn: TurnSpoken) -> Mapping[str, Any]:
    """The change, about the place where it was said, or about what the player does themselves."""
    kind, params = change.get("actionType"), change.get("params")
    field = {"Mover.Move": "moverId", "Resource.Spend": "ownerId"}.get(str(kind), "")
    who = params.get(field) if isinstance(params, Mapping) else None
    own = isinstance(who, str) and thing_id_of(world.space, who) == turn.player
    scope = f"player:{turn.player}" if own else f"loc:{turn.place}"
    return {"actionType": kind, "scopeKey": scope, "params": params}


def _known(number: int, proposal: Proposal) -> ImpliedChange:
    told = decided(proposal)
    if told.rejection is None:
        return ImpliedChange(number=number, proposal=told.proposal_id)
    return ImpliedChange(
        number=number,
        proposal=told.proposal_id,
        gate=told.rejection.gate,
        rule=told.rejection.rule,
        refused=told.rejection.reason,
    )


def _answered(number: int, reply: Any) -> ImpliedChange:
    error, rejection = reply.get("error"), reply.get("rejection") or {}
    if error is not None:
        return ImpliedChange(number=number, refused=str(error["message"]))
    return ImpliedChange(
        number=number,
        proposal=reply["proposalId"],
        gate=rejection.get("gate", ""),
        rule=rejection.get("rule", ""),
        refused=rejection.get("reason", ""),
    )
