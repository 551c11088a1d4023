"""Assertions of records and the keys that they carry."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from canonry.log.items.entities import Entity, alone
from canonry.log.items.sources import entity_id_of
from canonry.log.schemas.identity_keys import (
    BETWEEN,
    CONTENT,
    KEY_MARK,
    LOOK_MARK,
    Identity,
    KeyReader,
    content_identity,
    found_under,
    key_mark,
    looks_in,
    rule_of,
    texts_in,
)
from canonry.log.schemas.narrative import NAME
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.typed_records import RecordReader, TypedRecord
from canonry.records.domain.shown import shown_by
from canonry.values.ids import EntityId
from canonry.values.observations import Fragment

# Assertions: what one record says of one entity, by its schema, with all keys that it gives.
#
# Reading a record needs nothing but the record and the schema, so that it is done once, however
# often the canon has to be looked at.

OTHER_DETAILS: Final = "same_key_other_details"
SEVERAL_FIT: Final = "several_fit"
LOOK_ALIKE: Final = "look_alike_name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """What whoever handed a record over should know; it names fields and never values."""

    code: str
    message: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """A record as its schema reads it; `identities` are its keys, the strongest first.

    `keys` are the same as entities bear them, `looks` what the names in it look like. `sure` is
    false for somebody whom a record only names.
    """

    user_id: str

    schema: EntitySchema
    typed: TypedRecord
    identities: tuple[Identity, ...]
    ids: tuple[EntityId, ...]
    keys: tuple[str, ...]
    looks: frozenset[str]
    label: str
    path: str
    sure: bool = True
    refers_to: tuple[int, ...] = ()
    warnings: tuple[Warned, ...] = field(default=())

    @property
    def apart_id(self) -> EntityId | None:
        """The id where the strongest key is taken by somebody whose details differ.

        It is made when it is asked for, as few records need one.
        """
        first = self.identities[0]
        if not first.apart:
            return None
        return entity_id_of(self.user_id, self.schema.entity_type, first.full_key)

    @property
    def unclear_id(self) -> EntityId:
        """The id where several bear the strongest key: then a record is its whole content."""
        key = f"{self.identities[0].full_key}{BETWEEN}{content_identity(self.typed.everything).key}"
        return entity_id_of(self.user_id, self.schema.entity_type, key)

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields by their canonical names."""
        return self.typed.fields


def assertion_of(
    user_id: str,
    reader: RecordReader,
    record: Mapping[str, Any],
    path: str,
    *,
    unread: Mapping[str, Fragment] | None = None,
    sure: bool = True,
    refers_to: tuple[int, ...] = (),
) -> Assertion:
    """What a record says; `unread` are values that an interpreter did not dare to take."""
    schema, typed = reader.schema, reader.read(record)
    if unread:
        fragments = {**unread, **typed.fragments}
        typed = TypedRecord(
            fields=typed.fields, dates=typed.dates, fragments=fragments, missing=typed.missing
        )
    everything = typed.everything
    found = reader.keys.identities(everything) or (content_identity(everything),)
    warnings = [*_warnings(typed, path)] if sure else []
    if found[0].rule == CONTENT:
        message = "nothing in the record identifies an entity; its whole content does"
        warnings.append(Warned(code="identity.by-content", message=message, path=path))
    return Assertion(
        user_id=user_id,
        schema=schema,
        typed=typed,
        identities=found,
        ids=tuple([entity_id_of(user_id, schema.entity_type, each.key) for each in found]),
        keys=tuple([key_mark(each.key) for each in found]),
        looks=looks_in(schema.entity_type, typed.fields),
        label=reader.naming.label(everything.get),
        path=path,
        sure=sure,
        refers_to=refers_to,
        warnings=tuple(warnings),
    )


def _warnings(typed: TypedRecord, path: str) -> list[Warned]:
    missing = [
        Warned(code="field.missing", message="a required field is missing", path=f"{path}/{name}")
        for name in typed.missing
    ]
    kept = [
        Warned(
            code=f"field.{fragment.reason.replace('_', '-')}",
            message="the value is kept as a raw fragment",
            path=f"{path}/{name}",
        )
        for name, fragment in sorted(typed.fragments.items())
    ]
    return missing + kept


# Borne keys: everything that leads to an entity, and what each of it is to the entity today.
#
# A key is `current` if the snapshot says it, `shadowed` if only what the entity or somebody merged
# into it says alone does, and `former` if nobody says it any longer.


class KeyStatus(StrEnum):
    """What a key is to the entity to which it leads."""

    CURRENT = "current"
    SHADOWED = "shadowed"
    FORMER = "former"


@dataclass(frozen=True, slots=True, kw_only=True)
class BorneKey:
    """A text that leads to an entity, who bears it, and by which rule if it tells some apart."""

    key: str
    rule: str | None
    status: KeyStatus
    entity_id: EntityId


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """An entity and those merged into it, with what names them today: together, and each alone."""

    members: Sequence[Entity]
    together: frozenset[str]
    apart: frozenset[str]

    def status(self, text: str) -> KeyStatus:
        """What a text is to them, that one of them bears."""
        if text in self.together:
            return KeyStatus.CURRENT
        return KeyStatus.SHADOWED if text in self.apart else KeyStatus.FORMER

    def keys(self) -> list[BorneKey]:
        """Each of their keys once, the current ones first; keys of several fields are not told."""
        found: dict[str, BorneKey] = {}
        for entity in self.members:
            for text in sorted(entity.borne):  # those that are keys by a rule before the others
                said = found_under(text)
                if text.startswith(LOOK_MARK) or BETWEEN in text:
                    continue
                rule = rule_of(text[1:]) if text.startswith(KEY_MARK) else None
                key = BorneKey(key=said, rule=rule, status=self.status(said), entity_id=entity.id)
                if said not in found or (rule is not None and found[said].rule is None):
                    found[said] = key
        order = list(KeyStatus)
        return sorted(found.values(), key=lambda k: (order.index(k.status), k.rule or "~", k.key))


def family(root: Entity, members: Iterable[Entity], schemas: Mapping[str, EntitySchema]) -> Family:
    """The entity with those merged into it, as the schemas of their types show them."""
    everybody = (root, *members)
    called = frozenset(map(found_under, texts_in(root.entity_type, {NAME: root.name}, None)))
    return Family(
        members=everybody,
        together=_found_today(root, schemas) | called,
        apart=frozenset[str]().union(*(_found_today(alone(e), schemas) for e in everybody)),
    )


def names_today(
    entity: Entity,
    schema: EntitySchema | None,
    instead: Mapping[str, Any] = MappingProxyType({}),
) -> frozenset[str]:
    """What the snapshot names the entity by, as entities bear it; `instead` of what it says."""
    shown = shown_by(entity, schema)
    fields = {name: each.value for name, each in shown.fragments.items()}
    keys = None if schema is None else KeyReader(schema)
    return texts_in(entity.entity_type, {**fields, **shown.fields, **instead}, keys)


def _found_today(entity: Entity, schemas: Mapping[str, EntitySchema]) -> frozenset[str]:
    return frozenset(map(found_under, names_today(entity, schemas.get(entity.entity_type))))
