"""Detection of the kind of a file, by its content and the sender's hint."""

import io
import json
import re
import zlib
from collections.abc import Callable
from typing import Final

from canonry.canon.ports.files import FileHint, FileType
from canonry.values.charsets import MARKS, check_charset
from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput

_HEAD: Final = 4_000  # formats show at the beginning
_ROOTS: Final = ("Document", "Invoice", "CreditNote", "CrossIndustry")
_SPACES: Final = (
    *("camt.052", "camt.053", "camt.054"),
    *("names:specification:ubl:schema", "CrossIndustryInvoice", "CrossIndustryDocument"),
)
"""Parts of the namespaces of exchanged XML files."""

_BLOCKS_MAX: Final = 8  # the header blocks of SWIFT stand in the first lines


def detect_exchanged(begin: str) -> FileType | None:
    """Detect a bank or invoice file by its beginning; None if it is none."""
    head = begin[:_HEAD]
    upper = head.upper()
    if upper.startswith(("OFXHEADER", "<OFX>", "<?OFX ")):
        return FileType.OFX
    if upper.startswith("<?XML") and "<?OFX " in upper:
        return FileType.OFX
    if head.lower().startswith(("!type:", "!account", "!option:", "!clear:")):
        return FileType.QIF
    if _is_mt940(head):
        return FileType.MT940
    tag = _root_of(begin) if head.startswith("<") else ""
    name = tag[1:].split(None, 1)[0].rpartition(":")[2] if len(tag) > 2 else ""  # noqa: PLR2004
    exact = name.startswith(_ROOTS) and any(space in tag for space in _SPACES)
    return FileType.XML if exact else None


def _is_mt940(head: str) -> bool:
    """Return whether an MT940 or MT942 statement begins here, perhaps after SWIFT blocks."""
    lines = [line for line in head.splitlines() if line.strip()]
    first = next((n for n, line in enumerate(lines[:_BLOCKS_MAX]) if ":20:" in line[:200]), None)
    if first is None or any(line[:1] != "{" for line in lines[:first]):
        return False
    return any(line.startswith((":60F:", ":60M:", ":34F:")) for line in lines[first:])


def _root_of(text: str) -> str:
    """Return the first tag of an XML document, after its declaration and comments."""
    position = 0
    for begin, end in (("<?", "?>"), ("<!--", "-->"), ("<!--", "-->")):
        rest = text[position:].lstrip()
        position = len(text) - len(rest)
        if rest.startswith(begin) and end in rest:
            position += rest.index(end) + len(end)
    tag = text[position : position + _HEAD].lstrip()
    return tag[: tag.find(">") + 1] if tag.startswith("<") else ""


# The kind of a file follows from signatures and structure. The hint decides only between similar
# text formats. Files of any other kind, such as programs, are refused.

NAMES: Final = read_toml(__package__, "kinds.toml")
_SIGNATURES: Final = {
    name.encode("latin-1"): FileType[kind] for name, kind in NAMES["signatures"].items()
}
_COMPOUND: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The signature of Outlook files and of Office files before 2007."""

_STREAMS: Final[dict[str, str]] = NAMES["streams"]
_PACKED: Final = {name: FileType[kind] for name, kind in NAMES["packed"].items()}
_NAMED_INSIDE: Final = (FileType.ODS, FileType.ODT, FileType.EPUB)
"""Archives whose member `mimetype` names their kind."""

_HEIC: Final = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1"})
_DETECTORS: Final[tuple[tuple[Callable[[bytes], bool], FileType], ...]] = (
    (lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP", FileType.WEBP),
    (lambda data: data[4:8] == b"ftyp" and data[8:12] in _HEIC, FileType.HEIC),
    (
        lambda data: data[:2] == b"BM" and int.from_bytes(data[2:6], "little") == len(data),
        FileType.BMP,
    ),
)
_PDF_WITHIN: Final = 1024  # the bytes in which the signature of a PDF may begin

_KINDS_HEAD: Final = 64 * 1024  # formats show at the beginning
_ENTRIES_MAX: Final = 10_000  # against archives whose directory alone fills the memory
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
_POSTBOX: Final = re.compile(r"From [^\n]{1,300}\n[!-9;-~]{1,80}:")
"""The first line of an mbox message and the beginning of its head."""

_HEADINGS: Final = re.compile(r"(?m)^(?:#{1,6} \S|```|\*\*\S|[-*] \[[ xX]\] )")
_SUFFIXES: Final = {name: FileType[kind] for name, kind in NAMES["suffixes"].items()}
_SYNONYMS: Final = {name: FileType[kind] for name, kind in NAMES["media"].items()}


def kind_of(data: bytes, hint: FileHint) -> FileType:
    """Detect the kind of a file.

    Raises:
        InvalidInput: `document.unsupported` or `document.empty`.
    """
    if not data.strip(b" \t\r\n\0"):
        raise InvalidInput("document.empty", "The file is empty. Send a file with content.")
    if (signed := _kind_by_signature(data)) is not None:
        return signed
    text = _decode_beginning(data, hint)
    if text is None:
        if b"%PDF-" in data[:_PDF_WITHIN]:
            return FileType.PDF
        raise unsupported_kind()
    return detect_exchanged(text.lstrip("\ufeff \t\r\n")) or _kind_of_text(text, hint)


def _kind_by_signature(data: bytes) -> FileType | None:
    """Return the kind by the first bytes; None if they may be text."""
    for signature, kind in _SIGNATURES.items():
        if data.startswith(signature):
            return kind
    for is_such, kind in _DETECTORS:
        if is_such(data):
            return kind
    if data.startswith(_COMPOUND):
        name, held = next(
            ((n, held) for n, held in _STREAMS.items() if n.encode("utf-16-le") in data), ("", "")
        )
        if name == "EncryptedPackage":
            message = "The file is encrypted. Remove the password and send it again."
            raise InvalidInput("document.encrypted", message)
        if name and not held:
            message = (
                "Word and PowerPoint files before 2007 are not supported. Save as DOCX or PDF."
            )
            raise InvalidInput("document.unsupported", message)
        if not held:
            raise unsupported_kind()
        return FileType[held]
    return _kind_of_archive(data) if data.startswith(b"PK\x03\x04") else None


def declared_kind(hint: FileHint) -> FileType | None:
    """Return the kind that the hint declares, by its media type or its file extension."""
    media = hint.media_type
    if media in _SYNONYMS:
        return _SYNONYMS[media]
    named = _SUFFIXES.get(hint.name.rpartition(".")[2].lower())
    if media in {"", "application/octet-stream"} or (media == FileType.PLAIN and named):
        return named
    return next((kind for kind in FileType if kind == media), None)


def unsupported_kind() -> InvalidInput:
    """Return the error for a file of an unsupported kind."""
    kinds = (
        "PDF, Markdown, text, RTF, HTML, EPUB, CSV, JSON, JSONL, XLSX, XLS, ODS, DOCX, ODT, PPTX, "
        "EML, MSG, MBOX, VCF, ICS, CAMT, MT940, OFX, QIF, UBL, CII, an image, or a ZIP of such "
        "files"
    )
    message = f"Files of this kind are not supported. Send {kinds}."
    return InvalidInput("document.unsupported", message)


def _kind_of_archive(data: bytes) -> FileType:
    """Return the kind of an archive: an office document, or a ZIP of files."""
    import zipfile  # noqa: PLC0415 - needed for archives only

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            named = archive.open("mimetype").read(100) if "mimetype" in names else b""
    except (zipfile.BadZipFile, ValueError, RuntimeError, OverflowError, zlib.error) as error:
        message = "The archive is damaged. Save it again with its program and send it."
        raise InvalidInput("document.damaged", message) from error
    if len(names) > _ENTRIES_MAX:
        raise unsupported_kind()
    for kind in _NAMED_INSIDE:
        if named.strip() == kind.value.encode():
            return kind
    for name, kind in _PACKED.items():
        if any(each.startswith(name) for each in names):  # `document2.xml` is a document too
            return kind
    if any(declared_kind(FileHint(name=name)) for name in names):
        return FileType.ZIP
    raise unsupported_kind()


def _decode_beginning(data: bytes, hint: FileHint) -> str | None:
    """Decode the beginning as text; None if the bytes are not text."""
    head = data[:_KINDS_HEAD]
    marked = (name for mark, name in MARKS if "32" not in name and head.startswith(mark))
    encoding = next(marked, hint.charset_name or "latin-1")
    try:
        text = head.decode(check_charset(encoding), "ignore")
    except LookupError:
        text = head.decode("latin-1")
    return None if _CONTROL.search(text) else text


def _kind_of_text(text: str, hint: FileHint) -> FileType:
    """Return the kind of a text by a clear structure, else as declared if that is possible."""
    begin = text.lstrip("\ufeff \t\r\n")
    for is_such, kind in _STRUCTURES:
        if is_such(begin):
            return kind
    stated = declared_kind(hint)
    if stated is not None and stated in _FITS and _FITS[stated](begin):
        return stated
    for kind in (FileType.JSON, FileType.EML, FileType.CSV, FileType.MARKDOWN):
        if stated is FileType.PLAIN and kind is FileType.MARKDOWN:
            continue  # plain text may have lines that look like Markdown
        if _STRUCTURE_TESTS[kind](begin):
            return kind
    return FileType.PLAIN


_BROKEN_OFF: Final = 32
_HEADERS_MIN: Final = 3


def _like_json(text: str) -> bool:
    if text[:1] not in {"{", "["}:
        return False
    try:
        json.JSONDecoder().raw_decode(text)
    except RecursionError:
        return True
    except json.JSONDecodeError as error:
        # Only the beginning of a long text is read, which may break off anywhere.
        at_the_end = error.pos >= len(text) - _BROKEN_OFF or "Unterminated" in error.msg
        return len(text) > _KINDS_HEAD // 2 and at_the_end
    return True


def _like_lines(text: str) -> bool:
    """Return whether the first two lines are JSON objects."""
    lines = [line for line in text.splitlines()[:20] if line.strip()][:2]
    return len(lines) == 2 and all(line[0] == "{" and _is_object(line) for line in lines)  # noqa: PLR2004


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _like_mail(text: str) -> bool:
    """Return whether a text begins with header lines of a message."""
    lines = [line for line in text.splitlines()[:60] if line[:1] not in {" ", "\t"}]
    head = lines[: lines.index("")] if "" in lines else lines
    named = sum(1 for line in head if _HEADER.match(line))
    return len(head) > 1 and bool(_HEADER.match(head[0])) and named >= _HEADERS_MIN


def _like_table(text: str) -> bool:
    """Return whether the first lines have equally many of a usual separator."""
    lines = [line for line in text.splitlines()[:8] if line.strip()]
    if len(lines) < 2:  # noqa: PLR2004 - a header and a row
        return False
    return any(
        lines[0].count(mark) >= 2  # noqa: PLR2004 - prose has a comma in a line too
        and all(line.count(mark) >= lines[0].count(mark) for line in lines[:-1])
        and not lines[0].rstrip().endswith((".", ":"))
        for mark in (",", ";", "\t", "|")
    )


_STRUCTURES: Final[tuple[tuple[Callable[[str], object], FileType], ...]] = (
    (lambda text: text[:16].upper().startswith("BEGIN:VCARD"), FileType.VCF),
    (lambda text: text[:16].upper().startswith("BEGIN:VCALENDAR"), FileType.ICS),
    (_HTML.match, FileType.HTML),
    (_POSTBOX.match, FileType.MBOX),
    (_like_lines, FileType.JSONL),
)
"""Structures that decide, whatever is declared."""

_STRUCTURE_TESTS: Final[dict[FileType, Callable[[str], bool]]] = {
    FileType.JSON: _like_json,
    FileType.EML: _like_mail,
    FileType.CSV: _like_table,
    FileType.MARKDOWN: lambda text: bool(_HEADINGS.search(text)),
}
_FITS: Final[dict[FileType, Callable[[str], bool]]] = {
    FileType.JSON: lambda text: text[:1] in {"{", "["},
    FileType.EML: lambda text: bool(_HEADER.match(text)),
    FileType.HTML: lambda text: "<" in text,
    FileType.CSV: bool,
    FileType.MARKDOWN: bool,
}
"""Conditions of declared kinds. Kinds that are not here have a signature."""
