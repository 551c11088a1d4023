"""Bills: exact invoices, their arithmetic, and pages whose columns say what belongs together."""

from typing import Any

import pytest

from canonry.canon.ports.files import FileType, Reading, Record
from canonry.documents.extraction.rules import arrange_labels, interpret_reading, tables_in
from canonry.language.texts.sentences import Part
from tests.domain.extraction.papers import SCHEMAS

PAGE = """\
Tischlerei Ahornweg GmbH
Ahornweg 3

Rechnung an:                            Rechnungsnummer:        2024-26217
Bruckner Verlag KG                      Rechnungsdatum:         18.07.2024
Postfach 7                              Zahlbar bis:            01.08.2024

Rechnung

Beschreibung                    Menge       Einzelpreis          Gesamt
Regalbretter Eiche                  3          1.000,00        3.000,00
Montage vor Ort                     1          1.283,84        1.283,84

                                            Nettobetrag      4.283,84 \u20ac
                                      zzgl. 19 % MwSt.         813,93 \u20ac
                                        Rechnungsbetrag      5.097,77 \u20ac
"""


def of_page(page: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    reading = Reading(kind=FileType.PDF, parts=(Part(text=page),), layout=page)
    done = interpret_reading(reading, SCHEMAS)
    return dict(done.entities[0].fields), done.warnings


def test_text_left_and_right_of_a_gap_is_not_one_line() -> None:
    fields, warnings = of_page(PAGE)

    assert fields["invoice_number"] == "2024-26217"
    assert (fields["invoice_date"], fields["date_due"]) == ("2024-07-18", "2024-08-01")
    assert (fields["vendor_name"], fields["customer_name"]) == (
        "Tischlerei Ahornweg GmbH",
        "Bruckner Verlag KG",
    )
    assert (fields["subtotal"], fields["tax_amount"], fields["amount_due"]) == (
        4283.84,
        813.93,
        5097.77,
    )
    assert [(each["quantity"], each["amount"]) for each in fields["items"]] == [
        (3, 3000.0),
        (1, 1283.84),
    ]
    assert not [each for each in warnings if "do not make" in each]


def test_a_value_below_its_label_belongs_to_it() -> None:
    heads = "Invoice No      Date            Due\nA-1             2024-05-03      2024-06-02\n"
    column = "Item            Net             Total\nBoards          10.00           12.00\n"
    more = "Nails           1.00            1.20\n"

    assert arrange_labels(heads) == "Invoice No: A-1\nDate: 2024-05-03\nDue: 2024-06-02"
    assert arrange_labels(column + more).splitlines()[0] == "Item | Net | Total"


def test_cells_belong_to_the_titles_they_overlap() -> None:
    (table,) = tables_in(
        "Date        Text                     Amount\n"
        "2024-01-30  A long text              -5.00\n"
        "            and more of it\n"
    )

    assert table.rows[1:] == (
        ("2024-01-30", "A long text", "-5.00"),
        (None, "and more of it", None),
    )


def test_a_statement_on_pages_is_read_by_its_columns() -> None:
    page = (
        "Kontoauszug                                      IBAN DE89370400440532013000\n\n"
        "Buchungstag   Verwendungszweck                 Betrag EUR           Saldo\n"
        "30.01.2024    Miete Januar                        -800,00        1.200,00\n"
        "31.01.2024    Gehalt                             2.000,00        3.200,00\n"
    )
    reading = Reading(kind=FileType.PDF, parts=(Part(text=page),), layout=page)
    done = interpret_reading(reading, SCHEMAS)

    assert [each.fields["amount"] for each in done.entities] == [-800.0, 2000.0]
    assert done.entities[1].fields["balance"] == 3200.0
    assert "The running balances prove the amounts of 2 lines." in done.warnings


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, []),
        ({"tax_amount": 18}, ["subtotal and tax_amount do not make the amount"]),
        (
            {"items": [{"amount": 60}, {"amount": 41}]},
            ["the amounts of the items do not make the subtotal or the total"],
        ),
        ({"items": [{"amount": 60}, {"description": "free"}]}, []),
    ],
)
def test_sums_that_do_not_add_up_are_reported(changed: dict[str, Any], expected: list[str]) -> None:
    fields = {
        "invoice_number": "A-1",
        "subtotal": 100,
        "tax_amount": 19,
        "amount": 119,
        "amount_due": 69,
        "items": [{"amount": 60}, {"amount": 40}],
    }
    record = Record(kind="invoice", fields={**fields, **changed})
    done = interpret_reading(Reading(kind=FileType.XML, records=(record,)), SCHEMAS)

    assert done.entities[0].fields == record.fields
    assert [each for each in done.warnings if "do not make" in each] == expected
