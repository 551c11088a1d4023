"""Context tool: everything that a model should know before the next turn of a scene."""

from typing import Any, Final

from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Fact
from canonry.domain.things.relations import Relation
from canonry.domain.things.scenes import Scene
from canonry.domain.time import render_instant
from canonry.domain.vocabularies.narrative_types import narrative_type
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.replies.present import Presented, shown_instant
from canonry.toolsets.narrative.replies.present_documents import (
    MEMORY_FIELDS,
    NAMED_TURN,
    present_memory,
    present_named_turn,
)
from canonry.toolsets.narrative.replies.present_passages import HIT, present_hit
from canonry.toolsets.narrative.replies.schemas import (
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
from canonry.toolsets.narrative.requests.arguments import optional_text, uuid_of
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.narrative.assemble_context import (
    ContextRequest,
    SceneContext,
    assemble_context,
)
from canonry.usecases.narrative.gather_narrative import ThreadKind

_ENTITY: Final = obj(
    {
        "entity_id": UUID,
        "name": TEXT,
        "entity_class": TEXT,
        "entity_type": TEXT,
        "role": enum("participant", "location", "related"),
        "description": TEXT,
        "properties": OBJECT,
        "state_tags": array(TEXT),
    }
)
_FACT: Final = obj(
    {
        "fact_id": UUID,
        "statement": TEXT,
        "time_ref": nullable(INSTANT),
        "involved_entity_ids": array(UUID),
        "confidence": NUMBER,
        "authority": TEXT,
    }
)
_RELATION: Final = obj(
    {
        "relationship_id": UUID,
        "rel_type": TEXT,
        "from_entity_id": UUID,
        "from_name": TEXT,
        "to_entity_id": UUID,
        "to_name": TEXT,
    }
)
_PREVIOUS: Final = obj(
    {
        "scene_id": UUID,
        "title": TEXT,
        "order": INTEGER,
        "summary": nullable(TEXT),
        "completed_at": nullable(INSTANT),
    }
)
_THREAD: Final = obj({"kind": enum(*(kind.value for kind in ThreadKind)), "id": UUID, "text": TEXT})
_MEMORY: Final = obj({**MEMORY_FIELDS, "entity_name": TEXT, "score": NUMBER, "terms": array(TEXT)})
_SECTIONS: Final = (
    "entities",
    "facts",
    "relations",
    "prior_turns",
    "previous_scenes",
    "open_threads",
    "similar_scenes",
    "character_memories",
    "rule_excerpts",
)
CONTEXT: Final = obj(
    {
        "canonical": obj(
            {"entities": array(_ENTITY), "facts": array(_FACT), "relations": array(_RELATION)}
        ),
        "narrative": obj(
            {
                "prior_turns": array(NAMED_TURN),
                "scene_summary": nullable(TEXT),
                "gm_notes": nullable(TEXT),
                "previous_scenes": array(_PREVIOUS),
                "open_threads": array(_THREAD),
            }
        ),
        "recalled": obj(
            {
                "similar_scenes": array(HIT),
                "character_memories": array(_MEMORY),
                "rule_excerpts": array(HIT),
            }
        ),
        "metadata": obj(
            {
                "universe_id": UUID,
                "story_id": UUID,
                "scene_id": UUID,
                "timestamp": INSTANT,
                "scene_title": TEXT,
                "scene_purpose": nullable(TEXT),
                "scene_status": TEXT,
                "total_turns": COUNT,
                "recall_query": nullable(TEXT),
                "degraded": array(TEXT),
                "tokens": obj({"budget": COUNT, "used": COUNT}),
                "omitted": obj(dict.fromkeys(_SECTIONS, COUNT)),
            }
        ),
    }
)


def present_context(context: SceneContext, *, narrative: bool) -> Presented:
    """The three sections and what they were made from; keys stand also where nothing does."""
    scene = context.scene
    return {
        "canonical": _canonical(context),
        "narrative": {
            "prior_turns": [
                present_named_turn(turn, context.narrative.names)
                for turn in context.narrative.turns
            ],
            "scene_summary": scene.summary if narrative else None,
            "gm_notes": scene.gm_notes if narrative else None,
            "previous_scenes": [_previous(each) for each in context.narrative.scenes],
            "open_threads": [
                {"kind": thread.kind.value, "id": thread.id, "text": thread.text}
                for thread in context.narrative.threads
            ],
        },
        "recalled": _recalled(context),
        "metadata": {
            "universe_id": scene.space,
            "story_id": scene.story_id,
            "scene_id": scene.id,
            "timestamp": render_instant(context.at),
            "scene_title": scene.title,
            "scene_purpose": scene.purpose,
            "scene_status": scene.status.value,
            "total_turns": scene.turn_count,
            "recall_query": context.query,
            "degraded": list(context.degraded),
            "tokens": {"budget": context.budget, "used": context.used},
            "omitted": {name: context.omitted[name] for name in _SECTIONS},
        },
    }


def _canonical(context: SceneContext) -> Presented:
    present = {entity.id: "participant" for entity in context.cast.participants}
    if context.cast.location is not None:
        present.setdefault(context.cast.location.id, "location")
    roots = context.canonical.roots
    return {
        "entities": [
            _entity(entity, present.get(entity.id, "related"))
            for entity in context.canonical.entities
        ],
        "facts": [_fact(fact) for fact in context.canonical.facts],
        "relations": [
            _relation(edge, roots[edge.from_id], roots[edge.to_id])
            for edge in context.canonical.relations
        ],
    }


def _entity(entity: Entity, role: str) -> Presented:
    return {
        "entity_id": entity.id,
        "name": entity.name,
        "entity_class": entity.entity_class.value,
        "entity_type": narrative_type(entity.entity_type),
        "role": role,
        "description": entity.description,
        "properties": dict(entity.properties),
        "state_tags": list(entity.state_tags),
    }


def _fact(fact: Fact) -> Presented:
    return {
        "fact_id": fact.id,
        "statement": fact.statement,
        "time_ref": shown_instant(fact.time_ref),
        "involved_entity_ids": list(fact.involved),
        "confidence": fact.confidence,
        "authority": fact.authority.value,
    }


def _relation(edge: Relation, from_entity: Entity, to_entity: Entity) -> Presented:
    return {
        "relationship_id": edge.id,
        "rel_type": edge.rel_type,
        "from_entity_id": from_entity.id,
        "from_name": from_entity.name,
        "to_entity_id": to_entity.id,
        "to_name": to_entity.name,
    }


def _previous(scene: Scene) -> Presented:
    return {
        "scene_id": scene.id,
        "title": scene.title,
        "order": scene.order,
        "summary": scene.summary,
        "completed_at": shown_instant(scene.completed_at),
    }


def _recalled(context: SceneContext) -> dict[str, Any]:
    recalled = context.recalled
    return {
        "similar_scenes": [present_hit(hit, recalled.things) for hit in recalled.scenes],
        "character_memories": [
            {
                **present_memory(each.memory),
                "entity_id": each.owner.id,
                "entity_name": each.owner.name,
                "score": each.score,
                "terms": list(each.terms),
            }
            for each in recalled.memories
        ],
        "rule_excerpts": [present_hit(hit, recalled.things) for hit in recalled.rules],
    }


async def _assemble(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    narrative = bool(arguments.get("include_narrative", True))
    request = ContextRequest(
        scene_id=uuid_of(arguments, "scene_id"),
        canonical=bool(arguments.get("include_canonical", True)),
        narrative=narrative,
        recalled=bool(arguments.get("include_semantic", True)),
        query=optional_text(arguments, "semantic_query", canon.policy.limits.query),
    )
    return present_context(await assemble_context(canon, caller, request), narrative=narrative)


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "composite_assemble_scene_context",
        title="Assemble scene context",
        description=(
            "Gather what a model should know before the next turn: who is there and what holds, "
            "what was said, and what it recalls."
        ),
        output_schema=CONTEXT,
        run=_assemble,
        read_only=True,
        idempotent=True,
    ),
)
