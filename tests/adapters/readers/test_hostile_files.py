"""Hostile files: each is refused or read within its bounds, and the next file is read as ever."""

import asyncio
import io
import json
import time
import zipfile
from collections.abc import Callable

import pytest

from canonry.canon.ports.files import DocumentLimits, FileHint
from canonry.documents.readers import LocalReader
from canonry.values.errors import CanonryError, InvalidInput, Unavailable
from tests.adapters.readers.office import a_letter, a_workbook, an_archive
from tests.toolsets.hostile_texts import Heartbeat

pytestmark = pytest.mark.anyio

SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]>"
)


def a_bomb(megabytes: int = 300) -> bytes:
    """A workbook whose sheet unpacks to far more than is taken."""
    return an_archive({"xl/workbook.xml": b"<workbook/>", "xl/bomb.xml": b" " * (megabytes << 20)})


def a_lying_bomb() -> bytes:
    """The same, but the directory of the archive says that the sheet is small."""
    honest = a_bomb(40)
    real, reported = (40 << 20).to_bytes(4, "little"), (1000).to_bytes(4, "little")
    return honest.replace(real, reported)


def a_page_in(name: str, content: str) -> bytes:
    """An office document with this part in place of its own."""
    parts = {}
    whole = a_letter("Words") if name.startswith("word") else a_workbook({"One": [["a"]]})
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        for each in archive.namelist():
            parts[each] = archive.read(each)
    return an_archive({**parts, name: content})


HOSTILE: dict[str, bytes | Callable[[], bytes]] = {
    "bomb": a_bomb,
    "lying bomb": a_lying_bomb,
    "laughs in a letter": a_page_in(
        "word/document.xml",
        f'{LAUGHS}<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>&i;</w:t></w:r></w:p>'
        "</w:body></w:document>",
    ),
    "laughs in a sheet": a_page_in(
        "xl/worksheets/sheet1.xml",
        f'{LAUGHS}<worksheet xmlns="{SHEET}"><sheetData><row><c t="inlineStr"><is><t>&i;</t></is>'
        "</c></row></sheetData></worksheet>",
    ),
    "a cell at the far corner": a_page_in(
        "xl/worksheets/sheet1.xml",
        f'<worksheet xmlns="{SHEET}"><sheetData><row r="1"><c r="A1"><v>1</v></c></row>'
        '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>',
    ),
    "many entries": lambda: an_archive(
        {"xl/workbook.xml": "", **{f"xl/{number}": "" for number in range(10_001)}}
    ),
    "no sheet": an_archive({"xl/workbook.xml": "<workbook/>"}),
    "no body": an_archive({"word/document.xml": "<nothing/>"}),
    "deep json": b"[" * 200_000 + b"]" * 200_000,
    "deep but well-formed json": b'{"a":' * 500 + b"1" + b"}" * 500,
    "json with NaN": b'{"a": NaN}',
    "cut json": b'{"name": "Ada", "text": "' + b"x" * 70_000,
    "endless quote": b'a,b,c\n"' + b"x,\n" * 9_000_000,
    "calendar without dates": b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:tomorrow\r\n"
    b"END:VEVENT\r\n",
    "open card": b"BEGIN:VCARD\r\nFN:Ada\r\n",
    "picture of nothing": b"\x89PNG\r\n\x1a\n" + b"\0" * 64,
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_file_is_refused_with_a_message_in_time(
    hostile: bytes | Callable[[], bytes],
) -> None:
    data = hostile if isinstance(hostile, bytes) else hostile()
    reader = LocalReader(DocumentLimits(file_seconds=20.0))
    began = time.monotonic()

    with pytest.raises(CanonryError) as refused:
        await reader.examine_file(
            data, FileHint(name="table.csv" if data.startswith(b"a,b") else "")
        )

    assert time.monotonic() - began < 30
    assert isinstance(refused.value, InvalidInput | Unavailable)
    assert refused.value.code.startswith("document.")
    assert (await reader.examine_file(b"Words", FileHint())).whole_text == "Words"


async def test_the_loop_serves_others_while_a_file_is_parsed() -> None:
    reading = asyncio.create_task(LocalReader().examine_file(a_bomb(200), FileHint()))

    longest = await Heartbeat().measure_during(asyncio.wait([reading]))

    assert isinstance(reading.exception(), InvalidInput)
    assert longest < 0.5


async def test_a_parser_that_takes_too_long_is_stopped() -> None:
    with pytest.raises(Unavailable) as refused:
        await LocalReader(DocumentLimits(file_seconds=0.0)).examine_file(
            a_letter("Words"), FileHint()
        )

    assert refused.value.code == "document.too-slow"


@pytest.mark.parametrize(
    ("limits", "data"),
    [
        (DocumentLimits(characters=10), a_letter("more words than are taken")),
        (DocumentLimits(characters=10), b"<!doctype html><p>more words than are taken"),
        (DocumentLimits(cells=3), a_workbook({"One": [["a", "b"], ["c", "d"]]})),
        (DocumentLimits(cells=3), b"a,b,c\n1,2,3\n"),
        (DocumentLimits(cells=3), json.dumps([{"a": 1, "b": 2, "c": 3}]).encode()),
    ],
)
async def test_oversized_content_is_refused_with_the_limit(
    limits: DocumentLimits, data: bytes
) -> None:
    with pytest.raises(InvalidInput) as refused:
        await LocalReader(limits).examine_file(data, FileHint())

    assert refused.value.code == "document.too-large"
    assert refused.value.details["limit"] in {3, 10}
