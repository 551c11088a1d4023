"""A furnished world: one item of nearly every kind, and arguments that fit each tool."""

from collections.abc import Mapping
from typing import Any

from canonry.gateway.tool import Tool
from canonry.narrative.toolset.contract import published
from tests.toolsets.narrative.kit import World, a_world

Known = Mapping[str, Any]


async def a_furnished_world(world: World | None = None) -> tuple[World, dict[str, Any]]:
    """A world with one item of nearly every kind, and values that fit properties by name."""
    world = world or await a_world()
    elsewhere = await world.another_universe()
    ann, ben = await world.entity("Ann", state_tags=["alive"]), await world.entity("Ben")
    await world.entity("Cid")
    inn = await world.entity("Inn", entity_type="location")
    story = await world.story()
    scene = await world.call(
        "mongodb_create_scene",
        "Orchestrator",
        story_id=story,
        universe_id=world.universe_id,
        title="A scene",
        location_ref=inn,
        participating_entities=[ann],
    )
    scene_id = scene["scene_id"]
    turn = await world.call(
        "mongodb_append_turn", "Narrator", scene_id=scene_id, speaker="gm", text="It rains."
    )
    change = {"entity_id": ann, "tag": "wet", "action": "add"}
    proposal = await world.call(
        "mongodb_create_proposed_change",
        "Narrator",
        scene_id=scene_id,
        type="state_change",
        content=change,
        evidence=[{"type": "turn", "ref_id": turn["turn_id"]}],
        confidence=0.9,
        authority="gm",
    )
    multiverse = await world.call("neo4j_create_multiverse", name="All")
    fact = await world.fact("It rains", ann)
    cause, effect = await world.event("Rain", ann), await world.event("Mud", ann)
    return world, {
        "universe_id": world.universe_id,
        "multiverse_id": multiverse["multiverse_id"],
        "source_id": world.source_id,
        "entity_id": ann,
        "from_entity_id": ann,
        "to_entity_id": ben,
        "kept_entity_id": ann,
        "merged_entity_id": ben,
        "location_ref": inn,
        "derives_from": await world.entity("Human", entity_class="EntityArchetype"),
        "story_id": story,
        "parent_story_id": story,
        "scene_id": scene_id,
        "turn_id": turn["turn_id"],
        "proposal_id": proposal["proposal_id"],
        "relationship_id": await world.relation(ann, "LOCATED_IN", inn),
        "fact_id": fact,
        "linked_fact_id": fact,
        "id": fact,
        "state_tag_changes": {"add": ["wet"], "remove": ["alive"]},
        "canonical_id": cause,
        "cause_event_id": cause,
        "effect_event_id": effect,
        "stranger": await elsewhere.entity("Zed"),
        "rel_type": "KNOWS",
        "evidence_ref": f"turn:{turn['turn_id']}",
        "evidence_refs": world.evidence,
        "evidence": [{"type": "source", "ref_id": world.source_id}],
        "involved_entity_ids": [ann],
        "participating_entities": [ann],
        "causes_event_ids": [effect],
        "canonical_outcome_ids": [effect],
        "content": change,
    }


def a_role_for(tool: Tool) -> str:
    """An agent type that may call `tool`."""
    return next(role for role in ROLES if role in tool.roles or "*" in tool.roles)


def fitting_arguments(tool: Tool, known: Known) -> dict[str, Any]:
    """Arguments that `tool` takes: what it requires, and the ids that fit."""
    properties = tool.input_schema["properties"]
    required = set(tool.input_schema.get("required", ()))
    wanted = {name for name in properties if name in required or name in ALSO}
    choices = {
        **known,
        **CHOICES,
        "calls": [
            {"name": "neo4j_get_universe", "arguments": {"universe_id": known["universe_id"]}},
            {"name": "neo4j_query_entities", "arguments": {}},
        ],
    }
    return {name: fitting_value(name, properties[name], choices) for name in sorted(wanted)}


def fitting_value(name: str, schema: Known, known: Known) -> Any:
    if name in known:
        return known[name]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "string":
            return "Something"
        case "number" | "integer":
            return 1
        case "array":
            return [fitting_value("", schema["items"], known)]
        case _:
            return {}


ROLES: list[str] = sorted(published()["agent_types"])
CHOICES = {
    "at": "2025-01-16T00:00:00Z",
    "decision": "rejected",
    "gm_notes": "Something",
    "speaker": "entity",
    "type": "state_change",
}
ALSO = frozenset(("universe_id", "entity_id", "story_id", "at"))
