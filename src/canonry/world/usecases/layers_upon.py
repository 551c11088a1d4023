"""Layers upon a place: of each type the one that shows, from the place itself outwards."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.log.items.entities import Entity
from canonry.log.items.relations import Relation
from canonry.log.schemas.world_types import LAYER_OF, LayerType, WorldType
from canonry.readmodels.edges import kind_of, shows_at
from canonry.values.ids import EntityId
from canonry.world.usecases.world_at import WorldAt

_FEW: Final = 12
"""Layers of all types upon one place are read at once as long as there are fewer than these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upon:
    """A layer, and the edge by which it lies upon a location or realm."""

    layer: Entity
    edge: Relation

    @property
    def value(self) -> str:
        """What it tells."""
        return str(self.layer.properties.get("value", ""))


async def layers_upon(
    then: WorldAt,
    location: EntityId,
    realms: Sequence[Entity],
    types: Iterable[LayerType] = tuple(LayerType),
) -> Mapping[LayerType, Upon]:
    """What shows upon a location: its own layers first, then those of its nearest realms.

    Of several of one type upon the same place the one that was written last shows.
    """
    places = (location, *(realm.id for realm in realms))
    wanted = tuple(types)
    edges = await _lying(then, places, wanted)
    known = await then.all((edge.from_id for edge in edges), WorldType.LAYER)
    nearest = {place: rank for rank, place in enumerate(places)}
    shown: dict[LayerType, Upon] = {}
    for edge in sorted(edges, key=lambda e: (nearest[e.to_id], -e.position, e.id)):
        layer_type = LayerType(kind_of(edge))
        if edge.from_id in known and shows_at(edge, then.tick):
            shown.setdefault(layer_type, Upon(layer=known[edge.from_id], edge=edge))
    return {each: shown[each] for each in wanted if each in shown}


async def _lying(
    then: WorldAt, places: Sequence[EntityId], types: Sequence[LayerType]
) -> Sequence[Relation]:
    """The edges of the layers upon places; where there are many, the newest ones of each type."""
    edges = await then.edges(LAYER_OF, *places, outward=False, kinds=None, limit=_FEW)
    if max(Counter(edge.to_id for edge in edges).values(), default=0) < _FEW:
        return [edge for edge in edges if kind_of(edge) in types]
    return await then.edges(LAYER_OF, *places, outward=False, kinds=types, newest_first=True)
