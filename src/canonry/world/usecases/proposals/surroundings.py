"""Surroundings: what a verdict asks of a world, read through a draft that remembers the keys."""

from typing import Any, Final

from canonry.log.folding import relations_key
from canonry.log.schemas.world_types import (
    EXIT,
    HELD_BY,
    LAYER_OF,
    LOCATED_IN,
    MOVERS,
    LayerType,
    LoreType,
    WorldType,
)
from canonry.readmodels.edges import kind_of, recurs, span_of, tick_of
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ports.state import RelationQuery
from canonry.values.ids import EntityId
from canonry.values.moments import Instant
from canonry.values.provenance import CanonLevel
from canonry.world.domain.admission.kit import Rejection
from canonry.world.domain.admission.known import (
    KnownSpot,
    KnownThing,
    KnownWorld,
    Laid,
    NotLoaded,
    Ways,
    WorldQuestion,
)
from canonry.world.domain.admission.playing import broken_invariant
from canonry.world.domain.admission.schema import Proposed
from canonry.world.domain.checks import person_of, stack_of, way_of
from canonry.world.usecases.world_draft import WorldDraft

_ASKS_MAX: Final = 500
"""Twenty actions ask for fewer things than this."""
_MOVERS: Final = frozenset(map(str, MOVERS))


async def objection_of_world(draft: WorldDraft, proposed: Proposed) -> Rejection | None:
    """What the world has against a proposal at the tick of the draft."""
    read: dict[WorldQuestion, Any] = {}
    for _each in range(_ASKS_MAX):
        try:
            return broken_invariant(proposed, KnownWorld(draft.space, tick_of(draft.at), read))
        except NotLoaded as asked:
            read[asked.ask] = await _answer(draft, asked.ask)
    raise AssertionError("a verdict asks for more than it names")  # pragma: no cover


async def _answer(draft: WorldDraft, ask: WorldQuestion) -> Any:
    thing = EntityId(ask.of)
    match ask.what:
        case "ways":
            return await _ways(draft, thing)
        case "layers":
            return await _layers(draft, thing)
        case "faction":
            return await _is_faction(draft, thing)
        case _:
            return await _thing(draft, thing)


async def _thing(draft: WorldDraft, thing_id: EntityId) -> KnownThing | None:
    found = await draft.find(thing_id)
    if found is None or found.level is not CanonLevel.CANON:
        return None
    own = found.properties
    if found.entity_type == WorldType.LOCATION:
        return KnownSpot(id=thing_id, name=found.name, forbidden=dict(own.get("forbidden") or {}))
    if found.entity_type == WorldType.ITEM:
        held = await draft.latest_edges(HELD_BY, thing_id)
        return stack_of(found, held[0].to_id if held else None)
    if found.entity_type not in _MOVERS:
        return None
    at = await draft.latest_edges(LOCATED_IN, thing_id, kinds=(*MOVERS, ""))
    return person_of(found, at[0].to_id if at else None)


async def _ways(draft: WorldDraft, place: EntityId) -> Ways:
    ways = (way_of(edge, tick_of(draft.at)) for edge in await draft.edges(EXIT, place, kinds=None))
    return {way.direction: way for way in ways if way is not None}


async def _layers(draft: WorldDraft, place: EntityId) -> tuple[Laid, ...]:
    draft.reads.add(relations_key(place))
    query = RelationQuery(
        spaces=frozenset((draft.space,)),
        entities=frozenset((place,)),
        rel_type=LAYER_OF,
        direction="in",
        current=True,
        newest_first=True,
        limit=PAGE_MAX,
    )
    found: list[Laid] = []
    for edge in (await draft.canon.state.relations(query)).items:
        span = span_of(edge)
        if span is None or span[1] <= draft.at or recurs(edge):  # that lies beneath
            continue
        until = None if edge.until is None else tick_of(Instant(edge.until)) - 1
        since = tick_of(Instant(span[0]))
        found.append(
            Laid(id=edge.from_id, layer_type=LayerType(kind_of(edge)), since=since, until=until)
        )
    return tuple(found)


async def _is_faction(draft: WorldDraft, lore: EntityId) -> bool:
    found = await draft.find(lore)
    return (
        found is not None
        and found.level is CanonLevel.CANON
        and found.properties.get("lore_type") == LoreType.FACTION
        and not found.properties.get("archived")
    )
