"""Observations that were matched wrongly are split off, and stay apart when they come again."""

from typing import Any

import pytest

from tests.toolsets.truth.kit import NOWHERE, Desk, a_desk

pytestmark = pytest.mark.anyio

JO = {"entity_type": "contact", "name": "Jo Berg", "email": "jo@berg.example"}
ACME = {**JO, "organization": "Acme GmbH", "phone": "+49 30 111111"}
ALDER = {**JO, "organization": "Alder Ltd", "phone": "+49 30 222222", "title": "Dr"}


async def brought(desk: Desk, **fields: Any) -> tuple[str, str]:
    """Bring one record; return its entity and its source."""
    desk.wait()
    reply = await desk.call("ingest", user_id=desk.user, entities=[fields])
    return reply["entities"][0]["entity_id"], reply["source_id"]


async def shown(desk: Desk) -> dict[str, Any]:
    """The fields of every entity."""
    found = (await desk.call("retrieve_entities", include_snapshots=True))["entities"]
    return {each["id"]: each["snapshot"] for each in found}


async def named(desk: Desk, identifier: str) -> list[str]:
    found = await desk.call("get_entity_by_identifier", identifier=identifier)
    return [each["id"] for each in found["entities"]]


async def edges(desk: Desk, entity_id: str) -> set[tuple[str, str]]:
    found = await desk.call("list_relationships", entity_id=entity_id, direction="outbound")
    return {(e["relationship_type"], e["target_entity_id"]) for e in found["relationships"]}


async def test_a_source_that_was_matched_wrongly_becomes_an_entity_of_its_own() -> None:
    desk = a_desk()
    jo, _ = await brought(desk, **ACME)
    same, source = await brought(desk, **ALDER)
    done = await desk.call("unmerge_entities", entity_id=jo, of=[source], reason="two people")
    other = done["entity_id"]
    found = await shown(desk)

    assert same == jo == done["separated_from"] != other
    assert done["observations_returned"] == 1
    assert found[jo] == {name: v for name, v in ACME.items() if name != "entity_type"}
    assert found[other] == {name: v for name, v in ALDER.items() if name != "entity_type"}
    assert await named(desk, "+49 30 222222") == [other]
    assert await named(desk, "+49 30 111111") == [jo]
    assert (await desk.call("list_possible_duplicates"))["pairs"] == []


async def test_what_the_observations_name_is_related_to_the_new_entity() -> None:
    desk = a_desk()
    jo, _ = await brought(desk, **ACME)
    _, source = await brought(desk, **ALDER)
    (acme,), (alder,) = await named(desk, "Acme GmbH"), await named(desk, "Alder Ltd")
    other = (await desk.call("unmerge_entities", entity_id=jo, of=[source]))["entity_id"]

    assert await edges(desk, jo) == {("REFERS_TO", acme), ("DIFFERENT_FROM", other)}
    assert await edges(desk, other) == {("REFERS_TO", alder)}


@pytest.mark.parametrize("more", [{"title": "Dr"}, {"phone": "+49 30 222222"}, {"city": "Bonn"}])
async def test_sources_that_come_again_after_a_split_change_nothing(more: dict[str, str]) -> None:
    desk = a_desk()
    jo, _ = await brought(desk, **JO)
    _, source = await brought(desk, **JO, **more)
    other = (await desk.call("unmerge_entities", entity_id=jo, of=[source]))["entity_id"]
    before = await shown(desk)
    again = [(await brought(desk, **JO))[0], (await brought(desk, **JO, **more))[0]]

    assert again == [jo, other]
    assert await shown(desk) == before
    assert before[jo] == {name: v for name, v in JO.items() if name != "entity_type"}


async def test_a_single_observation_can_be_split_off() -> None:
    desk = a_desk()
    jo, _ = await brought(desk, **ACME)
    await brought(desk, **ALDER)
    newest, _ = (await desk.call("list_observations", entity_id=jo))["observations"]
    other = (await desk.call("unmerge_entities", entity_id=jo, of=[newest["id"]]))["entity_id"]
    (told,) = (await desk.call("list_observations", entity_id=other))["observations"]

    assert (told["source_id"], told["observed_at"]) == (newest["source_id"], newest["observed_at"])
    assert (await desk.call("list_observations", entity_id=jo))["total"] == 1


async def test_a_record_of_another_source_finds_the_one_with_its_number() -> None:
    desk = a_desk()
    jo, _ = await brought(desk, **ACME)
    _, source = await brought(desk, **ALDER)
    other = (await desk.call("unmerge_entities", entity_id=jo, of=[source]))["entity_id"]

    assert (await brought(desk, **ALDER, city="Bonn"))[0] == other
    assert (await brought(desk, **ACME, city="Kiel"))[0] == jo


async def test_withdrawing_the_source_of_a_split_leaves_the_first_entity_as_it_was() -> None:
    desk = a_desk()
    jo, _ = await brought(desk, **ACME)
    _, source = await brought(desk, **ALDER)
    other = (await desk.call("unmerge_entities", entity_id=jo, of=[source]))["entity_id"]
    before = (await shown(desk))[jo]
    await desk.call("withdraw_source", source_id=source)
    found = await shown(desk)

    assert other not in found
    assert found[jo] == before


async def test_a_split_can_be_undone_by_a_merge_and_the_past_keeps_one_entity() -> None:
    desk = a_desk()
    jo, _ = await brought(desk, **ACME)
    _, source = await brought(desk, **ALDER)
    before = await shown(desk)
    desk.wait()
    other = (await desk.call("unmerge_entities", entity_id=jo, of=[source]))["entity_id"]
    moment = "2025-01-15T00:02:30Z"
    past = await desk.call("get_entity_snapshot", entity_id=jo, as_known_at=moment)
    await desk.call("merge_entities", from_entity_id=other, to_entity_id=jo)

    assert past["snapshot"] == before[jo]
    assert (await shown(desk))[jo] == before[jo]


async def test_an_entity_that_was_merged_is_split_by_its_own_id() -> None:
    desk = a_desk()
    jo, _ = await brought(desk, **ACME)
    _, source = await brought(desk, **ALDER)
    ann, _ = await brought(desk, entity_type="contact", name="Ann", email="ann@x.example")
    await desk.call("merge_entities", from_entity_id=jo, to_entity_id=ann)
    other = (await desk.call("unmerge_entities", entity_id=jo, of=[source]))["entity_id"]
    found = await shown(desk)

    assert found[ann]["organization"] == "Acme GmbH"
    assert found[other]["organization"] == "Alder Ltd"


async def test_a_split_needs_some_of_the_observations_and_not_all() -> None:
    desk = a_desk()
    jo, source = await brought(desk, **ACME)
    _, foreign = await brought(desk, entity_type="note", title="Lunch", content="At noon.")
    for of in ([source], [foreign], [NOWHERE]):
        await desk.refused("unmerge_entities", "VALIDATION_ERROR", entity_id=jo, of=of)
    await desk.refused("unmerge_entities", "ENTITY_NOT_FOUND", entity_id=NOWHERE, of=[source])
