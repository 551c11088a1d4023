"""Mail and calendars: mailboxes whole, zones by their names, what is broken skipped and told."""

import pytest

from canonry.canon.ports.files import FileHint, FileType, Reading
from canonry.documents.readers import LocalReader
from canonry.values.errors import InvalidInput
from tests.adapters.readers.outlook import a_saved_message

pytestmark = pytest.mark.anyio

MAILBOX = b"""\
From ada@example.org Fri May  3 10:00:00 2024
From: Ada <ada@example.org>
To: bob@example.org
Subject: Lunch
Message-ID: <1@example.org>
Date: Fri, 03 May 2024 10:00:00 +0200

>From here it is ten minutes.

From bob@example.org Fri May  3 11:00:00 2024
From: Bob <bob@example.org>
To: ada@example.org
Subject: Re: Lunch
Message-ID: <2@example.org>
In-Reply-To: <1@example.org>
References: <1@example.org>
Content-Type: multipart/mixed; boundary=cut

--cut
Content-Type: text/html; charset=utf-8

<p>Fine</p>
--cut
Content-Type: text/csv
Content-Disposition: attachment; filename="menu.csv"

dish,price
Soup,4
--cut
Content-Type: image/png
Content-ID: <logo>
Content-Disposition: inline; filename="logo.png"

x
--cut--
"""


async def examine_file(data: bytes, name: str = "") -> Reading:
    return await LocalReader().examine_file(data, FileHint(name=name))


async def test_all_messages_of_a_mailbox_are_read_with_their_threads() -> None:
    reading = await examine_file(MAILBOX)

    first, second = (record.fields for record in reading.records)
    assert reading.kind is FileType.MBOX
    assert first["text"] == "From here it is ten minutes."
    assert (first["thread_id"], second["thread_id"]) == ("1@example.org", "1@example.org")
    assert second["in_reply_to"] == "1@example.org"
    assert second["text"] == "Fine"


async def test_attachments_belong_to_their_message_and_inline_pictures_do_not() -> None:
    (menu,) = (await examine_file(MAILBOX)).members

    assert (menu.hint.name, menu.record) == ("menu.csv", 1)
    assert menu.data.startswith(b"dish,price")


async def test_an_outlook_message_is_read_like_any_other() -> None:
    message = a_saved_message(
        {
            0x0037: "Angebot",
            0x1000: "Guten Tag,\r\nanbei das Angebot.",
            0x0C1A: "Ada L",
            0x0C1F: "ada@example.org",
            0x1035: "<2@example.org>",
            0x1042: "<1@example.org>",
            0x001A: "IPM.Note",
        },
        sent=1_714_723_200,
        to=[("Bob", "bob@example.org", 1), ("eve@example.org", "Eve@example.org", 2)],
        files={"people.csv": b"name,email\nAda,ada@example.org\n" * 200, "note.txt": b"short"},
    )

    reading = await examine_file(message)

    (record,) = reading.records
    assert reading.kind is FileType.MSG
    assert record.fields == {
        "subject": "Angebot",
        "message_id": "2@example.org",
        "in_reply_to": "1@example.org",
        "thread_id": "1@example.org",
        "sent_at": "2024-05-03T08:00:00Z",
        "from": [{"name": "Ada L", "email": "ada@example.org"}],
        "to": [{"name": "Bob", "email": "bob@example.org"}],
        "cc": [{"name": "", "email": "eve@example.org"}],
        "attachments": ["people.csv", "note.txt"],
        "text": "Guten Tag,\nanbei das Angebot.",
    }
    assert [(each.hint.name, len(each.data)) for each in reading.members] == [
        ("people.csv", 6_200),
        ("note.txt", 5),
    ]


@pytest.mark.parametrize("stream", ["WordDocument", "PowerPoint Document"])
async def test_an_old_office_file_is_refused_with_advice(stream: str) -> None:
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + stream.encode("utf-16-le")

    with pytest.raises(InvalidInput) as refused:
        await examine_file(data, "contract.doc")

    assert refused.value.code == "document.unsupported"
    assert "DOCX" in refused.value.message


async def test_an_encrypted_workbook_says_so() -> None:
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "EncryptedPackage".encode("utf-16-le")

    with pytest.raises(InvalidInput) as refused:
        await examine_file(data, "salaries.xlsx")

    assert refused.value.code == "document.encrypted"


def a_calendar(*entries: str) -> bytes:
    lines = "\n".join(entries)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//x\n{lines}\nEND:VCALENDAR\n".encode()


def an_event(*lines: str) -> str:
    return "\n".join(("BEGIN:VEVENT", *lines, "END:VEVENT"))


@pytest.mark.parametrize(
    ("zone", "start"),
    [
        ('"W. Europe Standard Time"', "2025-07-05T08:00:00Z"),
        ("Pacific Standard Time", "2025-07-05T17:00:00Z"),
        ("Europe/Lisbon", "2025-07-05T09:00:00Z"),
    ],
)
async def test_a_windows_zone_name_is_resolved(zone: str, start: str) -> None:
    event = an_event("UID:1", "SUMMARY:Kick-off", f"DTSTART;TZID={zone}:20250705T100000")

    (record,) = (await examine_file(a_calendar(event))).records

    assert record.fields["start"] == start


async def test_a_time_in_an_unknown_zone_is_no_instant() -> None:
    event = an_event("UID:1", "SUMMARY:Kick-off", "DTSTART;TZID=Nowhere/Land:20250705T100000")

    (record,) = (await examine_file(a_calendar(event))).records

    assert "start" not in record.fields
    assert record.fields["unread"] == {
        "start": [
            "2025-07-05T10:00:00 Nowhere/Land",
            "the time zone Nowhere/Land is not known",
        ]
    }


async def test_a_broken_entry_is_skipped_and_reported() -> None:
    whole = an_event("UID:1", "SUMMARY:Whole", "DTSTART:20250105T100000Z", "DURATION:PT90M")
    bad_day = an_event("UID:2", "SUMMARY:Bad day", "DTSTART:2025-bogus")
    bad_end = an_event("UID:3", "no colon here", "DTSTART:20250105T100000Z", "DTEND:never")
    bad_line = an_event("UID:4", "SUMMARY:Odd", "no colon here", "DTSTART:20250105T100000Z")

    reading = await examine_file(a_calendar(bad_day, whole, bad_end, bad_line))

    assert [record.fields["title"] for record in reading.records] == ["Whole", "Odd"]
    assert reading.records[0].fields["end"] == "2025-01-05T11:30:00Z"
    assert reading.notes == (
        'Entry 1 "Bad day" is broken and was skipped.',
        "Entry 3 is broken and was skipped.",
        "A line of entry 4 could not be read.",
    )


async def test_an_exception_keeps_the_occurrence_it_replaces() -> None:
    series = an_event(
        "UID:1",
        "SUMMARY:Weekly",
        "DTSTART:20250105T100000Z",
        "RRULE:FREQ=WEEKLY",
        "EXDATE:20250119T100000Z",
    )
    moved = an_event(
        "UID:1",
        "RECURRENCE-ID:20250112T100000Z",
        "SUMMARY:Weekly, later",
        "DTSTART:20250112T120000Z",
        "ORGANIZER;CN=Ada:mailto:ada@example.org",
    )

    first, second = (await examine_file(a_calendar(series, moved))).records

    assert first.fields["recurrence"] == "FREQ=WEEKLY"
    assert first.fields["excluded"] == ["2025-01-19T10:00:00Z"]
    assert second.fields["recurrence_id"] == "2025-01-12T10:00:00Z"
    assert second.fields["organizer"] == "ada@example.org"


async def test_a_calendar_with_only_broken_entries_is_damaged() -> None:
    with pytest.raises(InvalidInput) as refused:
        await examine_file(a_calendar(an_event("UID:2", "DTSTART:2025-bogus")))

    assert refused.value.code == "document.damaged"


async def test_a_department_is_not_the_company_name() -> None:
    card = "BEGIN:VCARD\nVERSION:3.0\nFN:Ada L\nORG:Acme GmbH;R&D;Physics\nEND:VCARD\n"
    old = "BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;Eva\n"
    old += "FN:Eva\nTEL;CELL:+49 30 1234567\nEND:VCARD\n"
    broken = "BEGIN:VCARD\nVERSION:3.0\nFN:Bob\nBDAY;:;;\nnonsense\n"

    reading = await examine_file((card + old + broken).encode())

    assert [record.fields for record in reading.records[:2]] == [
        {"name": "Ada L", "organization": "Acme GmbH", "department": "R&D, Physics"},
        {
            "name": "Eva",
            "phone": ["+49 30 1234567"],
            "rest": {"phone_cell": "+49 30 1234567", "part_of_name": "Müller"},
        },
    ]


async def test_a_card_that_is_not_utf_8_is_read_with_a_note() -> None:
    card = "BEGIN:VCARD\nVERSION:3.0\nFN:Jörg Müller\nEND:VCARD\n"

    reading = await examine_file(card.encode("cp1252"))

    assert reading.records[0].fields == {"name": "Jörg Müller"}
    assert "cp1252" in reading.notes[0]
