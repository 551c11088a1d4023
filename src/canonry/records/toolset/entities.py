"""Entity tools: finding, merging and unmerging entities, and what happens to them by date."""

from typing import Final

from canonry.canon.session.account import account_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    INSTANT,
    TEXT,
    UUID,
    WORD,
    Shape,
    array,
    given,
    optional,
)
from canonry.gateway.tool import Arguments, Reply, Run
from canonry.records.toolset.arguments import (
    TEXT_MAX,
    entity_of,
    moment_of,
    optional_text,
    page_of,
    source_of,
    text_of,
)
from canonry.records.toolset.rows import next_offset, rows_of
from canonry.records.toolset.shapes import DUPLICATE, KEY, WARNING, present_event
from canonry.records.toolset.snapshots import fields_of, keys_of
from canonry.records.usecases.identity.edit_aliases import AliasEdit, edit_aliases
from canonry.records.usecases.identity.find_by_identifier import find_by_identifier
from canonry.records.usecases.identity.merge_records import merge_records, unmerge_records
from canonry.records.usecases.identity.possible_duplicates import (
    DuplicateQuery,
    possible_duplicates,
)
from canonry.records.usecases.identity.tell_evidence import evidence_for
from canonry.records.usecases.list_records import (
    EntityQuery,
    TimelineQuery,
    current_events,
    list_entities,
    list_timeline,
    survivors_of,
)
from canonry.values.errors import InvalidInput
from canonry.values.ids import SourceId

_MERGED: Final = Shape(
    from_entity_id=UUID.of("from_id"),
    to_entity_id=UUID.of("to_id"),
    observations_moved=COUNT.of("observations"),
    merged_at=INSTANT.of("at"),
    merge_reason=optional(given(TEXT)),
    warnings=optional(array(WARNING).of(lambda done: done.warnings or None)),
)
_UNMERGED: Final = Shape(
    entity_id=UUID.of("from_id"),
    separated_from=UUID.of("to_id"),
    observations_returned=COUNT.of("observations"),
    unmerged_at=INSTANT.of("at"),
)
_EDITED: Final = Shape(
    entity_id=UUID.of("id"), field=given(WORD), values=given(array(TEXT)), keys=given(array(KEY))
)
_DUPLICATES: Final = Shape(pairs=given(array(DUPLICATE)), total=COUNT, truncated=BOOLEAN)


async def _retrieve(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    merged = bool(arguments["include_merged"])
    query = EntityQuery(
        entity_type=optional_text(arguments, "entity_type"),
        include_merged=merged,
        **page_of(arguments),
    )
    page = await list_entities(canon, caller, arguments.get("user_id"), query)
    snapshots = arguments.get("include_snapshots")
    return {
        "entities": await rows_of(canon, caller, page.items, snapshots=snapshots),
        "total": page.total,
        "excluded_merged": not merged,
        **next_offset(query.offset, len(page.items), page.total),
    }


async def _find(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found = await find_by_identifier(
        canon,
        caller,
        text_of(arguments, "identifier"),
        optional_text(arguments, "entity_type"),
    )
    page, total = page_of(arguments), len(found.entities)
    shown = found.entities[page["offset"] : page["offset"] + page["limit"]]
    snapshots = arguments.get("include_snapshots")
    return {
        "entities": await rows_of(
            canon, caller, shown, snapshots=snapshots, statuses=found.statuses
        ),
        "total": total,
        "truncated": found.truncated,
        **next_offset(page["offset"], len(shown), total),
    }


async def _merge(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    reason = optional_text(arguments, "merge_reason", TEXT_MAX)
    done = await merge_records(
        canon,
        caller,
        arguments.get("user_id"),
        from_id=entity_of(arguments, "from_entity_id"),
        to_id=entity_of(arguments, "to_entity_id"),
        reason=reason or "",
    )
    return _MERGED(done, merge_reason=reason)


async def _unmerge(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    done = await unmerge_records(
        canon,
        caller,
        arguments.get("user_id"),
        entity_of(arguments),
        reason=optional_text(arguments, "reason", TEXT_MAX) or "",
    )
    return _UNMERGED(done)


async def _edit(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    edit = AliasEdit(
        entity_id=entity_of(arguments),
        field=arguments["field"],
        add=arguments.get("add") or (),
        remove=arguments.get("remove") or (),
    )
    entity = await edit_aliases(canon, caller, arguments.get("user_id"), edit)
    fields = (await fields_of(canon, caller, (entity,)))[entity.id]
    keys = await keys_of(canon, caller, entity)
    return _EDITED(entity, field=edit.field, values=fields.get(edit.field, ()), keys=keys)


async def _duplicates(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    about = entity_of(arguments) if arguments.get("entity_id") is not None else None
    query = DuplicateQuery(
        entity_id=about,
        entity_type=optional_text(arguments, "entity_type"),
        **page_of(arguments),
    )
    found = await possible_duplicates(canon, caller, query)
    pairs = await evidence_for(canon, account_of(caller), found.pairs)
    return _DUPLICATES(found, pairs=pairs)


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
    "edit_aliases": _edit,
    "list_possible_duplicates": _duplicates,
    "list_timeline_events": _timeline,
}
