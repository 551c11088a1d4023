"""Query facts: by overlap with a time range, entity, level and authority."""

from typing import TypeVar

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.covered_spaces import covered_spaces
from canonry.canon.session.lookup import require
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.facts import Fact
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import EventQuery, FactQuery, RelationQuery
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId
from canonry.values.revising import revised

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
