"""Files: their kinds, what a reading of one holds, and the port of document readers."""

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

from canonry.language.texts.sentences import Box, DocumentType, Part

FILE_BYTES_MAX: Final = 52_428_800
"""The largest file that is taken; one byte more is refused."""

_CHARSET: Final = re.compile(r";\s*charset=\"?([\w.-]{1,40})\"?", re.IGNORECASE)

Cell = str | int | float | bool | None
"""What stands in a cell of a table, with its type where the file has types; dates as ISO 8601."""


class FileType(StrEnum):
    """The kinds of files that are taken, by the media type under which they are kept."""

    PDF = "application/pdf"
    MARKDOWN = "text/markdown"
    PLAIN = "text/plain"
    HTML = "text/html"
    CSV = "text/csv"
    JSON = "application/json"
    XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    XLS = "application/vnd.ms-excel"
    ODS = "application/vnd.oasis.opendocument.spreadsheet"
    ODT = "application/vnd.oasis.opendocument.text"
    PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
    RTF = "application/rtf"
    EPUB = "application/epub+zip"
    ZIP = "application/zip"
    JSONL = "application/jsonl"
    EML = "message/rfc822"
    MBOX = "application/mbox"
    MSG = "application/vnd.ms-outlook"
    VCF = "text/vcard"
    ICS = "text/calendar"
    PNG = "image/png"
    JPEG = "image/jpeg"
    WEBP = "image/webp"
    TIFF = "image/tiff"
    GIF = "image/gif"
    BMP = "image/bmp"
    HEIC = "image/heic"
    XML = "application/xml"
    MT940 = "application/x-mt940"
    OFX = "application/x-ofx"
    QIF = "application/x-qif"

    @property
    def is_image(self) -> bool:
        """Whether its text has to be recognised."""
        return self.value.startswith("image/")

    @property
    def is_data(self) -> bool:
        """Whether all that it says becomes records, so that no text is left to be searched."""
        return self in _DATA


_DATA: Final = frozenset(
    (
        *(FileType.CSV, FileType.JSON, FileType.JSONL, FileType.XML),
        *(FileType.XLSX, FileType.XLS, FileType.ODS, FileType.VCF, FileType.ICS),
        *(FileType.MT940, FileType.OFX, FileType.QIF, FileType.ZIP, FileType.MBOX),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHint:
    """What its bringer says of a file; the content decides, and this only where that is open.

    `mime_type` may name a charset, as in `text/csv; charset=windows-1252`.
    """

    mime_type: str = ""
    name: str = ""

    @property
    def media(self) -> str:
        """The media type alone, in lower case."""
        return self.mime_type.partition(";")[0].strip().lower()

    @property
    def charset(self) -> str | None:
        """The charset, if one is named."""
        found = _CHARSET.search(self.mime_type)
        return found[1].lower() if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows as they stand in the file; rows may differ in length.

    `lines` has the line on which each begins, where the file has lines.
    """

    rows: tuple[tuple[Cell, ...], ...]
    name: str | None = None
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Named values that stand together: an object, a card, a calendar entry, a message's head.

    `kind` says what the file calls it: `object`, `vcard`, `vevent`, `vtodo`, `message`,
    `invoice`.
    """

    kind: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file within a file; `record` is the place of the record that it belongs to, if any."""

    data: bytes = field(repr=False)
    hint: FileHint
    record: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader found in a file; `differs` when its content is not what its bringer said.

    `layout` is the text again where a file has pages, with blanks for gaps, so that what stands
    below each other does so in it too.

    `members` are the files that come within it, such as those attached to a message; they are
    not read with it, as each is a source of its own.
    """

    kind: FileType
    name: str = ""
    parts: tuple[Part, ...] = ()
    layout: str = ""
    tables: tuple[Table, ...] = ()
    records: tuple[Record, ...] = ()
    differs: bool = False
    notes: tuple[str, ...] = field(default=())
    members: tuple[Member, ...] = ()

    @property
    def text(self) -> str:
        """All text in reading order."""
        return "\n".join(part.text for part in self.parts)


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
