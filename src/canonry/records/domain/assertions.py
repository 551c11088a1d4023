"""Assertions: what one record says of one entity, by its schema, with all keys that it gives.

Reading a record needs nothing but the record and the schema, so that it is done once, however often
the canon has to be looked at.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.log.items.accounts import entity_id_of
from canonry.log.schemas.identifiers import key_mark, looks_in
from canonry.log.schemas.identity_keys import BETWEEN, CONTENT, Identity, content_identity
from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.typed_records import RecordReader, TypedRecord
from canonry.values.ids import EntityId
from canonry.values.observations import Fragment

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
