"""Review: what can be read in two ways is offered with both, and one word settles a column."""

import base64
from typing import Any

import pytest

from tests.toolsets.truth.kit import BOB, ToolDriver, make_driver

pytestmark = pytest.mark.anyio

ROWS = (
    b"Date,Payee,Amount\n03/04/2024,Alder,1.250\n05/04/2024,Birch,2.750\n06/04/2024,Cedar,3.125\n"
)


async def a_statement(driver: ToolDriver, rows: bytes = ROWS) -> str:
    reply = await driver.call(
        "ingest",
        user_id=driver.user,
        file_content=base64.b64encode(rows).decode(),
        mime_type="text/csv",
        original_filename="april.csv",
    )
    return str(reply["source_id"])


async def show_review(driver: ToolDriver) -> list[dict[str, Any]]:
    listed = await driver.call("retrieve_entities", entity_type="transaction")
    snapshots = [
        (await driver.call("get_entity_snapshot", entity_id=each["id"]))["snapshot"]
        for each in listed["entities"]
    ]
    return sorted(snapshots, key=lambda each: str(each["merchant_name"]))


async def settle_field(driver: ToolDriver, source: str, field: str, read_as: str) -> Any:
    said = {"source_id": source, "field": field, "read_as": read_as}
    return await driver.call("settle_unclear_values", user_id=driver.user, **said)


async def test_ambiguous_values_are_offered_with_both_readings() -> None:
    driver = make_driver()
    source = await a_statement(driver)
    found = await driver.call("list_unclear_values")

    assert found["truncated"] is False
    amounts, dates = sorted(found["unclear"], key=lambda each: each["field"])
    assert (amounts["source_id"], amounts["field"], amounts["count"]) == (source, "amount", 3)
    assert (dates["source_id"], dates["field"], dates["count"]) == (source, "date", 3)
    first = next(each for each in amounts["examples"] if each["value"] == "1.250")
    assert first["readings"] == {"point": 1.25, "comma": 1250}
    day = next(each for each in dates["examples"] if each["value"] == "03/04/2024")
    assert day["readings"] == {"day_first": "2024-04-03", "month_first": "2024-03-04"}
    assert all(each.keys() == {"merchant_name"} for each in await show_review(driver))


async def test_one_answer_settles_a_whole_column_and_keeps_the_source() -> None:
    driver = make_driver()
    source = await a_statement(driver)

    assert await settle_field(driver, source, "amount", "comma") == {"settled": 3, "left": 0}
    assert await settle_field(driver, source, "date", "day_first") == {"settled": 3, "left": 0}

    assert [(each["amount"], each["date"]) for each in await show_review(driver)] == [
        (1250, "2024-04-03"),
        (2750, "2024-04-05"),
        (3125, "2024-04-06"),
    ]
    assert (await driver.call("list_unclear_values"))["unclear"] == []
    events = await driver.call("list_timeline_events", event_type="TransactionDate")
    assert events["total"] == 3
    assert await settle_field(driver, source, "amount", "point") == {"settled": 0, "left": 0}


async def test_a_limited_number_is_examined_and_shown_and_the_rest_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = make_driver()
    await a_statement(driver)
    monkeypatch.setattr("canonry.records.usecases.corrections.EXAMPLES_MAX", 1)
    shown = (await driver.call("list_unclear_values"))["unclear"]
    assert {each["count"] for each in shown} == {3}

    monkeypatch.setattr("canonry.records.usecases.corrections.ENTITIES_READ_MAX", 2)
    looked = await driver.call("list_unclear_values")
    assert looked["truncated"] is True
    assert all(each["count"] < 3 for each in looked["unclear"])


async def test_an_answer_for_some_values_leaves_the_others_open() -> None:
    driver = make_driver()
    source = await a_statement(driver)

    assert await settle_field(driver, source, "amount", "day_first") == {"settled": 0, "left": 3}
    assert len((await driver.call("list_unclear_values"))["unclear"]) == 2


async def test_values_clarified_by_another_source_are_not_asked() -> None:
    driver = make_driver()
    note = {"entity_type": "invoice", "invoice_number": "A-1", "vendor_name": "Alder"}
    await driver.ingest({**note, "amount_due": "1.250"})
    assert [each["field"] for each in (await driver.call("list_unclear_values"))["unclear"]] == [
        "amount_due"
    ]

    await driver.ingest({**note, "amount_due": 1250})

    assert (await driver.call("list_unclear_values", entity_type="invoice"))["unclear"] == []


async def test_values_of_another_user_are_neither_listed_nor_settled() -> None:
    driver = make_driver()
    source = await a_statement(driver)
    other = driver.of(BOB)

    assert (await other.call("list_unclear_values"))["unclear"] == []
    assert await other.refused(
        "settle_unclear_values",
        "SOURCE_NOT_FOUND",
        user_id=other.user,
        source_id=source,
        field="amount",
        read_as="comma",
    )
