"""Conversations of characters, and the changes that what is said implies."""

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final

from canonry.canon.judging.making import make_event
from canonry.canon.session.ai_words import CallOutcome, EventName, ModelPurpose
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event
from canonry.log.items.proposals import Proposal
from canonry.readmodels.edges import time_of_day
from canonry.values.ids import content_id, is_uuid
from canonry.values.moments import Instant, render_instant
from canonry.values.policy import ModelTiers
from canonry.world.domain.dialogue.turns import CHANGES_MAX, TEMPLATE, PairExchange
from canonry.world.domain.merging import thing_id_of
from canonry.world.models.services import WorldServices
from canonry.world.models.telemetry import Invocation, cost_of
from canonry.world.usecases.check_narration import scene_of
from canonry.world.usecases.proposals.settling import decided, proposal_in
from canonry.world.usecases.viewing import EventsWanted, search_events
from canonry.world.usecases.world_draft import WorldDraft, change_world
from canonry.world.usecases.worlds import BoundWorld, WorldAt

TITLE: Final = "NPC.Dialogue"
EXCHANGES_MAX: Final = 6
"""So many exchanges of a pair enter the next turn; the log keeps all."""
_LOOKED_AT: Final = 100
_TEXT_MAX: Final = 2_000
_REFUSED: Final = frozenset({"narration", "moderation.reply"})
"""Why something that a model said is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptExchange:
    """An exchange as it is kept; `later`: it was done after the player had been answered."""

    said: str
    reply: str
    correlation_id: str
    fallback: str | None
    tool_calls: tuple[str, ...] = ()
    model: str = ""
    later: bool = False
    tokens: tuple[int, int] = (0, 0)
    milliseconds: int = 0


async def context_of(
    then: WorldAt, player: Entity, npc: Entity, place: Entity, said: str
) -> Mapping[str, Any]:
    """What a character may know as it answers: itself, the place, who is there, and lore."""
    scene = await scene_of(then, place, player, said)
    names = {each.place.id: each.place.name for each in scene.places}
    return {
        "you": {"name": npc.name, "description": npc.description, "id": npc.id},
        "player": {"name": player.name, "id": player.id},
        "place": {"name": place.name, "description": place.description, "id": place.id},
        "timeOfDay": scene.time_of_day or time_of_day(then.tick),
        "present": [each.name for each in scene.present if each.id != npc.id],
        "exits": [f"{way.direction}: {names[way.to]}" for way in scene.ways],
        "layers": [layer.text for layer in scene.layers],
        "lore": [told.text for told in scene.lore],
    }


async def past_exchanges(
    then: WorldAt, player: Entity, npc: Entity, turn: tuple[str, str]
) -> tuple[Sequence[PairExchange], str | None]:
    """The last exchanges of exactly this pair before a turn, the oldest first; fallbacks say none.

    And what was answered to the turn itself, by its correlation id and words, if it is sent again.
    """
    events = await then.events(npc.id, _LOOKED_AT)
    of_pair = [event.properties for event in events if _is_of(event, player, npc)]
    same = [own for own in of_pair if (own["correlation_id"], own["said"]) == turn]
    told = [own for own in of_pair if own not in same]
    past = [
        PairExchange(said=str(own["said"]), reply=str(own["reply"]))
        for own in reversed(told[:EXCHANGES_MAX])
    ]
    return past, str(same[0]["reply"]) if same else None


def _is_of(event: Event, player: Entity, npc: Entity) -> bool:
    both = {player.id, npc.id} <= set(event.involved)
    return is_exchange(event) and both and not event.properties["fallback"]


def is_exchange(event: Event) -> bool:
    """Whether an event keeps what was said by both; others of its title are of proposals."""
    return event.title == TITLE and "said" in event.properties


async def remember(
    canon: Canon, caller: Caller, world: BoundWorld, pair: tuple[Entity, Entity], kept: KeptExchange
) -> Mapping[str, Any]:
    """Keep an exchange with what it spoke of, in the pair's own record and nowhere else."""
    own = {
        "actor_kind": "npc",
        "said": kept.said[:_TEXT_MAX],
        "reply": kept.reply[:_TEXT_MAX],
        "correlation_id": kept.correlation_id,
        "fallback": kept.fallback,
        "tool_calls": list(kept.tool_calls),
        "model": kept.model,
        "later": kept.later,
        "npc": pair[1].id,
        "tokens": list(kept.tokens),
        "ms": kept.milliseconds,
        "memory": {"topics": _topics(kept), "exchanges": 1},
    }
    await change_world(canon, caller, world, partial(_record, pair=pair, kept=kept, own=own))
    return own


async def _record(
    draft: WorldDraft, pair: tuple[Entity, Entity], kept: KeptExchange, own: Mapping[str, Any]
) -> None:
    player, npc = pair
    draft.add(
        make_event(
            lambda _: draft.new_id(f"said/{kept.correlation_id}/{kept.later}"),
            draft.backing,
            title=TITLE,
            description="",
            involved=(npc.id, player.id),
            time_ref=draft.at,
            severity=1,
            properties=own,
        )
    )


def _topics(kept: KeptExchange) -> list[str]:
    """What an exchange spoke of: the names in it, as they were written."""
    found: dict[str, None] = {}
    for text in (kept.said, "" if kept.fallback else kept.reply):
        words = text.split()
        for before, word in pairwise(words):
            if before[-1] in '.!?"\u201d':
                continue  # any word is spelled so there
            bare = word.strip(".,!?;:\"'()\u201c\u201d\u2019")
            if bare[:1].isupper() and len(bare) > 1:
                found[bare[:80]] = None
    return list(found)[:20]


def spoken_as(own: Mapping[str, Any], tiers: ModelTiers) -> tuple[EventName, Invocation]:
    """What telemetry tells of an exchange, from its record alone."""
    reason = own.get("fallback")
    asked, answered = own.get("tokens") or (0, 0)
    model = str(own.get("model", ""))
    outcome = CallOutcome.ACCEPTED if reason is None else None
    if reason in _REFUSED:
        outcome = CallOutcome.REJECTED
    told = Invocation(
        purpose=ModelPurpose.NPC_DIALOGUE,
        model=model,
        prompt_tokens=asked,
        completion_tokens=answered,
        latency_ms=own.get("ms"),
        tool_calls=len(own.get("tool_calls") or ()),
        outcome=outcome,
        flagged=str(reason).startswith("moderation."),
        micros=cost_of(asked, answered, model, tiers),
        text="" if reason else str(own["reply"]),
    )
    return EventName.DIALOGUE_TURN if reason is None else EventName.DIALOGUE_FALLBACK, told


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """What a player said that nobody has answered yet but with words that claim nothing."""

    player: str
    npc: str
    text: str
    correlation_id: str


async def unanswered(
    canon: Canon, world: BoundWorld, reasons: Container[str], since: Instant
) -> Sequence[Unanswered]:
    """What fell back for one of these reasons since then and was not made good, the oldest first.

    The log is the queue, so that no restart loses it.
    """
    found, _ = await search_events(canon, world, EventsWanted(event_type=TITLE), _LOOKED_AT)
    told = [
        event
        for event in found
        if is_exchange(event) and "npc" in event.properties and event.created_at >= since
    ]
    done = {_turn_of(event) for event in told if not event.properties["fallback"]}
    open_turns = {
        _turn_of(event): each
        for event in reversed(told)
        if event.properties["fallback"] in reasons and _turn_of(event) not in done
        for each in event.involved
        if each != event.properties["npc"]
    }
    return [
        Unanswered(player=player, npc=npc, text=text, correlation_id=correlation)
        for (npc, correlation, text), player in open_turns.items()
    ]


def _turn_of(event: Event) -> tuple[str, str, str]:
    own = event.properties
    return str(own["npc"]), str(own["correlation_id"]), str(own["said"])


# Implied changes: what would follow from a character's words is proposed, like anything else.
#
# A correlation id names one turn of an agent: what the turn proposed once, it never proposes
# again,
# whatever a model says the second time.

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
