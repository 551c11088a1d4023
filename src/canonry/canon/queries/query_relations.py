"""Query relations: by entity, direction and type; those that ended are told as well, if asked."""

from canonry.canon.queries.query_facts import narrowed
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.items.relations import Relation
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import RelationQuery

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
