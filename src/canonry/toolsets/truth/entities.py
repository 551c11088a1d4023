"""Entity tools: listing and finding entities, merging two into one and taking that back."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.things.entities import Entity
from canonry.domain.time import render_instant
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.truth.arguments import (
    NAME_MAX,
    TEXT_MAX,
    entity_of,
    optional_text,
    text_of,
    whole_of,
)
from canonry.toolsets.truth.contract import truth_tool
from canonry.toolsets.truth.present import Json, present_duplicate, present_entity
from canonry.toolsets.truth.snapshots import fields_of
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.truth.find_by_identifier import find_by_identifier
from canonry.usecases.truth.list_records import EntityQuery, list_entities
from canonry.usecases.truth.merge_records import merge_records, unmerge_records
from canonry.usecases.truth.possible_duplicates import DuplicateQuery, possible_duplicates


def with_snapshot(entity: Entity, fields: Mapping[str, Json]) -> Json:
    """An entity with its current fields."""
    return {**present_entity(entity), "snapshot": fields[entity.id]}


async def _retrieve(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    merged = bool(arguments["include_merged"])
    query = EntityQuery(
        entity_type=optional_text(arguments, "entity_type"),
        include_merged=merged,
        limit=whole_of(arguments, "limit"),
        offset=whole_of(arguments, "offset"),
    )
    page = await list_entities(canon, caller, arguments.get("user_id"), query)
    if arguments["include_snapshots"]:
        fields = await fields_of(canon, caller, page.items)
        shown = [with_snapshot(each, fields) for each in page.items]
    else:
        shown = [present_entity(each) for each in page.items]
    return {"entities": shown, "total": page.total, "excluded_merged": not merged}


async def _find(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found = await find_by_identifier(
        canon,
        caller,
        text_of(arguments, "identifier", NAME_MAX),
        optional_text(arguments, "entity_type"),
    )
    fields = await fields_of(canon, caller, found.entities)
    return {
        "entities": [with_snapshot(each, fields) for each in found.entities],
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
    reply: dict[str, Any] = {
        "from_entity_id": done.from_id,
        "to_entity_id": done.to_id,
        "observations_moved": done.observations,
        "merged_at": render_instant(done.at),
    }
    return reply if reason is None else {**reply, "merge_reason": reason}


async def _unmerge(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    done = await unmerge_records(
        canon,
        caller,
        arguments["user_id"],
        entity_of(arguments),
        reason=optional_text(arguments, "reason", TEXT_MAX) or "",
    )
    return {
        "entity_id": done.from_id,
        "separated_from": done.to_id,
        "observations_returned": done.observations,
        "unmerged_at": render_instant(done.at),
    }


async def _duplicates(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    about = entity_of(arguments) if arguments.get("entity_id") is not None else None
    query = DuplicateQuery(
        entity_id=about,
        entity_type=optional_text(arguments, "entity_type"),
        limit=whole_of(arguments, "limit"),
        offset=whole_of(arguments, "offset"),
    )
    found = await possible_duplicates(canon, caller, query)
    return {
        "pairs": [present_duplicate(pair) for pair in found.pairs],
        "total": found.total,
        "truncated": found.truncated,
    }


TOOLS: Final[tuple[Tool, ...]] = (
    truth_tool("retrieve_entities", _retrieve),
    truth_tool("get_entity_by_identifier", _find),
    truth_tool("merge_entities", _merge),
    truth_tool("unmerge_entities", _unmerge),
    truth_tool("list_possible_duplicates", _duplicates),
)
