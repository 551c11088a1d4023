"""A source that is brought again: nothing new while its word stands, and the last word after."""

import base64
from typing import Any

import pytest

from tests.toolsets.truth.kit import Desk, a_desk, an_invoice

pytestmark = pytest.mark.anyio


async def brought(desk: Desk, total: int, **more: Any) -> dict[str, Any]:
    """An invoice as a file, a minute after whatever was before."""
    desk.wait()
    text = f"# Invoice\n\nInvoice number: INV-9\nVendor: Acme Corp\nTotal: {total}.00 EUR\n"
    content = base64.b64encode(text.encode()).decode()
    said = {"user_id": desk.user, "file_content": content, "mime_type": "text/markdown", **more}
    return await desk.call("ingest", **said)


async def test_an_older_file_brought_again_has_the_last_word() -> None:
    desk = a_desk()
    first = await brought(desk, 100)
    invoice = first["entities"][0]["entity_id"]
    await brought(desk, 200)
    assert (await desk.snapshot(invoice))["amount_due"] == 200
    again = await brought(desk, 100)
    assert again["deduplicated"] is True
    assert again["interpretation"] == first["interpretation"]
    assert again["observations_added"] == 1
    assert (await desk.snapshot(invoice))["amount_due"] == 100
    traced = await desk.call("get_field_provenance", entity_id=invoice, field="amount_due")
    assert traced["source_material"]["id"] == first["source_id"]
    assert (await brought(desk, 100))["observations_added"] == 0
    assert (await brought(desk, 200))["observations_added"] == 1
    assert (await desk.snapshot(invoice))["amount_due"] == 200
    assert (await desk.call("list_observations", entity_id=invoice))["total"] == 4


async def test_a_file_that_is_only_kept_says_nothing_again() -> None:
    desk = a_desk()
    invoice = (await brought(desk, 100))["entities"][0]["entity_id"]
    await brought(desk, 200)
    await brought(desk, 100, interpret=False)
    assert (await desk.snapshot(invoice))["amount_due"] == 200


async def test_a_file_brought_again_speaks_of_the_survivor_and_under_corrections() -> None:
    desk = a_desk()
    invoice = (await brought(desk, 100))["entities"][0]["entity_id"]
    survivor = await desk.entity("invoice", invoice_number="INV-10", amount_due=300)
    await desk.merge(invoice, survivor)
    assert (await desk.snapshot(survivor))["amount_due"] == 300
    assert (await brought(desk, 100))["observations_added"] == 1
    assert (await desk.snapshot(survivor))["amount_due"] == 100
    await desk.correct(survivor, "amount_due", 7)
    assert (await brought(desk, 100))["observations_added"] == 0
    assert (await desk.snapshot(survivor))["amount_due"] == 7


async def test_records_that_contradict_each_other_stay_as_they_ended() -> None:
    desk = a_desk()
    records = [an_invoice(amount_due=1), an_invoice(amount_due=2)]
    invoice = (await desk.ingest(*records))["entities"][0]["entity_id"]
    for _ in range(2):
        again = await desk.ingest(*records)
        assert (again["deduplicated"], again["observations_added"]) == (True, 0)
        assert all("observation_id" not in each for each in again["entities"])
        assert (await desk.snapshot(invoice))["amount_due"] == 2
    await desk.ingest(an_invoice(amount_due=3))
    assert (await desk.ingest(*records))["observations_added"] == 2
    assert (await desk.snapshot(invoice))["amount_due"] == 2
