"""Generate arcs of stories with a language model."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import EXIT, LOCATED_IN, LoreType, WorldType
from canonry.readmodels.passages import Collection
from canonry.values.errors import Conflict, InvalidInput, NotFound
from canonry.values.ids import EntityId, content_id
from canonry.values.json_values import encode_json
from canonry.world.domain.admission.kit import no_passage
from canonry.world.domain.arcs.arcs import BEATS, Arc, ArcLore, Materials, drawn_arc
from canonry.world.domain.checks import person_of, way_of
from canonry.world.domain.merging import lore_id_of
from canonry.world.domain.utterances.lexicon import Nameable
from canonry.world.models.services import moderate_content
from canonry.world.usecases.speech import nameable
from canonry.world.usecases.worlds import BoundWorld, WorldAt, not_in_world, world_at

_PLACES_MAX: Final = 60
_STEPS: Final = 6
_PEOPLE_MAX: Final = 200
_LORE_MAX: Final = 20
_ATTEMPTS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedArc:
    """What an arc is to have: places, factions by their lore, themes in words, so many beats."""

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
            raise InvalidInput("arc.themes", "this theme may not stand", path="/constraints/themes")
    now = world_at(canon, world)
    materials = await _materials(now, wanted)
    asked = [wanted.locations, wanted.factions, wanted.themes, wanted.beats, wanted.level]
    told = encode_json([world.space, wanted.seed, asked]).decode()
    arc_id = content_id(f"arc/{told}")
    for attempt in range(_ATTEMPTS):
        arc = drawn_arc(arc_id, wanted.seed, wanted.beats, materials, attempt=attempt)
        if arc is not None:
            return arc, _envelope(arc, told)
    message = "no open way leads past all that is wanted in so many beats: ask for more beats"
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
        ways={place: _reached(steps, place) for place in steps},
        people=people,
        lore=tuple(await _lore(now, wanted, places, people)),
        wanted=tuple(ids) if wanted.locations else (),
        themes=wanted.themes,
    )


async def _beginning(now: WorldAt, wanted: WantedArc) -> EntityId:
    """Where an arc begins of which nobody says where: with somebody not far from the starter."""
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
    """From each place around to those one open exit farther."""
    steps: dict[EntityId, frozenset[EntityId]] = {}
    ring = list(dict.fromkeys(starts))
    for _step in range(_STEPS):
        if not ring or len(steps) >= _PLACES_MAX:
            break
        ring = ring[: _PLACES_MAX - len(steps)]
        onward: dict[EntityId, set[EntityId]] = {place: set() for place in ring}
        for edge in await now.edges(EXIT, *ring, kinds=None, limit=_PLACES_MAX):
            way = way_of(edge, now.tick)
            if way is not None and no_passage(way, way.direction, ()) is None:
                onward[way.start].add(way.to)
        steps |= {place: frozenset(ends) for place, ends in onward.items()}
        ring = sorted({end for ends in onward.values() for end in ends} - set(steps))
    return {place: ends & set(steps) for place, ends in steps.items()}


def _reached(steps: Mapping[EntityId, frozenset[EntityId]], start: EntityId) -> frozenset[str]:
    found, ring = {start}, {start}
    while ring:
        ring = {end for place in ring for end in steps[place]} - found
        found |= ring
    return frozenset(found)


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


async def _lore(
    now: WorldAt,
    wanted: WantedArc,
    places: Sequence[Entity],
    people: Mapping[str, Sequence[Nameable]],
) -> Sequence[ArcLore]:
    """The facts of the wanted factions; else those that share words with the themes, or around."""
    if wanted.factions:
        return [await _faction(now, key) for key in wanted.factions]
    if themed := await _told_of(now, wanted.themes):
        return themed
    names = [place.name for place in places]
    names += [each.name for some in people.values() for each in some]
    return await _told_of(now, names)


async def _told_of(now: WorldAt, words: Sequence[str]) -> Sequence[ArcLore]:
    """The facts that share words with these."""
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
        raise NotFound("lore.unknown", "this world has no faction with such a key", kind="lore")
    return _fact(found)


def _fact(fact: Entity) -> ArcLore:
    fields: Mapping[str, Any] = fact.properties.get("fields") or {}
    key = str(fact.properties["key"])
    kind = str(fact.properties.get("lore_type") or "")
    return ArcLore(key=key, name=str(fields.get("name") or key), kind=kind)


def _envelope(arc: Arc, told: str) -> Mapping[str, Any]:
    """What proposes the hook where the arc begins; whoever sends it adds when it was issued."""
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
