"""The rules: from what a reader found in a file to the entities that it speaks of."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import Final

from canonry.canon.ports.files import FileType, Reading, Record
from canonry.documents.extraction.bills import EXACT, mismatches, of_exact, type_of_list
from canonry.documents.extraction.cards import (
    KINDS,
    of_address_book,
    of_cards,
    of_messages,
    said_anew,
)
from canonry.documents.extraction.context import CONTENT_MAX, LOOKED_AT
from canonry.documents.extraction.kinds import Kind, kind_of_text
from canonry.documents.extraction.layout import arranged, tables_in, with_lists
from canonry.documents.extraction.prose import document_of
from canonry.documents.extraction.rows import counted, of_records, of_table, require_few
from canonry.documents.extraction.statements.reading import statement_of
from canonry.log.schemas.schemas import EntitySchema
from canonry.records.domain.interpretations import Found, Interpretation, held
from canonry.records.notation.labels import LabelledLine, lines_of, plain

_STRONG: Final = 6
"""The weight from which a document is what it says, whatever tables it holds."""

_TABULAR: Final = frozenset({FileType.CSV, FileType.XLSX, FileType.XLS, FileType.ODS})
_LABELLED: Final = 3
_LABELLED_SHARE: Final = 0.6
_NOTE: Final = Kind(entity_type="note", reasons=("nothing says that it is more",), weight=0)
_OBJECTS: Final = frozenset({FileType.JSON, FileType.JSONL})
_GENERAL: Final = frozenset(
    {
        *("item", "data", "record", "result", "row", "entity", "value", "entry", "object"),
        *("content", "response", "payload", "list"),
    }
)
"""What lists are called that hold anything."""


def interpret(
    reading: Reading, schemas: Sequence[EntitySchema], *, untyped: str = ""
) -> Interpretation:
    """The entities in the order of the file.

    `untyped` is the type of rows and records that name none and fit none.
    """
    warnings = list(reading.notes)
    found = _statements(reading, schemas, warnings) or _entities(reading, schemas, untyped)
    seen = _Passed()
    entities = held(seen.over(with_lists(found, schemas)))
    warnings += seen.mismatches
    if reading.differs:
        warnings.append(f"the content is {reading.kind.value}, not what was declared")
    if seen.long and len(reading.text) > CONTENT_MAX:
        warnings.append(f"the entity holds the first {CONTENT_MAX} characters of the text")
    if not entities:
        warnings.append("nothing was found in the file that says of what it speaks")
    if seen.unclear:
        warnings.append(f"{seen.unclear} values were unclear and are kept as they stand")
    return Interpretation(entities=entities, warnings=tuple(warnings))


@dataclass(slots=True)
class _Passed:
    """What the entities that went by say together: of very many none is kept for it."""

    mismatches: dict[str, None] = field(default_factory=dict)
    long: bool = False
    unclear: int = 0

    def over(self, found: Iterable[Found]) -> Iterator[Found]:
        """The same entities."""
        for each in found:
            self.mismatches.update(dict.fromkeys(mismatches(each)))
            self.long = self.long or "content" in each.fields
            self.unclear += len(each.unread)
            yield each


def _statements(
    reading: Reading, schemas: Sequence[EntitySchema], warnings: list[str]
) -> Iterator[Found] | None:
    """The lines of the bank statements in a file, unless its name says that they are others."""
    named = type_of_list(reading.name)
    others = {schema.entity_type for schema in schemas} - {"transaction"}
    if named in others:
        return None
    found: list[Iterator[Found]] = []
    for table in reading.tables or tables_in(reading.layout):
        statement = statement_of(table)
        if statement is not None:
            require_few(statement.total)
            found.append(statement.found)
            warnings += statement.notes
    return counted(chain.from_iterable(found)) if found else None


def _entities(
    reading: Reading, schemas: Sequence[EntitySchema], untyped: str = ""
) -> Iterable[Found]:
    if any(record.kind == "message" for record in reading.records):
        return _messages(reading)
    if any(record.kind == EXACT for record in reading.records):
        return of_exact(reading.records)
    if any(record.kind in KINDS for record in reading.records):
        return of_cards(reading.records)
    if reading.kind in _OBJECTS:
        # A list of words or numbers labels nothing.
        return _listed(reading, schemas, untyped) if reading.records else _bare(reading)
    lines = lines_of((arranged(reading.layout) or reading.text)[:LOOKED_AT])
    kind = kind_of_text(lines)
    strong = kind is not None and kind.weight >= _STRONG
    if not strong or (reading.kind in _TABULAR and not _form(reading)):
        rows = _rows(reading, schemas, untyped)
        if (first := next(rows, None)) is not None:
            return chain((first,), rows)
    return _text(reading, schemas, lines, kind)


def _bare(reading: Reading) -> Sequence[Found]:
    text = reading.text[:LOOKED_AT]
    return document_of(_NOTE, lines_of(text), (), text) if text.strip() else ()


def _text(
    reading: Reading,
    schemas: Sequence[EntitySchema],
    lines: Sequence[LabelledLine],
    kind: Kind | None,
) -> Sequence[Found]:
    if not any(line.text for line in lines):
        return ()
    if kind is None:
        labelled = _labelled(reading, schemas, lines)
        if labelled:
            return labelled
    text = reading.text[:LOOKED_AT]
    tables = reading.tables or tuple(tables_in(reading.layout))
    found = document_of(kind or _NOTE, lines, tables, text)
    if found[0].fields or found[0].unread:
        return found
    return document_of(_NOTE, lines, reading.tables, text)  # a heading, and nothing to be read


def _labelled(
    reading: Reading, schemas: Sequence[EntitySchema], lines: Sequence[LabelledLine]
) -> Sequence[Found]:
    """A text that is nearly all labels and values is a record of them."""
    pairs = {plain(line.label).replace(" ", "_"): line.value for line in lines if line.value}
    if len(pairs) < _LABELLED or len(pairs) < _LABELLED_SHARE * len(lines):
        return ()
    record = Record(kind="object", fields=pairs)
    found = tuple(of_records((record,), schemas, reading.name))
    known = {schema.entity_type for schema in schemas}
    return found if found and found[0].entity_type in known else ()


def _rows(reading: Reading, schemas: Sequence[EntitySchema], untyped: str) -> Iterator[Found]:
    for table in reading.tables:
        several = reading.kind is not FileType.CSV and len(reading.tables) > 1
        name = (several and table.name) or ""
        named = untyped or type_of_list(name)
        people = iter(()) if untyped else of_address_book(table)
        if (first := next(people, None)) is not None:
            yield from chain((first,), people)
        else:
            yield from of_table(table, schemas, name or reading.name, untyped=named)


def _form(reading: Reading) -> bool:
    """Whether the tables are a form of labels and values rather than rows."""
    widths = [
        len([c for c in row if c not in {None, ""}]) for t in reading.tables for row in t.rows
    ]
    return sum(1 for width in widths if width <= 2) * 2 > len(widths)  # noqa: PLR2004


def _messages(reading: Reading) -> Sequence[Found]:
    """Messages; what the text of one plainly is, such as an invoice, is an entity of its own."""
    found = list(of_messages(reading.records))
    records = [record for record in reading.records if record.kind == "message"]
    for place, record in enumerate(records):
        text = said_anew(record.fields.get("text", ""))[:LOOKED_AT]
        lines = lines_of(text)
        kind = kind_of_text(lines)
        if kind is None or kind.entity_type == "note" or kind.weight < _STRONG:
            continue
        tables = reading.tables if len(records) == 1 else ()
        (document, *_) = document_of(kind, lines, tables, text)
        if document.fields or document.unread:
            refers_to = (*found[place].refers_to, len(found))
            found[place] = replace(found[place], refers_to=refers_to)
            found.append(document)
    return tuple(found)


def _listed(reading: Reading, schemas: Sequence[EntitySchema], untyped: str) -> Iterator[Found]:
    """The records of each list; a list that is called by what it holds says its type."""
    start = 0
    for kind, group in groupby(reading.records, key=lambda record: record.kind):
        key = kind.partition(":")[2]
        named = untyped or type_of_list(key)
        records = tuple(group)
        if named and not untyped and named not in _GENERAL:
            records = tuple(
                replace(each, fields={"entity_type": named, **each.fields}) for each in records
            )
        before = start
        for each in of_records(records, schemas, key or reading.name, untyped=named):
            start += 1
            yield replace(each, row=before + (each.row or 0))
