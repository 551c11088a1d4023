"""Tools that ask records, and review unclear values."""

from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    OBJECT,
    TEXT,
    UUID,
    Shape,
    array,
    enum,
    given,
    nullable,
    optional,
)
from canonry.gateway.tool import Arguments, Reply, Run
from canonry.records.domain.asking import (
    Condition,
    Group,
    LeftOut,
    Period,
    RecordSelection,
    Summing,
    written,
)
from canonry.records.toolset.shapes import (
    ANYTHING,
    ENTITY,
    TEXT_MAX,
    Json,
    first_of,
    next_offset,
    optional_text,
    page_of,
    rows_of,
    source_of,
    text_of,
)
from canonry.records.usecases.asking import search_records, summarise_records
from canonry.records.usecases.review import list_unclear, settle_values
from canonry.records.usecases.withdrawing import withdraw_source

MATCH: Final = Shape(
    field=optional(TEXT),
    passage_id=optional(UUID),
    observation_id=optional(UUID),
    excerpt=TEXT,
)
HIT: Final = Shape(
    **ENTITY.fields,
    by=given(enum("words", "likeness", "fields")),
    matches=given(array(MATCH)),
)
PASSAGE: Final = Shape(
    source_id=UUID.of("source.id"),
    title=optional(TEXT.of(lambda hit: hit.source.file_name or hit.source.title or None)),
    passage_id=UUID.of("snippet.id"),
    page=optional(COUNT.of("snippet.page")),
    section=optional(TEXT.of("snippet.section")),
    index=COUNT.of("snippet.index"),
    by=enum("words", "likeness").of(lambda hit: "words" if hit.by_words else "likeness"),
    quote=TEXT,
    entity_ids=array(UUID).of("about"),
)
_COUNTED: Final = Shape(count=COUNT, entity_ids=array(UUID), more_ids=optional(COUNT))
SUM: Final = Shape(group=OBJECT, sum=optional(TEXT), **_COUNTED.fields)
LEFT_OUT: Final = Shape(field=TEXT, reason=TEXT, **_COUNTED.fields)


def _selection(arguments: Arguments) -> RecordSelection:
    return RecordSelection(
        entity_type=optional_text(arguments, "entity_type"),
        conditions=tuple(
            Condition(
                field=text_of(each, "field"),
                equals=each.get("equals"),
                contains=optional_text(each, "contains", TEXT_MAX),
                low=each.get("from"),
                high=each.get("to"),
            )
            for each in arguments.get("filters") or ()
        ),
        dates=(optional_text(arguments, "after_date"), optional_text(arguments, "before_date")),
        amounts=(arguments.get("min_amount"), arguments.get("max_amount")),
    )


async def _search(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    text, page = optional_text(arguments, "query", TEXT_MAX), page_of(arguments)
    found = await search_records(canon, caller, text, _selection(arguments), **page)
    rows = await rows_of(canon, caller, [hit.entity for hit in found.hits], snapshots=None)
    hits = []
    for row, hit in zip(rows, found.hits, strict=True):
        by = "likeness" if not hit.by_words else "fields" if text is None else "words"
        hits.append({**row, "by": by, "matches": [MATCH(each) for each in hit.matches]})
    more = next_offset(page["offset"], len(hits), found.total)
    texts = {"passages": [PASSAGE(each) for each in found.texts]} if found.texts else {}
    told = {"total": found.total, **more, "degraded": list(found.degraded)}
    return {"entities": hits, **texts, **told}


async def _summarise(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    period, page = arguments.get("period"), page_of(arguments)
    asked = Summing(
        field=optional_text(arguments, "field"),
        group_by=tuple(arguments.get("group_by") or ()),
        period=None if period is None else Period(period),
        date_field=optional_text(arguments, "date_field"),
    )
    done = await summarise_records(canon, caller, _selection(arguments), asked)
    shown = done.summed.groups[page["offset"] : page["offset"] + page["limit"]]
    most, adds = int(arguments["max_ids"]), done.asked.field is not None
    named: Json = {"field": done.asked.field, "date_field": done.asked.date_field}
    total = len(done.summed.groups)
    return {
        "entity_type": done.entity_type,
        **{name: value for name, value in named.items() if value is not None},
        "groups": [_sum(each, most, adds=adds) for each in shown],
        "totals": [_sum(each, 0, adds=adds) for each in done.summed.totals],
        "total": total,
        **next_offset(page["offset"], len(shown), total),
        "left_out": [
            LEFT_OUT(None, field=e.name, reason=e.reason, **_counted(e, most))
            for e in done.summed.left_out
        ],
    }


def _sum(group: Group, most: int, *, adds: bool) -> Json:
    added = written(group.sum) if adds else None
    return SUM(None, group=group.key, sum=added, **_counted(group, most))


def _counted(records: Group | LeftOut, most: int) -> dict[str, Any]:
    """How many records there are, and the ids of the first of them."""
    count, shown = len(records.ids), records.ids[:most]
    return {"count": count, "entity_ids": shown, "more_ids": count - len(shown) or None}


RUNS: Final[dict[str, Run]] = {
    "search_records": _search,
    "summarise_records": _summarise,
}


EXAMPLE: Final = Shape(
    entity_id=UUID.of("entity.id"),
    value=ANYTHING.of("unclear.fragment.value"),
    readings=OBJECT.of("unclear.readings"),
)
OPEN: Final = Shape(
    source_id=nullable(UUID),
    entity_type=TEXT,
    field=TEXT.of("name"),
    reason=TEXT,
    count=COUNT,
    examples=array(EXAMPLE),
)
_LISTED: Final = Shape(unclear=given(array(OPEN)), truncated=given(BOOLEAN))
_SETTLED: Final = Shape(settled=COUNT, left=COUNT)
_WITHDRAWN: Final = Shape(
    withdrawn=given(BOOLEAN),
    sources=first_of(UUID, "sources"),
    observations=COUNT,
    relationships=COUNT.of("relations"),
    gone=first_of(UUID, "gone"),
    changed=first_of(UUID, "changed"),
    total_entities=COUNT.of(lambda done: len(done.gone) + len(done.changed)),
)


async def _list(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found, more = await list_unclear(canon, caller, optional_text(arguments, "entity_type"))
    return _LISTED(None, unclear=found, truncated=more)


async def _settle(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    done = await settle_values(
        canon,
        caller,
        arguments.get("user_id"),
        source_id=source_of(arguments),
        name=text_of(arguments, "field"),
        notation=arguments["read_as"],
    )
    return _SETTLED(done)


async def _withdraw(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    dry_run = bool(arguments["dry_run"])
    done = await withdraw_source(
        canon,
        caller,
        arguments.get("user_id"),
        source_of(arguments),
        reason=optional_text(arguments, "reason") or "withdrawn by the user",
        dry_run=dry_run,
    )
    return _WITHDRAWN(done, withdrawn=not dry_run)


REVIEW_RUNS: Final[dict[str, Run]] = {
    "list_unclear_values": _list,
    "settle_unclear_values": _settle,
    "withdraw_source": _withdraw,
}
"""By the names of their tools."""
