"""Query relations: by entity, direction and type; those that ended are told as well, if asked."""

from canonry.domain.things.relations import Relation
from canonry.ports.views.pages import Page
from canonry.ports.views.state import RelationQuery
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.queries.query_facts import narrowed

__all__ = ["RelationQuery", "query_relations"]
"""With the value that it is asked by."""


async def query_relations(
    canon: Canon,
    caller: Caller,
    query: RelationQuery,
    *,
    universe_id: str | None,
    entity_id: str | None,
) -> Page[Relation]:
    """Relations by (created_at, id).

    Raises:
        NotFound: `universe.unknown` or `entity.unknown`.
    """
    return await canon.state.relations(await narrowed(canon, caller, query, universe_id, entity_id))
