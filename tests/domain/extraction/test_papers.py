"""Papers beside bills: their own number, the invoices that they name, and several in one file."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.domain.extraction.papers import from_rows, from_text


def found_in(text: str) -> Sequence[tuple[str, Mapping[str, Any]]]:
    return [(each.entity_type, each.fields) for each in from_text(text)]


PAPERS = [
    ("credit_note", "Credit note G-3\nDate: 2024-05-13\nInvoice number: R-10\nTotal: 119.00 EUR"),
    (
        "credit_note",
        "# Gutschrift\n\nGutschriftsnummer: G-3\nZu Rechnung: R-10\nBetrag: 119,00 EUR",
    ),
    (
        "credit_note",
        "Nota de cr\u00e9dito\nN\u00famero: G-3\nFactura n\u00ba: R-10\nTotal: 119,00 EUR",
    ),
    ("reminder", "Payment reminder\nReminder no: G-3\nOur invoice R-10 is due.\nTotal: 5.00 EUR"),
    ("reminder", "MAHNUNG Nr. G-3\nRechnungsnummer: R-10\nOffener Betrag: 119,00 EUR"),
    ("delivery_note", "Lieferschein Nr. G-3\nRechnung Nr. R-10\nDatum: 13.05.2024"),
    ("quote", "Devis n\u00b0 G-3\nDate : 13/05/2024\nTotal TTC : 1 200,00 \u20ac"),
    ("quote", "Quotation\nQuote number: G-3\nDate: 2024-05-13\nTotal: 500.00 USD"),
    ("quote", "Pro forma invoice G-3\nDate: 2024-05-13\nTotal: 500.00 USD"),
    ("order", "Order confirmation\nOrder number: G-3\nDate: 2024-05-13\nTotal: 50.00 USD"),
    ("order", "Auftragsbest\u00e4tigung\nAuftragsnummer: G-3\nDatum: 13.05.2024"),
]


@pytest.mark.parametrize(("kind", "text"), PAPERS)
def test_a_paper_has_its_own_number_and_refers_to_its_invoice(kind: str, text: str) -> None:
    ((entity_type, fields),) = found_in(text)

    assert entity_type == kind
    assert fields[f"{kind}_number"] == "G-3"
    assert fields.get("invoice_reference") == ("R-10" if "R-10" in text else None)
    assert "invoice_number" not in fields


@pytest.mark.parametrize(
    ("heading", "named"),
    [
        ("Credit note for invoice R-10", "R-10"),
        ("Gutschrift zur Rechnung R-10", "R-10"),
        ("Mahnung zu Rechnung Nr. 4711", "4711"),
        ("Avoir sur facture F-12", "F-12"),
        ("Order confirmation for quote Q-7", None),
        ("Reminder for your order 12345", None),
        ("Quote 2 of 3", None),
        ("Payslip 05/2024", None),
    ],
)
def test_an_unrelated_number_in_a_heading_is_not_the_papers_own(
    heading: str, named: str | None
) -> None:
    ((_, fields),) = found_in(f"{heading}\nDate: 2024-05-13\nTotal: 119.00 EUR")

    assert not any(name.endswith("_number") for name in fields)
    assert fields.get("invoice_reference") == named


def test_a_heading_names_the_paper_and_its_invoice() -> None:
    ((_, fields),) = found_in("Credit note G-3 for invoice R-10\nTotal: 119.00 EUR")

    assert (fields["credit_note_number"], fields["invoice_reference"]) == ("G-3", "R-10")


@pytest.mark.parametrize(
    "line",
    [
        "Your invoice: 119.00 EUR",
        "Rechnung: 119,00 EUR",
        "Invoice 12,50 was too high",
        "Rechnung: 119 EUR",
        "Invoices 2023 and 2024 will follow",
    ],
)
def test_an_amount_or_year_is_no_invoice_number(line: str) -> None:
    ((_, fields),) = found_in(f"Reminder\nReminder no: G-3\n{line}\nTotal: 119.00 EUR")

    assert "invoice_reference" not in fields


@pytest.mark.parametrize("number", ["2024 0815", "G 2024 0815", "CN/2024/05-113.7"])
def test_a_number_in_groups_is_read_whole(number: str) -> None:
    ((_, own),) = found_in(f"Gutschrift\nGutschriftsnummer: {number}\nBetrag: 119,00 EUR")
    ((_, other),) = found_in(f"Gutschrift G-3\nRechnungsnummer: {number}\nBetrag: 119,00 EUR")

    assert own["credit_note_number"] == number
    assert other["invoice_reference"] == number
    assert "invoice_number" not in other


def test_a_list_of_invoices_is_not_the_number_of_the_paper() -> None:
    ((_, fields),) = found_in("Credit note\nNumber: G-3\nInvoice number: R-10, R-11\nTotal: 5 EUR")

    assert fields["invoice_reference"] == ["R-10", "R-11"]
    assert "invoice_number" not in fields


def test_a_reminder_of_several_invoices_names_all() -> None:
    ((_, fields),) = found_in("Reminder M-5\nOur invoices INV-77 and INV-78 are due.\nTotal: 9 EUR")

    assert fields["invoice_reference"] == ["INV-77", "INV-78"]


def test_a_monthly_payslip_has_no_number() -> None:
    ((entity_type, fields),) = found_in("Gehaltsabrechnung M\u00e4rz 2026\nGesamt: 2.000,00 EUR")

    assert entity_type == "payslip"
    assert fields["amount"] == 2000
    assert "payslip_number" not in fields


@pytest.mark.parametrize("text", ["Reminder\n\nCall mum.", "Quote of the day\n\nBe kind."])
def test_a_heading_alone_makes_no_paper(text: str) -> None:
    ((entity_type, _),) = found_in(text)

    assert entity_type == "note"


def an_invoice(number: str, total: str) -> str:
    return f"Invoice\nInvoice number: {number}\nDate: 2024-05-13\nTotal: {total} EUR\n"


def test_two_invoices_in_one_file_are_two() -> None:
    found = found_in(an_invoice("INV-1", "100.00") + an_invoice("INV-2", "200.00"))

    assert [(f["invoice_number"], f["amount_due"]) for _, f in found] == [
        ("INV-1", 100),
        ("INV-2", 200),
    ]


def test_a_second_page_of_an_invoice_continues_it() -> None:
    pages = "Invoice INV-1\nInvoice number: INV-1\nPage 2\nPayable by: 2024-06-01\n"
    found = found_in(an_invoice("INV-1", "100.00") + pages + an_invoice("INV-2", "200.00"))

    assert [fields["invoice_number"] for _, fields in found] == ["INV-1", "INV-2"]
    assert found[0][1]["amount_due"] == 100


def test_an_invoice_and_its_credit_note_in_one_file_are_two() -> None:
    credit = "Credit note\nCredit note no: G-3\nInvoice number: INV-1\nTotal: 100.00 EUR\n"
    found = found_in(an_invoice("INV-1", "100.00") + credit)

    assert [kind for kind, _ in found] == ["invoice", "credit_note"]
    assert found[1][1]["invoice_reference"] == "INV-1"


def test_a_total_without_a_sum_is_no_text_of_the_previous_line() -> None:
    titles = ("Date", "Description", "Amount", "Currency")
    lines = [("2024-05-14", "Bread", -3.2, "EUR"), ("2024-05-15", "Milk", -1.2, "EUR")]
    found = from_rows(titles, *lines, (None, "and eggs", None, None), (None, "Total", None, None))

    assert [each.fields["description"] for each in found] == ["Bread", "Milk and eggs"]


def test_two_reminders_of_one_invoice_in_one_file_are_two() -> None:
    text = "Mahnung\nMahnung Nr: M-{}\nRechnungsnummer: R-10\nOffener Betrag: 119,00 EUR\n"
    found = found_in(text.format(1) + text.format(2))

    assert [fields["reminder_number"] for _, fields in found] == ["M-1", "M-2"]
    assert {fields["invoice_reference"] for _, fields in found} == {"R-10"}


@pytest.mark.parametrize(
    "heading", ["Order confirmation - your tickets", "E-ticket \u2013 Order confirmation 88"]
)
def test_an_order_of_tickets_is_the_event(heading: str) -> None:
    ((kind, fields),) = found_in(
        f"{heading}\nEvent: The Strings\nVenue: Dock Hall\nDate: 17 May 2025\nTotal: 86.00 EUR"
    )

    assert (kind, fields["start_date"]) == ("event", "2025-05-17")


def test_an_order_of_goods_with_a_delivery_day_is_no_event() -> None:
    ((kind, _),) = found_in(
        "Order confirmation - Acme Ltd\nOrder no: 7\nDate: 17 May 2025\nTotal: 86.00 EUR"
    )

    assert kind == "order"


@pytest.mark.parametrize("sign", ["n.", "n.\u00ba", "n\u00b0", "no.", "Nr.", "#"])
def test_an_invoice_number_may_follow_any_sign(sign: str) -> None:
    ((_, fields),) = found_in(
        f"Nota di credito\nNota di credito n. G-3\nRif. fattura {sign} INV-812\nTotale: 9,00 EUR"
    )

    assert (fields["credit_note_number"], fields["invoice_reference"]) == ("G-3", "INV-812")


@pytest.mark.parametrize(
    ("heading", "label"),
    [("Wydanie zewn\u0119trzne", "WZ nr"), ("Guia de remessa", "Guia n.\u00ba")],
)
def test_a_label_equal_to_the_heading_has_the_number(heading: str, label: str) -> None:
    ((kind, fields),) = found_in(f"{heading}\nCustomer no: 4711\n{label}: 2024/17\n2 x Bread")

    assert (kind, fields["delivery_note_number"]) == ("delivery_note", "2024/17")


def test_each_of_several_documents_has_its_own_letterhead() -> None:
    bill = "{} GmbH\nLindenweg 4\nRechnung\nRechnungsnummer: {}\nDatum: 13.02.2024\nSumme: 9,00 EUR"
    one, other = found_in("\n\n".join((bill.format("Eiche", "R-1"), bill.format("Ulme", "R-2"))))

    assert (one[1]["vendor_name"], other[1]["vendor_name"]) == ("Eiche GmbH", "Ulme GmbH")
    assert (one[1]["invoice_number"], other[1]["invoice_number"]) == ("R-1", "R-2")


@pytest.mark.parametrize(
    ("text", "currency"), [("Att betala: 90 kr", "SEK"), ("Total: 90 kr", None)]
)
def test_crowns_are_swedish_only_in_a_swedish_text(text: str, currency: str | None) -> None:
    swedish = "Faktura\nFakturanummer: 7\nFakturadatum: 2024-02-13\nKund: Bo\nMoms 25%: 18 kr"
    other = "Invoice\nInvoice no: 7\nInvoice date: 2024-02-13\nCustomer: Bo"
    ((_, fields),) = found_in(f"{swedish if currency else other}\n{text}")

    assert (fields["amount_due"], fields.get("currency")) == (90, currency)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("Gehaltsabrechnung\nBrutto: 3.000,00 EUR\nAuszahlungsbetrag: 2.000,00 EUR", 2000),
        ("Pay stub\nGross pay: $3,000.00\nTotal: $3,000.00\nNet pay: $2,000.00", 2000),
        ("Gehaltsabrechnung\nBrutto: 3.000,00 EUR\nNetto: 2.000,00 EUR", None),
        ("Mahnung\nMahnungsnummer: 3\nSumme: 300,00 EUR\nZu zahlen: 305,00 EUR", 305),
    ],
)
def test_a_payslip_or_reminder_has_the_amount_payable(text: str, amount: int | None) -> None:
    ((_, fields),) = found_in(text)

    assert fields.get("amount") == amount


def test_a_list_of_invoices_is_neither_an_invoice_nor_a_number() -> None:
    lines = "Date: 1 April 2024\nInvoice INV-1  100.00\nInvoice INV-2  50.00\nTotal due: 150.00 EUR"
    ((listed, _),) = found_in(f"Statement of account\n{lines}")
    ((_, billed),) = found_in(f"Invoice\n{lines}\nCustomer: Bo")

    assert listed == "note"
    assert "100.00" not in str(billed.get("invoice_number"))


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("Zahlungsbest\u00e4tigung", "note"),
        ("Lieferavis", "note"),
        ("Steuerbescheid", "note"),
        ("2. Mahnung", "reminder"),
        ("Abschlagsrechnung", "invoice"),
        ("Rechnung", "invoice"),
    ],
)
def test_only_a_document_called_invoice_is_one(heading: str, kind: str) -> None:
    lines = "Nummer: A-77\nDatum: 13.05.2024\nKunde: Bo GmbH\nGesamtbetrag: 119,00 EUR"
    found = found_in(f"{heading}\n{lines}\nZahlbar bis: 27.05.2024")

    assert found[0][0] == kind


@pytest.mark.parametrize(
    "titles",
    [
        "Description   Quantity   Price   Amount",
        "Beschreibung\tMenge\tPreis\tBetrag",
        "Descripci\u00f3n   Cantidad   Precio   Importe",
        "Omschrijving   Aantal   Prijs   Bedrag",
    ],
)
def test_column_titles_are_no_label_with_a_value(titles: str) -> None:
    head = "Invoice INV-9\nVendor: Alder Ltd\nInvoice date: 2024-05-13"
    ((kind, fields),) = found_in(
        f"{head}\n{titles}\nConsulting   2   100.00   200.00\nTotal: EUR 200"
    )

    assert (kind, fields["amount_due"]) == ("invoice", 200)
    assert "description" not in fields


def test_contract_parties_end_before_a_row_of_labels() -> None:
    text = (
        "Contract C-1\nBetween Alder Ltd and Bo Dahl\nDescription   Fee\nEffective date: 2024-05-01"
    )
    (_, fields), *_ = found_in(text)

    assert fields["parties"] == ["Alder Ltd", "Bo Dahl"]


@pytest.mark.parametrize(
    "heading",
    [
        *("Return note", "Goods returned note", "RMA", "Returned goods note", "Return slip"),
        *(
            "R\u00fccksendeschein",
            "Retourenschein",
            "Warenr\u00fccksendung",
            "R\u00fccklieferschein",
        ),
        *("Bon de retour", "Bordereau de retour", "Nota di reso", "Bolla di reso", "Retourbon"),
        *(
            "Nota de devoluci\u00f3n",
            "Albar\u00e1n de devoluci\u00f3n",
            "Guia de devolu\u00e7\u00e3o",
        ),
        *("Nota zwrotu", "Protok\u00f3\u0142 zwrotu", "Returseddel", "Returnota", "Retursedel"),
    ],
)
@pytest.mark.parametrize("between", ["", "Vendor: Alder Ltd\n", "Alder Ltd\n"])
def test_a_paper_about_returned_goods_is_no_invoice(heading: str, between: str) -> None:
    labels = "Invoice number: R-10\nDate: 2024-05-13\nTotal: 119.00 EUR"
    ((kind, fields),) = found_in(f"{heading} G-3\n{between}{labels}")

    assert kind == "return_note"
    assert (fields["return_note_number"], fields["invoice_reference"]) == ("G-3", "R-10")
    assert "amount_due" not in fields


@pytest.mark.parametrize(
    "heading",
    [
        *("Goods received note", "Work order", "Warranty claim", "Bill of lading"),
        *("Wareneingangsschein", "Stundenzettel", "Frachtbrief", "Bon de r\u00e9ception"),
        *("Carta de porte", "Reklamacja", "Tidrapport", "Vrachtbrief", "Reclamo"),
    ],
)
def test_other_papers_that_name_an_invoice_are_no_invoices(heading: str) -> None:
    labels = "Invoice number: R-10\nDate: 2024-05-13\nTotal: 119.00 EUR"

    assert {kind for kind, _ in found_in(f"{heading} G-3\n{labels}")} <= {"note", "company"}


def test_an_invoice_that_mentions_returns_is_an_invoice() -> None:
    text = "Invoice INV-9\nAlder Ltd\nDate: 2024-05-13\nReturns: within 30 days\nTotal: 119.00 EUR"

    assert found_in(text)[0][0] == "invoice"
