"""Tools that search and sum records, review unclear values, and manage schemas."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import readable_spaces, require_account, within_account
from canonry.gateway.replies import Shape, array, enum, given_field
from canonry.gateway.tool import Reply, Run
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.truth_types import type_named
from canonry.records.domain import queries
from canonry.records.toolset import shapes
from canonry.records.toolset.contract import entries, published, reply_of, shape_in, shape_of
from canonry.records.usecases.corrections import list_unclear, settle_values
from canonry.records.usecases.queries import search_records, summarise_records
from canonry.records.usecases.schemas import NewSchema, list_schemas, register_schema
from canonry.records.usecases.withdrawing import withdraw_source

MATCH: Final = shape_of("record_match")
HIT: Final = Shape(
    **shapes.ENTITY.fields,
    by=given_field(enum("words", "likeness", "fields")),
    matches=given_field(array(MATCH)),
)
PASSAGE: Final = shape_of(
    "passage",
    title=lambda hit: hit.source.file_name or hit.source.title or None,
    by=lambda hit: "words" if hit.by_words else "likeness",
)
SUM: Final = shape_of("sum")
LEFT_OUT: Final = shape_of("left_out")


def _read_selection(asked: Mapping[str, Any]) -> queries.RecordSelection:
    return queries.RecordSelection(
        entity_type=asked["entity_type"],
        conditions=asked["filters"],
        dates=(asked["after_date"], asked["before_date"]),
        amounts=(asked["min_amount"], asked["max_amount"]),
    )


async def _search_records(
    canon: Canon, caller: Caller, *, text: str | None, offset: int, limit: int, **asked: Any
) -> Reply:
    page = {"limit": limit, "offset": offset}
    found = await search_records(canon, caller, text, _read_selection(asked), **page)
    rows = await shapes.rows_of(canon, caller, [hit.entity for hit in found.hits], snapshots=None)
    hits = []
    for row, hit in zip(rows, found.hits, strict=True):
        by = "likeness" if not hit.by_words else "fields" if text is None else "words"
        hits.append({**row, "by": by, "matches": [MATCH(each) for each in hit.matches]})
    more = shapes.next_offset(offset, len(hits), found.total)
    texts = {"passages": [PASSAGE(each) for each in found.texts]} if found.texts else {}
    counts = {"total": found.total, **more, "degraded": list(found.degraded)}
    return {"entities": hits, **texts, **counts}


async def _sum_records(
    canon: Canon,
    caller: Caller,
    *,
    summing: queries.SumRequest,
    offset: int,
    limit: int,
    most: int,
    **selected: Any,
) -> Reply:
    selection = _read_selection(selected)
    entity_type, asked, done = await summarise_records(canon, caller, selection, summing)
    shown, adds = done.groups[offset : offset + limit], asked.field is not None
    named: shapes.Json = {"field": asked.field, "date_field": asked.date_field}
    total = len(done.groups)
    return {
        "entity_type": entity_type,
        **{name: value for name, value in named.items() if value is not None},
        "groups": [_show_sum(each, most, adds=adds) for each in shown],
        "totals": [_show_sum(each, 0, adds=adds) for each in done.totals],
        "total": total,
        **shapes.next_offset(offset, len(shown), total),
        "left_out": [
            LEFT_OUT(None, field=e.name, reason=e.reason, **_show_ids(e, most))
            for e in done.left_out
        ],
    }


def _show_sum(group: queries.Group, most: int, *, adds: bool) -> shapes.Json:
    added = queries.format_sum(group.sum) if adds else None
    return SUM(None, group=group.key, sum=added, **_show_ids(group, most))


def _show_ids(records: queries.Group | queries.LeftOutRecords, most: int) -> dict[str, Any]:
    """Return the number of records, and the ids of the first ones."""
    count, shown = len(records.ids), records.ids[:most]
    return {"count": count, "entity_ids": shown, "more_ids": count - len(shown) or None}


_EXAMPLE: Final = shape_in(
    "unclear_example", published()["$defs"]["unclear"]["properties"]["examples"]["items"]
)
OPEN: Final = shape_of("unclear", examples=array(_EXAMPLE))
_LISTED: Final = reply_of("list_unclear_values")
_SETTLED: Final = reply_of("settle_unclear_values")
_WITHDRAWN: Final = reply_of(
    "withdraw_source", total_entities=lambda done: len(done.gone) + len(done.changed)
)


async def _list_unclear(canon: Canon, caller: Caller, *, entity_type: str | None) -> Reply:
    found, more = await list_unclear(canon, caller, entity_type)
    return _LISTED(None, unclear=found, truncated=more)


async def _withdraw_source(
    canon: Canon, caller: Caller, *, user_id: str | None, reason: str | None, **asked: Any
) -> Reply:
    account, inner = require_account(caller, user_id), within_account(caller)
    reason = reason or "withdrawn by the user"
    done = await withdraw_source(canon, inner, account, reason=reason, **asked)
    return _WITHDRAWN(done, withdrawn=not asked["dry_run"])


_LISTED_MAX: Final = 1_000  # the most schemas in a list; `total` counts all
_FIELDS_SHOWN: Final = 6  # the most fields in the row of a type
_TYPE: Final = shape_in(
    "listed_type", entries()["list_entity_types"]["output"]["properties"]["entity_types"]["items"]
)


async def list_types(
    canon: Canon,
    caller: Caller,
    *,
    entity_type: str | None = None,
    include_fields: bool = False,
    limit: int,
    offset: int = 0,
) -> Reply:
    """List the types of the caller's entities, those with the most entities first."""
    whole = entity_type is not None or include_fields
    counts = await canon.state.entity_types(await readable_spaces(canon, caller))
    schemas = {each.entity_type: each for each in await list_schemas(canon, caller, None)}
    names = sorted(schemas.keys() | counts.keys(), key=lambda name: (-counts.get(name, 0), name))
    if entity_type is not None:
        names = [name for name in names if name == type_named(entity_type)]
    listed = [
        _show_type(name, schemas.get(name), counts.get(name, 0), whole=whole)
        for name in names[offset : offset + limit]
    ]
    more = shapes.next_offset(offset, len(listed), len(names))
    return {"entity_types": listed, "total": len(names), **more}


def _show_type(name: str, schema: EntitySchema | None, count: int, *, whole: bool) -> shapes.Json:
    """Return the row of a type with its identifying fields; none if it has no schema."""
    if schema is None:
        label = name.replace("_", " ").capitalize()
        known: shapes.Json = {"entity_type": name, "schema_version": shapes.UNRULED, "label": label}
        return _TYPE(None, **known, fields=(), entity_count=count, field_count=0)
    fields = schema.fields if whole else shapes.identifying_fields(schema)[:_FIELDS_SHOWN]
    return _TYPE(schema, fields=fields, entity_count=count, field_count=len(schema.fields))


async def _register_schema(
    canon: Canon, caller: Caller, *, user_id: str | None, new: NewSchema
) -> Reply:
    schema, registered = await register_schema(canon, caller, user_id, new)
    return {
        "entity_type": schema.entity_type,
        "schema_version": schema.version,
        "registered": registered,
        "schema": shapes.SCHEMA(schema),
    }


async def _list_schemas(canon: Canon, caller: Caller, *, entity_type: str | None) -> Reply:
    found = await list_schemas(canon, caller, entity_type)
    return {"schemas": [shapes.SCHEMA(each) for each in found[:_LISTED_MAX]], "total": len(found)}


RUNS: Final[dict[str, Run]] = shapes.runs_of(
    withdraw_source=_withdraw_source,
    search_records=_search_records,
    summarise_records=_sum_records,
    list_unclear_values=_list_unclear,
    settle_unclear_values=(settle_values, _SETTLED),
    list_entity_types=list_types,
    register_entity_schema=_register_schema,
    list_entity_schemas=_list_schemas,
)
