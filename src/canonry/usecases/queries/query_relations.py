"""Query relations: by entity, direction and type; those that ended are told as well, if asked."""

from canonry.domain.things.relations import Relation
from canonry.ports.views.pages import Page
from canonry.ports.views.state import RelationQuery
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.covered_spaces import covered_spaces
from canonry.usecases.queries.query_facts import family_asked_for


async def query_relations(
    canon: Canon,
    caller: Caller,
    *,
    universe_id: str | None,
    entity_id: str | None,
    rel_type: str | None,
    direction: str,
    current: bool,
    limit: int,
    offset: int,
) -> Page[Relation]:
    """Relations by (created_at, id).

    Raises:
        NotFound: `universe.unknown` or `entity.unknown`.
    """
    query = RelationQuery(
        spaces=await covered_spaces(canon, caller, universe_id),
        entities=await family_asked_for(canon, caller, entity_id),
        rel_type=rel_type,
        direction=direction,
        current=current,
        limit=limit,
        offset=offset,
    )
    return await canon.state.relations(query)
