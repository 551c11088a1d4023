"""Filters: which records a question is about, by what their fields say.

Numbers are compared as decimals, exactly as they were told. Dates are compared as far as the bound
goes, so that `to: 2025-03` is the whole of March.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.records.domain.asking.rows import RecordRow, texts_in
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.normal_forms import folded

_MONEY: Final = re.compile(r"(^|_)(amount|total|subtotal|price|balance|cost|fee|value)(_|$)")
_DATE: Final = re.compile(r"\d{4}(-\d\d(-\d\d([T ].*)?)?)?", re.ASCII)
_NOT_ASKED: Final = "import_date"
"""When a record was brought in says nothing of the record."""

Schemas = Mapping[str, EntitySchema]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What a field has to say; of a list any item may say it. Both bounds are inclusive."""

    field: str
    equals: Any = None
    contains: str | None = None
    low: Any = None
    high: Any = None

    def holds(self, value: Any) -> bool:
        """Whether a value of the field says it."""
        if isinstance(value, list | tuple):
            return any(map(self.holds, value))
        if self.equals is not None and not _same(value, self.equals):
            return False
        if self.contains is not None:
            wanted = folded(self.contains)
            if not any(wanted in folded(text) for text in texts_in(value)):
                return False
        return within(value, self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSelection:
    """The records of a type that meet all conditions; `dates` and `amounts` bound any such field.

    The bounds of `dates` and `amounts` are the lowest and the highest, each or none.
    """

    entity_type: str | None = None
    conditions: tuple[Condition, ...] = ()
    dates: tuple[str | None, str | None] = (None, None)
    amounts: tuple[Any, Any] = (None, None)


def require_selection(selection: RecordSelection, schemas: Schemas) -> RecordSelection:
    """The selection with fields under their own names, where it is about a type.

    Raises:
        InvalidInput: `filter.order` or `filter.date`.
        NotFound: `field.unknown`.
    """
    for number, each in enumerate(selection.conditions):
        _require_order(each.low, each.high, f"/filters/{number}")
    for bound, path in zip(selection.dates, ("/after_date", "/before_date"), strict=True):
        if bound is not None and _DATE.fullmatch(bound) is None:
            message = f"{path} is a date such as 2025, 2025-03 or 2025-03-14"
            raise InvalidInput("filter.date", message, path=path)
    _require_order(*selection.dates, "/after_date")
    _require_order(*selection.amounts, "/min_amount")
    if selection.entity_type is not None and selection.entity_type in schemas:
        schema = schemas[selection.entity_type]
        for number, each in enumerate(selection.conditions):
            require_field(schema, each.field, f"/filters/{number}/field")
    return selection


def require_field(schema: EntitySchema, name: str, path: str) -> str:
    """The field of a schema that a name or alias means.

    Raises:
        NotFound: `field.unknown`.
    """
    found = schema.canonical(name)
    if found is None:
        known = ", ".join(each.name for each in schema.fields[:40])
        message = f"{schema.entity_type} has no such field; it has {known}"
        raise NotFound("field.unknown", message, kind="field", path=path)
    return found


class Matcher:
    """Tells which records of one type meet a selection, and by which fields."""

    def __init__(self, selection: RecordSelection, schema: EntitySchema | None) -> None:
        """The selection, by the names that fields have in the schema of the type."""
        self._conditions = [
            ((schema.canonical(each.field) if schema else None) or each.field, each)
            for each in selection.conditions
        ]
        spans = ((selection.dates, dates_of(schema)), (selection.amounts, amounts_of(schema)))
        self._spans = [(bounds, names) for bounds, names in spans if bounds != (None, None)]

    def fields(self, row: RecordRow) -> Sequence[str] | None:
        """The fields by which a record meets the selection; None where it does not."""
        said = row.fields
        for name, condition in self._conditions:
            if name not in said or not condition.holds(said[name]):
                return None
        found = [name for name, _ in self._conditions]
        for bounds, names in self._spans:
            hits = [name for name in names if name in said and within(said[name], *bounds)]
            if not hits:
                return None
            found += hits
        return found

    def unclear(self, row: RecordRow) -> str | None:
        """A field that the selection asks about, of which the record says what is no value."""
        if not row.unclear:
            return None
        names = [name for name, _ in self._conditions]
        names += [name for _, spanned in self._spans for name in spanned]
        return next((name for name in names if name in row.unclear), None)


def dates_of(schema: EntitySchema | None) -> Sequence[str]:
    """The fields of a type that say when."""
    return _typed(schema, FieldType.DATE)


def amounts_of(schema: EntitySchema | None) -> Sequence[str]:
    """The fields of a type that say how much."""
    return [name for name in _typed(schema, FieldType.NUMBER) if _MONEY.search(name)]


def _typed(schema: EntitySchema | None, kind: FieldType) -> list[str]:
    fields: Iterable[Any] = () if schema is None else schema.fields
    return [each.name for each in fields if each.type is kind and each.name != _NOT_ASKED]


def number_of(value: Any) -> Decimal | None:
    """A number as it was told; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
    return number if number.is_finite() else None


def within(value: Any, low: Any, high: Any) -> bool:
    """Whether a value lies between the bounds that there are."""
    if low is None and high is None:
        return True
    number = number_of(value)
    if number is not None:
        floor, ceiling = (None if each is None else _bound(each) for each in (low, high))
        return (low is None or (floor is not None and number >= floor)) and (
            high is None or (ceiling is not None and number <= ceiling)
        )
    if not isinstance(value, str) or not all(isinstance(b, str | None) for b in (low, high)):
        return False
    text = value.strip()
    return (low is None or text[: len(low)] >= low) and (high is None or text[: len(high)] <= high)


def _bound(value: Any) -> Decimal | None:
    """A bound for numbers, which may be written as a text."""
    if not isinstance(value, str):
        return number_of(value)
    try:
        number = Decimal(value.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _same(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    number = number_of(value)
    if number is not None:
        return _bound(wanted) == number
    return isinstance(value, str) and folded(value) == folded(str(wanted))


def _require_order(low: Any, high: Any, path: str) -> None:
    if low is None or high is None:
        return
    numbers = _bound(low), _bound(high)
    if numbers[0] is not None and numbers[1] is not None:
        ordered = numbers[0] <= numbers[1]
    else:
        ordered = str(low)[: len(str(high))] <= str(high)[: len(str(low))]
    if not ordered:
        message = "the lower bound lies above the upper one; both are inclusive"
        raise InvalidInput("filter.order", message, path=path)
