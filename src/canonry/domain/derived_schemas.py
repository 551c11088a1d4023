"""Derived schemas: what the records of an unknown type show of it; its fields all go by time."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from canonry.domain.calendar_dates import read_date
from canonry.domain.ids import SchemaId, SpaceId, content_id
from canonry.domain.schemas import (
    CUSTOM_VERSION,
    EntitySchema,
    FieldSpec,
    FieldType,
    IdentityRule,
)
from canonry.domain.typed_records import RESERVED

_KEYS: Final = ("id", "external_id", "uuid", "slug", "sku", "isbn", "hash", "tx_hash", "email")
_NAMES: Final = "name|title|full_name|canonical_name|label"
_DATED: Final = re.compile(r"\d{4}-\d\d-\d\d.*")
_BOOKKEEPING: Final = re.compile(r"(?:import|created|updated|modified|deleted|synced)(?:_|$).*")
_WORD: Final = re.compile(r"[^\W_]+")


def schema_id_of(space: SpaceId, entity_type: str, version: str) -> SchemaId:
    """The id of a version of a type's schema in a space."""
    return SchemaId(content_id("schema", space, entity_type, version))


def derive_schema(
    space: SpaceId, entity_type: str, records: Iterable[Mapping[str, Any]]
) -> EntitySchema:
    """The schema that fits these records.

    Records are one entity if an id that they bear is the same, or their names are, and the dates
    that they bear; a habit on two days is two entities.
    """
    types: dict[str, FieldType] = {}
    for record in records:
        for name, value in record.items():
            if name not in RESERVED and value is not None:
                seen = _type_of(value)
                types[name] = seen if types.get(name, seen) is seen else FieldType.STRING
    fields = tuple(_spec(name, types[name]) for name in sorted(types))
    dates = tuple(spec.name for spec in fields if spec.event_type is not None)
    titles = (f"{entity_type}_name", "item_name")
    keys = (f"{entity_type}_id", f"{entity_type}_number", *_KEYS)
    return EntitySchema(
        id=schema_id_of(space, entity_type, CUSTOM_VERSION),
        space=space,
        entity_type=entity_type,
        version=CUSTOM_VERSION,
        label=" ".join(_WORD.findall(entity_type)).capitalize() or entity_type,
        fields=fields,
        identity=(
            *(IdentityRule(fields=(key,)) for key in keys),
            IdentityRule(fields=(_NAMES,), optional=dates),
        ),
        names=tuple((name,) for name in (*_NAMES.split("|"), *titles, *keys)),
        derived=True,
    )


def event_type_of(field: str) -> str:
    """What happens at a date that nobody named otherwise: `signed_date` is `SignedDate`."""
    return "".join(word[:1].upper() + word[1:] for word in _WORD.findall(field)) or field


def _spec(name: str, field_type: FieldType) -> FieldSpec:
    dated = field_type is FieldType.DATE and _BOOKKEEPING.fullmatch(name) is None
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
