"""Query facts: by overlap with a time range, entity, level and authority."""

from typing import TypeVar

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import EntityId
from canonry.domain.revising import revised
from canonry.domain.things.entities import Entity, family_of
from canonry.domain.things.facts import Fact
from canonry.ports.views.pages import Page
from canonry.ports.views.state import EventQuery, FactQuery, RelationQuery
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.covered_spaces import covered_spaces
from canonry.usecases.kernel.lookup import require

__all__ = ["FactQuery", "narrowed", "query_facts"]
"""With the value that it is asked by."""

Query = TypeVar("Query", FactQuery, EventQuery, RelationQuery)


async def narrowed(
    canon: Canon, caller: Caller, query: Query, universe_id: str | None, entity_id: str | None
) -> Query:
    """The query within a universe and about an entity, under all ids by which the canon calls it.

    Raises:
        NotFound: `universe.unknown` or `entity.unknown`.
    """
    spaces, family = await covered_spaces(canon, caller, universe_id), frozenset[EntityId]()
    if entity_id is not None:
        family = family_of(await require(canon, caller, Entity, entity_id))
    return revised(query, spaces=spaces, entities=family)


async def query_facts(
    canon: Canon,
    caller: Caller,
    query: FactQuery,
    *,
    universe_id: str | None,
    entity_id: str | None,
) -> Page[Fact]:
    """Facts by (created_at, id); those without time are timeless and match every range.

    Raises:
        InvalidInput: `range.inverted`.
        NotFound: `universe.unknown` or `entity.unknown`.
    """
    if query.start is not None and query.end is not None and query.start > query.end:
        message = "the range ends before it starts; swap start and end"
        raise InvalidInput("range.inverted", message, path="/time_range")
    return await canon.state.facts(await narrowed(canon, caller, query, universe_id, entity_id))
