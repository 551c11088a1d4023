"""Papers: documents as a test of the rules wants them, and what the rules find in them."""

from collections.abc import Sequence
from typing import Any

from canonry.canon.ports.files import Cell, FileType, Reading, Record, Table
from canonry.documents.extraction.rules import interpret_reading
from canonry.language.texts.sentences import Part
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.records.domain.interpretations import FoundEntity, Interpretation

SCHEMAS = tuple(TRUTH_TYPES.values())


def interpret_paper(reading: Reading) -> Interpretation:
    """Interpret a document by the rules, with the types that come with Canonry."""
    return interpret_reading(reading, SCHEMAS)


def from_text(text: str, tables: Sequence[Sequence[Sequence[Cell]]] = ()) -> Sequence[FoundEntity]:
    """Return the entities in a text with tables."""
    kept = tuple(Table(rows=tuple(map(tuple, rows))) for rows in tables)
    reading = Reading(kind=FileType.PLAIN, parts=(Part(text=text),), tables=kept)
    return interpret_paper(reading).entities


def from_rows(*rows: Sequence[Cell], name: str = "") -> Sequence[FoundEntity]:
    """Return the entities in a table."""
    table = Table(rows=tuple(map(tuple, rows)))
    return interpret_paper(Reading(kind=FileType.CSV, name=name, tables=(table,))).entities


def from_objects(*objects: dict[str, Any], name: str = "") -> Sequence[FoundEntity]:
    """Return the entities in a list of objects."""
    records = tuple(Record(kind="object", fields=each) for each in objects)
    return interpret_paper(Reading(kind=FileType.JSON, name=name, records=records)).entities
