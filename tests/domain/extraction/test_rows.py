"""Rows, records, cards and messages: one entity each, typed by what their columns show."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.canon.ports.files import FileType, Reading, Record, Table
from canonry.documents.extraction.rules import interpret_reading
from canonry.language.texts.sentences import Part
from canonry.records.domain.interpretations import UnreadValue
from tests.domain.extraction.papers import SCHEMAS, from_objects, from_rows, interpret_paper


def test_each_bank_row_is_a_transaction_even_if_two_are_equal() -> None:
    found = from_rows(
        ("Buchungstag", "Beg\xfcnstigter/Zahlungspflichtiger", "Betrag", "W\xe4hrung"),
        ("03.05.2024", "Market", "-23,45", "EUR"),
        ("03.05.2024", "Market", "-23,45", "EUR"),
        ("31.05.2024", "Employer GmbH", "3.500,00", "EUR"),
    )

    assert [each.row for each in found] == [1, 2, 3]
    assert {each.entity_type for each in found} == {"transaction"}
    assert found[0].fields == {
        "date": "2024-05-03",
        "merchant_name": "Market",
        "amount": -23.45,
        "currency": "EUR",
    }
    assert found[1].fields == {**found[0].fields, "occurrence": 2}
    assert found[2].fields["amount"] == 3500.0


def test_a_column_settles_an_ambiguous_cell() -> None:
    found = from_rows(
        ("Date", "Payee", "Paid Out", "Paid In"),
        ("03/04/2024", "Market", "12.50", None),
        ("25/04/2024", "Salary", None, "2,500.00"),
    )

    assert [each.fields["date"] for each in found] == ["2024-04-03", "2024-04-25"]
    assert [each.fields["amount"] for each in found] == [-12.5, 2500.0]


def test_an_unclear_cell_is_kept_unread() -> None:
    (found,) = from_rows(
        ("Date", "Payee", "Amount", "Account"), ("03/04/2024", "Market", "1,250", "a-1")
    )

    assert found.unread == {
        "date": UnreadValue(value="03/04/2024", reason="day and month could be either way round"),
        "amount": UnreadValue(value="1,250", reason="the mark could divide thousands or decimals"),
    }
    assert found.fields == {"merchant_name": "Market", "account_id": "a-1"}


def test_columns_without_unique_names_are_identified_by_position() -> None:
    (found,) = from_rows(
        ("Name", "Email", "Email", None), ("Ada", "a@x.org", "b@x.org", "blue", "tall")
    )

    assert found.fields == {
        "name": "Ada",
        "email": "a@x.org",
        "column_3": "b@x.org",
        "column_4": "blue",
        "column_5": "tall",
    }


def test_a_header_names_the_currency_of_its_column() -> None:
    (found,) = from_rows(
        ("transaction_date", "posting_date", "amount_usd", "amount_original", "account_id"),
        ("2024-12-20", "2024-12-21", "-1200.00", "-1100.00", "a-1"),
    )

    assert found.fields["amount"] == -1200.0
    assert found.fields["currency"] == "USD"


def test_headers_in_other_languages_are_fields_of_a_person() -> None:
    (found,) = from_rows(
        ("Vorname", "Nachname", "E-Mail", "Firma"),
        ("Ada", "Lovelace", "ada@example.org", "Engines Ltd"),
    )

    assert found.entity_type == "person"
    assert found.fields == {
        "first_name": "Ada",
        "last_name": "Lovelace",
        "email": "ada@example.org",
        "organization": "Engines Ltd",
    }


def test_untyped_records_are_typed_by_columns_and_never_by_file() -> None:
    rows = ({"text": "Good", "task_id": "t-1", "author_gid": "u-1"}, {"text": "Minimal"})
    found = from_objects(*rows, name="Anna Schmidt divorce.json")
    again = from_objects(*reversed(rows), name="other.json")
    wider = from_objects(*rows, {"colour": "red"}, name="Anna Schmidt divorce.json")

    kinds = {each.entity_type for each in found}
    assert kinds == {each.entity_type for each in again}
    assert kinds.isdisjoint(each.entity_type for each in wider)
    assert all(re.fullmatch("record_[0-9a-f]{8}", kind) for kind in kinds)
    assert found[1].fields == {"text": "Minimal"}


def test_an_untyped_table_is_typed_by_columns_and_never_by_file() -> None:
    (found,) = from_rows(("lawyer", "court"), ("Brown", "Bonn"), name="Anna Schmidt divorce.csv")
    (other,) = from_rows(("court", "lawyer"), ("Bonn", "Brown"), name="more.csv")
    assert found.entity_type == other.entity_type
    assert found.entity_type.startswith("record_")


def test_the_importer_of_rows_may_name_their_type() -> None:
    table = Table(rows=(("lawyer", "court"), ("Brown", "Bonn")))
    reading = Reading(kind=FileType.CSV, name="x.csv", tables=(table,))
    (found,) = interpret_reading(reading, SCHEMAS, untyped="case").entities
    assert found.entity_type == "case"
    rows = (("Invoice No", "Vendor", "Due Date", "Amount"), ("A-1", "Engines", "2024-05-31", "5"))
    bills = Reading(kind=FileType.CSV, name="x.csv", tables=(Table(rows=rows),))
    (bill,) = interpret_reading(bills, SCHEMAS, untyped="case").entities
    assert bill.entity_type == "invoice"


def test_a_list_in_a_file_names_its_items_type() -> None:
    records = (Record(kind="object:recipes", fields={"title": "Soup", "oven": "no"}),)
    reading = Reading(kind=FileType.JSON, name="Anna Schmidt.json", records=records)
    assert [each.entity_type for each in interpret_paper(reading).entities] == ["recipe"]


def test_a_record_that_names_its_type_has_it() -> None:
    first, second = from_objects(
        {"entity_type": "invoice", "Invoice No": "A-1", "total": 5},
        {"entity_type": "wine", "Grape Variety": "Riesling"},
    )

    assert (first.entity_type, first.fields) == (
        "invoice",
        {"invoice_number": "A-1", "amount_due": 5},
    )
    assert (second.entity_type, second.fields) == ("wine", {"grape_variety": "Riesling"})


def test_a_table_below_other_lines_is_found_by_its_header() -> None:
    table = Table(
        rows=(
            ("Statement of May", None, None),
            (None, None, None),
            ("Name", "Email", "Phone"),
            ("Ada", "ada@example.org", "+44 20 7946 0000"),
        )
    )
    reading = Reading(kind=FileType.XLSX, name="contacts.xlsx", tables=(table,))
    (found,) = interpret_paper(reading).entities

    assert found.entity_type == "contact"
    assert found.fields["email"] == "ada@example.org"


def test_cards_and_calendar_entries_become_contacts_events_and_tasks() -> None:
    card: dict[str, Any] = {"name": "Ada", "email": ["a@x.org", "b@x.org"], "uid": "1"}
    event: dict[str, Any] = {"title": "Kick-off", "start": "2025-01-05T09:00:00Z", "uid": "2"}
    task: dict[str, Any] = {"title": "Report", "due_date": "2025-01-10", "status": "NEEDS-ACTION"}
    records = (
        Record(kind="vcard", fields=card),
        Record(kind="vevent", fields=event),
        Record(kind="vtodo", fields=task),
    )
    found = interpret_paper(Reading(kind=FileType.VCF, records=records)).entities

    assert [(each.entity_type, dict(each.fields)) for each in found] == [
        (
            "contact",
            {"name": "Ada", "email": "a@x.org", "emails": ["b@x.org"], "external_id": "1"},
        ),
        (
            "event",
            {"title": "Kick-off", "start_date": "2025-01-05T09:00:00Z", "external_id": "2"},
        ),
        ("task", {"title": "Report", "due_date": "2025-01-10", "status": "pending"}),
    ]


def a_message(text: str, **head: Any) -> Record:
    return Record(kind="message", fields={**head, "text": text})


def test_a_message_refers_to_people_in_its_headers_and_to_its_invoice() -> None:
    head = {
        "subject": "Your invoice",
        "from": [{"name": "Shop", "email": "shop@x.org"}],
        "to": [{"name": "", "email": "ada@x.org"}],
    }
    text = "INVOICE\nInvoice No: A-1\nDue Date: 2024-02-03\nAmount Due: $5.00\n"
    reading = Reading(kind=FileType.EML, records=(a_message(text, **head),))

    message, *others = interpret_paper(reading).entities

    assert message.entity_type == "message"
    assert message.refers_to == (1, 2, 3)
    assert [each.entity_type for each in others] == ["contact", "contact", "invoice"]
    assert others[2].fields["invoice_number"] == "A-1"


def test_quoted_text_does_not_decide_what_a_message_is() -> None:
    quoted = "> INVOICE\n> Invoice No: A-1\n> Due Date: 2024-02-03\n> Amount Due: $5.00\n"
    below = "-----Original Message-----\n" + quoted.replace("> ", "")
    reading = Reading(
        kind=FileType.MBOX,
        records=(a_message(f"Paid.\n{quoted}"), a_message(f"Paid.\n{below}")),
    )

    assert [each.entity_type for each in interpret_paper(reading).entities] == ["message"] * 2


def test_mailbox_messages_name_people_once_and_refer_to_their_parent() -> None:
    ada, bob = {"name": "Ada", "email": "a@x.org"}, {"name": "", "email": "b@x.org"}
    asked = a_message("Lunch?", message_id="1", **{"from": [ada], "to": [bob]})
    answer = {"message_id": "2", "in_reply_to": "1", "thread_id": "1"}
    reading = Reading(
        kind=FileType.MBOX,
        records=(asked, a_message("Yes", **answer, **{"from": [bob], "to": [ada]})),
    )

    first, second, *people = interpret_paper(reading).entities

    assert [each.fields.get("name") for each in people] == ["Ada", None]
    assert first.refers_to == (2, 3)
    assert second.refers_to == (3, 2, 0)
    assert (second.fields["external_id"], second.fields["thread_id"]) == ("2", "1")


CELLS = st.one_of(st.none(), st.integers(), st.text(max_size=12), st.floats(allow_nan=False))


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=20))
def test_no_row_is_lost_or_joined_with_another(rows: list[list[Any]]) -> None:
    said = [row for row in rows if any(cell not in {None, ""} for cell in row)]

    found = from_rows(("Name", "Email", "Phone"), *rows)

    assert [each.row for each in found] == list(range(1, len(said) + 1))


@given(st.lists(st.text(max_size=60), max_size=12))
def test_the_rules_read_any_text_deterministically(lines: list[str]) -> None:
    reading = Reading(kind=FileType.PLAIN, parts=(Part(text="\n".join(lines)),))

    assert interpret_paper(reading) == interpret_paper(reading)


BILLS = ("Invoice Number", "Invoice Date", "Vendor", "Amount Due", "Tax", "Fee")


def test_a_column_is_interpreted_with_its_neighbours() -> None:
    first, second = from_rows(
        BILLS[:5],
        ("R-1", "03/04/2024", "Market", "1.250", "12,50"),
        ("R-2", "05/04/2024", "Rent", "2.750", "9,75"),
    )

    assert (first.fields["amount_due"], second.fields["amount_due"]) == (1250, 2750)
    assert "invoice_date" in first.unread


def test_contradictory_columns_settle_nothing() -> None:
    (found,) = from_rows(BILLS, ("R-1", "03/04/2024", "Market", "1.250", "12,50", "0.75"))

    assert found.unread["amount_due"].value == "1.250"


def test_the_title_language_settles_ambiguous_cells() -> None:
    (found,) = from_rows(
        ("Rechnungsnummer", "Rechnungsdatum", "Lieferant", "Betrag"),
        ("R-1", "03/04/2024", "Market", "1.250"),
    )

    assert found.fields["invoice_date"] == "2024-04-03"
    assert found.fields["amount_due"] == 1250


def test_the_currency_of_a_table_decides_the_order_of_dates() -> None:
    titles = (*BILLS[:4], "Currency")
    (british,) = from_rows(titles, ("R-1", "03/04/2024", "Market", "12.50", "GBP"))
    (either,) = from_rows(titles, ("R-1", "03/04/2024", "Market", "12.50", "USD"))

    assert british.fields["invoice_date"] == "2024-04-03"
    assert "invoice_date" in either.unread


@pytest.mark.parametrize("titles", [BILLS[:4], ("Account", "Date", "Payee", "Amount")])
def test_a_number_with_a_unit_is_never_the_number_alone(titles: tuple[str, ...]) -> None:
    for text in ("12 kg", "3.5 kWh", "19 %", "2 h", "40 m\xb2"):
        (found,) = from_rows(titles, ("R-1", "2024-04-03", "Market", text))
        assert len(found.fields) > 0
        assert not any(isinstance(each, int | float) for each in found.fields.values())
    for text in ("12,50 EUR", "12.50 kr", "$12.50", "12.50"):
        (found,) = from_rows(titles, ("R-1", "2024-04-03", "Market", text))
        assert 12.5 in found.fields.values()
