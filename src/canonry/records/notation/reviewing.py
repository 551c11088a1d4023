"""Reviewing: what a value that was left unclear may be, by each notation that somebody may name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from canonry.log.schemas.schemas import EntitySchema, FieldSpec, FieldType
from canonry.log.schemas.typed_records import Converted, convert
from canonry.records.domain.shown import RawFragment, Shown
from canonry.records.notation.numbers import number_in
from canonry.values.calendar_dates import DayOrder, date_in

MARKS: Final = {".": "point", ",": "comma"}
"""Decimal marks, and what a reading by each is called."""

NOTATIONS: Final = (*MARKS.values(), *(f"{order}_first" for order in DayOrder))
"""How a value may be read: the decimal mark of a number, or what stands first in a date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """A value that is not shown because it can be read in several ways, by notation."""

    spec: FieldSpec
    fragment: RawFragment
    readings: Mapping[str, Any]


def unclear_in(shown: Shown, schema: EntitySchema) -> Iterator[Unclear]:
    """What of an entity is left open; a field that another source filled is none."""
    for name, fragment in shown.fragments.items():
        canonical = schema.canonical(name)
        spec = None if canonical is None else schema.field(canonical)
        if spec is None or spec.name in shown.fields:
            continue
        readings = readings_of(fragment.value, spec)
        if len(set(readings.values())) > 1:
            yield Unclear(spec=spec, fragment=fragment, readings=readings)


def readings_of(value: Any, spec: FieldSpec) -> Mapping[str, Any]:
    """What the value may be for a field, by notation; nothing where it cannot be read at all."""
    if not isinstance(value, str):
        return {}
    found: dict[str, Any] = {}
    match spec.type:
        case FieldType.NUMBER:
            numbers = {name: number_in(value, mark) for mark, name in MARKS.items()}
            found = {name: seen.plain for name, seen in numbers.items() if seen is not None}
        case FieldType.DATE:
            days = {f"{order}_first": date_in(value, order) for order in DayOrder}
            found = {name: seen.value for name, seen in days.items() if seen is not None}
        case _:
            pass
    converted = {n: convert(each, spec) for n, each in found.items() if each is not None}
    return {n: each.value for n, each in converted.items() if isinstance(each, Converted)}
