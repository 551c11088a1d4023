"""Speech: what players say is read, and what narrators say is checked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from canonry.canon.judging.comparing.conflicts import Stated, conflict
from canonry.canon.session.ai_words import CallOutcome, EventName, ModelPurpose
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.items.proposals import Grade
from canonry.log.schemas.world_types import EXIT, LOCATED_IN, MOVERS, WorldType
from canonry.models.outside_services import ModelSpeech, SpeakingModel
from canonry.readmodels.edges import Direction, kind_of, time_of_day
from canonry.readmodels.passages import Collection
from canonry.values.errors import CanonryError
from canonry.values.ids import EntityId, SpaceId
from canonry.world.domain.admission.kit import no_passage
from canonry.world.domain.admission.safety import digest
from canonry.world.domain.checks import Stack, person_of, stack_of, way_of
from canonry.world.domain.narration.claims import (
    NarratedScene,
    Somewhere,
    ToldOfWorld,
    sentences_of,
)
from canonry.world.domain.narration.violations import NarrationLimit, Violation, violations_of
from canonry.world.domain.prompts.templates import json_in
from canonry.world.domain.utterances.hearing import read_utterance
from canonry.world.domain.utterances.lexicon import Heard, Nameable
from canonry.world.domain.utterances.modelled import (
    UtteranceQuestion,
    question_about,
    reading_in,
    template,
)
from canonry.world.models.services import (
    Invocation,
    WorldServices,
    cost_of,
    count_event,
    generation_key,
    model_for,
)
from canonry.world.usecases.contexts import exits_of, layers_upon
from canonry.world.usecases.worlds import BoundWorld, WorldAt, not_in_world, world_at


async def modelled(
    canon: Canon, listener: SpeakingModel, asked: UtteranceQuestion, space: SpaceId | None = None
) -> Heard | None:
    """The reading of the model; None where it does not answer, or not what can stand.

    What it answered to exactly this is not asked again. It waits no longer than `listener` does.
    """
    if not asked.text.strip():
        return None
    model = model_for(ModelPurpose.CLASSIFICATION, canon.policy.models)
    context, generated = digest(asked.context()), canon.service(WorldServices).generated
    key = generation_key(ModelPurpose.CLASSIFICATION, model, template().hash, context)
    kept = generated.find(key)
    started = canon.clock.monotonic()
    spoken = ModelSpeech(text=kept or "", model=model)
    if kept is None:
        try:
            spoken = await listener.speak(asked.messages(), (), model)
        except CanonryError:
            _count(canon, spoken, started, space=space)
            return None
    read = reading_in(json_in(spoken.text), asked)
    _count(canon, spoken, started, read, cached=kept is not None, space=space)
    if read is not None:
        generated.keep(key, spoken.text)
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


async def surroundings_of(then: WorldAt, mover: Entity) -> Sequence[Nameable]:
    """What a mover can name: hidden ways and what lies behind them are left out."""
    place = await then.location_of(mover)
    if place is None:
        held, _more = await then.inventory_of(mover.id)
        return [nameable(each) for each in held]
    movers = await movers_at(then, place.id)
    things, _more = await then.inventory_of(place.id, *movers)
    ways = [way for way in await exits_of(then, place) if not way.properties.get("hidden")]
    ends = await then.all((way.to_id for way in ways), WorldType.LOCATION)
    led = [nameable(ends[way.to_id], Direction(kind_of(way))) for way in ways if way.to_id in ends]
    others = [nameable(each) for name, each in movers.items() if name != mover.id]
    return [*others, *(nameable(each) for each in things), nameable(place), *led]


async def movers_at(then: WorldAt, place: EntityId) -> Mapping[str, Entity]:
    """The people at a place, by id."""
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
    return await read_speech(canon, utterance, subject, around, previous, space=world.space)


_ANYBODY: Final = Nameable(id="", kind="player", name="")


async def read_speech(
    canon: Canon,
    utterance: str,
    subject: Nameable = _ANYBODY,
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


_NAMED_MAX: Final = 60
_LORE_MAX: Final = 20
_STEPS: Final = 5
_PLACES_MAX: Final = 200
NAMES: Final = ("name", "title")


async def scene_of(
    then: WorldAt, place: Entity, player: Entity | None, narration: str
) -> NarratedScene:
    """What bears on a narration that takes place there."""
    types = (*MOVERS, WorldType.ITEM, WorldType.LOCATION)
    named = await then.search(Collection.ENTITIES, narration, _NAMED_MAX, *types)
    realms = await then.realms_of(place.id)
    layers = await layers_upon(then, place.id, realms)
    here = await movers_at(then, place.id)
    movers = {**here, **{name: t for name, t in named.items() if t.entity_type in MOVERS}}
    if player is not None:
        movers.pop(player.id, None)
    own = () if player is None else (await then.inventory_of(player.id))[0]
    reached = await _reached(then, place, frozenset(item.id for item in own))
    exits = await exits_of(then, place)
    ends = await then.all({*(edge.to_id for edge in exits), *reached}, WorldType.LOCATION)
    places = {**ends, **{n: t for n, t in named.items() if t.entity_type == WorldType.LOCATION}}
    ways = (way_of(edge, then.tick) for edge in exits if edge.to_id in ends)
    return NarratedScene(
        place=nameable(place),
        player=None if player is None else player.id,
        time_of_day=None if then.world.tick is None else time_of_day(then.tick),
        people=tuple(
            person_of(thing, place.id if name in here else None) for name, thing in movers.items()
        ),
        items=tuple(await _items(then, place, player, named, own)),
        ways=tuple(way for way in ways if way is not None),
        places=tuple(
            Somewhere(place=nameable(thing), travel_ms=reached.get(thing.id))
            for thing in places.values()
        ),
        layers=tuple(ToldOfWorld(id=upon.layer.id, text=upon.value) for upon in layers.values()),
        lore=tuple(await _lore(then, narration)),
    )


async def _items(
    then: WorldAt,
    place: Entity,
    player: Entity | None,
    named: Mapping[str, Entity],
    own: Sequence[Entity],
) -> Iterable[Stack]:
    lying, _more = await then.inventory_of(place.id)
    known = {item.id for item in (*own, *lying)}
    others = [
        thing
        for name, thing in named.items()
        if thing.entity_type == WorldType.ITEM and name not in known
    ]
    holder = None if player is None else player.id
    return (
        *(stack_of(item, holder) for item in own),
        *(stack_of(item, place.id) for item in lying),
        *(stack_of(item, None) for item in others),
    )


async def _reached(then: WorldAt, place: Entity, items: frozenset[str]) -> Mapping[EntityId, int]:
    """How long the shortest open way to each place near takes, in milliseconds."""
    found: dict[EntityId, int] = {place.id: 0}
    ring = {place.id: 0}
    for _step in range(_STEPS):
        onward: dict[EntityId, int] = {}
        for edge in await then.edges(EXIT, *ring, kinds=None, limit=_PLACES_MAX):
            way = way_of(edge, then.tick)
            if way is None or no_passage(way, way.direction, items) is not None:
                continue
            spent = ring[way.start] + way.travel_ms
            if spent < min(found.get(way.to, spent + 1), onward.get(way.to, spent + 1)):
                onward[way.to] = spent
        found |= onward
        if not onward or len(found) > _PLACES_MAX:
            break
        ring = onward
    return found


async def _lore(then: WorldAt, narration: str) -> Sequence[ToldOfWorld]:
    facts = await then.search(Collection.LORE, narration, _LORE_MAX, WorldType.LORE_FACT)
    told: list[ToldOfWorld] = []
    for fact in facts.values():
        if fact.properties.get("archived"):
            continue
        fields: Mapping[str, object] = fact.properties.get("fields") or {}
        name = str(next((fields[each] for each in NAMES if fields.get(each)), ""))
        prose = [
            value for key, value in fields.items() if isinstance(value, str) and key not in NAMES
        ]
        status = str(fields.get("status", ""))
        told += [
            ToldOfWorld(id=str(fact.properties["key"]), text=text, about=name, status=status)
            for text in prose
            if text != status or len(prose) == 1
        ]
    return told


async def check_narration(
    then: WorldAt, text: str, player_id: str | None = None, location: str | None = None
) -> Sequence[Violation]:
    """List the parts of a narration that canon or a constraint would reject; nothing is written.

    Without a `location` it takes place where the player is, or at the starter.

    Raises:
        NotFound: `player.unknown` or `location.unknown`.
    """
    player = None if player_id is None else await then.require(player_id, WorldType.PLAYER)
    if location is None and player is not None:
        place = await then.location_of(player)
    else:
        place = await then.find(then.id_of(location), WorldType.LOCATION)
    if place is None:
        raise not_in_world(then.id_of(location), WorldType.LOCATION)
    scene = await scene_of(then, place, player, text)
    found = violations_of(text, scene)
    lore = [each for each in contradictions(text, scene) if not _covered(each, found)]
    return sorted([*found, *lore], key=lambda v: (v.start, v.constraint))


def contradictions(narration: str, scene: NarratedScene) -> Sequence[Violation]:
    """What the words of lore themselves exclude."""
    found = []
    for sentence in sentences_of(narration, scene.known):
        if sentence.open:
            continue
        for told in scene.lore:
            clash = conflict(Stated(statement=told.text), Stated(statement=sentence.text))
            if clash is not None and clash.grade is Grade.CONTRADICTION:
                found.append(
                    Violation(
                        constraint=NarrationLimit.LORE, start=sentence.start, end=sentence.end,
                        against=told.id, reason=f"lore says: {told.text[:160]}",
                    )
                )  # fmt: skip
                break
    return found


def _covered(one: Violation, found: Sequence[Violation]) -> bool:
    return any(
        each.constraint is one.constraint and each.start < one.end and one.start < each.end
        for each in found
    )
