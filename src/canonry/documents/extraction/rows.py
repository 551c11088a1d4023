"""Rows and records: one entity each, never fewer, with values typed by the evidence of a column."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.canon.ports.files import Cell, Record, Table
from canonry.documents.extraction.bills import (
    SIDES,
    Mapped,
    currency_named,
    fields_of,
    mapped,
    snake,
    type_of_layout,
)
from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.records.domain.interpretations import FILED_MAX, Found, Unread
from canonry.records.notation.labels import plain
from canonry.records.notation.numbers import (
    currency_in,
    is_currency,
    is_measured,
    mark_in,
    number_in,
)
from canonry.values.calendar_dates import DayOrder, date_in, order_in
from canonry.values.errors import InvalidInput
from canonry.values.json_values import encode_json
from canonry.values.languages import languages, notion_of

_HEADER_WITHIN: Final = 12
_TYPE_KEY: Final = "entity_type"
_TELLING: Final[Mapping[str, tuple[str, ...]]] = {
    "transaction": (
        *("date", "posting_date", "amount", "amount_original", "currency", "merchant_name"),
        *("account_id", "description", "balance"),
    ),
    "receipt": (
        *("merchant_name", "merchant", "date_purchased", "transaction_date"),
        *("amount_total", "amount"),
    ),
}
"""The fields of a payment that tell one from another, by its type."""

_NUMBERED: Final = {"transaction": "transaction_id", "receipt": "receipt_number"}

WITH_BOTH_ORDERS: Final = frozenset({"USD", "CAD"})
"""Currencies of countries in which the day or the month stands first."""

_OWN: Final = frozenset({"schema_version"})
_NAME_MAX: Final = 200


def of_table(
    table: Table, schemas: Sequence[EntitySchema], file_name: str, *, untyped: str = ""
) -> Iterator[Found]:
    """An entity a row below the header; a table without a header gives none.

    `untyped` is the type of rows that name none and fit none.
    """
    header = _header(table)
    if header is None:
        return
    rows = [row for row in table.rows[header + 1 :] if any(c not in {None, ""} for c in row)]
    names = _names(table.rows[header], max(map(len, rows), default=0))
    require_few(len(rows))
    sheet = _Sheet(
        meant=mapped(names, schemas, file_name),
        schemas=schemas,
        columns=_written({name: _cells(rows, place) for place, name in enumerate(names)}),
        untyped=untyped or type_of_layout(names),
    )
    seen: Counter[Any] = Counter()
    for number, row in enumerate(rows, 1):
        values = {
            name: cell
            for name, cell in zip(names, row, strict=False)
            if cell is not None and cell != ""
        }
        if values:
            yield _counted(sheet.found(values, number), seen)


def require_few(rows: int) -> None:
    """Refuse a file of more rows than become canon.

    Raises:
        InvalidInput: `document.too-large`.
    """
    if rows > FILED_MAX:
        message = f"the file holds {rows} records; split it into files of {FILED_MAX} at most"
        raise InvalidInput("document.too-large", message, unit="records", limit=FILED_MAX)


def counted(found: Iterable[Found]) -> Iterator[Found]:
    """Those found, of whom each that says the same as one before has its number."""
    seen: Counter[Any] = Counter()
    return (_counted(each, seen) for each in found)


def _counted(found: Found, seen: Counter[Any]) -> Found:
    """Of rows that say the same, each after the first with its number.

    Two coffees of one day are two payments; the same statement read again has the same two.
    """
    kind, said = found.entity_type, found.fields
    telling = _TELLING.get(kind)
    if telling is None:
        alike = (kind, encode_json({**said, **{n: u.value for n, u in found.unread.items()}}))
        seen[alike] += 1
        return found if seen[alike] == 1 else replace(found, occurrence=seen[alike])
    if _NUMBERED[kind] in said:
        return found
    paid = (kind, *(said.get(name, found.unread.get(name)) for name in telling))
    seen[paid] += 1
    if seen[paid] == 1:
        return found
    return replace(found, fields={**said, "occurrence": seen[paid]}, occurrence=seen[paid])


def of_records(
    records: Sequence[Record],
    schemas: Sequence[EntitySchema],
    file_name: str,
    *,
    untyped: str = "",
) -> Iterator[Found]:
    """An entity a record; records of one file that name no type are all of the one that fits.

    `untyped` is their type where none fits.
    """
    require_few(len(records))
    names = list(dict.fromkeys(name for record in records for name in record.fields))
    sheet = _Sheet(
        meant=mapped([name for name in names if name not in _OWN], schemas, file_name),
        schemas=schemas,
        columns=_written({name: [each.fields.get(name) for each in records] for name in names}),
        untyped=untyped or type_of_layout(names),
    )
    seen: Counter[Any] = Counter()
    for number, record in enumerate(records, 1):
        values = {
            name: value
            for name, value in record.fields.items()
            if value is not None and value != "" and name
        }
        if values.keys() - _OWN:
            yield _counted(sheet.found(values, number), seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """What the values of one column say together about their notation."""

    order: DayOrder | None = None
    mark: str | None = None

    @classmethod
    def of(cls, values: Sequence[Any]) -> "_Column":
        text = "\n".join(value for value in values if isinstance(value, str))
        return cls(order=order_in(text), mark=mark_in(text))


def _written(columns: Mapping[str, Sequence[Any]]) -> Mapping[str, _Column]:
    """How each column is written; what it leaves open the whole table says, or its country."""
    own = {name: _Column.of(values) for name, values in columns.items()}
    orders, marks = {each.order for each in own.values()}, {each.mark for each in own.values()}
    spoken = {notion_of(plain(name))[1] for name in columns} - {"", "en"}
    language = languages()[spoken.pop()] if len(spoken) == 1 else None
    cells = (cell for values in columns.values() for cell in values)
    abroad = {each for each in cells if isinstance(each, str) and is_currency(each)}
    abroad -= WITH_BOTH_ORDERS
    day_first = language.day_first if language else bool(abroad)
    order = _only(orders) or (DayOrder.DAY if day_first and not orders - {None} else None)
    mark = _only(marks)
    if mark is None and not marks - {None} and language is not None and language.thousands:
        mark = "," if language.thousands == "." else "."
    return {
        name: _Column(order=each.order or order, mark=each.mark or mark)
        for name, each in own.items()
    }


def _only(evidence: set[Any]) -> Any:
    """What all columns say that say something; None where they contradict each other."""
    told = evidence - {None}
    return next(iter(told)) if len(told) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sheet:
    """Rows or records that belong together: what their names mean, and how they are written."""

    meant: Mapped | None
    schemas: Sequence[EntitySchema]
    columns: Mapping[str, _Column]
    untyped: str

    def found(self, values: Mapping[str, Any], number: int) -> Found:
        """The entity of one row."""
        meant, named = self._meant(values)
        entity_type = named or (meant.entity_type if meant else self.untyped)
        schema = next((each for each in self.schemas if each.entity_type == entity_type), None)
        types = {} if schema is None else {spec.name: spec.type for spec in schema.fields}
        targets = {} if meant is None else meant.fields
        fields: dict[str, Any] = {}
        unread: dict[str, Unread] = {}
        for name, value in values.items():
            target = targets.get(name, snake(name))
            if not target or name == _TYPE_KEY or target in _OWN:
                continue
            target = snake(name) if target in fields else target
            typed = _typed(value, types.get(target), self.column(name))
            if isinstance(typed, Unread):
                unread[target] = typed
            else:
                fields[target] = typed
        if "amount" in types and "amount" not in fields:
            fields.update(self._sided(values))
        if "currency" in types and "currency" not in fields:
            fields.update(_currency(values, targets, types))
        reason = "named" if named else meant.reason if meant else "no type fits"
        return Found(
            entity_type=entity_type, fields=fields, unread=unread, row=number, reasons=(reason,)
        )

    def column(self, name: str) -> _Column:
        """What the column of this name says."""
        return self.columns.get(name) or _Column()

    def _meant(self, values: Mapping[str, Any]) -> tuple[Mapped | None, str]:
        named = values.get(_TYPE_KEY)
        if not isinstance(named, str) or not named:
            return self.meant, ""
        schemas = [each for each in self.schemas if each.entity_type == named]
        fields = fields_of(list(values), schemas[0]) if schemas else {}
        return Mapped(entity_type=named, fields=fields, reason="named"), named

    def _sided(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The amount that stands in one of two columns, as banks write them."""
        for name, value in values.items():
            side = SIDES.get(snake(name))
            seen = number_in(str(value), self.column(name).mark) if side else None
            if side and seen is not None and seen.plain:
                return {"amount": side * abs(seen.plain)}
        return {}


def _currency(
    values: Mapping[str, Any], targets: Mapping[str, str], types: Mapping[str, FieldType]
) -> dict[str, Any]:
    """The currency that a header or an amount names."""
    for name, value in values.items():
        if types.get(targets.get(name, "")) is FieldType.NUMBER:
            named = currency_named(name)
            if named is None and isinstance(value, str):
                named = currency_in(value)
            if named is not None:
                return {"currency": named}
    return {}


def _typed(value: Any, wanted: FieldType | None, hint: _Column) -> Any:
    """The value as its field wants it, or unread where that is unclear; else as it stands."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if wanted is FieldType.DATE:
        seen = date_in(text, hint.order)
        if seen is None:
            return text
        return seen.value or Unread(value=text, reason=seen.reason)
    if wanted is FieldType.NUMBER:
        number = number_in(text, hint.mark)
        if number is None or is_measured(text):
            return text
        return (
            number.plain if number.value is not None else Unread(value=text, reason=number.reason)
        )
    return text


def _header(table: Table) -> int | None:
    """The first row whose cells are all words, and as many as the widest row has, nearly."""
    widest = max((_width(row) for row in table.rows[:50]), default=0)
    for place, row in enumerate(table.rows[:_HEADER_WITHIN]):
        words = [cell for cell in row if isinstance(cell, str) and cell.strip()]
        wide = len(words) == _width(row) and len(words) * 2 > widest and len(words) > 1
        if wide and not any(map(_value, words)):
            return place
    return None


def _names(header: Sequence[Cell], width: int) -> list[str]:
    """A name for each column: those without one, and those of the same, are told by their place."""
    names: list[str] = []
    for place in range(max(len(header), width)):
        cell = header[place] if place < len(header) else None
        name = str(cell or "").strip()
        name = name if len(name) <= _NAME_MAX else ""
        known = {snake(each) for each in names}
        names.append(name if snake(name) and snake(name) not in known else f"column {place + 1}")
    return names


def _value(cell: str) -> bool:
    """Whether a cell is a value rather than a name."""
    return not any(char.isalpha() for char in cell) or "@" in cell


def _width(row: Sequence[Cell]) -> int:
    return sum(1 for cell in row if cell not in {None, ""})


def _cells(rows: Sequence[Sequence[Cell]], place: int) -> list[Cell]:
    return [row[place] for row in rows if place < len(row)]
