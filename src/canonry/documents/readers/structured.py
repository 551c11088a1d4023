"""Readers of text, Markdown, CSV and JSON in this process."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Final, TypeAlias

from canonry.canon.ports.files import Record, Table
from canonry.documents.parsers.findings import NAMES
from canonry.language.texts.sentences import Part
from canonry.values.errors import InvalidInput
from canonry.values.texts_of_files import leaves_of, moment_of, unread_beside

_MARKS: Final = (",", ";", "\t", "|")
_LOOKED_AT: Final = 50
_FIELD_MAX: Final = 8_000_000
_DEPTH_MAX: Final = 100
_TOLD_MAX: Final = 5
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
    lines = ", ".join(map(str, odd[:_TOLD_MAX]))
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
    lines = text.splitlines()[:_LOOKED_AT]
    best, most = ",", 0
    for mark in _MARKS:
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
    note = unread_beside([f"{path}: {text}" for path, text in others])
    return records, next(filter(None, map(moment_of, stated)), None), tuple(note)


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

_FRONT_MAX: Final = 100_000


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

LINES_MAX: Final = 100_000
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
        yield from _plain_headings(text)
        return
    from markdown_it import MarkdownIt  # noqa: PLC0415 - needed for ingestion only

    tokens = MarkdownIt("commonmark").disable("inline").parse(text)
    for token, inner in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            first, body = token.map
            yield first, body, int(token.tag[1:]), _title(inner.content)


def _plain_headings(text: str) -> Iterator[_Heading]:
    """Yield the headings with number signs, except in fenced code."""
    fence = ""
    for number, line in enumerate(text.split("\n")):
        found = _FENCE.match(line)
        if found and (not fence or found[1].startswith(fence)):
            fence = "" if fence else found[1]
        elif not fence and (heading := _HEADING.match(line)):
            title = line[heading.end() :].strip().rstrip("#")
            yield number, number + 1, len(heading[1]), _title(title)


def _title(text: str) -> str:
    plain = _MARKUP.sub(lambda found: found[1] or "", text)
    return " ".join(plain[: 4 * TITLE_MAX].split())[:TITLE_MAX]
