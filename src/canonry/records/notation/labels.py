"""Labels of values in documents, and the places of values in files."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Final

from canonry.canon.ports.files import Cell, Reading, Table
from canonry.language.texts.sentences import Box
from canonry.records.notation.numbers import WORDS, numbers_in, without_currency
from canonry.values.calendar_dates import DayOrder, dates_in
from canonry.values.json_values import folded
from canonry.values.languages import columns_named, notion_of, plain_letters

# Labels: words before a value that name it, in several languages.
#
# A label stands for a notion, such as `due` for *Due Date*, *Zahlbar bis* and *Vencimiento*. The
# field of a notion depends on the type of the document.

_MARKUP: Final = re.compile(r"^\s*(?:[-*+\u2022]\s+|#{1,6}\s+|>\s?|\|\s*)*")
_EMPHASIS: Final = re.compile(
    r"(\*\*|__|`|\*|_)(?=\S)([^*_`]{1,300}+(?:[*_`]{1,2}[^*_`]{1,300}+){0,4}?)(?<=\S)\1(?![\w*_`])"
)
"""Emphasized text, which may contain a few marks, such as the one in `due_date`."""

_PAIR: Final = re.compile(
    r"([^:\uff1a|\t]{1,60}?)\s*(?:[:\uff1a](?!//)|\t|\s\|\s|\s{3,}|\.{4,})\s*(.*)", re.DOTALL
)
_GAP: Final = re.compile(r"\t|\s{3,}")
_TITLES: Final = frozenset(WORDS["titles"].split("|"))
_NOT_PLAIN: Final = re.compile(r"[^a-z0-9#]+")
_RATE: Final = re.compile(r"[(\[]?\d{1,2}(?:[.,]\d+)?\s?%[)\]]?")
_BRACKET: Final = re.compile(r"\s\([^()]{1,40}\)\s*$")
_LISTED: Final = re.compile(r"\s*(?:[-*+\u2022]|\d{1,2}[.)])\s")
_ORDINAL: Final = re.compile(r"^\d{1,2}[.)]\s+")
_LINE_MAX: Final = 2_000
"""The most characters of a line that are searched for a label and its value."""

_LABEL_WORDS: Final = 4
_BLOCK_MAX: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledLine:
    """One line of a document, with `label`, `value` and `notion` if they are recognized.

    `block` holds the lines below a label without a value. `currency` is named by the label.
    """

    text: str
    label: str = ""
    value: str = ""
    notion: str = ""
    language: str = ""
    block: tuple[str, ...] = ()
    listed: bool = False
    currency: str = ""


def plain(label: str) -> str:
    """Return a label without accents, marks and case, as the vocabulary lists it."""
    bare = plain_letters(label.replace("\xba", "").replace("\xb0", ""))
    return _NOT_PLAIN.sub(" ", bare.replace("#", " # ")).strip()


def lines_of(text: str) -> Sequence[LabelledLine]:
    """Return the lines that are not empty, read as labels and values if possible."""
    raw = [line[:_LINE_MAX] for line in text.split("\n") if line.strip()]
    return [_line(line, partial(_block, raw, place)) for place, line in enumerate(raw)]


def _line(raw: str, following: Callable[[], Iterator[str]]) -> LabelledLine:
    listed = bool(_LISTED.match(raw))
    text = _EMPHASIS.sub(r"\2", _MARKUP.sub("", raw)).strip().strip("|").strip()
    cells = [cell.strip() for cell in text.split("|") if cell.strip()]
    line = partial(LabelledLine, text=text, listed=listed)
    if len(cells) > 2 or _are_titles(text):  # noqa: PLR2004 - a row of a table, and no label
        return line()
    # A colon at the end of a label's cell is redundant.
    found = _PAIR.fullmatch(" | ".join((cells[0].rstrip(": "), cells[1])) if cells[1:] else text)
    if found is not None and len(found[1].split()) <= _LABEL_WORDS + 2:
        label, value = _ORDINAL.sub("", found[1].strip()), _unquoted(found[2].strip())
        notion, language, currency = meaning(label)
        block = () if value else tuple(following())
        return line(
            label=label,
            value=value,
            notion=notion,
            language=language,
            block=block,
            currency=currency,
        )
    return _unmarked(text, line, following)


def _are_titles(text: str) -> bool:
    """Tell whether a line has more than two labels with gaps between them, and no value."""
    pieces = [plain(piece) for piece in _GAP.split(text)]
    known = (notion_of(each)[0] or columns_named(each) or each in _TITLES for each in pieces)
    return len(pieces) > 2 and all(known)  # noqa: PLR2004 - a label and its value are two


def meaning(label: str) -> tuple[str, str, str]:
    """Return the notion of a label, its language, and the currency at its end."""
    written = plain(_RATE.sub("", label))
    notion, language = notion_of(written)
    if notion:
        return notion, language, ""
    bare, currency = without_currency(written)
    notion, language = notion_of(bare) if currency else ("", "")
    if notion:
        return notion, language, currency
    outside = _BRACKET.sub(" ", label)
    return meaning(outside) if outside != label and plain(outside) else ("", "", "")


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] == '"' and value.count('"') == 2  # noqa: PLR2004
    return value[1:-1] if quoted else value


def _unmarked(
    text: str, line: Callable[..., LabelledLine], following: Callable[[], Iterator[str]]
) -> LabelledLine:
    """Read a line that is a known label alone, or a known label before a value."""
    words = text.split()
    notion, language = notion_of(plain(text))
    if notion in _HEADS and len(words) <= _LABEL_WORDS:
        return line(label=text, notion=notion, language=language, block=tuple(following()))
    for count in range(min(_LABEL_WORDS, len(words) - 1), 0, -1):
        label, value = " ".join(words[:count]), " ".join(words[count:])
        notion, language = notion_of(plain(label))
        if notion in _VALUED and _begins_as_value(value):
            return line(label=label, value=value, notion=notion, language=language)
    return line()


_HEADS: Final = frozenset(
    {"customer", "vendor", "attendees", "agenda", "actions", "points", "items", "parties"}
)
"""Notions whose label may stand alone on a line above its values."""

_VALUED: Final = frozenset(WORDS["valued"].split())
"""Notions whose value may follow without a mark, because it does not begin with a word."""


def _begins_as_value(text: str) -> bool:
    first = text.split(maxsplit=1)[0]
    return (
        any(char.isdigit() for char in first)
        or not first[0].isalnum()
        or (first.isupper() and any(char.isdigit() for char in text))
    )


def _block(lines: Sequence[str], place: int) -> Iterator[str]:
    """Yield the lines below the label at an index, up to the next label."""
    for raw in lines[place + 1 : place + 1 + _BLOCK_MAX]:
        text = _EMPHASIS.sub(r"\2", raw).strip()
        listed = _LISTED.match(text)
        pair = None if listed else _PAIR.fullmatch(text)
        if raw.lstrip().startswith("#") or (pair is not None and pair[1]):
            return
        if not listed and notion_of(plain(text))[0]:
            return
        yield text


# Places: find a value in its file again, by the fields of its entity.
#
# Places are not stored. They can be found for any file, whenever and however it was read.

PLACES_MAX: Final = 3
_QUOTE_MAX: Final = 200
_LINES_MAX: Final = 5_000
_PLAIN: Final = (str, int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPlace:
    """A line or row with its text, and its page or sheet if there are any."""

    quote: str
    line: int
    column: str | None = None
    page: int | None = None
    sheet: str | None = None
    box: Box | None = None


def places_of(reading: Reading, fields: Mapping[str, Any], value: Any) -> tuple[WrittenPlace, ...]:
    """Return the first places of a value of an entity with these fields."""
    if not isinstance(value, _PLAIN) or isinstance(value, bool):
        return ()
    cells = [place for table in reading.tables for place in _in_table(table, fields, value)]
    return tuple(cells[:PLACES_MAX] or list(_in_text(reading, value))[:PLACES_MAX])


def _in_table(table: Table, fields: Mapping[str, Any], value: Any) -> Iterator[WrittenPlace]:
    """Yield cells with the value in the rows that match most fields of the entity."""
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
    """Return the title of a column: its first text above, in a row of the same width."""
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
    """Return the box around the fewest words of a line that contain the value."""
    if not boxes:
        return None
    begin, end = 0, len(boxes)
    while end - begin > 1 and _says(" ".join(words[begin : end - 1]), value):
        end -= 1
    while end - begin > 1 and _says(" ".join(words[begin + 1 : end]), value):
        begin += 1
    return reduce(Box.around, boxes[begin:end])


def _says(cell: Cell, value: Any) -> bool:
    """Tell whether a text contains a value in any notation."""
    if cell is None or isinstance(cell, bool):
        return False
    if not isinstance(cell, str):
        return isinstance(value, int | float) and abs(cell) == abs(value)
    if isinstance(value, str):
        wanted = folded(value)
        if wanted and wanted in folded(cell):
            return True
        seen = (each.value for order in DayOrder for each in dates_in(cell[:_QUOTE_MAX], order))
        return value[:10] in {each[:10] for each in seen if each is not None}
    return any(abs(each) == abs(value) for each in numbers_in(cell))
