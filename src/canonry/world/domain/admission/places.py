"""What becomes of places, played through: layers, ways, those who appear, and moods."""

from dataclasses import replace
from typing import Final

from canonry.log.schemas.world_types import LayerType
from canonry.readmodels.edges import OPPOSITE
from canonry.values.ids import EntityId
from canonry.world.domain.admission.claims import claimed
from canonry.world.domain.admission.constraints import cannot_open, overlapping
from canonry.world.domain.admission.kit import Rejection, refusal
from canonry.world.domain.admission.known import KnownSpot, Laid
from canonry.world.domain.admission.schema import (
    AddLayer,
    CreateExit,
    GenerateAmbience,
    RemoveExit,
    Spawn,
)
from canonry.world.domain.admission.staging import Stage
from canonry.world.domain.merging import layer_id_of
from canonry.world.domain.standing import KnownWay

NEW_LAYER: Final = EntityId("")
"""The id of a layer of which nobody has one yet."""


def add_layer(stage: Stage, layer: AddLayer) -> Rejection | None:
    """A text lies upon a place."""
    spot = stage.spot(layer.location_id, "locationId")
    if isinstance(spot, Rejection):
        return spot
    refused = stage.within(("loc", spot.id))
    if refused is None and layer.layer_type is LayerType.BASE:
        reason = "what a place is like at all, only builders say"
        refused = refusal("layer.base", reason, path=stage.at("layerType"))
    return (
        refused
        or _lay(stage, layer, spot)
        or claimed(layer.layer_content, stage.known.ways(spot.id), path=stage.at("layerContent"))
    )


def _lay(stage: Stage, layer: AddLayer, spot: KnownSpot) -> Rejection | None:
    now = stage.known.tick
    since = now if layer.from_tick is None else layer.from_tick
    if since < now:
        reason = f"the world's clock stands at {now}"
        return refusal("layer.in-the-past", reason, path=stage.at("fromTick"))
    if layer.to_tick is not None and layer.to_tick < since:
        reason = "it would end before it begins"
        return refusal("layer.ends-before-start", reason, path=stage.at("toTick"))
    new = Laid(id=NEW_LAYER, layer_type=layer.layer_type, since=since, until=layer.to_tick)
    lying = stage.known.layers(spot.id)
    if layer.replaces is not None:
        named = layer_id_of(stage.known.space, layer.replaces)
        replaced = next((one for one in lying if one.id == named), None)
        if replaced is None or overlapping((replaced,), new) is None:
            reason = "what it would replace does not lie there then"
            return refusal("layer.unknown", reason, path=stage.at("replaces"))
        lying = tuple(one for one in lying if one is not replaced)
    standing = overlapping(lying, new)
    if standing is not None:
        reason = f"a layer of this type lies there then: {standing.id or 'of this proposal'}"
        return refusal("layer.overlaps", reason, path=stage.at("replaces"))
    stage.known.put_layers(spot.id, (*lying, new))
    return None


def create_exit(stage: Stage, new: CreateExit) -> Rejection | None:
    """A way opens, with its way back."""
    start = stage.spot(new.from_location_id, "fromLocationId")
    target = stage.spot(new.to_location_id, "toLocationId")
    if isinstance(start, Rejection):
        return start
    if isinstance(target, Rejection):
        return target
    item = None if new.requires_item is None else stage.stack(new.requires_item, "requiresItem")
    if isinstance(item, Rejection):
        return item
    ways = stage.known.ways(start.id)
    refused = stage.within(("loc", start.id)) or cannot_open(
        new.direction,
        (start.id, target.id),
        ways,
        start.forbidden,
        path=stage.at("direction"),
    )
    if refused is not None:
        return refused
    way = KnownWay(
        direction=new.direction,
        start=start.id,
        to=target.id,
        one_way=new.one_way,
        blocked=new.blocked,
        requires=None if item is None else item.id,
        proposed=True,
    )
    if not new.one_way:
        refused = _way_back(stage, start, target, new, way)
    if refused is None:
        stage.known.put_way(start.id, new.direction, way)
    return refused


def _way_back(
    stage: Stage, start: KnownSpot, target: KnownSpot, new: CreateExit, way: KnownWay
) -> Rejection | None:
    opposite = OPPOSITE[new.direction]
    back = stage.known.ways(target.id).get(opposite)
    if back is not None and back.to == start.id and not back.one_way:
        return None
    if back is not None:
        reason = f"the way back, {opposite}, is taken by another exit"
        return refusal("exit.way-back-taken", reason, path=stage.at("oneWay"))
    refused = cannot_open(
        opposite, (target.id, start.id), {}, target.forbidden, path=stage.at("oneWay")
    )
    if refused is None:
        stage.known.put_way(
            target.id, opposite, replace(way, direction=opposite, start=target.id, to=start.id)
        )
    return refused


def remove_exit(stage: Stage, old: RemoveExit) -> Rejection | None:
    """A way closes that a proposal opened."""
    start = stage.spot(old.from_location_id, "fromLocationId")
    if isinstance(start, Rejection):
        return start
    refused = stage.within(("loc", start.id))
    way = stage.known.ways(start.id).get(old.direction)
    path = stage.at("direction")
    if refused is not None:
        return refused
    if way is None:
        return refusal("exit.unknown", f"no exit leads {old.direction} from there", path=path)
    if not way.proposed:
        return refusal("exit.of-builders", "builders have made this exit", path=path)
    stage.known.put_way(start.id, old.direction, None)
    opposite = OPPOSITE[old.direction]
    back = stage.known.ways(way.to).get(opposite)
    if not way.one_way and back is not None and back.to == start.id and not back.one_way:
        stage.known.put_way(way.to, opposite, None)
    return None


def spawn(stage: Stage, new: Spawn) -> Rejection | None:
    """Somebody or something appears."""
    spot = stage.spot(new.location_id, "locationId")
    if isinstance(spot, Rejection):
        return spot
    refused = stage.within(("loc", spot.id))
    if (
        refused is None
        and new.faction_id is not None
        and not stage.known.is_faction(new.faction_id)
    ):
        reason = "lore knows no faction of this id"
        refused = refusal("faction.unknown", reason, path=stage.at("factionId"))
    return refused


def ask_for_ambience(stage: Stage, wanted: GenerateAmbience) -> Rejection | None:
    """A mood is wanted."""
    spot = stage.spot(wanted.location_id, "locationId")
    return spot if isinstance(spot, Rejection) else stage.within(("loc", spot.id))
