"""Assertions: what one record says of one entity, by its schema, with all keys that it gives.

Reading a record needs nothing but the record and the schema, so that it is done once, however often
the canon has to be looked at.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.domain.ids import EntityId
from canonry.domain.observations import Dated, Fragment
from canonry.domain.things.entities import Naming
from canonry.domain.truth.accounts import entity_id_of
from canonry.domain.truth.identity_keys import BETWEEN, CONTENT, Identity, bounded, content_identity
from canonry.domain.truth.typed_records import RecordReader, TypedRecord
from canonry.domain.vocabularies.schemas import EntitySchema

TOLD_TWO_APART: Final = "same_key_other_details"
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

    `sure` is false for somebody whom a record only names.
    """

    user_id: str

    schema: EntitySchema
    typed: TypedRecord
    identities: tuple[Identity, ...]
    ids: tuple[EntityId, ...]
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

    @property
    def dates(self) -> Mapping[str, Dated]:
        """The dates among them."""
        return self.typed.dates

    @property
    def fragments(self) -> Mapping[str, Fragment]:
        """What the schema has no place for."""
        return self.typed.fragments


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
        ids=tuple(entity_id_of(user_id, schema.entity_type, each.key) for each in found),
        label=naming_of(schema).label(everything.get),
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


def naming_of(schema: EntitySchema) -> Naming:
    """How the entities of a type are called."""
    return Naming(groups=schema.names, otherwise=schema.label)


def told_apart(
    assertion: Assertion,
    index: int,
    keys: Mapping[str, Collection[str]],
    today: Callable[[], Iterable[Identity]],
) -> bool:
    """Whether an entity with the same key is another one all the same.

    `keys` are all that the entity ever bore by their rules, `today` gives its identities as they
    are now. It is another one if it bears other keys of a stronger rule, or if the rule itself
    names details that differ.
    """
    for stronger in assertion.identities[:index]:
        theirs = keys.get(stronger.rule)
        if theirs and bounded(stronger.key) not in theirs:
            return True
    ours = assertion.identities[index]
    if not ours.apart:
        return False
    same = (each for each in today() if each.rule == ours.rule)
    return any(map(ours.differs_from, same))
