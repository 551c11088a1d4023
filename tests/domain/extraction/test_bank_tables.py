"""Tables of banks and cards: state, fees, direction and titles of many exports."""

from collections.abc import Sequence
from typing import Any

import pytest

from canonry.canon.ports.files import Cell, FileType, Reading, Table
from canonry.documents.extraction.rules import interpret_reading
from canonry.records.domain.interpretations import Interpretation
from tests.domain.extraction.papers import SCHEMAS, from_objects


def read_table(*rows: Sequence[Cell]) -> Interpretation:
    table = Table(rows=tuple(map(tuple, rows)))
    return interpret_reading(
        Reading(kind=FileType.CSV, name="export.csv", tables=(table,)), SCHEMAS
    )


def amounts_in(done: Interpretation) -> list[Any]:
    return [each.fields.get("amount") for each in done.entities]


@pytest.mark.parametrize(
    ("title", "state"),
    [
        ("State", "PENDING"),
        ("State", "REVERTED"),
        ("Status", "Denied"),
        ("Status", "Failed"),
        ("Transaction status", "Cancelled"),
        ("Buchungsstatus", "Vorgemerkt"),
        ("Statut", "En attente"),
        ("Estado", "Rechazada"),
        ("Stato", "In sospeso"),
        ("Stan", "Odrzucona"),
    ],
)
def test_an_unbooked_line_is_no_payment(title: str, state: str) -> None:
    done = read_table(
        ("Date", "Payee", "Amount", "Currency", title),
        ("2024-01-30", "Alder", "-5.00", "EUR", "Completed"),
        ("2024-01-31", "Birch", "-7.00", "EUR", state),
    )

    assert amounts_in(done) == [-5.0]
    assert done.entities[0].fields["status"] == "Completed"
    assert f"1 lines that are not booked were left out: {state}." in done.warnings


def test_a_line_with_an_unknown_state_is_kept() -> None:
    done = read_table(
        ("Date", "Payee", "Amount", "Status"),
        ("2024-01-30", "Alder", "-5.00", "R"),
        ("2024-01-31", "Birch", "-7.00", "C"),
    )

    assert amounts_in(done) == [-5.0, -7.0]
    assert done.entities[0].fields["status"] == "R"


@pytest.mark.parametrize("fee", ["1.00", "-1.00"])
def test_a_separate_fee_is_a_payment_if_balances_prove_it(fee: str) -> None:
    done = read_table(
        ("Date", "Description", "Amount", "Fee", "Balance"),
        ("2024-01-29", "Top-up", "500.00", "0.00", "500.00"),
        ("2024-01-30", "Hotel", "-100.00", fee, "399.00"),
        ("2024-01-31", "Cafe", "-9.00", "0.00", "390.00"),
    )

    assert amounts_in(done) == [500.0, -100.0, -1.0, -9.0]
    assert done.entities[2].fields["description"] == "Fee: Hotel"
    assert done.entities[2].fields["category"] == "fee"
    assert "The running balances prove the amounts of 3 lines." in done.warnings


def test_a_fee_included_in_the_amount_stays_beside_it() -> None:
    done = read_table(
        ("Date", "Name", "Gross", "Fee", "Net", "Balance"),
        ("2024-01-30", "Alder", "100.00", "-3.20", "96.80", "96.80"),
        ("2024-01-31", "Birch", "-10.00", "0.00", "-10.00", "86.80"),
    )

    assert amounts_in(done) == [96.8, -10.0]
    assert done.entities[0].fields["gross"] == "100.00"
    assert done.entities[0].fields["fee"] == "-3.20"


def test_a_fee_that_no_balance_explains_is_reported() -> None:
    done = read_table(
        ("Date", "Description", "Amount", "Fee"),
        ("2024-01-30", "Hotel", "-100.00", "1.00"),
        ("2024-01-31", "Cafe", "-9.00", "0.00"),
    )

    assert amounts_in(done) == [-100.0, -9.0]
    assert done.entities[0].fields["fee"] == "1.00"
    assert "The amounts are read without the column Fee." in done.warnings


def test_a_list_of_net_and_gross_prices_is_no_statement() -> None:
    done = read_table(
        ("Date", "Merchant", "Net", "VAT", "Gross"),
        ("2024-01-30", "Alder", "100.00", "19.00", "119.00"),
        ("2024-01-31", "Birch", "10.00", "1.90", "11.90"),
    )

    assert not any(each.fields.get("amount") in {100.0, 10.0} for each in done.entities)


CARD = ("Date", "Description", "Type", "Amount")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # Purchases with a plus and payments with a minus, as Apple Card writes them.
        ([("Purchase", "4.50"), ("Payment", "-4.50")], [-4.5, 4.5]),
        ([("Purchase", "4.50"), ("Installment", "2.00"), ("Refund", "-4.50")], [-4.5, -2.0, 4.5]),
        ([("Kauf", "4.50"), ("Erstattung", "-1.00")], [-4.5, 1.0]),
        ([("Achat", "4.50"), ("Remboursement", "-1.00")], [-4.5, 1.0]),
        # Signs as on an account.
        ([("Purchase", "-4.50"), ("Payment", "4.50")], [-4.5, 4.5]),
        ([("Sale", "-4.50"), ("Payment", "4.50")], [-4.5, 4.5]),
        # Both directions with a plus: the kind decides, or nothing does.
        ([("Purchase", "4.50"), ("Refund", "1.00")], [-4.5, 1.0]),
        ([("Purchase", "4.50"), ("Payment", "4.50")], [-4.5, None]),
        ([("Purchase", "4.50"), ("Voucher", "4.50")], [-4.5, None]),
        # An account with payments is no card.
        ([("Payment", "-4.50"), ("Salary", "100.00"), ("Salary", "90.00")], [-4.5, 100.0, 90.0]),
        ([("Sale", "4.50"), ("Sale", "5.50")], [4.5, 5.5]),
    ],
)
def test_on_a_card_a_purchase_is_money_out(
    lines: list[tuple[str, str]], expected: list[float | None]
) -> None:
    rows = [(f"2024-01-{20 + at}", f"Shop {at}", *each) for at, each in enumerate(lines)]
    done = read_table(CARD, *rows)

    assert amounts_in(done) == expected
    for each in done.entities:
        assert "amount" in each.fields or "direction" in each.unread["amount"].reason


def test_payment_thanks_reveal_the_signs_of_a_card() -> None:
    done = read_table(
        ("Date", "Description", "Card Member", "Amount"),
        ("01/20/2024", "BAKERY", "LEE", "4.50"),
        ("01/21/2024", "ONLINE PAYMENT - THANK YOU", "LEE", "-20.00"),
        ("01/22/2024", "HOTEL", "LEE", "99.00"),
    )

    assert amounts_in(done) == [-4.5, 20.0, -99.0]


def test_a_card_with_only_plus_signs_is_left_open() -> None:
    done = read_table(
        ("Date", "Description", "Card Member", "Amount"),
        ("01/20/2024", "BAKERY", "LEE", "4.50"),
        ("01/22/2024", "HOTEL", "LEE", "99.00"),
    )

    assert amounts_in(done) == [None, None]


def test_balances_override_signs_implied_by_kinds() -> None:
    done = read_table(
        ("Date", "Description", "Type", "Amount", "Balance"),
        ("2024-01-20", "Fund A", "Purchase", "4.50", "104.50"),
        ("2024-01-21", "Fund B", "Purchase", "5.50", "110.00"),
        ("2024-01-22", "Fund B", "Refund", "-5.50", "104.50"),
    )

    assert amounts_in(done) == [4.5, 5.5, -5.5]


@pytest.mark.parametrize(
    "titles",
    [
        ("Date", "Narration", "Withdrawal Amt.", "Deposit Amt.", "Closing Balance"),
        ("Txn Date", "Description", "Debit Amt", "Credit Amt", "Bal"),
        ("Trx. Dt.", "Desc.", "Wdl. Amt", "Dep. Amt", "Balance Amt"),
    ],
)
def test_titles_with_abbreviations_are_understood(titles: tuple[str, ...]) -> None:
    done = read_table(
        titles,
        ("13/05/24", "PAYROLL", None, "1,25,000.00", "1,26,500.00"),
        ("14/05/24", "GROCER", "500.00", None, "1,26,000.00"),
    )

    assert [(e.fields["date"], e.fields["amount"]) for e in done.entities] == [
        ("2024-05-13", 125000.0),
        ("2024-05-14", -500.0),
    ]


def test_each_currency_of_a_wallet_has_its_own_balance() -> None:
    done = read_table(
        ("Date", "Name", "Amount", "Currency", "Balance"),
        ("2024-01-20", "Alder", "10.00", "EUR", "10.00"),
        ("2024-01-21", "Birch", "90.00", "USD", "90.00"),
        ("2024-01-22", "Cedar", "-4.00", "EUR", "6.00"),
        ("2024-01-23", "Elder", "-30.00", "USD", "60.00"),
    )

    assert [each.fields["balance"] for each in done.entities] == [10.0, 90.0, 6.0, 60.0]
    assert any("prove the amounts" in each for each in done.warnings)


def test_lines_without_titles_are_read_if_balances_prove_them() -> None:
    done = read_table(
        ("01/05/2024", "-12.50", "WOOLWORTHS 1234", "+1234.50"),
        ("30/04/2024", "+100.00", "SALARY", "+1247.00"),
        ("29/04/2024", "-7.00", "CAFE", "+1147.00"),
    )

    assert [(e.fields["date"], e.fields["amount"]) for e in done.entities] == [
        ("2024-05-01", -12.5),
        ("2024-04-30", 100.0),
        ("2024-04-29", -7.0),
    ]
    assert done.entities[0].fields["description"] == "WOOLWORTHS 1234"


def test_lines_without_titles_or_proof_are_no_statement() -> None:
    done = read_table(
        ("01/05/2024", "-12.50", "WOOLWORTHS 1234", "17.00"),
        ("30/04/2024", "+100.00", "SALARY", "12.00"),
        ("29/04/2024", "-7.00", "CAFE", "99.00"),
    )

    assert not any(each.entity_type == "transaction" for each in done.entities)


@pytest.mark.parametrize("text", ["1.5k", "100 - 200", "99 cents", "1/2"])
def test_a_line_with_an_unreadable_amount_is_kept_and_proves_nothing(text: str) -> None:
    done = read_table(
        ("Date", "Payee", "Amount", "Balance"),
        ("2024-01-29", "Alder", "-5.00", "100.00"),
        ("2024-01-30", "Birch", text, "90.00"),
        ("2024-01-31", "Cedar", "-4.00", "86.00"),
    )

    assert amounts_in(done) == [-5.0, None, -4.0]
    assert done.entities[1].unread["amount"].value == text
    assert not any("prove the amounts of 3" in each for each in done.warnings)


def test_records_of_a_bank_are_read_like_tables() -> None:
    found = from_objects(
        {"date": "01/02/2024", "text": "A", "debit": "1,47,000.00", "credit": None},
        {"date": "13/02/2024", "text": "B", "debit": None, "credit": "7.00"},
    )

    assert [(e.fields["date"], e.fields["amount"]) for e in found] == [
        ("2024-02-01", -147000.0),
        ("2024-02-13", 7.0),
    ]


def test_a_record_that_names_its_type_is_no_line_of_a_bank() -> None:
    (found,) = from_objects({"entity_type": "trip", "date": "2024-02-01", "to": "A", "amount": 5})

    assert found.entity_type == "trip"


def test_debit_and_credit_columns_alone_make_a_statement() -> None:
    lines = (("2024-01-30", "5.00", ""), ("2024-01-31", "", "7.00"))
    assert amounts_in(read_table(("Date", "Debit", "Credit"), *lines)) == [-5.0, 7.0]


def test_a_column_with_a_taken_name_keeps_its_cells() -> None:
    done = read_table(
        ("Date", "Payee", "Merchant", "Amount"),
        ("2024-01-30", "Alder", "Alder Shop", "-5.00"),
        ("2024-01-31", "Birch", "Birch Shop", "-6.00"),
    )

    assert {"Alder", "Alder Shop"} <= set(done.entities[0].fields.values())


def test_fees_between_gross_and_net_amounts_are_separate_payments() -> None:
    done = read_table(
        ("id", "Type", "Amount", "Fee", "Net", "Currency", "Created (UTC)", "Description"),
        ("txn_1", "charge", "100.00", "3.20", "96.80", "eur", "2024-05-13 10:00", "Order 1"),
        ("txn_2", "refund", "-20.00", "0.00", "-20.00", "eur", "2024-05-14 10:00", "Refund 1"),
    )

    assert amounts_in(done) == [100.0, -3.2, -20.0]
    assert {each.fields["currency"] for each in done.entities} == {"EUR"}


def test_separate_signs_and_two_sided_parties_are_understood() -> None:
    done = read_table(
        ("ID", "Datetime", "Type", "Status", "Note", "From", "To", "Amount (total)"),
        ("3141", "2024-05-13T10:00:00", "Payment", "Complete", "Pizza", "Ann", "Bob", "- $20.00"),
        ("3142", "2024-05-14T10:00:00", "Charge", "Complete", "Rent", "Cid", "Ann", "+ $50.00"),
        ("3143", "2024-05-15T10:00:00", "Charge", "Failed", "Rent", "Cid", "Ann", "+ $50.00"),
    )

    assert amounts_in(done) == [-20.0, 50.0]
    assert [each.fields["merchant_name"] for each in done.entities] == ["Bob", "Cid"]


def test_an_original_amount_in_the_same_currency_is_not_repeated() -> None:
    done = read_table(
        ("Date", "Name", "Amount", "Currency", "Local amount", "Local currency"),
        ("13/05/2024", "Pret", "-4.50", "GBP", "-5.30", "EUR"),
        ("14/05/2024", "Ann", "20.00", "GBP", "20.00", "GBP"),
    )

    assert [each.fields.get("currency_original") for each in done.entities] == ["EUR", None]


def test_tables_of_swedish_banks_are_understood() -> None:
    done = read_table(
        ("Reskontradatum", "Transaktionsdatum", "Text", "Belopp", "Saldo"),
        ("2024-05-14", "2024-05-13", "ICA SUPERMARKET", "-1 250,50", "8 749,50"),
        ("2024-05-10", "2024-05-10", "L\xd6N", "10 000,00", "10 000,00"),
    )

    assert amounts_in(done) == [-1250.5, 10000.0]
    assert done.entities[0].fields["date"] == "2024-05-13"
    assert done.entities[0].fields["description"] == "ICA SUPERMARKET"


def test_an_account_that_varies_by_party_is_not_the_statements() -> None:
    titles = ("Datum", "Empf\xe4nger", "IBAN", "Betrag")
    lines = [
        ("13.05.2024", "Alder", "DE02120300000000202051", "-5,00"),
        ("14.05.2024", "Birch", "DE89370400440532013000", "-6,00"),
    ]
    own = [(*each[:2], "DE02120300000000202051", each[3]) for each in lines]
    other, single, mine = (read_table(titles, *some).entities for some in (lines, lines[:1], own))

    assert [each.fields.get("account_id") for each in (*other, *single)] == [None] * 3
    assert other[0].fields["iban"] == "DE02120300000000202051"
    assert {each.fields["account_id"] for each in mine} == {"DE02120300000000202051"}


def test_a_title_repeated_in_a_column_is_no_payment_text() -> None:
    done = read_table(
        ("Datum", "Name", "Beschreibung", "Betrag"),
        ("13.05.2024", "Bo", "Miete", "-520,00"),
        (None, None, "Mai", None),
        (None, None, "Beschreibung", None),
        ("14.05.2024", "Al", "Brot", "-3,20"),
    )

    assert [each.fields["description"] for each in done.entities] == ["Miete Mai", "Brot"]


def test_the_counterparty_account_is_not_the_own_account() -> None:
    done = read_table(
        (
            "Buchung",
            "Empf\u00e4nger",
            "Beg\u00fcnstigter IBAN",
            "IBAN Auftraggeber",
            "Zweck",
            "Betrag",
        ),
        *(
            (f"{day}.05.2024", "Bo", "AT611904300234573201", "DE02120300000000202051", "X", "-5,00")
            for day in (13, 14)
        ),
    )

    assert all(each.fields["description"] == "X" for each in done.entities)
    assert not any("account_id" in each.fields for each in done.entities)
