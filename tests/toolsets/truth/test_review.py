"""Review: what can be read in two ways is offered with both, and one word settles a column."""

import base64
from typing import Any

import pytest

from tests.toolsets.truth.kit import BOB, Desk, a_desk

pytestmark = pytest.mark.anyio

ROWS = (
    b"Date,Payee,Amount\n03/04/2024,Alder,1.250\n05/04/2024,Birch,2.750\n06/04/2024,Cedar,3.125\n"
)


async def a_statement(desk: Desk, rows: bytes = ROWS) -> str:
    reply = await desk.call(
        "ingest",
        user_id=desk.user,
        file_content=base64.b64encode(rows).decode(),
        mime_type="text/csv",
        original_filename="april.csv",
    )
    return str(reply["source_id"])


async def shown(desk: Desk) -> list[dict[str, Any]]:
    listed = await desk.call("retrieve_entities", entity_type="transaction")
    snapshots = [
        (await desk.call("get_entity_snapshot", entity_id=each["id"]))["snapshot"]
        for each in listed["entities"]
    ]
    return sorted(snapshots, key=lambda each: str(each["merchant_name"]))


async def settle(desk: Desk, source: str, field: str, read_as: str) -> Any:
    said = {"source_id": source, "field": field, "read_as": read_as}
    return await desk.call("settle_unclear_values", user_id=desk.user, **said)


async def test_t2_what_can_be_read_in_two_ways_is_offered_with_both_by_source_and_field() -> None:
    desk = a_desk()
    source = await a_statement(desk)
    found = await desk.call("list_unclear_values")

    assert found["truncated"] is False
    amounts, dates = sorted(found["unclear"], key=lambda each: each["field"])
    assert (amounts["source_id"], amounts["field"], amounts["count"]) == (source, "amount", 3)
    assert (dates["source_id"], dates["field"], dates["count"]) == (source, "date", 3)
    first = next(each for each in amounts["examples"] if each["value"] == "1.250")
    assert first["readings"] == {"point": 1.25, "comma": 1250}
    day = next(each for each in dates["examples"] if each["value"] == "03/04/2024")
    assert day["readings"] == {"day_first": "2024-04-03", "month_first": "2024-03-04"}
    assert all(each.keys() == {"merchant_name"} for each in await shown(desk))


async def test_t2_one_word_settles_a_whole_column_and_the_source_stays_as_it_was() -> None:
    desk = a_desk()
    source = await a_statement(desk)

    assert await settle(desk, source, "amount", "comma") == {"settled": 3, "left": 0}
    assert await settle(desk, source, "date", "day_first") == {"settled": 3, "left": 0}

    assert [(each["amount"], each["date"]) for each in await shown(desk)] == [
        (1250, "2024-04-03"),
        (2750, "2024-04-05"),
        (3125, "2024-04-06"),
    ]
    assert (await desk.call("list_unclear_values"))["unclear"] == []
    events = await desk.call("list_timeline_events", event_type="TransactionDate")
    assert events["total"] == 3
    assert await settle(desk, source, "amount", "point") == {"settled": 0, "left": 0}


async def test_so_many_are_looked_at_and_so_many_shown_and_the_others_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = a_desk()
    await a_statement(desk)
    monkeypatch.setattr("canonry.records.usecases.corrections.EXAMPLES_MAX", 1)
    shown = (await desk.call("list_unclear_values"))["unclear"]
    assert {each["count"] for each in shown} == {3}

    monkeypatch.setattr("canonry.records.usecases.corrections.ENTITIES_READ_MAX", 2)
    looked = await desk.call("list_unclear_values")
    assert looked["truncated"] is True
    assert all(each["count"] < 3 for each in looked["unclear"])


async def test_a_word_that_reads_only_some_values_leaves_the_others_open() -> None:
    desk = a_desk()
    source = await a_statement(desk)

    assert await settle(desk, source, "amount", "day_first") == {"settled": 0, "left": 3}
    assert len((await desk.call("list_unclear_values"))["unclear"]) == 2


async def test_what_another_source_made_clear_is_not_asked() -> None:
    desk = a_desk()
    note = {"entity_type": "invoice", "invoice_number": "A-1", "vendor_name": "Alder"}
    await desk.ingest({**note, "amount_due": "1.250"})
    assert [each["field"] for each in (await desk.call("list_unclear_values"))["unclear"]] == [
        "amount_due"
    ]

    await desk.ingest({**note, "amount_due": 1250})

    assert (await desk.call("list_unclear_values", entity_type="invoice"))["unclear"] == []


async def test_the_values_of_somebody_else_are_neither_listed_nor_settled() -> None:
    desk = a_desk()
    source = await a_statement(desk)
    other = desk.of(BOB)

    assert (await other.call("list_unclear_values"))["unclear"] == []
    assert await other.refused(
        "settle_unclear_values",
        "SOURCE_NOT_FOUND",
        user_id=other.user,
        source_id=source,
        field="amount",
        read_as="comma",
    )
