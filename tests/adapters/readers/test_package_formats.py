"""Packages: open documents, slides, books, rich text, lines of JSON, and files in an archive."""

import pytest

from canonry.canon.ports.files import DocumentLimits, FileHint, FileType, Reading
from canonry.documents.readers import LocalReader
from canonry.values.errors import InvalidInput
from tests.adapters.readers.office import an_archive

pytestmark = pytest.mark.anyio

OFFICE = "urn:oasis:names:tc:opendocument:xmlns:office:1.0"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
NAMES = f'xmlns:office="{OFFICE}" xmlns:text="{TEXT}" xmlns:table="{TABLE}"'
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"


async def examine_file(
    data: bytes, name: str = "", limits: DocumentLimits | None = None
) -> Reading:
    return await LocalReader(limits).examine_file(data, FileHint(name=name))


def an_open_document(kind: FileType, body: str) -> bytes:
    content = (
        f"<office:document-content {NAMES}><office:body>{body}</office:body>"
        "</office:document-content>"
    )
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind.value}"/>'
        "</manifest:manifest>"
    )
    return an_archive(
        {"mimetype": kind.value, "content.xml": content, "META-INF/manifest.xml": manifest}
    )


async def test_an_open_document_gives_paragraphs_and_tables_without_comments() -> None:
    body = (
        "<office:text><text:h>Mietvertrag</text:h><text:p>Miete:<text:tab/>850,00 EUR"
        "<office:annotation><text:p>prüfen!</text:p></office:annotation></text:p>"
        "<text:list><text:list-item><text:p>Keller</text:p></text:list-item></text:list>"
        "<table:table><table:table-row><table:table-cell><text:p>Raum</text:p></table:table-cell>"
        "<table:table-cell><text:p>m²</text:p></table:table-cell></table:table-row></table:table>"
        "</office:text>"
    )

    reading = await examine_file(an_open_document(FileType.ODT, body))

    assert reading.kind is FileType.ODT
    assert reading.whole_text == "Mietvertrag\nMiete:\t850,00 EUR\nKeller\nRaum | m²"
    assert [table.rows for table in reading.tables] == [(("Raum", "m²"),)]


async def test_an_open_workbook_gives_its_sheets() -> None:
    value = 'office:value-type="float" office:value="2.5"'
    body = (
        '<office:spreadsheet><table:table table:name="People"><table:table-row>'
        '<table:table-cell office:value-type="string"><text:p>Name</text:p></table:table-cell>'
        '<table:table-cell office:value-type="string"><text:p>Size</text:p></table:table-cell>'
        "</table:table-row><table:table-row>"
        '<table:table-cell office:value-type="string"><text:p>Ada</text:p></table:table-cell>'
        f"<table:table-cell {value}><text:p>2,5</text:p></table:table-cell>"
        "</table:table-row></table:table></office:spreadsheet>"
    )

    reading = await examine_file(an_open_document(FileType.ODS, body))

    assert reading.kind is FileType.ODS
    assert [table.rows for table in reading.tables] == [(("Name", "Size"), ("Ada", 2.5))]


async def test_slides_are_pages_in_order() -> None:
    def a_slide(text: str) -> str:
        said = f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>"
        return f'<p:sld xmlns:p="x" xmlns:a="{DRAWING}">{said}</p:sld>'

    slides = {f"ppt/slides/slide{n}.xml": a_slide(f"Slide {n}") for n in (10, 2, 1)}

    reading = await examine_file(an_archive({"ppt/presentation.xml": "<p/>", **slides}))

    assert reading.kind is FileType.PPTX
    assert [(part.page, part.text) for part in reading.parts] == [
        (1, "Slide 1"),
        (2, "Slide 2"),
        (10, "Slide 10"),
    ]


async def test_a_book_is_read_in_the_order_of_its_spine() -> None:
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
    )
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="b" href="b%201.xhtml"/>'
        '<item id="a" href="text/a.xhtml"/></manifest><spine><itemref idref="a"/>'
        '<itemref idref="b"/></spine></package>'
    )
    parts = {
        "mimetype": FileType.EPUB.value,
        "META-INF/container.xml": container,
        "OPS/book.opf": book,
        "OPS/text/a.xhtml": "<html><body><h1>One</h1><p>First words</p></body></html>",
        "OPS/b 1.xhtml": "<html><body><p>Last words</p></body></html>",
    }

    reading = await examine_file(an_archive(parts))

    assert reading.kind is FileType.EPUB
    assert reading.whole_text == "One\nFirst words\nLast words"


async def test_rich_text_is_read_in_its_charset() -> None:
    rich = rb"{\rtf1\ansi{\fonttbl\f0 Arial;}\f0 Gr\'fc\'dfe {\b fett}\par Zeile\u8364?}"

    reading = await examine_file(rich)

    assert reading.kind is FileType.RTF
    assert reading.whole_text == "Grüße fett\nZeile€"


async def test_each_line_of_json_is_a_record() -> None:
    reading = await examine_file(b'{"name": "Ada", "size": 1}\n\n{"name": "Bob"}\n')

    assert reading.kind is FileType.JSONL
    assert [record.fields for record in reading.records] == [
        {"name": "Ada", "size": 1},
        {"name": "Bob"},
    ]


async def test_files_in_an_archive_are_returned_with_it() -> None:
    data = an_archive(
        {"letters/a.txt": "Dear Ada", "b.csv": "name\nAda\n", "__MACOSX/._a.txt": "x", "c/": ""}
    )

    reading = await examine_file(data)

    assert reading.kind is FileType.ZIP
    assert reading.whole_text == "letters/a.txt\nb.csv"
    assert [(each.hint.name, each.data) for each in reading.members] == [
        ("letters/a.txt", b"Dear Ada"),
        ("b.csv", b"name\nAda\n"),
    ]


async def test_the_first_hundred_files_of_an_archive_are_read() -> None:
    reading = await examine_file(an_archive({f"{n}.txt": str(n) for n in range(130)}))

    assert len(reading.members) == 100
    assert reading.notes == ("Only the first 100 files within this file were read.",)


async def test_an_archive_that_unpacks_too_large_is_refused() -> None:
    data = an_archive({"a.txt": b"x" * 3_000_000, "b.txt": b"y" * 3_000_000})

    with pytest.raises(InvalidInput) as refused:
        await examine_file(data, limits=DocumentLimits(inflated=5_000_000))

    assert refused.value.code == "document.bomb"
