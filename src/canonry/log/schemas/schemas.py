"""Schemas of records, and the relations between their types."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from canonry.values.ids import SchemaId, SpaceId
from canonry.values.merge import CHOICES, LAST_WRITE, MergePolicy
from canonry.values.moments import Instant

# Entity schemas: what fields a type of entity has, how they merge, and what tells two apart.
#
# A schema is never changed; a newer version takes over from the instant at which it was registered.

BUILT_IN: Final = SpaceId("")
"""The space of the schemas that come with Canonry: they are in every account and in no log."""

CUSTOM_VERSION: Final = "1.0"
"""The version of a schema that was derived from the first record of an unknown type."""


class FieldType(StrEnum):
    """What kind of value a field holds."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    ARRAY = "array"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """One field: `aliases` are other names under which it is taken.

    `policy` names one of the merge policies that a schema may choose; `event_type` is what happens
    at the date that the field says; a value outside `choices`, or one that does not match the
    `pattern` of this name in `log/schemas/typed_records.py`, is kept as a fragment.
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
    """A key: all of `fields` must be there, `optional` ones take part where they are.

    `a|b` stands for whichever is there, and `a&b`, alone, for every value of either: each is a key
    of its own. Two with the same key are still two if both say something
    different of a field of `told_apart_by`.
    """

    fields: tuple[str, ...]
    optional: tuple[str, ...] = ()
    told_apart_by: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The rule as replies name it, such as `project_id+title`."""
        return "+".join(self.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntitySchema:
    """The fields and rules of a type in one version.

    `identity` is tried in order; `names` are the fields whose values make the display name, the
    first group of which something is there. `type_aliases` are other names of the type, and of each
    pair of dates in `order` the second is not before the first.
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

    def field(self, name: str) -> FieldSpec | None:
        """The field of exactly this name."""
        return next((spec for spec in self.fields if spec.name == name), None)

    def canonical(self, name: str) -> str | None:
        """The field that is meant by a name or alias."""
        if self.field(name) is not None:
            return name
        return next((spec.name for spec in self.fields if name in spec.aliases), None)

    def policy(self, name: str) -> MergePolicy:
        """How a field is merged."""
        spec = self.field(name)
        return LAST_WRITE if spec is None else CHOICES[spec.policy]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSchema(EntitySchema):
    """A schema in the log; those that come with Canonry are in none."""

    created_at: Instant
    position: int
    changed_at: int


class TruthRelation(StrEnum):
    """How one entity stands to another; an edge points from the part, the later, the needy one."""

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
"""Each of these is acyclic for itself; an edge of another type closes no cycle."""
