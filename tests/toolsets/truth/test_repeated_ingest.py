"""A source that is brought again: nothing new while its word stands, and the last word after."""

import base64
from typing import Any

import pytest

from tests.toolsets.truth.kit import ToolDriver, an_invoice, make_driver

pytestmark = pytest.mark.anyio


async def ingest_invoice_file(driver: ToolDriver, total: int, **more: Any) -> dict[str, Any]:
    """An invoice as a file, a minute after whatever was before."""
    driver.wait()
    text = f"# Invoice\n\nInvoice number: INV-9\nVendor: Acme Corp\nTotal: {total}.00 EUR\n"
    content = base64.b64encode(text.encode()).decode()
    said = {"user_id": driver.user, "file_content": content, "mime_type": "text/markdown", **more}
    return await driver.call("ingest", **said)


async def test_an_older_file_imported_again_has_the_latest_values() -> None:
    driver = make_driver()
    first = await ingest_invoice_file(driver, 100)
    invoice = first["entities"][0]["entity_id"]
    await ingest_invoice_file(driver, 200)
    assert (await driver.snapshot(invoice))["amount_due"] == 200
    again = await ingest_invoice_file(driver, 100)
    assert again["deduplicated"] is True
    assert again["interpretation"] == first["interpretation"]
    assert again["observations_added"] == 1
    assert (await driver.snapshot(invoice))["amount_due"] == 100
    traced = await driver.call("get_field_provenance", entity_id=invoice, field="amount_due")
    assert traced["source_material"]["id"] == first["source_id"]
    assert (await ingest_invoice_file(driver, 100))["observations_added"] == 0
    assert (await ingest_invoice_file(driver, 200))["observations_added"] == 1
    assert (await driver.snapshot(invoice))["amount_due"] == 200
    assert (await driver.call("list_observations", entity_id=invoice))["total"] == 4


async def test_a_file_that_is_only_kept_records_nothing_again() -> None:
    driver = make_driver()
    invoice = (await ingest_invoice_file(driver, 100))["entities"][0]["entity_id"]
    await ingest_invoice_file(driver, 200)
    await ingest_invoice_file(driver, 100, interpret=False)
    assert (await driver.snapshot(invoice))["amount_due"] == 200


async def test_a_repeated_file_updates_the_survivor_below_corrections() -> None:
    driver = make_driver()
    invoice = (await ingest_invoice_file(driver, 100))["entities"][0]["entity_id"]
    survivor = await driver.entity("invoice", invoice_number="INV-10", amount_due=300)
    await driver.merge(invoice, survivor)
    assert (await driver.snapshot(survivor))["amount_due"] == 300
    assert (await ingest_invoice_file(driver, 100))["observations_added"] == 1
    assert (await driver.snapshot(survivor))["amount_due"] == 100
    await driver.correct(survivor, "amount_due", 7)
    assert (await ingest_invoice_file(driver, 100))["observations_added"] == 0
    assert (await driver.snapshot(survivor))["amount_due"] == 7


async def test_contradictory_records_keep_their_final_values() -> None:
    driver = make_driver()
    records = [an_invoice(amount_due=1), an_invoice(amount_due=2)]
    invoice = (await driver.ingest(*records))["entities"][0]["entity_id"]
    for _ in range(2):
        again = await driver.ingest(*records)
        assert (again["deduplicated"], again["observations_added"]) == (True, 0)
        assert all("observation_id" not in each for each in again["entities"])
        assert (await driver.snapshot(invoice))["amount_due"] == 2
    await driver.ingest(an_invoice(amount_due=3))
    assert (await driver.ingest(*records))["observations_added"] == 2
    assert (await driver.snapshot(invoice))["amount_due"] == 2
