"""A campaign with much of everything, and how many bytes each reading tool answers by default."""

from collections.abc import Mapping
from typing import Any

from tests.toolsets.narrative.stage import Stage, a_stage

MANY = 60
_PROSE = (
    "The road winds past the old mill, where the miller swears that lights move by night; "
    "three travellers paid in foreign silver, and none of them has been seen since the frost. "
)


async def a_long_campaign() -> tuple[Stage, str]:
    """Sixty of everything, as sentences of usual length, and the scene in which most was said."""
    stage = await a_stage()
    world = stage.world
    await world.call(
        "mongodb_ingest_source",
        source_id=world.source_id,
        text="\n\n".join(f"# Part {n}\n\n{_PROSE * 4}" for n in range(MANY)),
        mime_type="text/markdown",
    )
    long = await stage.scene("The long night")
    for n in range(MANY):
        who = await world.entity(
            f"Guard {n} of the mill",
            description=_PROSE,
            properties={"rank": "sergeant", "born": n, "home": "the village by the mill"},
            state_tags=["alive", "armed"],
        )
        some = (stage.frodo, stage.sam, who)
        at = f"1420-01-01T{n % 24:02}:{n:02}:00Z"
        await world.fact(f"Guard {n} saw lights at the mill, and told nobody.", *some, time_ref=at)
        await world.event(f"Guard {n} met the travellers", *some, description=_PROSE, time_ref=at)
        await world.relation(who, "KNOWS", stage.frodo)
        await world.story(f"Part {n}", premise=_PROSE)
        await stage.turn(long, _PROSE)
        await stage.propose(
            long, content={"statement": f"Guard {n} lies about it", "entity_ids": [who]}
        )
    for n in range(MANY // 2):
        scene = await stage.scene(f"Night {n}", purpose=_PROSE)
        await stage.complete(scene, _PROSE * 2)
    return stage, long


def heavy_questions(stage: Stage, scene_id: str) -> Mapping[str, Mapping[str, Any]]:
    """The reading tools whose replies grow with the canon, with what they need and no more."""
    world = {"universe_id": stage.world.universe_id}
    return {
        "neo4j_query_entities": world,
        "neo4j_query_facts": world,
        "neo4j_query_events": world,
        "neo4j_query_relationships": world,
        "neo4j_query_stories": world,
        "neo4j_get_timeline": world,
        "mongodb_query_scenes": world,
        "mongodb_query_snippets": {"source_id": stage.world.source_id},
        "mongodb_get_turns": {"scene_id": scene_id},
        "mongodb_get_scene": {"scene_id": scene_id},
        "mongodb_get_pending_proposals": {"scene_id": scene_id},
        "mongodb_query_proposals": {"scene_id": scene_id},
        "mongodb_query_reviews": {"scene_id": scene_id},
        "qdrant_search_canon": {"query_text": "lights at the mill", **world},
        "qdrant_semantic_search": {"query_text": "lights", "collection": "scene_chunks"},
        "composite_assemble_scene_context": {"scene_id": scene_id},
    }


async def reply_weights(stage: Stage, scene_id: str) -> dict[str, int]:
    """The bytes of each reply as text."""
    found: dict[str, int] = {}
    for tool, arguments in heavy_questions(stage, scene_id).items():
        agent = "ContextAssembly" if tool.startswith("composite") else "CanonKeeper"
        outcome = await stage.world.outcome(tool, arguments, agent=agent)
        assert outcome.error is None, outcome.text
        found[tool] = len(outcome.text.encode())
    return found


BEFORE = {
    "neo4j_query_entities": 37_908,
    "neo4j_query_facts": 35_312,
    "neo4j_query_events": 40_013,
    "neo4j_query_relationships": 24_780,
    "neo4j_query_stories": 23_349,
    "neo4j_get_timeline": 40_573,
    "mongodb_query_scenes": 8_968,
    "mongodb_query_snippets": 48_545,
    "mongodb_get_turns": 21_702,
    "mongodb_get_scene": 23_520,
    "mongodb_get_pending_proposals": 38_506,
    "mongodb_query_proposals": 38_506,
    "mongodb_query_reviews": 40_656,
    "qdrant_search_canon": 7_095,
    "qdrant_semantic_search": 9_741,
    "composite_assemble_scene_context": 16_414,
}
"""The same of the same campaign where lists answered 50 whole rows."""
