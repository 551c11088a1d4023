"""Query entities: by type, class, level, tags and name, in the universes that the caller sees."""

from canonry.domain.provenance import CanonLevel
from canonry.domain.things.entities import Entity, EntityClass
from canonry.ports.views.pages import Page
from canonry.ports.views.state import EntityQuery
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.covered_spaces import covered_spaces


async def query_entities(
    canon: Canon,
    caller: Caller,
    *,
    universe_id: str | None,
    entity_type: str | None,
    entity_class: EntityClass | None,
    level: CanonLevel | None,
    all_of: tuple[str, ...],
    any_of: tuple[str, ...],
    none_of: tuple[str, ...],
    name_pattern: str | None,
    limit: int,
    offset: int,
) -> Page[Entity]:
    """Entities by (created_at, id); without a level, retconned ones too.

    Raises:
        NotFound: `universe.unknown`.
    """
    query = EntityQuery(
        spaces=await covered_spaces(canon, caller, universe_id),
        entity_type=entity_type,
        entity_class=entity_class,
        level=level,
        all_of=frozenset(all_of),
        any_of=frozenset(any_of),
        none_of=frozenset(none_of),
        name_pattern=name_pattern,
        limit=limit,
        offset=offset,
    )
    return await canon.state.entities(query)
