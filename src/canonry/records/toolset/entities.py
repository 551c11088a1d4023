"""Tools on entities, their snapshots, and the relationships between them."""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import account_of, entity_id_in, require_readable
from canonry.canon.session.traversal import traverse_related
from canonry.gateway.replies import BOOLEAN, WORD, Shape, array, given_field
from canonry.gateway.tool import Arguments, Noted, Reply, Run
from canonry.log.items.entities import Entity, family_of
from canonry.log.items.sources import Source, alias_of
from canonry.log.schemas.schemas import TruthRelation
from canonry.readmodels.ports.state import EntityQuery, TimelineQuery
from canonry.readmodels.timeline import entries_current
from canonry.records.domain.assertions import EntityKey
from canonry.records.domain.snapshots import shown_by
from canonry.records.toolset import shapes
from canonry.records.toolset.contract import entries, reply_of, shape_in, shape_of
from canonry.records.usecases import identity, relationships
from canonry.records.usecases.corrections import (
    Corrected,
    correct_field,
    locate_field,
    locate_value,
)
from canonry.records.usecases.records import list_entities, list_timeline, survivors_of
from canonry.records.usecases.schemas import schema_of, schemas_for
from canonry.records.usecases.snapshots import Origin, explain_snapshot, read_snapshot, trace_field
from canonry.records.usecases.withdrawing import split_records
from canonry.values.errors import InvalidInput
from canonry.values.moments import Instant, render_instant

_SNAPSHOT: Final = reply_of(
    "get_entity_snapshot",
    schema_version=lambda read: shapes.UNRULED if read.schema is None else read.schema.version,
    provenance=lambda read: {name: ids[0] for name, ids in read.shown.sources.items()},
    entity_alias=lambda read: alias_of(read.entity.id),
    provenance_all=lambda read: {name: list(ids) for name, ids in read.shown.sources.items()},
    raw_fragments=shapes.by_name(
        Shape(**shapes.FRAGMENT.fields, observation_id=WORD.from_source("observation"))
    ).from_source(lambda read: read.shown.fragments or None),
)
_LINKS: Final = 10  # the most source links of an explanation
VALUE_LOCATION: Final = shape_of("place")
_CITED: Final = Shape(**shapes.SOURCE.some_fields("id", "created_at"))
_EXPLAINED_FIELDS: Final = entries()["explain_snapshot"]["output"]["properties"]["fields"]["items"]
_SEEN: Final = shape_in("explained_word", _EXPLAINED_FIELDS["properties"]["observations"]["items"])
_EXPLAINED: Final = shape_in(
    "explained_field",
    _EXPLAINED_FIELDS,
    observations=array(
        _SEEN.with_render(lambda one: _SEEN(one.observation, value=one.value, wins=one.wins))
    ).from_source("observed"),
)
_EXPLANATION: Final = Shape(**_SNAPSHOT.some_fields("entity_id", "entity_type", "schema_version"))


async def fields_of(
    canon: Canon, caller: Caller, entities: Sequence[Entity]
) -> Mapping[str, Mapping[str, Any]]:
    """Return the current fields of each entity by id."""
    account = account_of(caller)
    schemas = await schemas_for(canon, account, entities)
    return {each.id: shown_by(each, schema_of(schemas, account, each)).fields for each in entities}


async def get_snapshot(
    canon: Canon,
    caller: Caller,
    entity_id: str,
    at: Instant | None = None,
    known_at: Instant | None = None,
) -> Reply:
    """Return the snapshot of an entity with the observation of each field."""
    read = await read_snapshot(canon, caller, entity_id, at=at, known_at=known_at)
    keys = None if at or known_at else await keys_of(canon, caller, read.entity)
    return _SNAPSHOT(read, keys=keys)


async def keys_of(canon: Canon, caller: Caller, entity: Entity) -> Sequence[EntityKey]:
    """Return all keys of an entity with their status."""
    return (await identity.families_of(canon, account_of(caller), (entity,)))[entity.id].list_keys()


async def _list_observations(canon: Canon, caller: Caller, *, entity_id: str, **page: int) -> Reply:
    (entity,) = await require_readable(canon, caller, Entity, (entity_id,))
    found = await canon.state.observations_newest(sorted(family_of(entity)), **page)
    observations = [shapes.present_observation(each, entity) for each in found.items]
    return {"observations": observations, "total": found.total, **page}


def _show_origin(origin: Origin) -> shapes.Json:
    return shapes.SOURCE(origin.source) if origin.source else _CITED(origin)


async def _trace_field(canon: Canon, caller: Caller, *, entity_id: str, field: str) -> Reply:
    traced = await trace_field(canon, caller, entity_id, field)
    first = traced.observations[0]
    sources = {origin.id: _show_origin(origin) for origin in traced.origins}
    return {
        "field": traced.field,
        "value": traced.value,
        "source_observation": shapes.WITNESS(first),
        "source_material": _show_origin(traced.origins[0]),
        "observed_at": render_instant(first.seen_at),
        "contributing_observations": [shapes.WITNESS(each) for each in traced.observations],
        "contributing_sources": list(sources.values()),
        "places": [VALUE_LOCATION(each) for each in await locate_value(canon, caller, traced)],
    }


def _correction_sentence(done: Corrected) -> str:
    said = "existed already and" if done.existing else "is recorded and"
    return f"The correction of {done.field} {said} outranks all sources."


_CORRECTED: Final = reply_of("correct", message=_correction_sentence)


async def _explain_fields(
    canon: Canon, caller: Caller, *, entity_id: str, field: str | None
) -> Reply:
    explained = await explain_snapshot(canon, caller, entity_id, field)
    reply = {
        **_EXPLANATION(explained.read),
        "fields": [_EXPLAINED(each) for each in explained.fields],
        "truncated": explained.truncated,
    }
    if field is not None:
        locations = await locate_field(canon, caller, explained.read.entity.id, field)
        reply["places"] = [VALUE_LOCATION(each) for each in locations]
    # Links to the first sources of the current values.
    standing = (word for each in explained.fields for word in each.observed if word.wins)
    ids = dict.fromkeys(i for word in standing if (i := word.observation.source_id) is not None)
    sources = await canon.caller_scope(caller).items_by_id(islice(ids, _LINKS))
    known = (each for each in sources.values() if isinstance(each, Source))
    return Noted(
        reply=reply,
        parts=tuple(
            shapes.SOURCE_LINK.link_to(each.id, each.title or each.file_name or "")
            for each in known
        ),
    )


_MERGED: Final = reply_of("merge_entities")
_UNMERGED: Final = reply_of("unmerge_entities")
_EDITED: Final = reply_of("edit_aliases")
_DUPLICATES: Final = reply_of("list_possible_duplicates")


async def _retrieve_entities(
    canon: Canon, caller: Caller, *, user_id: str | None, query: EntityQuery, snapshots: bool | None
) -> Reply:
    page = await list_entities(canon, caller, user_id, query)
    return {
        "entities": await shapes.rows_of(canon, caller, page.items, snapshots=snapshots),
        "total": page.total,
        "excluded_merged": not query.include_merged,
        **shapes.next_offset(query.offset, len(page.items), page.total),
    }


async def _find_entities(
    canon: Canon,
    caller: Caller,
    *,
    identifier: str,
    entity_type: str | None,
    offset: int,
    limit: int,
    snapshots: bool | None,
) -> Reply:
    entities, statuses, more = await identity.find_by_identifier(
        canon, caller, identifier, entity_type
    )
    shown, total = entities[offset : offset + limit], len(entities)
    return {
        "entities": await shapes.rows_of(
            canon, caller, shown, snapshots=snapshots, statuses=statuses
        ),
        "total": total,
        "truncated": more,
        **shapes.next_offset(offset, len(shown), total),
    }


async def _merge_entities(
    canon: Canon, caller: Caller, *, reason: str | None, **asked: Any
) -> identity.MergeResult:
    return await identity.merge_records(canon, caller, reason=reason or "", **asked)


async def _unmerge_entity(
    canon: Canon, caller: Caller, *, parts: Collection[str] | None, **asked: Any
) -> identity.MergeResult:
    if parts is not None:
        return await split_records(canon, caller, parts=parts, **asked)
    return await identity.unmerge_records(canon, caller, **asked)


async def _edit_aliases(canon: Canon, caller: Caller, *, field: str, **asked: Any) -> Reply:
    entity = await identity.edit_aliases(canon, caller, name=field, **asked)
    fields = (await fields_of(canon, caller, (entity,)))[entity.id]
    keys = await keys_of(canon, caller, entity)
    return _EDITED(entity, field=field, values=fields.get(field, ()), keys=keys)


async def _list_duplicates(canon: Canon, caller: Caller, **asked: Any) -> Reply:
    account = account_of(caller)
    found = await identity.duplicates_within(canon, caller, account, **asked)
    pairs = await identity.evidence_for(canon, account, found.pairs)
    return _DUPLICATES(found, pairs=pairs)


async def _list_events(canon: Canon, caller: Caller, *, query: TimelineQuery) -> Reply:
    if query.start is not None and query.end is not None and query.start > query.end:
        message = "`after_date` is later than `before_date`. Exchange them; both are inclusive."
        raise InvalidInput("time.order", message, path="/after_date")
    page = await list_timeline(canon, caller, query)
    entities = await survivors_of(canon, caller, page.items)
    roots = {each.id: each for each in entities.values()} if query.superseded else {}
    current = {entry.event_id for each in roots.values() for entry in entries_current(each)}
    events = [
        shapes.present_event(
            e, entities, superseded=e.id not in current if query.superseded else None
        )
        for e in page.items
    ]
    return {"events": events, "total": page.total}


_TYPE_MAX: Final = 100  # longer texts are no type of a relation
_CREATED: Final = Shape(**shapes.RELATION.fields, existing=given_field(BOOLEAN))
_EDGE_SNAPSHOT: Final = reply_of(
    "get_relationship_snapshot",
    provenance=lambda edge: {name: edge.origins.get(name, edge.id) for name in edge.properties},
    last_observation_at=lambda edge: edge.told_at or edge.created_at,
)


async def _create_relationship(
    canon: Canon, caller: Caller, *, source_entity_id: str, target_entity_id: str, **asked: Any
) -> Reply:
    ends = (source_entity_id, target_entity_id)
    relation, existing = await relationships.relate_entities(canon, caller, ends=ends, **asked)
    return _CREATED(relation, existing=existing)


async def _list_relationships(canon: Canon, caller: Caller, **asked: Any) -> Reply:
    edges, total = await relationships.list_relationships(canon, caller, **asked)
    page = {"limit": asked["limit"], "offset": asked["offset"]}
    return {"relationships": [shapes.RELATION(each) for each in edges], "total": total, **page}


async def _list_related(
    canon: Canon,
    caller: Caller,
    *,
    entity_id: str,
    types: tuple[str, ...],
    include_entities: bool,
    **how: Any,
) -> Reply:
    (start,) = await require_readable(canon, caller, Entity, (entity_id,))
    if not all(0 < len(each) <= _TYPE_MAX for each in types):
        message = f"Use types of 1 to {_TYPE_MAX} characters, such as {TruthRelation.REFERS_TO}."
        raise InvalidInput("relationship.type-unknown", message, path="/relationship_types")
    related = await traverse_related(canon, caller, start, types=types, **how)
    wanted = related.entities if include_entities else ()
    return {
        "entities": await shapes.rows_of(canon, caller, wanted, snapshots=True),
        "relationships": [shapes.RELATION(each) for each in related.relations],
        "total_entities": len(related.entities),
        "total_relationships": len(related.relations),
        "hops_traversed": related.hops,
        "truncated": related.truncated,
    }


async def _show_neighbourhood(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    if arguments["node_type"] == "source":
        return await _source_neighbourhood(canon, caller, arguments)
    wanted = entity_id_in(arguments["node_id"], "/node_id")
    entity, around = await relationships.neighbourhood_of_entity(canon, caller, wanted)
    fields = await fields_of(canon, caller, (entity, *around.entities))
    reply: shapes.Json = {
        "node_id": entity.id,
        "node_type": "entity",
        "entity": shapes.ENTITY(entity),
        "entity_snapshot": dict(fields[entity.id]),
    }
    if arguments["include_observations"]:
        reply["observations"] = [shapes.present_observation(o, entity) for o in around.observations]
    if arguments["include_sources"]:
        reply["related_sources"] = [shapes.SOURCE(each) for each in around.sources]
    return reply | await _shared_members(canon, caller, around, arguments, fields)


async def _source_neighbourhood(canon: Canon, caller: Caller, arguments: Arguments) -> shapes.Json:
    wanted = shapes.source_id_in(arguments["node_id"], "/node_id")
    source, around = await relationships.neighbourhood_of_source(canon, caller, wanted)
    fields = await fields_of(canon, caller, around.entities)
    reply: shapes.Json = {
        "node_id": source.id,
        "node_type": "source",
        "source_material": shapes.SOURCE(source),
    }
    if arguments["include_sources"]:
        reply["related_sources"] = []
    if arguments["include_observations"]:
        owner = {each: e for e in around.entities for each in (e.id, *e.members)}
        seen = (o for o in around.observations if o.entity_id in owner)
        reply["observations"] = [shapes.present_observation(o, owner[o.entity_id]) for o in seen]
    return reply | await _shared_members(canon, caller, around, arguments, fields)


async def _shared_members(
    canon: Canon,
    caller: Caller,
    around: relationships.Neighbourhood,
    arguments: Arguments,
    fields: Mapping[str, Mapping[str, Any]],
) -> shapes.Json:
    reply: shapes.Json = {"truncated": around.truncated}
    if arguments["include_relationships"]:
        reply["relationships"] = [shapes.RELATION(each) for each in around.relations]
        reply["related_entities"] = [
            shapes.ENTITY(each, snapshot=fields[each.id]) for each in around.entities
        ]
    if arguments["include_events"]:
        entities = await survivors_of(canon, caller, around.events)
        reply["timeline_events"] = [shapes.present_event(each, entities) for each in around.events]
    return reply


RUNS: Final[dict[str, Run]] = shapes.runs_of(
    get_entity_snapshot=get_snapshot,
    list_observations=_list_observations,
    get_field_provenance=_trace_field,
    correct=(correct_field, _CORRECTED),
    explain_snapshot=_explain_fields,
    retrieve_entities=_retrieve_entities,
    get_entity_by_identifier=_find_entities,
    merge_entities=(_merge_entities, _MERGED),
    unmerge_entities=(_unmerge_entity, _UNMERGED),
    edit_aliases=_edit_aliases,
    list_possible_duplicates=_list_duplicates,
    list_timeline_events=_list_events,
    get_related_entities=_list_related,
    create_relationship=_create_relationship,
    list_relationships=_list_relationships,
    get_relationship_snapshot=(relationships.read_relationship, _EDGE_SNAPSHOT),
) | {"get_graph_neighborhood": _show_neighbourhood}
