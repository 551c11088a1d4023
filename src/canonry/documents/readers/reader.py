"""The reader of all kinds of files, and the processes in which parsers run."""

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
from canonry.documents.parsers.findings import STRUCK
from canonry.documents.readers.kinds import NAMES, declared, kind_of
from canonry.documents.readers.structured import (
    front_matter,
    records_of,
    sections,
    table_of,
    without_struck,
)
from canonry.language.texts.sentences import Box, DocumentType, Part
from canonry.values.charsets import decoded, guessed
from canonry.values.errors import CanonryError, InvalidInput, Unavailable


async def _parsed(
    arguments: Sequence[str], data: bytes, seconds: float, *, noun: str
) -> Mapping[str, Any]:
    """Run a Python program on `data` and return the JSON from its standard output.

    A program that crashes, for example out of memory, returns `{"fault": "damaged"}`.

    Raises:
        Unavailable: `document.too-slow` or `document.no-reader`.
    """
    try:
        # -P: the working folder must not hide modules that a parser imports.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", *arguments), stdin=PIPE, stdout=PIPE, stderr=DEVNULL
        )
    except OSError as error:
        message = f"No process could be started to read the {noun}. Try again later."
        raise Unavailable("document.no-reader", message) from error
    try:
        async with asyncio.timeout(seconds):
            written, _ = await process.communicate(data)
    except TimeoutError as error:
        message = f"Reading the {noun} took longer than {seconds:g} s. Split it and send the parts."
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
    "encrypted": "The PDF is encrypted. Remove the password and send it again.",
    "damaged": "The PDF is damaged or not a PDF. Open it in a viewer and save it again.",
}


LAID_OUT_MAX: Final = 50
"""The most pages that are read with their layout, which takes longer."""


async def _read_pdf(
    data: bytes, limits: DocumentLimits, *, laid_out: bool = False
) -> tuple[Sequence[Part], Mapping[str, Any]]:
    """Return the pages of a PDF with text, each with its title in the outline, and the raw reply.

    With `laid_out`, the reply has the `layout` of the pages, the embedded `invoice` and other
    `files` in base64, and the numbers of pages without text as `pictures`.

    Raises:
        InvalidInput: `document.damaged`, `document.encrypted` or `document.too-large`.
        Unavailable: `document.too-slow` or `document.no-reader`.
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
        return InvalidInput("document.no-page", "The PDF has no such page.", path="/page")
    if fault in _FAULTS:
        return InvalidInput(f"document.{fault}", _FAULTS[fault])
    limit = limits.pages if fault == "pages" else limits.characters
    message = f"The PDF has more than {limit} {fault}. Split it and send the parts."
    return InvalidInput("document.too-large", message, unit=fault, limit=limit)


_AT_ONCE: Final = 2
_SHORT: Final = 10_000
"""A text of at most so many bytes is read faster than a thread is started."""
_PARSERS: Final = "canonry.documents.parsers"
_SECTIONED_MAX: Final = 2_000_000
"""The most characters of Markdown that is split at headings; longer text takes minutes."""

_PARSER_OF: Final = {
    FileType[kind]: (module, kind.lower())
    for module, kinds in NAMES["parsers"].items()
    for kind in kinds.split()
}
"""The parser of each kind: its module and its name of the kind."""

_TEXTS: Final = frozenset({FileType.VCF, FileType.ICS, FileType.HTML})
"""Kinds that parsers read as UTF-8, unless the file names a charset."""

_HEAD_OF_PAGE: Final = 4_096
_FILE_FAULTS: Final = {
    "damaged": "The file is damaged. Save it again with its program and send it.",
    "encrypted": "The file is encrypted. Remove the password and send it again.",
    "bomb": "The file is too large when unpacked. Split it, or send its text.",
    "no-recogniser": "This server cannot read text in images. Install the extra `ocr`, or send "
    "the text.",
}


class LocalReader(DocumentReader):
    """Reads files on this machine, at most two at a time in separate processes."""

    def __init__(self, limits: DocumentLimits | None = None) -> None:
        """Refuse files beyond `limits`."""
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
        elif len(data) <= _SHORT:
            parts = _read_text(data, kind, charset, self._limits)
        else:
            parts = await asyncio.to_thread(_read_text, data, kind, charset, self._limits)
        if sum(len(part.text) for part in parts) > self._limits.characters:
            raise too_large("characters", self._limits.characters)
        if not any(part.text.strip() for part in parts):
            message = (
                "The document has no text. If its pages are scans, recognise their text first."
            )
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
                files = (Member(data=b64decode(f), hint=FileHint(name=n)) for n, f in said["files"])
                layout = "\n".join(said["layout"])
                reading = replace(reading, parts=tuple(parts), layout=layout, members=tuple(files))
                reading = replace(reading, made_at=said["made_at"])
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
        kind = kind_of(data, hint)
        if kind.is_image and page == 1:
            return data
        if kind is not FileType.PDF or page < 1:
            raise InvalidInput("document.no-page", "Only PDFs have pages to draw.", path="/page")
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
        """Add the recognised text of scanned pages to the reading of a PDF."""
        pages = "The PDF has only pictures"
        if reading.parts:
            pages = f"{len(pictures)} pages of the PDF have only pictures"
        try:
            scanned = await self._parsed_file(data, replace(reading, parts=()))
        except (InvalidInput, Unavailable) as error:
            why = _FILE_FAULTS["no-recogniser"] if error.code.endswith("recogniser") else error.code
            return replace(reading, notes=(*reading.notes, f"{pages}. {why}"))
        parts = sorted((*reading.parts, *scanned.parts), key=lambda part: part.page or 0)
        told = scanned.notes or (f"{pages}, and no text was recognised in them.",)
        return replace(reading, parts=tuple(parts), notes=(*reading.notes, *told))

    async def _with_invoice(self, reading: Reading, invoice: bytes) -> Reading:
        """Add the embedded invoice to the reading of a PDF."""
        try:
            exact = await self._parsed_file(invoice, replace(reading, kind=FileType.XML, parts=()))
        except (InvalidInput, Unavailable) as error:
            note = f"The invoice within the PDF was not read ({error.code})."
            return replace(reading, notes=(*reading.notes, note))
        return replace(reading, records=exact.records, made_at=exact.made_at)

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
                # The JSON parser blocks the process while it runs.
                if len(text) > self._limits.characters:
                    raise too_large("characters", self._limits.characters)
                if reading.kind is FileType.JSONL:
                    lines = ",".join(line for line in text.split("\n") if line.strip())
                    text = f"[{lines}]"
                records, made_at, beside = records_of(text, self._limits.cells)
                reading = replace(reading, records=records, notes=(*notes, *beside))
                return replace(reading, parts=whole, made_at=made_at)
            case FileType.MARKDOWN if len(text) <= _SECTIONED_MAX:
                records, below, faults = front_matter(without_struck(text))
                struck = (STRUCK,) if len(without_struck(text)) < len(text) else ()
                reading = replace(reading, records=records, notes=(*notes, *faults, *struck))
                return replace(reading, parts=tuple(sections(below)))
            case _:
                return replace(reading, parts=whole)


def _told(said: Mapping[str, Any], reading: Reading) -> Reading:
    """Read the reply of a parser process."""
    return replace(
        reading,
        parts=tuple(Part(text=t, page=p, section=s) for p, s, t in said["parts"]),
        tables=tuple(Table(rows=tuple(map(tuple, rows)), name=n) for n, rows in said["tables"]),
        records=tuple(Record(kind=kind, fields=fields) for kind, fields in said["records"]),
        notes=(*reading.notes, *said["notes"]),
        made_at=said["made_at"] or reading.made_at,
        members=tuple(
            Member(data=b64decode(data), hint=FileHint(mime_type=media, name=name), record=place)
            for name, media, data, place in said["members"]
        ),
    )


def too_large(unit: str, limit: int) -> InvalidInput:
    """Return the error for a document with too much of `unit`."""
    message = f"The document has more than {limit} {unit}. Split it and send the parts."
    return InvalidInput("document.too-large", message, unit=unit, limit=limit)


def _read_text(
    data: bytes, kind: DocumentType, charset: str | None, limits: DocumentLimits
) -> Sequence[Part]:
    text = decoded(data, charset)
    if len(text) > limits.characters:  # before the search for headings
        raise too_large("characters", limits.characters)
    return sections(text) if kind is DocumentType.MARKDOWN else (Part(text=text),)
