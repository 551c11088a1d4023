"""Conversations: what was said between a player and a character, kept and told to nobody else."""

from collections.abc import Container, Mapping, Sequence
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
from canonry.readmodels.edges import time_of_day
from canonry.values.moments import Instant
from canonry.values.policy import ModelTiers
from canonry.world.domain.dialogue.turns import PairExchange
from canonry.world.models.generation import cost_of
from canonry.world.models.telemetry import Invocation
from canonry.world.usecases.changing_world import change_world
from canonry.world.usecases.narration.the_scene import scene_of
from canonry.world.usecases.viewing import EventsWanted, search_events
from canonry.world.usecases.world_draft import WorldDraft
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
