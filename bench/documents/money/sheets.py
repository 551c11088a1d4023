"""Sheets: files as programs write them, byte by byte, for the layouts of statements and bills."""

import csv
import io
import zipfile
from collections.abc import Sequence
from datetime import date
from xml.sax.saxutils import escape

Cell = str | float | date


def a_csv(rows: Sequence[Sequence[str]], separator: str, charset: str, *, quoted: bool) -> bytes:
    """Rows as CSV; those of one cell stand without quotes, as banks write their heads."""
    out = io.StringIO()
    writer = csv.writer(
        out,
        delimiter=separator,
        quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL,
        lineterminator="\r\n",
    )
    for row in rows:
        if row:
            writer.writerow(row)
        else:
            out.write("\r\n")
    return out.getvalue().encode(charset)


_EPOCH = date(1899, 12, 30)
_STYLES = (
    '<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><fonts><font/>'
    "</fonts><fills><fill/></fills><borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs>"
    '<cellXfs><xf/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>'
)
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def an_xlsx(rows: Sequence[Sequence[Cell]]) -> bytes:
    """Rows as a workbook of one sheet; dates and numbers are such."""
    lines = []
    for number, row in enumerate(rows, 1):
        cells = "".join(_cell(f"{chr(65 + place)}{number}", cell) for place, cell in enumerate(row))
        lines.append(f'<row r="{number}">{cells}</row>')
    office = f"{_PACKAGE.replace('package/2006', 'officeDocument/2006')}/relationships"
    types = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{types}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{types}.styles+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{types}.worksheet+xml"/>'
        "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1"'
        f' Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}"><sheets><sheet'
        ' name="Sheet1" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{office}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": _STYLES,
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}'
        "</sheetData></worksheet>",
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return written.getvalue()


def _cell(place: str, cell: Cell) -> str:
    if isinstance(cell, date):
        return f'<c r="{place}" s="1"><v>{(cell - _EPOCH).days}</v></c>'
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>' if cell else ""
    return f'<c r="{place}"><v>{cell}</v></c>'
