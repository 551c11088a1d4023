"""Bank statements: columns by their meaning, sums and days by all evidence, proven by balances."""

from collections.abc import Sequence
from typing import Any

import pytest

from canonry.canon.ports.files import Cell, FileType, Reading, Table
from canonry.documents.extraction.rules import interpret_reading
from canonry.records.domain.interpretations import FoundEntity, Interpretation
from tests.domain.extraction.papers import SCHEMAS


def read_statement(*rows: Sequence[Cell], name: str = "movements.csv") -> Interpretation:
    table = Table(rows=tuple(map(tuple, rows)))
    return interpret_reading(Reading(kind=FileType.CSV, name=name, tables=(table,)), SCHEMAS)


def select_fields(found: Sequence[FoundEntity], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(each.fields.get(name) for name in names) for each in found]


def test_bank_lines_are_transactions_and_a_purpose_is_no_person() -> None:
    found = read_statement(
        ("Date", "Description", "Amount", "Currency"),
        ("2024-01-31", "Card payment", "-5.00", "EUR"),
        ("2024-02-01", "Salary", "2000.00", "EUR"),
    ).entities

    assert [each.entity_type for each in found] == ["transaction"] * 2
    assert found[0].fields == {
        "date": "2024-01-31",
        "amount": -5.0,
        "currency": "EUR",
        "description": "Card payment",
    }


def test_equal_lines_are_two_transactions_distinguished_by_balances() -> None:
    head = ("Date", "Description", "Amount", "Balance")
    coffee = ("2024-01-30", "Coffee", "-3.00")
    before = ("2024-01-29", "Bakery", "-4.00", "100.00")
    found = read_statement(head, before, (*coffee, "97.00"), (*coffee, "94.00")).entities
    bare = read_statement(head[:3], before[:3], coffee, coffee).entities

    assert select_fields(found, "balance", "occurrence") == [
        (100.0, None),
        (97.0, None),
        (94.0, None),
    ]
    assert select_fields(bare, "amount", "occurrence") == [(-4.0, None), (-3.0, None), (-3.0, 2)]


def test_balances_settle_an_ambiguous_decimal_mark() -> None:
    done = read_statement(
        ("Date", "Payee", "Amount", "Balance"),
        ("2024-01-02", "Alder", "500", "500"),
        ("2024-01-03", "Birch", "1.250", "1.750"),
        ("2024-01-04", "Cedar", "2.125", "3.875"),
    )

    assert select_fields(done.entities, "amount") == [(500,), (1250,), (2125,)]
    assert "The running balances prove the amounts of 3 lines." in done.warnings


def test_an_unproven_mark_is_left_open() -> None:
    (found,) = read_statement(
        ("Date", "Payee", "Amount"), ("2024-01-03", "Birch", "1.250")
    ).entities

    assert "amount" not in found.fields
    assert found.unread["amount"].value == "1.250"


def test_an_inconsistent_balance_is_reported_with_its_line() -> None:
    done = read_statement(
        ("Date", "Payee", "Amount", "Balance"),
        ("2024-01-02", "Alder", "-5.00", "95.00"),
        ("2024-01-03", "Birch", "-5.00", "90.00"),
        ("2024-01-05", "Cedar", "-5.00", "80.00"),
        ("2024-01-06", "Elder", "-5.00", "75.00"),
    )

    assert any("balance does not fit in line 4" in each for each in done.warnings)
    assert select_fields(done.entities, "balance") == [(95.0,), (90.0,), (80.0,), (75.0,)]


def test_a_column_repeating_one_balance_is_no_running_balance() -> None:
    found = read_statement(
        ("Date", "Payee", "Amount", "Balance"),
        ("2024-01-02", "Alder", "-5.00", "75.00"),
        ("2024-01-03", "Birch", "-6.00", "75.00"),
        ("2024-01-05", "Cedar", "-7.00", "75.00"),
    ).entities

    assert select_fields(found, "balance") == [(None,)] * 3
    assert found[0].unread["balance"].value == "75.00"


@pytest.mark.parametrize(
    ("columns", "first", "second"),
    [
        (("Debit", "Credit"), ("5.00", None), (None, "7.00")),
        (("Soll", "Haben"), ("-5,00", None), (None, "7,00")),
        (("Paid out", "Paid in"), ("5.00", "0.00"), ("0.00", "7.00")),
        (("Umsatz", ""), ("5,00", "S"), ("7,00", "H")),
        (("Bedrag", "Af Bij"), ("5,00", "Af"), ("7,00", "Bij")),
        (("Montante", "Tipo"), ("5.00", "Débito"), ("7.00", "Crédito")),
        (("Amount", "Transaction Type"), ("5.00", "DEBIT"), ("7.00", "CREDIT")),
        (("Amount", "Notes"), ("5.00 DR", None), ("7.00 CR", None)),
    ],
)
def test_the_direction_of_a_sum_is_written_in_many_ways(
    columns: tuple[str, str], first: tuple[Cell, Cell], second: tuple[Cell, Cell]
) -> None:
    found = read_statement(
        ("Date", "Payee", *columns),
        ("2024-01-30", "Alder", *first),
        ("2024-01-31", "Birch", *second),
    ).entities

    assert select_fields(found, "amount") == [(-5.0,), (7.0,)]


def test_a_sum_with_contradictory_directions_is_left_open() -> None:
    both = read_statement(("Date", "Payee", "Debit", "Credit"), ("2024-01-30", "A", "5.00", "6.00"))
    other = read_statement(("Date", "Payee", "Amount", "D/C"), ("2024-01-30", "A", "-5.00", "C"))

    assert both.entities[0].unread["amount"].reason == "it went out and came in"
    assert "contradicts" in other.entities[0].unread["amount"].reason


def test_titles_of_one_word_are_distinguished_by_their_cells() -> None:
    day = read_statement(
        ("Data", "Valuta", "Descrizione", "Importo"), ("31/01/2024", "01/02/2024", "A", "1,50")
    )
    code = read_statement(
        ("Data", "Valuta", "Descrizione", "Importo"), ("31/01/2024", "EUR", "A", "1,50")
    )

    assert day.entities[0].fields["value_date"] == "2024-02-01"
    assert code.entities[0].fields["currency"] == "EUR"


def test_text_around_the_lines_gives_account_and_currency() -> None:
    done = read_statement(
        ("Kontoauszug",),
        ("IBAN", "DE89370400440532013000"),
        ("Zeitraum", "01.01.2024 - 31.01.2024"),
        ("Kontostand", "1.200,00 EUR"),
        ("Buchungstag", "Wertstellung", "Verwendungszweck", "Betrag"),
        ("30.01.2024", "31.01.2024", "Miete", "-800,00"),
        (None, None, "Wohnung 4", None),
        ("Summe", None, None, "-800,00"),
    )

    (found,) = done.entities
    assert found.fields == {
        "date": "2024-01-30",
        "value_date": "2024-01-31",
        "amount": -800.0,
        "currency": "EUR",
        "description": "Miete Wohnung 4",
        "account_id": "DE89370400440532013000",
    }
    assert "1 rows with an amount but without a date were read as totals." in done.warnings


@pytest.mark.parametrize(
    ("titles", "amount", "day"),
    [
        (("Date", "Payee", "Amount (GBP)"), "5.00", "2024-04-03"),
        (("Fecha", "Concepto", "Importe"), "5,00", "2024-04-03"),
        (("Posting Date", "Details", "Amount", "Check or Slip #"), "5.00", "2024-03-04"),
        (("Date", "Payee", "Amount"), "$5.00", None),
    ],
)
def test_words_currencies_and_titles_reveal_country_and_day_order(
    titles: tuple[str, ...], amount: str, day: str | None
) -> None:
    (found,) = read_statement(titles, ("03/04/2024", "Alder", amount)).entities

    assert found.fields.get("date") == day


def test_days_that_ascend_in_only_one_order_are_read_in_it() -> None:
    rows = [(day, "Alder", "5.00") for day in ("03/04/2024", "05/04/2024", "04/05/2024")]
    found = read_statement(("Date", "Payee", "Amount"), *rows).entities

    assert select_fields(found, "date") == [("2024-04-03",), ("2024-04-05",), ("2024-05-04",)]


def test_of_payer_and_payee_the_other_side_is_the_counterparty() -> None:
    found = read_statement(
        ("Buchungsdatum", "Zahlungspflichtiger", "Zahlungsempfänger", "Betrag"),
        ("30.01.2024", "Mara", "Bäcker", "-5,00"),
        ("31.01.2024", "Fabrik", "Mara", "900,00"),
    ).entities

    assert select_fields(found, "merchant_name") == [("Bäcker",), ("Fabrik",)]


def test_a_reference_shared_by_several_lines_identifies_none() -> None:
    found = read_statement(
        ("Date", "Payee", "Amount", "Transaction ID"),
        ("2024-01-30", "Alder", "5.00", "T1"),
        ("2024-01-31", "Birch", "6.00", "T2"),
        ("2024-01-31", "Cedar", "7.00", "T2"),
    ).entities

    assert select_fields(found, "transaction_id", "reference") == [
        ("T1", None),
        (None, "T2"),
        (None, "T2"),
    ]


def test_an_amount_paid_in_another_currency_is_kept_too() -> None:
    (found,) = read_statement(
        ("Date", "Payee", "Amount", "Currency", "Local amount", "Local currency"),
        ("2024-01-30", "Alder", "-5.00", "GBP", "-6.20", "EUR"),
    ).entities

    assert select_fields(
        (found,), "amount", "currency", "amount_original", "currency_original"
    ) == [(-5.0, "GBP", -6.2, "EUR")]


def test_bill_lists_and_other_files_are_no_statements() -> None:
    bills = read_statement(
        ("Invoice No", "Vendor", "Date", "Due Date", "Amount"),
        ("A-1", "Alder Ltd", "2024-01-30", "2024-02-28", "5.00"),
    )
    tasks = read_statement(
        ("Date", "Details", "Amount"), ("2024-01-30", "Alder", "5"), name="tasks.csv"
    )

    assert bills.entities[0].entity_type == "invoice"
    assert not tasks.entities[0].reasons[0].startswith("columns:")
