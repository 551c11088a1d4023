"""Files that somebody hands over: which kinds can be read, and what a reader finds in one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from canonry.language.texts.excerpts import Part

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
