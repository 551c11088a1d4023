"""Take a turn of a dialogue: what a character answers, and what that changes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from canonry.canon.session.ai_words import ModelPurpose
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import WorldType
from canonry.models.speaker import SpeakingModel, ToolAsked
from canonry.values.errors import CanonryError, Conflict, InvalidInput
from canonry.values.json_values import encode_json
from canonry.world.domain.admission.known import missing
from canonry.world.domain.admission.safety import digest
from canonry.world.domain.checks import person_of
from canonry.world.domain.dialogue.turns import (
    INPUT_MAX,
    TEMPLATE,
    Answered,
    answer_in,
    fallback_for,
    opening,
    result_of,
)
from canonry.world.domain.narration.violations import violations_of
from canonry.world.models.services import WorldServices, moderate_content
from canonry.world.models.telemetry import GenerationRequest, ToolBudget, model_for
from canonry.world.usecases.check_narration import contradictions, scene_of
from canonry.world.usecases.conversation import (
    ImpliedChange,
    KeptExchange,
    Propose,
    TurnSpoken,
    context_of,
    past_exchanges,
    propose_implied,
    remember,
    spoken_as,
)
from canonry.world.usecases.speech import location_of
from canonry.world.usecases.worlds import BoundWorld, WorldAt, not_in_world, world_at

# Take a turn: a player says something to a character, and is answered before a deadline.
#
# What a model says is moderated and held against the world before anybody hears it. Where anything
# fails, the answer is words that claim nothing, and what was missed is done later.

DEADLINE: Final = 2.5
_SHARE: Final = 0.8
"""Of the deadline a model has so much; the rest is for what has to be kept."""
_TRANSIENT: Final = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL_ERROR"})

LookUp = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Calls a read-only tool of the character's role: its reply, or `{"error": …}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidToCharacter:
    """What a player says to a character."""

    player: str
    npc: str
    text: str
    correlation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Voices:
    """How a character finds its words: a model, the tools of its role, and who takes proposals.

    `tools` are in the form of the OpenAI protocol. `seconds` is the deadline of a whole turn.
    """

    speaker: SpeakingModel | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    look: LookUp | None = None
    propose: Propose
    seconds: float = DEADLINE


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueTurn:
    """What the player hears; `reason` says why it is a fallback, and is for operators."""

    reply: str
    fallback: bool
    tool_calls: tuple[str, ...]
    changes: tuple[ImpliedChange, ...]
    reason: str | None = None
    model: str = ""


@dataclass(slots=True, kw_only=True)
class _Course:
    """What has happened in a turn so far; `again`: it is kept already, and was sent once more."""

    budget: ToolBudget
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
    canon: Canon, caller: Caller, world: BoundWorld, said: SaidToCharacter, voices: Voices
) -> DialogueTurn:
    """The answer, kept with what was said; what would follow from it is proposed.

    Raises:
        InvalidInput: `dialogue.empty`, `dialogue.too-long`, `dialogue.apart`.
        NotFound: `player.unknown` or `character.unknown`.
    """
    then = world_at(canon, world)
    player, npc, place = await _together(then, said)
    course = _course(canon)
    reason: str | None = None
    answered: Answered | None = None
    try:
        async with asyncio.timeout(voices.seconds * _SHARE):
            answered = await _answered(then, said, voices, (player, npc, place), course)
    except TimeoutError:
        reason = "deadline"
    except _FellBackError as error:
        reason = str(error)
    except CanonryError as error:
        reason = error.code
    fallback = answered is None
    words = answered or Answered(say=fallback_for(npc.name, f"{said.correlation_id}/{said.text}"))
    spoken = TurnSpoken(
        correlation_id=said.correlation_id,
        player=player.id,
        npc=npc.id,
        place=place.id,
        model=course.model,
        tokens=(course.prompt_tokens, course.completion_tokens),
        messages=course.messages[1:],
        changes=words.changes,
    )
    changes = await propose_implied(canon, caller, world, spoken, voices.propose)
    turn = DialogueTurn(
        reply=words.reply,
        fallback=fallback,
        tool_calls=tuple(course.called),
        changes=changes,
        reason=reason,
        model=course.model,
    )
    if not course.again:
        kept = _exchange(canon, said, words, course, reason)
        await _keep(canon, caller, world, (player, npc), kept)
    return turn


def _course(canon: Canon) -> _Course:
    budget = ToolBudget(canon.policy.models.tool_calls)
    return _Course(budget=budget, started=canon.clock.monotonic())


def _exchange(
    canon: Canon, said: SaidToCharacter, words: Answered, course: _Course, reason: str | None
) -> KeptExchange:
    return KeptExchange(
        said=said.text,
        reply=words.reply,
        correlation_id=said.correlation_id,
        fallback=reason,
        tool_calls=tuple(course.called),
        model=course.model,
        tokens=(course.prompt_tokens, course.completion_tokens),
        milliseconds=round((canon.clock.monotonic() - course.started) * 1_000),
    )


async def _keep(
    canon: Canon, caller: Caller, world: BoundWorld, pair: tuple[Entity, Entity], kept: KeptExchange
) -> None:
    """Keep an exchange, and count it by its record."""
    own = await remember(canon, caller, world, pair, kept)
    tiers = canon.policy.models
    event, told = spoken_as(own, tiers)
    now, telemetry = canon.clock.now(), canon.service(WorldServices).telemetry
    telemetry.tell(event, now, told, budget=tiers.hourly_budget, space=world.space)


async def enrich(
    canon: Canon, caller: Caller, world: BoundWorld, said: SaidToCharacter, voices: Voices
) -> bool:
    """What a fallback left out, done later: the character's words are kept, and nobody waits.

    Whether it came about. No change follows from it.
    """
    then = world_at(canon, world)
    course = _course(canon)
    try:
        player, npc, place = await _together(then, said)
        async with asyncio.timeout(voices.seconds):
            answered = await _answered(then, said, voices, (player, npc, place), course)
    except (TimeoutError, _FellBackError, CanonryError):
        return False
    kept = replace(_exchange(canon, said, answered, course, None), later=True)
    await _keep(canon, caller, world, (player, npc), kept)
    return True


async def _together(then: WorldAt, said: SaidToCharacter) -> tuple[Entity, Entity, Entity]:
    if not said.text.strip():
        raise InvalidInput("dialogue.empty", "say something", path="/inputText")
    if len(said.text) > INPUT_MAX:
        message = f"at most {INPUT_MAX} characters are said at once"
        raise InvalidInput("dialogue.too-long", message, path="/inputText")
    player = await then.find(then.id_of(said.player), WorldType.PLAYER)
    npc = await then.find(then.id_of(said.npc), WorldType.CHARACTER)
    if player is None:
        raise not_in_world(then.id_of(said.player), WorldType.PLAYER)
    if npc is None:
        raise not_in_world(then.id_of(said.npc), WorldType.CHARACTER)
    place, there = await location_of(then, player.id), await location_of(then, npc.id)
    known = person_of(npc, None if there is None else there.id)
    if place is None or missing(known, place.id, "") is not None:
        message = "nobody who could answer hears this: the character is elsewhere, away or dead"
        raise InvalidInput("dialogue.apart", message, path="/npcId")
    return player, npc, place


async def _answered(
    then: WorldAt,
    said: SaidToCharacter,
    voices: Voices,
    who: tuple[Entity, Entity, Entity],
    course: _Course,
) -> Answered:
    player, npc, place = who
    if not (await moderate_content(then.canon, said.text)).allowed:
        raise _FellBackError("moderation.input")
    if voices.speaker is None:
        raise _FellBackError("model.none")
    past, kept = await past_exchanges(then, player, npc, (said.correlation_id, said.text))
    course.again = kept is not None
    known = await context_of(then, player, npc, place, said.text)
    course.messages += opening(known, past, said.text)
    asked = GenerationRequest(
        purpose=ModelPurpose.NPC_DIALOGUE,
        model=model_for(ModelPurpose.NPC_DIALOGUE, then.canon.policy.models),
        template_hash=TEMPLATE.hash,
        context_hash=digest(course.messages[1:]),
        parameters={},
    )
    text = then.canon.service(WorldServices).generated.find(asked)
    if text is None and kept is not None:
        return Answered(say=kept)
    if text is None:
        text = await _spoken(voices.speaker, voices, course, asked.model)
    answered = answer_in(text)
    if answered is None:
        raise _FellBackError("model.unreadable")
    if not (await moderate_content(then.canon, answered.reply)).allowed:
        raise _FellBackError("moderation.reply")
    told = answered.narration
    if told:
        scene = await scene_of(then, place, player, told)
        if violations_of(told, scene) or contradictions(told, scene):
            raise _FellBackError("narration")
    then.canon.service(WorldServices).generated.keep(asked, text)
    return answered


async def _spoken(speaker: SpeakingModel, voices: Voices, course: _Course, model: str) -> str:
    """What the model says in the end; after the last tool call it has to do with what it has."""
    for _round in range(course.budget.most + 1):
        left = course.budget.left
        spoken = await speaker.speak(course.messages, voices.tools if left else (), model)
        course.model = spoken.model
        course.prompt_tokens += spoken.prompt_tokens
        course.completion_tokens += spoken.completion_tokens
        if not spoken.asked:
            return spoken.text
        if not left:
            break
        course.messages.append(_asking(spoken.text, spoken.asked))
        for call in spoken.asked:
            result = await _looked_up(call, voices, course)
            told = {"role": "tool", "tool_call_id": call.id, "content": result}
            course.messages.append(told)
    raise _FellBackError("tools.budget")


def _asking(text: str, asked: Sequence[ToolAsked]) -> Mapping[str, Any]:
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": encode_json(call.arguments).decode()},
        }
        for call in asked
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


async def _looked_up(call: ToolAsked, voices: Voices, course: _Course) -> str:
    names = {each["function"]["name"] for each in voices.tools}
    try:
        course.budget.spend()
    except Conflict as spent:
        return result_of({"error": spent.message})
    course.called.append(call.name if call.name in names else "(unknown)")
    if call.name not in names or voices.look is None:
        return result_of({"error": "there is no such tool"})
    reply = await voices.look(call.name, call.arguments)
    error = reply.get("error") if isinstance(reply, Mapping) else None
    if isinstance(error, Mapping) and error.get("code") in _TRANSIENT:
        raise _FellBackError("tools.failed")
    return result_of(reply)


def patient(voices: Voices, seconds: float) -> Voices:
    """The same voices with more time."""
    return replace(voices, seconds=seconds)
