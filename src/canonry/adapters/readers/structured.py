"""Text with structure, read in this process: CSV as one table, JSON as records."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from canonry.domain.errors import InvalidInput
from canonry.domain.truth.files import Record, Table

_MARKS: Final = (",", ";", "\t", "|")
_LOOKED_AT: Final = 50
_FIELD_MAX: Final = 8_000_000
_DEPTH_MAX: Final = 100


def table_of(text: str, cells_max: int) -> Table:
    """The rows of a CSV; its separator is the one that cuts its first rows alike.

    Raises:
        InvalidInput: `document.too-large` or `document.damaged`.
    """
    csv.field_size_limit(_FIELD_MAX)
    text = text.removeprefix("\ufeff")
    rows = []
    cells = 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text)):
            cells += len(row)
            if cells > cells_max:
                message = f"the table has more than {cells_max} cells; split it"
                raise InvalidInput("document.too-large", message, unit="cells", limit=cells_max)
            if any(cell.strip() for cell in row):
                rows.append(tuple(cell.strip() or None for cell in row))
    except csv.Error as error:
        message = "the table is damaged: a quoted cell does not end; save it anew as CSV"
        raise InvalidInput("document.damaged", message) from error
    return Table(rows=tuple(rows))


def _separator(text: str) -> str:
    """The mark with the most columns that most rows share; a comma where there is none."""
    lines = text.splitlines()[:_LOOKED_AT]
    best, most = ",", (0, 0)
    for mark in _MARKS:
        widths = [len(row) for row in csv.reader(lines, delimiter=mark) if row]
        if widths and widths[0] > 1:
            alike = sum(1 for width in widths if width == widths[0])
            if (alike, widths[0]) > most:
                best, most = mark, (alike, widths[0])
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


def _objects(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(value, list):
        yield from (("object", each) for each in value if isinstance(each, dict))
    elif isinstance(value, dict):
        lists = {
            key: inner
            for key, inner in value.items()
            if isinstance(inner, list) and inner and all(isinstance(each, dict) for each in inner)
        }
        # A wrapper such as {"contacts": [...]} holds one list and nothing that is a record itself.
        if len(lists) == 1 and len(value) <= 3 and "entity_type" not in value:  # noqa: PLR2004
            ((name, inner),) = lists.items()
            yield from ((f"object:{name}", each) for each in inner)
        else:
            yield "object", value


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
