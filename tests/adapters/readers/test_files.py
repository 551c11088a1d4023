"""Reading files of every kind: text, tables and records, as they stand in them."""

import base64

import pytest

from canonry.canon.ports.files import DocumentLimits, FileHint, FileType, Reading, Record
from canonry.documents.extraction.rules import interpret_reading
from canonry.documents.readers import LocalReader
from canonry.values.errors import InvalidInput
from tests.adapters.readers.office import a_letter, a_workbook
from tests.adapters.readers.paper import a_pdf
from tests.domain.extraction.papers import SCHEMAS

pytestmark = pytest.mark.anyio

MESSAGE = b"""\
From: "Ada L" <Ada@example.org>\r
To: bob@example.org, "Eve" <eve@example.org>\r
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r
Date: Fri, 03 May 2024 10:00:00 +0200\r
Message-ID: <1@example.org>\r
MIME-Version: 1.0\r
Content-Type: multipart/mixed; boundary=cut\r
\r
--cut\r
Content-Type: text/plain; charset=iso-8859-1\r
Content-Transfer-Encoding: quoted-printable\r
\r
sch=F6ne Gr=FC=DFe\r
--cut\r
Content-Type: application/pdf\r
Content-Disposition: attachment; filename="bill.pdf"\r
Content-Transfer-Encoding: base64\r
\r
JVBERi0=\r
--cut--\r
"""
CARD = b"""\
BEGIN:VCARD\r
VERSION:3.0\r
FN:Ada Lovelace\r
N:Lovelace;Ada;;;\r
ORG:Engines Ltd;Research\r
EMAIL;TYPE=INTERNET:ada@example.org\r
EMAIL:al@example.org\r
TEL;TYPE=CELL:+44 20 7946 0000\r
NOTE:a long \r
 line\r
END:VCARD\r
"""
CALENDAR = b"""\
BEGIN:VCALENDAR\r
VERSION:2.0\r
PRODID:-//x\r
BEGIN:VTIMEZONE\r
TZID:Europe/Berlin\r
BEGIN:STANDARD\r
DTSTART:19701025T030000\r
TZOFFSETFROM:+0200\r
TZOFFSETTO:+0100\r
END:STANDARD\r
END:VTIMEZONE\r
BEGIN:VEVENT\r
UID:1\r
SUMMARY:Kick-off\r
DTSTART;TZID=Europe/Berlin:20250105T100000\r
DTEND:20250105T110000Z\r
ATTENDEE;CN=Bob:mailto:bob@example.org\r
END:VEVENT\r
BEGIN:VTODO\r
UID:2\r
SUMMARY:Report\r
DUE;VALUE=DATE:20250110\r
END:VTODO\r
END:VCALENDAR\r
"""
PAGE = """\
<!doctype html><html><head><title>A page</title><style>p {color: red}</style>
<script>let hidden = "secret words"</script></head>
<body><h1>Caf&eacute;</h1><p>One<br>two &amp; three</p>
<table><tr><th>Item</th><th>Price</th></tr><tr><td>Tea</td><td>2</td></tr></table>
<ul><li>first<li>second</ul></body></html>
"""


async def examine_file(data: bytes, mime_type: str = "", name: str = "") -> Reading:
    return await LocalReader().examine_file(data, FileHint(mime_type=mime_type, name=name))


async def test_a_web_page_gives_its_visible_text_and_tables() -> None:
    reading = await examine_file(PAGE.encode())

    assert reading.kind is FileType.HTML
    assert [part.section for part in reading.parts] == [None, "Café"]
    assert "One\ntwo & three" in reading.whole_text
    assert "- first\n- second" in reading.whole_text
    assert "secret" not in reading.whole_text
    assert "red" not in reading.whole_text
    assert [table.rows for table in reading.tables] == [(("Item", "Price"), ("Tea", "2"))]


async def test_a_workbook_gives_each_sheet_with_typed_cells() -> None:
    rows: list[list[str | float | None]] = [
        ["Name", "Size"],
        ["Ada", 1.5],
        ["Bob", 2],
        [None, None],
    ]
    reading = await examine_file(a_workbook({"People": rows, "Empty": []}))

    (table,) = reading.tables
    assert reading.kind is FileType.XLSX
    assert table.name == "People"
    assert table.rows == (("Name", "Size"), ("Ada", 1.5), ("Bob", 2))
    assert "Ada | 1.5" in reading.whole_text


async def test_a_text_document_gives_paragraphs_and_tables() -> None:
    reading = await examine_file(
        a_letter("Dear Ada", "a < b", table=[["Item", "Sum"], ["Tea", "2"]])
    )

    assert reading.kind is FileType.DOCX
    assert "Dear Ada\na < b" in reading.whole_text
    assert [table.rows for table in reading.tables] == [(("Item", "Sum"), ("Tea", "2"))]


async def test_a_message_gives_headers_text_and_attachments() -> None:
    reading = await examine_file(MESSAGE)

    (record,) = reading.records
    assert reading.kind is FileType.EML
    assert reading.whole_text == "schöne Grüße"
    assert record == Record(
        kind="message",
        fields={
            "subject": "Grüße",
            "message_id": "1@example.org",
            "thread_id": "1@example.org",
            "text": "schöne Grüße",
            "sent_at": "2024-05-03T08:00:00Z",
            "attachments": ["bill.pdf"],
            "from": [{"name": "Ada L", "email": "ada@example.org"}],
            "to": [
                {"name": "", "email": "bob@example.org"},
                {"name": "Eve", "email": "eve@example.org"},
            ],
        },
    )


async def test_a_file_attached_to_a_message_is_returned_unchanged() -> None:
    table = b"name,email\nAda,ada@example.org\n"
    message = MESSAGE.replace(
        b"--cut--",
        b"--cut\r\nContent-Type: text/csv; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n"
        b'Content-Disposition: attachment; filename="people.csv"\r\n\r\n'
        + base64.b64encode(table)
        + b"\r\n--cut--",
    )

    reading = await examine_file(message)

    assert [(each.hint.name, each.record) for each in reading.members] == [
        ("bill.pdf", 0),
        ("people.csv", 0),
    ]
    assert reading.members[1].data == table
    assert reading.members[1].hint.charset_name == "utf-8"


async def test_a_card_gives_a_record_with_unfolded_lines() -> None:
    (record,) = (await examine_file(CARD)).records

    assert record.kind == "vcard"
    assert record.fields["name"] == "Ada Lovelace"
    assert record.fields["organization"] == "Engines Ltd"
    assert record.fields["department"] == "Research"
    assert record.fields["email"] == ["ada@example.org", "al@example.org"]
    assert record.fields["notes"] == "a long line"


async def test_a_unit_belongs_to_the_company_on_its_own_line() -> None:
    card = CARD.replace(b"\r\nEND:", b"\r\nORG:Salt Club;Rowing\r\nEND:")
    assert card != CARD
    alone = card.replace(b";Research", b"")

    (both,), (one,) = (await examine_file(card)).records, (await examine_file(alone)).records

    assert (both.fields["organization"], both.fields["department"]) == ("Engines Ltd", "Research")
    assert "department" not in one.fields


async def test_a_placeholder_year_is_not_part_of_a_birthday() -> None:
    card = CARD.replace(
        b"\r\nEND:", b"\r\nBDAY;X-APPLE-OMIT-YEAR=1604;VALUE=date:1604-05-17\r\nEND:"
    )
    assert (await examine_file(card)).records[0].fields["birthday"] == "--05-17"


async def test_a_calendar_gives_events_and_tasks_with_instants() -> None:
    event, task = (await examine_file(CALENDAR)).records

    assert (event.kind, task.kind) == ("vevent", "vtodo")
    assert event.fields["start"] == "2025-01-05T09:00:00Z"
    assert event.fields["end"] == "2025-01-05T11:00:00Z"
    assert event.fields["attendees"] == ["bob@example.org"]
    assert task.fields["due_date"] == "2025-01-10"


async def test_a_table_is_split_by_its_consistent_delimiter() -> None:
    reading = await examine_file(b'a;b;c\n1;"2;5";3\n\n4;;6\n', "text/csv")

    (table,) = reading.tables
    assert table.rows == (("a", "b", "c"), ("1", "2;5", "3"), ("4", None, "6"))


async def test_a_table_in_an_unnamed_charset_is_read_and_reported() -> None:
    data = "Name,Straße\nAda,Gäßchen 1\n".encode("windows-1252")

    reading = await examine_file(data, "text/csv; charset=windows-1252")

    assert reading.tables[0].rows[1] == ("Ada", "Gäßchen 1")
    assert reading.notes == ()


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("cp1252", "Señor García: el próximo año cobrará 12 €"),
        ("cp1252", "Numéro de facture: 12\nDate d'échéance: 3 février"),
        ("cp1252", "Grüße aus München: „Überweisung“, 12 m²"),
        ("cp1250", "Umowa najmu lokalu została zawarta w Łodzi, kwota 120 zł"),
        ("iso8859-2", "Umowa najmu lokalu w Łodzi, ulica Świętokrzyska"),
        ("mac_roman", "Grüße aus München, schöne Überraschung"),
        ("cp850", "Grüße aus München, schöne Überraschung"),
    ],
)
async def test_an_unnamed_charset_is_detected_by_the_letters_of_a_language(
    charset: str, text: str
) -> None:
    reading = await examine_file(text.encode(charset), "text/plain")

    assert reading.whole_text == text
    assert reading.notes[0].startswith("The text names no charset and was read as")


async def test_a_text_in_no_known_language_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        await examine_file("Συμφωνητικό μίσθωσης".encode("cp1253"), "text/plain")

    assert refused.value.code == "document.encoding"


async def test_an_unclosed_quote_is_reported_and_loses_no_rows() -> None:
    rows = b'Date,Payee,Amount\n2024-01-02,"Al,5.00\n2024-01-03,Bo,6.00\n2024-01-04,"Cy",7.00\n'
    reading = await examine_file(rows, "text/csv")

    assert [row[-1] for row in reading.tables[0].rows] == ["Amount", "5.00", "6.00", "7.00"]
    assert reading.notes == ("A quote does not end in line 2. Each line was read as a row.",)


async def test_json_gives_its_objects_and_keeps_numbers_exact() -> None:
    many = await examine_file(b'[{"n": 12345678901234567890}, {"n": 1.10}, "no object"]')
    wrapped = await examine_file(b'{"contacts": [{"name": "Ada"}], "total": 1}')
    one = await examine_file(b'{"name": "Ada", "tags": ["a"]}')

    assert [record.fields for record in many.records] == [{"n": 12345678901234567890}, {"n": 1.1}]
    assert [(each.kind, each.fields) for each in wrapped.records] == [
        ("object:contacts", {"name": "Ada"})
    ]
    assert [record.fields for record in one.records] == [{"name": "Ada", "tags": ["a"]}]


async def test_content_of_an_undeclared_type_is_read_and_reported() -> None:
    reading = await examine_file(a_pdf("Words"), "text/plain", "words.txt")

    assert reading.kind is FileType.PDF
    assert reading.differs
    assert not (await examine_file(b"Words", "text/plain")).differs


async def test_a_file_of_the_largest_size_passes_and_one_more_byte_does_not() -> None:
    reader = LocalReader(DocumentLimits(file_bytes=64))

    assert (await reader.examine_file(b"x" * 64, FileHint())).whole_text == "x" * 64
    with pytest.raises(InvalidInput) as refused:
        await reader.examine_file(b"x" * 65, FileHint())
    assert refused.value.code == "document.too-large"
    assert refused.value.details["limit"] == 64


@pytest.mark.parametrize(
    ("data", "types"),
    [
        (b'[[{"name": "Ada", "email": "a@x.org", "phone": "+1"}]]', [("person", "Ada")]),
        (
            b'{"habits": [{"name": "Run"}], "liabilities": [{"name": "Loan"}], "total": 2}',
            [("habit", "Run"), ("liability", "Loan")],
        ),
        (
            b'{"data": {"contacts": [{"name": "Ada"}, {"name": "Bob"}]}}',
            [("contact", "Ada"), ("contact", "Bob")],
        ),
    ],
)
async def test_each_list_in_a_document_gives_its_own_records(
    data: bytes, types: list[tuple[str, str]]
) -> None:
    found = interpret_reading(await examine_file(data), SCHEMAS).entities

    listed = [(each.entity_type, each.fields["name"]) for each in found]
    assert listed == types
    assert [each.row for each in found] == list(range(1, len(found) + 1))


async def test_a_list_of_texts_labels_nothing() -> None:
    (found,) = interpret_reading(
        await examine_file(b'["Invoice number: 5", "Total: 3 EUR"]'), SCHEMAS
    ).entities

    assert found.entity_type == "note"
