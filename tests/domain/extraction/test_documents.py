"""Documents in prose and labels, in three languages: types, numbers, parties, dates, amounts."""

import time

import pytest

from canonry.canon.ports.files import Cell
from canonry.records.domain.interpretations import UnreadValue
from tests.domain.extraction.papers import from_text

INVOICE = """\
INVOICE
Invoice Number: INV-7
Date: 2024-12-15
Due Date: 2025-01-15
Bill To:
Example Inc
1 High Street
Description: Advice - Q1 2024
Subtotal: $4,500.00
VAT (10%): $450.00
Amount: $4,950.00 USD
Payment Terms: Net 30
Status: Pending
"""
RECHNUNG = """\
Muster GmbH
Rechnung
Rechnungs-Nr.: RE-2024-17
Rechnungsdatum 03.05.2024
F\xe4llig am: 17.05.2024
Rechnung an:
Beispiel AG
USt-IdNr. DE136695976
IBAN DE89 3704 0044 0532 0130 00
Nettobetrag: 1.000,00 EUR
MwSt 19 %: 190,00 EUR
Gesamtbetrag: 1.190,00 EUR
"""
FACTURA = """\
FACTURA
Proveedor: Servicios Ib\xe9ricos S.L.
N\xfamero de factura: F-88/2024
Fecha de emisi\xf3n: 5 de enero de 2025
Vencimiento: 04/02/2025
Cliente: Juan P\xe9rez Garc\xeda
Base imponible: 1.000 \u20ac
IVA (21%): 210 \u20ac
Total a pagar: 1.210 \u20ac
"""
RECEIPT = """\
PURCHASE RECEIPT
Store: Corner Shop
Date: 2024-12-18
Receipt Number: R-2024-12-18-001
Items:
- Bread: $4.50
- Cheese: $8.30
- Tax: $0.91
Total: $13.71 USD
Payment Method: Credit Card (****1234)
"""
NOTES = """\
MEETING NOTES
Date: 2024-12-15
Title: Q1 Planning Meeting
Attendees: Ada Lovelace, Bob Stone
Agenda:
1. Review
Action Items:
- Ada: Prepare survey (Due: 12/20)
- [x] Send minutes
- Bob: Draft plan by January 7
"""


def test_an_invoice_in_english_is_read() -> None:
    (invoice,) = from_text(INVOICE)

    assert invoice.entity_type == "invoice"
    assert invoice.fields == {
        "invoice_number": "INV-7",
        "invoice_date": "2024-12-15",
        "date_due": "2025-01-15",
        "amount_due": 4950.0,
        "currency": "USD",
        "subtotal": 4500.0,
        "tax_amount": 450.0,
        "tax_rate": "10%",
        "customer_name": "Example Inc",
        "description": "Advice - Q1 2024",
        "payment_terms": "Net 30",
        "status": "pending",
    }
    assert 'heading "INVOICE"' in invoice.reasons


def test_an_invoice_in_german_is_read_with_its_letterhead() -> None:
    table: list[list[Cell]] = [
        ["Beschreibung", "Menge", "Einzelpreis", "Gesamt"],
        ["Beratung", "10", "100,00", "1.000,00"],
        ["Summe", None, None, "1.000,00"],
    ]
    (invoice,) = from_text(RECHNUNG, [table])

    assert invoice.fields == {
        "invoice_number": "RE-2024-17",
        "invoice_date": "2024-05-03",
        "date_due": "2024-05-17",
        "amount_due": 1190.0,
        "currency": "EUR",
        "subtotal": 1000.0,
        "tax_amount": 190.0,
        "tax_rate": "19%",
        "vendor_name": "Muster GmbH",
        "customer_name": "Beispiel AG",
        "iban": "DE89370400440532013000",
        "tax_id": "DE136695976",
        "items": [
            {"description": "Beratung", "quantity": 10, "unit_price": 100.0, "amount": 1000.0}
        ],
    }


def test_an_invoice_in_spanish_is_read_by_spanish_conventions() -> None:
    (invoice,) = from_text(FACTURA)

    assert invoice.fields == {
        "invoice_number": "F-88/2024",
        "invoice_date": "2025-01-05",
        "date_due": "2025-02-04",
        "amount_due": 1210,
        "currency": "EUR",
        "subtotal": 1000,
        "tax_amount": 210,
        "tax_rate": "21%",
        "vendor_name": "Servicios Ib\xe9ricos S.L.",
        "customer_name": "Juan P\xe9rez Garc\xeda",
    }


def test_ambiguous_english_values_are_kept_unread() -> None:
    text = "INVOICE #4712\nVendor: Foo Ltd\nInvoice Date: 03/04/2024\nAmount Due: 1.250 EUR\n"
    (invoice,) = from_text(text)

    assert invoice.fields["invoice_number"] == "4712"
    assert {"invoice_date", "amount_due"}.isdisjoint(invoice.fields)
    assert invoice.unread == {
        "invoice_date": UnreadValue(
            value="03/04/2024", reason="day and month could be either way round"
        ),
        "amount_due": UnreadValue(
            value="1.250 EUR", reason="the mark could divide thousands or decimals"
        ),
    }


def test_another_date_in_the_document_settles_the_order() -> None:
    text = "INVOICE #4711\nInvoice Date: 03/04/2024\nDue Date: 04/15/2024\nTotal Due: $1,250\n"
    (invoice,) = from_text(text)

    assert invoice.fields["invoice_date"] == "2024-03-04"
    assert invoice.fields["date_due"] == "2024-04-15"
    assert invoice.fields["amount_due"] == 1250


def test_a_receipt_is_read_with_items_and_without_totals_among_them() -> None:
    (receipt,) = from_text(RECEIPT)

    assert receipt.entity_type == "receipt"
    assert receipt.fields == {
        "receipt_number": "R-2024-12-18-001",
        "merchant_name": "Corner Shop",
        "date_purchased": "2024-12-18",
        "amount_total": 13.71,
        "currency": "USD",
        "tax_amount": 0.91,
        "payment_method": "Credit Card (****1234)",
        "items": [
            {"description": "Bread", "amount": 4.5},
            {"description": "Cheese", "amount": 8.3},
        ],
    }


def test_a_contract_is_read_from_labels() -> None:
    text = (
        "CONTRACT AGREEMENT\nContract Name: Advice Agreement\nParties: Acme Corp, Ada Lovelace\n"
        "Effective Date: 2024-01-01\nExpiration Date: 2025-12-31\nStatus: Active\n"
        "Contract Type: Services\nSigned Date: 2023-12-20\nContract Value: EUR 12.000,50\n"
    )
    (contract,) = from_text(text)

    assert contract.entity_type == "contract"
    assert contract.fields == {
        "name": "Advice Agreement",
        "parties": ["Acme Corp", "Ada Lovelace"],
        "companies": ["Acme Corp"],
        "effective_date": "2024-01-01",
        "expiration_date": "2025-12-31",
        "signed_date": "2023-12-20",
        "status": "active",
        "type": "Services",
        "amount": 12000.5,
        "currency": "EUR",
    }


def test_a_contract_is_read_from_its_sentences() -> None:
    text = (
        "# Service Agreement\n\nThis agreement (Agreement No. SA-9) is entered into on March 3, "
        '2024 between Acme Corp. ("Client") and Jane Q. Smith ("Contractor"), effective as of '
        "April 1, 2024.\n\nIt expires on March 31, 2025.\n"
    )
    (contract,) = from_text(text)

    assert contract.fields == {
        "name": "Service Agreement",
        "contract_number": "SA-9",
        "parties": ["Acme Corp.", "Jane Q. Smith"],
        "companies": ["Acme Corp."],
        "signed_date": "2024-03-03",
        "effective_date": "2024-04-01",
        "expiration_date": "2025-03-31",
    }


def test_notes_of_a_meeting_name_people_and_tasks() -> None:
    note, *others = from_text(NOTES)

    assert note.entity_type == "note"
    assert note.fields["title"] == "Q1 Planning Meeting"
    assert note.fields["created_date"] == "2024-12-15"
    assert note.fields["tags"] == ["Q1", "planning", "meeting"]
    assert note.fields["content"] == NOTES.strip()
    assert note.refers_to == (1, 2, 3, 4, 5)
    assert [(each.entity_type, dict(each.fields)) for each in others] == [
        ("person", {"name": "Ada Lovelace"}),
        ("person", {"name": "Bob Stone"}),
        (
            "task",
            {"title": "Prepare survey", "assignee": "Ada Lovelace", "due_date": "2024-12-20"},
        ),
        ("task", {"title": "Send minutes", "status": "completed"}),
        ("task", {"title": "Draft plan", "assignee": "Bob Stone", "due_date": "2025-01-07"}),
    ]


def test_labels_that_cover_a_type_make_an_entity_of_it() -> None:
    text = (
        "# Use one file\n\nDecision: Keep all in one file\nRationale: it can be copied\n"
        "Status: accepted\nTimestamp: 2024-05-01T10:00:00Z\n"
    )
    (decision,) = from_text(text)

    assert decision.entity_type == "architectural_decision"
    assert decision.fields["decision"] == "Keep all in one file"
    assert decision.fields["timestamp"] == "2024-05-01T10:00:00Z"


def test_any_other_text_is_a_note() -> None:
    (note,) = from_text(
        "Thoughts on gardens\n\nThey need water, and an invoice for it came late.\n"
    )

    assert note.entity_type == "note"
    assert note.fields["title"] == "Thoughts on gardens"


@pytest.mark.parametrize("text", ["", "\n \n", "---"])
def test_an_uninformative_text_yields_nothing_invented(text: str) -> None:
    assert all(set(found.fields) <= {"content", "title"} for found in from_text(text))


LONG = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "INVOICE\nParties: a" + " " * LONG + "b",
        "CONTRACT\nParties: " + '("' * LONG,
        "*a" * LONG,
        "a: " * LONG,
        "between " + "a and " * LONG,
        "INVOICE\nTotal: " + "1," * LONG,
        "INVOICE\nDate: " + "1/" * LONG,
        "INVOICE\nDate: " + "12 may " * LONG,
        "a@" * LONG,
        "a." * LONG + "@",
        "+1 " + "1 " * LONG,
        "DE89 " * LONG,
        "| " * LONG,
        "MEETING NOTES\nAction Items:\n- " + "due " * LONG,
        "\n".join(["- [x] a"] * LONG),
        "MEETING NOTES\n" + "Attendees:\nA B\n" * (LONG // 10),
    ],
)
def test_an_adversarial_text_takes_seconds_at_most(text: str) -> None:
    began = time.monotonic()

    from_text(text)

    assert time.monotonic() - began < 20


def test_markup_of_labels_is_no_part_of_them() -> None:
    text = "# Invoice\n\n| **Invoice No.** | A-1 |\n- **Due Date:** 2024-02-03\n- Total: *$5.00*\n"
    (invoice,) = from_text(text)

    assert invoice.fields["invoice_number"] == "A-1"
    assert invoice.fields["date_due"] == "2024-02-03"
    assert invoice.fields["amount_due"] == 5.0


def test_a_quantity_keeps_its_unit_and_a_sum_its_currency() -> None:
    rows: list[tuple[Cell, ...]] = [
        ("Description", "Quantity", "Unit", "Price", "Amount"),
        ("Apples", "2.50 kg", None, "1.99 EUR", "4.98 A"),
        ("Power", 120, "kWh", "0.32 EUR/kWh", "38.40"),
        ("Consulting", "3 hours", None, "100.00", "3 hours"),
    ]

    (invoice, *_) = from_text("Invoice\nInvoice number: A-1\nTotal: 343.38 EUR\n", [rows])

    assert invoice.fields["items"] == [
        {
            "description": "Apples",
            "quantity": 2.5,
            "unit": "kg",
            "unit_price": 1.99,
            "amount": 4.98,
        },
        {
            "description": "Power",
            "quantity": 120,
            "unit": "kWh",
            "unit_price": 0.32,
            "amount": 38.4,
        },
        {"description": "Consulting", "quantity": 3, "unit": "hours", "unit_price": 100.0},
    ]


def test_a_price_may_stand_under_half_of_its_title() -> None:
    rows = [("Item", "Unit", "Total"), ("Chair", "49.50", "99.00")]

    (invoice, *_) = from_text("Invoice\nInvoice number: A-1\nTotal: 99.00 EUR\n", [rows])

    assert invoice.fields["items"] == [{"description": "Chair", "unit_price": 49.5, "amount": 99.0}]


def test_a_count_is_never_taken_for_a_sum() -> None:
    text = "Invoice\nInvoice number: A-1\nDate: 2024-05-30\nTotal: 1,250.5 kWh\n"
    listed = "Invoice\nInvoice number: A-1\nItems:\n- Power: 120 kWh\n- Fee: 12.00\n"

    (invoice, *_) = from_text(text)
    (other, *_) = from_text(listed)

    assert "amount_due" not in invoice.fields
    assert invoice.unread["amount_due"].value == "1,250.5 kWh"
    assert other.fields["items"] == [{"description": "Fee", "amount": 12.0}]
