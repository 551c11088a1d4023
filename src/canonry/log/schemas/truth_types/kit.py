"""How the built-in types are written down: one short word for each kind of field and rule."""

from canonry.log.schemas.schemas import BUILT_IN, EntitySchema, FieldSpec, FieldType, IdentityRule
from canonry.values.ids import SchemaId

PRIORITY = "highest_priority"
ARRAY = "merge_array"


def text(
    name: str,
    *aliases: str,
    required: bool = False,
    policy: str = "last_write",
    choices: str = "",
    pattern: str = "",
) -> FieldSpec:
    """A field that holds a text."""
    return FieldSpec(
        name=name,
        aliases=aliases,
        required=required,
        policy=policy,
        choices=tuple(choices.split()),
        pattern=pattern,
    )


def texts(names: str) -> tuple[FieldSpec, ...]:
    """Fields that hold texts and nothing more is to say of."""
    return tuple(FieldSpec(name=name) for name in names.split())


def number(name: str, *aliases: str, required: bool = False) -> FieldSpec:
    """A field that holds a number."""
    return FieldSpec(name=name, type=FieldType.NUMBER, aliases=aliases, required=required)


def date(name: str, *aliases: str, required: bool = False, event: str | None = None) -> FieldSpec:
    """A field that holds a date, at which `event` happens."""
    return FieldSpec(
        name=name, type=FieldType.DATE, aliases=aliases, required=required, event_type=event
    )


def array(
    name: str, *aliases: str, required: bool = False, policy: str = "last_write"
) -> FieldSpec:
    """A field that holds a list; a single value is a list of one."""
    return FieldSpec(
        name=name, type=FieldType.ARRAY, aliases=aliases, required=required, policy=policy
    )


def mapping(name: str, *aliases: str) -> FieldSpec:
    """A field that holds an object."""
    return FieldSpec(name=name, type=FieldType.OBJECT, aliases=aliases)


def key(fields: str, *, optional: str = "", apart: str = "") -> IdentityRule:
    """A rule of identity."""
    return IdentityRule(
        fields=tuple(fields.split()),
        optional=tuple(optional.split()),
        told_apart_by=tuple(apart.split()),
    )


def built_in(
    entity_type: str,
    label: str,
    *,
    fields: tuple[FieldSpec, ...],
    identity: tuple[IdentityRule, ...],
    names: tuple[str, ...],
    also: str = "",
    version: str = "1.0",
    order: tuple[tuple[str, str], ...] = (),
) -> EntitySchema:
    """A schema that comes with Canonry."""
    return EntitySchema(
        id=SchemaId(f"built-in:{entity_type}"),
        space=BUILT_IN,
        entity_type=entity_type,
        version=version,
        label=label,
        fields=fields,
        identity=identity,
        names=tuple(tuple(group.split()) for group in names),
        type_aliases=tuple(also.split()),
        order=order,
    )
