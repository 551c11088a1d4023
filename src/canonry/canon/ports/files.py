"""File types, the content of a read file, and the port of document readers."""

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

from canonry.language.texts.sentences import Box, DocumentType, Part

FILE_BYTES_MAX: Final = 52_428_800
"""The size of the largest accepted file."""

_CHARSET: Final = re.compile(r";\s*charset=\"?([\w.-]{1,40})\"?", re.IGNORECASE)

Cell = str | int | float | bool | None
"""A value in a table cell, typed if the file has types; dates are ISO 8601 texts."""


class FileType(StrEnum):
    """The accepted file types, by the media type under which they are stored."""

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
        """Return whether reading it needs text recognition."""
        return self.value.startswith("image/")

    @property
    def is_data(self) -> bool:
        """Return whether the whole file becomes records, without text to search."""
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
    """The caller's description of a file; it matters only if the content is ambiguous.

    `mime_type` may name a charset, as in `text/csv; charset=windows-1252`.
    """

    mime_type: str = ""
    name: str = ""

    @property
    def media_type(self) -> str:
        """Return the media type without parameters, in lower case."""
        return self.mime_type.partition(";")[0].strip().lower()

    @property
    def charset_name(self) -> str | None:
        """Return the charset, or None."""
        found = _CHARSET.search(self.mime_type)
        return found[1].lower() if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of a file; rows may differ in length.

    `lines` has the line number of each row, if the file has lines.
    """

    rows: tuple[tuple[Cell, ...], ...]
    name: str | None = None
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Named values of one object, card, calendar entry or message header.

    `kind` is the file's own word: `object`, `vcard`, `vevent`, `vtodo`, `message`, `invoice`.
    """

    kind: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file within a file; `record` is the index of its record, if any."""

    data: bytes = field(repr=False)
    hint: FileHint
    record: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The content of a file; `differs` if it contradicts the caller's media type.

    `layout` is the text of a paged file with blanks for gaps, so that columns stay aligned.

    `members` are contained files, such as attachments of a message. They are not read with it,
    because each becomes its own source. `made_at` is the time of this version of the file, in
    RFC 3339, if its format has a field for it.
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
    made_at: str | None = None

    @property
    def whole_text(self) -> str:
        """Return all text in reading order."""
        return "\n".join(part.text for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """Limits on the size of a document and on the time to read it.

    `bytes` limits a document and `file_bytes` a file; `inflated` limits the unpacked size of a
    compressed file, and `cells` the cells of its tables.
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
    """Reads documents and files; stops at the limits of time and size."""

    @abstractmethod
    async def read_parts(
        self, data: bytes, kind: DocumentType, *, charset: str | None = None
    ) -> Sequence[Part]:
        """Return the parts in reading order: the pages of a PDF, the sections of Markdown.

        A text is decoded by its byte order mark, else by `charset`, else as UTF-8; the charset is
        never guessed. No part contains a NUL or a lone surrogate, and at least one has text.

        Raises:
            InvalidInput: `document.empty`, without text; `document.not-text`, with NUL;
                `document.encoding`, not in that charset; `document.damaged`; `document.encrypted`;
                `document.too-large`, with `limit`.
            Unavailable: `document.too-slow`, reading was stopped.
        """

    @abstractmethod
    def kind_of(self, data: bytes, hint: FileHint) -> FileType:
        """Return the type of a file by its content; `hint` decides between similar types.

        Raises:
            InvalidInput: `document.unsupported`, not an accepted type; `document.empty`.
        """

    @abstractmethod
    async def examine_file(self, data: bytes, hint: FileHint) -> Reading:
        """Return everything in a file: text, tables, records and unread contained files.

        A file without text, such as a photograph, gives a reading without parts. A text without a
        declared charset gets a detected one, with a note.

        Raises:
            InvalidInput: as `kind_of` and `read_parts`; `document.bomb`, it unpacks to too much;
                `document.no-recogniser`, an image without an installed text recogniser.
            Unavailable: `document.too-slow` or `document.no-reader`.
        """

    @abstractmethod
    async def render_page(
        self, data: bytes, hint: FileHint, page: int, boxes: Sequence[Box]
    ) -> bytes:
        """Return a page of a PDF, counted from 1, as PNG of at most four million pixels.

        `boxes` are highlighted in it. The only page of an image is its own bytes.

        Raises:
            InvalidInput: `document.no-page`, or it is no PDF; `document.damaged`,
                `document.encrypted` or `document.too-large`.
            Unavailable: `document.too-slow` or `document.no-reader`.
        """
