"""Typed records: what a schema makes of a record, field by field; nothing of it is lost."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.log.items.entities import Naming
from canonry.log.schemas.converting import Converted, Unconvertible, convert, out_of_order
from canonry.log.schemas.identity_keys import KeyReader
from canonry.log.schemas.schemas import EntitySchema, FieldSpec
from canonry.log.schemas.truth_types.people import PLURALS
from canonry.values.observations import Dated, Fragment

UNKNOWN_FIELD: Final = "unknown_field"
SAID_TWICE: Final = "said_twice"
RESERVED: Final = frozenset({"entity_type", "schema_version"})
"""Members of a record that are not fields of its entity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedRecord:
    """The fields by their canonical names, and beside them what the schema has no place for.

    `missing` are required fields that nobody gave; they are no error.
    """

    fields: Mapping[str, Any]
    dates: Mapping[str, Dated]
    fragments: Mapping[str, Fragment]
    missing: tuple[str, ...] = ()

    @property
    def everything(self) -> Mapping[str, Any]:
        """Fields and the values of fragments: what an identity may rest on."""
        return {name: each.value for name, each in self.fragments.items()} | dict(self.fields)


@dataclass(slots=True)
class RecordReader:
    """Reads records by one schema; made once for many records."""

    schema: EntitySchema
    _specs: dict[str, FieldSpec] = field(init=False)
    _own: frozenset[str] = field(init=False)
    _required: tuple[str, ...] = field(init=False)
    _plurals: Mapping[str, str] = field(init=False)
    keys: KeyReader = field(init=False)
    naming: Naming = field(init=False)

    def __post_init__(self) -> None:
        """Index the schema's names."""
        aliases = {alias: spec for spec in self.schema.fields for alias in spec.aliases}
        self._specs = aliases | {spec.name: spec for spec in self.schema.fields}
        self._own = frozenset(spec.name for spec in self.schema.fields)
        self._plurals = {one: all_ for one, all_ in PLURALS.items() if all_ in self._own}
        self.keys = KeyReader(self.schema)
        self.naming = naming_of(self.schema)
        self._required = tuple(spec.name for spec in self.schema.fields if spec.required)

    def read(self, record: Mapping[str, Any]) -> TypedRecord:
        """The record by the schema; null says nothing."""
        taken: dict[str, Converted] = {}
        several: dict[str, list[Any]] = {}
        fragments: dict[str, Fragment] = {}
        for name in self._in_turn(record):
            value = record[name]
            if value is None or name in RESERVED:
                continue
            spec = self._specs.get(name)
            if spec is None:
                fragments[name] = Fragment(value=value, reason=UNKNOWN_FIELD)
                continue
            plural = self._plurals.get(spec.name) if isinstance(value, list | tuple) else None
            if plural is not None and (texts := _texts(value)):
                several.setdefault(plural, []).extend(texts)
                value = texts[0]
            converted = convert(value, spec)
            if isinstance(converted, Unconvertible):
                fragments[name] = Fragment(value=value, reason=converted.reason)
            elif spec.name not in taken:
                taken[spec.name] = converted
            elif taken[spec.name] != converted:
                fragments[name] = Fragment(value=value, reason=SAID_TWICE)
        for name, texts in several.items():
            given = taken[name].value if name in taken else []
            others = [each for each in given if each not in texts]
            taken[name] = Converted(value=[*dict.fromkeys(texts), *others])
        said = {name: each.value for name, each in taken.items()} if self.schema.order else {}
        for name, reason in out_of_order(self.schema.order, said):
            fragments[name] = Fragment(value=taken.pop(name).value, reason=reason)
        return TypedRecord(
            fields={name: taken[name].value for name in sorted(taken)},
            dates=dict(self._dates(taken)),
            fragments=fragments,
            missing=tuple(name for name in self._required if name not in taken),
        )

    def _in_turn(self, record: Mapping[str, Any]) -> Iterator[str]:
        """A field's own name goes before its aliases, whatever the order of the record."""
        own = self._own
        names = sorted(record)
        yield from (name for name in names if name in own)
        yield from (name for name in names if name not in own)

    def _dates(self, taken: Mapping[str, Converted]) -> Iterator[tuple[str, Dated]]:
        for name, converted in taken.items():
            event = self._specs[name].event_type
            if event is not None and converted.instant is not None:
                policy = self._specs[name].policy
                yield name, Dated(event_type=event, instant=converted.instant, policy=policy)


def _texts(value: Iterable[Any]) -> list[str]:
    """The texts of a list that holds nothing else."""
    given = list(value)
    return given if all(isinstance(each, str) and each.strip() for each in given) else []


def naming_of(schema: EntitySchema) -> Naming:
    """How the entities of a type are called."""
    return Naming(groups=schema.names, otherwise=schema.label)
