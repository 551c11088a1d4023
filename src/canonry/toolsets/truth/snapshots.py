"""Snapshot tools: an entity as it is shown, its observations, a field's origin, and corrections."""

from collections.abc import Iterable
from typing import Any, Final

from canonry.domain.things.entities import Entity
from canonry.domain.time import render_instant
from canonry.domain.truth.accounts import alias_of
from canonry.domain.truth.shown import shown_by
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.truth.arguments import (
    entity_of,
    moment_of,
    optional_text,
    text_of,
    whole_of,
)
from canonry.toolsets.truth.contract import truth_tool
from canonry.toolsets.truth.present import (
    UNRULED,
    Json,
    moment,
    present_observation,
    present_source,
    present_word,
)
from canonry.usecases.kernel.account import account_of
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.truth.correct_field import Correction, correct_field
from canonry.usecases.truth.explain_snapshot import FieldExplained, explain_snapshot
from canonry.usecases.truth.list_records import list_observations
from canonry.usecases.truth.read_snapshot import read_snapshot
from canonry.usecases.truth.schemas_in_force import schema_of, schemas_for
from canonry.usecases.truth.trace_field import Origin, trace_field


async def fields_of(canon: Canon, caller: Caller, entities: Iterable[Entity]) -> dict[str, Json]:
    """The current fields of each entity, by its id."""
    shown = tuple(entities)
    account = account_of(caller)
    schemas = await schemas_for(canon, account, shown)
    return {
        each.id: dict(shown_by(each, schema_of(schemas, account, each)).fields) for each in shown
    }


async def _get(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    read = await read_snapshot(
        canon,
        caller,
        entity_of(arguments),
        at=moment_of(arguments, "at", end_of_day=True),
        known_at=moment_of(arguments, "as_known_at", end_of_day=True),
    )
    entity, shown = read.entity, read.shown
    reply: Json = {
        "entity_id": entity.id,
        "entity_type": entity.entity_type,
        "schema_version": UNRULED if read.schema is None else read.schema.version,
        "snapshot": dict(shown.fields),
        "provenance": {name: ids[0] for name, ids in shown.sources.items()},
        "computed_at": render_instant(read.computed_at),
        "observation_count": read.seen.count,
        "last_observation_at": moment(read.seen.last),
        "entity_alias": alias_of(entity.id),
        "canonical_name": entity.name,
        "first_observed_at": moment(read.first_seen),
        "provenance_all": {name: list(ids) for name, ids in shown.sources.items()},
        "merged_entity_ids": list(entity.members),
    }
    if shown.fragments:
        reply["raw_fragments"] = {
            name: {"value": each.value, "reason": each.reason, "observation_id": each.observation}
            for name, each in shown.fragments.items()
        }
    return reply


async def _list(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limit, offset = whole_of(arguments, "limit"), whole_of(arguments, "offset")
    entity, page = await list_observations(
        canon, caller, entity_of(arguments), limit=limit, offset=offset
    )
    return {
        "observations": [present_observation(each, entity) for each in page.items],
        "total": page.total,
        "limit": limit,
        "offset": offset,
    }


def _origin(origin: Origin) -> Json:
    if origin.source is not None:
        return present_source(origin.source)
    return {"id": origin.id, "created_at": render_instant(origin.created_at)}


async def _trace(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    traced = await trace_field(canon, caller, entity_of(arguments), text_of(arguments, "field"))
    first = traced.observations[0]
    sources = {origin.id: _origin(origin) for origin in traced.origins}
    return {
        "field": traced.field,
        "value": traced.value,
        "source_observation": present_word(first),
        "source_material": _origin(traced.origins[0]),
        "observed_at": render_instant(first.seen_at),
        "contributing_observations": [present_word(each) for each in traced.observations],
        "contributing_sources": list(sources.values()),
    }


async def _correct(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    correction = Correction(
        entity_id=entity_of(arguments),
        entity_type=text_of(arguments, "entity_type"),
        field=text_of(arguments, "field"),
        value=arguments["value"],
    )
    done = await correct_field(canon, caller, arguments["user_id"], correction)
    said = "was said before and stands" if done.existing else "stands from now on"
    return {
        "observation_id": done.observation_id,
        "entity_id": done.entity_id,
        "field": done.field,
        "value": done.value,
        "message": f"The correction of {done.field} {said}, whatever sources say.",
        "existing": done.existing,
    }


def _explained(each: FieldExplained) -> Json:
    words: list[Any] = [
        {
            **present_word(word.observation),
            "value": word.value,
            "wins": word.wins,
            "created_at": render_instant(word.observation.recorded_at),
            "correction": word.observation.correction,
        }
        for word in each.words
    ]
    return {
        "field": each.field,
        "value": each.value,
        "merge_policy": each.policy,
        "reason": each.reason,
        "observations": words,
    }


async def _explain(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    explained = await explain_snapshot(
        canon, caller, entity_of(arguments), optional_text(arguments, "field")
    )
    read = explained.read
    return {
        "entity_id": read.entity.id,
        "entity_type": read.entity.entity_type,
        "schema_version": UNRULED if read.schema is None else read.schema.version,
        "fields": [_explained(each) for each in explained.fields],
        "truncated": explained.truncated,
    }


TOOLS: Final[tuple[Tool, ...]] = (
    truth_tool("get_entity_snapshot", _get),
    truth_tool("list_observations", _list),
    truth_tool("get_field_provenance", _trace),
    truth_tool("correct", _correct),
    truth_tool("explain_snapshot", _explain),
)
