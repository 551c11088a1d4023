"""Realms: which of several that contain a place comes first."""

from collections.abc import Iterable, Sequence

from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import NARROWEST_FIRST, REALM_GROUPS, RealmScope


def narrowest_first(realms: Iterable[Entity]) -> Sequence[Entity]:
    """Realms that are equally near in the order of their scopes, then of their ids."""
    return sorted(realms, key=lambda realm: (_breadth(realm), realm.id))


def group_of(realm: Entity) -> str:
    """The heading under which a context names a realm; an unknown type is functional."""
    realm_type = realm.properties.get("realm_type")
    named = (group for group, types in REALM_GROUPS.items() if realm_type in types)
    return next(named, "functional")


def _breadth(realm: Entity) -> int:
    try:
        return NARROWEST_FIRST[RealmScope(realm.properties.get("scope", ""))]
    except ValueError:
        return len(NARROWEST_FIRST)
