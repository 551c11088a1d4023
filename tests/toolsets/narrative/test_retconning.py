"""Retconning: what rests on an item is told first, falls along on request, and lines close up."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import NOWHERE, World, a_world
from tests.toolsets.narrative.test_canonization import a_scene, a_turn, propose_content

pytestmark = pytest.mark.anyio


async def retcon_item(world: World, item: str, **more: Any) -> dict[str, Any]:
    return await world.call("neo4j_retcon_thing", id=item, reason="it never was", **more)


async def fact_levels(world: World, *items: str) -> list[str]:
    found = [await world.call("neo4j_explain", id=item) for item in items]
    return [each["canon_level"] for each in found]


async def owners_of(world: World, item: str) -> list[str]:
    found = await world.call(
        "neo4j_query_relationships", entity_id=item, rel_type="OWNS", current_only=True
    )
    return [each["from_entity_id"] for each in found["relationships"]]


async def a_death(world: World) -> dict[str, str]:
    """Ana slays Bo, told in one turn of a scene and canonized."""
    ana, bo = await world.entity("Ana"), await world.entity("Bo", state_tags=["alive"])
    scene = await a_scene(world, participating_entities=[ana, bo])
    turn = await a_turn(world, scene, "Ana slays Bo.")
    later = await a_turn(world, scene, "Bo had a red hat.")
    cited = {"turn_id": turn, "evidence": [{"type": "turn", "ref_id": turn}]}
    reported = {"turn_id": later, "evidence": [{"type": "turn", "ref_id": later}]}
    made = {"ana": ana, "bo": bo}
    contents: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
        "event": ("event", {"title": "Ana slays Bo", "entity_ids": [ana, bo]}, cited),
        "slain": ("fact", {"statement": "Bo was slain by Ana", "entity_ids": [bo, ana]}, cited),
        "death": ("state_change", {"entity_id": bo, "tag": "dead", "action": "add"}, cited),
        "hat": ("fact", {"statement": "Bo wears a red hat", "entity_ids": [bo]}, reported),
    }
    ids = {
        await propose_content(world, scene, kind, content, **more): name
        for name, (kind, content, more) in contents.items()
    }
    reply = await world.call("composite_canonize_scene", scene_id=scene)
    assert reply["rejected_proposals"] == reply["pending_proposals"] == []
    for verdict in reply["verdicts"]:
        made[ids[verdict["proposal_id"]]] = verdict["canonical_id"]
    return made


async def test_a_death_lists_its_event_and_killer_and_writes_nothing() -> None:
    world = await a_world()
    made = await a_death(world)
    before = await world.heads()

    reply = await retcon_item(world, made["death"], dry_run=True)

    listed = {each["id"]: each for each in reply["dependents"]}
    assert listed[made["event"]]["tie"] == listed[made["slain"]]["tie"] == "told_with_it"
    assert listed[made["slain"]]["says"] == "Bo was slain by Ana"
    assert listed[made["hat"]]["tie"] == "told_in_its_scene"
    assert [listed[made[name]]["certain"] for name in ("event", "slain", "hat")] == [1, 1, 0]
    assert (reply["retconned"], await world.heads()) == ([], before)


async def test_a_retracted_death_takes_sure_dependents_and_revives() -> None:
    world = await a_world()
    made = await a_death(world)

    reply = await retcon_item(world, made["death"], along=True)

    assert {made["death"], made["event"], made["slain"]} <= set(reply["retconned"])
    retracted = await fact_levels(world, made["death"], made["event"], made["slain"], made["hat"])
    assert retracted == ["retconned", "retconned", "retconned", "canon"]
    assert (await world.call("neo4j_get_entity", entity_id=made["bo"]))["state_tags"] == ["alive"]


async def test_facts_of_tags_displaced_by_a_death_hold_again() -> None:
    world = await a_world()
    bo = await world.entity("Bo")
    arguments: dict[str, Any] = {
        "entity_id": bo,
        "authority": "gm",
        "evidence_refs": world.evidence,
    }
    facts = [
        (
            await world.call(
                "neo4j_update_entity_state", state_tag_changes={"add": [tag]}, **arguments
            )
        )
        for tag in ("alive", "dead")
    ]
    (alive,), (dead, denial) = (each["fact_ids"] for each in facts)

    reply = await retcon_item(world, dead, along=True)

    assert reply["resumed"] == [alive]
    assert await fact_levels(world, alive, dead, denial) == ["canon", "retconned", "retconned"]
    assert (await world.call("neo4j_get_entity", entity_id=bo))["state_tags"] == ["alive"]


async def test_by_default_only_the_item_itself_is_retracted() -> None:
    world = await a_world()
    made = await a_death(world)

    reply = await retcon_item(world, made["event"])

    assert reply["retconned"] == [made["event"]]
    assert await fact_levels(world, made["event"], made["slain"]) == ["retconned", "canon"]


async def test_a_named_dependent_is_retracted_and_a_stranger_is_refused() -> None:
    world = await a_world()
    made = await a_death(world)
    stranger = await world.fact("It rains", await world.entity("Cid"))
    asked: dict[str, Any] = {"id": made["death"], "reason": "no"}

    data = await world.refused("neo4j_retcon_thing", code=-32003, along_ids=[stranger], **asked)
    reply = await retcon_item(world, made["death"], along_ids=[made["hat"]])

    assert data["code"] == "retcon.not-dependent"
    assert set(reply["retconned"]) == {made["death"], made["hat"]}
    assert await fact_levels(world, made["slain"]) == ["canon"]


async def test_a_retracted_event_takes_its_effects_and_mentions() -> None:
    world = await a_world()
    ana, bo = await world.entity("Ana"), await world.entity("Bo")
    spark, fire, smoke = [await world.event(t, ana) for t in ("A spark", "A fire", "Smoke")]
    cough = await world.event("Bo coughs", bo)
    for cause, effect in ((spark, fire), (fire, cough)):
        await world.call("neo4j_create_causal_link", cause_event_id=cause, effect_event_id=effect)
    saw = await world.relation(ana, "KNOWS", bo, properties={"since_event": fire})

    reply = await retcon_item(world, spark, along=True)

    ties = {each["id"]: (each["tie"], each["rests_on"]) for each in reply["dependents"]}
    assert ties == {
        fire: ("caused_by_it", spark),
        cough: ("caused_by_it", fire),
        saw: ("names_it", fire),
    }
    assert await fact_levels(world, spark, fire, cough, saw) == ["retconned"] * 4
    assert await fact_levels(world, smoke) == ["canon"]


async def test_an_owner_continues_if_the_next_one_is_retracted() -> None:
    world = await a_world()
    ana, bo = await world.entity("Ana"), await world.entity("Bo")
    crown = await world.entity("Crown", entity_type="object")
    first = await world.relation(ana, "OWNS", crown)
    second = await world.relation(bo, "OWNS", crown)

    reply = await retcon_item(world, second)

    assert reply["resumed"] == [first]
    assert await owners_of(world, crown) == [ana]


async def test_neighbours_of_a_retracted_owner_follow_each_other() -> None:
    world = await a_world()
    people = [await world.entity(name) for name in ("Ana", "Bo", "Cid")]
    crown = await world.entity("Crown", entity_type="object")
    years = ("1400", "1410", "1420")
    owned = [
        await world.relation(one, "OWNS", crown, since=f"{year}-01-01T00:00:00Z")
        for one, year in zip(people, years, strict=True)
    ]

    await retcon_item(world, owned[1])

    found = await world.call("neo4j_query_relationships", entity_id=crown, rel_type="OWNS")
    untils = {each["relationship_id"]: each["until"] for each in found["relationships"]}
    assert untils[owned[0]] == "1420-01-01T00:00:00Z"
    await retcon_item(world, owned[2])
    assert await owners_of(world, crown) == [people[0]]


async def test_an_enmity_continues_if_the_alliance_after_it_is_retracted() -> None:
    world = await a_world()
    ana, bo = await world.entity("Ana"), await world.entity("Bo")
    enemies = await world.relation(ana, "ENEMY_OF", bo, since="1400-01-01T00:00:00Z")
    allies = await world.relation(bo, "ALLY_OF", ana, since="1410-01-01T00:00:00Z")

    reply = await retcon_item(world, allies)

    assert reply["resumed"] == [enemies]


async def test_a_retracted_entity_lists_and_takes_its_statements() -> None:
    world = await a_world()
    ana, bo = await world.entity("Ana"), await world.entity("Bo")
    fact = await world.fact("Ana sings", ana)
    event = await world.event("A song", ana, bo)
    knows = await world.relation(bo, "KNOWS", ana)
    other = await world.fact("Bo listens", bo)

    reply = await retcon_item(world, ana, along=True)

    assert {each["id"] for each in reply["dependents"]} == {fact, event, knows}
    assert await fact_levels(world, ana, fact, event, knows) == ["retconned"] * 4
    assert await fact_levels(world, other, bo) == ["canon", "canon"]


async def test_a_repeated_call_needs_its_key_to_answer_the_same() -> None:
    world = await a_world()
    made = await a_death(world)
    asked: dict[str, Any] = {"id": made["death"], "reason": "no", "along": True}

    first = await world.call("neo4j_retcon_thing", key="once", **asked)
    heads = await world.heads()
    again = await world.call("neo4j_retcon_thing", key="once", **asked)

    assert set(again["retconned"]) == set(first["retconned"])
    assert await world.heads() == heads
    data = await world.refused("neo4j_retcon_thing", code=-32004, **asked)
    assert data["code"] == "fact.retconned"


async def test_noncanonical_items_cannot_be_retconned() -> None:
    world = await a_world()

    for item in (NOWHERE, world.source_id):
        data = await world.refused("neo4j_retcon_thing", code=-32002, id=item, reason="no")
        assert data["code"] == "thing.unknown"
    await world.refused("neo4j_retcon_thing", "Narrator", code=-32001, id=NOWHERE, reason="no")
