"""Query facts: by overlap with a time range, entity, level and authority."""

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import EntityId
from canonry.domain.provenance import Authority, CanonLevel
from canonry.domain.things.entities import Entity, family_of
from canonry.domain.things.facts import Fact
from canonry.domain.time import Instant
from canonry.ports.views.pages import Page
from canonry.ports.views.state import FactQuery
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.covered_spaces import covered_spaces
from canonry.usecases.kernel.lookup import require


async def family_asked_for(
    canon: Canon, caller: Caller, entity_id: str | None
) -> frozenset[EntityId]:
    """The ids under which the canon speaks of the entity that a query names; none: of all.

    Raises:
        NotFound: `entity.unknown`.
    """
    if entity_id is None:
        return frozenset()
    return family_of(await require(canon, caller, Entity, entity_id))


async def query_facts(
    canon: Canon,
    caller: Caller,
    *,
    universe_id: str | None,
    entity_id: str | None,
    start: Instant | None,
    end: Instant | None,
    level: CanonLevel | None,
    authority: Authority | None,
    limit: int,
    offset: int,
) -> Page[Fact]:
    """Facts by (created_at, id); those without time are timeless and match every range.

    Raises:
        InvalidInput: `range.inverted`.
        NotFound: `universe.unknown` or `entity.unknown`.
    """
    if start is not None and end is not None and start > end:
        message = "the range ends before it starts; swap start and end"
        raise InvalidInput("range.inverted", message, path="/time_range")
    query = FactQuery(
        spaces=await covered_spaces(canon, caller, universe_id),
        entities=await family_asked_for(canon, caller, entity_id),
        start=start,
        end=end,
        level=level,
        authority=authority,
        limit=limit,
        offset=offset,
    )
    return await canon.state.facts(query)
