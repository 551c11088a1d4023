"""Sums: counts and exact sums of records by what their fields say and by period.

Amounts of different currencies are never added up. What is said of a field and is no value is left
out, and told.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, Inexact
from enum import StrEnum
from typing import Any, Final

from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.records.domain.asking.filters import dates_of, number_of
from canonry.records.domain.asking.rows import RecordRow
from canonry.values.errors import InvalidInput
from canonry.values.json_values import canonical_json
from canonry.values.normal_forms import folded

CURRENCY: Final = "currency"
MISSING: Final = "missing"
_EXACT: Final = Context(prec=2_000, traps=[Inexact])
"""The longest numbers that JSON's doubles and our fields hold fit into it, whatever is added."""
_DAY: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)


class Period(StrEnum):
    """By which spans of time records are counted."""

    DAY = "day"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"

    def of(self, date: Any) -> str | None:
        """The span in which a date lies, by the day that it says; None for what says none."""
        match = _DAY.match(date) if isinstance(date, str) else None
        if match is None:
            return None
        year, month = match[1], match[2]
        match self:
            case Period.DAY:
                return match[0]
            case Period.MONTH:
                return f"{year}-{month}"
            case Period.QUARTER:
                return f"{year}-Q{(int(month) + 2) // 3}"
            case Period.YEAR:
                return year


@dataclass(frozen=True, slots=True, kw_only=True)
class Summing:
    """What is counted: `field` is added up where it is given, apart for each of `group_by`."""

    field: str | None = None
    group_by: tuple[str, ...] = ()
    period: Period | None = None
    date_field: str | None = None


@dataclass(slots=True)
class Group:
    """Records that say the same of what they are grouped by, with their exact sum."""

    key: Mapping[str, Any]
    ids: list[str] = field(default_factory=list[str])
    sum: Decimal = Decimal(0)


@dataclass(slots=True)
class LeftOut:
    """Records that are in no group, because a field says nothing or nothing that is a value."""

    name: str
    reason: str
    ids: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """The groups in the order of their keys; `totals` are all of them together, by currency."""

    groups: Sequence[Group]
    totals: Sequence[Group]
    left_out: Sequence[LeftOut]


def require_number(schema: EntitySchema, name: str, path: str) -> None:
    """Refuse to add up a field that does not hold numbers.

    Raises:
        InvalidInput: `sum.not-a-number`.
    """
    spec = schema.field(name)
    if spec is None or spec.type is not FieldType.NUMBER:
        numbers = ", ".join(e.name for e in schema.fields if e.type is FieldType.NUMBER) or "none"
        message = f"{name} holds no numbers; of {schema.entity_type} these do: {numbers}"
        raise InvalidInput("sum.not-a-number", message, path=path)


def require_date(schema: EntitySchema, name: str, path: str) -> None:
    """Refuse to tell periods by a field that does not hold dates.

    Raises:
        InvalidInput: `sum.not-a-date`.
    """
    if name not in (dates := dates_of(schema)):
        told = ", ".join(dates) or "none"
        message = f"{name} holds no dates; of {schema.entity_type} these do: {told}"
        raise InvalidInput("sum.not-a-date", message, path=path)


def currency_of(schema: EntitySchema, name: str) -> str | None:
    """The field that says in which currency another one is."""
    apart = f"{CURRENCY}_{name.rpartition('_')[2]}"
    known = {each.name for each in schema.fields}
    return next((each for each in (apart, CURRENCY) if each in known), None)


class RunningSums:
    """Adds up rows, one after the other."""

    def __init__(self, schema: EntitySchema, asked: Summing) -> None:
        """A summary without any rows, of the fields under their own names."""
        self._asked = asked
        self._currency = None if asked.field is None else currency_of(schema, asked.field)
        period = () if asked.period is None else (str(asked.period),)
        self._labels = (*period, *asked.group_by, *((CURRENCY,) if self._currency else ()))
        named = (*asked.group_by, self._currency, asked.date_field if asked.period else None)
        self._named = [name for name in named if name is not None]
        self._groups: dict[tuple[str, ...], Group] = {}
        self._known: dict[tuple[Any, ...], Group] = {}
        self._left: dict[tuple[str, str], LeftOut] = {}

    def leave_out(self, row: RecordRow, name: str, reason: str) -> None:
        """Tell of a record that is in no sum."""
        self._left.setdefault((name, reason), LeftOut(name, reason)).ids.append(row.id)

    def add(self, row: RecordRow) -> None:
        """Count a record in its group, or leave it out."""
        asked, said = self._asked, row.fields
        number = Decimal(0)
        if asked.field is not None:
            told = number_of(said.get(asked.field))
            if told is None:
                self.leave_out(row, asked.field, row.unclear.get(asked.field, MISSING))
                return
            number = told
        if row.unclear:
            for name in self._named:
                if name in row.unclear:
                    self.leave_out(row, name, row.unclear[name])
                    return
        coined = (_coined(said.get(self._currency)),) if self._currency else ()
        values = (*(said.get(name) for name in asked.group_by), *coined)
        if asked.period is not None:
            values = (asked.period.of(said.get(asked.date_field or "")), *values)
        group = self._group(values)
        group.ids.append(row.id)
        group.sum = _EXACT.add(group.sum, number)

    def _group(self, values: tuple[Any, ...]) -> Group:
        """The group of records that say these, or the same in other letters."""
        try:
            known = self._known.get(values)
        except TypeError:  # a list or an object is among them
            return _placed(self._groups, self._labels, values)
        if known is None:
            known = self._known[values] = _placed(self._groups, self._labels, values)
        return known

    def result(self) -> Summed:
        """What the rows come to."""
        totals: dict[tuple[str, ...], Group] = {}
        for group in self._groups.values():
            coined = (group.key[CURRENCY],) if self._currency else ()
            total = _placed(totals, self._labels[-1:] if coined else (), coined)
            total.ids += group.ids
            total.sum = _EXACT.add(total.sum, group.sum)
        return Summed(
            groups=_in_order(self._groups),
            totals=_in_order(totals),
            left_out=[each for _, each in sorted(self._left.items())],
        )


def written(number: Decimal) -> str:
    """A sum as a decimal text, exactly, without needless zeros."""
    if not number:
        return "0"
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _coined(value: Any) -> str | None:
    """A currency as it is told apart: by its code, however it was written."""
    text = str(value).strip().upper() if isinstance(value, str) else ""
    return text or None


def _alike(value: Any) -> str:
    """Equal for values that make one group; what says nothing comes last."""
    if value is None:
        return "\U0010ffff"
    return folded(value) if isinstance(value, str) else canonical_json(value).decode()


def _placed(
    groups: dict[tuple[str, ...], Group], labels: Sequence[str], values: tuple[Any, ...]
) -> Group:
    """The group of these values, which is new where there is none."""
    place = tuple(map(_alike, values))
    if place not in groups:
        groups[place] = Group(dict(zip(labels, values, strict=True)))
    return groups[place]


def _in_order(groups: Mapping[tuple[str, ...], Group]) -> Sequence[Group]:
    found: Iterable[tuple[tuple[str, ...], Group]] = groups.items()
    return [group for _, group in sorted(found, key=lambda pair: pair[0])]
