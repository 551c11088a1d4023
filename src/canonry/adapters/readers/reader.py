"""The reader of all kinds: checks the size, asks the one who knows the kind, checks the outcome."""

import asyncio
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from typing_extensions import override

from canonry.adapters.readers.kinds import declared, kind_of
from canonry.adapters.readers.markdown import sections
from canonry.adapters.readers.pdf import read_pdf
from canonry.adapters.readers.plain import decoded
from canonry.adapters.readers.processes import parsed
from canonry.adapters.readers.structured import records_of, table_of
from canonry.domain.errors import InvalidInput, Unavailable
from canonry.domain.texts.excerpts import DocumentType, Part
from canonry.domain.truth.files import FileHint, FileType, Reading, Record, Table
from canonry.ports.document_reader import DocumentLimits, DocumentReader

_AT_ONCE: Final = 2
_PARSERS: Final = "canonry.adapters.parsers"
_ATTACHED_MAX: Final = 20
"""So many files that are attached to one are read."""

Attached = tuple[str, str, str]
"""The name of an attached file, its media type, and its bytes in base64."""

_SECTIONED_MAX: Final = 2_000_000
"""Longer Markdown is one part: finding its headings would take minutes."""

_NAMES: Final = {
    FileType.HTML: "html",
    FileType.XLSX: "xlsx",
    FileType.DOCX: "docx",
    FileType.EML: "eml",
    FileType.VCF: "vcf",
    FileType.ICS: "ics",
}
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
                parts = await read_pdf(data, self._limits)
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
        reading, attached = await self._examined(data, hint)
        return await self._with_attached(reading, attached) if attached else reading

    async def _examined(self, data: bytes, hint: FileHint) -> tuple[Reading, Sequence[Attached]]:
        """The reading of the file itself, and what is attached to it."""
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
                return replace(reading, parts=tuple(await read_pdf(data, bounds))), ()
        if kind in _NAMES or kind.is_image:
            async with self._turn:
                return await self._parsed(data, reading)
        return await asyncio.to_thread(self._structured, data, hint, reading), ()

    async def _with_attached(self, reading: Reading, attached: Sequence[Attached]) -> Reading:
        """The reading with those of its attached files that can be read, and notes of the others.

        What is attached to something attached is only named.
        """
        read: list[Reading] = []
        notes: list[str] = []
        clock = asyncio.get_running_loop().time
        until = clock() + self._limits.file_seconds
        for number, (name, media, content) in enumerate(attached, 1):
            if number > _ATTACHED_MAX or clock() > until:
                notes.append(f"attachments from number {number} on were not read")
                break
            inner = FileHint(mime_type=media, name=name)
            try:
                file, _ = await self._examined(b64decode(content), inner)
            except (InvalidInput, Unavailable) as error:
                notes.append(f"attachment {number} was not read: {error.code}")
                continue
            read.append(file)
        return replace(reading, attached=tuple(read), notes=(*reading.notes, *notes))

    async def _parsed(self, data: bytes, reading: Reading) -> tuple[Reading, Sequence[Attached]]:
        limits = self._limits
        seconds = limits.file_seconds
        bounds = (limits.characters, limits.cells, limits.inflated, int(seconds) + 1)
        name = _NAMES.get(reading.kind, "image")
        arguments = ("-m", _PARSERS, name, *map(str, bounds))
        said = await parsed(arguments, data, seconds, noun="file")
        fault = said.get("fault")
        if fault in {"characters", "cells"}:
            raise too_large(fault, getattr(limits, fault))
        if fault is not None:
            raise InvalidInput(f"document.{fault}", _FAULTS[fault])
        return _told(said, reading), said["attached"]

    def _structured(self, data: bytes, hint: FileHint, reading: Reading) -> Reading:
        text = decoded(data, hint.charset)
        whole = (Part(text=text),)
        match reading.kind:
            case FileType.CSV:
                tables = (table_of(text, self._limits.cells),)
                return replace(reading, parts=whole, tables=tables)
            case FileType.JSON:
                # Its parser lets nobody else work meanwhile.
                if len(text) > self._limits.characters:
                    raise too_large("characters", self._limits.characters)
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
        notes=tuple(said["notes"]),
    )


def too_large(unit: str, limit: int) -> InvalidInput:
    """The error for a document with too much of `unit`."""
    message = f"the document has more than {limit} {unit}; split it, and ingest its pieces"
    return InvalidInput("document.too-large", message, unit=unit, limit=limit)


def _read_text(
    data: bytes, kind: DocumentType, charset: str | None, limits: DocumentLimits
) -> Sequence[Part]:
    text = decoded(data, charset)
    if len(text) > limits.characters:  # before anybody looks for headings in it
        raise too_large("characters", limits.characters)
    return sections(text) if kind is DocumentType.MARKDOWN else (Part(text=text),)
