"""Places: provenance says where in a file a value stands: line, cell, page and quote."""

import base64
from typing import Any

import pytest

from tests.adapters.readers.paper import a_pdf
from tests.toolsets.truth.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

CSV = (
    "Statement of May\n\nDate,Payee,Amount\n2024-05-30,Alder,-5.00\n\n2024-05-30,Birch,-5.00\n"
    "2024-05-31,Birch,-7.50\n"
)


async def value_places(
    driver: ToolDriver, data: bytes, mime: str, kind: str, field: str
) -> list[Any]:
    """The places of a field of each entity of the type, by the entity's name."""
    await driver.call(
        "ingest",
        user_id=driver.user,
        file_content=base64.b64encode(data).decode(),
        mime_type=mime,
    )
    listed = await driver.call("retrieve_entities", entity_type=kind)
    traced = [
        await driver.call("get_field_provenance", entity_id=each["id"], field=field)
        for each in sorted(listed["entities"], key=lambda each: str(each["canonical_name"]))
    ]
    return [each["places"] for each in traced]


async def test_the_value_of_a_row_is_located_in_its_line_under_its_title() -> None:
    found = await value_places(make_driver(), CSV.encode(), "text/csv", "transaction", "amount")

    assert found == [
        [{"quote": "-5.00", "line": 4, "column": "Amount"}],
        [{"quote": "-5.00", "line": 6, "column": "Amount"}],
        [{"quote": "-7.50", "line": 7, "column": "Amount"}],
    ]


async def test_the_value_of_a_page_is_located_in_a_quoted_line() -> None:
    bill = "Invoice\nInvoice number: A-1\nInvoice date: 30/05/2024\nTotal: 1,250.00 EUR\n"
    pages = a_pdf("Cover\n", bill)

    (total,) = await value_places(make_driver(), pages, "application/pdf", "invoice", "amount_due")
    ((day,),) = await value_places(
        make_driver(), pages, "application/pdf", "invoice", "invoice_date"
    )
    box = total[0].pop("box")

    assert total == [{"quote": "Total: 1,250.00 EUR", "line": 4, "page": 2}]
    assert (day["quote"], day["line"], day["page"]) == ("Invoice date: 30/05/2024", 3, 2)
    assert day["box"]["bottom"] <= box["top"] + 1  # a line is 14 points high


async def test_the_box_of_a_value_is_in_points_from_the_page_corner() -> None:
    bill = "Invoice\nInvoice number: A-1\nTotal: 1,250.00 EUR\n"
    upright, turned = a_pdf(bill), a_pdf(bill, turn=90)

    ((first,),) = await value_places(
        make_driver(), upright, "application/pdf", "invoice", "amount_due"
    )
    ((second,),) = await value_places(
        make_driver(), turned, "application/pdf", "invoice", "amount_due"
    )
    box, beside = first["box"], second["box"]

    # The line begins 72 points from the left and 792 - 720 + 2 * 14 points from the top; the
    # value in it, behind `Total: `, is 8 letters of 12 points.
    assert 100 < box["left"] < 112
    assert 140 < box["right"] < 160
    assert 84 < box["top"] < 92
    assert 100 < box["bottom"] < 106
    # The page is turned and 792 points wide: its left side is above, its upper side on the right.
    assert (beside["top"], beside["bottom"]) == pytest.approx((box["left"], box["right"]), abs=0.2)
    assert beside["right"] == pytest.approx(792 - box["top"], abs=0.2)


async def test_the_reason_of_a_field_value_shows_its_position() -> None:
    driver = make_driver()
    bill = a_pdf("Invoice\nInvoice number: A-1\nTotal: 1,250.00 EUR\n")
    (traced,) = await value_places(driver, bill, "application/pdf", "invoice", "amount_due")
    listed = await driver.call("retrieve_entities", entity_type="invoice")
    of = {"entity_id": listed["entities"][0]["id"]}

    explained = await driver.call("explain_snapshot", **of, field="amount_due")
    whole = await driver.call("explain_snapshot", **of)

    assert explained["places"] == traced
    assert "places" not in whole


async def test_submitted_or_corrected_values_have_no_file_position() -> None:
    driver = make_driver()
    reply = await driver.ingest({"entity_type": "note", "title": "Oak", "content": "tall"})
    entity = reply["entities"][0]["entity_id"]

    traced = await driver.call("get_field_provenance", entity_id=entity, field="title")
    assert traced["places"] == []
