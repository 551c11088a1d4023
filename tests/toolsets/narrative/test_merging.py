"""Merging: two entities answer as one, and can be two again."""

import pytest

from tests.toolsets.narrative.kit import NOWHERE, World, a_world

pytestmark = pytest.mark.anyio


async def merge_entities(world: World, kept: str, gone: str) -> None:
    await world.call(
        "neo4j_merge_entities", kept_entity_id=kept, merged_entity_id=gone, reason="the same"
    )


async def test_the_kept_entity_answers_for_both() -> None:
    world = await a_world()
    strider = await world.entity("Strider", state_tags=["alive"], properties={"trade": "ranger"})
    aragorn = await world.entity("Aragorn", state_tags=["armed"])
    bree = await world.entity("Bree", entity_type="location")
    await world.relation(strider, "LOCATED_IN", bree)
    fact = await world.fact("Strider smokes", strider)

    await merge_entities(world, aragorn, strider)

    got = await world.call("neo4j_get_entity", entity_id=strider, include_relationships=True)
    assert got["entity_id"] == aragorn
    assert got["requested_entity_id"] == strider
    assert got["merged_entity_ids"] == [strider]
    assert got["state_tags"] == ["alive", "armed"]
    assert got["properties"] == {"trade": "ranger"}
    assert [r["name"] for r in got["relationships"]] == ["Bree"]
    facts = await world.call("neo4j_query_facts", entity_id=aragorn)
    assert [f["fact_id"] for f in facts["facts"]] == [fact]
    listed = await world.call("neo4j_query_entities", entity_type="character")
    assert [e["entity_id"] for e in listed["entities"]] == [aragorn]


async def test_the_other_end_of_a_relation_appears_as_its_root() -> None:
    world = await a_world()
    strider, aragorn = await world.entity("Strider"), await world.entity("Aragorn")
    frodo = await world.entity("Frodo")
    await world.relation(frodo, "KNOWS", strider)
    await world.call("neo4j_get_entity", entity_id=frodo, include_relationships=True)

    await merge_entities(world, aragorn, strider)

    got = await world.call("neo4j_get_entity", entity_id=frodo, include_relationships=True)
    (relation,) = got["relationships"]
    assert (relation["entity_id"], relation["name"]) == (aragorn, "Aragorn")
    assert relation["to_entity_id"] == strider


async def test_roots_of_roots_are_found() -> None:
    world = await a_world()
    one, two, three = [await world.entity(n) for n in ("One", "Two", "Three")]

    await merge_entities(world, two, one)
    await merge_entities(world, three, one)

    got = await world.call("neo4j_get_entity", entity_id=one)
    assert got["entity_id"] == three
    assert sorted(got["merged_entity_ids"]) == sorted([one, two])


async def test_new_statements_about_a_merged_entity_go_to_its_root() -> None:
    world = await a_world()
    strider, aragorn = await world.entity("Strider"), await world.entity("Aragorn")
    await merge_entities(world, aragorn, strider)

    await world.fact("They are one", strider, aragorn)
    await world.call(
        "neo4j_update_entity_state",
        entity_id=strider,
        state_tag_changes={"add": ["crowned"]},
        authority="gm",
        evidence_refs=world.evidence,
    )

    (fact, _) = (await world.call("neo4j_query_facts"))["facts"]
    assert fact["involved_entity_ids"] == [aragorn]
    got = await world.call("neo4j_get_entity", entity_id=aragorn)
    assert got["state_tags"] == ["crowned"]


async def test_unmerging_restores_each_entitys_own_items() -> None:
    world = await a_world()
    strider = await world.entity("Strider", state_tags=["alive"])
    aragorn = await world.entity("Aragorn", state_tags=["armed"])
    await merge_entities(world, aragorn, strider)

    reply = await world.call("neo4j_unmerge_entities", entity_id=strider, reason="a mistake")

    assert reply == {
        "entity_id": aragorn,
        "merged_entity_ids": [],
        "separated_entity_id": strider,
    }
    got = await world.call("neo4j_get_entity", entity_id=strider)
    assert (got["entity_id"], got["name"], got["state_tags"]) == (strider, "Strider", ["alive"])
    got = await world.call("neo4j_get_entity", entity_id=aragorn)
    assert got["state_tags"] == ["armed"]


async def test_only_entities_of_one_universe_class_and_type_can_merge() -> None:
    world = await a_world()
    other = await world.another_universe()
    ann = await world.entity("Ann")
    wrong = [
        (await other.entity("Ann"), -32004, "space.foreign"),
        (await world.entity("Inn", entity_type="location"), -32004, "entity.kind-mismatch"),
        (await world.entity("A", entity_class="EntityArchetype"), -32004, "entity.kind-mismatch"),
        (ann, -32004, "entity.already-merged"),
        (NOWHERE, -32002, "entity.unknown"),
    ]

    for gone, number, code in wrong:
        data = await world.refused(
            "neo4j_merge_entities",
            code=number,
            kept_entity_id=ann,
            merged_entity_id=gone,
            reason="the same",
        )
        assert data["code"] == code


async def test_unmerged_entities_cannot_be_unmerged() -> None:
    world = await a_world()
    ann = await world.entity("Ann")

    data = await world.refused(
        "neo4j_unmerge_entities", code=-32004, entity_id=ann, reason="a mistake"
    )

    assert data["code"] == "entity.not-merged"
    await world.refused("neo4j_unmerge_entities", code=-32002, entity_id=NOWHERE, reason="why")


async def test_a_retried_unmerge_answers_as_the_first_did() -> None:
    world = await a_world()
    strider, aragorn = await world.entity("Strider"), await world.entity("Aragorn")
    await merge_entities(world, aragorn, strider)
    arguments = {"entity_id": strider, "reason": "a mistake"}

    first = await world.call("neo4j_unmerge_entities", key="k", **arguments)

    assert await world.call("neo4j_unmerge_entities", key="k", **arguments) == first
