"""Struck-out text does not hold any more, and front matter is YAML."""

import io
import zipfile

import pytest

from canonry.canon.ports.files import FileHint, Reading
from canonry.documents.extraction.rules import interpret_reading
from canonry.documents.parsers.findings import STRUCK
from canonry.documents.readers import LocalReader
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.records.domain.interpretations import FoundEntity

pytestmark = pytest.mark.anyio

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns"


async def examine_file(data: str | bytes, name: str) -> Reading:
    content = data if isinstance(data, bytes) else data.encode()
    return await LocalReader().examine_file(content, FileHint(name=name))


async def first_of(data: str | bytes, name: str) -> FoundEntity:
    reading = await examine_file(data, name)
    return interpret_reading(reading, tuple(TRUTH_TYPES.values())).entities[0]


def zip_parts(**parts: str) -> bytes:
    """An archive with these parts; without a point, `__` is a slash and `_` a point."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, part in parts.items():
            plain = name if "." in name else name.replace("__", "/").replace("_", ".")
            archive.writestr(plain, part)
    return written.getvalue()


def a_word_text(strike: str, part: str = "document") -> bytes:
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    first = f"<w:r><w:rPr>{strike}</w:rPr><w:t>480.00</w:t></w:r>"
    body = f"<w:p>{first}<w:r><w:t> 520.00</w:t></w:r></w:p>"
    text = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return zip_parts(
        **{
            f"word__{part}_xml": text,
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
            'content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
            "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
            f'relationships"><Relationship Id="r1" Type="{relation}/officeDocument" '
            f'Target="word/{part}.xml"/></Relationships>',
        },
    )


def an_open_text() -> bytes:
    style = (
        '<s:style s:name="T1"><s:text-properties s:text-line-through-style="solid"/></s:style>'
        '<s:style s:name="T2"><s:text-properties s:text-line-through-style="none"/></s:style>'
    )
    spans = '<t:span t:style-name="T1">480.00</t:span><t:span t:style-name="T2"> 520.00</t:span>'
    text = f"<t:p>{spans}</t:p>"
    names = (
        f'xmlns:o="{OFFICE}:office:1.0" xmlns:s="{OFFICE}:style:1.0" xmlns:t="{OFFICE}:text:1.0"'
    )
    return zip_parts(
        mimetype="application/vnd.oasis.opendocument.text",
        content_xml=f"<o:document {names}>{style}<o:text>{text}</o:text></o:document>",
    )


def a_slide() -> bytes:
    names = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    runs = (
        '<a:r><a:rPr strike="sngStrike"/><a:t>480.00</a:t></a:r>'
        '<a:r><a:rPr strike="noStrike"/><a:t>520.00</a:t></a:r>'
    )
    return zip_parts(
        ppt__presentation_xml="<p/>",
        ppt__slides__slide1_xml=f"<a:sld {names}><a:p>{runs}</a:p></a:sld>",
    )


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.md", "Total: ~~480.00~~ 520.00"),
        ("a.md", "Total: <del>480.00</del> 520.00"),
        ("a.html", "<html><p>Total: <s>480.00</s> 520.00</p></html>"),
        (
            "a.html",
            '<html><p>Total: <span style="text-decoration:line-through">480.00<br></span>520.00',
        ),
        ("a.html", "<html><table><tr><td><strike>480.00</strike></td><td>520.00</td></tr></table>"),
        ("a.docx", a_word_text("<w:strike/>")),
        ("a.docx", a_word_text("<w:dstrike/>")),
        ("a.docx", a_word_text("<w:dstrike/>", "document2")),
        ("a.odt", an_open_text()),
        ("a.pptx", a_slide()),
    ],
)
async def test_struck_out_text_is_left_out_and_reported(name: str, data: str | bytes) -> None:
    reading = await examine_file(data, name)

    assert "480" not in reading.whole_text
    assert "520" in reading.whole_text
    assert STRUCK in reading.notes


@pytest.mark.parametrize("text", ["~~~\ncode\n~~~\n", "a ~~ b", "from ~10 to ~20", "x ~~~~ y"])
async def test_other_tildes_stay(text: str) -> None:
    reading = await examine_file(f"# Title\n\n{text}", "a.md")

    assert reading.notes == ()
    assert text.strip() in reading.whole_text


@pytest.mark.parametrize(
    ("front", "name", "value"),
    [
        ("title: 'Coffee: methods'", "title", "Coffee: methods"),
        ('title: "A # B"', "title", "A # B"),
        ("tags:\n- brewing\n- coffee", "tags", ["brewing", "coffee"]),
        ("tags: [brewing, coffee]", "tags", ["brewing", "coffee"]),
        ("date: 2024-05-13", "created_date", "2024-05-13"),
        ("start: 12:30", "start", "12:30"),
        ("done: no", "done", "no"),
        ("summary: |\n  one\n  two", "summary", "one\ntwo\n"),
        ("links:\n  to: [a, b]", "links", {"to": ["a", "b"]}),
    ],
)
async def test_front_matter_is_yaml_and_no_content(front: str, name: str, value: object) -> None:
    found = await first_of(f"---\n{front}\n---\n\nPour over brings out flavor.\n", "methods.md")

    assert found.entity_type == "note"
    assert found.fields[name] == value
    assert found.fields["content"] == "Pour over brings out flavor."


@pytest.mark.parametrize("front", ["a: [", "- one\n- two", "a: &x [1]\nb: *x"])
async def test_front_matter_that_is_no_plain_yaml_stays_text_and_is_reported(front: str) -> None:
    reading = await examine_file(f"---\n{front}\n---\n\nText.\n", "a.md")

    assert front in reading.whole_text
    assert len(reading.notes) == 1


def a_workbook(
    *, row: str = "", state: str = "", font: str = "", rows: str = "", codes: tuple[str, ...] = ()
) -> bytes:
    """A workbook with two sheets; the second may be hidden, a row too, and a font struck out.

    `rows` may replace those of the first sheet; the style of a cell is the number of its format
    among `codes`, or one more for the font.
    """
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    sheet = (
        f'<worksheet xmlns="{main}"><sheetData><row r="1"{row}><c r="A1"><v>480</v></c></row>'
        '<row r="2"><c r="A2"><v>520</v></c></row></sheetData></worksheet>'
    )
    sheets = (
        f'<sheet name="Now" sheetId="1" r:id="r1"/><sheet name="Old" sheetId="2"{state} r:id="r2"/>'
    )
    targets = "".join(
        f'<Relationship Id="r{n}" Type="{office}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in (1, 2)
    )
    relations = f'<Relationships xmlns="{package}/relationships">{{}}</Relationships>'
    whole = f'<Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/>'
    book = f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{sheets}</sheets></workbook>'
    formats = "".join(
        f'<numFmt numFmtId="{164 + n}" formatCode="{code}"/>' for n, code in enumerate(codes)
    )
    styles = "".join(f'<xf numFmtId="{164 + n}" fontId="1"/>' for n, _ in enumerate(codes))
    fonts = (
        f"<numFmts>{formats}</numFmts><fonts><font>{font}</font><font/></fonts>"
        f'<cellXfs>{styles}<xf numFmtId="9" fontId="0"/></cellXfs>'
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": relations.format(whole),
        "xl/_rels/workbook.xml.rels": relations.format(targets),
        "xl/workbook.xml": book,
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}'
        "</sheetData></worksheet>"
        if rows
        else sheet,
        "xl/worksheets/sheet2.xml": sheet.replace("480", "999"),
        "xl/styles.xml": f'<styleSheet xmlns="{main}">{fonts}</styleSheet>',
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return written.getvalue()


@pytest.mark.parametrize(
    ("marks", "stated"),
    [
        ({"row": ' hidden="1"'}, "Hidden rows"),
        ({"font": "<strike/>"}, "Struck-out cells"),
        ({"state": ' state="hidden"'}, '"Old" is hidden'),
        ({"state": ' state="veryHidden"'}, '"Old" is hidden'),
        ({}, ""),
    ],
)
async def test_a_workbook_reports_hidden_and_struck_out_parts(
    marks: dict[str, str], stated: str
) -> None:
    reading = await examine_file(a_workbook(**marks), "book.xlsx")  # type: ignore[arg-type]

    assert len(reading.notes) == bool(stated)
    assert all(stated in note for note in reading.notes)
    assert ("999" in reading.whole_text) != ("state" in marks)


def cells_of(*rows: tuple[str | float | tuple[float, int], ...]) -> str:
    """The rows of a sheet; a pair is a number and the style of its cell."""
    reported = ""
    for y, row in enumerate(rows, 1):
        reported += f'<row r="{y}">'
        for letter, cell in zip("ABCD", row, strict=False):
            value, style = cell if isinstance(cell, tuple) else (cell, 99)
            text = f"<is><t>{value}</t></is>" if isinstance(value, str) else f"<v>{value}</v>"
            kind = "inlineStr" if isinstance(value, str) else "n"
            reported += f'<c r="{letter}{y}" s="{style}" t="{kind}">{text}</c>'
        reported += "</row>"
    return reported


@pytest.mark.parametrize(
    ("code", "currency"),
    [
        ("#,##0.00 &quot;EUR&quot;", "EUR"),
        ("_-* #,##0.00\\ &quot;\u20ac&quot;_-", "EUR"),
        ("[$\u20ac-407]\\ #,##0.00", "EUR"),
        ("[$$-409]#,##0.00;[Red]-[$$-409]#,##0.00", "USD"),
        ("#,##0.00\\ [$kr-41D]", "SEK"),
        ("[$CHF]\\ #,##0.00", "CHF"),
        ("&quot;$&quot;#,##0.00", None),
        ("0.0&quot; kg&quot;", None),
        ("0&quot; PCS&quot;", None),
        ("#,##0.00", None),
    ],
)
async def test_a_tables_currency_comes_from_its_number_formats(
    code: str, currency: str | None
) -> None:
    rows = cells_of(
        ("Date", "Description", "Amount"),
        ("2024-05-13", "Rent", (-700, 0)),
        ("2024-05-14", "Bread", (-3.2, 0)),
    )
    rent = await first_of(a_workbook(rows=rows, codes=(code,)), "book.xlsx")

    assert rent.entity_type == "transaction"
    assert (rent.fields["amount"], rent.fields.get("currency")) == (-700, currency)


async def test_a_sheet_of_labels_shows_formatted_numbers() -> None:
    rows = cells_of(
        ("Invoice", ""),
        ("Invoice number", "INV-90"),
        ("Vendor", "Alder Ltd"),
        ("Total", (1234.567, 0)),
        ("Tax", (0.19, 1)),
    )
    data = a_workbook(rows=rows, codes=("#,##0.00 &quot;EUR&quot;",))
    invoice = await first_of(data, "book.xlsx")

    assert (invoice.fields["amount_due"], invoice.fields["currency"]) == (1234.567, "EUR")
    assert "tax_amount" not in invoice.fields
    assert "19%" in (await examine_file(data, "book.xlsx")).whole_text


async def test_a_currency_named_in_a_table_wins_over_its_formats() -> None:
    rows = cells_of(
        ("Date", "Description", "Amount", "Currency"), ("2024-05-13", "Rent", (-700, 0), "USD")
    )
    rent = await first_of(a_workbook(rows=rows, codes=("0 &quot;EUR&quot;",)), "book.xlsx")

    assert rent.fields["currency"] == "USD"


async def test_a_struck_out_cell_of_a_workbook_does_not_count() -> None:
    rows = cells_of(
        ("Date", "Description", "Amount"),
        ("2024-05-13", "Rent", -700),
        ("2024-05-14", "Chair", (-80, 0)),
    )
    reading = await examine_file(a_workbook(rows=rows, font="<strike/>"), "book.xlsx")

    assert reading.notes == (STRUCK,)
    assert "-80" not in reading.whole_text
    assert "-700" in reading.whole_text
