"""Shapes: how the narrative tools answer with the things of canon.

The game master's notes are in no shape of a scene; only its context tells them.
"""

from collections.abc import Mapping
from typing import Any, Final

from canonry.canon.session.commit_change import Receipt, the_made
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
    enum,
    given,
    nullable,
    optional,
)
from canonry.log.entries import ThingDraft
from canonry.log.schemas.narrative import narrative_type

AUDIENCE: Final = array(TEXT)
AUTHORITY: Final = enum("source", "gm", "player", "system")
SCENE_STATUS: Final = enum("active", "finalizing", "completed")
PROPOSAL_STATUS: Final = enum("pending", "accepted", "rejected")
PROPOSAL_TYPE: Final = enum("fact", "entity", "relationship", "state_change", "event")
WORDS: Final = array(WORD)
UUIDS: Final = array(UUID)
TEXTS_BY_NAME: Final = Field({"type": "object", "additionalProperties": TEXT.schema}, dict)

_BACKED: Final[Mapping[str, Field]] = {
    "canon_level": WORD.of("level"),
    "confidence": NUMBER,
    "authority": WORD,
    "evidence_refs": WORDS.of("evidence"),
    "created_at": INSTANT,
}


def _property(name: str) -> Field:
    return optional(TEXT).of(lambda space: space.properties.get(name))


SPACE: Final = Shape(
    universe_id=optional(UUID).of("id"),
    multiverse_id=optional(nullable(UUID)).of("parent"),
    name=TEXT,
    description=TEXT,
    genre=_property("genre"),
    tone=_property("tone"),
    tech_level=_property("tech_level"),
    system_name=_property("system_name"),
    calendar=optional(OBJECT).of(lambda space: space.properties.get("calendar")),
    created_at=INSTANT,
)

ENTITY: Final = Shape(
    entity_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    entity_class=WORD,
    entity_type=TEXT.by(narrative_type),
    name=TEXT,
    aliases=array(TEXT),
    description=TEXT,
    properties=OBJECT,
    state_tags=array(TEXT),
    derives_from=nullable(UUID),
    merged_entity_ids=UUIDS.of("members"),
    replaced_by=nullable(UUID),
    **_BACKED,
    updated_at=INSTANT,
)
"""An entity with its current snapshot; `merged_entity_ids` are those that it answers for."""

RELATION: Final = Shape(
    relationship_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    rel_type=TEXT,
    from_entity_id=UUID.of("from_id"),
    to_entity_id=UUID.of("to_id"),
    properties=OBJECT,
    since=nullable(INSTANT),
    until=nullable(INSTANT),
    current=BOOLEAN,
    scene_id=nullable(UUID),
    proposal_id=nullable(UUID),
    replaced_by=nullable(UUID),
    retcon_reason=nullable(TEXT),
    **_BACKED,
)
"""A relation; `current` while it is canon and nothing has ended it."""

FACT: Final = Shape(
    fact_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    statement=TEXT,
    fact_type=WORD,
    properties=OBJECT,
    time_ref=nullable(INSTANT),
    time_words=nullable(TEXT),
    duration=nullable(COUNT),
    until=nullable(INSTANT),
    involved_entity_ids=UUIDS.of("involved"),
    scene_id=nullable(UUID),
    proposal_id=nullable(UUID),
    replaces=nullable(UUID),
    replaced_by=nullable(UUID),
    superseded_by=nullable(UUID),
    retcon_reason=nullable(TEXT),
    **_BACKED,
)
"""A fact; where a later one superseded it, `until` tells when, if that is known."""

EVENT: Final = Shape(
    event_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    scene_id=nullable(UUID),
    title=TEXT,
    description=TEXT,
    time_ref=nullable(INSTANT),
    time_words=nullable(TEXT),
    severity=INTEGER,
    involved_entity_ids=UUIDS.of("involved"),
    causes_event_ids=UUIDS.of("causes"),
    proposal_id=nullable(UUID),
    replaced_by=nullable(UUID),
    retcon_reason=nullable(TEXT),
    **_BACKED,
)
"""An event; `causes_event_ids` are the events that it brought about."""

STORY: Final = Shape(
    story_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    title=TEXT,
    story_type=WORD,
    theme=nullable(TEXT),
    premise=nullable(TEXT),
    parent_story_id=nullable(UUID).of("parent_id"),
    start_time_ref=nullable(INSTANT),
    status=WORD,
    scene_count=COUNT,
    created_at=INSTANT,
)

SOURCE: Final = Shape(
    source_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    doc_id=TEXT,
    title=TEXT,
    edition=nullable(TEXT),
    provenance=nullable(TEXT).of("origin"),
    source_type=WORD,
    canon_level=WORD.of("level"),
    created_at=INSTANT,
)

AXIOM: Final = Shape(
    axiom_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    statement=TEXT,
    domain=WORD,
    constraint=nullable(OBJECT).by(
        Shape(kind=TEXT, values=array(TEXT), entity_type=optional(TEXT)),
    ),
    **_BACKED,
)
"""A law of a world, with the constraint that the gates enforce, if any."""

SCENE: Final = Shape(
    scene_id=UUID.of("id"),
    story_id=UUID,
    universe_id=UUID.of("space"),
    title=TEXT,
    purpose=nullable(TEXT),
    status=SCENE_STATUS,
    order=INTEGER,
    location_ref=nullable(UUID),
    participating_entities=UUIDS.of("participants"),
    departed_entities=UUIDS.of("departed"),
    time_ref=nullable(INSTANT),
    time_words=nullable(TEXT),
    canonical_outcomes=UUIDS.of("outcomes"),
    summary=nullable(TEXT),
    total_turns=COUNT.of("turn_count"),
    created_at=INSTANT,
    updated_at=INSTANT,
    completed_at=nullable(INSTANT),
)

TURN: Final = Shape(
    turn_id=UUID.of("id"),
    index=COUNT,
    speaker=enum("user", "gm", "entity"),
    entity_id=nullable(UUID),
    text=TEXT,
    timestamp=INSTANT,
    resolution_ref=nullable(TEXT),
)
"""One utterance; `index` counts from 0 within its scene."""

_NAMED_TURN: Final = Shape(**TURN.fields, entity_name=nullable(given(TEXT)))


def _named(page: Any) -> list[dict[str, Any]]:
    names = page.names
    return [_NAMED_TURN(turn, entity_name=names.get(turn.entity_id or "")) for turn in page.turns]


NAMED_TURNS: Final = array(_NAMED_TURN).by(_named)
"""Turns, of a thing that has them as `turns` and the `names` of the entities which speak."""

CONFLICTS: Final = array(
    Shape(id=TEXT, grade=enum("contradiction", "possible").by(str), reason=TEXT)
)
"""Conflicts of a proposal, each with how sure it is and why."""

_DECISION: Final = Shape(
    rule=TEXT,
    score=nullable(NUMBER),
    conflicts=array(TEXT),
    conflict_details=CONFLICTS.of("all_conflicts"),
    made=UUIDS,
    decided_by=TEXT,
)
_REVIEW: Final = Shape(
    rule=TEXT,
    rationale=TEXT,
    score=nullable(NUMBER),
    conflicts=array(TEXT),
    conflict_details=CONFLICTS.of("all_conflicts"),
    judged_at=INSTANT.of("decided_at"),
)
PROPOSAL: Final = Shape(
    proposal_id=UUID.of("id"),
    universe_id=UUID.of("space"),
    scene_id=nullable(UUID),
    turn_id=nullable(UUID),
    type=PROPOSAL_TYPE,
    content=OBJECT,
    original_content=OBJECT.of("original"),
    evidence=array(Shape(type=WORD.of("kind"), ref_id=UUID.of("ref"))),
    confidence=NUMBER,
    authority=AUTHORITY,
    proposed_by=TEXT,
    status=PROPOSAL_STATUS,
    rationale=nullable(TEXT).of(lambda each: each.decision and each.decision.rationale),
    canonical_id=nullable(UUID).of(lambda each: each.decision and each.decision.canonical_id),
    decision=nullable(_DECISION),
    review=nullable(_REVIEW),
    waived=array(TEXT),
    created_at=INSTANT,
    evaluated_at=nullable(INSTANT).of(lambda each: each.decision and each.decision.decided_at),
)
"""A proposal with its verdict, if it has one."""

MEMORY: Final = Shape(
    memory_id=UUID.of("id"),
    entity_id=UUID,
    text=TEXT,
    linked_fact_id=nullable(UUID),
    scene_id=nullable(UUID),
    emotional_valence=NUMBER,
    importance=NUMBER,
    certainty=NUMBER,
    created_at=INSTANT,
)
"""What one character believes."""


def page_shape(name: str, items: Field) -> Shape:
    """A page of things under `name`, with the number of all that match."""
    return Shape(**{name: array(items).of("items")}, total=COUNT)


def canon_created(id_name: str) -> Shape:
    """The new thing's id and level, when it was recorded, and what the keeper should know."""
    return Shape(
        **{id_name: UUID.of("id")},
        canon_level=WORD.of("level"),
        created_at=given(INSTANT),
        warnings=given(array(TEXT)),
    )


def created(shape: Shape, receipt: Receipt[Any], kind: type[ThingDraft]) -> dict[str, Any]:
    """What a commit made, in a shape whose `created_at` and `warnings` are the commit's."""
    thing = the_made(receipt, kind)
    return shape(thing, created_at=receipt.recorded_at, warnings=receipt.warnings)
