"""Unclear: what could be two numbers, or two payments, is never decided by a guess."""

import base64
from typing import Any

import pytest

from tests.toolsets.truth.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio


async def a_file(driver: ToolDriver, text: str, mime_type: str, name: str) -> dict[str, Any]:
    """The reply to a file that is handed over."""
    content = base64.b64encode(text.encode()).decode()
    return await driver.call(
        "ingest",
        user_id=driver.user,
        file_content=content,
        mime_type=mime_type,
        original_filename=name,
    )


async def read_snapshot(
    driver: ToolDriver, reply: dict[str, Any], place: int = 0
) -> dict[str, Any]:
    """The snapshot of an entity that a reply names, with its fragments."""
    entity_id = reply["entities"][place]["entity_id"]
    return await driver.call("get_entity_snapshot", entity_id=entity_id)


@pytest.mark.parametrize("said", ["1.250", "1,250"])
async def test_a_record_with_an_unclear_number_keeps_it_as_a_fragment(said: str) -> None:
    driver = make_driver()
    reply = await driver.ingest(
        {"entity_type": "invoice", "invoice_number": "R-1", "amount_due": said}
    )

    codes = {each["code"] for each in reply["warnings"]}
    assert "field.unclear-number" in {code.lower().replace("_", "-") for code in codes}
    seen = await read_snapshot(driver, reply)
    assert "amount_due" not in seen["snapshot"]
    assert seen["raw_fragments"]["amount_due"]["value"] == said


async def test_an_unclear_total_of_a_text_is_neither_shown_nor_lost() -> None:
    driver = make_driver()
    text = "Invoice\n\nInvoice Number: R-7\nInvoice Date: 2025-01-15\nTotal: 1.250 EUR\n"
    reply = await a_file(driver, text, "text/plain", "r.txt")

    seen = await read_snapshot(driver, reply)
    assert "amount_due" not in seen["snapshot"]
    assert "1.250" in seen["raw_fragments"]["amount_due"]["value"]


@pytest.mark.parametrize(
    ("other", "amount"), [("12,50", 1250), ("12.50", 1.25), ("1.000,50", 1250)]
)
async def test_the_other_numbers_of_a_column_decide(other: str, amount: float) -> None:
    driver = make_driver()
    head = "transaction_id;date;merchant_name;amount;currency"
    text = f"{head}\nt-1;2025-01-15;Market;1.250;EUR\nt-2;2025-01-16;Market;{other};EUR\n"
    reply = await a_file(driver, text, "text/csv", "bank.csv")

    assert (await read_snapshot(driver, reply))["snapshot"]["amount"] == amount


async def test_an_unclear_column_stays_as_written() -> None:
    driver = make_driver()
    head = "transaction_id;date;merchant_name;amount;currency"
    text = f"{head}\nt-1;2025-01-15;Market;1.250;EUR\nt-2;2025-01-16;Market;2.500;EUR\n"
    reply = await a_file(driver, text, "text/csv", "bank.csv")

    seen = await read_snapshot(driver, reply)
    assert "amount" not in seen["snapshot"]
    assert seen["raw_fragments"]["amount"]["value"] == "1.250"


async def test_an_unclear_correction_is_refused() -> None:
    driver = make_driver()
    invoice = await driver.entity("invoice", invoice_number="R-1", amount_due=5)
    await driver.refused(
        "correct",
        "VALIDATION_ERROR",
        user_id=driver.user,
        entity_id=invoice,
        entity_type="invoice",
        field="amount_due",
        value="1.250",
    )


async def test_an_unclear_amount_is_not_the_key_of_a_clear_one() -> None:
    driver = make_driver()
    spent = {"entity_type": "transaction", "date": "2025-01-15", "merchant_name": "Market"}
    one = await driver.ingest({**spent, "amount": 1.25})
    other = await driver.ingest({**spent, "amount": "1.250"})

    assert one["entities"][0]["entity_id"] != other["entities"][0]["entity_id"]


ROWS = ("2025-01-15,Coffee,4.50", "2025-01-15,Coffee,4.50", "2025-01-15,Tea,3.50")


@pytest.mark.parametrize(
    ("head", "begins"),
    [
        ("Date,Description,Amount", ""),
        ("Day,What,Amount", "record_"),
        ("Date,Merchant,Total", "receipt"),
        ("date,merchant_name,amount", "transaction"),
    ],
)
async def test_equal_rows_without_a_key_are_as_many_items(head: str, begins: str) -> None:
    driver = make_driver()
    text = "\n".join((head, *ROWS, ROWS[0])) + "\n"
    reply = await a_file(driver, text, "text/csv", "paid.csv")

    (kind,) = {each["entity_type"] for each in reply["entities"]}
    assert kind.startswith(begins)
    assert len({each["entity_id"] for each in reply["entities"]}) == 4
    seen = [await read_snapshot(driver, reply, place) for place in range(4)]
    fragments = [each.get("raw_fragments", {}).get("occurrence", {}).get("value") for each in seen]
    numbers = [each["snapshot"].get("occurrence") for each in seen]
    assert [n or f for n, f in zip(numbers, fragments, strict=True)] == [None, 2, None, 3]
    again = await a_file(driver, text, "text/csv", "paid.csv")
    assert again["observations_added"] == 0
    assert (await driver.call("retrieve_entities", entity_type=kind))["total"] == 4


async def test_a_longer_statement_adds_only_new_lines() -> None:
    driver = make_driver()
    short = "\n".join(("Day,What,Amount", *ROWS)) + "\n"
    reply = await a_file(driver, short, "text/csv", "pocket money.csv")
    await a_file(driver, f"{short}{ROWS[2]}\n", "text/csv", "pocket money.csv")

    kind = reply["entities"][0]["entity_type"]
    assert (await driver.call("retrieve_entities", entity_type=kind))["total"] == 4


async def test_equal_rows_with_a_key_are_one() -> None:
    driver = make_driver()
    text = "uuid,town\nm-1,Bonn\nm-1,Bonn\n"
    reply = await a_file(driver, text, "text/csv", "members.csv")

    assert len({each["entity_id"] for each in reply["entities"]}) == 1
    assert "occurrence" not in (await read_snapshot(driver, reply))["snapshot"]
