"""Answers of models: quotes prove values, rules go first, and sums have to add up."""

from collections.abc import Sequence
from typing import Any

import pytest

from canonry.documents.interpreters.answering import MODEL, QuotedDocument, complete_rules
from canonry.records.domain.interpretations import FoundEntity, Interpretation, UnreadValue

TEXT = "Rechnung A-7 vom 3. Mai 2024\nBitte zahlen Sie 1.250,00 € bis 05/06/2024. Offen: 12,50"


@pytest.mark.parametrize(
    ("value", "quote"),
    [
        ("A-7", "Rechnung  a-7"),
        ("2024-05-03", "vom 3. Mai 2024"),
        (1250.0, "zahlen Sie 1.250,00 €"),
        (-12.5, "Offen: 12,50"),
        ("EUR", "1.250,00 €"),
        (["Rechnung", "A-7"], "Rechnung A-7"),
        (True, "Bitte zahlen"),
    ],
)
def test_a_value_confirmed_by_its_quote_is_certain(value: Any, quote: str) -> None:
    assert QuotedDocument(TEXT).find_doubt(value, quote) == ""


@pytest.mark.parametrize(
    ("value", "quote"),
    [
        ("A-7", "Invoice A-7"),
        ("A-7", ""),
        ("A-8", "Rechnung A-7"),
        ("2024-06-05", "bis 05/06/2024"),
        ("2024-05-04", "vom 3. Mai 2024"),
        (125.0, "zahlen Sie 1.250,00 €"),
        ({"a": 1}, "Rechnung A-7"),
    ],
)
def test_a_value_not_in_its_quote_is_doubted(value: Any, quote: str) -> None:
    assert QuotedDocument(TEXT).find_doubt(value, quote)


def an_invoice(*reasons: str, row: int | None = None, **fields: Any) -> FoundEntity:
    return FoundEntity(entity_type="invoice", fields=fields, reasons=reasons, row=row)


def join_answers(ruled: list[FoundEntity], *said: FoundEntity) -> Sequence[FoundEntity]:
    return complete_rules(
        Interpretation(entities=tuple(ruled)), Interpretation(entities=said)
    ).entities


def test_a_model_only_fills_what_the_rules_left_open() -> None:
    ruled = FoundEntity(
        entity_type="invoice",
        fields={"invoice_number": "A-7", "amount_due": 5},
        unread={"date_due": UnreadValue(value="05/06/2024", reason="either way round")},
    )
    said = an_invoice(MODEL, invoice_number="a-7", amount_due=6, date_due="2024-06-05", iban="x")

    (found,) = join_answers([ruled], said)

    assert found.fields == {
        "invoice_number": "A-7",
        "amount_due": 5,
        "date_due": "2024-06-05",
        "iban": "x",
    }
    assert found.unread == {}
    assert found.reasons == ("model: date_due", "model: iban")


def test_a_model_can_name_the_type_of_a_plain_text() -> None:
    note = FoundEntity(entity_type="note", fields={"content": "words"})

    (found,) = join_answers([note], an_invoice(MODEL, invoice_number="A-7"))

    assert (found.entity_type, found.reasons) == ("invoice", (MODEL,))


def test_a_model_adds_no_entities_beside_rows_read_by_rules() -> None:
    rows = [an_invoice(row=1, invoice_number="1"), an_invoice(row=2, invoice_number="2")]
    person = FoundEntity(entity_type="person", fields={"name": "Ada"}, reasons=(MODEL,))

    found = join_answers(rows, an_invoice(MODEL, invoice_number="3"), person)

    assert found == (*rows, person)


def test_another_invoice_in_a_document_is_its_own_entity() -> None:
    found = join_answers([an_invoice(invoice_number="1")], an_invoice(MODEL, invoice_number="2"))

    assert [each.fields["invoice_number"] for each in found] == ["1", "2"]


def test_model_sums_that_do_not_add_up_are_kept_unread() -> None:
    ruled = an_invoice(amount_due=119, invoice_number="1")
    wrong = an_invoice(MODEL, invoice_number="1", subtotal=90, tax_amount=19)
    right = an_invoice(MODEL, invoice_number="1", subtotal=100, tax_amount=19)

    (doubted,) = join_answers([ruled], wrong)
    (sure,) = join_answers([ruled], right)

    assert doubted.fields == {"amount_due": 119, "invoice_number": "1"}
    assert set(doubted.unread) == {"subtotal", "tax_amount"}
    assert sure.fields["subtotal"] == 100
