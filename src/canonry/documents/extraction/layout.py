"""The layout of a document: columns, lists and the lines around a value."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from canonry.canon.ports.files import Table
from canonry.documents.extraction.writings import BETWEEN
from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.records.domain.interpretations import Found
from canonry.records.notation.labels import lines_of, meaning
from canonry.records.notation.parties import parties_in

# Layout: what stands where on a page, as lines of labels and values, and as tables.
#
# A page comes as text in which gaps are blanks, so that columns stand below each other. What is
# left and right of a gap is not one line; a label's value is to its right, or else below it.

_PIECES: Final = re.compile(r"\S+(?: \S+)*")
_COLUMNS_MIN: Final = 3
_BLOCK_MAX: Final = 6
_NEAR: Final = 3
_FIGURES: Final = frozenset(
    {
        *("invoice_number", "receipt_number", "contract_number", "date", "issued", "due"),
        *("amount_due", "total", "amount", "subtotal", "tax"),
    }
)
"""Notions whose values have digits."""

_ROWS_MAX: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A text without gaps, and where on its line it begins and ends."""

    begin: int
    end: int
    text: str

    @property
    def label(self) -> bool:
        """Whether it is a label and nothing else."""
        return self.text.endswith(":") or bool(meaning(self.text)[0])

    def takes(self, text: str) -> bool:
        """Whether a text may be the value of this label."""
        if meaning(self.text)[0] in _FIGURES and not _has_digit(text):
            return False
        return not any(line.notion for line in lines_of(text))

    def stands_over(self, other: "Piece") -> bool:
        """Whether another piece begins or ends where this one does."""
        return abs(self.begin - other.begin) <= _NEAR or abs(self.end - other.end) <= _NEAR


def pieces_of(text: str) -> Sequence[Sequence[Piece]]:
    """The pieces of each line that has any."""
    return [
        [Piece(begin=m.start(), end=m.end(), text=m[0]) for m in _PIECES.finditer(line)]
        for line in text.split("\n")
        if line.strip()
    ]


def arranged(text: str) -> str:
    """The lines of a page one below the other, each label with its value."""
    lines = pieces_of(text)
    taken: set[tuple[int, int]] = set()
    said: list[str] = []
    for number, line in enumerate(lines):
        if all((number, place) in taken for place in range(len(line))):
            continue
        if _is_row([line]):
            said.append(" | ".join(piece.text for piece in line))
            continue
        for place, piece in enumerate(line):
            if (number, place) in taken:
                continue
            right = line[place + 1] if place + 1 < len(line) else None
            if piece.label and right is not None and piece.takes(right.text):
                taken.add((number, place + 1))
                said.append(f"{piece.text.rstrip(':')}: {right.text}")
            elif piece.label and len(line) > 1:
                said += _with_below(piece, lines, number, taken)
            else:
                said.append(piece.text)
    return "\n".join(said)


def _is_row(lines: Sequence[Sequence[Piece]]) -> bool:
    """Whether a line is one of a table: of goods, or their titles, of which not all are labels."""
    line = lines[0] if lines else ()
    labels = sum(1 for piece in line if piece.label)
    return (
        len(line) >= _COLUMNS_MIN
        and labels < len(line)
        and not any(piece.label and piece.takes(right.text) for piece, right in pairwise(line))
    )


def _with_below(
    label: Piece, lines: Sequence[Sequence[Piece]], number: int, taken: set[tuple[int, int]]
) -> Iterator[str]:
    """A label beside other columns, with what stands below it up to the next label."""
    block: list[str] = []
    for below in range(number + 1, min(number + 1 + _BLOCK_MAX, len(lines))):
        fitting = [
            place
            for place, piece in enumerate(lines[below])
            if (below, place) not in taken and label.stands_over(piece)
        ]
        if not fitting or lines[below][fitting[0]].label:
            break
        if _is_row([lines[below]]) and (block or _is_row(lines[below + 1 : below + 2])):
            break
        taken.add((below, fitting[0]))
        block.append(lines[below][fitting[0]].text)
    if not block or not label.takes(block[0]):
        yield label.text
        yield from block
        return
    yield f"{label.text.rstrip(':')}: {block[0]}"
    yield from block[1:]


def tables_in(text: str) -> Iterator[Table]:
    """A table for each line of titles: the lines above it as they are, those below in its columns.

    A line of titles has several columns and no number; which of them are titles indeed, whoever
    reads the table decides.
    """
    lines = pieces_of(text)[:_ROWS_MAX]
    seen: set[tuple[str, ...]] = set()
    for number, line in enumerate(lines):
        titles = tuple(piece.text for piece in line)
        if len(line) < _COLUMNS_MIN or titles in seen or any(_has_digit(title) for title in titles):
            continue
        seen.add(titles)
        above = [tuple(piece.text for piece in each) for each in lines[:number]]
        below = [_in_columns(line, each) for each in lines[number + 1 :]]
        yield Table(rows=(*above, titles, *below))


def _in_columns(titles: Sequence[Piece], line: Sequence[Piece]) -> tuple[str | None, ...]:
    """The pieces of a line under the titles that they overlap, or that are nearest."""
    cells: list[str | None] = [None] * len(titles)
    for piece in line:
        place = min(range(len(titles)), key=lambda at: _distance(titles[at], piece))
        before = cells[place]
        cells[place] = piece.text if before is None else f"{before} {piece.text}"
    return tuple(cells)


def _distance(title: Piece, piece: Piece) -> int:
    """How far two are apart, where none is behind the other: by the nearer of their edges."""
    between = max(piece.begin - title.end, title.begin - piece.end)
    edges = min(abs(title.begin - piece.begin), abs(title.end - piece.end))
    return edges if between < 0 else edges + 1_000 + between


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)


# Lists: what a file writes into one place becomes the items that the field of its type holds.
#
# Records that are handed over as data are taken as they are; only files have no other way to write
# a list than commas.

_NAMED: Final = frozenset({"parties", "companies"})
_APART: Final = re.compile(r"[,;\n]")
_WORDS: Final = frozenset({"tags", "files", *_NAMED})
"""Fields whose items are names or words, so that a comma divides them."""


def with_lists(found: Iterable[Found], schemas: Sequence[EntitySchema]) -> Iterator[Found]:
    """The entities, with lists where their types have them."""
    known = {schema.entity_type: schema for schema in schemas}
    return (
        each
        if each.entity_type not in known
        else replace(each, fields=_divided(known[each.entity_type], each.fields))
        for each in found
    )


def _divided(schema: EntitySchema, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    divided = dict(fields)
    for name, value in fields.items():
        canonical = schema.canonical(name)
        spec = None if canonical is None else schema.field(canonical)
        if spec is not None and spec.type is FieldType.ARRAY and isinstance(value, str):
            divided[name] = items_in(spec.name, value)
    return divided


def items_in(name: str, text: str) -> list[Any]:
    """The items that a text says of the field `name`."""
    if text.startswith("[") and text.endswith("]"):
        try:
            written: list[Any] = json.loads(text)
        except ValueError:
            pass
        else:
            return written
    if name in _NAMED:
        divided = [each for each in text.split(BETWEEN) if each]
        return divided if len(divided) > 1 else (list(parties_in(text)) or [text])
    if name in _WORDS:
        bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
        parts = map(str.strip, _APART.split(bare))
        return list(dict.fromkeys(part for part in parts if part)) or [text]
    return [text]
