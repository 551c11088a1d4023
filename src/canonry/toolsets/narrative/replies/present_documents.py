"""Presentation of documents: scenes, turns, proposals and memories as JSON, and its schemas.

The game master's notes are presented nowhere but in a scene's context.
"""

from collections.abc import Mapping
from typing import Any, Final

from canonry.domain.provenance import Evidence
from canonry.domain.things.memories import Memory
from canonry.domain.things.proposals import Decision, Proposal
from canonry.domain.things.scenes import Scene, Turn
from canonry.domain.time import render_instant
from canonry.gateway.tool import Schema
from canonry.toolsets.narrative.replies.present import Presented, shown_instant
from canonry.toolsets.narrative.replies.schemas import (
    AUTHORITY,
    COUNT,
    INSTANT,
    INTEGER,
    NUMBER,
    OBJECT,
    TEXT,
    UUID,
    array,
    enum,
    nullable,
    obj,
)

SCENE_STATUS: Final = enum("active", "finalizing", "completed")
PROPOSAL_STATUS: Final = enum("pending", "accepted", "rejected")
PROPOSAL_TYPE: Final = enum("fact", "entity", "relationship", "state_change", "event")

SCENE_FIELDS: Final[Mapping[str, Schema]] = {
    "scene_id": UUID,
    "story_id": UUID,
    "universe_id": UUID,
    "title": TEXT,
    "purpose": nullable(TEXT),
    "status": SCENE_STATUS,
    "order": INTEGER,
    "location_ref": nullable(UUID),
    "participating_entities": array(UUID),
    "time_ref": nullable(INSTANT),
    "canonical_outcomes": array(UUID),
    "summary": nullable(TEXT),
    "total_turns": COUNT,
    "created_at": INSTANT,
    "updated_at": INSTANT,
    "completed_at": nullable(INSTANT),
}
SCENE: Final = obj(SCENE_FIELDS)


def present_scene(scene: Scene) -> Presented:
    """A scene without what was said in it."""
    return {
        "scene_id": scene.id,
        "story_id": scene.story_id,
        "universe_id": scene.space,
        "title": scene.title,
        "purpose": scene.purpose,
        "status": scene.status.value,
        "order": scene.order,
        "location_ref": scene.location_ref,
        "participating_entities": list(scene.participants),
        "time_ref": shown_instant(scene.time_ref),
        "canonical_outcomes": list(scene.outcomes),
        "summary": scene.summary,
        "total_turns": scene.turn_count,
        "created_at": render_instant(scene.created_at),
        "updated_at": render_instant(scene.updated_at),
        "completed_at": shown_instant(scene.completed_at),
    }


_TURN_FIELDS: Final[Mapping[str, Schema]] = {
    "turn_id": UUID,
    "index": COUNT,
    "speaker": enum("user", "gm", "entity"),
    "entity_id": nullable(UUID),
    "text": TEXT,
    "timestamp": INSTANT,
    "resolution_ref": nullable(TEXT),
}
TURN: Final = obj(_TURN_FIELDS)
NAMED_TURN: Final = obj({**_TURN_FIELDS, "entity_name": nullable(TEXT)})


def present_turn(turn: Turn) -> Presented:
    """One utterance; `index` counts from 0 within its scene."""
    return {
        "turn_id": turn.id,
        "index": turn.index,
        "speaker": turn.speaker.value,
        "entity_id": turn.entity_id,
        "text": turn.text,
        "timestamp": render_instant(turn.timestamp),
        "resolution_ref": turn.resolution_ref,
    }


def present_named_turn(turn: Turn, names: Mapping[str, str]) -> Presented:
    """The same with the name of the entity that speaks."""
    return {**present_turn(turn), "entity_name": names.get(turn.entity_id or "")}


_DECISION: Final = obj(
    {
        "rule": TEXT,
        "score": nullable(NUMBER),
        "conflicts": array(TEXT),
        "made": array(UUID),
        "decided_by": TEXT,
    }
)
PROPOSAL: Final = obj(
    {
        "proposal_id": UUID,
        "universe_id": UUID,
        "scene_id": nullable(UUID),
        "turn_id": nullable(UUID),
        "type": PROPOSAL_TYPE,
        "content": OBJECT,
        "original_content": OBJECT,
        "evidence": array(obj({"type": TEXT, "ref_id": UUID})),
        "confidence": NUMBER,
        "authority": AUTHORITY,
        "proposed_by": TEXT,
        "status": PROPOSAL_STATUS,
        "rationale": nullable(TEXT),
        "canonical_id": nullable(UUID),
        "decision": nullable(_DECISION),
        "created_at": INSTANT,
        "evaluated_at": nullable(INSTANT),
    }
)


def present_proposal(proposal: Proposal) -> Presented:
    """A proposal with its verdict, if it has one."""
    decision = proposal.decision
    return {
        "proposal_id": proposal.id,
        "universe_id": proposal.space,
        "scene_id": proposal.scene_id,
        "turn_id": proposal.turn_id,
        "type": proposal.type.value,
        "content": dict(proposal.content),
        "original_content": dict(proposal.original),
        "evidence": [_evidence(each) for each in proposal.evidence],
        "confidence": proposal.confidence,
        "authority": proposal.authority.value,
        "proposed_by": proposal.proposed_by,
        "status": proposal.status.value,
        "rationale": None if decision is None else decision.rationale,
        "canonical_id": None if decision is None else decision.canonical_id,
        "decision": None if decision is None else _decision(decision),
        "created_at": render_instant(proposal.created_at),
        "evaluated_at": None if decision is None else render_instant(decision.decided_at),
    }


def _evidence(evidence: Evidence) -> Presented:
    return {"type": evidence.kind.value, "ref_id": evidence.ref}


def _decision(decision: Decision) -> Presented:
    return {
        "rule": decision.rule,
        "score": decision.score,
        "conflicts": list(decision.conflicts),
        "made": list(decision.made),
        "decided_by": decision.decided_by,
    }


MEMORY_FIELDS: Final[Mapping[str, Schema]] = {
    "memory_id": UUID,
    "entity_id": UUID,
    "text": TEXT,
    "linked_fact_id": nullable(UUID),
    "scene_id": nullable(UUID),
    "emotional_valence": NUMBER,
    "importance": NUMBER,
    "certainty": NUMBER,
    "created_at": INSTANT,
}


def present_memory(memory: Memory) -> dict[str, Any]:
    """What one character believes."""
    return {
        "memory_id": memory.id,
        "entity_id": memory.entity_id,
        "text": memory.text,
        "linked_fact_id": memory.linked_fact_id,
        "scene_id": memory.scene_id,
        "emotional_valence": memory.emotional_valence,
        "importance": memory.importance,
        "certainty": memory.certainty,
        "created_at": render_instant(memory.created_at),
    }
