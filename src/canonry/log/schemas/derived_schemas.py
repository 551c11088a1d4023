"""Derived schemas: what the records of an unknown type show of it; its fields all go by time."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from canonry.log.schemas.schemas import (
    CUSTOM_VERSION,
    EntitySchema,
    FieldSpec,
    FieldType,
    IdentityRule,
)
from canonry.log.schemas.typed_records import RESERVED
from canonry.values.calendar_dates import read_date
from canonry.values.ids import SchemaId, SpaceId, content_id

_KEYS: Final = ("id", "external_id", "uuid", "slug", "sku", "isbn", "hash", "tx_hash", "email")
_NAMES: Final = "name|title|full_name|canonical_name|label"
_DATED: Final = re.compile(r"\d{4}-\d\d-\d\d.*")
_WORD: Final = re.compile(r"[^\W_]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


_MADE: Final = _words("created creation")
_BOOKKEEPING: Final = _words("import imported updated modified deleted synced changed")
_PROGRESS: Final = _words(
    """
    completed completion closed finished done resolved cancelled canceled delivered delivery
    shipped received paid returned archived published reviewed approved last actual
    """
)
"""Words of dates that say how far a thing has come: the thing is the same before and after."""


def schema_id_of(space: SpaceId, entity_type: str, version: str) -> SchemaId:
    """The id of a version of a type's schema in a space."""
    return SchemaId(content_id("schema", space, entity_type, version))


def derive_schema(
    space: SpaceId, entity_type: str, records: Iterable[Mapping[str, Any]]
) -> EntitySchema:
    """The schema that fits these records.

    Records are one entity if an id that they bear is the same, or their names are, and the dates
    that they bear; a habit on two days is two entities. Where records say when a thing was created,
    two of different days are two, and a date of progress such as a delivery's makes no other of it.
    """
    types: dict[str, FieldType] = {}
    for record in records:
        learn_types(types, record)
    return schema_of_types(space, entity_type, types)


def learn_types(types: dict[str, FieldType], record: Mapping[str, Any]) -> None:
    """Let the types of fields fit one more record."""
    for name, value in record.items():
        if name not in RESERVED and value is not None:
            seen = _type_of(value)
            types[name] = seen if types.get(name, seen) is seen else FieldType.STRING


def schema_of_types(
    space: SpaceId, entity_type: str, types: Mapping[str, FieldType]
) -> EntitySchema:
    """The schema of these fields, as `derive_schema` says."""
    fields = tuple(_spec(name, types[name]) for name in sorted(types))
    keys = _keys(entity_type)
    return EntitySchema(
        id=schema_id_of(space, entity_type, CUSTOM_VERSION),
        space=space,
        entity_type=entity_type,
        version=CUSTOM_VERSION,
        label=" ".join(_WORD.findall(entity_type)).capitalize() or entity_type,
        fields=fields,
        identity=identity_by(entity_type, fields),
        names=tuple((name,) for name in (*_names(entity_type), *keys)),
        derived=True,
    )


def identity_by(entity_type: str, fields: Iterable[FieldSpec]) -> tuple[IdentityRule, ...]:
    """The rules of identity of a derived type that has these fields."""
    dates = {spec.name: _words(spec.name) for spec in fields if spec.type is FieldType.DATE}
    made = tuple(name for name, words in dates.items() if words & _MADE)
    silent = _MADE | _BOOKKEEPING | (_PROGRESS if made else frozenset())
    telling = tuple(name for name, words in dates.items() if not words & silent)
    return (
        *(IdentityRule(fields=(key,)) for key in _keys(entity_type)),
        IdentityRule(fields=("|".join(_names(entity_type)),), optional=telling, told_apart_by=made),
    )


def _keys(entity_type: str) -> tuple[str, ...]:
    return (f"{entity_type}_id", f"{entity_type}_number", *_KEYS)


def _names(entity_type: str) -> tuple[str, ...]:
    return (*_NAMES.split("|"), f"{entity_type}_name", "item_name")


def event_type_of(field: str) -> str:
    """What happens at a date that nobody named otherwise: `signed_date` is `SignedDate`."""
    return "".join(word[:1].upper() + word[1:] for word in _WORD.findall(field)) or field


def _spec(name: str, field_type: FieldType) -> FieldSpec:
    dated = field_type is FieldType.DATE and not _words(name) & (_BOOKKEEPING | _MADE)
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
