"""Parsers of office documents: cells of workbooks, and paragraphs and tables of texts."""

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
from canonry.documents.parsers.markup import read_page

_SLIDE: Final = re.compile(r"ppt/slides/slide(\d+)\.xml")
_PARAGRAPHS: Final = frozenset({"p", "h"})
_TABLES: Final = frozenset({"table", "tbl"})
_ROWS: Final = frozenset({"table-row", "tr"})
_CELLS: Final = frozenset({"table-cell", "tc"})
_MARKS: Final = {"tab": "\t", "line-break": "\n", "br": "\n", "s": " "}
_SILENT: Final = frozenset({"annotation", "tracked-changes", "note", "fld"})
_PACKAGE: Final = "{urn:oasis:names:tc:opendocument:xmlns:container}rootfile"


def read_rtf(data: bytes, found: Findings) -> None:
    """Read a text in RTF."""
    written = data.decode("latin-1")
    text: str = rtf_to_text(  # type: ignore[no-untyped-call]
        written, encoding="cp1252", errors="replace"
    )
    found.text(text)


def read_docx(data: bytes, found: Findings) -> None:
    """Read a Word document without its pictures."""
    if data.startswith(PACKED):
        measure(data, found.bounds.inflated)
    no_image = mammoth.images.img_element(lambda _: {})
    page = mammoth.convert_to_html(io.BytesIO(data), convert_image=no_image)
    read_page(str(page.value), found)


def read_odt(data: bytes, found: Findings) -> None:
    """Read a text of OpenDocument."""
    with _opened(data, found) as archive:
        lines: list[str] = []
        _gather(_tree(archive, "content.xml"), lines, found)
        found.text("\n".join(lines))


def read_pptx(data: bytes, found: Findings) -> None:
    """Read slides, in their order."""
    with _opened(data, found) as archive:
        names = archive.namelist()
        for page in sorted(int(m[1]) for name in names if (m := _SLIDE.fullmatch(name))):
            lines: list[str] = []
            _gather(_tree(archive, f"ppt/slides/slide{page}.xml"), lines, found)
            found.text("\n".join(lines), page=page)


def read_epub(data: bytes, found: Findings) -> None:
    """Read the chapters of a book, in the order in which it is read."""
    with _opened(data, found) as archive:
        container = _tree(archive, "META-INF/container.xml")
        root = next(each.attrib["full-path"] for each in container.iter(_PACKAGE))
        book = _tree(archive, root)
        files = {each.get("id"): each.get("href") for each in book.iter() if _name(each) == "item"}
        for each in book.iter():
            if _name(each) == "itemref" and (file := files.get(each.attrib["idref"])):
                chapter = posixpath.normpath(posixpath.join(posixpath.dirname(root), unquote(file)))
                read_page(archive.read(chapter).decode("utf-8", "replace"), found)


def _opened(data: bytes, found: Findings) -> zipfile.ZipFile:
    if data.startswith(PACKED):
        measure(data, found.bounds.inflated)
    return zipfile.ZipFile(io.BytesIO(data))


def _tree(archive: zipfile.ZipFile, name: str) -> Element:
    tree: Element = fromstring(archive.read(name))
    return tree


def _gather(element: Element, lines: list[str], found: Findings) -> None:
    """Collect the paragraphs and tables of an element in reading order."""
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
    """Return the text of an element, with its paragraphs as lines."""
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


def read_xlsx(data: bytes, found: Findings) -> None:
    """Read a workbook of any program, sheet by sheet."""
    if data.startswith(PACKED):
        measure(data, found.bounds.inflated)
    book = python_calamine.load_workbook(io.BytesIO(data))
    for name in book.sheet_names:
        sheet = book.get_sheet_by_name(name)
        if sheet.total_height * sheet.total_width > found.bounds.cells:
            raise Fault("cells")
        rows = [[_cell(value) for value in row] for row in sheet.to_python()]
        found.table(rows, name=name)
        lines = (" | ".join("" if c is None else str(c) for c in row) for row in rows)
        found.text("\n".join(line for line in lines if line.strip(" |")), section=name)


read_xls = read_ods = read_xlsx


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
