"""Read speech by a model or by rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.ai_words import CallOutcome, EventName, ModelPurpose
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import LOCATED_IN, MOVERS, WorldType
from canonry.models.speaker import ModelSpeech, SpeakingModel
from canonry.readmodels.edges import Direction, kind_of
from canonry.values.errors import CanonryError
from canonry.values.ids import EntityId, SpaceId
from canonry.world.domain.admission.safety import digest
from canonry.world.domain.dialogue.turns import json_in
from canonry.world.domain.utterances.frames import Heard, Nameable
from canonry.world.domain.utterances.modelled import (
    UtteranceQuestion,
    question_about,
    reading_in,
    template,
)
from canonry.world.domain.utterances.reading import read_utterance
from canonry.world.models.services import WorldServices, count_event
from canonry.world.models.telemetry import GenerationRequest, Invocation, cost_of, model_for
from canonry.world.usecases.contexts import exits_of
from canonry.world.usecases.worlds import BoundWorld, WorldAt, world_at


async def modelled(
    canon: Canon, listener: SpeakingModel, asked: UtteranceQuestion, space: SpaceId | None = None
) -> Heard | None:
    """The reading of the model; None where it does not answer, or not what can stand.

    What it answered to exactly this is not asked again. It waits no longer than `listener` does.
    """
    if not asked.text.strip():
        return None
    request = GenerationRequest(
        purpose=ModelPurpose.CLASSIFICATION,
        model=model_for(ModelPurpose.CLASSIFICATION, canon.policy.models),
        template_hash=template().hash,
        context_hash=digest(asked.context()),
        parameters={},
    )
    kept = canon.service(WorldServices).generated.find(request)
    started = canon.clock.monotonic()
    spoken = ModelSpeech(text=kept or "", model=request.model)
    if kept is None:
        try:
            spoken = await listener.speak(asked.messages(), (), request.model)
        except CanonryError:
            _count(canon, spoken, started, space=space)
            return None
    read = reading_in(json_in(spoken.text), asked)
    _count(canon, spoken, started, read, cached=kept is not None, space=space)
    if read is not None:
        canon.service(WorldServices).generated.keep(request, spoken.text)
    return read


def _count(
    canon: Canon,
    spoken: ModelSpeech,
    started: float,
    read: Heard | None = None,
    *,
    cached: bool = False,
    space: SpaceId | None,
) -> None:
    tiers = canon.policy.models
    outcome = CallOutcome.REJECTED if read is None else CallOutcome.ACCEPTED
    told = Invocation(
        purpose=ModelPurpose.CLASSIFICATION,
        model=spoken.model,
        prompt_tokens=spoken.prompt_tokens,
        completion_tokens=spoken.completion_tokens,
        latency_ms=None if cached else (canon.clock.monotonic() - started) * 1_000,
        outcome=outcome if spoken.text else None,
        cache_hit=cached,
        micros=cost_of(spoken.prompt_tokens, spoken.completion_tokens, spoken.model, tiers),
    )
    event = EventName.INTENT_FALLBACK if read is None else EventName.INTENT_READ
    count_event(canon, event, told, space=space)


_MOST: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where somebody is, and what they can name there; `place` None: nobody knows where."""

    place: Entity | None
    known: Sequence[Nameable]


async def surroundings_of(then: WorldAt, mover: Entity) -> Surroundings:
    """What a mover can name: hidden ways and what lies behind them are left out."""
    place = await then.location_of(mover.id)
    if place is None:
        held, _more = await then.inventory_of(mover.id)
        return Surroundings(place=None, known=[nameable(each) for each in held])
    movers = await movers_at(then, place.id)
    things, _more = await then.inventory_of(place.id, *movers)
    ways = [way for way in await exits_of(then, place) if not way.properties.get("hidden")]
    ends = await then.all((way.to_id for way in ways), WorldType.LOCATION)
    led = [nameable(ends[way.to_id], Direction(kind_of(way))) for way in ways if way.to_id in ends]
    others = [nameable(each) for name, each in movers.items() if name != mover.id]
    here = [*others, *(nameable(each) for each in things), nameable(place), *led]
    return Surroundings(place=place, known=here)


async def movers_at(then: WorldAt, place: EntityId) -> Mapping[str, Entity]:
    """Who is at a place, by id."""
    edges = await then.edges(LOCATED_IN, place, outward=False, kinds=MOVERS, limit=_MOST)
    return await then.all((edge.from_id for edge in edges), *MOVERS)


def nameable(thing: Entity, direction: Direction | None = None) -> Nameable:
    """A thing as somebody names it."""
    return Nameable(id=thing.id, kind=thing.entity_type, name=thing.name, direction=direction)


async def parse_to_action_frame(
    canon: Canon, world: BoundWorld, player: str, utterance: str, previous: Sequence[str] = ()
) -> Heard:
    """What the player's character sets out to do; nothing is done, and nothing written.

    Raises:
        NotFound: `player.unknown`.
    """
    now = world_at(canon, world)
    found = await now.require(player, WorldType.PLAYER)
    around = await surroundings_of(now, found)
    subject = Nameable(id=found.id, kind=found.entity_type, name=found.name)
    return await _read(canon, utterance, subject, around.known, previous, space=world.space)


async def classify_intent(canon: Canon, utterance: str) -> Heard:
    """What kind of thing was said, wherever it was."""
    return await _read(canon, utterance, Nameable(id="", kind="player", name=""))


async def _read(
    canon: Canon,
    utterance: str,
    subject: Nameable,
    known: Sequence[Nameable] = (),
    previous: Sequence[str] = (),
    *,
    space: SpaceId | None = None,
) -> Heard:
    """What the model says that the settings name; without it, and where it fails, the rules."""
    listener = canon.service(WorldServices).listener
    if listener is not None:
        asked = question_about(utterance, subject, known, previous)
        said = await modelled(canon, listener, asked, space)
        if said is not None:
            return said
    return read_utterance(utterance, subject, known, previous)
