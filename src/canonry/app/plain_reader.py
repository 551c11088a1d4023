"""Reads plain text and Markdown in UTF-8; it answers where the package `documents` is left out."""

from collections.abc import Sequence
from typing import Final

from typing_extensions import override

from canonry.canon.ports.files import FILE_BYTES_MAX, DocumentReader, FileHint, FileType, Reading
from canonry.language.texts.sentences import Box, DocumentType, Part
from canonry.values.errors import InvalidInput

_OTHERS: Final = "install the package canonry.documents for other files"


class PlainReader(DocumentReader):
    """Takes a text as one part."""

    @override
    async def read(
        self, data: bytes, kind: DocumentType, *, charset: str | None = None
    ) -> Sequence[Part]:
        if kind is DocumentType.PDF:
            raise InvalidInput("document.unsupported", f"only text is read here; {_OTHERS}")
        return (Part(text=_text_of(data, charset)),)

    @override
    def kind_of(self, data: bytes, hint: FileHint) -> FileType:
        _text_of(data, hint.charset)
        return FileType.MARKDOWN if hint.media == FileType.MARKDOWN else FileType.PLAIN

    @override
    async def examine(self, data: bytes, hint: FileHint) -> Reading:
        parts = (Part(text=_text_of(data, hint.charset)),)
        return Reading(kind=self.kind_of(data, hint), name=hint.name, parts=parts)

    @override
    async def picture(self, data: bytes, hint: FileHint, page: int, boxes: Sequence[Box]) -> bytes:
        raise InvalidInput("document.no-page", f"no pages are drawn here; {_OTHERS}")


def _text_of(data: bytes, charset: str | None) -> str:
    if len(data) > FILE_BYTES_MAX:
        message = f"the file has {len(data)} bytes; at most {FILE_BYTES_MAX} are read"
        raise InvalidInput("document.too-large", message, limit=FILE_BYTES_MAX)
    try:
        text = data.decode(charset or "utf-8-sig")
    except (LookupError, UnicodeError) as error:
        message = f"the text is not {charset or 'utf-8'}; save it as UTF-8, or {_OTHERS}"
        raise InvalidInput("document.encoding", message) from error
    if "\0" in text:
        raise InvalidInput("document.not-text", f"the file holds NUL, so it is no text; {_OTHERS}")
    if not text.strip():
        raise InvalidInput("document.empty", "there is no text in the document")
    return text.replace("\r\n", "\n").replace("\r", "\n")
