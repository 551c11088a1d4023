"""The reader of all kinds, and the processes in which it reads PDFs and other files."""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE
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
from canonry.documents.readers.structured import decoded, guessed, records_of, sections, table_of
from canonry.language.texts.sentences import Box, DocumentType, Part
from canonry.values.errors import CanonryError, InvalidInput, Unavailable


async def _parsed(
    arguments: Sequence[str], data: bytes, seconds: float, *, noun: str
) -> Mapping[str, Any]:
    """What the Python program behind `arguments` says of `data`, as JSON on its standard output.

    A program that dies, out of memory or of what it met, says `{"fault": "damaged"}`.

    Raises:
        Unavailable: `document.too-slow` or `document.no-reader`.
    """
    try:
        # -P: the working folder must not hide modules that a parser imports.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", *arguments), stdin=PIPE, stdout=PIPE, stderr=DEVNULL
        )
    except OSError as error:
        message = f"no process could be started to read the {noun}; try again"
        raise Unavailable("document.no-reader", message) from error
    try:
        async with asyncio.timeout(seconds):
            written, _ = await process.communicate(data)
    except TimeoutError as error:
        message = (
            f"reading the {noun} took longer than {seconds:g} s; split it, and bring its pieces"
        )
        raise Unavailable("document.too-slow", message, seconds=seconds) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said: Mapping[str, Any] = {"fault": "damaged"}
    if process.returncode == 0:
        said = json.loads(written)
    return said


_PAGES: Final = ("-m", "canonry.documents.parsers.pages")
PICTURE_SECONDS: Final = 10.0
BOXES_MAX: Final = 100
_FAULTS: Final = {
    "encrypted": "the PDF is encrypted; take the password off it, and bring it again",
    "damaged": "the PDF is damaged or none at all; open it in a viewer and save it anew",
}


LAID_OUT_MAX: Final = 50
"""So many pages of a file are read as they are laid out, which takes longer."""


async def _read_pdf(
    data: bytes, limits: DocumentLimits, *, laid_out: bool = False
) -> tuple[Sequence[Part], Mapping[str, Any]]:
    """The pages of a PDF that hold text, each under the outline's title, and what else was said.

    Of a file that is asked for as it is laid out that is the `layout` of its pages, the `invoice`
    for programs within it, in base64, and the `pictures`: numbers of pages without text.

    Raises:
        InvalidInput: `document.damaged`, `document.encrypted` or `document.too-large`.
        Unavailable: `document.too-slow`, or `document.no-reader`: no process could be started.
    """
    pages = LAID_OUT_MAX if laid_out else 0
    bounds = (int(limits.seconds) + 1, limits.pages, limits.characters, pages)
    arguments = (*_PAGES, "read", *map(str, bounds))
    said = await _parsed(arguments, data, limits.seconds, noun="PDF")
    if "fault" in said:
        raise _fault(str(said["fault"]), limits)
    # Each four numbers are a box.
    boxes = [tuple(Box(*b) for b in zip(*[iter(e)] * 4, strict=True)) for *_, e in said["pages"]]
    parts = [
        Part(text=text, page=number, section=section, boxes=own)
        for (number, section, text, _), own in zip(said["pages"], boxes, strict=True)
        if text.strip()
    ]
    return parts, said


def _fault(fault: str, limits: DocumentLimits) -> CanonryError:
    if fault == "page":
        return InvalidInput("document.no-page", "the PDF has no such page", path="/page")
    if fault in _FAULTS:
        return InvalidInput(f"document.{fault}", _FAULTS[fault])
    limit = limits.pages if fault == "pages" else limits.characters
    message = f"the PDF has more than {limit} {fault}; split it, and bring its pieces"
    return InvalidInput("document.too-large", message, unit=fault, limit=limit)


_AT_ONCE: Final = 2
_PARSERS: Final = "canonry.documents.parsers"
_SECTIONED_MAX: Final = 2_000_000
"""Longer Markdown is one part: finding its headings would take minutes."""

_MODULES: Final = {
    "archives": (FileType.ZIP,),
    "banks": (FileType.MT940, FileType.OFX, FileType.QIF, FileType.XML),
    "calendars": (FileType.ICS, FileType.VCF),
    "mail": (FileType.EML, FileType.MBOX, FileType.MSG),
    "markup": (FileType.HTML,),
    "office": (
        *(FileType.XLSX, FileType.XLS, FileType.ODS, FileType.DOCX, FileType.ODT, FileType.PPTX),
        *(FileType.RTF, FileType.EPUB),
    ),
}
_PARSER_OF: Final = {
    kind: (module, kind.name.lower()) for module, kinds in _MODULES.items() for kind in kinds
}
"""The parser of a kind: a module, and what it calls the kind."""

_TEXTS: Final = frozenset({FileType.VCF, FileType.ICS, FileType.HTML})
"""What another process parses as text in UTF-8, unless it names a charset itself."""

_HEAD_OF_PAGE: Final = 4_096
_FILE_FAULTS: Final = {
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
                parts, _ = await _read_pdf(data, self._limits)
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
        reading = Reading(kind=kind, name=hint.name, differs=declared(hint) not in {None, kind})
        if kind is FileType.PDF:
            bounds = replace(self._limits, seconds=self._limits.file_seconds)
            async with self._turn:
                parts, said = await _read_pdf(data, bounds, laid_out=True)
                reading = replace(reading, parts=tuple(parts), layout="\n".join(said["layout"]))
                if said["pictures"]:
                    reading = await self._with_pictures(data, reading, said["pictures"])
                if not said["invoice"]:
                    return reading
                return await self._with_invoice(reading, b64decode(said["invoice"]))
        if kind in _TEXTS and b"charset" not in data[:_HEAD_OF_PAGE]:
            text, notes = guessed(data, hint.charset)
            data, reading = text.encode(), replace(reading, notes=notes)
        if kind in _PARSER_OF or kind.is_image:
            async with self._turn:
                return await self._parsed_file(data, reading)
        return await asyncio.to_thread(self._structured, data, hint, reading)

    @override
    async def picture(self, data: bytes, hint: FileHint, page: int, boxes: Sequence[Box]) -> bytes:
        if kind_of(data, hint) is not FileType.PDF or page < 1:
            raise InvalidInput("document.no-page", "only pages of a PDF are drawn", path="/page")
        async with self._turn:
            seconds = min(PICTURE_SECONDS, self._limits.file_seconds)
            marked = json.dumps([list(box) for box in boxes[:BOXES_MAX]])
            arguments = (*_PAGES, "draw", str(int(seconds) + 1), str(page), marked)
            said = await _parsed(arguments, data, seconds, noun="PDF")
        if "png" in said:
            return b64decode(said["png"])
        raise _fault(str(said["fault"]), self._limits)

    async def _with_pictures(
        self, data: bytes, reading: Reading, pictures: Sequence[int]
    ) -> Reading:
        """The reading of a PDF with the text of scanned pages, where that can be recognised."""
        pages = "the PDF holds only pictures"
        if reading.parts:
            pages = f"{len(pictures)} pages of the PDF hold only pictures"
        try:
            scanned = await self._parsed_file(data, replace(reading, parts=()))
        except (InvalidInput, Unavailable) as error:
            why = _FILE_FAULTS["no-recogniser"] if error.code.endswith("recogniser") else error.code
            return replace(reading, notes=(*reading.notes, f"{pages}: {why}"))
        parts = sorted((*reading.parts, *scanned.parts), key=lambda part: part.page or 0)
        told = scanned.notes or (f"{pages}: no text was recognised in them",)
        return replace(reading, parts=tuple(parts), notes=(*reading.notes, *told))

    async def _with_invoice(self, reading: Reading, invoice: bytes) -> Reading:
        """The reading of a PDF with the invoice for programs that it carries."""
        try:
            exact = await self._parsed_file(invoice, replace(reading, kind=FileType.XML, parts=()))
        except (InvalidInput, Unavailable) as error:
            note = f"the invoice within the PDF was not read: {error.code}"
            return replace(reading, notes=(*reading.notes, note))
        return replace(reading, records=exact.records)

    async def _parsed_file(self, data: bytes, reading: Reading) -> Reading:
        limits = self._limits
        seconds = limits.file_seconds
        bounds = (limits.characters, limits.cells, limits.inflated, int(seconds) + 1)
        image = ("images", "scan" if reading.kind is FileType.PDF else "image")
        parser = _PARSER_OF.get(reading.kind, image)
        arguments = ("-m", _PARSERS, *parser, *map(str, bounds))
        said = await _parsed(arguments, data, seconds, noun="file")
        fault = said.get("fault")
        if fault in {"characters", "cells"}:
            raise too_large(fault, getattr(limits, fault))
        if fault is not None:
            raise InvalidInput(f"document.{fault}", _FILE_FAULTS[fault])
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
                if reading.kind is FileType.JSONL:
                    lines = ",".join(line for line in text.split("\n") if line.strip())
                    text = f"[{lines}]"
                return replace(reading, parts=whole, records=records_of(text, self._limits.cells))
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
