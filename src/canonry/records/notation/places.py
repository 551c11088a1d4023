"""Places: where in a file a value stands, found again by what is known of its entity.

Nothing is stored for it, so that it is told of what was read long ago and by whoever read it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from canonry.canon.ports.files import Cell, Reading, Table
from canonry.language.texts.excerpts import Box
from canonry.records.notation.numbers import numbers_in
from canonry.values.calendar_dates import DayOrder, dates_in
from canonry.values.normal_forms import folded

PLACES_MAX: Final = 3
_QUOTE_MAX: Final = 200
_LINES_MAX: Final = 5_000
_PLAIN: Final = (str, int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPlace:
    """A line or row, on a page or in a sheet where there are any, and what stands there."""

    quote: str
    line: int
    column: str | None = None
    page: int | None = None
    sheet: str | None = None
    box: Box | None = None


def places_of(reading: Reading, fields: Mapping[str, Any], value: Any) -> tuple[WrittenPlace, ...]:
    """Where a value of an entity with these fields stands; the first few, if there are several."""
    if not isinstance(value, _PLAIN) or isinstance(value, bool):
        return ()
    cells = [place for table in reading.tables for place in _in_table(table, fields, value)]
    return tuple(cells[:PLACES_MAX] or list(_in_text(reading, value))[:PLACES_MAX])


def _in_table(table: Table, fields: Mapping[str, Any], value: Any) -> Iterator[WrittenPlace]:
    """The cells with the value in the rows that say most of the entity, which is more than it."""
    said = [each for each in fields.values() if isinstance(each, _PLAIN)]
    scores = [
        sum(1 for each in said if any(_says(cell, each) for cell in row))
        for row in table.rows[:_LINES_MAX]
    ]
    most = max(scores, default=0)
    for number, score in enumerate(scores):
        if score < most or most < min(2, len(said)):
            continue
        for place, cell in enumerate(table.rows[number]):
            if _says(cell, value):
                line = table.lines[number] if table.lines else number + 1
                yield WrittenPlace(
                    quote=str(cell)[:_QUOTE_MAX],
                    line=line,
                    column=_title(table.rows, number, place),
                    sheet=table.name,
                )
                break


def _title(rows: Sequence[Sequence[Cell]], number: int, place: int) -> str | None:
    """The title of a column: the first text above the row that is as wide as that and has words."""
    for row in rows[:number]:
        if len(row) > place and isinstance(row[place], str) and len(row) == len(rows[number]):
            return str(row[place])
    return None


def _in_text(reading: Reading, value: Any) -> Iterator[WrittenPlace]:
    for part in reading.parts:
        before = 0
        for number, line in enumerate(part.text.split("\n")[:_LINES_MAX], 1):
            words = line.split()
            if words and _says(line, value):
                yield WrittenPlace(
                    quote=line.strip()[:_QUOTE_MAX],
                    line=number,
                    page=part.page,
                    box=_box(words, part.boxes[before : before + len(words)], value),
                )
            before += len(words)


def _box(words: Sequence[str], boxes: Sequence[Box], value: Any) -> Box | None:
    """The box around the fewest words of a line that still say the value."""
    if not boxes:
        return None
    begin, end = 0, len(boxes)
    while end - begin > 1 and _says(" ".join(words[begin : end - 1]), value):
        end -= 1
    while end - begin > 1 and _says(" ".join(words[begin + 1 : end]), value):
        begin += 1
    return reduce(Box.around, boxes[begin:end])


def _says(cell: Cell, value: Any) -> bool:
    """Whether a text says a value, in whichever notation."""
    if cell is None or isinstance(cell, bool):
        return False
    if not isinstance(cell, str):
        return isinstance(value, int | float) and abs(cell) == abs(value)
    if isinstance(value, str):
        wanted = folded(value)
        return (bool(wanted) and wanted in folded(cell)) or value[:10] in _days(cell)
    return any(abs(each) == abs(value) for each in numbers_in(cell))


def _days(text: str) -> set[str]:
    seen = (each.value for order in DayOrder for each in dates_in(text[:_QUOTE_MAX], order))
    return {value[:10] for value in seen if value is not None}
