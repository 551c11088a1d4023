"""Typed records: derived schemas, and conversion of values to their fields."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

from canonry.log.items.entities import Naming
from canonry.log.schemas.identity_keys import KeyReader
from canonry.log.schemas.schemas import (
    CUSTOM_VERSION,
    EntitySchema,
    FieldSpec,
    FieldType,
    IdentityRule,
)
from canonry.log.schemas.truth_types import PLURALS
from canonry.values.calendar_dates import read_date
from canonry.values.ids import SchemaId, SpaceId, content_id
from canonry.values.json_values import NUMERAL, fold_text, plain_numeral
from canonry.values.moments import Instant
from canonry.values.observations import Dated, Fragment

# Conversion: a value takes its field's type, or stays a fragment.
#
# Nothing is rounded, rolled over or guessed. A value that cannot be converted exactly is kept as
# given, with the reason.

_FALSE: Final = frozenset({"false", "no", "n", "0"})
_CURRENCY: Final = re.compile(
    r"^(?:{0})\s*+|(?<!\s)\s*+(?:{0})$".format(
        "usd|eur|gbp|chf|jpy|cny|inr|cad|aud|nzd|sek|nok|dkk|pln|czk|huf|ron|brl|mxn|zar|krw|sgd|hkd"
        "|try|ils|us\\$|ca\\$|a\\$|r\\$|k\u010d|z\u0142|fr\\.|kr\\.?"
        "|[$\u00a3\u00a5\u20ac\u20a3-\u20bf]"
    )
)
_PLAIN: Final = re.compile(r"\d+(?:\.\d+)?e[+-]?\d{1,3}", re.ASCII)
_WRITTEN: Final = re.compile(NUMERAL)
PATTERNS: Final[Mapping[str, re.Pattern[str]]] = {
    "feature_unit": re.compile(r"FU-[0-9]+"),
    "release": re.compile(r"v[0-9]+\.[0-9]+\.[0-9]+"),
    "ten_characters": re.compile(r".{10}.*", re.DOTALL),
    "two_characters": re.compile(r".{2}.*", re.DOTALL),
}
"""The patterns that a whole text must match, by their names in schemas."""

_DIGITS_MAX: Final = 200  # "1e999999" would become a million digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The value in its field's type; `instant` is set for a date."""

    value: Any
    instant: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unconvertible:
    """The reason why a value cannot be converted."""

    reason: str


Conversion: TypeAlias = Converted | Unconvertible


def convert_value(value: Any, spec: FieldSpec) -> Conversion:
    """Convert `value`, which is not null, to the type of `spec`."""
    converted = _CONVERTERS[spec.type](value)
    if spec.choices and isinstance(converted, Converted):
        folded_choices = {fold_text(choice): choice for choice in spec.choices}
        chosen = folded_choices.get(fold_text(str(converted.value)))
        if chosen is None:
            return Unconvertible(reason="not_a_choice")
        return Converted(value=chosen)
    if not spec.pattern or isinstance(converted, Unconvertible):
        return converted
    fits = PATTERNS[spec.pattern].fullmatch(str(converted.value).strip()) is not None
    return converted if fits else Unconvertible(reason="not_of_pattern")


def find_out_of_order(
    order: Iterable[tuple[str, str]], values: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Return later fields that precede the earlier ones, each with the reason `before_<field>`."""
    for earlier, later in order:
        dates = [
            read_date(values[name]) for name in (earlier, later) if values.get(name) is not None
        ]
        read = [each.instant for each in dates if each is not None]
        if len(read) == len((earlier, later)) and read[1] < read[0]:
            yield later, f"before_{earlier}"


def _read_string(value: Any) -> Conversion:
    match value:
        case str():
            return Converted(value=value)
        case bool():
            return Converted(value="true" if value else "false")
        case int() | float():
            return Converted(value=str(value))
        case _:
            return Unconvertible(reason="not_a_string")


def _read_number(value: Any) -> Conversion:
    match value:
        case bool():
            return Unconvertible(reason="not_a_number")
        case int() | float():
            return Converted(value=value)
        case str():
            sign, plain = _strip_number(value)
            if not _WRITTEN.fullmatch(plain) and not _PLAIN.fullmatch(plain):
                return Unconvertible(reason="not_a_number")
            numeral = plain if "e" in plain else plain_numeral(plain)
            if numeral is None:
                return Unconvertible(reason="unclear_number")
            number = Decimal(numeral)
            return _exact_number(
                number.copy_negate() if sign < 0 else number
            )  # arithmetic would round
        case _:
            return Unconvertible(reason="not_a_number")


def _exact_number(number: Decimal) -> Conversion:
    if abs(number.adjusted()) > _DIGITS_MAX:
        return Unconvertible(reason="not_exact")
    if number == number.to_integral_value():
        return Converted(value=int(number))
    near = float(number)
    if Decimal(repr(near)) != number:
        return Unconvertible(reason="not_exact")
    return Converted(value=near)


def _strip_number(text: str) -> tuple[int, str]:
    """Return the sign of a number, and its text without sign and currency."""
    plain = fold_text(text)
    if len(plain) > _DIGITS_MAX:
        return 1, ""
    plain = plain.replace("\u2212", "-")
    signs = ""
    if plain.startswith("(") and plain.endswith(")"):
        signs, plain = "-", plain[1:-1].strip()
    for _round in range(2):  # the sign may stand before or after the currency
        if plain[:1] in {"-", "+"}:
            signs, plain = signs + plain[0], plain[1:].strip()
        elif plain[-1:] == "-":
            signs, plain = signs + "-", plain[:-1].strip()
        plain = _CURRENCY.sub("", plain, count=1).strip()
    return (-1 if signs == "-" else 1), plain if len(signs) < 2 else ""  # noqa: PLR2004


def _read_boolean(value: Any) -> Conversion:
    if isinstance(value, bool):
        return Converted(value=value)
    text = fold_text(str(value)) if isinstance(value, str | int) else ""
    if text in {"true", "yes", "y", "1"}:
        return Converted(value=True)
    return Converted(value=False) if text in _FALSE else Unconvertible(reason="not_a_boolean")


def _read_date(value: Any) -> Conversion:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return Unconvertible(reason="not_a_date")
    read = read_date(value)
    if read is None:
        return Unconvertible(reason="not_a_date")
    return Converted(value=read.text, instant=read.instant)


def _read_array(value: Any) -> Conversion:
    match value:
        case list() | tuple():
            return Converted(value=list(value))
        case dict():
            return Unconvertible(reason="not_an_array")
        case _:
            return Converted(value=[value])


def _read_object(value: Any) -> Conversion:
    return (
        Converted(value=value) if isinstance(value, dict) else Unconvertible(reason="not_an_object")
    )


_CONVERTERS: Final = {
    FieldType.STRING: _read_string,
    FieldType.NUMBER: _read_number,
    FieldType.BOOLEAN: _read_boolean,
    FieldType.DATE: _read_date,
    FieldType.ARRAY: _read_array,
    FieldType.OBJECT: _read_object,
}


UNKNOWN_FIELD: Final = "unknown_field"
GIVEN_TWICE: Final = "said_twice"
RESERVED: Final = frozenset({"entity_type", "schema_version"})
"""Members of a record that are not fields of its entity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRecord:
    """The fields by their canonical names, and the fragments that the schema has no field for.

    `missing` are required fields without a value; they are no error.
    """

    fields: Mapping[str, Any]
    dates: Mapping[str, Dated]
    fragments: Mapping[str, Fragment]
    missing: tuple[str, ...] = ()

    @property
    def everything(self) -> Mapping[str, Any]:
        """Fields and values of fragments, on which an identity may rest."""
        return {name: each.value for name, each in self.fragments.items()} | dict(self.fields)


class RecordReader:
    """Reads many records by one schema."""

    def __init__(self, schema: EntitySchema) -> None:
        """Index the schema's names."""
        aliases = {alias: spec for spec in schema.fields for alias in spec.aliases}
        self.schema = schema
        self._specs = aliases | {spec.name: spec for spec in schema.fields}
        self._own = frozenset(spec.name for spec in schema.fields)
        self._plurals = {one: all_ for one, all_ in PLURALS.items() if all_ in self._own}
        self.keys = KeyReader(schema)
        self.naming = naming_of(schema)
        self._required = tuple(spec.name for spec in schema.fields if spec.required)

    def read_record(self, record: Mapping[str, Any]) -> TypedRecord:
        """Read the record by the schema; null counts as missing."""
        taken: dict[str, Converted] = {}
        several: dict[str, list[Any]] = {}
        fragments: dict[str, Fragment] = {}
        for name in self._own_names_first(record):
            value = record[name]
            if value is None or name in RESERVED:
                continue
            spec = self._specs.get(name)
            if spec is None:
                fragments[name] = Fragment(value=value, reason=UNKNOWN_FIELD)
                continue
            plural = self._plurals.get(spec.name) if isinstance(value, list | tuple) else None
            if plural is not None and (texts := _only_texts(value)):
                several.setdefault(plural, []).extend(texts)
                value = texts[0]
            converted = convert_value(value, spec)
            if isinstance(converted, Unconvertible):
                fragments[name] = Fragment(value=value, reason=converted.reason)
            elif spec.name not in taken:
                taken[spec.name] = converted
            elif taken[spec.name] != converted:
                fragments[name] = Fragment(value=value, reason=GIVEN_TWICE)
        for name, texts in several.items():
            given = taken[name].value if name in taken else []
            others = [each for each in given if each not in texts]
            taken[name] = Converted(value=[*dict.fromkeys(texts), *others])
        values = {name: each.value for name, each in taken.items()} if self.schema.order else {}
        for name, reason in find_out_of_order(self.schema.order, values):
            fragments[name] = Fragment(value=taken.pop(name).value, reason=reason)
        return TypedRecord(
            fields={name: taken[name].value for name in sorted(taken)},
            dates=dict(self._event_dates(taken)),
            fragments=fragments,
            missing=tuple(name for name in self._required if name not in taken),
        )

    def _own_names_first(self, record: Mapping[str, Any]) -> Iterator[str]:
        """Return a field's own name before its aliases, in any order of the record."""
        own = self._own
        names = sorted(record)
        yield from (name for name in names if name in own)
        yield from (name for name in names if name not in own)

    def _event_dates(self, taken: Mapping[str, Converted]) -> Iterator[tuple[str, Dated]]:
        for name, converted in taken.items():
            event = self._specs[name].event_type
            if event is not None and converted.instant is not None:
                policy = self._specs[name].policy
                yield name, Dated(event_type=event, instant=converted.instant, policy=policy)


def _only_texts(value: Iterable[Any]) -> list[str]:
    """Return the texts of a list if it has nothing else."""
    given = list(value)
    return given if all(isinstance(each, str) and each.strip() for each in given) else []


def naming_of(schema: EntitySchema) -> Naming:
    """Return the naming rule of a type."""
    return Naming(groups=schema.names, otherwise=schema.label)


_COUNTED: Final = ("_number", "slug")
"""Endings of keys that begin anew in each repository, project or account."""

_KEYS: Final = ("id", "external_id", "uuid", "slug", "sku", "isbn", "hash", "tx_hash", "email")
_NAMES: Final = "name|title|full_name|canonical_name|label"
_DATED: Final = re.compile(r"\d{4}-\d\d-\d\d.*")
_WORD: Final = re.compile(r"[^\W_]+")


def _word_set(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


_MADE: Final = _word_set("created creation")
_BOOKKEEPING: Final = _word_set("import imported updated modified deleted synced changed")
_NUMBERED: Final = _word_set("number no id code ref serial key")
"""Last words in the names of fields that hold a number of an item."""

_SCOPES: Final = _word_set(
    "repo repository project workspace team board organization account owner parent channel vault"
)
"""Words in the names of fields that name the whole to which an item belongs."""

_LOCATION_WORDS: Final = _word_set("place location city country address venue street url link path")
_PROGRESS: Final = _word_set(
    """
    completed completion closed finished done resolved cancelled canceled delivered delivery
    shipped received paid returned archived published reviewed approved last actual
    """
)
"""Words in the names of dates of progress, which do not distinguish items."""


def schema_id_of(space: SpaceId, entity_type: str, version: str) -> SchemaId:
    """Return the id of a version of a type's schema in a space."""
    return SchemaId(content_id("schema", space, entity_type, version))


def derive_schema(
    space: SpaceId, entity_type: str, records: Iterable[Mapping[str, Any]]
) -> EntitySchema:
    """Return a schema that fits these records.

    Records are one entity if they share an id, or else a name and their dates; the same habit on
    two days is two entities. If records have a creation date, different days make different
    entities, and dates of progress, such as a delivery, do not.
    """
    types: dict[str, FieldType] = {}
    for record in records:
        learn_types(types, record)
    return schema_of_types(space, entity_type, types)


def learn_types(types: dict[str, FieldType], record: Mapping[str, Any]) -> None:
    """Adapt the types of fields to one more record."""
    for name, value in record.items():
        if name not in RESERVED and value is not None:
            seen = _type_of(value)
            types[name] = seen if types.get(name, seen) is seen else FieldType.STRING


def schema_of_types(
    space: SpaceId, entity_type: str, types: Mapping[str, FieldType]
) -> EntitySchema:
    """Return the schema of these fields, as `derive_schema` does."""
    fields = tuple(_field_spec(name, types[name]) for name in sorted(types))
    keys = _key_names(entity_type)
    return EntitySchema(
        id=schema_id_of(space, entity_type, CUSTOM_VERSION),
        space=space,
        entity_type=entity_type,
        version=CUSTOM_VERSION,
        label=" ".join(_WORD.findall(entity_type)).capitalize() or entity_type,
        fields=fields,
        identity=derive_identity(entity_type, fields),
        names=tuple((name,) for name in (*_name_fields(entity_type), *keys)),
        derived=True,
    )


def derive_identity(entity_type: str, fields: Iterable[FieldSpec]) -> tuple[IdentityRule, ...]:
    """Return the identity rules of a derived type with these fields."""
    dates = {spec.name: _word_set(spec.name) for spec in fields if spec.type is FieldType.DATE}
    made = tuple(name for name, words in dates.items() if words & _MADE)
    silent = _MADE | _BOOKKEEPING | (_PROGRESS if made else frozenset())
    optional = tuple(name for name, words in dates.items() if not words & silent)
    keys, names = _key_names(entity_type), "|".join(_name_fields(entity_type))
    words_by_name = {
        spec.name: _WORD.findall(spec.name.lower())
        for spec in fields
        if spec.type in {FieldType.STRING, FieldType.NUMBER} and spec.name not in keys
    }
    scopes = tuple(name for name, words in words_by_name.items() if _SCOPES & set(words))
    numbers = (n for n, words in words_by_name.items() if words and words[-1] in _NUMBERED)
    locations = (name for name, words in words_by_name.items() if _LOCATION_WORDS & set(words))
    apart = tuple(dict.fromkeys((*made, *scopes, *numbers, *locations)))
    return (
        *(
            IdentityRule(fields=(key,), told_apart_by=scopes if key.endswith(_COUNTED) else ())
            for key in keys
        ),
        IdentityRule(fields=(names,), optional=optional, told_apart_by=apart),
    )


def _key_names(entity_type: str) -> tuple[str, ...]:
    return (f"{entity_type}_id", f"{entity_type}_number", *_KEYS)


def _name_fields(entity_type: str) -> tuple[str, ...]:
    return (*_NAMES.split("|"), f"{entity_type}_name", "item_name")


def event_type_of(field: str) -> str:
    """Return the default event of a date field: `signed_date` is `SignedDate`."""
    return "".join(word[:1].upper() + word[1:] for word in _WORD.findall(field)) or field


def _field_spec(name: str, field_type: FieldType) -> FieldSpec:
    dated = field_type is FieldType.DATE and not _word_set(name) & (_BOOKKEEPING | _MADE)
    return FieldSpec(name=name, type=field_type, event_type=event_type_of(name) if dated else None)


def _type_of(value: Any) -> FieldType:
    match value:
        case bool():
            return FieldType.BOOLEAN
        case int() | float():
            return FieldType.NUMBER
        case list() | tuple():
            return FieldType.ARRAY
        case dict():
            return FieldType.OBJECT
        case str() if _DATED.fullmatch(value) and read_date(value) is not None:
            return FieldType.DATE
        case _:
            return FieldType.STRING
