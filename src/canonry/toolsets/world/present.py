"""Present: what use cases found, in the shapes that the contract publishes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.domain.ids import EntityId
from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Event
from canonry.domain.things.relations import Relation
from canonry.domain.time import render_instant
from canonry.domain.vocabularies.world_types import REALM_GROUPS, LayerType, Tie
from canonry.domain.world.directions import Direction, travel_ms
from canonry.domain.world.realms import group_of
from canonry.domain.world.ticks import tick_of
from canonry.usecases.world.layers_upon import Upon
from canonry.usecases.world.ties_of import RouteOn, Tied

PREVIEW: Final = 240
VALUE_MAX: Final = 512
_DEFAULTS: Final = {
    LayerType.WEATHER: "clear",
    LayerType.LIGHTING: "daylight",
    LayerType.AMBIENT: "calm",
}


def present_location(location: Entity) -> dict[str, Any]:
    """The five fields of a location."""
    return {
        "id": location.id,
        "name": location.name,
        "description": location.description,
        "tags": list(location.properties.get("tags", ())),
        "version": int(location.properties.get("version", 1)),
    }


def present_exit(edge: Relation) -> dict[str, Any]:
    """An exit with how long it takes; what makes it special is only said where it is so."""
    told: Mapping[str, Any] = edge.properties
    direction = Direction(told["kind"])
    shown = {
        "direction": direction.value,
        "toLocationId": edge.to_id,
        "description": told.get("description"),
        "travelDurationMs": travel_ms(direction, told.get("travel_ms")),
        "oneWay": told.get("one_way"),
        "hidden": told.get("hidden"),
        "blocked": told.get("blocked"),
        "requiresItem": told.get("requires"),
    }
    return {name: value for name, value in shown.items() if value is not None}


def present_realm(realm: Entity, ties: Sequence[Tied] = ()) -> dict[str, Any]:
    """A realm; how it stands to others is only said where it stands somehow."""
    told = realm.properties
    shown = {
        "id": realm.id,
        "name": realm.name,
        "realmType": told.get("realm_type", ""),
        "scope": told.get("scope", ""),
        "description": realm.description,
        "narrativeTags": list(told.get("narrative_tags", ())),
    }
    return {**shown, "ties": [present_tie(tied) for tied in ties]} if ties else shown


def present_tie(tied: Tied) -> dict[str, Any]:
    """How a realm stands to another: a tie leads out to it or comes in from it."""
    direction = "out" if tied.outward else "in"
    return {
        "tie": tied.tie.value,
        "direction": "both" if tied.tie is Tie.BORDERS else direction,
        "realmId": tied.other.id,
        "name": tied.other.name,
    }


def present_route(on: RouteOn) -> dict[str, Any]:
    """A route with its next stop."""
    return {"routeName": on.route, "toLocationId": on.stop.id, "name": on.stop.name}


def present_realms(
    realms: Sequence[Entity], ties: Mapping[EntityId, Sequence[Tied]]
) -> dict[str, list[dict[str, Any]]]:
    """Realms under their headings, the nearest first."""
    shown: dict[str, list[dict[str, Any]]] = {group: [] for group in REALM_GROUPS}
    for realm in realms:
        shown[group_of(realm)].append(present_realm(realm, ties.get(realm.id, ())))
    return shown


def tags_of(realms: Sequence[Entity]) -> list[str]:
    """The narrative tags of all realms together, sorted."""
    return sorted({tag for realm in realms for tag in realm.properties.get("narrative_tags", ())})


def present_summary(layer_type: LayerType, upon: Upon | None) -> dict[str, Any]:
    """A layer in a location's context: a preview of what it tells."""
    if upon is None:
        return {"present": False, "layerType": layer_type.value}
    return {
        "present": True,
        "layerType": layer_type.value,
        **_origin(upon),
        "valuePreview": upon.value[:PREVIEW],
        "valueLength": len(upon.value),
    }


def present_atmosphere(layer_type: LayerType, upon: Upon | None) -> dict[str, Any]:
    """A layer in an atmosphere: whole where it is short, and the default where there is none."""
    value = _DEFAULTS[layer_type] if upon is None else upon.value
    shown: dict[str, Any] = {
        "present": upon is not None,
        "layerType": layer_type.value,
        "defaulted": upon is None,
        "valuePreview": value[:PREVIEW],
        "valueLength": len(value),
        "valueTruncated": len(value) > VALUE_MAX,
    }
    if len(value) <= VALUE_MAX:
        shown["value"] = value
    return shown if upon is None else {**shown, **_origin(upon)}


def _origin(upon: Upon) -> dict[str, Any]:
    told = upon.layer.properties
    return {
        "scopeId": upon.edge.to_id,
        "authoredAt": render_instant(upon.layer.created_at),
        "effectiveFromTick": int(told["from"]),
        "effectiveToTick": told.get("to"),
    }


def present_event(event: Event) -> dict[str, Any]:
    """An event in five fields, and when it was in the world's time."""
    when = event.created_at if event.time_ref is None else event.time_ref
    told = {"description": event.description[:PREVIEW]} if event.description else {}
    return {
        "id": event.id,
        "eventType": event.title,
        "occurredUtc": render_instant(event.created_at),
        "actorKind": event.properties.get("actor_kind", "system"),
        "status": "processed",
        "tick": tick_of(when),
        **told,
    }


def present_item(item: Entity) -> dict[str, Any]:
    """An item of an inventory."""
    shown = {
        "id": item.id,
        "name": item.name,
        "itemType": str(item.properties.get("item_type", "")),
        "quantity": int(item.properties.get("quantity", 1)),
    }
    return {**shown, "description": item.description} if item.description else shown


def present_player(player: Entity, location: Entity | None) -> dict[str, Any]:
    """What others may know of a player: nothing but these fields."""
    told = player.properties
    shown = {
        "id": player.id,
        "name": player.name,
        "currentLocationId": None if location is None else location.id,
        "clockTick": told.get("clock"),
        "createdUtc": render_instant(player.created_at),
        "updatedUtc": render_instant(player.updated_at),
        "attributes": told.get("attributes") or None,
    }
    return {name: value for name, value in shown.items() if value is not None}
