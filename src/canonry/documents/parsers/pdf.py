"""The process that reads a PDF from standard input, or draws a page of it, and prints JSON.

It imports hardly any of Canonry, which makes it start quickly.
"""

import json
import struct
import sys
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from ctypes import c_ushort
from math import ceil, sqrt
from statistics import median
from typing import Any, Final

from pypdfium2 import PdfDocument, PdfiumError, PdfPage, PdfTextPage, raw  # type: ignore[import-untyped]

from canonry.documents.parsers.findings import Fault, clean_text, run_parser
from canonry.values.file_texts import utc_text_of

_TITLE_MAX: Final = 200  # titles in the properties may be whole texts
_INVOICES: Final = frozenset({"factur-x.xml", "zugferd-invoice.xml", "xrechnung.xml"})
"""The file names of invoices that are embedded in PDFs."""

_BOXES_MAX: Final = 200_000
"""The most words of a file with a box, which limits the memory of the server."""

_BLANK: Final = 0.8  # the largest gap between neighbouring words, in widths of a letter

_COLUMNS_MAX: Final = 400  # a word far to the right would pad its line without end
_LETTER: Final = 6.0
"""The width in points of a letter in a field, whose box is as wide as the field."""

_FILES_MAX: Final = 100  # bounds the work for a PDF that embeds many files

_POINTS_MAX: Final = 4_000_000  # bounds the memory of a drawing
_SCALE: Final = 2.0  # pixels of a picture for a point of the page, unless the page is too large

_CHANNELS: Final = 3
_YELLOW: Final = (bytes(range(256)), bytes(n * 90 // 100 for n in range(256)),
                  bytes(n * 38 // 100 for n in range(256)))  # fmt: skip
"""Tables for red, green and blue that mark text in yellow and keep dark letters dark."""

_HYPHENS: Final = {0x2: "-\n", 0xFFFE: "-\n"}
"""Codes that the library returns for a hyphen at the end of a line."""

Edges = tuple[float, float, float, float]
PageWord = tuple[str, Edges]
"""A text, and its left, top, right and bottom in points from the page's upper left corner."""


def main() -> None:
    """Run the task in the arguments on the PDF from standard input.

    Arguments: `read`, seconds, most pages, most characters, pages to read with their layout; or
    `draw`, seconds, page, boxes as JSON.
    """
    task: Callable[..., dict[str, Any]] = _draw_page if sys.argv[1] == "draw" else _read_pages
    bounds = [json.loads(each) for each in sys.argv[3:]]
    run_parser(lambda data: task(_open_document(data), *bounds), seconds=int(sys.argv[2]))


def _open_document(data: bytes) -> PdfDocument:
    try:  # files that only restrict printing open with the empty password
        document = PdfDocument(data)
        document.init_forms()
    except PdfiumError as error:
        encrypted = error.err_code == raw.FPDF_ERR_PASSWORD
        raise Fault("encrypted" if encrypted else "damaged") from error
    return document


def _read_pages(
    document: PdfDocument, pages_max: int, characters_max: int, laid_out: int
) -> dict[str, Any]:
    if len(document) > pages_max:
        raise Fault("pages")
    titles = _page_titles(document)
    pages: list[tuple[int, str | None, str, list[float]]] = []
    layout: list[str] = []
    pictures: list[int] = []
    title: str | None = None
    left, boxes_left = characters_max, _BOXES_MAX if laid_out else 0
    for number in range(1, len(document) + 1):
        title = titles.get(number, title)
        page = document[number - 1]
        notes = list(_read_annotations(page, document.formenv))
        text, words, pictured = _read_page(page, boxes=boxes_left > 0)
        in_boxes = [(note_text, box) for name, note_text, box in notes if name]
        if number <= laid_out:
            layout.append(_layout_text([*words, *in_boxes]) or text)
            pictures += [number] if pictured and not text.strip() else []
        for name, note_text, box in notes:
            line = f"{name}: {note_text}" if name else note_text
            text = f"{text}\n{line}"
            words += [(word, box) for word in line.split()] if words else []
        left, boxes_left = left - len(text), boxes_left - len(words)
        if left < 0:
            raise Fault("characters")
        pages.append((number, title, text, [edge for _, box in words for edge in box]))
    attached = _attached_files(document) if laid_out else {}
    invoice = next((attached.pop(name) for name in [*attached] if name.lower() in _INVOICES), None)
    files = list(attached.items())
    found = {"pages": pages, "layout": layout, "pictures": pictures}
    dates = map(document.get_metadata_value, ("ModDate", "CreationDate"))
    made_at = next(filter(None, map(utc_text_of, dates)), None)
    return {**found, "invoice": invoice, "files": files, "made_at": made_at}


def _read_annotations(page: PdfPage, forms: Any) -> Iterator[tuple[str, str, Edges]]:
    """Yield the fields of a form with their names and values, and comments without a name."""
    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        annotation = raw.FPDFPage_GetAnnot(page, number)
        try:
            name, note_text = "", _read_text(raw.FPDFAnnot_GetStringValue, annotation, b"Contents")
            if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET and forms:
                name, note_text = _read_field(forms, annotation)
            edges = raw.FS_RECTF()
            raw.FPDFAnnot_GetRect(annotation, edges)
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
        if note_text := clean_text(note_text).strip():
            left, top = _visible_point(page, edges.left, edges.top)
            right, bottom = _visible_point(page, edges.right, edges.bottom)
            wide = min(right, left + _LETTER * len(note_text)) if name else right
            yield clean_text(name).strip(), note_text, (left, top, wide, bottom)


def _read_field(forms: Any, annotation: Any) -> tuple[str, str]:
    """Return the name and the value of a field; a box that is not ticked has no value."""
    name = _read_text(raw.FPDFAnnot_GetFormFieldAlternateName, forms, annotation)
    name = name or _read_text(raw.FPDFAnnot_GetFormFieldName, forms, annotation)
    field_value = _read_text(raw.FPDFAnnot_GetFormFieldValue, forms, annotation)
    kind = raw.FPDFAnnot_GetFormFieldType(forms, annotation)
    if kind in {raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON}:
        ticked = raw.FPDFAnnot_IsChecked(forms, annotation)
        field_value = (
            (field_value if kind == raw.FPDF_FORMFIELD_RADIOBUTTON else "yes") if ticked else ""
        )
    return name or "field", "" if kind == raw.FPDF_FORMFIELD_PUSHBUTTON else field_value


def _read_text(read: Callable[..., int], *about: Any) -> str:
    """Return a text in UTF-16 from a function that copies it into a buffer."""
    size = read(*about, None, 0)
    buffer = (c_ushort * (size // 2 + 1))()
    read(*about, buffer, size)
    return bytes(buffer)[:size].decode("utf-16-le", "replace").rstrip("\0")


def _read_page(page: PdfPage, *, boxes: bool) -> tuple[str, list[PageWord], bool]:
    """Return the text of a page, with `boxes` its words, and whether it has pictures."""
    try:
        seen = page.get_textpage()
        if not boxes:
            return clean_text(seen.get_text_range()), [], False
        codes = [raw.FPDFText_GetUnicode(seen, index) for index in range(seen.count_chars())]
        text = [_HYPHENS.get(code) or chr(code) for code in codes]
        pictured = any(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]))
        return clean_text("".join(text)), list(_page_words(page, seen, text)), pictured
    finally:
        page.close()


def _page_words(page: PdfPage, seen: PdfTextPage, text: Sequence[str]) -> Iterator[PageWord]:
    """Yield the words in the order of the text, each with its box."""
    begin = None
    for index, letter in enumerate((*text, " ")):
        if not letter.isspace():
            begin = index if begin is None else begin
            if "\n" not in letter:
                continue
            index += 1  # noqa: PLW2901 - the hyphen is part of the word
        if begin is None:
            continue
        word = clean_text("".join(text[begin:index])).strip()
        if word:
            lefts, bottoms, rights, tops = zip(
                *[seen.get_charbox(n, loose=True) for n in range(begin, index)], strict=True
            )
            corners = [
                _visible_point(page, x, y)
                for x, y in ((min(lefts), max(tops)), (max(rights), min(bottoms)))
            ]
            (left, right), (top, bottom) = map(sorted, zip(*corners, strict=True))
            yield (word, (left, top, right, bottom))
        begin = None


def _visible_point(page: PdfPage, x: float, y: float) -> tuple[float, float]:
    """Convert a point of the page's own space into points from the visible upper left corner."""
    width, height = (round(side * 10) for side in page.get_size())
    across, down = raw.c_int(), raw.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, across, down)
    return across.value / 10, down.value / 10


def _layout_text(words: Sequence[PageWord]) -> str:
    """Return the text with blanks for gaps, which keeps columns aligned.

    The result is empty for vertical text, such as on a turned page.
    """
    sides = [(right - left, bottom - top) for text, (left, top, right, bottom) in words if text[2:]]
    if not words or sum(high > wide for wide, high in sides) * 2 > len(sides):
        return ""
    unit = median((box[2] - box[0]) / len(text) for text, box in words) or 1.0
    return "\n".join(_join_words(line, unit) for line in _group_lines(words))


def _group_lines(words: Sequence[PageWord]) -> Iterator[list[PageWord]]:
    """Yield lines of neighbouring words, from top to bottom and from left to right."""
    line: list[PageWord] = []
    for word in sorted(words, key=lambda each: each[1][1] + each[1][3]):
        _, (_, top, _, bottom) = word
        if line and (top + bottom) / 2 > line[0][1][3]:
            yield sorted(line, key=lambda each: each[1][0])
            line = []
        line.append(word)
    yield sorted(line, key=lambda each: each[1][0])


def _join_words(words: Sequence[PageWord], unit: float) -> str:
    """Join words with one blank; wider gaps become two or more."""
    joined, reached = "", None
    for text, (left, _, right, _) in words:
        column = min(round(left / unit), _COLUMNS_MAX)
        near = reached is not None and left - reached < _BLANK * unit
        least = len(joined) + (0 if reached is None else 1 if near else 2)
        joined = joined.ljust(least if near else max(least, column)) + text
        reached = right
    return joined


def _attached_files(document: PdfDocument) -> dict[str, str]:
    """Return the embedded files in base64 by name; broken ones are ignored."""
    found: dict[str, str] = {}
    left = 1 << 26
    for number in range(min(document.count_attachments(), _FILES_MAX)):
        with suppress(Exception):
            attached = document.get_attachment(number)
            data = bytes(attached.get_data())
            left -= len(data)
            if left > 0:
                found[clean_text(attached.get_name())] = b64encode(data).decode()
    return found


def _page_titles(document: PdfDocument) -> dict[int, str]:
    """Return the last outline title of each page; a broken outline is ignored."""
    found: dict[int, str] = {}
    path: list[str] = []
    with suppress(Exception):
        for item in document.get_toc():
            title = " ".join(clean_text(item.get_title()).split())[:_TITLE_MAX]
            path = [*path[: item.level], title]
            leads_to = item.get_dest()
            page = leads_to and leads_to.get_index()
            if title and page is not None:
                found[page + 1] = " > ".join(filter(None, path))
    return found


def _draw_page(document: PdfDocument, number: int, boxes: list[list[float]]) -> dict[str, Any]:
    if number > len(document):
        raise Fault("page")
    page = document[number - 1]
    width, height = page.get_size()
    scale = min(_SCALE, sqrt(_POINTS_MAX / max(1.0, width * height)))
    seen = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False)
    row_bytes = seen.width * _CHANNELS
    rows = [
        bytearray(bytes(seen.buffer[start : start + row_bytes]))
        for start in range(0, seen.stride * seen.height, seen.stride)
    ]
    for left, top, right, bottom in boxes:
        begin, end = (max(0, min(seen.width, ceil(x * scale))) for x in (left, right))
        for row in rows[max(0, int(top * scale)) : max(0, ceil(bottom * scale))]:
            for channel, table in enumerate(_YELLOW):
                channel_slice = slice(begin * _CHANNELS + channel, end * _CHANNELS, _CHANNELS)
                row[channel_slice] = row[channel_slice].translate(table)
    return {"png": b64encode(b"".join(_png_chunks(seen.width, seen.height, rows))).decode()}


def _png_chunks(width: int, height: int, rows: list[bytearray]) -> Iterator[bytes]:
    yield b"\x89PNG\r\n\x1a\n"
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    for name, data in ((b"IHDR", head), (b"IDAT", pixels), (b"IEND", b"")):
        check = zlib.crc32(name + data)
        yield struct.pack(">I", len(data)) + name + data + struct.pack(">I", check)


if __name__ == "__main__":
    main()
