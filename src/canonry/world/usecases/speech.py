"""Speech and arcs: read what players say, check what narrators say, and plan quests."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from typing import Any, Final

from canonry.canon.judging.clashes import conflict
from canonry.canon.session.ai_words import CallOutcome, EventName, ModelPurpose
from canonry.canon.session.canon import Canon
from canonry.language.reading.reading import read_statements
from canonry.log.items.entities import Entity
from canonry.log.items.proposals import Grade
from canonry.log.schemas.world_types import EXIT, LOCATED_IN, MOVERS, LoreType, WorldType
from canonry.models.outside_services import ModelSpeech, SpeakingModel
from canonry.readmodels.edges import Direction, kind_of, time_of_day
from canonry.readmodels.passages import Collection
from canonry.values.errors import CanonryError, Conflict, InvalidInput, NotFound
from canonry.values.ids import EntityId, SpaceId, content_id
from canonry.values.json_values import encode_json
from canonry.values.statements import Statement
from canonry.world.domain.admission.safety import digest
from canonry.world.domain.admission.schema import no_passage
from canonry.world.domain.arcs.arcs import BEATS, Arc, ArcLore, Materials, drawn_arc
from canonry.world.domain.atlas import lore_id_of
from canonry.world.domain.checks import KnownWay, person_of, reached, stack_of, way_of
from canonry.world.domain.narration.violations import (
    NarratedScene,
    NarrationLimit,
    Somewhere,
    ToldOfWorld,
    Violation,
    sentences_of,
    violations_of,
)
from canonry.world.domain.prompts.templates import json_in
from canonry.world.domain.utterances.hearing import (
    TEMPLATE,
    UtteranceQuestion,
    question_about,
    read_utterance,
    reading_in,
)
from canonry.world.domain.utterances.lexicon import Heard, Nameable
from canonry.world.models.services import (
    Invocation,
    WorldServices,
    cost_of,
    count_event,
    generation_key,
    model_for,
    moderate_content,
)
from canonry.world.usecases.contexts import exits_of, layers_upon
from canonry.world.usecases.worlds import BoundWorld, WorldAt, not_in_world, world_at


async def modelled(
    canon: Canon, listener: SpeakingModel, asked: UtteranceQuestion, space: SpaceId | None = None
) -> Heard | None:
    """The reading of the model; None where it does not answer, or not what can stand.

    Answers are cached by question. The timeout is the one of `listener`.
    """
    if not asked.text.strip():
        return None
    model = model_for(ModelPurpose.CLASSIFICATION, canon.policy.models)
    context, generated = digest(asked.context()), canon.service(WorldServices).generated
    key = generation_key(ModelPurpose.CLASSIFICATION, model, TEMPLATE.hash, context)
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
    """Return the items that a mover can name, without hidden exits and their targets."""
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
    """An item with the names that people use for it."""
    return Nameable(id=thing.id, kind=thing.entity_type, name=thing.name, direction=direction)


async def parse_to_action_frame(
    canon: Canon, world: BoundWorld, player: str, utterance: str, previous: Sequence[str] = ()
) -> Heard:
    """Return the action that a player intends; nothing is done or written.

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
    """Read an utterance by the configured model; without one or on failure, by rules."""
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
    """Return the state and canon that a narration at a location is checked against."""
    types = (*MOVERS, WorldType.ITEM, WorldType.LOCATION)
    named = await then.search(Collection.ENTITIES, narration, _NAMED_MAX, *types)
    realms = await then.realms_of(place.id)
    layers = await layers_upon(then, place.id, realms)
    here = await movers_at(then, place.id)
    movers = {**here, **{name: t for name, t in named.items() if t.entity_type in MOVERS}}
    if player is not None:
        movers.pop(player.id, None)
    own = () if player is None else (await then.inventory_of(player.id))[0]
    lying = (await then.inventory_of(place.id))[0]
    known = {item.id for item in (*own, *lying)}
    items = (each for each in named.values() if each.entity_type == WorldType.ITEM)
    elsewhere = [each for each in items if each.id not in known]
    travel = await _travel_times(then, place, frozenset(item.id for item in own))
    exits = await exits_of(then, place)
    ends = await then.all({*(edge.to_id for edge in exits), *travel}, WorldType.LOCATION)
    places = {**ends, **{n: t for n, t in named.items() if t.entity_type == WorldType.LOCATION}}
    ways = (way_of(edge, then.tick) for edge in exits if edge.to_id in ends)
    return NarratedScene(
        place=nameable(place),
        player=None if player is None else player.id,
        time_of_day=None if then.world.tick is None else time_of_day(then.tick),
        people=tuple(
            person_of(thing, place.id if name in here else None) for name, thing in movers.items()
        ),
        items=tuple(
            stack_of(item, holder)
            for holder, items in (
                (None if player is None else player.id, own),
                (place.id, lying),
                (None, elsewhere),
            )
            for item in items
        ),
        ways=tuple(way for way in ways if way is not None),
        places=tuple(
            Somewhere(place=nameable(thing), travel_ms=travel.get(thing.id))
            for thing in places.values()
        ),
        layers=tuple(ToldOfWorld(id=upon.layer.id, text=upon.value) for upon in layers.values()),
        lore=tuple(await _lore(then, narration)),
    )


async def _travel_times(
    then: WorldAt, place: Entity, items: frozenset[str]
) -> Mapping[EntityId, int]:
    """Return the shortest travel time to each location nearby, in milliseconds."""
    found: dict[EntityId, int] = {place.id: 0}
    ways = await _open_ways(then, [place.id], items, _STEPS, _PLACES_MAX)
    for _step in range(_STEPS):
        for way in (each for some in ways.values() for each in some if each.start in found):
            spent = found[way.start] + way.travel_ms
            found[way.to] = min(spent, found.get(way.to, spent))
    return found


async def _open_ways(
    then: WorldAt, starts: Iterable[EntityId], items: frozenset[str], steps: int, most: int
) -> Mapping[EntityId, Sequence[KnownWay]]:
    """Return the open ways out of the places that lie fewer than so many steps from a start."""
    found: dict[EntityId, Sequence[KnownWay]] = {}
    ring = list(dict.fromkeys(starts))
    while ring and steps and len(found) < most:
        steps -= 1
        ways: dict[EntityId, list[KnownWay]] = {place: [] for place in ring[: most - len(found)]}
        for edge in await then.edges(EXIT, *ways, kinds=None, limit=most):
            way = way_of(edge, then.tick)
            if way is not None and no_passage(way, way.direction, items) is None:
                ways[way.start].append(way)
        found |= ways
        ring = sorted({way.to for some in ways.values() for way in some} - set(found))
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
    told = [(each.start, each.end) for each in found if each.constraint is NarrationLimit.LORE]
    more = contradictions(text, scene)
    lore = [e for e in more if not any(start < e.end and e.start < end for start, end in told)]
    return sorted([*found, *lore], key=lambda v: (v.start, v.constraint))


def contradictions(narration: str, scene: NarratedScene) -> Sequence[Violation]:
    """Return sentences of a narration that contradict statements of the lore."""
    found = []
    names = {each.name: each.id for each in scene.known}
    for sentence in sentences_of(narration, scene.known):
        if sentence.open:
            continue
        said = read_statements(sentence.text, names)
        for told in scene.lore:
            if _contradict(read_statements(told.text, names), said):
                found.append(
                    Violation(
                        constraint=NarrationLimit.LORE, start=sentence.start, end=sentence.end,
                        against=told.id, reason=f"The lore says: {told.text[:160]}",
                    )
                )  # fmt: skip
                break
    return found


def _contradict(held: Iterable[Statement], said: Iterable[Statement]) -> bool:
    """Tell whether statements of one moment contradict each other; a change is none."""
    clashes = (conflict(one, other) for one, other in product(held, said))
    return any(
        found is not None and found.grade is Grade.CONTRADICTION and not found.ends_earlier
        for found in clashes
    )


_ARC_PLACES_MAX: Final = 60
_ARC_STEPS: Final = 6
_PEOPLE_MAX: Final = 200
_ATTEMPTS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedArc:
    """The wished parts of an arc: places, factions by their lore, themes, number of beats."""

    seed: str
    locations: tuple[str, ...] = ()
    factions: tuple[str, ...] = ()
    themes: tuple[str, ...] = ()
    beats: int = BEATS
    level: int | None = None


async def generate_arc(
    canon: Canon, world: BoundWorld, wanted: WantedArc
) -> tuple[Arc, Mapping[str, Any]]:
    """The arc of this seed in this world as it is, and an envelope that proposes its beginning.

    The same seed gives the same arc.

    Raises:
        NotFound: `location.unknown`, `lore.unknown`.
        InvalidInput: `arc.themes`, a theme may not stand.
        Conflict: `arc.impossible`, no way leads past all that is wanted in so many beats.
    """
    for theme in wanted.themes:
        if not (await moderate_content(canon, theme)).allowed:
            message = "The theme is flagged by the safety rules. Choose another theme."
            raise InvalidInput("arc.themes", message, path="/constraints/themes")
    now = world_at(canon, world)
    materials = await _materials(now, wanted)
    asked = [wanted.locations, wanted.factions, wanted.themes, wanted.beats, wanted.level]
    told = encode_json([world.space, wanted.seed, asked]).decode()
    arc_id = content_id(f"arc/{told}")
    for attempt in range(_ATTEMPTS):
        arc = drawn_arc(arc_id, wanted.seed, wanted.beats, materials, attempt=attempt)
        if arc is not None:
            return arc, _envelope(arc, told)
    message = "No open route fits this many beats. Ask for more beats."
    raise Conflict("arc.impossible", message, path="/constraints")


async def _materials(now: WorldAt, wanted: WantedArc) -> Materials:
    ids = [now.id_of(name) for name in wanted.locations] or [await _beginning(now, wanted)]
    known = await now.all(ids, WorldType.LOCATION)
    for place in ids:
        if place not in known:
            raise not_in_world(place, WorldType.LOCATION)
    steps = await _steps_from(now, ids)
    found = await now.all(steps, WorldType.LOCATION)
    order = [*ids, *(place for place in steps if place not in ids)]
    places = [found[place] for place in order if place in found]
    people = await _people(now, places)
    return Materials(
        places=tuple(map(nameable, places)),
        ways={place: reached(steps, (place,)) for place in steps},
        people=people,
        lore=tuple(await _arc_lore(now, wanted, places, people)),
        wanted=tuple(ids) if wanted.locations else (),
        themes=wanted.themes,
    )


async def _beginning(now: WorldAt, wanted: WantedArc) -> EntityId:
    """Choose the start of an arc: a location with people near the starter."""
    starter = now.id_of(None)
    steps = await _steps_from(now, (starter,))
    found = await now.all(steps, WorldType.LOCATION)
    people = await _people(now, [found[place] for place in sorted(steps) if place in found])
    with_people = [place for place in steps if place in people]
    if not with_people:
        return starter
    drawn = int(sha256(wanted.seed.encode("utf-8", "surrogatepass")).hexdigest()[:8], 16)
    return with_people[drawn % len(with_people)]


async def _steps_from(
    now: WorldAt, starts: Sequence[EntityId]
) -> Mapping[EntityId, frozenset[EntityId]]:
    """Location -> the locations one open exit away."""
    ways = await _open_ways(now, starts, frozenset(), _ARC_STEPS, _ARC_PLACES_MAX)
    return {place: frozenset(way.to for way in some) & set(ways) for place, some in ways.items()}


async def _people(now: WorldAt, places: Sequence[Entity]) -> Mapping[str, tuple[Nameable, ...]]:
    edges = await now.edges(
        LOCATED_IN,
        *(place.id for place in places),
        outward=False,
        kinds=(WorldType.CHARACTER,),
        limit=_PEOPLE_MAX,
    )
    known = await now.all((edge.from_id for edge in edges), WorldType.CHARACTER)
    found: dict[str, list[Nameable]] = defaultdict(list)
    for edge in edges:
        thing = known.get(edge.from_id)
        if thing is not None and person_of(thing).alive:
            found[edge.to_id].append(nameable(thing))
    return {
        place: tuple(sorted(each, key=lambda k: (k.name, k.id))) for place, each in found.items()
    }


async def _arc_lore(
    now: WorldAt,
    wanted: WantedArc,
    places: Sequence[Entity],
    people: Mapping[str, Sequence[Nameable]],
) -> Sequence[ArcLore]:
    """Return the facts of the factions, else those about the themes or the surroundings."""
    if wanted.factions:
        return [await _faction(now, key) for key in wanted.factions]
    if themed := await _told_of(now, wanted.themes):
        return themed
    names = [place.name for place in places]
    names += [each.name for some in people.values() for each in some]
    return await _told_of(now, names)


async def _told_of(now: WorldAt, words: Sequence[str]) -> Sequence[ArcLore]:
    if not words:
        return []
    facts = await now.search(Collection.LORE, " ".join(words), _LORE_MAX, WorldType.LORE_FACT)
    return sorted(
        (_fact(each) for each in facts.values() if not each.properties.get("archived")),
        key=lambda lore: lore.key,
    )


async def _faction(now: WorldAt, key: str) -> ArcLore:
    found = await now.find(lore_id_of(now.world.space, key), WorldType.LORE_FACT)
    usable = found is not None and not found.properties.get("archived")
    if found is None or not usable or found.properties["lore_type"] != LoreType.FACTION:
        raise NotFound("lore.unknown", "This world has no faction with this key.", kind="lore")
    return _fact(found)


def _fact(fact: Entity) -> ArcLore:
    fields: Mapping[str, Any] = fact.properties.get("fields") or {}
    key = str(fact.properties["key"])
    kind = str(fact.properties.get("lore_type") or "")
    return ArcLore(key=key, name=str(fields.get("name") or key), kind=kind)


def _envelope(arc: Arc, told: str) -> Mapping[str, Any]:
    """Return the proposal of the arc's hook; the sender adds issuedUtc."""
    first = arc.beats[0].location
    layer = {"locationId": first, "layerType": "dynamic", "layerContent": arc.hook}
    return {
        "proposalId": content_id(f"proposal/{told}"),
        "version": 1,
        "actor": {"kind": "system"},
        "correlationId": arc.id,
        "idempotencyKey": f"arc:{arc.id}",
        "proposedActions": [
            {"actionType": "Layer.Add", "scopeKey": f"loc:{first}", "params": layer}
        ],
    }
