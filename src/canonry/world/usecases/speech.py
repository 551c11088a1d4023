"""Speech and arcs: read what players say, check what narrators say, and plan quests."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import product
from typing import Any, Final

from canonry.canon.judging.conflicts import find_clash
from canonry.canon.session.canon import Canon
from canonry.canon.session.telemetry_names import CallOutcome, EventName, ModelPurpose
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
from canonry.world.domain import checks
from canonry.world.domain.admission.safety import digest_value
from canonry.world.domain.admission.schema import reject_passage
from canonry.world.domain.arcs.arcs import BEATS, Arc, ArcLore, ArcMaterials, draw_arc
from canonry.world.domain.atlas import lore_id_of
from canonry.world.domain.narration.violations import (
    CanonStatement,
    NamedLocation,
    NarratedScene,
    NarrationLimit,
    Violation,
    find_violations,
    sentences_of,
)
from canonry.world.domain.prompts.templates import read_json
from canonry.world.domain.utterances.lexicon import Nameable, UtteranceReading
from canonry.world.domain.utterances.reading import (
    TEMPLATE,
    UtteranceQuestion,
    question_about,
    read_model_answer,
    read_utterance,
)
from canonry.world.models import services
from canonry.world.usecases.contexts import exits_of, visible_layers
from canonry.world.usecases.worlds import BoundWorld, WorldAt, not_in_world, world_at


async def read_by_model(
    canon: Canon, listener: SpeakingModel, asked: UtteranceQuestion, space: SpaceId | None = None
) -> UtteranceReading | None:
    """The reading of the model; None where it does not answer, or not what can stand.

    Answers are cached by question. The timeout is the one of `listener`.
    """
    if not asked.text.strip():
        return None
    model = services.model_for(ModelPurpose.CLASSIFICATION, canon.policy.models)
    context, generated = (
        digest_value(asked.make_context()),
        canon.find_service(services.WorldServices).generated,
    )
    key = services.generation_key(
        ModelPurpose.CLASSIFICATION, model, TEMPLATE.content_hash, context
    )
    kept = generated.find_answer(key)
    started = canon.clock.monotonic()
    spoken = ModelSpeech(text=kept or "", model=model)
    if kept is None:
        try:
            spoken = await listener.next_answer(asked.make_messages(), (), model)
        except CanonryError:
            _count_reading(canon, spoken, started, space=space)
            return None
    read = read_model_answer(read_json(spoken.text), asked)
    _count_reading(canon, spoken, started, read, cached=kept is not None, space=space)
    if read is not None:
        generated.keep_answer(key, spoken.text)
    return read


def _count_reading(
    canon: Canon,
    spoken: ModelSpeech,
    started: float,
    read: UtteranceReading | None = None,
    *,
    cached: bool = False,
    space: SpaceId | None,
) -> None:
    tiers = canon.policy.models
    outcome = CallOutcome.REJECTED if read is None else CallOutcome.ACCEPTED
    invocation = services.Invocation(
        purpose=ModelPurpose.CLASSIFICATION,
        model=spoken.model,
        prompt_tokens=spoken.prompt_tokens,
        completion_tokens=spoken.completion_tokens,
        latency_ms=None if cached else (canon.clock.monotonic() - started) * 1_000,
        outcome=outcome if spoken.text else None,
        cache_hit=cached,
        micros=services.cost_of(
            spoken.prompt_tokens, spoken.completion_tokens, spoken.model, tiers
        ),
    )
    event = EventName.INTENT_FALLBACK if read is None else EventName.INTENT_READ
    services.count_event(canon, event, invocation, space=space)


_MOST: Final = 200  # bounds the time of an utterance in a crowd


async def surroundings_of(then: WorldAt, mover: Entity) -> Sequence[Nameable]:
    """Return the items that a mover can name, without hidden exits and their targets."""
    location = await then.location_of(mover)
    if location is None:
        held, _more = await then.inventory_of(mover.id)
        return [as_nameable(each) for each in held]
    movers = await movers_at(then, location.id)
    items, _more = await then.inventory_of(location.id, *movers)
    exits = [
        exit_edge
        for exit_edge in await exits_of(then, location)
        if not exit_edge.properties.get("hidden")
    ]
    ends = await then.find_items((exit_edge.to_id for exit_edge in exits), WorldType.LOCATION)
    led = [
        as_nameable(ends[exit_edge.to_id], Direction(kind_of(exit_edge)))
        for exit_edge in exits
        if exit_edge.to_id in ends
    ]
    others = [as_nameable(each) for name, each in movers.items() if name != mover.id]
    return [*others, *(as_nameable(each) for each in items), as_nameable(location), *led]


async def movers_at(then: WorldAt, location: EntityId) -> Mapping[str, Entity]:
    """The people at a location, by id."""
    edges = await then.edges_of(LOCATED_IN, location, outward=False, kinds=MOVERS, limit=_MOST)
    return await then.find_items((edge.from_id for edge in edges), *MOVERS)


def as_nameable(item: Entity, direction: Direction | None = None) -> Nameable:
    """An item with the names that people use for it."""
    return Nameable(id=item.id, kind=item.entity_type, name=item.name, direction=direction)


async def parse_to_action_frame(
    canon: Canon, world: BoundWorld, player: str, utterance: str, previous: Sequence[str] = ()
) -> UtteranceReading:
    """Return the action that a player intends; nothing is done or written.

    Raises:
        NotFound: `player.unknown`.
    """
    now = world_at(canon, world)
    found = await now.require_item(player, WorldType.PLAYER)
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
) -> UtteranceReading:
    """Read an utterance by the configured model; without one or on failure, by rules."""
    listener = canon.find_service(services.WorldServices).listener
    if listener is not None:
        asked = question_about(utterance, subject, known, previous)
        reading = await read_by_model(canon, listener, asked, space)
        if reading is not None:
            return reading
    return read_utterance(utterance, subject, known, previous)


_NAMED_MAX: Final = 60  # bounds the time of a check in a world of common names
_LORE_MAX: Final = 20  # bounds the time of a check; the best hits come first
_STEPS: Final = 5  # a narration names locations a short walk away
_LOCATIONS_MAX: Final = 200  # bounds the walk in a dense city
NAMES: Final = ("name", "title")


async def scene_of(
    then: WorldAt, location: Entity, player: Entity | None, narration: str
) -> NarratedScene:
    """Return the state and canon that a narration at a location is checked against."""
    types = (*MOVERS, WorldType.ITEM, WorldType.LOCATION)
    named = await then.search_items(Collection.ENTITIES, narration, _NAMED_MAX, *types)
    realms = await then.realms_of(location.id)
    layers = await visible_layers(then, location.id, realms)
    here = await movers_at(then, location.id)
    movers = {**here, **{name: t for name, t in named.items() if t.entity_type in MOVERS}}
    if player is not None:
        movers.pop(player.id, None)
    own = () if player is None else (await then.inventory_of(player.id))[0]
    lying = (await then.inventory_of(location.id))[0]
    known = {item.id for item in (*own, *lying)}
    items = (each for each in named.values() if each.entity_type == WorldType.ITEM)
    elsewhere = [each for each in items if each.id not in known]
    travel = await _travel_times(then, location, frozenset(item.id for item in own))
    exits = await exits_of(then, location)
    ends = await then.find_items({*(edge.to_id for edge in exits), *travel}, WorldType.LOCATION)
    named_locations = {
        **ends,
        **{n: t for n, t in named.items() if t.entity_type == WorldType.LOCATION},
    }
    known_exits = (checks.known_exit_of(edge, then.tick) for edge in exits if edge.to_id in ends)
    return NarratedScene(
        location=as_nameable(location),
        player=None if player is None else player.id,
        time_of_day=None if then.world.tick is None else time_of_day(then.tick),
        people=tuple(
            checks.person_of(entity, location.id if name in here else None)
            for name, entity in movers.items()
        ),
        items=tuple(
            checks.stack_of(item, holder)
            for holder, items in (
                (None if player is None else player.id, own),
                (location.id, lying),
                (None, elsewhere),
            )
            for item in items
        ),
        exits=tuple(known_exit for known_exit in known_exits if known_exit is not None),
        named_locations=tuple(
            NamedLocation(location=as_nameable(entity), travel_ms=travel.get(entity.id))
            for entity in named_locations.values()
        ),
        layers=tuple(
            CanonStatement(id=shown_layer.layer.id, text=shown_layer.value)
            for shown_layer in layers.values()
        ),
        lore=tuple(await _lore_statements(then, narration)),
    )


async def _travel_times(
    then: WorldAt, location: Entity, items: frozenset[str]
) -> Mapping[EntityId, int]:
    """Return the shortest travel time to each location nearby, in milliseconds."""
    found: dict[EntityId, int] = {location.id: 0}
    exits = await _open_exits(then, [location.id], items, _STEPS, _LOCATIONS_MAX)
    for _step in range(_STEPS):
        for known_exit in (each for some in exits.values() for each in some if each.start in found):
            spent = found[known_exit.start] + known_exit.travel_ms
            found[known_exit.to] = min(spent, found.get(known_exit.to, spent))
    return found


async def _open_exits(
    then: WorldAt, starts: Iterable[EntityId], items: frozenset[str], steps: int, most: int
) -> Mapping[EntityId, Sequence[checks.KnownExit]]:
    """Return the open exits of the locations that are fewer than so many steps from a start."""
    found: dict[EntityId, Sequence[checks.KnownExit]] = {}
    ring = list(dict.fromkeys(starts))
    while ring and steps and len(found) < most:
        steps -= 1
        exits: dict[EntityId, list[checks.KnownExit]] = {
            location: [] for location in ring[: most - len(found)]
        }
        for edge in await then.edges_of(EXIT, *exits, kinds=None, limit=most):
            known_exit = checks.known_exit_of(edge, then.tick)
            if (
                known_exit is not None
                and reject_passage(known_exit, known_exit.direction, items) is None
            ):
                exits[known_exit.start].append(known_exit)
        found |= exits
        ring = sorted({k.to for some in exits.values() for k in some} - set(found))
    return found


async def _lore_statements(then: WorldAt, narration: str) -> Sequence[CanonStatement]:
    facts = await then.search_items(Collection.LORE, narration, _LORE_MAX, WorldType.LORE_FACT)
    statements: list[CanonStatement] = []
    for fact in facts.values():
        if fact.properties.get("archived"):
            continue
        fields: Mapping[str, object] = fact.properties.get("fields") or {}
        name = str(next((fields[each] for each in NAMES if fields.get(each)), ""))
        prose = [v for key, v in fields.items() if isinstance(v, str) and key not in NAMES]
        status = str(fields.get("status", ""))
        statements += [
            CanonStatement(id=str(fact.properties["key"]), text=text, about=name, status=status)
            for text in prose
            if text != status or len(prose) == 1
        ]
    return statements


async def check_narration(
    then: WorldAt, text: str, player_id: str | None = None, location: str | None = None
) -> Sequence[Violation]:
    """List the parts of a narration that canon or a constraint would reject; nothing is written.

    Without a `location` it is where the player is, or at the default location.

    Raises:
        NotFound: `player.unknown` or `location.unknown`.
    """
    player = None if player_id is None else await then.require_item(player_id, WorldType.PLAYER)
    if location is None and player is not None:
        found_location = await then.location_of(player)
    else:
        found_location = await then.find_item(then.id_of(location), WorldType.LOCATION)
    if found_location is None:
        raise not_in_world(then.id_of(location), WorldType.LOCATION)
    scene = await scene_of(then, found_location, player, text)
    found = find_violations(text, scene)
    lore_spans = [(e.start, e.end) for e in found if e.constraint is NarrationLimit.LORE]
    more = find_contradictions(text, scene)
    lore = [e for e in more if not any(s < e.end and e.start < end for s, end in lore_spans)]
    return sorted([*found, *lore], key=lambda v: (v.start, v.constraint))


def find_contradictions(narration: str, scene: NarratedScene) -> Sequence[Violation]:
    """Return sentences of a narration that contradict statements of the lore."""
    found = []
    names = {each.name: each.id for each in scene.nameable_items}
    for sentence in sentences_of(narration, scene.nameable_items):
        if sentence.open:
            continue
        narrated = read_statements(sentence.text, names)
        for statement in scene.lore:
            clashes = (
                find_clash(one, other)
                for one, other in product(read_statements(statement.text, names), narrated)
            )
            if any(
                found is not None and found.grade is Grade.CONTRADICTION and not found.ends_earlier
                for found in clashes
            ):
                found.append(
                    Violation(
                        constraint=NarrationLimit.LORE, start=sentence.start, end=sentence.end,
                        against=statement.id, reason=f"The lore says: {statement.text[:160]}",
                    )
                )  # fmt: skip
                break
    return found


_ARC_LOCATIONS_MAX: Final = 60  # bounds the walk in a dense city
_ARC_STEPS: Final = 6
_PEOPLE_MAX: Final = 200  # bounds the candidates of an arc
_ATTEMPTS: Final = 20  # a draw may end in a dead end; no world needs more


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedArc:
    """The wished parts of an arc: locations, factions by their lore, themes, number of beats."""

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
        Conflict: `arc.impossible`, no route passes all that is wanted in so many beats.
    """
    for theme in wanted.themes:
        if not (await services.moderate_content(canon, theme)).allowed:
            message = "The theme is flagged by the safety rules. Choose another theme."
            raise InvalidInput("arc.themes", message, path="/constraints/themes")
    now = world_at(canon, world)
    materials = await _arc_materials(now, wanted)
    asked = [wanted.locations, wanted.factions, wanted.themes, wanted.beats, wanted.level]
    seed_text = encode_json([world.space, wanted.seed, asked]).decode()
    arc_id = content_id(f"arc/{seed_text}")
    for attempt in range(_ATTEMPTS):
        arc = draw_arc(arc_id, wanted.seed, wanted.beats, materials, attempt=attempt)
        if arc is not None:
            first = arc.beats[0].location
            layer = {"locationId": first, "layerType": "dynamic", "layerContent": arc.hook}
            return arc, {
                "proposalId": content_id(f"proposal/{seed_text}"),
                "version": 1,
                "actor": {"kind": "system"},
                "correlationId": arc.id,
                "idempotencyKey": f"arc:{arc.id}",
                "proposedActions": [
                    {"actionType": "Layer.Add", "scopeKey": f"loc:{first}", "params": layer}
                ],
            }
    message = "No open route fits this many beats. Ask for more beats."
    raise Conflict("arc.impossible", message, path="/constraints")


async def _arc_materials(now: WorldAt, wanted: WantedArc) -> ArcMaterials:
    ids = [now.id_of(name) for name in wanted.locations] or [await _choose_start(now, wanted)]
    known = await now.find_items(ids, WorldType.LOCATION)
    for location in ids:
        if location not in known:
            raise not_in_world(location, WorldType.LOCATION)
    steps = await _steps_from(now, ids)
    found = await now.find_items(steps, WorldType.LOCATION)
    order = [*ids, *(location for location in steps if location not in ids)]
    locations = [found[location] for location in order if location in found]
    people = await _people_by_location(now, locations)
    return ArcMaterials(
        locations=tuple(map(as_nameable, locations)),
        reachable={location: checks.reachable_from(steps, (location,)) for location in steps},
        people=people,
        lore=tuple(await _arc_lore(now, wanted, locations, people)),
        wanted=tuple(ids) if wanted.locations else (),
        themes=wanted.themes,
    )


async def _choose_start(now: WorldAt, wanted: WantedArc) -> EntityId:
    """Choose the start of an arc: a location with people near the starter."""
    default_location = now.id_of(None)
    steps = await _steps_from(now, (default_location,))
    found = await now.find_items(steps, WorldType.LOCATION)
    people = await _people_by_location(
        now, [found[location] for location in sorted(steps) if location in found]
    )
    with_people = [location for location in steps if location in people]
    if not with_people:
        return default_location
    drawn = int(sha256(wanted.seed.encode("utf-8", "surrogatepass")).hexdigest()[:8], 16)
    return with_people[drawn % len(with_people)]


async def _steps_from(
    now: WorldAt, starts: Sequence[EntityId]
) -> Mapping[EntityId, frozenset[EntityId]]:
    """Location -> the locations one open exit away."""
    exits = await _open_exits(now, starts, frozenset(), _ARC_STEPS, _ARC_LOCATIONS_MAX)
    return {
        location: frozenset(known_exit.to for known_exit in some) & set(exits)
        for location, some in exits.items()
    }


async def _people_by_location(
    now: WorldAt, locations: Sequence[Entity]
) -> Mapping[str, tuple[Nameable, ...]]:
    edges = await now.edges_of(
        LOCATED_IN,
        *(location.id for location in locations),
        outward=False,
        kinds=(WorldType.CHARACTER,),
        limit=_PEOPLE_MAX,
    )
    known = await now.find_items((edge.from_id for edge in edges), WorldType.CHARACTER)
    found: dict[str, list[Nameable]] = defaultdict(list)
    for edge in edges:
        person = known.get(edge.from_id)
        if person is not None and checks.person_of(person).alive:
            found[edge.to_id].append(as_nameable(person))
    return {
        location: tuple(sorted(each, key=lambda k: (k.name, k.id)))
        for location, each in found.items()
    }


async def _arc_lore(
    now: WorldAt,
    wanted: WantedArc,
    locations: Sequence[Entity],
    people: Mapping[str, Sequence[Nameable]],
) -> Sequence[ArcLore]:
    """Return the facts of the factions, else those about the themes or the surroundings."""
    if wanted.factions:
        return [await _require_faction(now, key) for key in wanted.factions]
    if themed := await _search_arc_lore(now, wanted.themes):
        return themed
    names = [location.name for location in locations]
    names += [each.name for some in people.values() for each in some]
    return await _search_arc_lore(now, names)


async def _search_arc_lore(now: WorldAt, words: Sequence[str]) -> Sequence[ArcLore]:
    if not words:
        return []
    facts = await now.search_items(Collection.LORE, " ".join(words), _LORE_MAX, WorldType.LORE_FACT)
    return sorted(
        (_arc_fact(each) for each in facts.values() if not each.properties.get("archived")),
        key=lambda lore: lore.key,
    )


async def _require_faction(now: WorldAt, key: str) -> ArcLore:
    found = await now.find_item(lore_id_of(now.world.space, key), WorldType.LORE_FACT)
    usable = found is not None and not found.properties.get("archived")
    if found is None or not usable or found.properties["lore_type"] != LoreType.FACTION:
        raise NotFound("lore.unknown", "This world has no faction with this key.", kind="lore")
    return _arc_fact(found)


def _arc_fact(fact: Entity) -> ArcLore:
    fields: Mapping[str, Any] = fact.properties.get("fields") or {}
    key = str(fact.properties["key"])
    kind = str(fact.properties.get("lore_type") or "")
    return ArcLore(key=key, name=str(fields.get("name") or key), kind=kind)
