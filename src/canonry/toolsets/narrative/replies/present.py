"""Presentation: things of canon as the JSON that the narrative tools answer with, and its schemas.

Every schema stands beside the function whose values it describes.
"""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.spaces import Space
from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Axiom, Constraint, Event, Fact
from canonry.domain.things.relations import Relation
from canonry.domain.things.scenes import Story
from canonry.domain.things.sources import Source
from canonry.domain.time import Instant, render_instant
from canonry.domain.vocabularies.narrative_types import narrative_type
from canonry.gateway.tool import Schema
from canonry.toolsets.narrative.replies.schemas import (
    BOOLEAN,
    COUNT,
    INSTANT,
    INTEGER,
    NUMBER,
    OBJECT,
    TEXT,
    UUID,
    array,
    nullable,
    obj,
)

Presented = dict[str, Any]


def shown_instant(instant: Instant | None) -> str | None:
    """The instant as RFC 3339, or null."""
    return None if instant is None else render_instant(instant)


_BACKED: Final[Mapping[str, Schema]] = {
    "canon_level": TEXT,
    "confidence": NUMBER,
    "authority": TEXT,
    "evidence_refs": array(TEXT),
    "created_at": INSTANT,
}


def _backed(thing: Entity | Relation | Fact | Event | Axiom) -> Presented:
    return {
        "canon_level": thing.level.value,
        "confidence": thing.confidence,
        "authority": thing.authority.value,
        "evidence_refs": [str(each) for each in thing.evidence],
        "created_at": render_instant(thing.created_at),
    }


SPACE: Final = obj(
    {"name": TEXT, "description": TEXT, "created_at": INSTANT},
    {
        "universe_id": UUID,
        "multiverse_id": nullable(UUID),
        "genre": TEXT,
        "tone": TEXT,
        "tech_level": TEXT,
        "system_name": TEXT,
    },
)


def present_space(space: Space) -> Presented:
    """A universe with the multiverse that contains it."""
    return {
        "universe_id": space.id,
        "multiverse_id": space.parent,
        "name": space.name,
        "description": space.description,
        **space.properties,
        "created_at": render_instant(space.created_at),
    }


_ENTITY_FIELDS: Final[Mapping[str, Schema]] = {
    "entity_id": UUID,
    "universe_id": UUID,
    "entity_class": TEXT,
    "entity_type": TEXT,
    "name": TEXT,
    "description": TEXT,
    "properties": OBJECT,
    "state_tags": array(TEXT),
    "derives_from": nullable(UUID),
    "merged_entity_ids": array(UUID),
    "replaced_by": nullable(UUID),
    **_BACKED,
    "updated_at": INSTANT,
}
ENTITY: Final = obj(_ENTITY_FIELDS)


def present_entity(entity: Entity) -> Presented:
    """An entity with its current snapshot; `merged_entity_ids` are those that it answers for."""
    return {
        "entity_id": entity.id,
        "universe_id": entity.space,
        "entity_class": entity.entity_class.value,
        "entity_type": narrative_type(entity.entity_type),
        "name": entity.name,
        "description": entity.description,
        "properties": dict(entity.properties),
        "state_tags": list(entity.state_tags),
        "derives_from": entity.derives_from,
        "merged_entity_ids": list(entity.members),
        "replaced_by": entity.replaced_by,
        **_backed(entity),
        "updated_at": render_instant(entity.updated_at),
    }


_RELATION_FIELDS: Final[Mapping[str, Schema]] = {
    "relationship_id": UUID,
    "universe_id": UUID,
    "rel_type": TEXT,
    "from_entity_id": UUID,
    "to_entity_id": UUID,
    "properties": OBJECT,
    "since": nullable(INSTANT),
    "until": nullable(INSTANT),
    "current": BOOLEAN,
    "scene_id": nullable(UUID),
    "proposal_id": nullable(UUID),
    "replaced_by": nullable(UUID),
    "retcon_reason": nullable(TEXT),
    **_BACKED,
}
RELATION: Final = obj(_RELATION_FIELDS)


def present_relation(relation: Relation) -> Presented:
    """A relation; `current` while it is canon and nothing has ended it."""
    return {
        "relationship_id": relation.id,
        "universe_id": relation.space,
        "rel_type": relation.rel_type,
        "from_entity_id": relation.from_id,
        "to_entity_id": relation.to_id,
        "properties": dict(relation.properties),
        "since": shown_instant(relation.since),
        "until": shown_instant(relation.until),
        "current": relation.current,
        "scene_id": relation.scene_id,
        "proposal_id": relation.proposal_id,
        "replaced_by": relation.replaced_by,
        "retcon_reason": relation.retcon_reason,
        **_backed(relation),
    }


FACT: Final = obj(
    {
        "fact_id": UUID,
        "universe_id": UUID,
        "statement": TEXT,
        "fact_type": TEXT,
        "properties": OBJECT,
        "time_ref": nullable(INSTANT),
        "duration": nullable(COUNT),
        "until": nullable(INSTANT),
        "involved_entity_ids": array(UUID),
        "scene_id": nullable(UUID),
        "proposal_id": nullable(UUID),
        "replaces": nullable(UUID),
        "replaced_by": nullable(UUID),
        "superseded_by": nullable(UUID),
        "retcon_reason": nullable(TEXT),
        **_BACKED,
    }
)


def present_fact(fact: Fact) -> Presented:
    """A fact; where a later one superseded it, `until` tells when, if that is known."""
    return {
        "fact_id": fact.id,
        "universe_id": fact.space,
        "statement": fact.statement,
        "fact_type": fact.fact_type.value,
        "properties": dict(fact.properties),
        "time_ref": shown_instant(fact.time_ref),
        "duration": fact.duration,
        "until": shown_instant(fact.until),
        "involved_entity_ids": list(fact.involved),
        "scene_id": fact.scene_id,
        "proposal_id": fact.proposal_id,
        "replaces": fact.replaces,
        "replaced_by": fact.replaced_by,
        "superseded_by": fact.superseded_by,
        "retcon_reason": fact.retcon_reason,
        **_backed(fact),
    }


EVENT: Final = obj(
    {
        "event_id": UUID,
        "universe_id": UUID,
        "scene_id": nullable(UUID),
        "title": TEXT,
        "description": TEXT,
        "time_ref": nullable(INSTANT),
        "severity": INTEGER,
        "involved_entity_ids": array(UUID),
        "causes_event_ids": array(UUID),
        "proposal_id": nullable(UUID),
        "replaced_by": nullable(UUID),
        "retcon_reason": nullable(TEXT),
        **_BACKED,
    }
)


def present_event(event: Event) -> Presented:
    """An event; `causes_event_ids` are the events that it brought about."""
    return {
        "event_id": event.id,
        "universe_id": event.space,
        "scene_id": event.scene_id,
        "title": event.title,
        "description": event.description,
        "time_ref": shown_instant(event.time_ref),
        "severity": event.severity,
        "involved_entity_ids": list(event.involved),
        "causes_event_ids": list(event.causes),
        "proposal_id": event.proposal_id,
        "replaced_by": event.replaced_by,
        "retcon_reason": event.retcon_reason,
        **_backed(event),
    }


STORY: Final = obj(
    {
        "story_id": UUID,
        "universe_id": UUID,
        "title": TEXT,
        "story_type": TEXT,
        "theme": nullable(TEXT),
        "premise": nullable(TEXT),
        "parent_story_id": nullable(UUID),
        "start_time_ref": nullable(INSTANT),
        "status": TEXT,
        "scene_count": COUNT,
        "created_at": INSTANT,
    }
)


def present_story(story: Story) -> Presented:
    """A story and how far it has come."""
    return {
        "story_id": story.id,
        "universe_id": story.space,
        "title": story.title,
        "story_type": story.story_type.value,
        "theme": story.theme,
        "premise": story.premise,
        "parent_story_id": story.parent_id,
        "start_time_ref": shown_instant(story.start_time_ref),
        "status": story.status.value,
        "scene_count": story.scene_count,
        "created_at": render_instant(story.created_at),
    }


SOURCE: Final = obj(
    {
        "source_id": UUID,
        "universe_id": UUID,
        "doc_id": TEXT,
        "title": TEXT,
        "edition": nullable(TEXT),
        "provenance": nullable(TEXT),
        "source_type": TEXT,
        "canon_level": TEXT,
        "created_at": INSTANT,
    }
)


def present_source(source: Source) -> Presented:
    """A document that canon rests on."""
    return {
        "source_id": source.id,
        "universe_id": source.space,
        "doc_id": source.doc_id,
        "title": source.title,
        "edition": source.edition,
        "provenance": source.origin,
        "source_type": source.source_type.value,
        "canon_level": source.level.value,
        "created_at": render_instant(source.created_at),
    }


AXIOM: Final = obj(
    {
        "axiom_id": UUID,
        "universe_id": UUID,
        "statement": TEXT,
        "domain": TEXT,
        "constraint": nullable(OBJECT),
        **_BACKED,
    }
)


def present_axiom(axiom: Axiom) -> Presented:
    """A law of a world, with the constraint that the gates enforce, if any."""
    return {
        "axiom_id": axiom.id,
        "universe_id": axiom.space,
        "statement": axiom.statement,
        "domain": axiom.domain.value,
        "constraint": None if axiom.constraint is None else _constraint(axiom.constraint),
        **_backed(axiom),
    }


def _constraint(constraint: Constraint) -> Presented:
    shown: Presented = {"kind": constraint.kind, "values": list(constraint.values)}
    if constraint.entity_type is not None:
        shown["entity_type"] = constraint.entity_type
    return shown


_OTHER: Final[Mapping[str, Schema]] = {"entity_id": UUID, "name": TEXT}
ENTITY_IN_FULL: Final = obj(
    {**_ENTITY_FIELDS, "provenance": {"type": "object", "additionalProperties": TEXT}},
    {
        "requested_entity_id": UUID,
        "relationships": array(obj({**_RELATION_FIELDS, **_OTHER})),
        "relationship_total": COUNT,
        "state_history": array(FACT),
        "state_history_truncated": BOOLEAN,
    },
)
"""`neo4j_get_entity`: the entity, where each field comes from, and what was asked beside it."""


def listing(name: str, items: Schema) -> Schema:
    """A page of things under `name`, with the number of all that match."""
    return obj({name: array(items), "total": COUNT})
