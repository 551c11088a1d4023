"""Tools that ingest, interpret and reinterpret files and records."""

import json
from collections.abc import Mapping
from typing import Any, Final

from canonry.canon.session import lookup
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.limits import Limits, checked_text, measure_arguments
from canonry.gateway.replies import OBJECT, Shape, array, given_field
from canonry.gateway.tool import Arguments, Reply, Run
from canonry.log.items.entities import Entity
from canonry.log.items.sources import Source, alias_of
from canonry.records.toolset import shapes
from canonry.records.toolset.contract import SHOWN_MAX, reply_of, shape_of
from canonry.records.toolset.entities import fields_of
from canonry.records.usecases.files import given_file, read_local, sign_url
from canonry.records.usecases.identity import evidence_for
from canonry.records.usecases.ingest_file import (
    FileIngested,
    attach_file,
    entities_of,
    ingest_file,
    ingest_properties,
    reinterpret_source,
)
from canonry.records.usecases.record_source import RecordOutcome, ingest_records
from canonry.values.errors import InvalidInput

_PATH_MAX: Final = 4_096  # PATH_MAX of Linux
_INNER: Final = Limits(any_number=True)


shape_of("recorded", entity_alias=lambda each: alias_of(each.entity_id))
shape_of("member")
_INGEST: Final = reply_of("ingest")
_INGESTED: Final = Shape(
    **_INGEST.some_fields(
        "source_id", "content_hash", "file_size", "deduplicated", "interpretation"
    )
)
_FILE: Final = Shape(**_INGEST.some_fields("members"))
"""The files within a file: each is a source of its own, or has the reason as `problem`."""
_RECORDED: Final = Shape(
    **_INGEST.some_fields("entities", "entities_total", "warnings", "possible_duplicates"),
    **_INGEST.some_fields("observations_added"),
)
"""The outcome of records: the first hundred entities, warnings and possible duplicates."""
_UPLOADED: Final = reply_of(
    "upload_file",
    file_url=lambda done: done.source.files[0] if done.source.files else "",
    entity_snapshots=given_field(array(OBJECT)),
    warnings=lambda done: () if done.recorded is None else done.recorded.warnings,
)
_LINK: Final = reply_of("get_file_url")


async def _ingest_any(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    as_file = arguments.get("file_content") is not None
    if as_file == (arguments.get("entities") is not None):
        message = "Give either `file_content` with `mime_type`, or `entities`."
        raise InvalidInput("ingest.form", message, path="/entities")
    return await (_ingest_file if as_file else _ingest_records)(canon, caller, arguments)


async def _ingest_records(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    origin: Mapping[str, Any] = arguments.get("provenance") or {}
    recorded = await ingest_records(
        canon,
        caller,
        arguments.get("user_id"),
        arguments["entities"],
        priority=int(arguments.get("source_priority", 100)),
        observed_at=None
        if (extracted_at := origin.get("extracted_at")) is None
        else shapes.read_instant(extracted_at, "/provenance/extracted_at"),
        provenance=origin,
    )
    head = _INGESTED(recorded, deduplicated=recorded.again)
    return {**head, **await _show_recorded(canon, caller, recorded)}


async def _show_recorded(canon: Canon, caller: Caller, recorded: RecordOutcome) -> shapes.Json:
    doubtful = await evidence_for(canon, lookup.account_of(caller), recorded.duplicates)
    return _RECORDED(recorded, possible_duplicates=doubtful)


async def _ingest_file(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    account = lookup.require_account(caller, arguments.get("user_id"))
    if arguments.get("mime_type") is None:
        message = "Name the media type of the file in `mime_type`, such as application/pdf."
        raise InvalidInput("file.mime-type", message, path="/mime_type")
    name = arguments.get("original_filename")
    file = given_file(
        arguments["file_content"],
        checked_text(arguments["mime_type"], shapes.NAME_MAX, path="/mime_type"),
        None if name is None else checked_text(name, _PATH_MAX, path="/original_filename"),
    )
    done = await ingest_file(
        canon,
        caller,
        account,
        file,
        interpret=bool(arguments["interpret"]),
        config=arguments.get("interpretation_config"),
    )
    head = _INGESTED(done, file_size=done.source.size, deduplicated=done.deduplicated)
    head |= _FILE(done)
    if done.recorded is None:
        return {**head, "observations_added": done.restated}
    return {**head, **await _show_recorded(canon, caller, done.recorded)}


async def _upload_file(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    account = lookup.account_of(caller)
    other = None
    if (named := arguments.get("source_material_id")) is not None:
        wanted = shapes.source_id_in(named, "/source_material_id")
        other = (await lookup.require_item(canon, lookup.within_account(caller), Source, wanted)).id
    properties = _read_properties(arguments)
    path = checked_text(arguments["file_path"], _PATH_MAX, path="/file_path")
    file = await read_local(canon, path)
    bucket = checked_text(arguments["bucket"], shapes.NAME_MAX, path="/bucket")
    if properties is None:
        done = await ingest_file(canon, caller, account, file, bucket=bucket)
    else:
        done = await ingest_properties(canon, caller, account, file, properties, bucket=bucket)
    if other is not None and done.stored is not None:
        await attach_file(canon, caller, account, other, done.stored)
    return _UPLOADED(done, entity_snapshots=await _show_snapshots(canon, caller, done))


async def _show_snapshots(
    canon: Canon, caller: Caller, done: FileIngested
) -> list[shapes.Json] | None:
    if done.run is None:
        return None
    ids = await entities_of(canon, lookup.account_of(caller), done)
    entities = await lookup.require_readable(canon, caller, Entity, ids[:SHOWN_MAX])
    fields = await fields_of(canon, caller, entities)
    distinct = {each.id: each for each in entities}
    return [
        {"entity_id": e.id, "entity_type": e.entity_type, "snapshot": dict(fields[e.id])}
        for e in distinct.values()
    ]


def _read_properties(arguments: Arguments) -> Mapping[str, Any] | None:
    text = arguments.get("properties")
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("entity_type", ""), str):
        message = (
            "`properties` must be the text of a JSON object; its `entity_type` must be a text."
        )
        raise InvalidInput("upload.properties", message, path="/properties")
    measure_arguments(
        {"properties": value}, _INNER
    )  # the text that it came in could not be checked
    return value


async def _reinterpret_source(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    account = lookup.account_of(caller)
    config = arguments["interpretation_config"]
    source_id = shapes.source_id_in(arguments["source_id"], "/source_id")
    done = await reinterpret_source(canon, caller, account, source_id, config)
    warnings = done.recorded.warnings if done.recorded else ()
    return {
        **(shapes.RUN(done.run) if done.run else {}),
        "source_id": done.source.id,
        "deduplicated": done.recorded is None,
        "warnings": [shapes.WARNING(each) for each in warnings[:SHOWN_MAX]],
    }


async def _sign_url(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    path = checked_text(arguments["file_path"], _PATH_MAX, path="/file_path")
    seconds = int(arguments["expires_in"])
    return _LINK(await sign_url(canon, lookup.account_of(caller).user_id, path, seconds))


RUNS: Final[dict[str, Run]] = {
    "ingest": _ingest_any,
    "upload_file": _upload_file,
    "get_file_url": _sign_url,
    "reinterpret": _reinterpret_source,
}
