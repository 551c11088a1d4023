"""The reader of all kinds: checks the size, asks the one who knows the kind, checks the outcome."""

import asyncio
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from typing_extensions import override

from canonry.canon.ports.files import (
    DocumentLimits,
    DocumentReader,
    FileHint,
    FileType,
    Member,
    Reading,
    Record,
    Table,
)
from canonry.documents.readers.kinds import declared, kind_of
from canonry.documents.readers.pdf import parsed, picture_pdf, read_pdf
from canonry.documents.readers.structured import (
    decoded,
    guessed,
    records_by_line,
    records_of,
    sections,
    table_of,
)
from canonry.language.texts.sentences import Box, DocumentType, Part
from canonry.values.errors import InvalidInput, Unavailable

_AT_ONCE: Final = 2
_PARSERS: Final = "canonry.documents.parsers"
_SECTIONED_MAX: Final = 2_000_000
"""Longer Markdown is one part: finding its headings would take minutes."""

_NAMES: Final = {
    FileType.HTML: "html",
    FileType.XLSX: "xlsx",
    FileType.DOCX: "docx",
    FileType.XLS: "xlsx",
    FileType.ODS: "xlsx",
    FileType.ODT: "odt",
    FileType.PPTX: "pptx",
    FileType.RTF: "rtf",
    FileType.EPUB: "epub",
    FileType.ZIP: "zip",
    FileType.EML: "eml",
    FileType.MBOX: "mbox",
    FileType.MSG: "msg",
    FileType.VCF: "vcf",
    FileType.ICS: "ics",
    FileType.XML: "xml",
    FileType.MT940: "mt940",
    FileType.OFX: "ofx",
    FileType.QIF: "qif",
}
_TEXTS: Final = frozenset({FileType.VCF, FileType.ICS, FileType.HTML})
"""What another process parses as text in UTF-8, unless it names a charset itself."""

_HEAD_OF_PAGE: Final = 4_096
_FAULTS: Final = {
    "damaged": "the file is damaged; open it where it was made and save it anew",
    "encrypted": "the file is encrypted; take the password off it, and bring it again",
    "bomb": "the file unpacks to more than is taken; split it, or bring its text alone",
    "no-recogniser": "text in images is not recognised here; install the extra `ocr`, or bring "
    "the text",
}


class LocalReader(DocumentReader):
    """Reads on this machine; at most two files are parsed at a time, others wait."""

    def __init__(self, limits: DocumentLimits | None = None) -> None:
        """Refuse what is beyond `limits`."""
        self._limits = limits or DocumentLimits()
        self._turn = asyncio.Semaphore(_AT_ONCE)

    @override
    async def read(
        self, data: bytes, kind: DocumentType, *, charset: str | None = None
    ) -> Sequence[Part]:
        if len(data) > self._limits.bytes:
            raise too_large("bytes", self._limits.bytes)
        if kind is DocumentType.PDF:
            async with self._turn:
                parts = (await read_pdf(data, self._limits)).parts
        else:
            parts = await asyncio.to_thread(_read_text, data, kind, charset, self._limits)
        if sum(len(part.text) for part in parts) > self._limits.characters:
            raise too_large("characters", self._limits.characters)
        if not any(part.text.strip() for part in parts):
            message = "there is no text in the document; recognise the text of scanned pages first"
            raise InvalidInput("document.empty", message)
        return parts

    @override
    def kind_of(self, data: bytes, hint: FileHint) -> FileType:
        return kind_of(data, hint)

    @override
    async def examine(self, data: bytes, hint: FileHint) -> Reading:
        if len(data) > self._limits.file_bytes:
            raise too_large("bytes", self._limits.file_bytes)
        kind = kind_of(data, hint)
        said = declared(hint)
        reading = Reading(
            kind=kind,
            name=hint.name,
            differs=said is not None and said is not kind,
        )
        if kind is FileType.PDF:
            bounds = replace(self._limits, seconds=self._limits.file_seconds)
            async with self._turn:
                pages = await read_pdf(data, bounds, laid_out=True)
                reading = replace(reading, parts=tuple(pages.parts), layout=pages.layout)
                if pages.pictures:
                    reading = await self._with_pictures(data, reading, pages.pictures)
                return await self._with_invoice(reading, pages.invoice)
        if kind in _TEXTS and b"charset" not in data[:_HEAD_OF_PAGE]:
            text, notes = guessed(data, hint.charset)
            data, reading = text.encode(), replace(reading, notes=notes)
        if kind in _NAMES or kind.is_image:
            async with self._turn:
                return await self._parsed(data, reading)
        return await asyncio.to_thread(self._structured, data, hint, reading)

    @override
    async def picture(self, data: bytes, hint: FileHint, page: int, boxes: Sequence[Box]) -> bytes:
        if kind_of(data, hint) is not FileType.PDF or page < 1:
            raise InvalidInput("document.no-page", "only pages of a PDF are drawn", path="/page")
        async with self._turn:
            return await picture_pdf(data, page, boxes, self._limits)

    async def _with_pictures(
        self, data: bytes, reading: Reading, pictures: Sequence[int]
    ) -> Reading:
        """The reading of a PDF with the text of scanned pages, where that can be recognised."""
        pages = "the PDF holds only pictures"
        if reading.parts:
            pages = f"{len(pictures)} pages of the PDF hold only pictures"
        try:
            scanned = await self._parsed(data, replace(reading, parts=()), "scan")
        except (InvalidInput, Unavailable) as error:
            why = _FAULTS["no-recogniser"] if error.code.endswith("recogniser") else error.code
            return replace(reading, notes=(*reading.notes, f"{pages}: {why}"))
        parts = sorted((*reading.parts, *scanned.parts), key=lambda part: part.page or 0)
        told = scanned.notes or (f"{pages}: no text was recognised in them",)
        return replace(reading, parts=tuple(parts), notes=(*reading.notes, *told))

    async def _with_invoice(self, reading: Reading, invoice: bytes | None) -> Reading:
        """The reading of a PDF with the invoice for programs that it carries."""
        if invoice is None:
            return reading
        try:
            exact = await self._parsed(invoice, replace(reading, kind=FileType.XML, parts=()))
        except (InvalidInput, Unavailable) as error:
            note = f"the invoice within the PDF was not read: {error.code}"
            return replace(reading, notes=(*reading.notes, note))
        return replace(reading, records=exact.records)

    async def _parsed(self, data: bytes, reading: Reading, name: str | None = None) -> Reading:
        limits = self._limits
        seconds = limits.file_seconds
        bounds = (limits.characters, limits.cells, limits.inflated, int(seconds) + 1)
        name = name or _NAMES.get(reading.kind, "image")
        arguments = ("-m", _PARSERS, name, *map(str, bounds))
        said = await parsed(arguments, data, seconds, noun="file")
        fault = said.get("fault")
        if fault in {"characters", "cells"}:
            raise too_large(fault, getattr(limits, fault))
        if fault is not None:
            raise InvalidInput(f"document.{fault}", _FAULTS[fault])
        return _told(said, reading)

    def _structured(self, data: bytes, hint: FileHint, reading: Reading) -> Reading:
        text, notes = guessed(data, hint.charset)
        whole = (Part(text=text),)
        reading = replace(reading, notes=notes)
        match reading.kind:
            case FileType.CSV:
                table, faults = table_of(text, self._limits.cells)
                notes = (*notes, *faults)
                return replace(reading, parts=whole, tables=(table,), notes=notes)
            case FileType.JSON | FileType.JSONL:
                # Its parser lets nobody else work meanwhile.
                if len(text) > self._limits.characters:
                    raise too_large("characters", self._limits.characters)
                read = records_of if reading.kind is FileType.JSON else records_by_line
                return replace(reading, parts=whole, records=read(text, self._limits.cells))
            case FileType.MARKDOWN if len(text) <= _SECTIONED_MAX:
                return replace(reading, parts=tuple(sections(text)))
            case _:
                return replace(reading, parts=whole)


def _told(said: Mapping[str, Any], reading: Reading) -> Reading:
    """What the process said, as values."""
    return replace(
        reading,
        parts=tuple(Part(text=t, page=p, section=s) for p, s, t in said["parts"]),
        tables=tuple(Table(rows=tuple(map(tuple, rows)), name=n) for n, rows in said["tables"]),
        records=tuple(Record(kind=kind, fields=fields) for kind, fields in said["records"]),
        notes=(*reading.notes, *said["notes"]),
        members=tuple(
            Member(data=b64decode(data), hint=FileHint(mime_type=media, name=name), record=place)
            for name, media, data, place in said["members"]
        ),
    )


def too_large(unit: str, limit: int) -> InvalidInput:
    """The error for a document with too much of `unit`."""
    message = f"the document has more than {limit} {unit}; split it, and bring its pieces"
    return InvalidInput("document.too-large", message, unit=unit, limit=limit)


def _read_text(
    data: bytes, kind: DocumentType, charset: str | None, limits: DocumentLimits
) -> Sequence[Part]:
    text = decoded(data, charset)
    if len(text) > limits.characters:  # before anybody looks for headings in it
        raise too_large("characters", limits.characters)
    return sections(text) if kind is DocumentType.MARKDOWN else (Part(text=text),)
