"""Questions about records: filters, rows and sums."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, Inexact, InvalidOperation
from enum import StrEnum
from typing import Any, Final

from canonry.language.texts.stems import terms_of
from canonry.log.items.entities import Entity
from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.records.domain.snapshots import shown_by
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.ids import EntityId
from canonry.values.json_values import canonical_json, fold_text

_DEPTH_MAX: Final = 32
"""The depth to which values are searched, equal to that of a call's arguments."""


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A record as a row; `unclear` maps fields with an unread value to the reason.

    `search_text` has all words of its name and fields, each after a space.
    """

    id: EntityId
    entity_type: str
    order: tuple[int, str]
    fields: Mapping[str, Any]
    unclear: Mapping[str, str]
    search_text: str


def row_of(entity: Entity, schema: EntitySchema | None) -> RecordRow:
    """Make the row of an entity by its schema."""
    shown = shown_by(entity, schema)
    unclear = {
        (schema.canonical_field(name) if schema else None) or name: fragment.reason
        for name, fragment in shown.fragments.items()
    }
    texts = [entity.name, *(text for value in shown.fields.values() for text in texts_in(value))]
    texts += [text for each in shown.fragments.values() for text in texts_in(each.value)]
    return RecordRow(
        entity.id,
        entity.entity_type,
        (entity.created_at, entity.id),
        shown.fields,
        {name: reason for name, reason in unclear.items() if name not in shown.fields},
        words_in("\n".join(texts)),
    )


def words_in(text: str) -> str:
    """Return the words of a text, each after a space, so that a search matches beginnings."""
    return " " + " ".join(terms_of(text))


def query_words(text: str) -> Sequence[str]:
    """Return the words of a query in the form of `words_in`."""
    return tuple(dict.fromkeys(f" {term}" for term in terms_of(text)))


def texts_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts and numbers in a value at any depth."""
    match value:
        case str():
            yield value
        case bool() | None:
            return
        case int() | float():
            yield str(value)
        case Mapping() if depth < _DEPTH_MAX:
            for part in value.values():
                yield from texts_in(part, depth + 1)
        case list() | tuple() if depth < _DEPTH_MAX:
            for part in value:
                yield from texts_in(part, depth + 1)
        case _:
            return


# Filters: select records by their fields.
#
# Numbers are compared as exact decimals. Dates are compared up to the length of the bound:
# `to: 2025-03` includes the whole of March.

_MONEY: Final = re.compile(r"(^|_)(amount|total|subtotal|price|balance|cost|fee|value)(_|$)")
_DATE: Final = re.compile(r"\d{4}(-\d\d(-\d\d([T ].*)?)?)?", re.ASCII)

Schemas = Mapping[str, EntitySchema]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition on a field, or on any item of a list. Both bounds are inclusive."""

    field: str
    equals: Any = None
    contains: str | None = None
    low: Any = None
    high: Any = None

    def is_met_by(self, value: Any) -> bool:
        """Return whether a value of the field meets the condition."""
        if isinstance(value, list | tuple):
            return any(map(self.is_met_by, value))
        if self.equals is not None and not _is_equal(value, self.equals):
            return False
        if self.contains is not None:
            wanted = fold_text(self.contains)
            if not any(wanted in fold_text(text) for text in texts_in(value)):
                return False
        return is_within(value, self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSelection:
    """The records of a type that meet all conditions.

    `dates` and `amounts` are bounds (lowest, highest) on any date field and any amount field.
    """

    entity_type: str | None = None
    conditions: tuple[Condition, ...] = ()
    dates: tuple[str | None, str | None] = (None, None)
    amounts: tuple[Any, Any] = (None, None)


def require_selection(selection: RecordSelection, schemas: Schemas) -> RecordSelection:
    """Return the selection, or refuse wrong bounds and unknown fields.

    Raises:
        InvalidInput: `filter.order` or `filter.date`.
        NotFound: `field.unknown`.
    """
    for number, each in enumerate(selection.conditions):
        _require_order(each.low, each.high, f"/filters/{number}")
    for bound, path in zip(selection.dates, ("/after_date", "/before_date"), strict=True):
        if bound is not None and _DATE.fullmatch(bound) is None:
            message = f"{path} must be a date such as 2025, 2025-03 or 2025-03-14."
            raise InvalidInput("filter.date", message, path=path)
    _require_order(*selection.dates, "/after_date")
    _require_order(*selection.amounts, "/min_amount")
    if selection.entity_type is not None and selection.entity_type in schemas:
        schema = schemas[selection.entity_type]
        for number, each in enumerate(selection.conditions):
            require_field(schema, each.field, f"/filters/{number}/field")
    return selection


def require_field(schema: EntitySchema, name: str, path: str) -> str:
    """Resolve a name or alias to the name of a field of the schema.

    Raises:
        NotFound: `field.unknown`.
    """
    found = schema.canonical_field(name)
    if found is None:
        known = ", ".join(each.name for each in schema.fields[:40])
        message = f"{schema.entity_type} has no such field. Its fields: {known}."
        raise NotFound("field.unknown", message, kind="field", path=path)
    return found


class Matcher:
    """Finds the records of one type that meet a selection, and the fields that matched."""

    def __init__(self, selection: RecordSelection, schema: EntitySchema | None) -> None:
        """Prepare a selection by the schema's field names."""
        self._conditions = [
            ((schema.canonical_field(each.field) if schema else None) or each.field, each)
            for each in selection.conditions
        ]
        amounts = [name for name in fields_of_type(schema, FieldType.NUMBER) if _MONEY.search(name)]
        dates = fields_of_type(schema, FieldType.DATE)
        spans = ((selection.dates, dates), (selection.amounts, amounts))
        self._spans = [(bounds, names) for bounds, names in spans if bounds != (None, None)]

    def matching_fields(self, row: RecordRow) -> Sequence[str] | None:
        """Return the fields that matched; None if the record does not meet the selection."""
        values = row.fields
        for name, condition in self._conditions:
            if name not in values or not condition.is_met_by(values[name]):
                return None
        found = [name for name, _ in self._conditions]
        for bounds, names in self._spans:
            hits = [name for name in names if name in values and is_within(values[name], *bounds)]
            if not hits:
                return None
            found += hits
        return found

    def unclear_field(self, row: RecordRow) -> str | None:
        """Return a selected field whose value in the record is unclear."""
        if not row.unclear:
            return None
        names = [name for name, _ in self._conditions]
        names += [name for _, spanned in self._spans for name in spanned]
        return next((name for name in names if name in row.unclear), None)


def fields_of_type(schema: EntitySchema | None, kind: FieldType) -> list[str]:
    """Return the fields of a schema that have a type."""
    fields: Iterable[Any] = () if schema is None else schema.fields
    return [each.name for each in fields if each.type is kind and each.name != "import_date"]


def number_of(value: Any) -> Decimal | None:
    """Return a number as an exact decimal; None for other values."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
    return number if number.is_finite() else None


def is_within(value: Any, low: Any, high: Any) -> bool:
    """Return whether a value lies within the given bounds."""
    if low is None and high is None:
        return True
    number = number_of(value)
    if number is not None:
        floor, ceiling = (None if each is None else _read_bound(each) for each in (low, high))
        return (low is None or (floor is not None and number >= floor)) and (
            high is None or (ceiling is not None and number <= ceiling)
        )
    if not isinstance(value, str) or not all(isinstance(b, str | None) for b in (low, high)):
        return False
    text = value.strip()
    return (low is None or text[: len(low)] >= low) and (high is None or text[: len(high)] <= high)


def _read_bound(value: Any) -> Decimal | None:
    """Return a bound for numbers, which may be written as text."""
    if not isinstance(value, str):
        return number_of(value)
    try:
        number = Decimal(value.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _is_equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    number = number_of(value)
    if number is not None:
        return _read_bound(wanted) == number
    return isinstance(value, str) and fold_text(value) == fold_text(str(wanted))


def _require_order(low: Any, high: Any, path: str) -> None:
    if low is None or high is None:
        return
    numbers = _read_bound(low), _read_bound(high)
    if numbers[0] is not None and numbers[1] is not None:
        ordered = numbers[0] <= numbers[1]
    else:
        ordered = str(low)[: len(str(high))] <= str(high)[: len(str(low))]
    if not ordered:
        message = "The lower bound is above the upper one. Exchange them; both are inclusive."
        raise InvalidInput("filter.order", message, path=path)


# Sums: counts and exact sums of records by fields and by period.
#
# Amounts of different currencies are never added up. Records with unclear values are left out and
# reported.

CURRENCY: Final = "currency"
MISSING: Final = "missing"
_EXACT: Final = Context(prec=2_000, traps=[Inexact])
"""Exact for sums of all numbers that a double can hold."""
_DAY: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)


class Period(StrEnum):
    """The periods by which records are counted."""

    DAY = "day"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"

    def period_of(self, date: Any) -> str | None:
        """Return the period of a date; None if the value is no date."""
        match = _DAY.match(date) if isinstance(date, str) else None
        if match is None:
            return None
        if self is Period.QUARTER:
            return f"{match[1]}-Q{(int(match[2]) + 2) // 3}"
        return match[0][: _LENGTHS[self]]


_LENGTHS: Final = {Period.DAY: 10, Period.MONTH: 7, Period.YEAR: 4}
"""The lengths of dates in ISO 8601 that name a period."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SumRequest:
    """A request for counts, or for sums of `field`, by each of `group_by`."""

    field: str | None = None
    group_by: tuple[str, ...] = ()
    period: Period | None = None
    date_field: str | None = None


@dataclass(slots=True)
class Group:
    """Records with equal values of the grouping fields, and their exact sum."""

    key: Mapping[str, Any]
    ids: list[str] = field(default_factory=list[str])
    sum: Decimal = Decimal(0)


@dataclass(slots=True)
class LeftOutRecords:
    """Records that are in no group, because a field is missing or unclear."""

    name: str
    reason: str
    ids: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class SumResult:
    """The groups in the order of their keys; `totals` are the sums of all groups by currency."""

    groups: Sequence[Group]
    totals: Sequence[Group]
    left_out: Sequence[LeftOutRecords]


def currency_of(schema: EntitySchema, name: str) -> str | None:
    """Return the field with the currency of an amount field."""
    apart = f"{CURRENCY}_{name.rpartition('_')[2]}"
    known = {each.name for each in schema.fields}
    return next((each for each in (apart, CURRENCY) if each in known), None)


class RunningSums:
    """Adds up rows one by one."""

    def __init__(self, schema: EntitySchema, asked: SumRequest) -> None:
        """Start a summary without rows; `asked` has the schema's field names."""
        self._asked = asked
        self._currency = None if asked.field is None else currency_of(schema, asked.field)
        period = () if asked.period is None else (str(asked.period),)
        self._labels = (*period, *asked.group_by, *((CURRENCY,) if self._currency else ()))
        named = (*asked.group_by, self._currency, asked.date_field if asked.period else None)
        self._named = [name for name in named if name is not None]
        self._groups: dict[tuple[str, ...], Group] = {}
        self._left: dict[tuple[str, str], LeftOutRecords] = {}

    def leave_out(self, row: RecordRow, name: str, reason: str) -> None:
        """Report a record that is in no sum."""
        self._left.setdefault((name, reason), LeftOutRecords(name, reason)).ids.append(row.id)

    def add_row(self, row: RecordRow) -> None:
        """Count a record in its group, or leave it out."""
        asked, fields = self._asked, row.fields
        number = Decimal(0)
        if asked.field is not None:
            amount = number_of(fields.get(asked.field))
            if amount is None:
                self.leave_out(row, asked.field, row.unclear.get(asked.field, MISSING))
                return
            number = amount
        if row.unclear:
            for name in self._named:
                if name in row.unclear:
                    self.leave_out(row, name, row.unclear[name])
                    return
        code = fields.get(self._currency) if self._currency else None
        # Codes are compared in capitals.
        code = (code.strip().upper() or None) if isinstance(code, str) else None
        coined = (code,) if self._currency else ()
        values = (*(fields.get(name) for name in asked.group_by), *coined)
        if asked.period is not None:
            values = (asked.period.period_of(fields.get(asked.date_field or "")), *values)
        group = _group_at(self._groups, self._labels, values)
        group.ids.append(row.id)
        group.sum = _EXACT.add(group.sum, number)

    def make_result(self) -> SumResult:
        """Return the groups, the totals and the records left out."""
        totals: dict[tuple[str, ...], Group] = {}
        for group in self._groups.values():
            coined = (group.key[CURRENCY],) if self._currency else ()
            total = _group_at(totals, self._labels[-1:] if coined else (), coined)
            total.ids += group.ids
            total.sum = _EXACT.add(total.sum, group.sum)
        return SumResult(
            groups=_in_order(self._groups),
            totals=_in_order(totals),
            left_out=[each for _, each in sorted(self._left.items())],
        )


def format_sum(number: Decimal) -> str:
    """Format a sum as an exact decimal text without trailing zeros."""
    if not number:
        return "0"
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _comparison_key(value: Any) -> str:
    """Return a key that is equal for values of one group; None comes last."""
    if value is None:
        return "\U0010ffff"
    return fold_text(value) if isinstance(value, str) else canonical_json(value).decode()


def _group_at(
    groups: dict[tuple[str, ...], Group], labels: Sequence[str], values: tuple[Any, ...]
) -> Group:
    """Return the group of these values, and add it if it is new; letter case does not matter."""
    group_key = tuple(map(_comparison_key, values))
    if group_key not in groups:
        groups[group_key] = Group(dict(zip(labels, values, strict=True)))
    return groups[group_key]


def _in_order(groups: Mapping[tuple[str, ...], Group]) -> Sequence[Group]:
    return [groups[group_key] for group_key in sorted(groups)]
