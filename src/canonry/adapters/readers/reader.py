"""The reader of all kinds: checks the size, asks the one who knows the kind, checks the outcome."""

import asyncio
from collections.abc import Sequence

from typing_extensions import override

from canonry.adapters.readers.markdown import sections
from canonry.adapters.readers.pdf import read_pdf
from canonry.adapters.readers.plain import decoded
from canonry.domain.errors import InvalidInput
from canonry.domain.excerpts import DocumentType, Part
from canonry.ports.document_reader import DocumentLimits, DocumentReader

_AT_ONCE = 2


class LocalReader(DocumentReader):
    """Reads on this machine; at most two PDFs at a time, others wait."""

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
