"""Two files about one payment are one record, and so are the states of one item."""

import base64
from typing import Any

import pytest

from canonry.records.notation.labels import names_a_payment
from tests.toolsets.truth.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

PAYMENT: dict[str, Any] = {
    "entity_type": "transaction",
    "date": "2025-03-01",
    "amount": -12.5,
    "account_id": "giro",
}


async def ids_of(driver: ToolDriver, *records: dict[str, Any]) -> list[str]:
    """Whom the records are about, each told by itself."""
    found = []
    for record in records:
        reply = await driver.ingest(record)
        found.append(reply["entities"][0]["entity_id"])
    return found


async def test_a_payment_is_one_whether_named_by_merchant_or_description() -> None:
    by_description = {**PAYMENT, "description": "Blue Door Books", "currency": "EUR"}
    by_merchant = {**PAYMENT, "merchant_name": "BLUE DOOR BOOKS Ltd", "status": "booked"}
    for order in ((by_description, by_merchant), (by_merchant, by_description)):
        first, second = await ids_of(make_driver(), *order)
        assert first == second


async def test_equal_lines_in_two_file_formats_are_the_same_payments() -> None:
    driver = make_driver()
    table = (
        b"transaction_date,amount,currency,description,account_id\n"
        b"2025-03-01,-12.50,EUR,Blue Door Books,giro\n2025-03-02,-4.00,EUR,Kiosk,giro\n"
    )
    records = (
        b'[{"date": "2025-03-01", "amount": -12.5, "currency": "EUR",'
        b' "merchant_name": "Blue Door Books", "account_id": "giro", "status": "booked"},'
        b' {"date": "2025-03-02", "amount": -4, "currency": "EUR",'
        b' "merchant_name": "Kiosk", "account_id": "giro", "status": "booked"}]'
    )
    for content, kind in ((table, "text/csv"), (records, "application/json")):
        driver.wait()
        await driver.call(
            "ingest",
            user_id=driver.user,
            file_content=base64.b64encode(content).decode(),
            mime_type=kind,
            original_filename=f"transactions.{kind.rpartition('/')[2]}",
        )
    listed = await driver.call("retrieve_entities", entity_type="transaction")
    assert [each["observation_count"] for each in listed["entities"]] == [2, 2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"currency": "EUR"}, {"currency": "USD"}),
        ({"description": "Order 1"}, {"description": "Order 2"}),
    ],
)
async def test_payments_differing_in_a_detail_are_two_and_reported(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    driver = make_driver()
    shop = {**PAYMENT, "merchant_name": "Shop"}
    first, _ = await ids_of(driver, {**shop, **one}, {**shop, "status": "booked"})
    reply = await driver.ingest({**shop, **other})
    assert reply["entities"][0]["entity_id"] != first
    assert reply["possible_duplicates"][0]["candidate_id"] == first


async def test_a_detail_given_by_only_one_does_not_separate_them() -> None:
    shop = {**PAYMENT, "merchant_name": "Shop"}
    plain, with_both, in_euros = await ids_of(
        make_driver(),
        shop,
        {**shop, "currency": "EUR", "description": "Order 1"},
        {**shop, "currency": "EUR"},
    )
    assert plain == with_both == in_euros


async def test_states_of_an_item_with_one_creation_date_are_one() -> None:
    driver = make_driver()
    lamp = {"entity_type": "repair", "item_name": "Desk lamp", "created_date": "2025-01-01"}
    states = await ids_of(
        driver,
        {**lamp, "status": "open"},
        {**lamp, "status": "ordered", "notes": "bulb"},
        {**lamp, "status": "done", "completed_date": "2025-01-09"},
    )
    later = await ids_of(driver, {**lamp, "created_date": "2025-02-01", "status": "open"})
    assert len(set(states)) == 1
    assert later[0] not in states
    assert (await driver.snapshot(states[0]))["status"] == "done"


async def test_completion_days_separate_items_without_creation_dates() -> None:
    first, second = await ids_of(
        make_driver(),
        {"entity_type": "round", "name": "Check the boiler", "completed_date": "2025-01-09"},
        {"entity_type": "round", "name": "Check the boiler", "completed_date": "2025-01-10"},
    )
    assert first != second


async def test_a_date_added_to_a_type_later_separates_its_entities_too() -> None:
    plain, first, second = await ids_of(
        make_driver(),
        {"entity_type": "walk", "name": "Along the river"},
        {"entity_type": "walk", "name": "Along the river", "day": "2025-01-09"},
        {"entity_type": "walk", "name": "Along the river", "day": "2025-01-10"},
    )
    assert len({plain, first, second}) == 3


async def test_an_entity_is_found_by_the_corrected_key() -> None:
    driver = make_driver()
    invoice = await driver.entity("invoice", invoice_number="A-1", vendor_name="Harbour Lights")
    await driver.correct(invoice, "invoice_number", "A-2")
    assert await driver.entity("invoice", invoice_number="a-2", amount_due=5) == invoice
    assert await driver.entity("invoice", invoice_number="A-1", notes="x") == invoice
    assert (await driver.snapshot(invoice))["invoice_number"] == "A-2"
    other = await driver.ingest(
        {"entity_type": "invoice", "invoice_number": "A-2", "vendor_name": "Quiet Rivers"}
    )
    assert other["entities"][0]["entity_id"] != invoice
    assert other["possible_duplicates"][0]["candidate_id"] == invoice


@pytest.mark.parametrize(
    "name",
    [
        *("Rent Payment", "SALARY MARCH 2025", "ATM withdrawal", "Monthly account fee"),
        *("Miete Mai", "Geb\xfchren", "\xdcberweisung", "N\xf3mina enero", "Frais"),
    ],
)
def test_payment_type_words_name_nobody(name: str) -> None:
    assert names_a_payment(name)


@pytest.mark.parametrize(
    "name",
    [
        *("Coffee Shop", "Rent-A-Car", "Cash Converters", "Bank of Utopia", "Salary Finance Ltd"),
        *("May", "Payment Harbour Lights", "7-Eleven", "", "Mieterverein"),
    ],
)
def test_a_name_with_one_distinctive_word_is_a_name(name: str) -> None:
    assert not names_a_payment(name)


async def test_a_rent_has_no_company_and_a_shop_has_one() -> None:
    driver = make_driver()
    await driver.ingest({**PAYMENT, "merchant_name": "Rent payment"})
    await driver.ingest({**PAYMENT, "merchant_name": "Blue Door Books"})
    companies = await driver.call("retrieve_entities", entity_type="company")
    assert [each["canonical_name"] for each in companies["entities"]] == ["Blue Door Books"]


@pytest.mark.parametrize(
    ("kind", "key", "own", "other", "more"),
    [
        ("invoice", "invoice_number", "INV-1", "INV-2", {"vendor_name": "Alder Ltd"}),
        ("receipt", "receipt_number", "R-1", "R-2", {"merchant_name": "Alder Ltd"}),
        ("transaction", "transaction_id", "T1", "T2", {"amount": -5, "date": "2024-05-13"}),
        ("issue", "issue_number", 12, 13, {"title": "Paint the door", "repo": "a/b"}),
        ("order", "id", "O-1", "O-2", {"customer": "Bo"}),
    ],
)
async def test_a_merged_entity_keeps_its_number_and_takes_later_values(
    kind: str, key: str, own: Any, other: Any, more: dict[str, Any]
) -> None:
    driver = make_driver()
    kept = await driver.entity(kind, **{key: own, "notes": "old"}, **more)
    gone = await driver.entity(kind, **{key: other, "notes": "new"}, **more)
    await driver.merge(gone, kept)
    again = await driver.ingest({"entity_type": kind, key: other, "notes": "newest", **more})

    assert again["entities"][0]["entity_id"] == kept
    shown = await driver.call("get_entity_snapshot", entity_id=kept)
    notes = shown["snapshot"].get("notes") or shown["raw_fragments"]["notes"]["value"]
    assert (shown["snapshot"][key], notes) == (own, "newest")
    await driver.call("unmerge_entities", user_id=driver.user, entity_id=gone)
    assert (await driver.snapshot(gone))[key] == other
