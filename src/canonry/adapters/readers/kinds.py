"""What kind of file some bytes are: by signatures and structure, and a hint only among look-alikes.

Only kinds of a closed list are told; everything else, programs above all, is refused.
"""

import codecs
import io
import json
import re
from collections.abc import Callable
from typing import Final

from canonry.adapters.readers.plain import known
from canonry.domain.errors import InvalidInput
from canonry.domain.truth.files import FileHint, FileType

_SIGNATURES: Final = (
    (b"%PDF-", FileType.PDF),
    (b"\x89PNG\r\n\x1a\n", FileType.PNG),
    (b"\xff\xd8\xff", FileType.JPEG),
    (b"II*\0", FileType.TIFF),
    (b"MM\0*", FileType.TIFF),
)
_PDF_WITHIN: Final = 1024
"""A PDF may stand behind some other bytes; readers look so far."""

_HEAD: Final = 64 * 1024
_ENTRIES_MAX: Final = 10_000
_CONTROL: Final = re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_HTML: Final = re.compile(
    r"\s*+(?:<\?xml[^>]*+>\s*+)?(?:<!--(?>.*?-->)\s*+)*+<(?:!doctype\s++html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_HEADER: Final = re.compile(
    r"(?:from|to|subject|date|received|return-path|message-id|mime-version|delivered-to"
    r"|reply-to|x-[\w-]+):[ \t]?\S",
    re.IGNORECASE,
)
_HEADINGS: Final = re.compile(r"(?m)^(?:#{1,6} \S|```|\*\*\S|[-*] \[[ xX]\] )")
_SUFFIXES: Final = {
    "csv": FileType.CSV,
    "tsv": FileType.CSV,
    "md": FileType.MARKDOWN,
    "markdown": FileType.MARKDOWN,
    "htm": FileType.HTML,
    "html": FileType.HTML,
    "json": FileType.JSON,
    "eml": FileType.EML,
    "vcf": FileType.VCF,
    "ics": FileType.ICS,
    "txt": FileType.PLAIN,
}
_SYNONYMS: Final = {
    "text/x-markdown": FileType.MARKDOWN,
    "text/tab-separated-values": FileType.CSV,
    "application/csv": FileType.CSV,
    "text/json": FileType.JSON,
    "application/xhtml+xml": FileType.HTML,
    "text/x-vcard": FileType.VCF,
    "text/directory": FileType.VCF,
    "image/jpg": FileType.JPEG,
}


def kind_of(data: bytes, hint: FileHint) -> FileType:
    """The kind of the file.

    Raises:
        InvalidInput: `document.unsupported` or `document.empty`.
    """
    if not data.strip(b" \t\r\n\0"):
        raise InvalidInput("document.empty", "the file is empty; bring one that says something")
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return FileType.WEBP
    if data.startswith(b"PK\x03\x04"):
        return _packed(data)
    text = _text(data, hint)
    if text is None:
        if b"%PDF-" in data[:_PDF_WITHIN]:
            return FileType.PDF
        raise unsupported()
    return _written(text, hint)


def declared(hint: FileHint) -> FileType | None:
    """The kind that the hint names, by its media type or else by the end of its name."""
    media = hint.media
    if media in _SYNONYMS:
        return _SYNONYMS[media]
    named = _SUFFIXES.get(hint.name.rpartition(".")[2].lower())
    if media in {"", "application/octet-stream"} or (media == FileType.PLAIN and named):
        return named
    return next((kind for kind in FileType if kind == media), None)


def unsupported() -> InvalidInput:
    """The error for content of no kind that is taken."""
    kinds = "PDF, Markdown, text, HTML, CSV, JSON, XLSX, DOCX, EML, VCF, ICS or an image"
    message = f"the content of the file is of no kind that is taken; bring {kinds}"
    return InvalidInput("document.unsupported", message)


def _packed(data: bytes) -> FileType:
    """The kind of an archive, which must be an office document."""
    import zipfile  # noqa: PLC0415 - a server that reads no such file needs it not

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, RuntimeError, OverflowError) as error:
        message = "the file is a damaged archive; open it where it was made and save it anew"
        raise InvalidInput("document.damaged", message) from error
    if len(names) <= _ENTRIES_MAX:
        if "xl/workbook.xml" in names:
            return FileType.XLSX
        if "word/document.xml" in names:
            return FileType.DOCX
    raise unsupported()


def _text(data: bytes, hint: FileHint) -> str | None:
    """The beginning as text, None where the bytes are none."""
    head = data[:_HEAD]
    encoding = hint.charset or "latin-1"
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(mark):
            encoding = name
    try:
        text = head.decode(known(encoding), "ignore")
    except LookupError:
        text = head.decode("latin-1")
    return None if _CONTROL.search(text) else text


def _written(text: str, hint: FileHint) -> FileType:
    """The kind of a text: by a structure that leaves no doubt, else as declared where that fits."""
    begin = text.lstrip("\ufeff \t\r\n")
    upper = begin[:16].upper()
    if upper.startswith("BEGIN:VCARD"):
        return FileType.VCF
    if upper.startswith("BEGIN:VCALENDAR"):
        return FileType.ICS
    if _HTML.match(begin):
        return FileType.HTML
    said = declared(hint)
    if said is not None and said in _FITS and _FITS[said](begin):
        return said
    for kind in (FileType.JSON, FileType.EML, FileType.CSV, FileType.MARKDOWN):
        if said is FileType.PLAIN and kind is FileType.MARKDOWN:
            continue  # a mark at the beginning of a line is no reason to doubt it
        if _LOOKS[kind](begin):
            return kind
    return FileType.PLAIN


def _like_json(text: str) -> bool:
    if text[:1] not in {"{", "["}:
        return False
    try:
        json.JSONDecoder().raw_decode(text)
    except RecursionError:
        return True
    except json.JSONDecodeError as error:
        # Of a long text only the beginning is looked at: that it breaks off is no fault of it.
        at_the_end = error.pos >= len(text) - _BROKEN_OFF or "Unterminated" in error.msg
        return len(text) > _HEAD // 2 and at_the_end
    return True


_BROKEN_OFF: Final = 32


def _like_mail(text: str) -> bool:
    """Whether it begins with at least two header lines of a message."""
    lines = [line for line in text.splitlines()[:60] if line[:1] not in {" ", "\t"}]
    head = lines[: lines.index("")] if "" in lines else lines
    return len(head) > 1 and bool(_HEADER.match(head[0])) and _headers(head) >= _HEADERS_MIN


_HEADERS_MIN: Final = 3


def _headers(lines: list[str]) -> int:
    return sum(1 for line in lines if _HEADER.match(line))


def _like_table(text: str) -> bool:
    """Whether the first lines have as many separators each, of one of the usual ones."""
    lines = [line for line in text.splitlines()[:8] if line.strip()]
    if len(lines) < 2:  # noqa: PLR2004 - a header and a row
        return False
    return any(
        lines[0].count(mark) >= 2  # noqa: PLR2004 - prose has a comma in a line too
        and all(line.count(mark) >= lines[0].count(mark) for line in lines[:-1])
        and not lines[0].rstrip().endswith((".", ":"))
        for mark in (",", ";", "\t", "|")
    )


def _always(text: str) -> bool:
    return bool(text)


_LOOKS: Final[dict[FileType, Callable[[str], bool]]] = {
    FileType.JSON: _like_json,
    FileType.EML: _like_mail,
    FileType.CSV: _like_table,
    FileType.MARKDOWN: lambda text: bool(_HEADINGS.search(text)),
}
_FITS: Final[dict[FileType, Callable[[str], bool]]] = {
    FileType.JSON: lambda text: text[:1] in {"{", "["},
    FileType.EML: lambda text: bool(_HEADER.match(text)),
    FileType.HTML: lambda text: "<" in text,
    FileType.CSV: _always,
    FileType.MARKDOWN: _always,
}
"""What a declared kind asks of a text; kinds that are not here are told by their signature."""
