"""Cards, calendars and tables of items: what the format or the header says, and nothing else."""

import pytest

from canonry.canon.ports.files import Cell, Record
from canonry.documents.extraction.cards import extract_cards
from tests.domain.extraction.papers import from_text


def a_record(kind: str, **fields: object) -> Record:
    return Record(kind=kind, fields=fields)


def test_a_card_separates_the_first_address_from_the_others() -> None:
    (found,) = extract_cards(
        [a_record("vcard", name="Ada", email=["a@x.org", "b@x.org"], phone=["1"], uid="u-1")]
    )

    assert found.entity_type == "contact"
    assert found.fields == {
        "name": "Ada",
        "email": "a@x.org",
        "emails": ["b@x.org"],
        "phone": "1",
        "external_id": "u-1",
    }


@pytest.mark.parametrize(
    ("status", "stated"),
    [("NEEDS-ACTION", "pending"), ("IN-PROCESS", "in_progress"), ("", "pending"), ("x", "x")],
)
def test_a_task_has_a_status_and_its_categories(status: str, stated: str) -> None:
    (found,) = extract_cards([a_record("vtodo", title="Call", status=status, tags=["home", "tax"])])

    assert found.entity_type == "task"
    assert found.fields == {"title": "Call", "status": stated, "tags": "home, tax"}


def test_an_appointment_has_guests_and_an_id() -> None:
    entry = {"title": "Lunch", "start": "2025-01-01", "attendees": ["a@x.org"], "uid": "u-2"}

    found = list(extract_cards([a_record("vevent", **entry), a_record("vjournal", title="Diary")]))

    assert [each.entity_type for each in found] == ["event", "event"]
    assert found[0].fields == {
        "title": "Lunch",
        "start_date": "2025-01-01",
        "attendees": ["a@x.org"],
        "external_id": "u-2",
    }


def test_a_moved_occurrence_is_a_separate_event() -> None:
    moved = {"title": "Lunch", "uid": "u-2", "start": "2025-01-09", "recurrence_id": "2025-01-08"}

    series, departing = extract_cards(
        [
            a_record("vevent", title="Lunch", uid="u-2", start="2025-01-01", recurrence="FREQ=D"),
            a_record("vevent", **moved),
        ]
    )

    assert series.fields["external_id"] == "u-2"
    assert departing.fields["external_id"] == "u-2 2025-01-08"
    assert departing.fields["series_id"] == "u-2"


def test_a_time_in_an_unknown_zone_is_kept_unread() -> None:
    unread = {"start": ["2025-01-01T10:00:00 Nowhere", "the time zone Nowhere is not known"]}

    (found,) = extract_cards([a_record("vevent", title="Lunch", unread=unread)])

    assert "start_date" not in found.fields
    assert found.unread["start_date"].value == "2025-01-01T10:00:00 Nowhere"


def test_unknown_components_are_skipped_and_others_keep_their_place() -> None:
    found = list(extract_cards([a_record("valarm"), a_record("vcard", name="Ada")]))

    assert [(each.entity_type, each.row) for each in found] == [("contact", 2)]


INVOICE = "Invoice INV-7\nFrom: Acme Corp\nTotal: 30.00 EUR\n"


@pytest.mark.parametrize(
    ("rows", "items"),
    [
        (
            [
                ("Item", "Qty", "Amount"),
                ("Desk", 2, 20),
                ("Lamp", "1", "10.00"),
                ("Total", "", 30),
            ],
            [
                {"description": "Desk", "quantity": 2, "amount": 20},
                {"description": "Lamp", "quantity": 1, "amount": 10},
            ],
        ),
        # Two columns of one meaning: an empty one takes nothing away, and the first one counts.
        (
            [("Item", "Description", "Amount"), ("Desk", "", 20), ("Lamp", "of brass", 10)],
            [
                {"description": "Desk", "amount": 20},
                {"description": "Lamp", "amount": 10},
            ],
        ),
        ([("Item", "Amount")], None),
        ([("When", "Where"), ("today", "here")], None),
        # A cell that is no number says nothing of the price.
        ([("Item", "Unit price"), ("Desk", "on request"), ("", 5)], None),
    ],
)
def test_a_table_of_items_is_read_by_its_header(
    rows: list[tuple[Cell, ...]], items: list[dict[str, object]] | None
) -> None:
    (found, *_) = from_text(INVOICE, [rows])

    assert found.entity_type == "invoice"
    assert found.fields.get("items") == items


def test_the_first_of_several_tables_with_items_is_read() -> None:
    contacts: list[list[Cell]] = [["Name", "Phone"], ["Ada", "1"]]
    bill: list[list[Cell]] = [["Item", "Amount"], ["Desk", 20]]

    (found, *_) = from_text(INVOICE, [contacts, bill])

    assert found.fields["items"] == [{"description": "Desk", "amount": 20}]
