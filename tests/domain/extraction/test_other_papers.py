"""Papers that look like bills and are none: what their heading calls them decides."""

import pytest

from canonry.documents.extraction.kinds import kind_of_text
from canonry.records.notation.labels import read_lines

BILL_LIKE = "Datum: 03.03.2026\nGesamtbetrag: 1.059,10 EUR\nZahlbar bis: 31.03.2026\nKunde: Lena"


@pytest.mark.parametrize(
    "heading",
    [
        "Angebot Nr. A-2026-77",
        "Gehaltsabrechnung März 2026",
        "Kostenvoranschlag",
        "BULLETIN DE PAIE",
        "Devis",
        "Quotation 17",
        "Payslip",
        "Recibo de vencimento",
        "Busta paga",
        "Pasek wynagrodzeń",
        "Loonstrook maart",
        "Nómina",
    ],
)
def test_a_payslip_or_quote_is_no_bill_despite_similar_labels(heading: str) -> None:
    assert kind_of_text(read_lines(f"{heading}\n{BILL_LIKE}")) is None


def test_an_actual_bill_with_the_same_labels_is_one() -> None:
    kind = kind_of_text(read_lines(f"Handwerkerrechnung\n{BILL_LIKE}"))

    assert kind is not None
    assert kind.entity_type == "invoice"


def test_a_heading_counts_even_if_the_text_looks_foreign() -> None:
    paper = "Facture\nPériode : du 01/02 au 28/02\nDestinataire : Camille\nNet à payer : 12,00 €"

    kind = kind_of_text(read_lines(paper))

    assert kind is not None
    assert kind.entity_type == "invoice"
