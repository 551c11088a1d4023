"""Ingestion tools: files and records come in, are interpreted, and interpreted again."""

import json
from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.errors import InvalidInput
from canonry.domain.things.entities import Entity
from canonry.domain.time import render_instant
from canonry.domain.truth.accounts import alias_of
from canonry.gateway.limits import Limits, measure
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.truth.arguments import (
    moment_of,
    optional_text,
    source_of,
    text_of,
    whole_of,
)
from canonry.toolsets.truth.contract import truth_tool
from canonry.toolsets.truth.present import (
    Json,
    present_duplicate,
    present_run,
    present_warnings,
)
from canonry.toolsets.truth.snapshots import fields_of
from canonry.usecases.kernel.account import account_of, require_account, require_readable
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.truth.ingest_file import (
    FileIngested,
    attach_file,
    entities_of,
    ingest_file,
    ingest_properties,
    reinterpret_source,
    require_source,
)
from canonry.usecases.truth.ingest_records import GivenRecords, ingest_records
from canonry.usecases.truth.record_source import Recorded
from canonry.usecases.truth.sign_url import sign_url
from canonry.usecases.truth.store_file import given_file, read_local

_SHOWN_MAX: Final = 100
_PATH_MAX: Final = 4_096
_INNER: Final = Limits(any_number=True)
_OTHER: Final = "source_material_id"


async def _ingest(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    as_file = arguments.get("file_content") is not None
    if as_file == (arguments.get("entities") is not None):
        message = "give either file_content with mime_type, or entities"
        raise InvalidInput("ingest.form", message, path="/entities")
    return await (_file if as_file else _records)(canon, caller, arguments)


async def _records(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    origin: Mapping[str, Any] = arguments.get("provenance") or {}
    seen = moment_of(origin, "extracted_at", inside="/provenance")
    given = GivenRecords(
        entities=arguments["entities"],
        priority=int(arguments.get("source_priority", 100)),
        observed_at=seen,
        provenance=origin,
    )
    recorded = await ingest_records(canon, caller, arguments["user_id"], given)
    return {
        "source_id": recorded.source.id,
        "content_hash": recorded.source.content_hash,
        "deduplicated": recorded.again,
        "interpretation": present_run(recorded.run),
        **_present(recorded),
    }


async def _file(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    account = require_account(caller, arguments["user_id"])
    if arguments.get("mime_type") is None:
        message = "say of which type the file is"
        raise InvalidInput("file.mime-type", message, path="/mime_type")
    given = given_file(
        arguments["file_content"],
        text_of(arguments, "mime_type"),
        optional_text(arguments, "original_filename", _PATH_MAX),
    )
    done = await ingest_file(
        canon,
        caller,
        account,
        given,
        interpret=bool(arguments["interpret"]),
        config=arguments.get("interpretation_config"),
    )
    return {
        "source_id": done.source.id,
        "content_hash": done.source.content_hash,
        "file_size": done.source.size,
        "deduplicated": done.deduplicated,
        "interpretation": None if done.run is None else present_run(done.run),
        **(
            {"observations_added": done.restated}
            if done.recorded is None
            else _present(done.recorded)
        ),
    }


def _present(recorded: Recorded) -> Json:
    """What became of the records: the first hundred of them, and all that should be known."""
    return {
        "entities": [
            {
                "entity_id": each.entity_id,
                "entity_type": each.entity_type,
                "canonical_name": each.name,
                "identity_rule": each.rule,
                "created": each.created,
                "entity_alias": alias_of(each.entity_id),
                **({} if each.observation_id is None else {"observation_id": each.observation_id}),
            }
            for each in recorded.records[:_SHOWN_MAX]
        ],
        "entities_total": len(recorded.records),
        "warnings": present_warnings(recorded.warnings[:_SHOWN_MAX]),
        "possible_duplicates": [present_duplicate(d) for d in recorded.duplicates],
        "observations_added": recorded.observations,
    }


async def _upload(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    account = account_of(caller)
    other = None
    if arguments.get("source_material_id") is not None:
        other = (await require_source(canon, caller, source_of(arguments, _OTHER))).id
    properties = _properties(arguments)
    given = await read_local(canon, text_of(arguments, "file_path", _PATH_MAX))
    bucket = text_of(arguments, "bucket")
    if properties is None:
        done = await ingest_file(canon, caller, account, given, bucket=bucket)
    else:
        done = await ingest_properties(canon, caller, account, given, properties, bucket=bucket)
    if other is not None and done.stored is not None:
        await attach_file(canon, caller, account, other, done.stored)
    reply: Json = {
        "source_id": done.source.id,
        "file_url": done.source.files[0] if done.source.files else "",
        "file_size": done.source.size,
        "content_type": done.source.mime_type,
        "deduplicated": done.deduplicated,
        "content_hash": done.source.content_hash,
        "interpretation": None if done.run is None else present_run(done.run),
        "warnings": [] if done.recorded is None else present_warnings(done.recorded.warnings),
    }
    return reply | await _snapshots(canon, caller, done)


async def _snapshots(canon: Canon, caller: Caller, done: FileIngested) -> Json:
    if done.run is None:
        return {}
    ids = await entities_of(canon, account_of(caller), done)
    entities = await require_readable(canon, caller, Entity, ids[:_SHOWN_MAX])
    fields = await fields_of(canon, caller, entities)
    distinct = {each.id: each for each in entities}
    shown = [
        {"entity_id": e.id, "entity_type": e.entity_type, "snapshot": fields[e.id]}
        for e in distinct.values()
    ]
    return {"entity_snapshots": shown}


def _properties(arguments: Arguments) -> Mapping[str, Any] | None:
    given = arguments.get("properties")
    if given is None:
        return None
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("entity_type", ""), str):
        message = "properties is a JSON object, written as text, whose entity_type is a text"
        raise InvalidInput("upload.properties", message, path="/properties")
    measure({"properties": value}, _INNER)  # the text that it came in could not be checked
    return value


async def _reinterpret(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    account = account_of(caller)
    config = arguments["interpretation_config"]
    done = await reinterpret_source(canon, caller, account, source_of(arguments), config)
    run = {} if done.run is None else present_run(done.run)
    return {
        **run,
        "source_id": done.source.id,
        "deduplicated": done.recorded is None,
        "warnings": []
        if done.recorded is None
        else present_warnings(done.recorded.warnings[:_SHOWN_MAX]),
    }


async def _url(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    path = text_of(arguments, "file_path", _PATH_MAX)
    seconds = whole_of(arguments, "expires_in")
    signed = await sign_url(canon, account_of(caller).user_id, path, seconds)
    return {"signed_url": signed.url, "expires_at": render_instant(signed.expires_at)}


TOOLS: Final[tuple[Tool, ...]] = (
    truth_tool("ingest", _ingest),
    truth_tool("upload_file", _upload),
    truth_tool("get_file_url", _url),
    truth_tool("reinterpret", _reinterpret),
)
