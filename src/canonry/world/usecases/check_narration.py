"""Check a narration against the scene of its moment."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from canonry.canon.judging.comparing.conflicts import Stated, conflict
from canonry.log.items.entities import Entity
from canonry.log.items.proposals import Grade
from canonry.log.schemas.world_types import EXIT, MOVERS, WorldType
from canonry.readmodels.edges import time_of_day
from canonry.readmodels.passages import Collection
from canonry.values.ids import EntityId
from canonry.world.domain.admission.known import no_passage
from canonry.world.domain.checks import Stack, person_of, stack_of, way_of
from canonry.world.domain.narration.claims import sentences_of
from canonry.world.domain.narration.scene import NarratedScene, Somewhere, ToldOfWorld
from canonry.world.domain.narration.violations import NarrationLimit, Violation, violations_of
from canonry.world.usecases.contexts import exits_of, layers_upon
from canonry.world.usecases.speech import movers_at, nameable
from canonry.world.usecases.worlds import WorldAt, not_in_world

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
    """What canon or a constraint would reject of a narration; nothing is written.

    Without a `location` it takes place where the player is, or at the starter.

    Raises:
        NotFound: `player.unknown` or `location.unknown`.
    """
    player = None if player_id is None else await then.require(player_id, WorldType.PLAYER)
    if location is None and player is not None:
        place = await then.location_of(player.id)
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
