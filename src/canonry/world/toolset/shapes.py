"""Shapes of what is answered, as the contract publishes them, and the layers of a place."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from canonry.gateway.shapes import (
    BOOLEAN,
    INSTANT,
    INTEGER,
    TEXT,
    WORD,
    Shape,
    array,
    given,
    nullable,
    optional,
)
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event
from canonry.log.items.relations import Relation
from canonry.log.schemas.world_types import LayerType, Tie
from canonry.readmodels.directions import Direction, travel_ms
from canonry.readmodels.ticks import tick_of
from canonry.world.toolset.extensions import ANYTHING
from canonry.world.usecases.layers_upon import Upon
from canonry.world.usecases.ties_of import Tied

PREVIEW: Final = 240
VALUE_MAX: Final = 512
_DEFAULTS: Final = {
    LayerType.WEATHER: "clear",
    LayerType.LIGHTING: "daylight",
    LayerType.AMBIENT: "calm",
}


def kept(name: str, default: Any = None) -> Callable[[Any], Any]:
    """What reads the property of this name of a thing."""
    return lambda thing: thing.properties.get(name, default)


def _travel_ms(edge: Any) -> int:
    return travel_ms(Direction(edge.properties["kind"]), edge.properties.get("travel_ms"))


def _direction(tied: Tied) -> str:
    if tied.tie is Tie.BORDERS:
        return "both"
    return "out" if tied.outward else "in"


NAMED: Final = Shape(id=TEXT, name=TEXT)
LOCATION: Final = Shape(
    **NAMED.fields,
    description=TEXT,
    tags=array(TEXT).of(kept("tags", ())),
    version=INTEGER.of(kept("version", 1)).by(int),
)
EXIT: Final = Shape(
    direction=TEXT.of(kept("kind")),
    toLocationId=TEXT.of("to_id"),
    name=optional(given(TEXT)),
    description=optional(TEXT.of(kept("description"))),
    travelDurationMs=INTEGER.of(_travel_ms),
    oneWay=optional(BOOLEAN.of(kept("one_way"))),
    hidden=optional(BOOLEAN.of(kept("hidden"))),
    blocked=optional(TEXT.of(kept("blocked"))),
    requiresItem=optional(TEXT.of(kept("requires"))),
)
TIE: Final = Shape(
    tie=WORD,
    direction=TEXT.of(_direction),
    realmId=TEXT.of("other.id"),
    name=TEXT.of("other.name"),
)
"""How a realm stands to another: a tie leads out to it or comes in from it."""
REALM: Final = Shape(
    **NAMED.fields,
    realmType=TEXT.of(kept("realm_type", "")),
    scope=TEXT.of(kept("scope", "")),
    description=TEXT,
    narrativeTags=array(TEXT).of(kept("narrative_tags", ())),
    ties=optional(given(array(TIE))),
)
ROUTE: Final = Shape(
    routeName=TEXT.of("route"), toLocationId=TEXT.of("stop.id"), name=TEXT.of("stop.name")
)
EVENT: Final = Shape(
    id=TEXT,
    eventType=TEXT.of("title"),
    occurredUtc=INSTANT.of("created_at"),
    actorKind=TEXT.of(kept("actor_kind", "system")),
    status=TEXT.of(lambda _: "processed"),
    tick=INTEGER.of(lambda e: tick_of(e.created_at if e.time_ref is None else e.time_ref)),
    description=optional(TEXT.of(lambda event: event.description[:PREVIEW] or None)),
    places=optional(given(array(NAMED))),
)
ITEM: Final = Shape(
    **NAMED.fields,
    itemType=WORD.of(kept("item_type", "")),
    quantity=INTEGER.of(kept("quantity", 1)).by(int),
    description=optional(TEXT.of(lambda item: item.description or None)),
)
STATUS: Final = Shape(
    alive=BOOLEAN,
    present=BOOLEAN,
    conditions=array(
        Shape(
            condition=TEXT.of(lambda pair: pair[0]),
            untilTick=nullable(INTEGER.of(lambda pair: pair[1])),
        )
    ).of(lambda status: sorted(status.conditions.items())),
    resources=ANYTHING,
)
PLAYER: Final = Shape(
    **NAMED.fields,
    currentLocationId=optional(given(TEXT.by(lambda location: location.id))),
    clockTick=optional(INTEGER.of(kept("clock"))),
    createdUtc=INSTANT.of("created_at"),
    updatedUtc=INSTANT.of("updated_at"),
    attributes=optional(ANYTHING.of(lambda player: player.properties.get("attributes") or None)),
    status=optional(given(STATUS)),
)
"""What others may know of a player: nothing but these fields."""
_ORIGIN: Final = Shape(
    scopeId=TEXT.of("edge.to_id"),
    authoredAt=INSTANT.of("layer.created_at"),
    effectiveFromTick=INTEGER.of(lambda upon: int(upon.layer.properties["from"])),
    effectiveToTick=nullable(INTEGER.of(lambda upon: upon.layer.properties.get("to"))),
)


def exits_told(
    edges: Sequence[Relation], places: Mapping[str, Entity], shape: Shape = EXIT
) -> list[dict[str, Any]]:
    """Exits with the names of the places that they lead to."""
    named = {i: place.name for i, place in places.items()}
    return [shape(edge, name=named.get(edge.to_id)) for edge in edges]


def events_told(events: Sequence[Event], places: Mapping[str, Entity]) -> list[dict[str, Any]]:
    """Events with the places that they are about."""
    found = [[places[i] for i in each.involved if i in places] for each in events]
    return [EVENT(each, places=at or None) for each, at in zip(events, found, strict=True)]


def present_summary(layer_type: LayerType, upon: Upon | None) -> dict[str, Any]:
    """A layer in a location's context: a preview of its text."""
    if upon is None:
        return {"present": False, "layerType": layer_type.value}
    return {
        "present": True,
        "layerType": layer_type.value,
        **_ORIGIN(upon),
        "valuePreview": upon.value[:PREVIEW],
        "valueLength": len(upon.value),
    }


def present_atmosphere(layer_type: LayerType, upon: Upon | None) -> dict[str, Any]:
    """A layer in an atmosphere: whole where it is short, and the default where there is none."""
    value = _DEFAULTS[layer_type] if upon is None else upon.value
    return {
        "present": upon is not None,
        "layerType": layer_type.value,
        "defaulted": upon is None,
        "valuePreview": value[:PREVIEW],
        "valueLength": len(value),
        "valueTruncated": len(value) > VALUE_MAX,
        **({"value": value} if len(value) <= VALUE_MAX else {}),
        **({} if upon is None else _ORIGIN(upon)),
    }
