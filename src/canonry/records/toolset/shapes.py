"""Shapes of what is answered, as the contract publishes them, and what makes the rest."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    INSTANT,
    INTEGER,
    NUMBER,
    OBJECT,
    TEXT,
    UUID,
    WORD,
    Field,
    Shape,
    array,
    given,
    nullable,
    optional,
)
from canonry.log.items.accounts import alias_of
from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative_fields import PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema, RegisteredSchema
from canonry.readmodels.timeline import TimelineEvent
from canonry.values.observations import Observation
from canonry.values.time import Instant, render_instant

Json = dict[str, Any]
UNRULED: Final = "none"
"""The schema version of what no schema has read."""
ANYTHING: Final = nullable(Field({}))
SHOWN_MAX: Final = 100
"""So many of the records, warnings and duplicates of one call are shown."""


def first_of(field: Field, name: str) -> Field:
    """The first values of an attribute, as many as are shown."""
    return array(field).of(lambda thing: getattr(thing, name)[:SHOWN_MAX])


def _fields(observation: Observation) -> Json:
    """What was stated, under the fields' own names."""
    ruled = observation.schema_version is not None
    return {
        name.removeprefix(PROPERTY_PREFIX): value
        for name, value in observation.fields.items()
        if not ruled or name.startswith(PROPERTY_PREFIX)
    }


FRAGMENT: Final = Shape(value=ANYTHING, reason=TEXT)


def by_name(shape: Shape) -> Field:
    """Values of this shape by their names, where there are any."""
    return optional(OBJECT.by(lambda found: {name: shape(each) for name, each in found.items()}))


ENTITY: Final = Shape(
    id=UUID,
    entity_type=TEXT,
    canonical_name=TEXT.of("name"),
    observation_count=COUNT.of("observed.count"),
    last_observation_at=nullable(INSTANT.of("observed.last")),
    entity_alias=nullable(TEXT.of(lambda entity: alias_of(entity.id))),
    merged_to=optional(UUID.of("merged_into")),
    snapshot=optional(given(OBJECT)),
    key_status=optional(given(WORD)),
    more_fields=optional(given(COUNT)),
)
KEY: Final = Shape(key=TEXT, rule=optional(TEXT), status=WORD, entity_id=UUID)
OBSERVATION: Final = Shape(
    id=UUID,
    entity_id=given(UUID),
    entity_type=given(TEXT),
    schema_version=TEXT.of(lambda observation: observation.schema_version or UNRULED),
    source_id=nullable(UUID),
    observed_at=INSTANT.of("seen_at"),
    specificity_score=NUMBER.of("specificity"),
    source_priority=INTEGER.of("priority"),
    fields=OBJECT.of(_fields),
    created_at=INSTANT.of("recorded_at"),
    correction=BOOLEAN,
    run_id=nullable(UUID),
    raw_fragments=by_name(FRAGMENT).of(lambda observation: observation.fragments or None),
    observed_entity_id=optional(given(UUID)),
)
_WHO: Final = ("id", "source_id", "observed_at", "specificity_score", "source_priority")
WITNESS: Final = Shape(**{name: OBSERVATION.fields[name] for name in _WHO})
"""An observation without what it states."""
EDGE: Final = Shape(
    id=UUID,
    relationship_type=TEXT.of("rel_type"),
    source_entity_id=UUID.of("from_id"),
    target_entity_id=UUID.of("to_id"),
)
RELATION: Final = Shape(
    **EDGE.fields,
    metadata=optional(OBJECT.of(lambda relation: relation.properties or None)),
    created_at=INSTANT,
    existing=optional(given(BOOLEAN)),
)
SOURCE: Final = Shape(
    id=UUID,
    created_at=INSTANT,
    mime_type=optional(TEXT),
    file_size=optional(COUNT.of("size")),
    content_hash=optional(TEXT),
    original_filename=optional(TEXT.of("file_name")),
    file_urls=optional(array(TEXT).of(lambda source: source.files or None)),
    title=optional(TEXT.of(lambda source: source.title or None)),
)
EVENT: Final = Shape(
    id=UUID,
    event_type=TEXT,
    event_timestamp=INSTANT.of("instant"),
    source_id=UUID,
    entity_ids=given(array(UUID)),
    properties=given(OBJECT),
    superseded=optional(given(BOOLEAN)),
)
RUN: Final = Shape(run_id=UUID.of("id"), entities_created=COUNT, observations_created=COUNT)
WARNING: Final = Shape(code=TEXT, message=TEXT, path=TEXT)
DUPLICATE: Final = Shape(
    entity_id=UUID.of("pair.entity_id"),
    candidate_id=UUID.of("pair.candidate_id"),
    entity_type=TEXT.of("pair.entity_type"),
    reason=TEXT.of("pair.reason"),
    evidence=array(
        Shape(
            entity_id=UUID,
            fields=OBJECT,
            observation_id=optional(UUID),
            source_id=optional(UUID),
        )
    ),
)


def _registered_at(schema: EntitySchema) -> Instant | None:
    """When a schema was registered; one that is built in, or registered just now, says nothing."""
    return schema.created_at if isinstance(schema, RegisteredSchema) else None


SCHEMA_FIELD: Final = Shape(name=TEXT, type=WORD, required=BOOLEAN)
SCHEMA: Final = Shape(
    entity_type=TEXT,
    schema_version=TEXT.of("version"),
    label=TEXT,
    fields=array(
        Shape(
            **SCHEMA_FIELD.fields,
            merge_policy=TEXT.of("policy"),
            event_type=optional(TEXT),
            aliases=optional(array(TEXT).of(lambda field: field.aliases or None)),
        )
    ),
    identity=array(array(TEXT).by(lambda rule: list(rule.fields))),
    builtin=BOOLEAN.of(lambda schema: not schema.space),
    aliases=array(TEXT).of("type_aliases"),
    registered_at=nullable(INSTANT.of(_registered_at)),
)


def present_observation(observation: Observation, entity: Entity) -> Json:
    """An observation of an entity, or of one that was merged into it."""
    own = observation.entity_id == entity.id
    return OBSERVATION(
        observation,
        entity_id=entity.id,
        entity_type=entity.entity_type,
        observed_entity_id=None if own else observation.entity_id,
    )


def present_event(
    event: TimelineEvent, entities: Mapping[str, Entity], *, superseded: bool | None = None
) -> Json:
    """An event with the entities that it is about, as their survivors."""
    about = [entities[e.entity_id] for e in event.entries if e.entity_id in entities]
    fields = sorted({entry.field for entry in event.entries})
    types = sorted({entity.entity_type for entity in about})
    properties: Json = {"field": fields[0], "value": render_instant(event.instant)}
    if types:
        properties["entity_type"] = types[0]
    if len(fields) > 1:
        properties["fields"] = fields
    ids = dict.fromkeys(entity.id for entity in about)
    return EVENT(event, entity_ids=ids, properties=properties, superseded=superseded)
