"""The rules: from what a reader found in a file to the entities that it speaks of."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from canonry.domain.extraction.cards import KINDS, of_cards, of_message
from canonry.domain.extraction.context import CONTENT_MAX, LOOKED_AT
from canonry.domain.extraction.headers import type_of_list
from canonry.domain.extraction.kinds import Kind, kind_of_text
from canonry.domain.extraction.labels import LabelledLine, lines_of, plain
from canonry.domain.extraction.lists import with_lists
from canonry.domain.extraction.prose import document_of
from canonry.domain.extraction.rows import of_records, of_table
from canonry.domain.truth.files import FileType, Reading, Record
from canonry.domain.truth.interpretations import Found, Interpretation
from canonry.domain.vocabularies.schemas import EntitySchema

_STRONG: Final = 6
"""The weight from which a document is what it says, whatever tables it holds."""

_LABELLED: Final = 3
_LABELLED_SHARE: Final = 0.6
_NOTE: Final = Kind(entity_type="note", reasons=("text",), weight=0)


def interpret(
    reading: Reading, schemas: Sequence[EntitySchema], *, untyped: str = ""
) -> Interpretation:
    """The entities in the order of the file.

    `untyped` is the type of rows and records that name none and fit none.
    """
    found = with_lists(_entities(reading, schemas, untyped), schemas)
    warnings = list(reading.notes)
    if reading.differs:
        warnings.append(f"the content is {reading.kind.value}, not what was declared")
    if len(reading.text) > CONTENT_MAX and any("content" in each.fields for each in found):
        warnings.append(f"the entity holds the first {CONTENT_MAX} characters of the text")
    if not found:
        warnings.append("nothing was found in the file that says of what it speaks")
    unclear = sum(len(each.unread) for each in found)
    if unclear:
        warnings.append(f"{unclear} values were unclear and are kept as they stand")
    return Interpretation(entities=found, warnings=tuple(warnings))


def _with_attached(
    reading: Reading, schemas: Sequence[EntitySchema], found: Sequence[Found]
) -> tuple[Found, ...]:
    """The entities of a message with those of the files attached to it, to which it refers."""
    everything = list(found)
    for attached in reading.attached:
        start = len(everything)
        inner = _entities(attached, schemas)
        if attached.kind.is_image and all(each.entity_type == "note" for each in inner):
            continue  # a logo says something too
        everything += (
            replace(each, refers_to=tuple(start + place for place in each.refers_to))
            for each in inner
        )
        if len(everything) > start:
            first = everything[0]
            everything[0] = replace(first, refers_to=(*first.refers_to, start))
    return tuple(everything)


def _entities(
    reading: Reading, schemas: Sequence[EntitySchema], untyped: str = ""
) -> Sequence[Found]:
    if any(record.kind == "message" for record in reading.records):
        return _with_attached(reading, schemas, _message(reading))
    if any(record.kind in KINDS for record in reading.records):
        return tuple(of_cards(reading.records))
    if reading.kind is FileType.JSON and reading.records:
        key = _key(reading)
        named = untyped or type_of_list(key)
        return tuple(of_records(reading.records, schemas, key or reading.name, untyped=named))
    lines = lines_of(reading.text[:LOOKED_AT])
    kind = kind_of_text(lines)
    tabular = reading.kind in {FileType.CSV, FileType.XLSX}
    if reading.tables and (kind is None or tabular or kind.weight < _STRONG):
        rows = _rows(reading, schemas, untyped)
        if rows and not (
            tabular and kind is not None and kind.weight >= _STRONG and _form(reading)
        ):
            return rows
    return _text(reading, schemas, lines, kind)


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
    found = document_of(kind or _NOTE, lines, reading.tables, text)
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


def _rows(reading: Reading, schemas: Sequence[EntitySchema], untyped: str) -> Sequence[Found]:
    found: list[Found] = []
    for table in reading.tables:
        several = reading.kind is FileType.XLSX and len(reading.tables) > 1
        name = (several and table.name) or ""
        named = untyped or type_of_list(name)
        found += of_table(table, schemas, name or reading.name, untyped=named)
    return tuple(found)


def _form(reading: Reading) -> bool:
    """Whether the tables are a form of labels and values rather than rows."""
    widths = [
        len([c for c in row if c not in {None, ""}]) for t in reading.tables for row in t.rows
    ]
    return sum(1 for width in widths if width <= 2) * 2 > len(widths)  # noqa: PLR2004


def _message(reading: Reading) -> Sequence[Found]:
    """A message; what its text plainly is, such as an invoice, is an entity of its own."""
    record = next(each for each in reading.records if each.kind == "message")
    found = list(of_message(record, reading))
    text = reading.text[:LOOKED_AT]
    lines = lines_of(text)
    kind = kind_of_text(lines)
    if kind is not None and kind.entity_type != "note" and kind.weight >= _STRONG:
        (document, *_) = document_of(kind, lines, reading.tables, text)
        if not document.fields and not document.unread:
            return tuple(found)
        first = found[0]
        found[0] = Found(
            entity_type=first.entity_type,
            fields=first.fields,
            refers_to=(*first.refers_to, len(found)),
            reasons=first.reasons,
        )
        found.append(document)
    return tuple(found)


def _key(reading: Reading) -> str:
    """The key of the list that the records stand in, if any."""
    return reading.records[0].kind.partition(":")[2]
