"""Schemas in force: by which schema the types of a user's entities are read, now or at a time."""

from collections.abc import Iterable, Mapping, Sequence

from canonry.canon.session.account import Account
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.schemas.schemas import EntitySchema, RegisteredSchema
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.moments import Instant


async def versions_of(canon: Canon, account: Account, entity_type: str) -> Sequence[EntitySchema]:
    """Every version of a type's schema, the newest first; the built-in one is the oldest."""
    spaces = frozenset((account.space,))
    registered = await canon.state.schemas(spaces, entity_type, limit=PAGE_MAX, offset=0)
    if registered.total > PAGE_MAX:  # the newest must not be missed, whatever becomes of the oldest
        last = registered.total - PAGE_MAX
        registered = await canon.state.schemas(spaces, entity_type, limit=PAGE_MAX, offset=last)
    built_in = TRUTH_TYPES.get(entity_type)
    newest_first = registered.items[::-1]
    return newest_first if built_in is None else [*newest_first, built_in]


async def schemas_in_force(
    canon: Canon, account: Account, types: Iterable[str], *, at: Instant | None = None
) -> Mapping[str, EntitySchema]:
    """The newest schema of each of these types, or the one that was newest at an instant.

    A type has the oldest schema before that was registered; one without a schema is missing.
    """
    found: dict[str, EntitySchema] = {}
    for entity_type in dict.fromkeys(types):
        versions = await versions_of(canon, account, entity_type)
        then = [v for v in versions if at is None or _registered(v, at)]
        if versions:
            found[entity_type] = (then or versions[-1:])[0]
    return found


def _registered(schema: EntitySchema, at: Instant) -> bool:
    return isinstance(schema, RegisteredSchema) and schema.created_at <= at


async def schemas_for(
    canon: Canon, account: Account, entities: Iterable[Entity], *, at: Instant | None = None
) -> Mapping[str, EntitySchema]:
    """The schemas by which those of the entities are shown that lie in the account."""
    own = (entity.entity_type for entity in entities if entity.space == account.space)
    return await schemas_in_force(canon, account, own, at=at)


def schema_of(
    schemas: Mapping[str, EntitySchema], account: Account, entity: Entity
) -> EntitySchema | None:
    """The schema of an entity among those; none for entities of other spaces."""
    return schemas.get(entity.entity_type) if entity.space == account.space else None
