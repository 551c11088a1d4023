"""The entry point of the rules: find the entities in the reading of a file."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain, groupby, pairwise
from typing import Any, Final

from canonry.canon.ports.files import FileType, Reading, Record, Table
from canonry.canon.session.snippets import SAID_TITLE
from canonry.documents.extraction import cards, kinds
from canonry.documents.extraction.agreements import BETWEEN, CONTENT_MAX, SEARCHED_MAX, tidy_blanks
from canonry.documents.extraction.bank_statements import of_services, statement_of
from canonry.documents.extraction.chats import extract_chat_lines, extract_chats
from canonry.documents.extraction.prose import document_of, find_mismatches, till_of
from canonry.documents.extraction.rows import (
    extract_records,
    extract_table,
    number_repeated,
    require_few,
    snake_case,
    type_of_list,
)
from canonry.documents.readers.reader import FRONT
from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.records.domain.interpretations import FoundEntity, Interpretation, pack_entities
from canonry.records.notation.labels import (
    LabelledLine,
    label_meaning,
    parties_in,
    plain_label,
    read_lines,
)
from canonry.records.notation.money import state_of
from canonry.values.file_texts import utc_text_of

# Layout: find labels, values and tables by their positions on a page.
#
# A page is text in which blanks keep columns aligned. A gap divides a line into pieces. The value
# of a label is to its right or below it.

_PIECES: Final = re.compile(r"\S+(?: \S+)*")
_COLUMNS_MIN: Final = 3
_BLOCK_MAX: Final = 6  # a longer block below a label is a table
_NEAR: Final = 3  # in columns: proportional fonts shift what is aligned
_FIGURES: Final = frozenset(kinds.TABLES["words"]["placed"].split())
"""Notions whose values have digits."""

_ROWS_MAX: Final = 5_000  # each label looks at the rows below: bounds the time


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A text without gaps, and its begin and end on the line."""

    begin: int
    end: int
    text: str

    @property
    def is_label(self) -> bool:
        """Return whether the piece is only a label."""
        return self.text.endswith(":") or bool(label_meaning(self.text)[0])

    def accepts_value(self, text: str) -> bool:
        """Return whether a text may be the value of this label."""
        if label_meaning(self.text)[0] in _FIGURES and not _has_digit(text):
            return False
        return not any(line.meaning for line in read_lines(text))


def pieces_of(text: str) -> Sequence[Sequence[Piece]]:
    """Return the pieces of each line that is not blank."""
    return [
        [Piece(begin=m.start(), end=m.end(), text=m[0]) for m in _PIECES.finditer(line)]
        for line in text.split("\n")
        if line.strip()
    ]


def arrange_labels(text: str) -> str:
    """Return the text of a page with each label next to its value."""
    lines = pieces_of(text)
    taken: set[tuple[int, int]] = set()
    arranged_lines: list[str] = []
    for number, line in enumerate(lines):
        if all((number, index) in taken for index in range(len(line))):
            continue
        if _is_row([line]):
            arranged_lines.append(" | ".join(piece.text for piece in line))
            continue
        for index, piece in enumerate(line):
            if (number, index) in taken:
                continue
            right = line[index + 1] if index + 1 < len(line) else None
            if piece.is_label and right is not None and piece.accepts_value(right.text):
                taken.add((number, index + 1))
                arranged_lines.append(f"{piece.text.rstrip(':')}: {right.text}")
            elif piece.is_label and len(line) > 1:
                arranged_lines += _with_below(piece, lines, number, taken)
            else:
                arranged_lines.append(piece.text)
    return "\n".join(arranged_lines)


def _is_row(lines: Sequence[Sequence[Piece]]) -> bool:
    """Return whether a line is a row or the titles of a table of items."""
    line = lines[0] if lines else ()
    labels = sum(1 for piece in line if piece.is_label)
    return (
        len(line) >= _COLUMNS_MIN
        and labels < len(line)
        and not any(
            piece.is_label and piece.accepts_value(right.text) for piece, right in pairwise(line)
        )
    )


def _with_below(
    label: Piece, lines: Sequence[Sequence[Piece]], number: int, taken: set[tuple[int, int]]
) -> Iterator[str]:
    """Yield a label with the pieces below it, up to the next label."""
    block: list[str] = []
    for below in range(number + 1, min(number + 1 + _BLOCK_MAX, len(lines))):
        fitting = [
            index
            for index, piece in enumerate(lines[below])
            if (below, index) not in taken
            # The piece begins or ends at the same column as the label.
            and min(abs(label.begin - piece.begin), abs(label.end - piece.end)) <= _NEAR
        ]
        if not fitting or lines[below][fitting[0]].is_label:
            break
        if _is_row([lines[below]]) and (block or _is_row(lines[below + 1 : below + 2])):
            break
        taken.add((below, fitting[0]))
        block.append(lines[below][fitting[0]].text)
    if not block or not label.accepts_value(block[0]):
        yield label.text
        yield from block
        return
    yield f"{label.text.rstrip(':')}: {block[0]}"
    yield from block[1:]


def tables_in(text: str) -> Iterator[Table]:
    """Yield a table for each possible line of titles.

    Such a line has several columns and no digit. Lines below are divided into its columns, and
    lines above are kept unchanged. The reader of the table decides whether they are titles.
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
    """Assign the pieces of a line to the titles above, or to the nearest ones."""
    cells: list[str | None] = [None] * len(titles)
    for piece in line:
        index = min(range(len(titles)), key=lambda at: _column_distance(titles[at], piece))
        before = cells[index]
        cells[index] = piece.text if before is None else f"{before} {piece.text}"
    return tuple(cells)


def _column_distance(title: Piece, piece: Piece) -> int:
    """Return the distance of a piece from a title, with a penalty if they do not overlap."""
    between = max(piece.begin - title.end, title.begin - piece.end)
    edges = min(abs(title.begin - piece.begin), abs(title.end - piece.end))
    return edges if between < 0 else edges + 1_000 + between


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)


# Lists: a text in a file becomes the items of a list field.
#
# This applies to files only, which often write lists with commas. Records given as data stay
# unchanged.

_NAMED: Final = frozenset({"parties", "companies"})
_APART: Final = re.compile(r"[,;\n]")
_WORDS: Final = frozenset({"tags", "files", *_NAMED})
"""Fields whose items are names or words, which a comma separates."""


def with_lists(
    found: Iterable[FoundEntity], schemas: Sequence[EntitySchema]
) -> Iterator[FoundEntity]:
    """Yield the entities with lists in their list fields."""
    known = {schema.entity_type: schema for schema in schemas}
    for each in found:
        schema, divided = known.get(each.entity_type), dict(each.fields)
        for name, value in each.fields.items():
            spec = schema.find_field(schema.canonical_field(name) or "") if schema else None
            if spec is not None and spec.type is FieldType.ARRAY and isinstance(value, str):
                divided[name] = items_in(spec.name, value)
        yield each if schema is None else replace(each, fields=divided)


def items_in(name: str, text: str) -> list[Any]:
    """Split a text into the items of the field `name`."""
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


_STRONG: Final = 6  # the weight from which the type of a document counts, even if it has tables

_TABULAR: Final = frozenset({FileType.CSV, FileType.XLSX, FileType.XLS, FileType.ODS})
_LABELLED: Final = 3
_LABELLED_SHARE: Final = 0.6
_NOTE: Final = kinds.Kind(entity_type="note", reasons=("no evidence of another type",), weight=0)
_EXCHANGED: Final = frozenset({"invoice", "credit_note"})
_TYPED: Final = frozenset({"entity_type", "schema_version"})
"""Fields of records that already have a type of their own."""
_UPDATED: Final = frozenset(kinds.TABLES["own_times"]["record"].split())
_STATED: Final = kinds.TABLES["own_times"]["front_matter"].split()
_ISSUED: Final = kinds.TABLES["own_times"]["issued"].split()
_OBJECTS: Final = frozenset({FileType.JSON, FileType.JSONL})
_GENERAL: Final = frozenset(kinds.TABLES["words"]["general"].split())
"""General names of lists, which give no type."""


def interpret_reading(
    reading: Reading, schemas: Sequence[EntitySchema], *, untyped: str = ""
) -> Interpretation:
    """Find the entities of a file, in its order.

    `untyped` is the type of rows and records without a type that fit no schema.
    """
    warnings = list(reading.notes)
    if (first := next(chats := _find_chats(reading, warnings), None)) is not None:
        return Interpretation(
            entities=pack_entities(chain((first,), chats)), warnings=tuple(warnings)
        )
    front = [each.fields for each in reading.records if each.kind == FRONT]
    reading = replace(reading, records=tuple(r for r in reading.records if r.kind != FRONT))
    payments, records = of_services(reading.records)
    if payments:  # the name of the file is no type of its payments
        reading = replace(reading, name="", tables=tuple(payments), records=records)
    found: Iterable[FoundEntity] | None = _find_statements(reading, schemas, warnings)
    if found is None or (payments and records):
        found = chain(
            found or (), _find_entities(replace(reading, records=records), schemas, untyped)
        )
    if front:
        found = _with_front(found, front[0], schemas)
        made = (utc_text_of(str(front[0].get(name, ""))) for name in _STATED)
        reading = replace(reading, made_at=next(filter(None, made), None))
    seen = _EntityStream(made_at=reading.made_at)
    entities = pack_entities(seen.date_entities(with_lists(found, schemas)))
    warnings += seen.mismatches
    if reading.differs:
        warnings.append(f"The content is {reading.kind.value}, not the declared type.")
    if seen.long and len(reading.whole_text) > CONTENT_MAX:
        warnings.append(f"The entity has only the first {CONTENT_MAX} characters of the text.")
    if not entities:
        warnings.append("No entity was found in the file.")
    if seen.unclear:
        warnings.append(f"{seen.unclear} values were unclear and are kept as written.")
    return Interpretation(entities=entities, warnings=tuple(warnings))


def _find_chats(reading: Reading, warnings: list[str]) -> Iterator[FoundEntity]:
    """Yield conversations and messages if the file is an export of chats."""
    if reading.kind in _OBJECTS:
        return extract_chats(reading.records, reading.name, warnings)
    return (
        extract_chat_lines(reading.whole_text, reading.name)
        if reading.kind is FileType.PLAIN
        else iter(())
    )


def _with_front(
    found: Iterable[FoundEntity], front: Mapping[str, Any], schemas: Sequence[EntitySchema]
) -> Iterator[FoundEntity]:
    """Yield the entities; the first has the front matter's values too, which go before its own."""
    first, *rest = [*found] or [FoundEntity(entity_type="note", fields={})]
    known = {schema.entity_type: schema for schema in schemas}
    schema = known.get(first.entity_type)
    called = {name: (schema and schema.canonical_field(name)) or name for name in front}
    fields = {called[name]: value for name, value in front.items()}
    yield replace(first, fields={**first.fields, **fields})
    yield from rest


@dataclass(slots=True)
class _EntityStream:
    """Dates a stream of entities and collects warnings about it, without storing the entities."""

    made_at: str | None
    last_day: str = ""
    mismatches: dict[str, None] = field(default_factory=dict)
    long: bool = False
    unclear: int = 0

    def __post_init__(self) -> None:
        """Compute the last day, in any time zone, that a file of this time can name as its own."""
        if self.made_at:
            self.last_day = (datetime.fromisoformat(self.made_at) + timedelta(days=1)).isoformat()

    def date_entities(self, found: Iterable[FoundEntity]) -> Iterator[FoundEntity]:
        """Yield the same entities, each with its own time if it or the file states one."""
        for each in found:
            if each.seen_at is None and (own := self._own_time(each.fields)):
                each = replace(each, seen_at=own)  # noqa: PLW2901 - the rest is the same
            self.mismatches.update(dict.fromkeys(find_mismatches(each)))
            self.long = self.long or "content" in each.fields
            self.unclear += len(each.unread)
            yield each

    def _own_time(self, fields: Mapping[str, Any]) -> str | None:
        """Return the time of a record, or of its file unless the record is younger than that."""
        for name, value in fields.items():
            if _is_of_update(name) and (own_time := utc_text_of(str(value))):
                return own_time
        issued = filter(None, (utc_text_of(str(fields.get(name, ""))) for name in _ISSUED))
        return self.made_at if max(issued, default="") <= self.last_day else None


@lru_cache(4_096)  # records repeat the names of their fields
def _is_of_update(name: str) -> bool:
    """Return whether a field, however written, is the time of a record's last change."""
    return "".join(filter(str.isalnum, name.lower())) in _UPDATED


def _find_statements(
    reading: Reading, schemas: Sequence[EntitySchema], warnings: list[str]
) -> Iterator[FoundEntity] | None:
    """Return the transactions of bank statements, unless the file's name gives another type."""
    named = type_of_list(reading.name)
    others = {schema.entity_type for schema in schemas} - {"transaction"}
    if named in others:
        return None
    found: list[Iterator[FoundEntity]] = []
    for table in reading.tables or _records_as_table(reading.records) or tables_in(reading.layout):
        statement = statement_of(table)
        if statement is not None:
            require_few(statement.total)
            found.append(statement.transactions)
            warnings += statement.notes
    return number_repeated(chain.from_iterable(found)) if found else None


def _records_as_table(records: Sequence[Record]) -> Sequence[Table]:
    """Return records that name no type or schema as a table, as banks also export them."""
    free = {"", "transaction", *_GENERAL}
    lines: list[Mapping[str, Any]] = []
    for record in records:
        kind, _, key = record.kind.partition(":")
        state = {"status": key} if state_of(key) else {}
        if kind != "object" or (not state and type_of_list(key) not in free):
            return ()
        lines.append(dict(_flatten_record({**state, **record.fields})))
    names = dict.fromkeys(name for line in lines for name in line)
    nested = (isinstance(value, list | dict) for line in lines for value in line.values())
    if not names or not _TYPED.isdisjoint(names) or any(nested):
        return ()
    titles = tuple(snake_case(name).replace("_", " ") for name in names)
    return (Table(rows=(titles, *(tuple(map(line.get, names)) for line in lines))),)


def _flatten_record(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values of a record, with an amount and its currency apart."""
    for name, value in fields.items():
        match value:
            case {"amount": amount, "currency": currency}:
                yield name, amount
                own = snake_case(name) in {"amount", "transaction_amount"}
                yield "currency" if own else f"{name} currency", currency
            case dict():
                yield from ((f"{name} {key}", each) for key, each in value.items())
            case _:
                yield name, value


def _find_entities(
    reading: Reading, schemas: Sequence[EntitySchema], untyped: str
) -> Iterable[FoundEntity]:
    if any(record.kind == "message" for record in reading.records):
        return _find_messages(reading)
    if exact := [each for each in reading.records if each.kind in _EXCHANGED]:
        return [
            FoundEntity(
                entity_type=each.kind,
                fields=cards.with_rest(each.fields),
                row=number,
                reasons=("exchanged",),
            )
            for number, each in enumerate(exact, 1)
        ]
    if any(record.kind in cards.KINDS for record in reading.records):
        return cards.extract_cards(reading.records)
    if reading.kind in _OBJECTS:
        # A list of words or numbers has no labels.
        return (
            _find_in_lists(reading, schemas, untyped) if reading.records else _plain_note(reading)
        )
    lines = read_lines((arrange_labels(reading.layout) or reading.whole_text)[:SEARCHED_MAX])
    kind = kinds.type_of(lines)
    strong = kind is not None and kind.weight >= _STRONG
    if not strong or (reading.kind in _TABULAR and not _is_form(reading)):
        rows = _find_in_rows(reading, schemas, untyped)
        if (first := next(rows, None)) is not None:
            return chain((first,), rows)
    return _find_in_text(reading, schemas, lines, kind)


def _part_document(lines: Sequence[LabelledLine], number: int) -> FoundEntity:
    """Return the document in a part of a file."""
    text = "\n".join(line.text for line in lines)
    kind = kinds.type_of(lines) or _NOTE
    return replace(document_of(kind, lines, (), text)[0], row=number)


def _plain_note(reading: Reading) -> Sequence[FoundEntity]:
    text = reading.whole_text[:SEARCHED_MAX]
    return document_of(_NOTE, read_lines(text), (), text) if text.strip() else ()


def _find_in_text(
    reading: Reading,
    schemas: Sequence[EntitySchema],
    lines: Sequence[LabelledLine],
    kind: kinds.Kind | None,
) -> Sequence[FoundEntity]:
    if not any(line.text for line in lines):
        return ()
    several = () if reading.kind in _TABULAR else kinds.documents_in(lines)
    if len(several) > 1:
        return [_part_document(part, number) for number, part in enumerate(several, 1)]
    if kind is None:
        if reading.kind not in _TABULAR and (till := till_of(lines)):
            return (till,)
        if labelled := _find_labelled(reading, schemas, lines):
            return labelled
    text = reading.whole_text[:SEARCHED_MAX]
    tables = reading.tables or tuple(tables_in(reading.layout))
    found = document_of(kind or _NOTE, lines, tables, text)
    first, *others = found
    if not first.fields and not first.unread:  # only a heading was found
        return document_of(_NOTE, lines, reading.tables, text)
    named = reading.name.rpartition(".")[0].rpartition("/")[2]
    beginning = first.fields.get("title") == tidy_blanks(next(e.text for e in lines if e.text))
    if reading.kind is FileType.MARKDOWN and named and beginning and not reading.parts[0].section:
        # A note without a heading is called as its file is.
        first = replace(first, fields={**first.fields, "title": named})
    titled = first.entity_type == _NOTE.entity_type and "." not in reading.name
    if titled and reading.name not in {"", SAID_TITLE}:  # its sender gave the title
        first = replace(first, fields={**first.fields, "title": reading.name})
    return (first, *others)


def _find_labelled(
    reading: Reading, schemas: Sequence[EntitySchema], lines: Sequence[LabelledLine]
) -> Sequence[FoundEntity]:
    """Read a text that consists mostly of labels and values as one record."""
    pairs = {plain_label(line.label).replace(" ", "_"): line.value for line in lines if line.value}
    if len(pairs) < _LABELLED or len(pairs) < _LABELLED_SHARE * len(lines):
        return ()
    record = Record(kind="object", fields=pairs)
    found = tuple(extract_records((record,), schemas, reading.name))
    known = {schema.entity_type for schema in schemas}
    if kinds.heading_of(lines)[0] == "other" or not kinds.names_bill(
        reading.whole_text[:SEARCHED_MAX]
    ):
        known -= {"invoice", "receipt"}
    return found if found and found[0].entity_type in known else ()


def _find_in_rows(
    reading: Reading, schemas: Sequence[EntitySchema], untyped: str
) -> Iterator[FoundEntity]:
    for table in reading.tables:
        several = reading.kind is not FileType.CSV and len(reading.tables) > 1
        name = (several and table.name) or ""
        named = untyped or type_of_list(name)
        people = iter(()) if untyped else cards.extract_address_book(table)
        if (first := next(people, None)) is not None:
            yield from chain((first,), people)
        else:
            yield from extract_table(table, schemas, name or reading.name, untyped=named)


def _is_form(reading: Reading) -> bool:
    """Return whether the tables are mostly pairs of labels and values."""
    widths = [len([c for c in r if c not in {None, ""}]) for t in reading.tables for r in t.rows]
    return sum(1 for width in widths if width <= 2) * 2 > len(widths)  # noqa: PLR2004


def _find_messages(reading: Reading) -> Sequence[FoundEntity]:
    """Return messages; a text that is clearly a document, such as an invoice, is added."""
    found = list(cards.extract_messages(reading.records))
    records = [record for record in reading.records if record.kind == "message"]
    for index, record in enumerate(records):
        text = cards.unquoted_text(record.fields.get("text", ""))[:SEARCHED_MAX]
        if paid := kinds.invoices_paid(f"{record.fields.get('subject', '')}\n{text}"):
            fields = {**found[index].fields, "invoice_reference": paid}
            found[index] = replace(found[index], fields=fields)
        lines = read_lines(text)
        kind = kinds.type_of(lines)
        if kind is None or kind.entity_type == "note" or kind.weight < _STRONG:
            continue
        tables = reading.tables if len(records) == 1 else ()
        (document, *_) = document_of(kind, lines, tables, text)
        if document.fields or document.unread:
            document = replace(document, seen_at=record.fields.get("sent_at"))
            refers_to = (*found[index].refers_to, len(found))
            found[index] = replace(found[index], refers_to=refers_to)
            found.append(document)
    return tuple(found)


def _find_in_lists(
    reading: Reading, schemas: Sequence[EntitySchema], untyped: str
) -> Iterator[FoundEntity]:
    """Yield the records of each list; a specific name of the list gives their type."""
    start = 0
    for kind, group in groupby(reading.records, key=lambda record: record.kind):
        key = kind.partition(":")[2]
        named = untyped or type_of_list(key)
        records = tuple(group)
        if named and not untyped and named not in _GENERAL:
            records = tuple(replace(e, fields={"entity_type": named, **e.fields}) for e in records)
        before = start
        for each in extract_records(records, schemas, key or reading.name, untyped=named):
            start += 1
            yield replace(each, row=before + (each.row or 0))
