"""Files that somebody hands over: which kinds can be read, and what a reader finds in one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from canonry.domain.texts.excerpts import Part

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
    EML = "message/rfc822"
    VCF = "text/vcard"
    ICS = "text/calendar"
    PNG = "image/png"
    JPEG = "image/jpeg"
    WEBP = "image/webp"
    TIFF = "image/tiff"

    @property
    def is_image(self) -> bool:
        """Whether its text has to be recognised."""
        return self.value.startswith("image/")


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
    """Rows as they stand in the file, with the header first; rows may differ in length."""

    rows: tuple[tuple[Cell, ...], ...]
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Named values that stand together: an object, a card, a calendar entry, a message's head.

    `kind` says what the file calls it: `object`, `vcard`, `vevent`, `vtodo`, `message`.
    """

    kind: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader found in a file; `differs` when its content is not what its bringer said.

    `attached` are the files that come within it, such as those of a message.
    """

    kind: FileType
    name: str = ""
    parts: tuple[Part, ...] = ()
    tables: tuple[Table, ...] = ()
    records: tuple[Record, ...] = ()
    differs: bool = False
    notes: tuple[str, ...] = field(default=())
    attached: tuple["Reading", ...] = ()

    @property
    def text(self) -> str:
        """All text in reading order."""
        return "\n".join(part.text for part in self.parts)
