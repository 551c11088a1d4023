"""Context tool: everything that a model should know before the next turn of a scene."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final, NamedTuple

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
    WORD,
    Shape,
    array,
    enum,
    given,
    itself,
    nullable,
)
from canonry.gateway.tool import Arguments, Reply
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.narrative.toolset.arguments import optional_text, uuid_of
from canonry.narrative.toolset.contract import contract_tool
from canonry.narrative.toolset.search import HITS
from canonry.narrative.toolset.shapes import ENTITY, EVENT, FACT, MEMORY, NAMED_TURNS, SCENE
from canonry.narrative.usecases.context import ContextRequest, SceneContext, assemble_context
from canonry.narrative.usecases.gather_narrative import ThreadKind
from canonry.recall.domain.context import NAMED_MAX, Told

_LEFT_OUT: Final = Shape(
    read_with=TEXT,
    description=BOOLEAN,
    properties=array(TEXT),
    total_properties=COUNT,
    state_tags=COUNT,
)
_SHORT: Final = ENTITY.only("entity_id", "name", "entity_class", "entity_type")
_ENTITY: Final = Shape(
    **{name: each.of(f"entity.{each.source or name}") for name, each in _SHORT.items()},
    role=given(enum("participant", "location", "related")),
    state_tags=array(TEXT).of("head.tags"),
    located_in=nullable(Shape(entity_id=UUID.of("id"), name=TEXT)).of("head.place"),
    description=TEXT.of("sheet.description"),
    properties=OBJECT.of("sheet.properties"),
    trimmed=nullable(given(_LEFT_OUT.by(dict))),
)
_FACT: Final = Shape(
    **FACT.only(
        "fact_id", "statement", "time_ref", "involved_entity_ids", "confidence", "authority"
    )
)


class _Joined(NamedTuple):
    """A relation with the two entities that it joins."""

    relation: Relation
    start: Entity
    end: Entity


_RELATION: Final = Shape(
    relationship_id=UUID.of("relation.id"),
    rel_type=TEXT.of("relation.rel_type"),
    from_entity_id=UUID.of("start.id"),
    from_name=TEXT.of("start.name"),
    to_entity_id=UUID.of("end.id"),
    to_name=TEXT.of("end.name"),
)
_EVENT: Final = Shape(
    **EVENT.only("event_id", "title", "description", "time_ref", "severity", "scene_id"),
    **EVENT.only("involved_entity_ids"),
)
_PREVIOUS: Final = Shape(**SCENE.only("scene_id", "title", "order", "summary", "completed_at"))
_THREAD: Final = Shape(kind=enum(*ThreadKind), id=UUID, text=TEXT)
_MEMORY: Final = Shape(
    **{**MEMORY.within("memory"), "entity_id": UUID.of("owner.id")},
    entity_name=TEXT.of("owner.name"),
    score=NUMBER,
    terms=array(TEXT),
)
_SECTIONS: Final = (
    "entities",
    "facts",
    "relations",
    "events",
    "prior_turns",
    "previous_scenes",
    "open_threads",
    "similar_scenes",
    "character_memories",
    "rule_excerpts",
)


def _entities(context: SceneContext) -> list[dict[str, Any]]:
    roles = {entity.id: "participant" for entity in context.cast.participants}
    if context.cast.location is not None:
        roles.setdefault(context.cast.location.id, "location")
    return [
        _ENTITY(told, role=roles.get(told.entity.id, "related"), trimmed=_left_out(told))
        for told in context.canonical.entities
    ]


def _left_out(told: Told) -> dict[str, Any] | None:
    """What of an entity there was no room for, and the tool that tells it."""
    left = told.sheet.left
    if not left and not told.sheet.shortened and not told.head.tags_left:
        return None
    return _LEFT_OUT(
        read_with="neo4j_get_entity",
        description=told.sheet.shortened,
        properties=left[:NAMED_MAX],
        total_properties=len(left),
        state_tags=told.head.tags_left,
    )


def _joined(context: SceneContext) -> Iterator[_Joined]:
    roots = context.canonical.roots
    for edge in context.canonical.relations:
        yield _Joined(edge, roots[edge.from_id], roots[edge.to_id])


_CANONICAL: Final = Shape(
    entities=array(_ENTITY).made(_entities),
    facts=array(_FACT).of("canonical.facts"),
    relations=array(_RELATION).of(_joined),
    events=array(_EVENT).of("canonical.events"),
)
_NARRATIVE: Final = Shape(
    prior_turns=NAMED_TURNS.of("narrative"),
    scene_summary=nullable(given(TEXT)),
    gm_notes=nullable(given(TEXT)),
    previous_scenes=array(_PREVIOUS).of("narrative.scenes"),
    open_threads=array(_THREAD).of("narrative.threads"),
)
_RECALLED: Final = Shape(
    similar_scenes=HITS.of(lambda recalled: (recalled.scenes, recalled.things)),
    character_memories=array(_MEMORY).of("memories"),
    rule_excerpts=HITS.of(lambda recalled: (recalled.rules, recalled.things)),
)
_METADATA: Final = Shape(
    universe_id=UUID.of("scene.space"),
    story_id=UUID.of("scene.story_id"),
    scene_id=UUID.of("scene.id"),
    timestamp=INSTANT.of("at"),
    scene_title=TEXT.of("scene.title"),
    scene_purpose=nullable(TEXT).of("scene.purpose"),
    scene_status=WORD.of("scene.status"),
    total_turns=COUNT.of("scene.turn_count"),
    recall_query=nullable(TEXT).of("query"),
    degraded=array(TEXT),
    tokens=Shape(budget=COUNT, used=COUNT).of(itself),
    omitted=Shape(**{name: COUNT.of(itemgetter(name)) for name in _SECTIONS}),
)
_CONTEXT: Final = Shape(
    canonical=_CANONICAL.of(itself),
    narrative=given(_NARRATIVE.by(dict)),
    recalled=_RECALLED,
    metadata=_METADATA.of(itself),
)
"""The three sections and what they were made from; keys stand also where nothing does."""


@contract_tool(
    "composite_assemble_scene_context",
    "Gather what a model should know before the next turn: who is there and what holds, "
    "what was said, and what it recalls.",
    gives=_CONTEXT,
    read_only=True,
    also={"tokens": COUNT.but(minimum=200, maximum=16_000)},
)
async def _assemble_scene_context(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    narrative = bool(arguments.get("include_narrative", True))
    request = ContextRequest(
        scene_id=uuid_of(arguments, "scene_id"),
        canonical=bool(arguments.get("include_canonical", True)),
        narrative=narrative,
        recalled=bool(arguments.get("include_semantic", True)),
        query=optional_text(arguments, "semantic_query", None),
        tokens=None if (tokens := arguments.get("tokens")) is None else int(tokens),
    )
    context = await assemble_context(canon, caller, request)
    scene = context.scene if narrative else None
    section = _NARRATIVE(
        context,
        scene_summary=scene and scene.summary,
        gm_notes=scene and scene.gm_notes,
    )
    return _CONTEXT(context, narrative=section)


TOOLS: Final = (_assemble_scene_context,)
