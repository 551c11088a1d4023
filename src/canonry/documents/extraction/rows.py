"""Rows and records: each becomes an entity, with values typed by the evidence of columns."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from math import fsum
from typing import Any, Final

from canonry.canon.ports.files import Cell, Record, Table
from canonry.documents.extraction.kinds import TABLES
from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.records.domain.interpretations import FILED_MAX, FoundEntity, UnreadValue
from canonry.records.notation.labels import plain_label
from canonry.records.notation.numbers import CURRENCIES, currency_in, mark_in, number_in
from canonry.values.calendar_dates import DayOrder, find_day_order, read_day
from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput
from canonry.values.json_values import encode_json
from canonry.values.languages import known_languages, meaning_of

_WEAK: Final = frozenset(TABLES["words"]["weak"].split())
"""Fields of many types, which are weak evidence."""

_NEEDED: Final = {
    "invoice": frozenset({"invoice_number", "vendor_name", "customer_name", "tax_amount"})
}
"""Fields of which a type needs one: an amount with a due date alone may be a loan."""

_WEAK_WEIGHT: Final = 0.4
_NAMED_BONUS: Final = 0.2
_COVERED: Final = 0.5
_ENOUGH: Final = 1.8
_LAYOUT: Final = 8
_CURRENCY: Final = re.compile(r"(?:^|_)(usd|eur|gbp|chf|cad|aud|jpy|mxn)(?:_|$)")


@lru_cache(maxsize=1)  # read from a file once
def _field_synonyms() -> Mapping[str, Mapping[str, str]]:
    """Return the other names of fields by type and field."""
    return read_toml(__package__, "synonyms.toml")


_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldMapping:
    """The type of a table or of records, and the field for each name."""

    entity_type: str
    fields: Mapping[str, str]
    reason: str


@lru_cache(maxsize=4_096)  # records repeat the names of their fields
def snake_case(name: str) -> str:
    """Convert a name to snake case; empty if it has no letter or digit."""
    spread = _HUMP.sub(" ", name)
    return plain_label(spread.replace("_", " ")).replace("#", "number").replace(" ", "_")


def map_names(
    names: Sequence[str], schemas: Sequence[EntitySchema], file_name: str = ""
) -> FieldMapping | None:
    """Return the type that covers the names best; None if none covers half of them well."""
    best: tuple[float, float, FieldMapping] | None = None
    stem = _file_noun(file_name)
    for schema in schemas:
        fields = fields_of(names, schema)
        # `fsum`: the result must not depend on the order of columns.
        weight = fsum(_WEAK_WEIGHT if target in _WEAK else 1.0 for target in fields.values())
        # Exact names are stronger evidence than synonyms.
        exact = 0.01 * sum(1 for name, target in fields.items() if snake_case(name) == target)
        covered = len(fields) / max(1, sum(1 for name in names if snake_case(name)))
        named = stem in {schema.entity_type, *schema.type_aliases}
        required = sum(
            0.5
            for spec in schema.fields
            if spec.required and spec.name not in fields.values() and spec.name != "schema_version"
        )
        score = covered * weight + exact + (_NAMED_BONUS * weight if named else 0) - required
        needed = _NEEDED.get(schema.entity_type)
        if needed is not None and not named and needed.isdisjoint(fields.values()):
            continue
        if covered < _COVERED or weight < (_WEAK_WEIGHT if named else _ENOUGH):
            continue
        found = FieldMapping(
            entity_type=schema.entity_type,
            fields=fields,
            reason=f"fields:{len(fields)}/{len(names)}" + ("+file" if named else ""),
        )
        if best is None or (score, covered) > best[:2]:
            best = (score, covered, found)
    return None if best is None else best[2]


def fields_of(names: Sequence[str], schema: EntitySchema) -> dict[str, str]:
    """Map names to fields of the schema; each field has one name."""
    known = {spec.name: spec.name for spec in schema.fields}
    for spec in schema.fields:
        for alias in spec.aliases:
            known.setdefault(alias, spec.name)
    for meant, words in _field_synonyms().get(schema.entity_type, {}).items():
        for word in words.split():
            if meant in known:
                known.setdefault(word, meant)
    found: dict[str, str] = {}
    written = {name: snake_case(name) for name in names}
    # Exact names first: a synonym must not take their field.
    for exact in (True, False):
        for name, plain_name in written.items():
            target = known.get(plain_name)
            if target is None or name in found or target in found.values():
                continue
            if (target == plain_name) is exact:
                found[name] = target
    return found


def type_of_layout(names: Sequence[str]) -> str:
    """Return a type for records with exactly these columns.

    The name of the file is not used, because it may be personal data. Files with the same columns
    get the same type.
    """
    columns = "\n".join(sorted({snake_case(name) for name in names}))
    return f"record_{sha256(columns.encode()).hexdigest()[:_LAYOUT]}"


def type_of_list(key: str) -> str:
    """Return the type that the name of a list or sheet gives; may be empty."""
    return _file_noun(key)


def _file_noun(file_name: str) -> str:
    """Return the singular of the noun in a file's name."""
    base = file_name.replace("\\", "/").rpartition("/")[2].rpartition(".")
    words = [word for word in snake_case(base[0] or base[2]).split("_") if not word.isdigit()]
    while words and words[0] in {"sample", "my", "test", "export", "exported", "all", "list"}:
        words.pop(0)
    while words and words[-1] in {"export", "list", "data", "copy", "final", "records"}:
        words.pop()
    stem = "_".join(words[:3])[:40].strip("_")
    if stem.endswith("ies"):
        return stem[:-3] + "y"
    return stem[:-1] if stem.endswith("s") and not stem.endswith(("ss", "us")) else stem


_HEADER_WITHIN: Final = 12  # exports begin with a few lines of titles
_TYPE_KEY: Final = "entity_type"
_DISTINGUISHING: Final = {kind: words.split() for kind, words in TABLES["telling"].items()}
"""The fields that distinguish payments, by type."""

_NUMBERED: Final = {"transaction": "transaction_id", "receipt": "receipt_number"}

WITH_BOTH_ORDERS: Final = frozenset({"USD", "CAD"})
"""Currencies of countries that use both orders of day and month."""

_OWN: Final = frozenset({"schema_version"})
_NAME_MAX: Final = 200  # longer names of files are no title


def extract_table(
    table: Table, schemas: Sequence[EntitySchema], file_name: str, *, untyped: str = ""
) -> Iterator[FoundEntity]:
    """Yield an entity for each row below the header; none without a header.

    `untyped` is the type of rows without a type that fit no schema.
    """
    header = _find_header(table)
    if header is None:
        return
    rows = [row for row in table.rows[header + 1 :] if any(c not in {None, ""} for c in row)]
    names = _column_names(table.rows[header], max(map(len, rows), default=0))
    read = [dict(zip(names, row, strict=False)) for row in rows]
    yield from _read_rows(names, read, map_names(names, schemas, file_name), schemas, untyped)


def require_few(rows: int) -> None:
    """Refuse a file with too many records.

    Raises:
        InvalidInput: `document.too-large`.
    """
    if rows > FILED_MAX:
        message = f"The file has {rows} records; the limit is {FILED_MAX}. Split it."
        raise InvalidInput("document.too-large", message, unit="records", limit=FILED_MAX)


def number_repeated(found: Iterable[FoundEntity]) -> Iterator[FoundEntity]:
    """Yield the entities; repeated ones get a number."""
    seen: Counter[Any] = Counter()
    return (_number_row(each, seen) for each in found)


def _number_row(found: FoundEntity, seen: Counter[Any]) -> FoundEntity:
    """Number a row if equal rows came before.

    Two equal payments of one day stay two, and reading the file again finds the same two.
    """
    kind, fields = found.entity_type, found.fields
    names = _DISTINGUISHING.get(kind)
    if names is None:
        alike = (kind, encode_json({**fields, **{n: u.value for n, u in found.unread.items()}}))
        seen[alike] += 1
        return found if seen[alike] == 1 else replace(found, occurrence=seen[alike])
    if _NUMBERED[kind] in fields:
        return found
    paid = (kind, *(fields.get(name, found.unread.get(name)) for name in names))
    seen[paid] += 1
    if seen[paid] == 1:
        return found
    return replace(found, fields={**fields, "occurrence": seen[paid]}, occurrence=seen[paid])


def extract_records(
    records: Sequence[Record], schemas: Sequence[EntitySchema], file_name: str, *, untyped: str = ""
) -> Iterator[FoundEntity]:
    """Yield an entity for each record; those without a type share the one that fits best.

    `untyped` is their type if none fits.
    """
    names = list(dict.fromkeys(name for record in records for name in record.fields))
    meant = map_names([name for name in names if name not in _OWN], schemas, file_name)
    yield from _read_rows(names, [each.fields for each in records], meant, schemas, untyped)


def _read_rows(
    names: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    meant: FieldMapping | None,
    schemas: Sequence[EntitySchema],
    untyped: str,
) -> Iterator[FoundEntity]:
    """Yield an entity for each row that says something besides the version of its schema."""
    require_few(len(rows))
    columns = _column_notations({name: [row.get(name) for row in rows] for name in names})
    reader = _TableReader(
        meant=meant, schemas=schemas, columns=columns, untyped=untyped or type_of_layout(names)
    )
    seen: Counter[Any] = Counter()
    for number, row in enumerate(rows, 1):
        values = {n: each for n, each in row.items() if n and each is not None and each != ""}
        if values.keys() - _OWN:
            yield _number_row(reader.read_row(values, number), seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ColumnNotation:
    """The notation of a column, judged by all its values."""

    order: DayOrder | None = None
    mark: str | None = None

    @classmethod
    def from_values(cls, values: Sequence[Any]) -> "_ColumnNotation":
        text = "\n".join(value for value in values if isinstance(value, str))
        return cls(order=find_day_order(text), mark=mark_in(text))


def _column_notations(columns: Mapping[str, Sequence[Any]]) -> Mapping[str, _ColumnNotation]:
    """Find the notation of each column; by default that of the table, or of its country."""
    own = {name: _ColumnNotation.from_values(values) for name, values in columns.items()}
    orders, marks = {each.order for each in own.values()}, {each.mark for each in own.values()}
    spoken = {meaning_of(plain_label(name))[1] for name in columns} - {"", "en"}
    language = known_languages()[spoken.pop()] if len(spoken) == 1 else None
    cells = (cell for values in columns.values() for cell in values)
    abroad = CURRENCIES.intersection(e for e in cells if isinstance(e, str)) - WITH_BOTH_ORDERS
    day_first = language.day_first if language else bool(abroad)
    order = _only_value(orders) or (DayOrder.DAY if day_first and not orders - {None} else None)
    mark = _only_value(marks)
    if mark is None and not marks - {None} and language is not None and language.thousands:
        mark = "," if language.thousands == "." else "."
    return {
        name: _ColumnNotation(order=each.order or order, mark=each.mark or mark)
        for name, each in own.items()
    }


def _only_value(evidence: set[Any]) -> Any:
    """Return the only value besides None; None if there are several."""
    clear = evidence - {None}
    return next(iter(clear)) if len(clear) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableReader:
    """Rows or records of one table, with the meaning of names and the notation of columns."""

    meant: FieldMapping | None
    schemas: Sequence[EntitySchema]
    columns: Mapping[str, _ColumnNotation]
    untyped: str

    def read_row(self, values: Mapping[str, Any], number: int) -> FoundEntity:
        """Read the entity of one row."""
        meant, named = self._row_mapping(values)
        entity_type = named or (meant.entity_type if meant else self.untyped)
        schema = next((each for each in self.schemas if each.entity_type == entity_type), None)
        types = {} if schema is None else {spec.name: spec.type for spec in schema.fields}
        targets = {} if meant is None else meant.fields
        fields: dict[str, Any] = {}
        unread: dict[str, UnreadValue] = {}
        for name, value in values.items():
            target = targets.get(name, snake_case(name))
            if not target or name == _TYPE_KEY or target in _OWN:
                continue
            target = snake_case(name) if target in fields else target
            typed = _convert_value(
                value, types.get(target), self.columns.get(name) or _ColumnNotation()
            )
            if isinstance(typed, UnreadValue):
                unread[target] = typed
            else:
                fields[target] = typed
        if "currency" in types and "currency" not in fields:
            fields.update(_find_currency(values, targets, types))
        reason = "named" if named else meant.reason if meant else "no type fits"
        return FoundEntity(
            entity_type=entity_type, fields=fields, unread=unread, row=number, reasons=(reason,)
        )

    def _row_mapping(self, values: Mapping[str, Any]) -> tuple[FieldMapping | None, str]:
        named = values.get(_TYPE_KEY)
        if not isinstance(named, str) or not named:
            return self.meant, ""
        schemas = [each for each in self.schemas if each.entity_type == named]
        fields = fields_of(list(values), schemas[0]) if schemas else {}
        return FieldMapping(entity_type=named, fields=fields, reason="named"), named


def _find_currency(
    values: Mapping[str, Any], targets: Mapping[str, str], types: Mapping[str, FieldType]
) -> dict[str, Any]:
    """Return the currency in a title such as `amount_usd` or `Betrag (EUR)`, or in an amount."""
    for name, value in values.items():
        if types.get(targets.get(name, "")) is FieldType.NUMBER:
            found = _CURRENCY.search(snake_case(name))
            named = found[1].upper() if found else currency_in(name)
            if named is None and isinstance(value, str):
                named = currency_in(value)
            if named is not None:
                return {"currency": named}
    return {}


def _convert_value(value: Any, wanted: FieldType | None, hint: _ColumnNotation) -> Any:
    """Convert a value to the type of its field; unread if it is unclear, unchanged if unfit."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if wanted is FieldType.DATE:
        seen = read_day(text, hint.order)
        if seen is None:
            return text
        return seen.value or UnreadValue(value=text, reason=seen.reason)
    if wanted is FieldType.NUMBER:
        number = number_in(text, hint.mark, whole=True)
        if number is None:
            return text
        return (
            number.json_number
            if number.value is not None
            else UnreadValue(value=text, reason=number.reason)
        )
    return text


def _find_header(table: Table) -> int | None:
    """Find the first row of words that is about as wide as the widest row."""
    widest = max((_filled_width(row) for row in table.rows[:50]), default=0)
    for index, row in enumerate(table.rows[:_HEADER_WITHIN]):
        words = [cell for cell in row if isinstance(cell, str) and cell.strip()]
        wide = len(words) == _filled_width(row) and len(words) * 2 > widest and len(words) > 1
        # Titles have letters and are no e-mail addresses.
        if wide and all(any(map(str.isalpha, word)) and "@" not in word for word in words):
            return index
    return None


def _column_names(header: Sequence[Cell], width: int) -> list[str]:
    """Return a name for each column; missing and repeated ones become `column <number>`."""
    names: list[str] = []
    for index in range(max(len(header), width)):
        cell = header[index] if index < len(header) else None
        name = str(cell or "").strip()
        name = name if len(name) <= _NAME_MAX else ""
        known = {snake_case(each) for each in names}
        names.append(
            name if snake_case(name) and snake_case(name) not in known else f"column {index + 1}"
        )
    return names


def _filled_width(row: Sequence[Cell]) -> int:
    return sum(1 for cell in row if cell not in {None, ""})
