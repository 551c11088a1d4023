"""Forms: lists of labels and values are read as labels; lists of goods and tasks are not."""

import pytest

from canonry.records.domain.interpretations import UnreadValue
from tests.domain.extraction.papers import from_text

BILL = """\
# Bill for March

- **Bill number:** 2025/0031
- **Seller:** Harbour Lights Ltd
- **Billed to:** Otter & Finch LLP
- **Issue date:** 4 March 2025
- **Payable by:** 3 April 2025
- **Total (GBP):** 1,840.50
- **Terms:** 30 days net
- **PO number:** PO-778
- **Cost centre:** Studio
- **Status:** Open

## Line items

- Stage lamps: 1,500.00
- Cable: 33.75
- Tax: 306.75
"""
RECHNUNG = """\
Rechnung

* Rechnungs-Nr.: R-900
* Lieferant: Nordwind Technik GmbH
* Kunde: Fischerei Albers KG
* Rechnungsdatum: 14.02.2025
* F\xe4llig am: 28.02.2025
* Gesamtbetrag EUR: 2.310,00
* Projekt: Leuchtturm
"""
FIELDS = """\
# invoice_0042

**Fields**

- `invoice_number`: "K-42"
- `vendor_name`: "Bright Kiln Pottery"
- `amount_eur`: 88.20
- `income_date`: "2025-01-09"
- `due_date`: "2025-01-23"
- `tax_year`: 2025
- `status`: "Open"

**Others**

- `company`: "Bright Kiln Pottery"
- `Created`: 2025-01-10
"""
NUMBERED = """\
INVOICE

1. Invoice No: 55-A
2. Vendor: Quiet Rivers Inc.
3. Customer: Maple Street School
4. Invoice date: 2025-06-01
5. Amount in USD: 640
"""


def test_a_bulleted_bill_is_read_like_plain_labels() -> None:
    (bill,) = from_text(BILL)

    assert bill.entity_type == "invoice"
    assert bill.fields == {
        "invoice_number": "2025/0031",
        "vendor_name": "Harbour Lights Ltd",
        "customer_name": "Otter & Finch LLP",
        "invoice_date": "2025-03-04",
        "date_due": "2025-04-03",
        "amount_due": 1840.5,
        "currency": "GBP",
        "tax_amount": 306.75,
        "payment_terms": "30 days net",
        "purchase_order": "PO-778",
        "cost_centre": "Studio",
        "status": "open",
        "items": [
            {"description": "Stage lamps", "amount": 1500.0},
            {"description": "Cable", "amount": 33.75},
        ],
    }


def test_a_bulleted_bill_in_german_is_read_too() -> None:
    (bill,) = from_text(RECHNUNG)

    assert bill.fields == {
        "invoice_number": "R-900",
        "vendor_name": "Nordwind Technik GmbH",
        "customer_name": "Fischerei Albers KG",
        "invoice_date": "2025-02-14",
        "date_due": "2025-02-28",
        "amount_due": 2310.0,
        "currency": "EUR",
        "projekt": "Leuchtturm",
    }


def test_field_names_are_labels_and_other_lists_are_not() -> None:
    (bill,) = from_text(FIELDS)

    assert bill.fields == {
        "invoice_number": "K-42",
        "vendor_name": "Bright Kiln Pottery",
        "invoice_date": "2025-01-09",
        "date_due": "2025-01-23",
        "amount_due": 88.2,
        "currency": "EUR",
        "tax_year": 2025,
        "status": "open",
    }


def test_a_number_before_a_label_is_not_part_of_it() -> None:
    (bill,) = from_text(NUMBERED)

    assert bill.fields == {
        "invoice_number": "55-A",
        "vendor_name": "Quiet Rivers Inc.",
        "customer_name": "Maple Street School",
        "invoice_date": "2025-06-01",
        "amount_due": 640,
        "currency": "USD",
    }


def test_a_list_of_goods_gives_no_fields_of_their_names() -> None:
    (receipt,) = from_text(
        "RECEIPT\nStore: Blue Door Books\nDate: 2025-05-05\nTotal USD: 31.40\n"
        "Items:\n- Atlas: 21.40\n- Notes: 10.00\n- Date: 1.00\n"
    )

    assert receipt.fields.keys() == {
        *("merchant_name", "date_purchased", "amount_total", "currency", "items")
    }


MEETINGS = (
    (
        "Minutes of the choir\nDate: 2025-09-02\nPresent: Mona Reyes\nNext session: 7 October\n",
        {"title": "Next session: Minutes of the choir", "start_date": "2025-10-07"},
    ),
    (
        "# Protokoll Bau\nDatum: 12.03.2025\nN\xe4chste Sitzung: 9. April 2025, 18:30 Uhr am See",
        {
            "title": "N\xe4chste Sitzung: Protokoll Bau",
            "start_date": "2025-04-09",
            "description": "9. April 2025, 18:30 Uhr am See",
        },
    ),
)


@pytest.mark.parametrize(("text", "fields"), MEETINGS)
def test_the_next_meeting_is_an_event_of_the_note(text: str, fields: dict[str, str]) -> None:
    note, *others = from_text(text)

    assert note.entity_type == "note"
    assert note.refers_to == tuple(range(1, len(others) + 1))
    assert (others[-1].entity_type, others[-1].fields) == ("event", fields)


def test_a_next_meeting_on_an_unclear_day_is_kept_unread() -> None:
    note, *others = from_text("Minutes\nDate: 2025-09-02\nNext call: 03/04\nPresent: Mona Reyes\n")
    later, *_ = from_text("Minutes\nDate: 2025-09-02\nNext call: to be announced\nTags: garden\n")

    assert note.unread == {
        "next_meeting": UnreadValue(value="03/04", reason="day and month could be either way round")
    }
    assert [each.entity_type for each in others] == ["person"]
    assert not later.unread
    assert not later.refers_to


def test_a_heading_with_nothing_readable_below_is_a_note() -> None:
    (note,) = from_text("INVOICE\n" + "word " * 30)

    assert note.entity_type == "note"
    assert note.fields["title"] == "INVOICE"
