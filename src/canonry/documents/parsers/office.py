"""Office documents: workbooks by their cells, texts by their paragraphs and tables."""

import io
import posixpath
import re
import zipfile
from datetime import date, datetime, time
from typing import Any, Final
from urllib.parse import unquote
from xml.etree.ElementTree import Element

import mammoth  # type: ignore[import-untyped]
import python_calamine
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]
from striprtf.striprtf import rtf_to_text

from canonry.documents.parsers.archives import PACKED, measure
from canonry.documents.parsers.findings import Fault, Findings, ParsedCell
from canonry.documents.parsers.markup import read_html

_SLIDE: Final = re.compile(r"ppt/slides/slide(\d+)\.xml")
_PARAGRAPHS: Final = frozenset({"p", "h"})
_TABLES: Final = frozenset({"table", "tbl"})
_ROWS: Final = frozenset({"table-row", "tr"})
_CELLS: Final = frozenset({"table-cell", "tc"})
_MARKS: Final = {"tab": "\t", "line-break": "\n", "br": "\n", "s": " "}
_SILENT: Final = frozenset({"annotation", "tracked-changes", "note", "fld"})
_PACKAGE: Final = "{urn:oasis:names:tc:opendocument:xmlns:container}rootfile"


def parse(kind: str, data: bytes, found: Findings) -> None:
    """Read a workbook or a text document."""
    if kind == "rtf":
        written = data.decode("latin-1")
        text: str = rtf_to_text(  # type: ignore[no-untyped-call]
            written, encoding="cp1252", errors="replace"
        )
        found.text(text)
        return
    if data.startswith(PACKED):
        measure(data, found.bounds.inflated)
    if kind == "xlsx":
        _read_workbook(data, found)
    elif kind == "docx":
        page = mammoth.convert_to_html(io.BytesIO(data), convert_image=_no_image())
        read_html(str(page.value), found)
    else:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _PACKAGES[kind](archive, found)


def _read_text(archive: zipfile.ZipFile, found: Findings) -> None:
    lines: list[str] = []
    _gather(_tree(archive, "content.xml"), lines, found)
    found.text("\n".join(lines))


def _read_slides(archive: zipfile.ZipFile, found: Findings) -> None:
    numbers = sorted(int(m[1]) for name in archive.namelist() if (m := _SLIDE.fullmatch(name)))
    for page in numbers:
        lines: list[str] = []
        slide = _tree(archive, f"ppt/slides/slide{page}.xml")
        _gather(slide, lines, found)
        found.text("\n".join(lines), page=page)


def _read_book(archive: zipfile.ZipFile, found: Findings) -> None:
    """The chapters in the order in which the book is read."""
    container = _tree(archive, "META-INF/container.xml")
    root = next(each.attrib["full-path"] for each in container.iter(_PACKAGE))
    book = _tree(archive, root)
    files = {each.get("id"): each.get("href") for each in book.iter() if _name(each) == "item"}
    for each in book.iter():
        if _name(each) == "itemref" and (file := files.get(each.attrib["idref"])):
            chapter = posixpath.normpath(posixpath.join(posixpath.dirname(root), unquote(file)))
            read_html(archive.read(chapter).decode("utf-8", "replace"), found)


def _tree(archive: zipfile.ZipFile, name: str) -> Element:
    tree: Element = fromstring(archive.read(name))
    return tree


_PACKAGES: Final = {"odt": _read_text, "pptx": _read_slides, "epub": _read_book}


def _gather(element: Element, lines: list[str], found: Findings) -> None:
    """The paragraphs of an element, and its tables, in reading order."""
    name = _name(element)
    if name in _TABLES:
        rows = [
            [_said(cell) for cell in row.iter() if _name(cell) in _CELLS]
            for row in element.iter()
            if _name(row) in _ROWS
        ]
        found.table(rows)
        lines += (" | ".join(row) for row in rows if any(row))
    elif name in _PARAGRAPHS:
        lines.append(_said(element))
    elif name not in _SILENT:
        for each in element:
            _gather(each, lines, found)


def _said(element: Element) -> str:
    """The text of an element; its paragraphs are lines."""
    parts: list[str] = []
    for each in element:
        if _name(each) not in _SILENT:
            blank = _MARKS.get(_name(each))
            parts.append(_said(each) if blank is None else blank)
            parts.append("\n" if _name(each) in _PARAGRAPHS else "")
        parts.append(each.tail or "")
    return ((element.text or "") + "".join(parts)).strip("\n")


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _read_workbook(data: bytes, found: Findings) -> None:
    book = python_calamine.load_workbook(io.BytesIO(data))
    for name in book.sheet_names:
        sheet = book.get_sheet_by_name(name)
        if sheet.total_height * sheet.total_width > found.bounds.cells:
            raise Fault("cells")
        rows = [[_cell(value) for value in row] for row in sheet.to_python()]
        found.table(rows, name=name)
        lines = (" | ".join("" if c is None else str(c) for c in row) for row in rows)
        found.text("\n".join(line for line in lines if line.strip(" |")), section=name)


def _cell(value: Any) -> ParsedCell:
    found: ParsedCell = str(value)
    match value:
        case datetime():
            whole = value.time() == time()
            found = value.date().isoformat() if whole else value.isoformat()
        case date() | time():
            found = value.isoformat()
        case float() if value.is_integer() and abs(value) < 1 << 53:
            found = int(value)
        case str():
            found = value if value.strip() else None
        case int() | float() | bool() | None:
            found = value
        case _:
            pass
    return found


def _no_image() -> Any:
    """Pictures in a document are not read."""
    return mammoth.images.img_element(lambda _: {})
