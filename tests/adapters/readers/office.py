"""Office: small workbooks and text documents as a test wants them, written part by part."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_KIND = "application/vnd.openxmlformats-officedocument"


def an_archive(parts: Mapping[str, str | bytes]) -> bytes:
    """A compressed archive of these parts."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return written.getvalue()


def with_part(archive: bytes, name: str, content: str) -> bytes:
    """The archive with one more part."""
    with zipfile.ZipFile(io.BytesIO(archive)) as read:
        parts = {each: read.read(each) for each in read.namelist()}
    return an_archive({**parts, name: content})


def a_workbook(sheets: Mapping[str, Sequence[Sequence[str | float | None]]]) -> bytes:
    """An XLSX with these rows on its sheets."""
    names = list(sheets)
    kinds = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" '
        f'ContentType="{_KIND}.spreadsheetml.worksheet+xml"/>'
        for n in range(1, len(names) + 1)
    )
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="r{n}"/>'
        for n, name in enumerate(names, 1)
    )
    links = "".join(
        f'<Relationship Id="r{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(names) + 1)
    )
    parts = {
        "[Content_Types].xml": (
            f'<Types xmlns="{_TYPES}"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Override PartName="/xl/workbook.xml" '
            f'ContentType="{_KIND}.spreadsheetml.sheet.main+xml"/>{kinds}</Types>'
        ),
        "_rels/.rels": (
            f'<Relationships xmlns="{_LINKS}"><Relationship Id="r1" '
            f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        ),
        "xl/workbook.xml": (
            f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>'
        ),
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_LINKS}">{links}</Relationships>',
    }
    for n, rows in enumerate(sheets.values(), 1):
        written = "".join(f"<row>{''.join(map(table_cell, row))}</row>" for row in rows)
        parts[f"xl/worksheets/sheet{n}.xml"] = (
            f'<worksheet xmlns="{_SHEET}"><sheetData>{written}</sheetData></worksheet>'
        )
    return an_archive(parts)


def a_letter(*paragraphs: str, table: Sequence[Sequence[str]] = ()) -> bytes:
    """A DOCX with these paragraphs, and a table below them."""
    body = "".join(f"<w:p>{text_run(text)}</w:p>" for text in paragraphs)
    if table:
        rows = "".join(
            "<w:tr>" + "".join(f"<w:tc><w:p>{text_run(c)}</w:p></w:tc>" for c in row) + "</w:tr>"
            for row in table
        )
        body += f"<w:tbl>{rows}</w:tbl>"
    return an_archive(
        {
            "[Content_Types].xml": (
                f'<Types xmlns="{_TYPES}"><Default Extension="rels" '
                'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
                '<Override PartName="/word/document.xml" '
                f'ContentType="{_KIND}.wordprocessingml.document.main+xml"/></Types>'
            ),
            "_rels/.rels": (
                f'<Relationships xmlns="{_LINKS}"><Relationship Id="r1" '
                f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>'
            ),
            "word/document.xml": (
                f'<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>'
            ),
        }
    )


def text_run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def table_cell(value: str | float | None) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c><v>{value}</v></c>"
