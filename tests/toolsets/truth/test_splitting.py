"""Observations that were matched wrongly are split off, and stay apart when they come again."""

from typing import Any

import pytest

from tests.toolsets.truth.kit import NOWHERE, ToolDriver, make_driver

pytestmark = pytest.mark.anyio

JO = {"entity_type": "contact", "name": "Jo Berg", "email": "jo@berg.example"}
ACME = {**JO, "organization": "Acme GmbH", "phone": "+49 30 111111"}
ALDER = {**JO, "organization": "Alder Ltd", "phone": "+49 30 222222", "title": "Dr"}


async def ingest_record(driver: ToolDriver, **fields: Any) -> tuple[str, str]:
    """Bring one record; return its entity and its source."""
    driver.wait()
    reply = await driver.call("ingest", user_id=driver.user, entities=[fields])
    return reply["entities"][0]["entity_id"], reply["source_id"]


async def read_all_fields(driver: ToolDriver) -> dict[str, Any]:
    """The fields of every entity."""
    found = (await driver.call("retrieve_entities", include_snapshots=True))["entities"]
    return {each["id"]: each["snapshot"] for each in found}


async def find_named(driver: ToolDriver, identifier: str) -> list[str]:
    found = await driver.call("get_entity_by_identifier", identifier=identifier)
    return [each["id"] for each in found["entities"]]


async def edges_of(driver: ToolDriver, entity_id: str) -> set[tuple[str, str]]:
    found = await driver.call("list_relationships", entity_id=entity_id, direction="outbound")
    return {(e["relationship_type"], e["target_entity_id"]) for e in found["relationships"]}


async def test_a_wrongly_matched_source_becomes_its_own_entity() -> None:
    driver = make_driver()
    jo, _ = await ingest_record(driver, **ACME)
    same, source = await ingest_record(driver, **ALDER)
    done = await driver.call("unmerge_entities", entity_id=jo, of=[source], reason="two people")
    other = done["entity_id"]
    found = await read_all_fields(driver)

    assert same == jo == done["separated_from"] != other
    assert done["observations_returned"] == 1
    assert found[jo] == {name: v for name, v in ACME.items() if name != "entity_type"}
    assert found[other] == {name: v for name, v in ALDER.items() if name != "entity_type"}
    assert await find_named(driver, "+49 30 222222") == [other]
    assert await find_named(driver, "+49 30 111111") == [jo]
    assert (await driver.call("list_possible_duplicates"))["pairs"] == []


async def test_entities_named_by_the_observations_relate_to_the_new_entity() -> None:
    driver = make_driver()
    jo, _ = await ingest_record(driver, **ACME)
    _, source = await ingest_record(driver, **ALDER)
    (acme,), (alder,) = await find_named(driver, "Acme GmbH"), await find_named(driver, "Alder Ltd")
    other = (await driver.call("unmerge_entities", entity_id=jo, of=[source]))["entity_id"]

    assert await edges_of(driver, jo) == {("REFERS_TO", acme), ("DIFFERENT_FROM", other)}
    assert await edges_of(driver, other) == {("REFERS_TO", alder)}


@pytest.mark.parametrize("more", [{"title": "Dr"}, {"phone": "+49 30 222222"}, {"city": "Bonn"}])
async def test_sources_imported_again_after_a_split_change_nothing(more: dict[str, str]) -> None:
    driver = make_driver()
    jo, _ = await ingest_record(driver, **JO)
    _, source = await ingest_record(driver, **JO, **more)
    other = (await driver.call("unmerge_entities", entity_id=jo, of=[source]))["entity_id"]
    before = await read_all_fields(driver)
    again = [(await ingest_record(driver, **JO))[0], (await ingest_record(driver, **JO, **more))[0]]

    assert again == [jo, other]
    assert await read_all_fields(driver) == before
    assert before[jo] == {name: v for name, v in JO.items() if name != "entity_type"}


async def test_a_single_observation_can_be_split_off() -> None:
    driver = make_driver()
    jo, _ = await ingest_record(driver, **ACME)
    await ingest_record(driver, **ALDER)
    newest, _ = (await driver.call("list_observations", entity_id=jo))["observations"]
    other = (await driver.call("unmerge_entities", entity_id=jo, of=[newest["id"]]))["entity_id"]
    (reported,) = (await driver.call("list_observations", entity_id=other))["observations"]

    assert (reported["source_id"], reported["observed_at"]) == (
        newest["source_id"],
        newest["observed_at"],
    )
    assert (await driver.call("list_observations", entity_id=jo))["total"] == 1


async def test_a_record_of_another_source_finds_the_entity_with_its_number() -> None:
    driver = make_driver()
    jo, _ = await ingest_record(driver, **ACME)
    _, source = await ingest_record(driver, **ALDER)
    other = (await driver.call("unmerge_entities", entity_id=jo, of=[source]))["entity_id"]

    assert (await ingest_record(driver, **ALDER, city="Bonn"))[0] == other
    assert (await ingest_record(driver, **ACME, city="Kiel"))[0] == jo


async def test_withdrawing_a_split_source_leaves_the_first_entity_unchanged() -> None:
    driver = make_driver()
    jo, _ = await ingest_record(driver, **ACME)
    _, source = await ingest_record(driver, **ALDER)
    other = (await driver.call("unmerge_entities", entity_id=jo, of=[source]))["entity_id"]
    before = (await read_all_fields(driver))[jo]
    await driver.call("withdraw_source", source_id=source)
    found = await read_all_fields(driver)

    assert other not in found
    assert found[jo] == before


async def test_a_split_can_be_undone_by_a_merge_and_the_past_keeps_one_entity() -> None:
    driver = make_driver()
    jo, _ = await ingest_record(driver, **ACME)
    _, source = await ingest_record(driver, **ALDER)
    before = await read_all_fields(driver)
    driver.wait()
    other = (await driver.call("unmerge_entities", entity_id=jo, of=[source]))["entity_id"]
    moment = "2025-01-15T00:02:30Z"
    past = await driver.call("get_entity_snapshot", entity_id=jo, as_known_at=moment)
    await driver.call("merge_entities", from_entity_id=other, to_entity_id=jo)

    assert past["snapshot"] == before[jo]
    assert (await read_all_fields(driver))[jo] == before[jo]


async def test_a_merged_entity_is_split_by_its_own_id() -> None:
    driver = make_driver()
    jo, _ = await ingest_record(driver, **ACME)
    _, source = await ingest_record(driver, **ALDER)
    ann, _ = await ingest_record(driver, entity_type="contact", name="Ann", email="ann@x.example")
    await driver.call("merge_entities", from_entity_id=jo, to_entity_id=ann)
    other = (await driver.call("unmerge_entities", entity_id=jo, of=[source]))["entity_id"]
    found = await read_all_fields(driver)

    assert found[ann]["organization"] == "Acme GmbH"
    assert found[other]["organization"] == "Alder Ltd"


async def test_a_split_needs_some_of_the_observations_and_not_all() -> None:
    driver = make_driver()
    jo, source = await ingest_record(driver, **ACME)
    _, foreign = await ingest_record(driver, entity_type="note", title="Lunch", content="At noon.")
    for of in ([source], [foreign], [NOWHERE]):
        await driver.refused("unmerge_entities", "VALIDATION_ERROR", entity_id=jo, of=of)
    await driver.refused("unmerge_entities", "ENTITY_NOT_FOUND", entity_id=NOWHERE, of=[source])
