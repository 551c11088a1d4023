"""The reader of all kinds of files: of structured text in this process, of others in parsers."""

import asyncio
import csv
import io
import json
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE
from base64 import b64decode
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any, Final, TypeAlias

from typing_extensions import override

from canonry.canon.ports.files import (
    DocumentLimits,
    DocumentReader,
    FileHint,
    FileType,
    Member,
    Reading,
    Record,
    Table,
)
from canonry.documents.parsers.findings import NAMES, STRUCK
from canonry.documents.readers.kinds import NAMES as KINDS
from canonry.documents.readers.kinds import declared_kind, kind_of
from canonry.language.texts.sentences import Box, DocumentType, Part
from canonry.values.charsets import decode_guessed, decode_text
from canonry.values.errors import CanonryError, InvalidInput, Unavailable
from canonry.values.file_texts import leaves_of, note_unread, utc_text_of

_SAMPLED_LINES: Final = 50  # the separator of a table shows in its first lines
_FIELD_MAX: Final = 8_000_000  # the csv module stops at 131,072; exports hold whole mails
_DEPTH_MAX: Final = 100  # later steps recurse; deeper values would end their stack
_REPORTED_MAX: Final = 5  # the first lines show what is wrong with the others
_FRAME: Final = frozenset(NAMES["exports"]["frame"].split())
_EXPORTED: Final = NAMES["exports"]["made"].split()
_WRAPPED_MAX: Final = 2
"""The most values of a wrapper besides its lists, such as a count and a page number."""


def table_of(text: str, cells_max: int) -> tuple[Table, tuple[str, ...]]:
    """Read the rows of a CSV, with notes on its faults.

    The separator is the mark that divides the first rows equally. If a quote does not end, each
    line is read as a row.

    Raises:
        InvalidInput: `document.too-large` or `document.damaged`.
    """
    csv.field_size_limit(_FIELD_MAX)
    text = text.removeprefix("\ufeff")
    mark = _separator(text)
    try:
        return _table(_rows(text, mark), cells_max), ()
    except csv.Error:
        odd: list[int] = []
        try:
            table = _table(_line_by_line(text, mark, odd), cells_max)
        except csv.Error as error:
            message = "The table is damaged: a cell does not end. Save it again as CSV."
            raise InvalidInput("document.damaged", message) from error
    if not odd:
        return table, ()
    lines = ", ".join(map(str, odd[:_REPORTED_MAX]))
    return table, (f"A quote does not end in line {lines}. Each line was read as a row.",)


class _Bare(csv.excel):
    """A CSV dialect without quoting."""

    quoting = csv.QUOTE_NONE


_Row: TypeAlias = tuple[int, Sequence[str]]
"""The line on which a row begins, and its cells."""


def _rows(text: str, mark: str) -> Iterator[_Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    begin = 1
    for row in reader:
        yield begin, row
        begin = reader.line_num + 1


def _line_by_line(text: str, mark: str, odd: list[int]) -> Iterator[_Row]:
    for number, line in enumerate(text.split("\n"), 1):
        whole = line.count('"') % 2 == 0
        odd += [] if whole else [number]
        style: type[csv.Dialect] = csv.excel if whole else _Bare
        yield from ((number, row) for row in csv.reader([line], style, delimiter=mark))


def _table(rows: Iterator[_Row], cells_max: int) -> Table:
    kept, lines, cells = [], [], 0
    for line, row in rows:
        cells += len(row)
        if cells > cells_max:
            message = f"The table has more than {cells_max} cells. Split it."
            raise InvalidInput("document.too-large", message, unit="cells", limit=cells_max)
        if any(cell.strip() for cell in row):
            kept.append(tuple(cell.strip() or None for cell in row))
            lines.append(line)
    return Table(rows=tuple(kept), lines=tuple(lines))


def _separator(text: str) -> str:
    """Return the mark that divides most rows into most columns; by default a comma.

    The first row of that width holds the titles and must not have a number, because otherwise a
    decimal comma could be taken for a separator.
    """
    lines = text.splitlines()[:_SAMPLED_LINES]
    best, most = ",", 0
    for mark in (",", ";", "\t", "|"):
        rows = [row for row in csv.reader(lines, delimiter=mark) if len(row) > 1]
        widths = Counter(map(len, rows))
        for width, alike in widths.items():
            first = next(row for row in rows if len(row) == width)
            titled = not any(cell.strip().isdigit() for cell in first)
            if titled and alike * (width - 1) > most:
                best, most = mark, alike * (width - 1)
    return best


def records_of(text: str, cells_max: int) -> tuple[tuple[Record, ...], str | None, tuple[str, ...]]:
    """Return the objects of a JSON document: of a list, of lists in a wrapper, or the only one.

    The second value is the time at which the document was exported, if it states one. The third
    has a note on values beside the lists.

    Raises:
        InvalidInput: `document.damaged` or `document.too-large`.
    """
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise _damaged("It is nested too deeply.") from error
    except ValueError as error:
        line = getattr(error, "lineno", None)
        where = f" at line {line}" if line else ""
        raise _damaged(f"It is not well-formed{where}.") from error
    if _size(value) > cells_max:
        message = f"The document has more than {cells_max} values. Split it."
        raise InvalidInput("document.too-large", message, unit="values", limit=cells_max)
    stated = (str(value.get(name, "")) for name in _EXPORTED) if isinstance(value, dict) else ()
    records = tuple(Record(kind=kind, fields=fields) for kind, fields in _objects(value))
    known = {id(each.fields) for each in records}
    others = leaves_of(_without(value, known)) if records else ()
    note = note_unread([f"{path}: {text}" for path, text in others])
    return records, next(filter(None, map(utc_text_of, stated)), None), tuple(note)


def _without(value: Any, known: Collection[int]) -> Any:
    """Return a value without the objects with these identities."""
    match value:
        case dict():
            items = value.items() if id(value) not in known else ()
            return {name: _without(inner, known) for name, inner in items}
        case list():
            return [_without(inner, known) for inner in value]
        case _:
            return value


def _objects(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the records of a value; nested lists count as one, and wrappers are skipped."""
    if isinstance(value, list):
        for each in value:
            if isinstance(each, list):
                yield from _objects(each)
            elif isinstance(each, dict):
                yield "object", each
        return
    if not isinstance(value, dict):
        return
    full = {name: inner for name, inner in value.items() if isinstance(inner, list) and inner}
    lists = {name: each for name, each in full.items() if all(isinstance(v, dict) for v in each)}
    # A wrapper such as {"contacts": [...]} has lists and hardly any other value.
    others = len(value.keys() - lists.keys() - _FRAME)
    if lists and others <= _WRAPPED_MAX and "entity_type" not in value:
        for name, inner in lists.items():
            yield from ((f"object:{name}", each) for _, each in _objects(inner))
    elif len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
        yield from _objects(inner)
    else:
        yield "object", value


def _size(value: Any) -> int:
    """Count all nested values without recursion, because the depth is untrusted."""
    count = 0
    waiting = [(value, 0)]
    while waiting:
        each, depth = waiting.pop()
        count += 1
        if depth > _DEPTH_MAX:
            raise _damaged("It is nested too deeply.")
        inside = each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        waiting.extend((inner, depth + 1) for inner in inside)
    return count


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _damaged(what: str) -> InvalidInput:
    message = f"The JSON cannot be read. {what} Correct it and send it again."
    return InvalidInput("document.damaged", message)


_STRUCK: Final = re.compile(
    r"(?<!~)~~(?=[^\s~])[^~\n]{1,2000}?(?<=\S)~~(?!~)|<(del|s|strike)\b[^>]{0,200}>.{0,2000}?</\1>",
    re.DOTALL | re.IGNORECASE,
)


def without_struck(text: str) -> str:
    """Return Markdown without struck-out text, which does not hold any more."""
    return _STRUCK.sub("", text)


FRONT: Final = "front matter"
"""The kind of the record with the values at the top of a Markdown file."""

_FRONT_MAX: Final = 100_000  # longer front matter stays text; the YAML parser is slow


def front_matter(text: str) -> tuple[tuple[Record, ...], str, tuple[str, ...]]:
    """Return the values at the top of Markdown, the text below them, and notes.

    All values are texts, lists and mappings: types are left to the schema. YAML that is broken, or
    that repeats parts by reference and could grow without bounds, stays a part of the text.
    """
    preamble = _PREAMBLE.match(text)
    if preamble is None or len(preamble[1]) > _FRONT_MAX:
        return (), text, ()
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 - needed for front matter only

    try:
        grows = any(isinstance(each, yaml.AliasToken) for each in yaml.scan(preamble[1]))
        read = None if grows else yaml.load(preamble[1], Loader=yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError):
        read = None
    if not isinstance(read, dict) or not all(isinstance(name, str) for name in read):
        return (), text, ("The front matter is no YAML with names and values. It is kept as text.",)
    fields = {name: value for name, value in read.items() if name and value not in ("", [], {})}
    return (Record(kind=FRONT, fields=fields),), text[preamble.end() :], ()


_Heading: TypeAlias = tuple[int, int, int, str]
"""The line of a heading, the line after it, its level, and its title."""

PATH: Final = " > "
"""The separator of the headings that lead to a section."""

_PREAMBLE: Final = re.compile(r"\A---[^\S\n]*\n(.*?\n)(?:---|\.\.\.)[^\S\n]*(?:\n|\Z)", re.DOTALL)
# No nested brackets: a line of brackets would take quadratic time.
_MARKUP: Final = re.compile(r"[*`]+|!?\[([^\[\]]*)\]\([^()]*\)")
_MARKER: Final = re.compile(r"^[^\S\n]*(?:>|(?:[-*+]|\d{1,9}[.)])[^\S\n])", re.MULTILINE)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")

TITLE_MAX: Final = 300
"""The most characters of a title, which is repeated with every section below it."""

LINES_MAX: Final = 100_000  # longer texts are read by line; the full parser is slow
MARKERS_MAX: Final = 20_000
"""A document with more lines, items or quotations is split at plain headings alone: the parser
needs ten seconds for a megabyte of list items."""


def sections(text: str) -> Sequence[Part]:
    """Split Markdown into sections with their headings; the text before the first has none.

    A heading without text is joined to the next section.
    """
    parts = []
    preamble = _PREAMBLE.match(text)
    if preamble:
        parts.append(Part(text=preamble[1].strip()))
        text = text[preamble.end() :]
    lines = text.split("\n")
    path: list[tuple[int, str]] = []
    headings = [(0, 0, 0, ""), *_headings(text)]
    ends = [*(first for first, *_ in headings[1:]), len(lines)]
    waiting: list[str] = []
    for (first, body, level, title), end in zip(headings, ends, strict=True):
        if level:
            path = [*(each for each in path if each[0] < level), (level, title)]
        waiting.append("\n".join(lines[first:end]).strip())
        if not any(line.strip() for line in lines[body:end]) and end < len(lines):
            continue
        text = "\n\n".join(each for each in waiting if each)
        waiting.clear()
        parts.append(Part(text=text, section=PATH.join(t for _, t in path if t) or None))
    return [part for part in parts if part.text]


def _headings(text: str) -> Iterator[_Heading]:
    """Yield the headings that are not nested in another block."""
    markers = islice(_MARKER.finditer(text), MARKERS_MAX, None)
    if text.count("\n") > LINES_MAX or next(markers, None) is not None:
        fence = ""
        for number, line in enumerate(text.split("\n")):
            found = _FENCE.match(line)
            if found and (not fence or found[1].startswith(fence)):
                fence = "" if fence else found[1]
            elif not fence and (heading := _HEADING.match(line)):
                title = line[heading.end() :].strip().rstrip("#")
                yield number, number + 1, len(heading[1]), _title(title)
        return
    from markdown_it import MarkdownIt  # noqa: PLC0415 - needed for ingestion only

    tokens = MarkdownIt("commonmark").disable("inline").parse(text)
    for token, inner in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            first, body = token.map
            yield first, body, int(token.tag[1:]), _title(inner.content)


def _title(text: str) -> str:
    plain = _MARKUP.sub(lambda found: found[1] or "", text)
    return " ".join(plain[: 4 * TITLE_MAX].split())[:TITLE_MAX]


# Other files are read in processes of their own, in which parsers run.


async def _run_parser(
    arguments: Sequence[str], data: bytes, seconds: float, *, noun: str
) -> Mapping[str, Any]:
    """Run a Python program on `data` and return the JSON from its standard output.

    A program that crashes, for example out of memory, returns `{"fault": "damaged"}`.

    Raises:
        Unavailable: `document.too-slow` or `document.no-reader`.
    """
    try:
        # -P: the working folder must not hide modules that a parser imports.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", *arguments), stdin=PIPE, stdout=PIPE, stderr=DEVNULL
        )
    except OSError as error:
        message = f"No process could be started to read the {noun}. Try again later."
        raise Unavailable("document.no-reader", message) from error
    try:
        async with asyncio.timeout(seconds):
            written, _ = await process.communicate(data)
    except TimeoutError as error:
        message = f"Reading the {noun} took longer than {seconds:g} s. Split it and send the parts."
        raise Unavailable("document.too-slow", message, seconds=seconds) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    reply: Mapping[str, Any] = {"fault": "damaged"}
    if process.returncode == 0:
        reply = json.loads(written)
    return reply


_PAGES: Final = ("-m", "canonry.documents.parsers.pdf")
PICTURE_SECONDS: Final = 10.0  # a reader waits for the page; hostile pages draw for ever
BOXES_MAX: Final = 100  # bounds the arguments of a process
_FAULTS: Final = {
    "encrypted": "The PDF is encrypted. Remove the password and send it again.",
    "damaged": "The PDF is damaged or not a PDF. Open it in a viewer and save it again.",
}


LAID_OUT_MAX: Final = 50
"""The most pages that are read with their layout, which takes longer."""


async def _read_pdf(
    data: bytes, limits: DocumentLimits, *, laid_out: bool = False
) -> tuple[Sequence[Part], Mapping[str, Any]]:
    """Return the pages of a PDF with text, each with its title in the outline, and the raw reply.

    With `laid_out`, the reply has the `layout` of the pages, the embedded `invoice` and other
    `files` in base64, and the numbers of pages without text as `pictures`.

    Raises:
        InvalidInput: `document.damaged`, `document.encrypted` or `document.too-large`.
        Unavailable: `document.too-slow` or `document.no-reader`.
    """
    pages = LAID_OUT_MAX if laid_out else 0
    bounds = (int(limits.seconds) + 1, limits.pages, limits.characters, pages)
    arguments = (*_PAGES, "read", *map(str, bounds))
    reply = await _run_parser(arguments, data, limits.seconds, noun="PDF")
    if "fault" in reply:
        raise _fault_error(str(reply["fault"]), limits)
    # Each four numbers are a box.
    boxes = [tuple(Box(*b) for b in zip(*[iter(e)] * 4, strict=True)) for *_, e in reply["pages"]]
    parts = [
        Part(text=text, page=number, section=section, boxes=own)
        for (number, section, text, _), own in zip(reply["pages"], boxes, strict=True)
        if text.strip()
    ]
    return parts, reply


def _fault_error(fault: str, limits: DocumentLimits) -> CanonryError:
    if fault == "page":
        return InvalidInput("document.no-page", "The PDF has no such page.", path="/page")
    if fault in _FAULTS:
        return InvalidInput(f"document.{fault}", _FAULTS[fault])
    limit = limits.pages if fault == "pages" else limits.characters
    message = f"The PDF has more than {limit} {fault}. Split it and send the parts."
    return InvalidInput("document.too-large", message, unit=fault, limit=limit)


_AT_ONCE: Final = 2  # parsers are processes that use a core each
_SHORT: Final = 10_000  # a text of at most so many bytes is read faster than a thread is started
_SECTIONED_MAX: Final = 2_000_000
"""The most characters of Markdown that is split at headings; longer text takes minutes."""

_PARSER_OF: Final = {
    FileType[kind]: (module, kind.lower())
    for module, kinds in KINDS["parsers"].items()
    for kind in kinds.split()
}
"""The parser of each kind: its module and its name of the kind."""

_TEXTS: Final = frozenset({FileType.VCF, FileType.ICS, FileType.HTML})
"""Kinds that parsers read as UTF-8, unless the file names a charset."""

_HEAD_OF_PAGE: Final = 4_096  # a web page names its charset at the beginning
_FILE_FAULTS: Final = {
    "damaged": "The file is damaged. Save it again with its program and send it.",
    "encrypted": "The file is encrypted. Remove the password and send it again.",
    "bomb": "The file is too large when unpacked. Split it, or send its text.",
    "no-recogniser": "This server cannot read text in images. Install the extra `ocr`, or send "
    "the text.",
}


class LocalReader(DocumentReader):
    """Reads files on this machine, at most two at a time in separate processes."""

    def __init__(self, limits: DocumentLimits | None = None) -> None:
        """Refuse files beyond `limits`."""
        self._limits = limits or DocumentLimits()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    @override
    async def read_parts(
        self, data: bytes, kind: DocumentType, *, charset: str | None = None
    ) -> Sequence[Part]:
        if len(data) > self._limits.bytes:
            raise too_large("bytes", self._limits.bytes)
        if kind is DocumentType.PDF:
            async with self._slots:
                parts, _ = await _read_pdf(data, self._limits)
        elif len(data) <= _SHORT:
            parts = _read_text(data, kind, charset, self._limits)
        else:
            parts = await asyncio.to_thread(_read_text, data, kind, charset, self._limits)
        if sum(len(part.text) for part in parts) > self._limits.characters:
            raise too_large("characters", self._limits.characters)
        if not any(part.text.strip() for part in parts):
            message = (
                "The document has no text. If its pages are scans, recognise their text first."
            )
            raise InvalidInput("document.empty", message)
        return parts

    @override
    def kind_of(self, data: bytes, hint: FileHint) -> FileType:
        return kind_of(data, hint)

    @override
    async def examine_file(self, data: bytes, hint: FileHint) -> Reading:
        if len(data) > self._limits.file_bytes:
            raise too_large("bytes", self._limits.file_bytes)
        kind = kind_of(data, hint)
        reading = Reading(
            kind=kind, name=hint.name, differs=declared_kind(hint) not in {None, kind}
        )
        if kind is FileType.PDF:
            bounds = replace(self._limits, seconds=self._limits.file_seconds)
            async with self._slots:
                parts, reply = await _read_pdf(data, bounds, laid_out=True)
                files = (
                    Member(data=b64decode(f), hint=FileHint(name=n)) for n, f in reply["files"]
                )
                layout = "\n".join(reply["layout"])
                reading = replace(reading, parts=tuple(parts), layout=layout, members=tuple(files))
                reading = replace(reading, made_at=reply["made_at"])
                if reply["pictures"]:
                    reading = await self._with_pictures(data, reading, reply["pictures"])
                if not reply["invoice"]:
                    return reading
                try:
                    exact = await self._parsed_file(
                        b64decode(reply["invoice"]), replace(reading, kind=FileType.XML, parts=())
                    )
                except (InvalidInput, Unavailable) as error:
                    note = f"The invoice within the PDF was not read ({error.code})."
                    return replace(reading, notes=(*reading.notes, note))
                return replace(reading, records=exact.records, made_at=exact.made_at)
        if kind in _TEXTS and b"charset" not in data[:_HEAD_OF_PAGE]:
            text, notes = decode_guessed(data, hint.charset_name)
            data, reading = text.encode(), replace(reading, notes=notes)
        if kind in _PARSER_OF or kind.is_image:
            async with self._slots:
                return await self._parsed_file(data, reading)
        return await asyncio.to_thread(self._read_structured, data, hint, reading)

    @override
    async def render_page(
        self, data: bytes, hint: FileHint, page: int, boxes: Sequence[Box]
    ) -> bytes:
        kind = kind_of(data, hint)
        if kind.is_image and page == 1:
            return data
        if kind is not FileType.PDF or page < 1:
            raise InvalidInput("document.no-page", "Only PDFs have pages to draw.", path="/page")
        async with self._slots:
            seconds = min(PICTURE_SECONDS, self._limits.file_seconds)
            marked = json.dumps([list(box) for box in boxes[:BOXES_MAX]])
            arguments = (*_PAGES, "draw", str(int(seconds) + 1), str(page), marked)
            reply = await _run_parser(arguments, data, seconds, noun="PDF")
        if "png" in reply:
            return b64decode(reply["png"])
        raise _fault_error(str(reply["fault"]), self._limits)

    async def _with_pictures(
        self, data: bytes, reading: Reading, pictures: Sequence[int]
    ) -> Reading:
        """Add the recognised text of scanned pages to the reading of a PDF."""
        pages = "The PDF has only pictures"
        if reading.parts:
            pages = f"{len(pictures)} pages of the PDF have only pictures"
        try:
            scanned = await self._parsed_file(data, replace(reading, parts=()))
        except (InvalidInput, Unavailable) as error:
            why = _FILE_FAULTS["no-recogniser"] if error.code.endswith("recogniser") else error.code
            return replace(reading, notes=(*reading.notes, f"{pages}. {why}"))
        parts = sorted((*reading.parts, *scanned.parts), key=lambda part: part.page or 0)
        notes = scanned.notes or (f"{pages}, and no text was recognised in them.",)
        return replace(reading, parts=tuple(parts), notes=(*reading.notes, *notes))

    async def _parsed_file(self, data: bytes, reading: Reading) -> Reading:
        limits = self._limits
        seconds = limits.file_seconds
        bounds = (limits.characters, limits.cells, limits.inflated, int(seconds) + 1)
        image = ("images", "scan" if reading.kind is FileType.PDF else "image")
        parser = _PARSER_OF.get(reading.kind, image)
        arguments = ("-m", "canonry.documents.parsers", *parser, *map(str, bounds))
        reply = await _run_parser(arguments, data, seconds, noun="file")
        fault = reply.get("fault")
        if fault in {"characters", "cells"}:
            raise too_large(fault, getattr(limits, fault))
        if fault is not None:
            raise InvalidInput(f"document.{fault}", _FILE_FAULTS[fault])
        return replace(
            reading,
            parts=tuple(Part(text=t, page=p, section=s) for p, s, t in reply["parts"]),
            tables=tuple(Table(rows=tuple(map(tuple, r)), name=n) for n, r in reply["tables"]),
            records=tuple(Record(kind=kind, fields=fields) for kind, fields in reply["records"]),
            notes=(*reading.notes, *reply["notes"]),
            made_at=reply["made_at"] or reading.made_at,
            members=tuple(
                Member(
                    data=b64decode(data), hint=FileHint(mime_type=media, name=name), record=record
                )
                for name, media, data, record in reply["members"]
            ),
        )

    def _read_structured(self, data: bytes, hint: FileHint, reading: Reading) -> Reading:
        text, notes = decode_guessed(data, hint.charset_name)
        whole = (Part(text=text),)
        reading = replace(reading, notes=notes)
        match reading.kind:
            case FileType.CSV:
                table, faults = table_of(text, self._limits.cells)
                notes = (*notes, *faults)
                return replace(reading, parts=whole, tables=(table,), notes=notes)
            case FileType.JSON | FileType.JSONL:
                # The JSON parser blocks the process while it runs.
                if len(text) > self._limits.characters:
                    raise too_large("characters", self._limits.characters)
                if reading.kind is FileType.JSONL:
                    lines = ",".join(line for line in text.split("\n") if line.strip())
                    text = f"[{lines}]"
                records, made_at, record_notes = records_of(text, self._limits.cells)
                reading = replace(reading, records=records, notes=(*notes, *record_notes))
                return replace(reading, parts=whole, made_at=made_at)
            case FileType.MARKDOWN if len(text) <= _SECTIONED_MAX:
                records, below, faults = front_matter(without_struck(text))
                struck = (STRUCK,) if len(without_struck(text)) < len(text) else ()
                reading = replace(reading, records=records, notes=(*notes, *faults, *struck))
                return replace(reading, parts=tuple(sections(below)))
            case _:
                return replace(reading, parts=whole)


def too_large(unit: str, limit: int) -> InvalidInput:
    """Return the error for a document with too much of `unit`."""
    message = f"The document has more than {limit} {unit}. Split it and send the parts."
    return InvalidInput("document.too-large", message, unit=unit, limit=limit)


def _read_text(
    data: bytes, kind: DocumentType, charset: str | None, limits: DocumentLimits
) -> Sequence[Part]:
    text = decode_text(data, charset)
    if len(text) > limits.characters:  # before the search for headings
        raise too_large("characters", limits.characters)
    return sections(text) if kind is DocumentType.MARKDOWN else (Part(text=text),)
