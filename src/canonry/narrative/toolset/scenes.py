"""Tools for stories, scenes and turns, and for the context of the next turn."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final, NamedTuple

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Receipt
from canonry.gateway.replies import COUNT, Field, Shape, array
from canonry.gateway.tool import Arguments, Cached, Reply
from canonry.log.entries import (
    SaidAt,
    SceneDated,
    SceneNoted,
    ScenePlaced,
    SceneStaged,
    SceneSummarised,
)
from canonry.log.folding import proposals_key, thing_key, turns_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.items.scenes import SceneStatus
from canonry.narrative.toolset.contract import make_tool
from canonry.narrative.toolset.search import HITS
from canonry.narrative.toolset.shapes import TABLE
from canonry.narrative.usecases import scenes as usecases
from canonry.narrative.usecases.context import ContextRequest, SceneContext, assemble_context
from canonry.recall.domain.context import NAMED_MAX, Told
from canonry.values.ids import EntityId, SceneId

ACTIVE_SECONDS: Final = 30.0
_SCENE_IN_FULL: Final = TABLE.shape("scene_in_full")


def _dependencies(_: Arguments, reply: Reply) -> frozenset[str]:
    scene_id = str(reply["scene_id"])
    return frozenset((thing_key(scene_id), turns_key(scene_id), proposals_key(scene_id)))


async def _get_scene(
    canon: Canon,
    caller: Caller,
    *,
    scene_id: str,
    include_turns: bool,
    turn_limit: int,
    include_proposals: bool,
) -> Reply:
    turns = turn_limit if include_turns else 0
    found = await usecases.get_scene(canon, caller, scene_id, turns=turns)
    return _SCENE_IN_FULL(
        found,
        proposals=found.proposals.items if include_proposals else None,
        truncated=0 < len(found.turns) < found.total_turns,
    )


async def _update_scene(
    canon: Canon, caller: Caller, *, scene_id: str, sent: frozenset[str], **new: Any
) -> Receipt[Any]:
    """Change what was sent; null clears."""
    scene = SceneId(scene_id)
    made: dict[str, usecases.SceneChange] = {
        "gm_notes": SceneNoted(scene_id=scene, gm_notes=new["gm_notes"]),
        "time_ref": SceneDated(
            scene_id=scene, time_ref=new["time_ref"], time_words=new["time_words"]
        ),
        "said_at": SaidAt(thing_id=scene, said_at=new["said_at"]),
        "summary": SceneSummarised(scene_id=scene, summary=new["summary"]),
        "location_ref": ScenePlaced(scene_id=scene, location_ref=new["location_ref"]),
    }
    changes = [change for name, change in made.items() if name in sent]
    if not sent.isdisjoint(("joining_entities", "leaving_entities")):
        joined = tuple(map(EntityId, new["joining_entities"]))
        left = tuple(map(EntityId, new["leaving_entities"]))
        changes.append(SceneStaged(scene_id=scene, joined=joined, left=left))
    return await usecases.update_scene(canon, caller, scene, changes)


_LEFT_OUT: Final = TABLE.shape("left_out", dict)
_ENTITY: Final = TABLE.shape("context_entity")


class _Joined(NamedTuple):
    """A relation with the two entities that it joins."""

    relation: Relation
    start: Entity
    end: Entity


def _entities(context: SceneContext) -> list[dict[str, Any]]:
    roles = {entity.id: "participant" for entity in context.cast.participants}
    if context.cast.location is not None:
        roles.setdefault(context.cast.location.id, "location")
    return [
        _ENTITY(told, role=roles.get(told.entity.id, "related"), trimmed=_left_out(told))
        for told in context.canonical.entities
    ]


def _left_out(told: Told) -> dict[str, Any] | None:
    """Return the parts of an entity that were left out, and the tool that returns them."""
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
TABLE.kinds |= {
    "hits": HITS,
    "omitted": Shape(**{name: COUNT.of(itemgetter(name)) for name in _SECTIONS}),
}
TABLE.shape("context_canon", entities=array(_ENTITY).made(_entities), relations=_joined)
_NARRATIVE: Final = TABLE.shape("context_narrative", dict)
TABLE.shape(
    "context_recalled",
    similar_scenes=lambda recalled: (recalled.scenes, recalled.things),
    rule_excerpts=lambda recalled: (recalled.rules, recalled.things),
)
_CONTEXT: Final = TABLE.shape("context")
"""The three sections and their sources; members exist even if they are empty."""


async def _assemble_context(canon: Canon, caller: Caller, *, request: ContextRequest) -> Reply:
    context = await assemble_context(canon, caller, request)
    scene = context.scene if request.narrative else None
    section = _NARRATIVE(
        context, scene_summary=scene and scene.summary, gm_notes=scene and scene.gm_notes
    )
    return _CONTEXT(context, narrative=section)


TABLE.shape("finalized", status=lambda _: SceneStatus.COMPLETED)
TOOLS: Final = (
    make_tool(
        "mongodb_get_scene",
        _get_scene,
        Field(_SCENE_IN_FULL.schema),
        cached=Cached(
            seconds=lambda _, reply: ACTIVE_SECONDS if reply.get("status") == "active" else 0.0,
            depends_on=_dependencies,
        ),
    ),
    make_tool("mongodb_update_scene", _update_scene, TABLE.shape("scene_updated")),
    make_tool("composite_assemble_scene_context", _assemble_context, Field(_CONTEXT.schema)),
)
