"""One canon, two vocabularies: what is canon in a world has a snapshot here, and the reverse."""

import pytest

from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.records.toolset import TRUTH
from canonry.values.ids import SpaceId
from tests.toolsets.narrative.kit import a_world
from tests.toolsets.truth.kit import ToolDriver

pytestmark = pytest.mark.anyio


async def test_a_character_has_a_snapshot_with_provenance() -> None:
    world = await a_world()
    frodo = await world.entity("Frodo", state_tags=["alive"], properties={"race": "hobbit"})
    inn = await world.entity("Inn", entity_type="location")
    await world.relation(frodo, "LOCATED_IN", inn)
    driver = ToolDriver(
        canon=world.canon, gateway=Gateway(world.canon, (TRUTH,)), clock=world.clock
    )
    read = await driver.call("get_entity_snapshot", entity_id=frodo)
    assert read["snapshot"] == {
        "name": "Frodo",
        "description": "This is Frodo.",
        "state_tags": ["alive"],
        "race": "hobbit",
    }
    assert set(read["provenance"]) == set(read["snapshot"])
    traced = await driver.call("get_field_provenance", entity_id=frodo, field="race")
    assert traced["source_material"]["id"] == world.source_id
    assert (await driver.call("list_observations", entity_id=frodo))["total"] == 1
    explained = await driver.call("explain_snapshot", entity_id=frodo, field="state_tags")
    assert explained["fields"][0]["value"] == ["alive"]
    related = await driver.call("get_related_entities", entity_id=frodo)
    assert [each["id"] for each in related["entities"]] == [inn]
    around = await driver.call("get_graph_neighborhood", node_id=frodo)
    assert [each["id"] for each in around["related_sources"]] == [world.source_id]
    listed = await driver.call("retrieve_entities", entity_type="character")
    assert [each["id"] for each in listed["entities"]] == [frodo]
    own = await driver.call("retrieve_entities", entity_type="character", user_id=driver.user)
    assert own["entities"] == [], "of a world, not of the user"
    correction = {"entity_type": "character", "field": "race", "value": "elf"}
    arguments = {"user_id": driver.user, "entity_id": frodo, **correction}
    await driver.refused("correct", "ENTITY_NOT_FOUND", **arguments)


async def test_an_invisible_world_does_not_exist() -> None:
    world = await a_world()
    frodo = await world.entity("Frodo")
    other = await world.another_universe()
    gateway = Gateway(world.canon, (TRUTH,))
    bound = Principal(agent_id="desk", spaces=frozenset((SpaceId(other.universe_id),)))
    hidden = await gateway.call("get_entity_snapshot", {"entity_id": frodo}, bound)
    assert hidden.body["error"]["code"] == "ENTITY_NOT_FOUND"
    listed = await gateway.call("retrieve_entities", {}, bound)
    assert listed.body["entities"] == []


async def test_an_invoice_is_a_concept_to_narrative_tools() -> None:
    world = await a_world()
    driver = ToolDriver(
        canon=world.canon, gateway=Gateway(world.canon, (TRUTH,)), clock=world.clock
    )
    reply = await driver.ingest(
        {"entity_type": "invoice", "invoice_number": "INV-9", "vendor_name": "Acme Corp"}
    )
    invoice = reply["entities"][0]["entity_id"]
    shown = await world.call("neo4j_get_entity", entity_id=invoice)
    assert shown["name"] == "INV-9"
    assert shown["entity_type"] == "concept"
