"""Office documents: XLSX by its cells, DOCX by way of HTML; archives are measured before use."""

import io
import zipfile
from datetime import date, datetime, time
from typing import Any, Final

import mammoth  # type: ignore[import-untyped]
import python_calamine

from canonry.adapters.parsers.findings import Fault, Findings, ParsedCell
from canonry.adapters.parsers.markup import read_html

_ENTRIES_MAX: Final = 10_000
_RATIO_MAX: Final = 200
_RATIO_FROM: Final = 4 * 1024 * 1024
"""A small file may well shrink more than any ratio allows."""

_PIECE: Final = 1 << 20


def parse(kind: str, data: bytes, found: Findings) -> None:
    """Read a workbook or a text document."""
    _measure(data, found.bounds.inflated)
    if kind == "xlsx":
        _read_workbook(data, found)
    else:
        page = mammoth.convert_to_html(io.BytesIO(data), convert_image=_no_image())
        read_html(str(page.value), found)


def _measure(data: bytes, most: int) -> None:
    """Unpack without keeping anything, as sizes in an archive's directory may lie.

    Raises:
        Fault: `bomb` or `encrypted`.
    """
    left = most
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > _ENTRIES_MAX or sum(entry.file_size for entry in entries) > most:
            raise Fault("bomb")
        for entry in entries:
            if entry.flag_bits & 1:
                raise Fault("encrypted")
            if entry.file_size > max(_RATIO_FROM, _RATIO_MAX * entry.compress_size):
                raise Fault("bomb")
            with archive.open(entry) as file:
                while piece := file.read(_PIECE):
                    left -= len(piece)
                    if left < 0:
                        raise Fault("bomb")


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
