"""Tools that search and sum records, review unclear values, and manage schemas."""

from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import readable_spaces, require_account, within_account
from canonry.gateway.replies import Shape, array, enum, given
from canonry.gateway.tool import Arguments, Reply, Run
from canonry.log.schemas.schemas import EntitySchema, FieldSpec, FieldType
from canonry.log.schemas.truth_types import type_named
from canonry.records.domain.asking import (
    Condition,
    Group,
    LeftOut,
    Period,
    RecordSelection,
    Summing,
    written,
)
from canonry.records.toolset import shapes
from canonry.records.toolset.contract import entries, published, reply_of, shape_in, shape_of
from canonry.records.usecases.asking import search_records, summarise_records
from canonry.records.usecases.corrections import list_unclear, settle_values
from canonry.records.usecases.schemas import NewSchema, list_schemas, register_schema
from canonry.records.usecases.withdrawing import withdraw_source

MATCH: Final = shape_of("record_match")
HIT: Final = Shape(
    **shapes.ENTITY.fields,
    by=given(enum("words", "likeness", "fields")),
    matches=given(array(MATCH)),
)
PASSAGE: Final = shape_of(
    "passage",
    title=lambda hit: hit.source.file_name or hit.source.title or None,
    by=lambda hit: "words" if hit.by_words else "likeness",
)
SUM: Final = shape_of("sum")
LEFT_OUT: Final = shape_of("left_out")


def _selection(arguments: Arguments) -> RecordSelection:
    return RecordSelection(
        entity_type=shapes.optional_text(arguments, "entity_type"),
        conditions=tuple(
            Condition(
                field=shapes.text_of(each, "field"),
                equals=each.get("equals"),
                contains=shapes.optional_text(each, "contains", shapes.TEXT_MAX),
                low=each.get("from"),
                high=each.get("to"),
            )
            for each in arguments.get("filters") or ()
        ),
        dates=(
            shapes.optional_text(arguments, "after_date"),
            shapes.optional_text(arguments, "before_date"),
        ),
        amounts=(arguments.get("min_amount"), arguments.get("max_amount")),
    )


async def _search(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    text, page = (
        shapes.optional_text(arguments, "query", shapes.TEXT_MAX),
        shapes.page_of(arguments),
    )
    found = await search_records(canon, caller, text, _selection(arguments), **page)
    rows = await shapes.rows_of(canon, caller, [hit.entity for hit in found.hits], snapshots=None)
    hits = []
    for row, hit in zip(rows, found.hits, strict=True):
        by = "likeness" if not hit.by_words else "fields" if text is None else "words"
        hits.append({**row, "by": by, "matches": [MATCH(each) for each in hit.matches]})
    more = shapes.next_offset(page["offset"], len(hits), found.total)
    texts = {"passages": [PASSAGE(each) for each in found.texts]} if found.texts else {}
    told = {"total": found.total, **more, "degraded": list(found.degraded)}
    return {"entities": hits, **texts, **told}


async def _summarise(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    period, page = arguments.get("period"), shapes.page_of(arguments)
    asked = Summing(
        field=shapes.optional_text(arguments, "field"),
        group_by=tuple(arguments.get("group_by") or ()),
        period=None if period is None else Period(period),
        date_field=shapes.optional_text(arguments, "date_field"),
    )
    entity_type, asked, done = await summarise_records(canon, caller, _selection(arguments), asked)
    shown = done.groups[page["offset"] : page["offset"] + page["limit"]]
    most, adds = int(arguments["max_ids"]), asked.field is not None
    named: shapes.Json = {"field": asked.field, "date_field": asked.date_field}
    total = len(done.groups)
    return {
        "entity_type": entity_type,
        **{name: value for name, value in named.items() if value is not None},
        "groups": [_sum(each, most, adds=adds) for each in shown],
        "totals": [_sum(each, 0, adds=adds) for each in done.totals],
        "total": total,
        **shapes.next_offset(page["offset"], len(shown), total),
        "left_out": [
            LEFT_OUT(None, field=e.name, reason=e.reason, **_counted(e, most))
            for e in done.left_out
        ],
    }


def _sum(group: Group, most: int, *, adds: bool) -> shapes.Json:
    added = written(group.sum) if adds else None
    return SUM(None, group=group.key, sum=added, **_counted(group, most))


def _counted(records: Group | LeftOut, most: int) -> dict[str, Any]:
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
    "withdraw_source",
    total_entities=lambda done: len(done.gone) + len(done.changed),
)


async def _list(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found, more = await list_unclear(canon, caller, shapes.optional_text(arguments, "entity_type"))
    return _LISTED(None, unclear=found, truncated=more)


async def _settle(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    done = await settle_values(
        canon,
        caller,
        arguments.get("user_id"),
        source_id=shapes.source_of(arguments),
        name=shapes.text_of(arguments, "field"),
        notation=arguments["read_as"],
    )
    return _SETTLED(done)


async def _withdraw(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    dry_run = bool(arguments["dry_run"])
    done = await withdraw_source(
        canon,
        within_account(caller),
        require_account(caller, arguments.get("user_id")),
        shapes.source_of(arguments),
        reason=shapes.optional_text(arguments, "reason") or "withdrawn by the user",
        dry_run=dry_run,
    )
    return _WITHDRAWN(done, withdrawn=not dry_run)


_LISTED_MAX: Final = 1_000
"""The most schemas in a list; `total` counts all."""
_FIELDS_SHOWN: Final = 6
"""The most fields in the row of a type."""
_TYPE: Final = shape_in(
    "listed_type",
    entries()["list_entity_types"]["output"]["properties"]["entity_types"]["items"],
)


async def list_types(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """List the types of the caller's entities, those with the most entities first."""
    wanted = shapes.optional_text(arguments, "entity_type")
    whole = wanted is not None or bool(arguments["include_fields"])
    page = shapes.page_of(arguments)
    counts = await canon.state.entity_types(await readable_spaces(canon, caller))
    schemas = {each.entity_type: each for each in await list_schemas(canon, caller, None)}
    names = sorted(schemas.keys() | counts.keys(), key=lambda name: (-counts.get(name, 0), name))
    if wanted is not None:
        names = [name for name in names if name == type_named(wanted)]
    listed = [
        _row(name, schemas.get(name), counts.get(name, 0), whole=whole)
        for name in names[page["offset"] : page["offset"] + page["limit"]]
    ]
    more = shapes.next_offset(page["offset"], len(listed), len(names))
    return {"entity_types": listed, "total": len(names), **more}


def _row(name: str, schema: EntitySchema | None, count: int, *, whole: bool) -> shapes.Json:
    """Return the row of a type with its identifying fields; none if it has no schema."""
    if schema is None:
        label = name.replace("_", " ").capitalize()
        known: shapes.Json = {"entity_type": name, "schema_version": shapes.UNRULED, "label": label}
        return _TYPE(None, **known, fields=(), entity_count=count, field_count=0)
    fields = schema.fields if whole else shapes.telling(schema)[:_FIELDS_SHOWN]
    return _TYPE(schema, fields=fields, entity_count=count, field_count=len(schema.fields))


async def _register(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    new = NewSchema(
        entity_type=shapes.text_of(arguments, "entity_type"),
        fields=[
            FieldSpec(
                name=name,
                type=FieldType(spec["type"]),
                required=bool(spec.get("required", False)),
                aliases=tuple(spec.get("aliases") or ()),
                policy=spec.get("merge_policy") or "last_write",
                event_type=spec.get("event_type"),
            )
            for name, spec in arguments["fields"].items()
        ],
        identity=arguments.get("identity") or (),
        label=shapes.optional_text(arguments, "label"),
    )
    schema, registered = await register_schema(canon, caller, arguments.get("user_id"), new)
    return {
        "entity_type": schema.entity_type,
        "schema_version": schema.version,
        "registered": registered,
        "schema": shapes.SCHEMA(schema),
    }


async def _list_schemas(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found = await list_schemas(canon, caller, shapes.optional_text(arguments, "entity_type"))
    return {"schemas": [shapes.SCHEMA(each) for each in found[:_LISTED_MAX]], "total": len(found)}


RUNS: Final[dict[str, Run]] = {
    "search_records": _search,
    "summarise_records": _summarise,
    "list_unclear_values": _list,
    "settle_unclear_values": _settle,
    "withdraw_source": _withdraw,
    "list_entity_types": list_types,
    "register_entity_schema": _register,
    "list_entity_schemas": _list_schemas,
}
