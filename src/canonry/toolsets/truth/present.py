"""Present: domain values as the contract's JSON."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from canonry.domain.observations import Observation
from canonry.domain.things.entities import Entity
from canonry.domain.things.relations import Relation
from canonry.domain.things.sources import Source
from canonry.domain.time import Instant, render_instant
from canonry.domain.truth.accounts import alias_of
from canonry.domain.truth.assertions import Warned
from canonry.domain.truth.runs import RunDraft
from canonry.domain.truth.timeline import TimelineEvent
from canonry.domain.vocabularies.narrative_fields import PROPERTY_PREFIX
from canonry.domain.vocabularies.schemas import EntitySchema, RegisteredSchema
from canonry.usecases.truth.record_entities import Duplicate

Json = dict[str, Any]
UNRULED: Final = "none"
"""The schema version of what no schema has read."""


def moment(instant: Instant | None) -> str | None:
    """An instant, or nothing."""
    return None if instant is None else render_instant(instant)


def present_entity(entity: Entity) -> Json:
    """An entity without its snapshot."""
    seen = entity.observed
    shown: Json = {
        "id": entity.id,
        "entity_type": entity.entity_type,
        "canonical_name": entity.name,
        "observation_count": seen.count,
        "last_observation_at": moment(seen.last),
        "entity_alias": alias_of(entity.id),
    }
    if entity.merged_into is not None:
        shown["merged_to"] = entity.merged_into
    return shown


def present_observation(observation: Observation, entity: Entity) -> Json:
    """What was said, under the fields' own names."""
    fields = {
        name.removeprefix(PROPERTY_PREFIX): value
        for name, value in observation.fields.items()
        if name.startswith(PROPERTY_PREFIX)
    }
    if observation.schema_version is None:
        fields = {n.removeprefix(PROPERTY_PREFIX): v for n, v in observation.fields.items()}
    shown: Json = {
        "id": observation.id,
        "entity_id": entity.id,
        "entity_type": entity.entity_type,
        "schema_version": observation.schema_version or UNRULED,
        "source_id": observation.source_id,
        "observed_at": render_instant(observation.seen_at),
        "specificity_score": observation.specificity,
        "source_priority": observation.priority,
        "fields": fields,
        "created_at": render_instant(observation.recorded_at),
        "correction": observation.correction,
        "run_id": observation.run_id,
    }
    if observation.fragments:
        shown["raw_fragments"] = {
            name: {"value": each.value, "reason": each.reason}
            for name, each in observation.fragments.items()
        }
    if observation.entity_id != entity.id:
        shown["observed_entity_id"] = observation.entity_id
    return shown


def present_word(observation: Observation) -> Json:
    """Who said something, without what was said."""
    return {
        "id": observation.id,
        "source_id": observation.source_id,
        "observed_at": render_instant(observation.seen_at),
        "specificity_score": observation.specificity,
        "source_priority": observation.priority,
    }


def present_relation(relation: Relation) -> Json:
    """An edge, and when it was made."""
    return {**present_edge(relation), "created_at": render_instant(relation.created_at)}


def present_edge(relation: Relation) -> Json:
    """An edge; metadata only where there are any."""
    shown: Json = {
        "id": relation.id,
        "relationship_type": relation.rel_type,
        "source_entity_id": relation.from_id,
        "target_entity_id": relation.to_id,
    }
    if relation.properties:
        shown["metadata"] = dict(relation.properties)
    return shown


def present_source(source: Source) -> Json:
    """A source with what is known of its bytes."""
    shown: Json = {"id": source.id, "created_at": render_instant(source.created_at)}
    more = {
        "mime_type": source.mime_type,
        "file_size": source.size,
        "content_hash": source.content_hash,
        "original_filename": source.file_name,
        "file_urls": list(source.files) or None,
        "title": source.title or None,
    }
    return shown | {name: value for name, value in more.items() if value is not None}


def present_event(event: TimelineEvent, entities: Mapping[str, Entity], **more: Any) -> Json:
    """An event with the entities that it is about, as their survivors."""
    ids = [entities[e.entity_id].id for e in event.entries if e.entity_id in entities]
    fields = sorted({entry.field for entry in event.entries})
    types = sorted(
        {entities[e.entity_id].entity_type for e in event.entries if e.entity_id in entities}
    )
    properties: Json = {"field": fields[0], "value": render_instant(event.instant)}
    if types:
        properties["entity_type"] = types[0]
    if len(fields) > 1:
        properties["fields"] = fields
    return {
        "id": event.id,
        "event_type": event.event_type,
        "event_timestamp": render_instant(event.instant),
        "source_id": event.source_id,
        "entity_ids": list(dict.fromkeys(ids)),
        "properties": properties,
        **more,
    }


def present_run(run: RunDraft) -> Json:
    """What a run has made."""
    return {
        "run_id": run.id,
        "entities_created": run.entities_created,
        "observations_created": run.observations_created,
    }


def present_warnings(warnings: Iterable[Warned]) -> list[Json]:
    """What the caller should know."""
    return [{"code": w.code, "message": w.message, "path": w.path} for w in warnings]


def present_duplicate(pair: Duplicate) -> Json:
    """Two entities that may be one."""
    return {
        "entity_id": pair.entity_id,
        "candidate_id": pair.candidate_id,
        "entity_type": pair.entity_type,
        "reason": pair.reason,
    }


def present_schema(schema: EntitySchema) -> Json:
    """A version of a schema."""
    fields = []
    for spec in schema.fields:
        field: Json = {"name": spec.name, "type": spec.type.value, "required": spec.required}
        field["merge_policy"] = spec.policy
        if spec.event_type is not None:
            field["event_type"] = spec.event_type
        if spec.aliases:
            field["aliases"] = list(spec.aliases)
        fields.append(field)
    at = render_instant(schema.created_at) if isinstance(schema, RegisteredSchema) else None
    return {
        "entity_type": schema.entity_type,
        "schema_version": schema.version,
        "label": schema.label,
        "fields": fields,
        "identity": [list(rule.fields) for rule in schema.identity],
        "builtin": not schema.space,
        "aliases": list(schema.type_aliases),
        "registered_at": at,
    }
