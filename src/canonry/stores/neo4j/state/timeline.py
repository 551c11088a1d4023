"""The timeline in Neo4j: a node an entry, of which those of one event are shown together."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.readmodels.ports.pages import PAGE_MAX, Page
from canonry.readmodels.ports.state import TimelineQuery
from canonry.readmodels.timeline import TimelineEntry, TimelineEvent, event_of
from canonry.stores.neo4j.database import Neo4jDatabase
from canonry.values.ids import EntityId, ObservationId, SourceId, SpaceId
from canonry.values.moments import Instant

_FAR: Final = 2**62
_PLACE: Final = "rank, event, space, event_type"
_SELECT: Final = """
CALL () {{
  MATCH (d:_Date) WHERE {wanted}
  RETURN count(DISTINCT [d.space, d.event_type, d.rank, d.event]) AS total
}}
CALL () {{
  MATCH (d:_Date) WHERE {wanted}
  WITH DISTINCT d.rank AS rank, d.event AS event, d.space AS space, d.event_type AS event_type
  ORDER BY {place} SKIP $offset LIMIT $limit
  CALL (rank, event, space, event_type) {{
    MATCH (d:_Date) WHERE d.event = event AND d.rank = rank AND d.space = space
    AND d.event_type = event_type AND {wanted}
    WITH d ORDER BY d.entity, d.field, d.observation LIMIT $entries
    RETURN collect([d.entity, d.field, d.observation, d.source]) AS said
  }}
  WITH rank, event, space, event_type, said ORDER BY {place}
  RETURN collect([space, event_type, rank, said]) AS events
}}
RETURN total, events
"""


async def select_timeline(database: Neo4jDatabase, query: TimelineQuery) -> Page[TimelineEvent]:
    """The page that `query` asks for."""
    wanted = "d.store = $store AND d.current = $current AND d.rank >= $low AND d.rank <= $high"
    asked: Mapping[str, Any] = {
        "spaces": None if query.spaces is None else list(query.spaces),
        "event_type": query.event_type,
        "source": query.source_id,
    }
    if query.spaces is not None:
        wanted += " AND d.space IN $spaces"
    if query.event_type is not None:
        wanted += " AND d.event_type = $event_type"
    if query.source_id is not None:
        wanted += " AND d.source = $source"
    values = {
        **asked,
        "current": not query.superseded,
        "low": -_FAR if query.end is None else -query.end,
        "high": _FAR if query.start is None else -query.start,
        "limit": query.limit,
        "offset": query.offset,
        "entries": PAGE_MAX,
    }
    statement = _SELECT.format(wanted=wanted, place=_PLACE)
    ((total, events),) = await database.rows(statement, values)
    return Page(items=[_event(*told) for told in events], total=total)


def _event(
    space: str, event_type: str, rank: int, said: Sequence[tuple[str, str, str, str]]
) -> TimelineEvent:
    return event_of(
        tuple(
            TimelineEntry(
                space=SpaceId(space),
                event_type=event_type,
                instant=Instant(-rank),
                source_id=SourceId(source),
                entity_id=EntityId(entity),
                field=field,
                observation_id=ObservationId(observation),
            )
            for entity, field, observation, source in said
        )
    )
