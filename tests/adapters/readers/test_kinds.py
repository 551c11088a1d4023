"""Kinds of files: the content decides, a hint only among look-alikes, and the rest is refused."""

import pytest

from canonry.canon.ports.files import FileHint, FileType
from canonry.documents.readers.kinds import kind_of
from canonry.values.errors import InvalidInput
from tests.adapters.readers.office import a_letter, a_workbook, an_archive
from tests.adapters.readers.paper import a_pdf

PROGRAM = b"MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff\x00\x00" + b"\0" * 64

CONTENTS = {
    FileType.PDF: a_pdf("Words"),
    FileType.XLSX: a_workbook({"One": [["a", 1]]}),
    FileType.DOCX: a_letter("Words"),
    FileType.PNG: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    FileType.JPEG: b"\xff\xd8\xff\xe0\0\x10JFIF",
    FileType.WEBP: b"RIFF\x10\0\0\0WEBPVP8 ",
    FileType.TIFF: b"II*\0\x08\0\0\0",
    FileType.JSON: b'  {"name": "Ada"}\n',
    FileType.VCF: b"BEGIN:VCARD\r\nVERSION:3.0\r\nEND:VCARD\r\n",
    FileType.ICS: b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n",
    FileType.HTML: b"<!-- made by hand -->\n<!DOCTYPE html><p>Words",
    FileType.EML: b"From: a@example.org\r\nTo: b@example.org\r\nSubject: Hello\r\n\r\nWords",
    FileType.CSV: b"name,mail,phone\nAda,a@example.org,1\nBob,b@example.org,2\n",
    FileType.MARKDOWN: b"# A title\n\nWords.\n",
    FileType.PLAIN: b"Dear Ada, we met on Monday, as planned, and talked.\nBest, Bob\n",
}


@pytest.mark.parametrize(("kind", "data"), CONTENTS.items())
@pytest.mark.parametrize(
    "hint",
    [
        FileHint(),
        FileHint(mime_type="application/octet-stream", name="upload.bin"),
        FileHint(mime_type="image/png", name="picture.png"),
        FileHint(mime_type="application/pdf", name="paper.pdf"),
    ],
)
def test_content_determines_the_file_type_whatever_the_name_says(
    kind: FileType, data: bytes, hint: FileHint
) -> None:
    assert kind_of(data, hint) is kind


@pytest.mark.parametrize(
    ("data", "hint", "kind"),
    [
        (b"a;b\n1;2\n", FileHint(mime_type="text/csv"), FileType.CSV),
        (b"a;b\n1;2\n", FileHint(name="table.csv"), FileType.CSV),
        (b"a;b\n1;2\n", FileHint(), FileType.PLAIN),
        (b"Words", FileHint(mime_type="text/markdown; charset=utf-8"), FileType.MARKDOWN),
        (b"Words", FileHint(mime_type="text/plain", name="readme.md"), FileType.MARKDOWN),
        (b"# Words", FileHint(mime_type="text/plain", name="notes.txt"), FileType.PLAIN),
        (b"{not json", FileHint(mime_type="application/json"), FileType.JSON),
        (b"{not json", FileHint(), FileType.PLAIN),
        (b"not json", FileHint(mime_type="application/json"), FileType.PLAIN),
        (b"Words only", FileHint(mime_type="text/html"), FileType.PLAIN),
        (b"a\tb\n1\t2\n", FileHint(mime_type="text/tab-separated-values"), FileType.CSV),
    ],
)
def test_a_hint_decides_between_similar_text_types_if_it_fits(
    data: bytes, hint: FileHint, kind: FileType
) -> None:
    assert kind_of(data, hint) is kind


@pytest.mark.parametrize(
    "data",
    [
        PROGRAM,
        b"\x7fELF\x02\x01\x01\0" + b"\0" * 32,
        b"#!\x00\x01binary",
        an_archive({"program.exe": PROGRAM}),
        an_archive({"../../escape": b"words"}),
        b"\x1f\x8b\x08\0\0\0\0\0",
        b"SQLite format 3\0" + b"\0" * 32,
        bytes(range(256)),
    ],
)
@pytest.mark.parametrize("name", ["program.exe", "invoice.pdf", "notes.txt"])
def test_unknown_content_is_refused_under_any_name(data: bytes, name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        kind_of(data, FileHint(mime_type="text/plain", name=name))

    assert refused.value.code == "document.unsupported"
    assert name not in refused.value.message


@pytest.mark.parametrize("data", [b"", b" \n\t\r\n", b"\0\0\0\0"])
def test_empty_content_is_no_file(data: bytes) -> None:
    with pytest.raises(InvalidInput) as refused:
        kind_of(data, FileHint())

    assert refused.value.code == "document.empty"


def test_a_damaged_archive_is_reported_as_damaged() -> None:
    with pytest.raises(InvalidInput) as refused:
        kind_of(b"PK\x03\x04" + b"garbage" * 10, FileHint())

    assert refused.value.code == "document.damaged"
