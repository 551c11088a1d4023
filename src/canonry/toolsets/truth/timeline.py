"""The timeline tool: what happens at the dates that records say."""

from typing import Final

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import SourceId
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.truth.arguments import moment_of, optional_text, source_of, whole_of
from canonry.toolsets.truth.contract import truth_tool
from canonry.toolsets.truth.present import present_event
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.truth.list_records import (
    TimelineQuery,
    current_events,
    list_timeline,
    survivors_of,
)


async def _list(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    start = moment_of(arguments, "after_date")
    end = moment_of(arguments, "before_date", end_of_day=True)
    if start is not None and end is not None and start > end:
        message = "after_date lies behind before_date; both bounds are inclusive"
        raise InvalidInput("time.order", message, path="/after_date")
    query = TimelineQuery(
        event_type=optional_text(arguments, "event_type"),
        source_id=None if arguments.get("source_id") is None else SourceId(source_of(arguments)),
        start=start,
        end=end,
        superseded=bool(arguments["include_superseded"]),
        limit=whole_of(arguments, "limit"),
        offset=whole_of(arguments, "offset"),
    )
    page = await list_timeline(canon, caller, query)
    entities = await survivors_of(canon, caller, page.items)
    if not query.superseded:
        return {"events": [present_event(e, entities) for e in page.items], "total": page.total}
    current = current_events(entities)
    events = [present_event(e, entities, superseded=e.id not in current) for e in page.items]
    return {"events": events, "total": page.total}


TOOLS: Final[tuple[Tool, ...]] = (truth_tool("list_timeline_events", _list),)
