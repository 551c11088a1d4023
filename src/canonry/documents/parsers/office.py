"""Parsers of office documents: cells of workbooks, and paragraphs and tables of texts."""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from typing import Any, Final
from urllib.parse import unquote
from xml.etree.ElementTree import Element

import mammoth  # type: ignore[import-untyped]
import python_calamine
from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]
from striprtf.striprtf import rtf_to_text

from canonry.documents.parsers.archives import PACKED, check_archive
from canonry.documents.parsers.findings import NAMES, STRUCK, Fault, Findings, ParsedCell
from canonry.documents.parsers.markup import read_page

_SLIDE: Final = re.compile(r"ppt/slides/slide(\d+)\.xml")
_OF_SLIDES: Final = re.compile(r"ppt/notesSlides/[^/]+\.xml")
_COMMENTS: Final = re.compile(r"(?:word|xl|ppt)/(?:[^/]+/)?(?:comment|threadedComment)s?\d*\.xml")
_COMMENTS_MAX: Final = 500  # a note of a file is short
_SIDE_PARTS: Final = re.compile(r"word/(?:header|footer)\d*\.xml")
_PARAGRAPHS: Final = frozenset({"p", "h"})
_CELLS: Final = frozenset({"table-cell", "tc"})
_MARKS: Final = {"tab": "\t", "line-break": "\n", "br": "\n", "s": " "}
_SILENT: Final = frozenset({"annotation", "tracked-changes", "note", "fld"})
_HIDDEN: Final = re.compile(rb"""<(?:row|col)\b[^>]{0,500}\bhidden=["'](?:1|true)""")
_STRUCK: Final = re.compile(rb"""<strike\s*(?:/>|>|val=["'](?:1|true))""")
_SHEET: Final = "xl/worksheets/sheet"
_STYLES: Final = "xl/styles.xml"
_SHEETS: Final = "xl/_rels/workbook.xml.rels"
_CELL: Final = re.compile(rb'<c r="([A-Z]{1,3})(\d{1,7})" s="(\d{1,5})"')
_UNIT: Final = re.compile(
    r'\[\$([^\]-]{1,8})(?:-([0-9A-F]{1,8}))?\]|"\s{0,4}([^"\s]{1,8})\s{0,4}"|([\u20ac\xa3\xa5\u20b9$%])'
)
_UNITS_BY_LOCALE: Final[dict[str, str]] = NAMES["cells"]["of_places"]
_CURRENCIES: Final = frozenset(NAMES["cells"]["currencies"].split())
_PAIR: Final = 2
_Units = dict[tuple[int, int], str]
_CHANGED: Final = ("modified", "date", "created", "creation-date")
"""The files of office documents with their properties, and the times in them, the best first."""

_ASIDE: Final = re.compile(r"\\(?:(?:header|footer)[lrf]?|footnote)\b ?")
_OF_RTF: Final = re.compile(r"\\\*\\annotation ?([^{}\\]{1,500})")
"""The beginnings of texts beside the main text."""

_SAVED: Final = re.compile(r"{\\(revtim|creatim)\\yr(\d+)\\mo(\d+)\\dy(\d+)\\hr(\d+)\\min(\d+)")
_PACKAGE: Final = "{urn:oasis:names:tc:opendocument:xmlns:container}rootfile"


def read_rtf(data: bytes, found: Findings) -> None:
    """Read a text in RTF."""
    written = data.decode("latin-1")
    text: str = rtf_to_text(  # type: ignore[no-untyped-call]
        _ASIDE.sub(r"\\par ", written), encoding="cp1252", errors="replace"
    )
    found.add_text(text)
    if comments := "; ".join(_OF_RTF.findall(written)):
        found.add_note(f"Comments were not read: {comments[:_COMMENTS_MAX]}")
    saved = sorted(_SAVED.findall(written), reverse=True)  # the time of revision first
    found.note_time(*("{}-{:0>2}-{:0>2}T{:0>2}:{:0>2}".format(*at) for _, *at in saved))


def read_docx(data: bytes, found: Findings) -> None:
    """Read a Word document without its pictures."""
    with _open_archive(data, found) as archive:
        side_parts = [
            _parse_member(archive, name) for name in filter(_SIDE_PARTS.match, archive.namelist())
        ]
    no_image = mammoth.images.img_element(lambda _: {})
    whole = _with_one_strike(data)
    page = mammoth.convert_to_html(io.BytesIO(whole), convert_image=no_image)
    read_page(str(page.value), found)
    lines: list[str] = []
    for each in side_parts:
        _collect_text(each, lines, found)
    found.add_text("\n".join(lines))


def _with_one_strike(data: bytes) -> bytes:
    """Return a Word document in which double strikes are single ones, which the library knows."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if not any(b"w:dstrike" in part for part in parts.values()):
        return data
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as copy:
        for name, part in parts.items():
            copy.writestr(name, part.replace(b"w:dstrike", b"w:strike"))
    return written.getvalue()


def read_odt(data: bytes, found: Findings) -> None:
    """Read a text of OpenDocument."""
    with _open_archive(data, found) as archive:
        lines: list[str] = []
        content = _parse_member(archive, "content.xml")
        _drop_struck(content, found)
        _collect_text(content, lines, found)
        side_parts = [each for each in content.iter() if _local_name(each) == "note"]
        if "styles.xml" in archive.namelist():
            styles = _parse_member(archive, "styles.xml").iter()
            side_parts += [each for each in styles if _local_name(each) in {"header", "footer"}]
        for paragraph in (each for part in side_parts for each in part):
            _collect_text(paragraph, lines, found)
        found.add_text("\n".join(lines))


def _drop_struck(tree: Element, found: Findings) -> None:
    """Empty the struck-out parts of a text of OpenDocument, or of slides."""
    styles = {
        _attribute_value(style, "name")
        for style in tree.iter()
        if _local_name(style) == "style"
        and any(
            _attribute_value(each, "text-line-through-style") not in {"", "none"} for each in style
        )
    }
    for each in tree.iter():
        own = next((part for part in each if _local_name(part) == "rPr"), None)
        slide = own is not None and _attribute_value(own, "strike") not in {"", "noStrike"}
        if slide or (styles and _attribute_value(each, "style-name") in styles):
            tail = each.tail
            each.clear()
            each.tail = tail
            found.add_note(STRUCK)


def _attribute_value(element: Element, name: str) -> str:
    """Return an attribute by its name in any namespace."""
    return next((v for key, v in element.attrib.items() if key.rpartition("}")[2] == name), "")


def read_pptx(data: bytes, found: Findings) -> None:
    """Read slides, in their order."""
    with _open_archive(data, found) as archive:
        names = archive.namelist()
        for page in sorted(int(m[1]) for name in names if (m := _SLIDE.fullmatch(name))):
            lines: list[str] = []
            slide = _parse_member(archive, f"ppt/slides/slide{page}.xml")
            _drop_struck(slide, found)
            _collect_text(slide, lines, found)
            found.add_text("\n".join(lines), page=page)
        for name in filter(_OF_SLIDES.match, names):
            lines = [each.text or "" for each in _parse_member(archive, name).iter() if each.text]
            found.add_text("\n".join(lines), section="Notes")


def read_epub(data: bytes, found: Findings) -> None:
    """Read the chapters of a book, in the order in which it is read."""
    with _open_archive(data, found) as archive:
        container = _parse_member(archive, "META-INF/container.xml")
        root = next(each.attrib["full-path"] for each in container.iter(_PACKAGE))
        book = _parse_member(archive, root)
        files = {
            each.get("id"): each.get("href") for each in book.iter() if _local_name(each) == "item"
        }
        for each in book.iter():
            if _local_name(each) == "itemref" and (file := files.get(each.attrib["idref"])):
                chapter = posixpath.normpath(posixpath.join(posixpath.dirname(root), unquote(file)))
                read_page(archive.read(chapter).decode("utf-8", "replace"), found)
        dates = (e.text for e in book.iter() if e.get("property") == "dcterms:modified")
        found.note_time(*dates)


def _open_archive(data: bytes, found: Findings) -> zipfile.ZipFile:
    if data.startswith(PACKED):
        check_archive(data, found.bounds.inflated)
    archive = zipfile.ZipFile(io.BytesIO(data))
    for name in {"docProps/core.xml", "meta.xml"} & {*archive.namelist()}:
        with suppress(Exception):  # broken properties leave the text readable
            stated = {_local_name(each): each.text for each in _parse_member(archive, name).iter()}
            found.note_time(*map(stated.get, _CHANGED))
    nodes = [_parse_member(archive, n) for n in filter(_COMMENTS.fullmatch, archive.namelist())]
    if "content.xml" in archive.namelist() and b"annotation" in archive.read("content.xml"):
        inner = _parse_member(archive, "content.xml").iter()
        nodes += [each for each in inner if _local_name(each) == "annotation"]
    comments = "; ".join(" ".join(" ".join(each.itertext()).split()) for each in nodes)
    if comments.strip("; "):
        found.add_note(f"Comments were not read: {comments[:_COMMENTS_MAX]}")
    return archive


def _parse_member(archive: zipfile.ZipFile, name: str) -> Element:
    tree: Element = fromstring(archive.read(name))
    return tree


def _collect_text(element: Element, lines: list[str], found: Findings) -> None:
    """Collect the paragraphs and tables of an element in reading order."""
    name = _local_name(element)
    if name in {"table", "tbl"}:
        rows = [
            [_element_text(cell) for cell in row.iter() if _local_name(cell) in _CELLS]
            for row in element.iter()
            if _local_name(row) in {"table-row", "tr"}
        ]
        found.add_table(rows)
        lines += (" | ".join(row) for row in rows if any(row))
    elif name in _PARAGRAPHS:
        lines.append(_element_text(element))
    elif name not in _SILENT:
        for each in element:
            _collect_text(each, lines, found)


def _element_text(element: Element) -> str:
    """Return the text of an element, with its paragraphs as lines."""
    parts: list[str] = []
    for each in element:
        if _local_name(each) not in _SILENT:
            blank = _MARKS.get(_local_name(each))
            parts.append(_element_text(each) if blank is None else blank)
            parts.append("\n" if _local_name(each) in _PARAGRAPHS else "")
        parts.append(each.tail or "")
    return ((element.text or "") + "".join(parts)).strip("\n")


def _local_name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def read_xlsx(data: bytes, found: Findings) -> None:
    """Read a workbook of any program, sheet by sheet."""
    marks: dict[str, _Units] = {}
    if data.startswith(PACKED):
        with _open_archive(data, found) as archive:
            marks = dict(_sheet_units(archive, found))
    book = python_calamine.load_workbook(io.BytesIO(data))
    shown = python_calamine.SheetVisibleEnum.Visible
    hidden = {each.name for each in book.sheets_metadata if each.visible != shown}
    for name in book.sheet_names:
        if name in hidden:
            found.add_note(f'The sheet "{name}" is hidden and was not read.')
            continue
        sheet = book.get_sheet_by_name(name)
        if sheet.total_height * sheet.total_width > found.bounds.cells:
            raise Fault("cells")
        rows = [[_convert_cell(value) for value in row] for row in sheet.to_python()]
        top, left = sheet.start or (0, 0)
        units = {
            (y - top, x - left): unit
            for (y, x), unit in marks.get(name, {}).items()
            if 0 <= y - top < len(rows) and 0 <= x - left < len(rows[0])
        }
        for y, x in [at for at, unit in units.items() if unit == STRUCK]:
            rows[y][x] = None
            found.add_note(STRUCK)
        shown_rows = [
            [_show_cell(c, units.get((y, x), "")) for x, c in enumerate(row)]
            for y, row in enumerate(rows)
        ]
        found.add_table(_with_currencies(rows, units), name=name)
        found.add_text(
            "\n".join(line for line in map(" | ".join, shown_rows) if line.strip(" |")),
            section=name,
        )


def _sheet_units(archive: zipfile.ZipFile, found: Findings) -> Iterator[tuple[str, _Units]]:
    """Yield the units that the formats of cells show, by sheet; note hidden rows and strikes."""
    parts = set(archive.namelist())
    if any(each.startswith(_SHEET) and _HIDDEN.search(archive.read(each)) for each in parts):
        found.add_note("Hidden rows or columns of a sheet were read. Check whether they count.")
    if not {_STYLES, _SHEETS, "xl/workbook.xml"} <= parts:
        return
    units, struck = _format_units(_parse_member(archive, _STYLES)), False
    files = {each.get("Id"): each.get("Target", "") for each in _parse_member(archive, _SHEETS)}
    for sheet in _parse_member(archive, "xl/workbook.xml").iter():
        file = posixpath.join("/xl", files.get(_attribute_value(sheet, "id"), ""))[1:]
        if _local_name(sheet) == "sheet" and file in parts:
            cells = {}
            for letters, row, style in _CELL.findall(archive.read(file)):
                if unit := units.get(style):
                    column = sum((c - 64) * 26**n for n, c in enumerate(letters[::-1]))
                    cells[int(row) - 1, column - 1] = unit
            struck |= STRUCK in cells.values()
            yield sheet.get("name", ""), cells
    if not struck and _STRUCK.search(archive.read(_STYLES)):
        found.add_note("Struck-out cells of a sheet were read. Check whether they count.")


def _format_units(styles: Element) -> Mapping[bytes, str]:
    """Return the unit of each format, such as `EUR` or `%`, and `STRUCK` for struck-out cells."""
    lists = {_local_name(each): list(each) for each in styles}
    codes = {e.get("numFmtId"): e.get("formatCode", "") for e in lists.get("numFmts", ())}
    codes |= dict.fromkeys(("9", "10"), "%")
    strikes = [[e for e in font if _local_name(e) == "strike"] for font in lists.get("fonts", ())]
    struck = {str(n) for n, e in enumerate(strikes) if e and e[0].get("val", "1") in {"1", "true"}}
    units: dict[bytes, str] = {}
    for number, style in enumerate(lists.get("cellXfs", ())):
        sign = _UNIT.search(codes.get(style.get("numFmtId"), ""))
        unit = (
            ""
            if sign is None
            else _UNITS_BY_LOCALE.get(sign[2] or "") or next(filter(None, sign.groups()))
        )
        if unit := STRUCK if style.get("fontId") in struck else unit:
            units[str(number).encode()] = unit
    return units


def _show_cell(cell: ParsedCell, unit: str) -> str:
    """Return a cell as its sheet shows it: with its unit, and never with three decimals."""
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return "" if cell is None else str(cell)
    if unit == "%":
        return f"{round(cell * 100, 10):g}%"
    # Three decimals would look like thousands.
    exact = isinstance(cell, float) and cell == round(cell, 3) != round(cell, 2)
    return f"{cell:.4f} {unit}".strip() if exact else f"{cell} {unit}".strip()


def _with_currencies(rows: list[list[ParsedCell]], units: _Units) -> list[list[ParsedCell]]:
    """Add a column with the currencies of a table's formats, unless it names some itself."""
    codes: dict[int, str | None] = {}
    for (y, x), unit in units.items():
        code = NAMES["cells"]["of_signs"].get(unit, unit)
        if isinstance(rows[y][x], int | float) and code in _CURRENCIES:
            codes[y] = code if codes.get(y, code) == code else None
    titles = [c for row in rows[: min(codes, default=0)][-1:] for c in row if c is not None]
    named = any(c in _CURRENCIES for row in rows for c in row)
    if named or len(titles) <= _PAIR or not all(isinstance(each, str) for each in titles):
        return rows
    codes[min(codes) - 1] = "Currency"
    return [[*row, codes.get(y)] for y, row in enumerate(rows)]


read_xls = read_ods = read_xlsx


def _convert_cell(value: Any) -> ParsedCell:
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
