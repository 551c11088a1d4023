"""Entity tools: finding, merging and unmerging entities, and what happens to them by date."""

from typing import Final

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import SourceId
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    INSTANT,
    TEXT,
    UUID,
    Shape,
    array,
    given,
    optional,
)
from canonry.gateway.tool import Arguments, Reply, Run
from canonry.toolsets.truth.arguments import (
    TEXT_MAX,
    entity_of,
    moment_of,
    optional_text,
    page_of,
    source_of,
    text_of,
)
from canonry.toolsets.truth.shapes import DUPLICATE, ENTITY, present_event
from canonry.toolsets.truth.snapshots import with_snapshots
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.truth.find_by_identifier import find_by_identifier
from canonry.usecases.truth.list_records import (
    EntityQuery,
    TimelineQuery,
    current_events,
    list_entities,
    list_timeline,
    survivors_of,
)
from canonry.usecases.truth.merge_records import merge_records, unmerge_records
from canonry.usecases.truth.possible_duplicates import DuplicateQuery, possible_duplicates

_MERGED: Final = Shape(
    from_entity_id=UUID.of("from_id"),
    to_entity_id=UUID.of("to_id"),
    observations_moved=COUNT.of("observations"),
    merged_at=INSTANT.of("at"),
    merge_reason=optional(given(TEXT)),
)
_UNMERGED: Final = Shape(
    entity_id=UUID.of("from_id"),
    separated_from=UUID.of("to_id"),
    observations_returned=COUNT.of("observations"),
    unmerged_at=INSTANT.of("at"),
)
_DUPLICATES: Final = Shape(pairs=array(DUPLICATE), total=COUNT, truncated=BOOLEAN)


async def _retrieve(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    merged = bool(arguments["include_merged"])
    query = EntityQuery(
        entity_type=optional_text(arguments, "entity_type"),
        include_merged=merged,
        **page_of(arguments),
    )
    page = await list_entities(canon, caller, arguments.get("user_id"), query)
    if arguments["include_snapshots"]:
        shown = await with_snapshots(canon, caller, page.items)
    else:
        shown = [ENTITY(each) for each in page.items]
    return {"entities": shown, "total": page.total, "excluded_merged": not merged}


async def _find(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found = await find_by_identifier(
        canon,
        caller,
        text_of(arguments, "identifier"),
        optional_text(arguments, "entity_type"),
    )
    return {
        "entities": await with_snapshots(canon, caller, found.entities),
        "total": len(found.entities),
        "truncated": found.truncated,
    }


async def _merge(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    reason = optional_text(arguments, "merge_reason", TEXT_MAX)
    done = await merge_records(
        canon,
        caller,
        arguments["user_id"],
        from_id=entity_of(arguments, "from_entity_id"),
        to_id=entity_of(arguments, "to_entity_id"),
        reason=reason or "",
    )
    return _MERGED(done, merge_reason=reason)


async def _unmerge(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    done = await unmerge_records(
        canon,
        caller,
        arguments["user_id"],
        entity_of(arguments),
        reason=optional_text(arguments, "reason", TEXT_MAX) or "",
    )
    return _UNMERGED(done)


async def _duplicates(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    about = entity_of(arguments) if arguments.get("entity_id") is not None else None
    query = DuplicateQuery(
        entity_id=about,
        entity_type=optional_text(arguments, "entity_type"),
        **page_of(arguments),
    )
    return _DUPLICATES(await possible_duplicates(canon, caller, query))


async def _timeline(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
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
        **page_of(arguments),
    )
    page = await list_timeline(canon, caller, query)
    entities = await survivors_of(canon, caller, page.items)
    current = current_events(entities) if query.superseded else ()
    events = [
        present_event(e, entities, superseded=e.id not in current if query.superseded else None)
        for e in page.items
    ]
    return {"events": events, "total": page.total}


RUNS: Final[dict[str, Run]] = {
    "retrieve_entities": _retrieve,
    "get_entity_by_identifier": _find,
    "merge_entities": _merge,
    "unmerge_entities": _unmerge,
    "list_possible_duplicates": _duplicates,
    "list_timeline_events": _timeline,
}
