"""Snapshot tools: an entity as it is shown, its observations, a field's origin, and corrections."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from canonry.canon.session.account import account_of
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    INSTANT,
    NUMBER,
    OBJECT,
    TEXT,
    UUID,
    Shape,
    array,
    given,
    nullable,
    optional,
)
from canonry.gateway.tool import Arguments, Noted, Reply, Run
from canonry.log.items.accounts import alias_of
from canonry.log.items.entities import Entity
from canonry.log.items.sources import Source
from canonry.records.domain.borne_keys import BorneKey
from canonry.records.domain.shown import shown_by
from canonry.records.toolset.arguments import (
    entity_of,
    moment_of,
    optional_text,
    page_of,
    text_of,
)
from canonry.records.toolset.documents import SOURCE_LINK
from canonry.records.toolset.shapes import (
    ANYTHING,
    ENTITY,
    FRAGMENT,
    KEY,
    OBSERVATION,
    SOURCE,
    UNRULED,
    WITNESS,
    Json,
    by_name,
    present_observation,
)
from canonry.records.usecases.correct_field import Correction, correct_field
from canonry.records.usecases.explain_snapshot import SnapshotExplained, explain_snapshot
from canonry.records.usecases.identity.tell_keys import families_of
from canonry.records.usecases.list_records import list_observations
from canonry.records.usecases.read_snapshot import read_snapshot
from canonry.records.usecases.review.locate_value import locate_field, locate_value
from canonry.records.usecases.schemas_in_force import schema_of, schemas_for
from canonry.records.usecases.trace_field import Origin, trace_field
from canonry.values.time import render_instant

_SNAPSHOT: Final = Shape(
    entity_id=UUID.of("entity.id"),
    entity_type=TEXT.of("entity.entity_type"),
    schema_version=TEXT.of(lambda read: UNRULED if read.schema is None else read.schema.version),
    snapshot=OBJECT.of("shown.fields"),
    provenance=OBJECT.of(lambda read: {name: ids[0] for name, ids in read.shown.sources.items()}),
    computed_at=INSTANT,
    observation_count=COUNT.of("seen.count"),
    last_observation_at=nullable(INSTANT.of("seen.last")),
    entity_alias=nullable(TEXT.of(lambda read: alias_of(read.entity.id))),
    canonical_name=TEXT.of("entity.name"),
    first_observed_at=nullable(INSTANT.of("first_seen")),
    provenance_all=OBJECT.of("shown.sources").by(
        lambda sources: {name: list(ids) for name, ids in sources.items()}
    ),
    merged_entity_ids=array(UUID).of("entity.members"),
    keys=optional(given(array(KEY))),
    raw_fragments=by_name(Shape(**FRAGMENT.fields, observation_id=UUID.of("observation"))).of(
        lambda read: read.shown.fragments or None
    ),
)
_LINKS: Final = 10
"""So many sources are linked to beside an explanation."""
PLACE: Final = Shape(
    quote=TEXT,
    line=COUNT,
    column=optional(TEXT),
    page=optional(COUNT),
    sheet=optional(TEXT),
    box=optional(Shape(left=NUMBER, top=NUMBER, right=NUMBER, bottom=NUMBER)),
)
_CITED: Final = Shape(id=UUID, created_at=INSTANT)
_CORRECTED: Final = Shape(
    observation_id=UUID,
    entity_id=UUID,
    field=TEXT,
    value=ANYTHING,
    message=given(TEXT),
    existing=BOOLEAN,
)
_WORD: Final = Shape(
    **WITNESS.fields,
    value=given(ANYTHING),
    wins=given(BOOLEAN),
    created_at=OBSERVATION.fields["created_at"],
    correction=BOOLEAN,
)
_EXPLAINED: Final = Shape(
    field=TEXT,
    value=ANYTHING,
    merge_policy=TEXT.of("policy"),
    reason=TEXT,
    observations=array(
        _WORD.by(lambda word: _WORD(word.observation, value=word.value, wins=word.wins))
    ).of("words"),
)
_EXPLANATION: Final = Shape(
    **{name: _SNAPSHOT.fields[name] for name in ("entity_id", "entity_type", "schema_version")}
)


async def fields_of(
    canon: Canon, caller: Caller, entities: Sequence[Entity]
) -> Mapping[str, Mapping[str, Any]]:
    """The current fields of each entity, by its id."""
    account = account_of(caller)
    schemas = await schemas_for(canon, account, entities)
    return {each.id: shown_by(each, schema_of(schemas, account, each)).fields for each in entities}


async def with_snapshots(canon: Canon, caller: Caller, entities: Sequence[Entity]) -> list[Json]:
    """The entities as they are answered, each with its current fields."""
    fields = await fields_of(canon, caller, entities)
    return [ENTITY(each, snapshot=fields[each.id]) for each in entities]


async def get_snapshot(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    """An entity with its fields as they are shown, and where each comes from."""
    at = moment_of(arguments, "at", end_of_day=True)
    known_at = moment_of(arguments, "as_known_at", end_of_day=True)
    read = await read_snapshot(canon, caller, entity_of(arguments), at=at, known_at=known_at)
    keys = None if at or known_at else await keys_of(canon, caller, read.entity)
    return _SNAPSHOT(read, keys=keys)


async def keys_of(canon: Canon, caller: Caller, entity: Entity) -> Sequence[BorneKey]:
    """Everything that leads to an entity, and what it is to it today."""
    return (await families_of(canon, account_of(caller), (entity,)))[entity.id].keys()


async def _list(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    page = page_of(arguments)
    entity, found = await list_observations(canon, caller, entity_of(arguments), **page)
    observations = [present_observation(each, entity) for each in found.items]
    return {"observations": observations, "total": found.total, **page}


def _origin(origin: Origin) -> Json:
    return SOURCE(origin.source) if origin.source else _CITED(origin)


async def _trace(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    traced = await trace_field(canon, caller, entity_of(arguments), text_of(arguments, "field"))
    first = traced.observations[0]
    sources = {origin.id: _origin(origin) for origin in traced.origins}
    return {
        "field": traced.field,
        "value": traced.value,
        "source_observation": WITNESS(first),
        "source_material": _origin(traced.origins[0]),
        "observed_at": render_instant(first.seen_at),
        "contributing_observations": [WITNESS(each) for each in traced.observations],
        "contributing_sources": list(sources.values()),
        "places": [PLACE(each) for each in await locate_value(canon, caller, traced)],
    }


async def _correct(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    correction = Correction(
        entity_id=entity_of(arguments),
        entity_type=text_of(arguments, "entity_type"),
        field=text_of(arguments, "field"),
        value=arguments["value"],
    )
    done = await correct_field(canon, caller, arguments.get("user_id"), correction)
    said = "was said before and stands" if done.existing else "stands from now on"
    message = f"The correction of {done.field} {said}, whatever sources say."
    return _CORRECTED(done, message=message)


async def _explain(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    field = optional_text(arguments, "field")
    explained = await explain_snapshot(canon, caller, entity_of(arguments), field)
    reply = {
        **_EXPLANATION(explained.read),
        "fields": [_EXPLAINED(each) for each in explained.fields],
        "truncated": explained.truncated,
    }
    if field is not None:
        places = await locate_field(canon, caller, explained.read.entity.id, field)
        reply["places"] = [PLACE(each) for each in places]
    return Noted(reply=reply, parts=await _links(canon, caller, explained))


async def _links(
    canon: Canon, caller: Caller, explained: SnapshotExplained
) -> tuple[Mapping[str, Any], ...]:
    """Links to what the values that stand were read from, the first few."""
    standing = (word for each in explained.fields for word in each.words if word.wins)
    ids = dict.fromkeys(i for word in standing if (i := word.observation.source_id) is not None)
    sources = await canon.seen_by(caller).things(islice(ids, _LINKS))
    known = (each for each in sources.values() if isinstance(each, Source))
    return tuple(SOURCE_LINK.link(each.id, each.title or each.file_name or "") for each in known)


RUNS: Final[dict[str, Run]] = {
    "get_entity_snapshot": get_snapshot,
    "list_observations": _list,
    "get_field_provenance": _trace,
    "correct": _correct,
    "explain_snapshot": _explain,
}
