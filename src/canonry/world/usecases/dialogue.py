"""Dialogues: answer a player, keep what was said, and count again what models were asked for."""

import asyncio
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.telemetry_names import CallOutcome, EventName, ModelPurpose
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event
from canonry.log.items.proposals import Proposal, ProposalStatus
from canonry.log.schemas.world_types import WorldType
from canonry.models.outside_services import SpeakingModel, ToolAsked
from canonry.readmodels.edges import FOREVER, time_of_day
from canonry.values.errors import CanonryError, InvalidInput
from canonry.values.ids import content_id, is_uuid
from canonry.values.json_values import encode_json
from canonry.values.moments import Instant, render_instant
from canonry.values.policy import ModelTiers
from canonry.world.domain.admission.safety import digest_value
from canonry.world.domain.admission.schema import (
    Envelope,
    ReadProposal,
    read_strictly,
    reject_missing,
)
from canonry.world.domain.atlas import item_id_of
from canonry.world.domain.checks import person_of
from canonry.world.domain.narration.violations import find_violations
from canonry.world.domain.prompts import templates
from canonry.world.models.services import (
    HOUR,
    HOURS_MAX,
    Invocation,
    WorldServices,
    cost_of,
    count_event,
    generation_key,
    invocation_of,
    model_for,
    moderate_content,
)
from canonry.world.usecases.contexts import SEARCHED_MAX, search_events
from canonry.world.usecases.proposals.outcomes import newest_proposals, outcome_of, proposal_in
from canonry.world.usecases.speech import find_contradictions, scene_of
from canonry.world.usecases.worlds import (
    BoundWorld,
    WorldAt,
    WorldDraft,
    change_world,
    find_world,
    query_worlds,
    world_at,
)

# Take a turn: a player speaks to a character, and gets an answer before a deadline. A model's words
# are moderated and checked against the world before any character hears them. If a step fails, the
# answer is a text without claims, and the missed steps follow later.

DEADLINE: Final = 2.5  # a player waits no longer for an answer
_SHARE: Final = 0.8  # the model's share of the deadline; the rest is for writing the exchange
_TRANSIENT: Final = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL_ERROR"})

LookUp = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Calls a read-only tool of the character's role: its reply, or `{"error": …}`."""
Propose = Callable[[Mapping[str, Any]], Awaitable[Any]]
"""Sends the arguments of `propose-action`: its reply, or `{"error": …}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerUtterance:
    """A player's words to a character."""

    player: str
    npc: str
    text: str
    correlation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Voices:
    """The means of a character to answer: a model, tools, and the receiver of proposals.

    `tools` are in the form of the OpenAI protocol. `seconds` is the deadline of a whole turn.
    """

    speaker: SpeakingModel | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    look_up: LookUp | None = None
    propose: Propose
    seconds: float = DEADLINE


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpliedChange:
    """Outcome of a change; it is `refused` if there is a reason.

    Without `proposal` the change was malformed. `gate` and `rule` are of the gate's refusal.
    """

    number: int
    proposal: str = ""
    gate: str = ""
    rule: str = ""
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueTurn:
    """Reply to the player; `reason` tells operators why it is a fallback."""

    reply: str
    tool_calls: tuple[str, ...]
    changes: tuple[ImpliedChange, ...]
    reason: str | None

    @property
    def is_fallback(self) -> bool:
        """Return whether the answer is a fallback, which claims nothing."""
        return self.reason is not None


@dataclass(slots=True, kw_only=True)
class _TurnState:
    """A turn of a dialogue: its speakers, its location, and its events so far.

    So many tool `calls` it may make. `again`: it is kept already, and was sent once more.
    """

    then: WorldAt
    caller: Caller
    voices: Voices
    utterance: PlayerUtterance
    player: Entity
    npc: Entity
    location: Entity
    calls: int
    started: float
    messages: list[Mapping[str, Any]] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    again: bool = False


class _FellBackError(Exception):
    """Why a turn ends in words that claim nothing."""


async def take_turn(
    canon: Canon, caller: Caller, world: BoundWorld, utterance: PlayerUtterance, voices: Voices
) -> DialogueTurn:
    """The answer, kept with what was said; what would follow from it is proposed.

    Raises:
        InvalidInput: `dialogue.empty`, `dialogue.too-long`, `dialogue.apart`.
        NotFound: `player.unknown` or `character.unknown`.
    """
    turn = await _begin_turn(world_at(canon, world), caller, utterance, voices)
    reason: str | None = None
    answered: templates.CharacterAnswer | None = None
    try:
        async with asyncio.timeout(voices.seconds * _SHARE):
            answered = await _answer_turn(turn)
    except TimeoutError:
        reason = "deadline"
    except _FellBackError as error:
        reason = str(error)
    except CanonryError as error:
        reason = error.code
    key = f"{utterance.correlation_id}/{utterance.text}"
    words = answered or templates.CharacterAnswer(say=templates.fallback_for(turn.npc.name, key))
    changes = await _propose_implied(turn, words.changes)
    if not turn.again:
        await _store_exchange(turn, words.reply_text, fallback=reason)
    return DialogueTurn(
        reply=words.reply_text, tool_calls=tuple(turn.called), changes=changes, reason=reason
    )


async def retry_answer(
    canon: Canon, caller: Caller, world: BoundWorld, utterance: PlayerUtterance, voices: Voices
) -> bool:
    """Ask the model again after a fallback, and store the character's words.

    Returns whether that succeeded. No changes are proposed.
    """
    try:
        turn = await _begin_turn(world_at(canon, world), caller, utterance, voices)
        async with asyncio.timeout(voices.seconds):
            answered = await _answer_turn(turn)
    except (TimeoutError, _FellBackError, CanonryError):
        return False
    await _store_exchange(turn, answered.reply_text, later=True)
    return True


async def _begin_turn(
    then: WorldAt, caller: Caller, utterance: PlayerUtterance, voices: Voices
) -> _TurnState:
    if not utterance.text.strip():
        raise InvalidInput("dialogue.empty", "say something", path="/inputText")
    if len(utterance.text) > templates.INPUT_MAX:
        message = f"A player's text has at most {templates.INPUT_MAX} characters. Shorten it."
        raise InvalidInput("dialogue.too-long", message, path="/inputText")
    player = await then.require_item(utterance.player, WorldType.PLAYER)
    npc = await then.require_item(utterance.npc, WorldType.CHARACTER)
    location, there = await then.location_of(player), await then.location_of(npc)
    known = person_of(npc, None if there is None else there.id)
    if location is None or reject_missing(known, location.id, "") is not None:
        message = "The character cannot answer: it is elsewhere, absent or dead."
        raise InvalidInput("dialogue.apart", message, path="/npcId")
    return _TurnState(
        then=then,
        caller=caller,
        voices=voices,
        utterance=utterance,
        player=player,
        npc=npc,
        location=location,
        calls=then.canon.policy.models.tool_calls,
        started=then.canon.clock.monotonic(),
    )


async def _answer_turn(turn: _TurnState) -> templates.CharacterAnswer:
    then, text_said = turn.then, turn.utterance.text
    services = then.canon.find_service(WorldServices)
    if not (await moderate_content(then.canon, text_said)).allowed:
        raise _FellBackError("moderation.input")
    if turn.voices.speaker is None:
        raise _FellBackError("model.none")
    past, kept = await _past_exchanges(turn)
    turn.again = kept is not None
    turn.messages += templates.opening_messages(await _context_of(turn), past, text_said)
    model = model_for(ModelPurpose.NPC_DIALOGUE, then.canon.policy.models)
    context = digest_value(turn.messages[1:])
    key = generation_key(ModelPurpose.NPC_DIALOGUE, model, templates.TEMPLATE.content_hash, context)
    text = services.generated.find_answer(key)
    if text is None and kept is not None:
        return templates.CharacterAnswer(say=kept)
    if text is None:
        text = await _ask_speaker(turn, turn.voices.speaker, model)
    answered = templates.read_answer(text)
    if answered is None:
        raise _FellBackError("model.unreadable")
    if not (await moderate_content(then.canon, answered.reply_text)).allowed:
        raise _FellBackError("moderation.reply")
    narration = answered.narration
    if narration:
        scene = await scene_of(then, turn.location, turn.player, narration)
        if find_violations(narration, scene) or find_contradictions(narration, scene):
            raise _FellBackError("narration")
    services.generated.keep_answer(key, text)
    return answered


async def _context_of(turn: _TurnState) -> Mapping[str, Any]:
    """Return the context of an answer: the character, location, people present and lore."""
    player, npc, location = turn.player, turn.npc, turn.location
    scene = await scene_of(turn.then, location, player, turn.utterance.text)
    names = {each.location.id: each.location.name for each in scene.named_locations}
    return {
        "you": {"name": npc.name, "description": npc.description, "id": npc.id},
        "player": {"name": player.name, "id": player.id},
        "place": {"name": location.name, "description": location.description, "id": location.id},
        "timeOfDay": scene.time_of_day or time_of_day(turn.then.tick),
        "present": [each.name for each in scene.present_people if each.id != npc.id],
        "exits": [f"{known_exit.direction}: {names[known_exit.to]}" for known_exit in scene.exits],
        "layers": [layer.text for layer in scene.layers],
        "lore": [statement.text for statement in scene.lore],
    }


async def _ask_speaker(turn: _TurnState, speaker: SpeakingModel, model: str) -> str:
    """Return the model's final answer; the number of tool calls is limited."""
    for _round in range(turn.calls + 1):
        left = turn.calls - len(turn.called)
        spoken = await speaker.next_answer(turn.messages, turn.voices.tools if left else (), model)
        turn.model = spoken.model
        turn.prompt_tokens += spoken.prompt_tokens
        turn.completion_tokens += spoken.completion_tokens
        if not spoken.asked:
            return spoken.text
        if not left:
            break
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": encode_json(call.arguments).decode()},
            }
            for call in spoken.asked
        ]
        asking = {"role": "assistant", "content": spoken.text or None, "tool_calls": calls}
        turn.messages.append(asking)
        for call in spoken.asked:
            result = await _call_tool(turn, call)
            turn.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    raise _FellBackError("tools.budget")


async def _call_tool(turn: _TurnState, call: ToolAsked) -> str:
    names, look_up = {each["function"]["name"] for each in turn.voices.tools}, turn.voices.look_up
    if len(turn.called) >= turn.calls:
        message = f"You have made {turn.calls} tool calls, the limit. Answer from their results."
        return templates.tool_result({"error": message})
    turn.called.append(call.name if call.name in names else "(unknown)")
    if call.name not in names or look_up is None:
        return templates.tool_result({"error": "There is no such tool."})
    reply = await look_up(call.name, call.arguments)
    error = reply.get("error") if isinstance(reply, Mapping) else None
    if isinstance(error, Mapping) and error.get("code") in _TRANSIENT:
        raise _FellBackError("tools.failed")
    return templates.tool_result(reply)


# Each exchange is stored as an event of the pair; telemetry is counted again from these.

TITLE: Final = "NPC.Dialogue"
EXCHANGES_MAX: Final = 6
"""The most exchanges of a pair that enter the next turn; the log keeps all."""
_SEARCHED_MAX: Final = 100  # the newest events of a pair are among the character's newest
_TEXT_MAX: Final = 2_000  # bounds an event, which each later prompt may repeat


def is_exchange(event: Event) -> bool:
    """Return whether an event is an exchange of a dialogue, and not of a proposal."""
    return event.title == TITLE and "said" in event.properties


async def _past_exchanges(turn: _TurnState) -> tuple[Sequence[Mapping[str, str]], str | None]:
    """The last exchanges of exactly this pair before a turn, the oldest first; fallbacks say none.

    And what was answered to the turn itself, by its correlation id and words, if it is sent again.
    """
    pair, this = {turn.player.id, turn.npc.id}, (turn.utterance.correlation_id, turn.utterance.text)
    of_pair = [
        event.properties
        for event in await turn.then.events_of(turn.npc.id, _SEARCHED_MAX)
        if is_exchange(event) and pair <= set(event.involved) and not event.properties["fallback"]
    ]
    same = [own for own in of_pair if (own["correlation_id"], own["said"]) == this]
    earlier = [own for own in of_pair if own not in same]
    past = [
        {"player": str(own["said"]), "you": str(own["reply"])}
        for own in reversed(earlier[:EXCHANGES_MAX])
    ]
    return past, str(same[0]["reply"]) if same else None


async def _store_exchange(
    turn: _TurnState, reply: str, *, fallback: str | None = None, later: bool = False
) -> None:
    """Keep an exchange with what it spoke of, in the pair's own record and nowhere else.

    `later`: it was done after the player had been answered. It is counted by its record.
    """
    canon, world = turn.then.canon, turn.then.world
    player_text, correlation_id = turn.utterance.text, turn.utterance.correlation_id
    topics = _find_topics(player_text, "" if fallback else reply)
    own = {
        "actor_kind": "npc",
        "said": player_text[:_TEXT_MAX],
        "reply": reply[:_TEXT_MAX],
        "correlation_id": correlation_id,
        "fallback": fallback,
        "tool_calls": list(turn.called),
        "model": turn.model,
        "later": later,
        "npc": turn.npc.id,
        "tokens": [turn.prompt_tokens, turn.completion_tokens],
        "ms": round((canon.clock.monotonic() - turn.started) * 1_000),
        "memory": {"topics": topics, "exchanges": 1},
    }

    async def write_exchange(draft: WorldDraft) -> None:
        draft.add_event(f"said/{correlation_id}/{later}", TITLE, (turn.npc.id, turn.player.id), own)

    await change_world(canon, turn.caller, world, write_exchange)
    event, invocation = usage_of(own, canon.policy.models)
    count_event(canon, event, invocation, space=world.space)


def _find_topics(*texts: str) -> list[str]:
    found: dict[str, None] = {}
    for text in texts:
        words = text.split()
        for before, word in pairwise(words):
            if before[-1] in '.!?"\u201d':
                continue  # any word is spelled so there
            bare = word.strip(".,!?;:\"'()\u201c\u201d\u2019")
            if bare[:1].isupper() and len(bare) > 1:
                found[bare[:80]] = None
    return list(found)[:20]


def usage_of(own: Mapping[str, Any], tiers: ModelTiers) -> tuple[EventName, Invocation]:
    """Return the telemetry of an exchange, from its record alone."""
    reason = own.get("fallback")
    asked, answered = own.get("tokens") or (0, 0)
    model = str(own.get("model", ""))
    outcome = CallOutcome.ACCEPTED if reason is None else None
    if reason in {"narration", "moderation.reply"}:  # a model said it, and it is not told
        outcome = CallOutcome.REJECTED
    invocation = Invocation(
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
    return EventName.DIALOGUE_TURN if reason is None else EventName.DIALOGUE_FALLBACK, invocation


async def find_unanswered(
    canon: Canon, world: BoundWorld, reasons: Container[str], since: Instant
) -> Sequence[PlayerUtterance]:
    """Return fallbacks with these reasons since then that were not repeated, oldest first.

    The log is the queue, which survives restarts.
    """
    found, _ = await search_events(canon, world, event_type=TITLE, limit=_SEARCHED_MAX)
    exchanges = [
        event
        for event in found
        if is_exchange(event) and "npc" in event.properties and event.created_at >= since
    ]
    done = {_key_of(event) for event in exchanges if not event.properties["fallback"]}
    open_turns = {
        _key_of(event): each
        for event in reversed(exchanges)
        if event.properties["fallback"] in reasons and _key_of(event) not in done
        for each in event.involved
        if each != event.properties["npc"]
    }
    return [
        PlayerUtterance(player=player, npc=npc, text=text, correlation_id=correlation)
        for (npc, correlation, text), player in open_turns.items()
    ]


def _key_of(event: Event) -> tuple[str, str, str]:
    own = event.properties
    return str(own["npc"]), str(own["correlation_id"]), str(own["said"])


# Implied changes. A correlation id names one turn of an agent: what the turn proposed once, it
# never proposes again, whatever a model says the second time.


async def _propose_implied(turn: _TurnState, changes: Sequence[Any]) -> tuple[ImpliedChange, ...]:
    """Propose each change by itself, in order; a later one is judged after an earlier one.

    If the turn has proposed before, return the earlier outcomes and propose nothing.
    """
    if not changes:
        return ()
    canon, space, turn_id = turn.then.canon, turn.then.world.space, turn.utterance.correlation_id
    correlation = turn_id if is_uuid(turn_id) else content_id("dialogue", turn_id)
    named = ("dialogue", space, turn.caller.actor.agent_id, turn_id)
    ids = [content_id(*named, str(number)) for number in range(templates.CHANGES_MAX)]
    before = [await proposal_in(canon, space, each) for each in ids]
    if any(before):
        return tuple(_recorded_change(n, one) for n, one in enumerate(before) if one is not None)
    messages = turn.messages[1:]
    context = canon.find_service(WorldServices).admissions.record_context(
        space, {"messages": messages}
    )
    found = []
    for number, change in enumerate(changes):
        problem = "A change must be an object with actionType and params."
        if number >= templates.CHANGES_MAX:
            problem = f"A turn has at most {templates.CHANGES_MAX} changes. The rest is ignored."
        if number >= templates.CHANGES_MAX or not isinstance(change, Mapping):
            found.append(ImpliedChange(number=number, refused=problem))
        else:
            envelope = {
                "proposalId": ids[number],
                "version": 1,
                "issuedUtc": render_instant(canon.clock.now()),
                "actor": {"kind": "ai", "id": turn.npc.id},
                "correlationId": correlation,
                "idempotencyKey": f"dialogue/{ids[number]}",
                "generation": {
                    "templateName": templates.TEMPLATE.id,
                    "templateVersion": templates.TEMPLATE.version,
                    "templateHash": templates.TEMPLATE.content_hash,
                    "contextHash": context,
                    "parameters": {},
                    "model": turn.model,
                    # Tokens are reported once, because budgets add them.
                    "promptTokens": 0 if number else turn.prompt_tokens,
                    "completionTokens": 0 if number else turn.completion_tokens,
                },
                "proposedActions": [_action_of(turn, change)],
            }
            reply = await turn.voices.propose(
                {"playerId": turn.player.id, "actionEnvelope": envelope}
            )
            found.append(_answered_change(number, reply))
    return tuple(found)


def _action_of(turn: _TurnState, change: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the action of a change at the location of the exchange or of the player."""
    kind, params = change.get("actionType"), change.get("params")
    named = {"Mover.Move": "moverId", "Resource.Spend": "ownerId"}.get(str(kind), "")
    who = params.get(named) if isinstance(params, Mapping) else None
    own = isinstance(who, str) and item_id_of(turn.then.world.space, who) == turn.player.id
    scope = f"player:{turn.player.id}" if own else f"loc:{turn.location.id}"
    return {"actionType": kind, "scopeKey": scope, "params": params}


def _recorded_change(number: int, proposal: Proposal) -> ImpliedChange:
    refused = outcome_of(proposal).rejection
    rejection = refused and {"gate": refused.gate, "rule": refused.rule, "reason": refused.reason}
    return _answered_change(number, {"proposalId": proposal.id, "rejection": rejection})


def _answered_change(number: int, reply: Mapping[str, Any]) -> ImpliedChange:
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


# Recounting. Proposals and dialogues are recorded with what they cost, so that a restart loses
# nothing of it. Counts of calls begin anew with each process, as those of the metrics do.


async def recount_usage(canon: Canon) -> None:
    """Add to telemetry what was recorded before its process told it anything; done once."""
    telemetry = canon.find_service(WorldServices).telemetry
    if telemetry.recounted:
        return
    telemetry.recounted = True
    since = Instant(canon.clock.now() - HOURS_MAX * HOUR)
    until = Instant(FOREVER) if telemetry.began is None else telemetry.began
    telemetry.began = canon.clock.now() if telemetry.began is None else telemetry.began
    for space in await query_worlds(canon):
        world = await find_world(canon, space.id)
        if world is not None:
            await _recount_world(canon, world, since, until)


async def _recount_world(canon: Canon, world: BoundWorld, since: Instant, until: Instant) -> None:
    tiers, telemetry = canon.policy.models, canon.find_service(WorldServices).telemetry
    events, _ = await search_events(canon, world, event_type=TITLE, limit=SEARCHED_MAX)
    for event in events:
        if is_exchange(event) and since <= event.created_at < until:
            name, invocation = usage_of(event.properties, tiers)
            telemetry.record_event(name, event.created_at, invocation, space=world.space)
    async for proposal in newest_proposals(canon, world.space, since=since, most=_MOST):
        if not since <= proposal.created_at < until:
            continue
        rejection = outcome_of(proposal).rejection
        envelope, _ = read_strictly(proposal.content.get("envelope"), Envelope)
        read = None if envelope is None else ReadProposal(player="", envelope=envelope, actions=())
        refused = rejection is not None
        name = EventName.PROPOSAL_REJECTED if refused else EventName.PROPOSAL_ACCEPTED
        rule = "" if rejection is None else f"{rejection.gate}:{rejection.rule}"
        reported = invocation_of(read, rejection, tiers)
        telemetry.record_event(name, proposal.created_at, reported, rule, space=world.space)
        if proposal.status is ProposalStatus.ACCEPTED:
            applied = EventName.PROPOSAL_APPLIED
            telemetry.record_event(applied, proposal.created_at, space=world.space)


_MOST: Final = 50_000  # the most proposals of a world that are counted again, the newest first
