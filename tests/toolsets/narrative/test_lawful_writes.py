"""Direct writes obey the laws that proposals obey: opposites, axioms, places, spellings of tags."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import World, a_world

pytestmark = pytest.mark.anyio


async def state_law(world: World, **constraint: Any) -> str:
    reply = await world.call(
        "neo4j_create_axiom",
        universe_id=world.universe_id,
        statement="It is the law",
        domain="magic",
        confidence=1.0,
        authority="gm",
        evidence_refs=world.evidence,
        constraint=constraint,
    )
    return str(reply["axiom_id"])


def a_change(world: World, entity: str, **changes: Any) -> dict[str, Any]:
    return {
        "entity_id": entity,
        "state_tag_changes": changes,
        "authority": "gm",
        "evidence_refs": world.evidence,
    }


def an_entity(world: World, **more: Any) -> dict[str, Any]:
    return {
        "entity_class": "EntityInstance",
        "universe_id": world.universe_id,
        "name": "Ana",
        "entity_type": "character",
        "description": "A smith.",
        "properties": {},
        "confidence": 1.0,
        "authority": "gm",
        "evidence_refs": world.evidence,
        **more,
    }


async def tags_of(world: World, entity: str) -> list[str]:
    found = await world.call("neo4j_get_entity", entity_id=entity)
    return list(found["state_tags"])


async def test_exclusive_tags_are_not_written_at_once() -> None:
    world = await a_world()
    ana = await world.entity("Ana")
    changes = a_change(world, ana, add=["alive", "dead"])
    data = await world.refused("neo4j_update_entity_state", code=-32003, **changes)
    assert data["path"] == "/state_tag_changes/add"
    content = an_entity(world, state_tags=["Open", "closed"])
    data = await world.refused("neo4j_create_entity", code=-32003, **content)
    assert data["path"] == "/state_tags"


async def test_a_tag_has_one_spelling() -> None:
    world = await a_world()
    ana = await world.entity("Ana", state_tags=["hidden"])
    await world.call(
        "neo4j_update_entity_state", **a_change(world, ana, add=["HIDDEN", " Very  tired "])
    )
    assert await tags_of(world, ana) == ["hidden", "very tired"]
    found = await world.call("neo4j_query_entities", state_tags={"all_of": ["Hidden"]})
    assert [each["entity_id"] for each in found["entities"]] == [ana]
    await world.call("neo4j_update_entity_state", **a_change(world, ana, remove=["Hidden"]))
    assert await tags_of(world, ana) == ["very tired"]


async def test_a_forbidden_tag_is_refused_by_every_direct_write() -> None:
    world = await a_world()
    ana = await world.entity("Ana")
    axiom = await state_law(world, kind="forbidden_tag", values=["undead"])
    changes = a_change(world, ana, add=["undead"])
    data = await world.refused("neo4j_update_entity_state", code=-32004, **changes)
    assert data["conflicts"] == [axiom]
    content = an_entity(world, state_tags=["Undead"])
    data = await world.refused("neo4j_create_entity", code=-32004, **content)
    assert data["conflicts"] == [axiom]


async def test_tags_that_an_axiom_separates_are_not_joined() -> None:
    world = await a_world()
    ana = await world.entity("Ana", state_tags=["sworn"])
    await state_law(world, kind="exclusive_tags", values=["sworn", "crowned"])
    await world.refused(
        "neo4j_update_entity_state", code=-32004, **a_change(world, ana, add=["crowned"])
    )
    await world.call(
        "neo4j_update_entity_state", **a_change(world, ana, add=["crowned"], remove=["sworn"])
    )
    assert await tags_of(world, ana) == ["crowned"]


async def test_a_forbidden_relation_is_refused() -> None:
    world = await a_world()
    ana, bo = await world.entity("Ana"), await world.entity("Bo")
    axiom = await state_law(
        world, kind="forbidden_relation", values=["OWNS"], entity_type="character"
    )
    data = await world.refused(
        "neo4j_create_relationship", code=-32004,
        from_entity_id=ana, to_entity_id=bo, rel_type="OWNS",
    )  # fmt: skip
    assert data["conflicts"] == [axiom]


async def test_places_do_not_lie_within_themselves() -> None:
    world = await a_world()
    inn, town, land = [
        await world.entity(name, entity_type="location") for name in ("Inn", "Town", "Land")
    ]
    first = await world.relation(inn, "LOCATED_IN", town)
    second = await world.relation(town, "LOCATED_IN", land)
    data = await world.refused(
        "neo4j_create_relationship", code=-32004,
        from_entity_id=land, to_entity_id=inn, rel_type="LOCATED_IN",
    )  # fmt: skip
    assert data["conflicts"] == [first, second]


async def test_a_character_is_no_place_for_a_character() -> None:
    world = await a_world()
    ana, bo = await world.entity("Ana"), await world.entity("Bo")
    await world.refused(
        "neo4j_create_relationship", code=-32004,
        from_entity_id=ana, to_entity_id=bo, rel_type="LOCATED_IN",
    )  # fmt: skip


async def test_a_taken_doc_id_gives_a_warning() -> None:
    world = await a_world()
    book = {"universe_id": world.universe_id, "title": "A book", "source_type": "lore",
            "canon_level": "authoritative"}  # fmt: skip
    taken = await world.call("neo4j_create_source", doc_id="book-1", **book)
    other = await world.call("neo4j_create_source", doc_id="book-2", **book)
    assert [world.source_id in each for each in taken["warnings"]] == [True]
    assert other.get("warnings", []) == []
