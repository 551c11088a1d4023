"""Text with structure, read in this process: CSV as one table, JSON as records."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from canonry.canon.ports.files import Record, Table
from canonry.values.errors import InvalidInput

_MARKS: Final = (",", ";", "\t", "|")
_LOOKED_AT: Final = 50
_FIELD_MAX: Final = 8_000_000
_DEPTH_MAX: Final = 100
_TOLD_MAX: Final = 5
_WRAPPED_MAX: Final = 2
"""So many values beside its lists may a wrapper have: how many there are, and which page it is."""


def table_of(text: str, cells_max: int) -> tuple[Table, tuple[str, ...]]:
    """The rows of a CSV, and what is wrong with it.

    Its separator is the one that cuts its first rows alike. Where a quote does not end, each line
    is a row, as nobody can tell how much of the rest was meant to be in the cell.

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
            message = "the table is damaged: a cell does not end; save it anew as CSV"
            raise InvalidInput("document.damaged", message) from error
    if not odd:
        return table, ()
    lines = ", ".join(map(str, odd[:_TOLD_MAX]))
    return table, (f"a quote does not end in line {lines}; each line was read as a row",)


class _Bare(csv.excel):
    """Quotes are signs like others."""

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
            message = f"the table has more than {cells_max} cells; split it"
            raise InvalidInput("document.too-large", message, unit="cells", limit=cells_max)
        if any(cell.strip() for cell in row):
            kept.append(tuple(cell.strip() or None for cell in row))
            lines.append(line)
    return Table(rows=tuple(kept), lines=tuple(lines))


def _separator(text: str) -> str:
    """The mark that cuts most rows alike into most columns, with titles first; else a comma.

    What stands above the titles is cut in another way, and a decimal comma is no separator: no row
    of titles holds a number.
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


def records_of(text: str, cells_max: int) -> tuple[Record, ...]:
    """The objects of a JSON document: each of a list, of a list within an object, or the one.

    Raises:
        InvalidInput: `document.damaged` or `document.too-large`.
    """
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise _damaged("it is nested too deeply") from error
    except ValueError as error:
        line = getattr(error, "lineno", None)
        where = f" at line {line}" if line else ""
        raise _damaged(f"it is not well-formed{where}") from error
    if _size(value) > cells_max:
        message = f"the document holds more than {cells_max} values; split it"
        raise InvalidInput("document.too-large", message, unit="values", limit=cells_max)
    return tuple(Record(kind=kind, fields=fields) for kind, fields in _objects(value))


def records_by_line(text: str, cells_max: int) -> tuple[Record, ...]:
    """The objects of a document with one of them on each line.

    Raises:
        InvalidInput: `document.damaged` or `document.too-large`.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    return records_of(f"[{','.join(lines)}]", cells_max)


def _objects(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The records of a value: lists within lists are one, and a wrapper is none itself."""
    if isinstance(value, list):
        for each in value:
            yield from _objects(each) if isinstance(each, list) else _one(each)
        return
    if not isinstance(value, dict):
        return
    lists = {name: inner for name, inner in value.items() if _is_list_of_objects(inner)}
    # A wrapper such as {"contacts": [...]} holds lists and nothing that is a record itself.
    others = len(value) - len(lists)
    if lists and others <= _WRAPPED_MAX and "entity_type" not in value:
        for name, inner in lists.items():
            yield from ((f"object:{name}", each) for _, each in _objects(inner))
    elif len(value) == 1 and isinstance(inner := next(iter(value.values())), dict):
        yield from _objects(inner)
    else:
        yield "object", value


def _one(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(value, dict):
        yield "object", value


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _size(value: Any) -> int:
    """How many values there are in all, without recursion, so that depth costs nothing."""
    count = 0
    waiting = [(value, 0)]
    while waiting:
        each, depth = waiting.pop()
        count += 1
        if depth > _DEPTH_MAX:
            raise _damaged("it is nested too deeply")
        if isinstance(each, dict):
            waiting.extend((inner, depth + 1) for inner in each.values())
        elif isinstance(each, list):
            waiting.extend((inner, depth + 1) for inner in each)
    return count


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _damaged(what: str) -> InvalidInput:
    return InvalidInput("document.damaged", f"the JSON cannot be read: {what}; write it anew")
