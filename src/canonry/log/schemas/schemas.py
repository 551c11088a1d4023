"""Schemas of records, and the relations between their types."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from canonry.values.ids import SchemaId, SpaceId
from canonry.values.merge_policies import CHOICES, LAST_WRITE, MergePolicy
from canonry.values.moments import Instant

# Entity schemas: the fields of a type, their merge policies, and the rules of identity.
#
# A schema is never changed. A newer version applies from the date of its registration.

BUILT_IN: Final = SpaceId("")
"""The space of the schemas that come with Canonry. Every account has them, no log does."""

CUSTOM_VERSION: Final = "1.0"
"""The version of a schema that was derived from the first record of an unknown type."""


class FieldType(StrEnum):
    """The type of a field's value."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    ARRAY = "array"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """One field; `aliases` are other names for it.

    `policy` is one of the merge policies that a schema may choose. `event_type` is the event at the
    date in the field. A value outside `choices`, or one that does not match the `pattern` of this
    name in `log/schemas/typed_records.py`, is kept as a fragment.
    """

    name: str
    type: FieldType = FieldType.STRING
    required: bool = False
    aliases: tuple[str, ...] = ()
    policy: str = LAST_WRITE.name
    event_type: str | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityRule:
    """A key: all of `fields` are required, `optional` ones take part if they have a value.

    `a|b` means the first field with a value; `a&b`, alone, makes a key of every value of both. Two
    records with the same key are still two entities if both have a field of `told_apart_by` with
    different values.
    """

    fields: tuple[str, ...]
    optional: tuple[str, ...] = ()
    told_apart_by: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The rule's name in replies, such as `project_id+title`."""
        return "+".join(self.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitySchema:
    """The fields and rules of a type in one version.

    `identity` is tried in order. `names` are groups of fields for the display name; the first group
    with a value is used. `type_aliases` are other names of the type. In each pair of dates in
    `order`, the second must not precede the first.
    """

    id: SchemaId
    space: SpaceId
    entity_type: str
    version: str
    label: str
    fields: tuple[FieldSpec, ...]
    identity: tuple[IdentityRule, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()
    type_aliases: tuple[str, ...] = ()
    derived: bool = False
    order: tuple[tuple[str, str], ...] = ()

    def find_field(self, name: str) -> FieldSpec | None:
        """Return the field of exactly this name."""
        return next((spec for spec in self.fields if spec.name == name), None)

    def canonical_field(self, name: str) -> str | None:
        """Return the field with a name or alias."""
        if self.find_field(name) is not None:
            return name
        return next((spec.name for spec in self.fields if name in spec.aliases), None)

    def policy_of(self, name: str) -> MergePolicy:
        """Return the merge policy of a field."""
        spec = self.find_field(name)
        return LAST_WRITE if spec is None else CHOICES[spec.policy]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSchema(EntitySchema):
    """A schema in the log; the built-in ones are in no log."""

    created_at: Instant
    position: int
    changed_at: int


class TruthRelation(StrEnum):
    """A relation between two entities; it points from the part, the later or the dependent one."""

    PART_OF = "PART_OF"
    CORRECTS = "CORRECTS"
    REFERS_TO = "REFERS_TO"
    SETTLES = "SETTLES"
    DUPLICATE_OF = "DUPLICATE_OF"
    DEPENDS_ON = "DEPENDS_ON"
    SUPERSEDES = "SUPERSEDES"


ACYCLIC: Final = frozenset(
    (
        TruthRelation.PART_OF,
        TruthRelation.DEPENDS_ON,
        TruthRelation.SUPERSEDES,
        TruthRelation.CORRECTS,
    )
)
"""Types without cycles. Each is checked separately; edges of other types do not count."""
