"""The document reader: the text of a file that somebody gave us, part by part; trust nothing."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from canonry.canon.ports.files import FILE_BYTES_MAX, FileHint, FileType, Reading
from canonry.language.texts.excerpts import Box, DocumentType, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """How large a document may be, and how long reading it may take.

    `bytes` bounds what is read as a document and `file_bytes` what is read as a file; `inflated`
    bounds what a compressed file may unpack to, and `cells` what its tables may hold.
    """

    bytes: int = 32 * 1024 * 1024
    pages: int = 2_000
    characters: int = 8_000_000
    seconds: float = 300.0
    file_bytes: int = FILE_BYTES_MAX
    file_seconds: float = 25.0
    inflated: int = 256 * 1024 * 1024
    cells: int = 1_000_000


class DocumentReader(Protocol):
    """Reads documents and files; one that takes too long or too much is refused."""

    @abstractmethod
    async def read(
        self, data: bytes, kind: DocumentType, *, charset: str | None = None
    ) -> Sequence[Part]:
        """The parts in reading order: the pages of a PDF, the sections of Markdown.

        A text is decoded by its byte order mark, else by `charset`, else as UTF-8, and never by a
        guess. No part holds a NUL or half a surrogate pair, and at least one says something.

        Raises:
            InvalidInput: `document.empty`, there is no text in it; `document.not-text`, it holds
                NUL; `document.encoding`, it is not in that encoding; `document.damaged`;
                `document.encrypted`; `document.too-large`, with `limit`.
            Unavailable: `document.too-slow`, reading was stopped.
        """

    @abstractmethod
    def kind_of(self, data: bytes, hint: FileHint) -> FileType:
        """What a file is, by its content; `hint` chooses where several kinds look alike.

        Raises:
            InvalidInput: `document.unsupported`, no kind that is taken; `document.empty`.
        """

    @abstractmethod
    async def examine(self, data: bytes, hint: FileHint) -> Reading:
        """Everything in a file: its text, tables and records.

        A file without text, such as a photograph of nothing, gives a reading without parts. What
        charset a text is in that names none is told by its letters alone, with a note. Files
        within the file come with it as they are.

        Raises:
            InvalidInput: as `kind_of` and `read` say; `document.bomb`, it unpacks to too much;
                `document.no-recogniser`, an image where no recogniser of text is installed.
            Unavailable: `document.too-slow` or `document.no-reader`.
        """

    @abstractmethod
    async def picture(self, data: bytes, hint: FileHint, page: int, boxes: Sequence[Box]) -> bytes:
        """A page of a PDF, counted from 1, as PNG of at most four million points.

        `boxes` are marked in it as a text is by a pen.

        Raises:
            InvalidInput: `document.no-page`, or it is no PDF; `document.damaged`,
                `document.encrypted` or `document.too-large`.
            Unavailable: `document.too-slow` or `document.no-reader`.
        """
