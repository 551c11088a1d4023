"""Get a canonical fact: one entry of a world's lore, as it stands or as an older version had it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from canonry.canon.session.canon import Canon
from canonry.log.commits import ORIGIN, Position
from canonry.log.items.entities import Entity
from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.values.observations import Observation
from canonry.values.provenance import CanonLevel
from canonry.world.domain.identity import lore_id_of
from canonry.world.usecases.bound_world import BoundWorld

_ARCHIVED: Final = "properties.archived"
_VERSION: Final = "properties.version"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalFact:
    """A fact of lore in one version; `first` is the observation that brought it into being."""

    entity: Entity
    version: int
    said: Observation
    first: Observation

    @property
    def fields(self) -> Any:
        """What this version says."""
        return self.said.fields.get("properties.fields", {})


async def get_canonical_fact(
    canon: Canon, world: BoundWorld, key: str, version: int | None = None
) -> CanonicalFact | None:
    """The fact with this key in a version, or in the newest that is not archived; None: no such."""
    entity = await find_lore(canon, world, key)
    if entity is None:
        return None
    versions = await versions_of(canon, entity)
    standing = (n for n, each in enumerate(versions, 1) if not each.fields.get(_ARCHIVED))
    number = max(standing, default=0) if version is None else version
    if not 1 <= number <= len(versions):
        return None
    said = versions[number - 1]
    return CanonicalFact(entity=entity, version=number, said=said, first=versions[0])


async def find_lore(canon: Canon, world: BoundWorld, key: str) -> Entity | None:
    """The entity that holds all versions of a fact, archived or not."""
    lore_id = lore_id_of(world.space, key)
    found = await canon.within(world.space).thing(lore_id)
    if isinstance(found, Entity) and found.level is CanonLevel.CANON:
        return found if found.entity_type == WorldType.LORE_FACT else None
    return None


async def versions_of(canon: Canon, entity: Entity) -> Sequence[Observation]:
    """The observations that each brought a version, the first one first; at most 500."""
    seen = await canon.state.observations(entity.id, after=Position(ORIGIN), limit=PAGE_MAX)
    versions = [each for each in seen if _VERSION in each.fields]
    return sorted(versions, key=lambda each: int(each.fields[_VERSION]))
