"""Grading: each true value of a document is read correctly, wrongly or not at all."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.documents.case import Case
from canonry.canon.ports.files import FileHint
from canonry.documents.interpreters.rules import RulesInterpreter
from canonry.documents.readers import LocalReader
from canonry.log.schemas.truth_types import TRUTH_TYPES, type_named
from canonry.log.schemas.typed_records import RecordReader
from canonry.values.errors import CanonryError
from canonry.values.json_values import fold_text

CORRECT, WRONG, MISSED = "correct", "wrong", "missed"
BESIDE = frozenset({"note", "company", "person", "contact", "document", "event", "task", "message"})
"""Types that a document may speak of beside what it is."""

_CENT = 0.005
_READERS = {name: RecordReader(schema) for name, schema in TRUTH_TYPES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The grade of one true value; `found` is the value that was read instead."""

    outcome: str
    field: str
    true: Any
    found: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """A case with its marks; `fault` where the file was refused."""

    case: Case
    marks: Sequence[Mark]
    fault: str = ""
    counts: Counter[str] = field(default_factory=Counter)


async def graded(case: Case) -> Graded:
    """Read a case as an upload would be, and compare."""
    fault = ""
    try:
        found = await _found(case)
    except CanonryError as error:
        found, fault = [], f"{error.code}: {error.message}"
    marks = list(_marks(case.truth, found))
    return Graded(
        case=case, marks=marks, fault=fault, counts=Counter(mark.outcome for mark in marks)
    )


async def _found(case: Case) -> Sequence[Mapping[str, Any]]:
    hint = FileHint(mime_type=case.mime_type, name=case.file_name)
    reading = await LocalReader().examine_file(case.data, hint)
    said = await RulesInterpreter().interpret_reading(reading, {}, tuple(TRUTH_TYPES.values()))
    found = []
    for each in said.entities:
        kind = type_named(each.entity_type)
        reader = _READERS.get(kind)
        fields = each.fields if reader is None else reader.read_record(each.fields).fields
        found.append({"entity_type": kind, **fields})
    return found


def _marks(
    truth: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]]
) -> Iterator[Mark]:
    """The marks of all true values, and of entities that nobody speaks of."""
    left = list(found)
    kinds = {each["entity_type"] for each in truth}
    unmatched = []
    for wanted in truth:
        alike = [each for each in left if each["entity_type"] == wanted["entity_type"]]
        if not alike:
            unmatched.append(wanted)
            continue
        best = max(alike, key=lambda each: _likeness(wanted, each))
        left.remove(best)
        yield from (_mark(name, true, best.get(name)) for name, true in _fields(wanted))
    for wanted in unmatched:
        for name, true in _fields(wanted):
            yield from () if true is None else (Mark(outcome=MISSED, field=name, true=true),)
    for each in left:
        kind = each["entity_type"]
        if kind in kinds or (unmatched and kind not in BESIDE):
            yield Mark(outcome=WRONG, field=f"a {kind} too many", true=None, found=dict(each))


def _fields(wanted: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, true) for name, true in wanted.items() if name != "entity_type")


def _likeness(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> int:
    marks = [_mark(name, true, found.get(name)) for name, true in _fields(wanted)]
    return sum({CORRECT: 3, WRONG: -1}.get(mark.outcome, 0) for mark in marks)


def _mark(name: str, true: Any, found: Any) -> Mark:
    if true is None:
        outcome = CORRECT if found is None else WRONG
    elif found is None:
        outcome = MISSED
    else:
        outcome = CORRECT if _same(true, found) else WRONG
    return Mark(outcome=outcome, field=name, true=true, found=found)


def _same(true: Any, found: Any) -> bool:
    if isinstance(true, tuple):
        return any(_same(each, found) for each in true)
    if isinstance(true, list):
        theirs = found if isinstance(found, list) else [found]
        return len(true) == len(theirs) and all(
            any(_same(each, other) for other in theirs) for each in true
        )
    if isinstance(true, Mapping):
        return isinstance(found, Mapping) and all(
            _same(each, found.get(name)) for name, each in true.items()
        )
    if isinstance(true, int | float) and isinstance(found, int | float):
        return abs(true - found) < _CENT
    return fold_text(str(true)) == fold_text(str(found))
