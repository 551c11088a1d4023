"""Short replies: a list answers rows of whole values, says how much more there is, and where."""

import json
from typing import Any

import pytest

from tests.toolsets.truth.kit import ToolDriver, an_invoice, make_driver

pytestmark = pytest.mark.anyio

REPLY_MAX = 10_000
NOTES = "Met at the fair; knows everybody in Lyon, and asks to be called back in the spring. " * 3


def a_person(number: int) -> dict[str, Any]:
    return {
        "entity_type": "person",
        "name": f"Person {number}",
        "email": f"person.{number}@example.test",
        "phone": f"+49 30 {number:07}",
        "birthday": "1980-05-17",
        "address": f"{number} Long Street of the Many Houses, 10115 Berlin, Germany",
        "company": f"Company {number % 40} GmbH",
        "notes": NOTES,
    }


async def a_thousand_people() -> ToolDriver:
    driver = make_driver()
    await driver.ingest(*map(a_person, range(1_000)))
    return driver


async def test_default_lists_stay_short_for_a_thousand_people() -> None:
    driver = await a_thousand_people()
    for tool, arguments in (
        ("get_entity_by_identifier", {"identifier": "Person 77"}),
        ("get_entity_by_identifier", {"identifier": "Person"}),
        ("retrieve_entities", {}),
        ("list_entity_types", {}),
    ):
        outcome = await driver.outcome(tool, arguments)
        assert len(outcome.text.encode()) <= REPLY_MAX, tool


async def test_a_row_has_whole_values_and_counts_omitted_ones() -> None:
    driver = make_driver()
    await driver.ingest(a_person(7))
    people = {"entity_type": "person"}
    (row,) = (await driver.call("retrieve_entities", **people))["entities"]
    whole_one = await driver.call("retrieve_entities", **people, include_snapshots=True)
    (whole,) = whole_one["entities"]
    bare_one = await driver.call("retrieve_entities", **people, include_snapshots=False)
    (bare,) = bare_one["entities"]

    assert row["snapshot"].items() < whole["snapshot"].items()
    assert row["snapshot"]["name"] == "Person 7"
    assert row["snapshot"]["email"] == "person.7@example.test"
    assert row["more_fields"] == len(whole["snapshot"]) - len(row["snapshot"])
    assert "notes" in whole["snapshot"]
    assert "more_fields" not in whole
    assert "snapshot" not in bare


async def test_a_small_record_is_shown_completely_in_its_row() -> None:
    driver = make_driver()
    await driver.ingest(an_invoice("INV-001"))
    (row,) = (await driver.call("retrieve_entities", entity_type="invoice"))["entities"]
    assert row["snapshot"] == {"amount_due": 100, "invoice_number": "INV-001"}
    assert "more_fields" not in row


async def test_every_page_names_the_next_until_there_is_none() -> None:
    driver = make_driver()
    await driver.ingest(*map(a_person, range(45)))
    for tool, arguments in (
        ("retrieve_entities", {"entity_type": "person"}),
        ("get_entity_by_identifier", {"identifier": "Person"}),
    ):
        seen: list[str] = []
        offset: int | None = 0
        while offset is not None:
            page = await driver.call(tool, offset=offset, **arguments)
            assert page["total"] == 45
            seen += [each["id"] for each in page["entities"]]
            offset = page.get("next_offset")
        assert len(seen) == len(set(seen)) == 45, tool


async def test_used_types_come_first_with_their_distinctive_fields() -> None:
    driver = make_driver()
    await driver.ingest(a_person(1), a_person(41), a_person(81), an_invoice("INV-1"))
    listed = await driver.call("list_entity_types")
    first, *others = listed["entity_types"]
    assert (first["entity_type"], first["entity_count"]) == ("person", 3)
    counts = [each["entity_count"] for each in others]
    assert counts == sorted(counts, reverse=True)
    assert 0 in counts
    (person,) = (await driver.call("list_entity_types", entity_type="Persons"))["entity_types"]
    everything = await driver.call("list_entity_types", include_fields=True)
    whole = next(x for x in everything["entity_types"] if x["entity_type"] == "person")
    assert person == whole
    assert len(first["fields"]) < first["field_count"] == len(whole["fields"])
    assert "email" in {each["name"] for each in first["fields"]}
    assert (await driver.call("list_entity_types", entity_type="gadget"))["entity_types"] == []


async def test_many_types_are_listed_by_page() -> None:
    driver = make_driver()
    await driver.ingest(*({"entity_type": f"kind {n:04}", "name": "x"} for n in range(30)))
    first = await driver.call("list_entity_types")
    rest = await driver.call("list_entity_types", offset=first["next_offset"], limit=1_000)
    names = [each["entity_type"] for page in (first, rest) for each in page["entity_types"]]
    assert len(names) == len(set(names)) == first["total"]
    assert "next_offset" not in rest
    assert len(json.dumps(first)) <= REPLY_MAX
