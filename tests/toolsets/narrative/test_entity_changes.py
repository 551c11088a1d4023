"""Maintenance: names that change, who answers for whom, and what is kept of how it was."""

from typing import Any

import pytest

from canonry.values.ids import SpaceId
from tests.toolsets.narrative.kit import NOWHERE, World, a_world

pytestmark = pytest.mark.anyio


async def rename_entity(world: World, entity: str, name: str, **more: Any) -> dict[str, Any]:
    arguments = {"authority": "gm", "evidence_refs": world.evidence, **more}
    return await world.call("neo4j_update_entity", entity_id=entity, name=name, **arguments)


async def merge_entities(world: World, kept: str, gone: str) -> None:
    await world.call(
        "neo4j_merge_entities", kept_entity_id=kept, merged_entity_id=gone, reason="the same"
    )


async def tags_of(world: World, entity: str, **changes: list[str]) -> list[str]:
    reply = await world.call(
        "neo4j_update_entity_state",
        entity_id=entity,
        state_tag_changes=changes,
        authority="gm",
        evidence_refs=world.evidence,
    )
    return list(reply["fact_ids"])


async def test_a_survivor_keeps_its_own_name_in_a_merge() -> None:
    world = await a_world()
    marn, tall = await world.entity("Marn"), await world.entity("Marn the Tall")

    await merge_entities(world, marn, tall)

    got = await world.call("neo4j_get_entity", entity_id=tall)
    assert (got["entity_id"], got["name"], got["aliases"]) == (marn, "Marn", ["Marn the Tall"])
    (seen,) = (await world.call("neo4j_explain", id=marn))["observations"][:1]
    assert got["provenance"]["name"] == seen["observation_id"]
    then = await world.call("neo4j_get_entity_at", entity_id=marn, at="9000-01-01T00:00:00Z")
    assert then["name"] == "Marn"


async def test_each_entity_has_its_own_name_again_after_an_unmerge() -> None:
    world = await a_world()
    marn, tall = await world.entity("Marn"), await world.entity("Marn the Tall")
    await merge_entities(world, marn, tall)

    await world.call("neo4j_unmerge_entities", entity_id=tall, reason="two after all")

    names = [(await world.call("neo4j_get_entity", entity_id=e))["name"] for e in (marn, tall)]
    assert names == ["Marn", "Marn the Tall"]


async def test_a_renamed_entity_is_found_by_both_names() -> None:
    world = await a_world()
    marn = await world.entity("Marn the Tall")

    reply = await rename_entity(world, marn, "Marn")

    assert (reply["name"], reply["aliases"]) == ("Marn", ["Marn the Tall"])
    for pattern in ("marn the tall", "Marn"):
        found = await world.call("neo4j_query_entities", name_pattern=pattern)
        assert [each["entity_id"] for each in found["entities"]] == [marn]
    named = await world.canon.state.entities_named(
        SpaceId(world.universe_id), "character", "MARN the tall"
    )
    assert [each.id for each in named] == [marn]


async def test_current_owners_of_a_name_are_found_before_former_ones() -> None:
    world = await a_world()
    first = await world.entity("Ana")
    await rename_entity(world, first, "Bea")
    second = await world.entity("Ana")

    named = await world.canon.state.entities_named(SpaceId(world.universe_id), "character", "ana")

    assert [each.id for each in named] == [second, first]


async def test_a_name_that_returns_is_the_current_one_again() -> None:
    world = await a_world()
    ana = await world.entity("Ana")
    await rename_entity(world, ana, "Bea")

    reply = await rename_entity(world, ana, "Ana")

    assert (reply["name"], reply["aliases"]) == ("Ana", ["Bea"])


async def test_an_update_is_an_observation_and_the_past_is_kept() -> None:
    world = await a_world()
    ana = await world.entity("Ana", properties={"hp": 10, "class": "bard"})
    before = (await world.call("neo4j_get_entity", entity_id=ana))["updated_at"]
    world.clock.move_by(60_000_000)

    await world.call(
        "neo4j_update_entity",
        entity_id=ana,
        description="A queen now.",
        properties={"hp": 12},
        authority="gm",
        evidence_refs=world.evidence,
    )

    got = await world.call("neo4j_get_entity", entity_id=ana)
    assert (got["name"], got["description"]) == ("Ana", "A queen now.")
    assert got["properties"] == {"hp": 12, "class": "bard"}
    seen = (await world.call("neo4j_explain", id=ana))["observations"]
    assert [each["evidence_refs"] for each in seen] == [world.evidence, world.evidence]
    past = await world.call("neo4j_get_entity_at", entity_id=ana, as_known_at=before)
    assert (past["description"], past["properties"]["hp"]) == ("This is Ana.", 10)


async def test_an_unchanged_value_is_not_written_again() -> None:
    world = await a_world()
    ana = await world.entity("Ana")
    before = await world.heads()

    await rename_entity(world, ana, "Ana")

    assert await world.heads() == before


async def test_tags_recorded_under_a_former_name_still_have_their_facts() -> None:
    world = await a_world()
    ana = await world.entity("Ana")
    (alive,) = await tags_of(world, ana, add=["alive"])
    await rename_entity(world, ana, "Queen Ana")

    await tags_of(world, ana, add=["dead"])

    facts = (await world.call("neo4j_query_facts", detail=True, entity_id=ana))["facts"]
    (old,) = [fact for fact in facts if fact["fact_id"] == alive]
    assert old["superseded_by"] is not None


async def test_a_tag_changed_under_a_former_name_is_restored() -> None:
    world = await a_world()
    ana = await world.entity("Ana")
    await tags_of(world, ana, add=["healthy"])
    wounded, _ = await tags_of(world, ana, add=["wounded"])
    await rename_entity(world, ana, "Queen Ana")

    await world.call("neo4j_retcon_fact", fact_id=wounded, reason="only paint")

    facts = (await world.call("neo4j_query_facts", detail=True, entity_id=ana))["facts"]
    assert {f["statement"]: f["canon_level"] for f in facts} == {
        "Ana is healthy": "canon",
        "Ana is no longer healthy": "retconned",
        "Ana is wounded": "retconned",
    }
    assert (await world.call("neo4j_get_entity", entity_id=ana))["state_tags"] == ["healthy"]


async def test_a_lower_authority_does_not_rename_a_higher_ones_entity() -> None:
    world = await a_world()
    ana = await world.entity("Ana")

    data = await world.refused(
        "neo4j_update_entity",
        code=-32004,
        entity_id=ana,
        name="Coward",
        authority="player",
        evidence_refs=world.evidence,
    )

    assert data["code"] == "entity.outranked"


async def test_an_empty_update_is_refused() -> None:
    world = await a_world()
    arguments: dict[str, Any] = {"authority": "gm", "evidence_refs": world.evidence}
    ana = await world.entity("Ana")

    await world.refused("neo4j_update_entity", code=-32003, entity_id=ana, **arguments)
    await world.refused(
        "neo4j_update_entity", code=-32002, entity_id=NOWHERE, name="X", **arguments
    )
    await world.refused("neo4j_update_entity", "Narrator", code=-32001, entity_id=ana, **arguments)


async def test_the_game_master_overrides_the_name_of_a_source() -> None:
    world = await a_world()
    ana = await world.entity("Ana", authority="source")

    await world.call(
        "neo4j_update_entity",
        entity_id=ana,
        name="Ana the Brave",
        authority="gm",
        evidence_refs=world.evidence,
    )

    assert (await world.call("neo4j_get_entity", entity_id=ana))["name"] == "Ana the Brave"


async def test_a_merge_keeps_the_survivors_description() -> None:
    world = await a_world()
    kept = await world.entity("Marn", description="The ferryman.")
    other = await world.entity("A hooded man", description="Nobody knows him.")

    await world.call(
        "neo4j_merge_entities", kept_entity_id=kept, merged_entity_id=other, reason="one man"
    )
    shown = await world.call("neo4j_get_entity", entity_id=kept)

    assert (shown["name"], shown["description"]) == ("Marn", "The ferryman.")
