"""Schemas of entity types in an account: read them, and register new versions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change, first_made
from canonry.canon.session.lookup import Account, account_of, opening_entries, require_account
from canonry.canon.session.lookup import within_account as within
from canonry.canon.session.paging import every_item
from canonry.log.entries import Made
from canonry.log.folding import item_key, schemas_key
from canonry.log.items.entities import Entity
from canonry.log.schemas.identity_keys import fields_of_rule, label_of
from canonry.log.schemas.schemas import (
    CUSTOM_VERSION,
    EntitySchema,
    FieldSpec,
    FieldType,
    IdentityRule,
    RegisteredSchema,
)
from canonry.log.schemas.truth_types import TRUTH_TYPES, type_named
from canonry.log.schemas.typed_records import schema_id_of
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.records.domain.interpretations import FIELDS_MAX, NAME_MAX
from canonry.values.errors import InvalidInput
from canonry.values.fields import narrow_to
from canonry.values.ids import NewId
from canonry.values.moments import Instant


async def versions_of(canon: Canon, account: Account, entity_type: str) -> Sequence[EntitySchema]:
    """Return every version of a type's schema, newest first; the built-in one is the oldest."""
    spaces = frozenset((account.space,))
    registered = await canon.state.schemas(spaces, entity_type, limit=PAGE_MAX, offset=0)
    if registered.total > PAGE_MAX:  # read the newest page
        last = registered.total - PAGE_MAX
        registered = await canon.state.schemas(spaces, entity_type, limit=PAGE_MAX, offset=last)
    built_in = TRUTH_TYPES.get(entity_type)
    newest_first = registered.items[::-1]
    return newest_first if built_in is None else [*newest_first, built_in]


async def schemas_in_force(
    canon: Canon, account: Account, types: Iterable[str], *, at: Instant | None = None
) -> Mapping[str, EntitySchema]:
    """Return the newest schema of each type, or the one that was newest at an instant.

    Before its first registration a type has its oldest schema. Types without one are omitted.
    """
    found: dict[str, EntitySchema] = {}
    for entity_type in dict.fromkeys(types):
        versions = await versions_of(canon, account, entity_type)
        then = [
            v
            for v in versions
            if at is None or (isinstance(v, RegisteredSchema) and v.created_at <= at)
        ]
        if versions:
            found[entity_type] = (then or versions[-1:])[0]
    return found


async def schemas_for(
    canon: Canon, account: Account, entities: Iterable[Entity], *, at: Instant | None = None
) -> Mapping[str, EntitySchema]:
    """Return the schemas for those of the entities that are in the account."""
    own = (entity.entity_type for entity in entities if entity.space == account.space)
    return await schemas_in_force(canon, account, own, at=at)


def schema_of(
    schemas: Mapping[str, EntitySchema], account: Account, entity: Entity
) -> EntitySchema | None:
    """Return the entity's schema among these; None for entities of other spaces."""
    return schemas.get(entity.entity_type) if entity.space == account.space else None


def next_version(schema: EntitySchema, account: Account, **changes: Any) -> EntitySchema:
    """Make the next version of a schema with these changes."""
    major, _, minor = schema.version.partition(".")
    version = f"{major}.{int(minor or 0) + 1}"
    return narrow_to(
        EntitySchema,
        schema,
        id=schema_id_of(account.space, schema.entity_type, version),
        space=account.space,
        version=version,
        **changes,
    )


RESERVED: Final = frozenset({"entity_type", "schema_version"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchema:
    """A requested schema; without identity rules the current ones stay."""

    entity_type: str
    fields: Sequence[FieldSpec]
    identity: Sequence[Sequence[str]] = ()
    label: str | None = None


async def register_schema(
    canon: Canon, caller: Caller, user_id: str | None, new: NewSchema
) -> tuple[EntitySchema, bool]:
    """Register a schema; return the schema in force, and whether it is new.

    Raises:
        InvalidInput: `user.mismatch`, `schema.type`, `schema.fields`, `schema.identity` or
            `schema.built-in`.
    """
    account = require_account(caller, user_id)
    entity_type = type_named(new.entity_type)
    _require_sound(entity_type, new)
    built_in = TRUTH_TYPES.get(entity_type)
    if built_in is not None:
        new = _extend_schema(built_in, new)

    async def prepare_change(_: NewId) -> Change[tuple[EntitySchema, bool]]:
        versions = await versions_of(canon, account, entity_type)
        known = await canon.space_scope(account.space).items_by_id((account.space,))
        reads = frozenset((item_key(account.space), schemas_key(account.space, entity_type)))
        current = versions[0] if versions else None
        schema = _make_schema(account, entity_type, new, current)
        if current is not None and _version_key(current) == _version_key(schema):
            return Change(entries=(), reads=reads, found=(current, False))
        entries = (*opening_entries(account, known), Made(thing=schema))
        return Change(entries=entries, reads=reads, found=(schema, True))

    receipt = await commit_change(canon, within(caller), account.space, prepare_change)
    return receipt.found or (first_made(receipt, EntitySchema), True)


async def list_schemas(
    canon: Canon, caller: Caller, entity_type: str | None
) -> Sequence[EntitySchema]:
    """List all versions of a type's schema, newest first; or the newest of every type."""
    account = account_of(caller)
    if entity_type is not None:
        return await versions_of(canon, account, type_named(entity_type))
    found = dict(TRUTH_TYPES)
    registered = partial(canon.state.schemas, frozenset((account.space,)), None)
    found |= {schema.entity_type: schema async for schema in every_item(registered)}
    return [found[name] for name in sorted(found)]


def _require_sound(entity_type: str, new: NewSchema) -> None:
    if not entity_type or len(entity_type) > NAME_MAX:
        message = f"`entity_type` must have 1 to {NAME_MAX} characters."
        raise InvalidInput("schema.type", message, path="/entity_type")
    if not 0 < len(new.fields) <= FIELDS_MAX:
        message = f"The schema has {len(new.fields)} fields; it must have 1 to {FIELDS_MAX}."
        raise InvalidInput("schema.fields", message, path="/fields")
    taken: set[str] = set()
    for spec in new.fields:
        for name in (spec.name, *spec.aliases):
            if not name.strip() or len(name) > NAME_MAX or name in RESERVED or name in taken:
                message = f"Each name must be new, not reserved, of 1 to {NAME_MAX} characters."
                raise InvalidInput("schema.fields", message, path=f"/fields/{spec.name}")
            taken.add(name)
        if spec.event_type is not None and spec.type is not FieldType.DATE:
            message = "Only a field of type date can have an `event_type`."
            raise InvalidInput("schema.fields", message, path=f"/fields/{spec.name}/event_type")
    names = {spec.name for spec in new.fields}
    for index, rule in enumerate(new.identity):
        if not rule or not names.issuperset(rule):
            message = "An identity rule must name fields of this schema."
            raise InvalidInput("schema.identity", message, path=f"/identity/{index}")


def _extend_schema(built_in: EntitySchema, new: NewSchema) -> NewSchema:
    """Extend a built-in schema by new fields, and refuse any other change.

    Stored records need the built-in fields and identity rules to be read and matched.
    """
    given = {spec.name: spec for spec in new.fields}
    fields = []
    for spec in built_in.fields:
        wanted = given.pop(spec.name, spec)
        same = (wanted.type, wanted.policy) == (spec.type, spec.policy)
        if not same or wanted.event_type not in {None, spec.event_type}:
            message = f"{spec.name} is a built-in {spec.type} with {spec.policy}. Omit it."
            raise InvalidInput("schema.built-in", message, path=f"/fields/{spec.name}")
        names = dict.fromkeys((*spec.aliases, *wanted.aliases))
        fields.append(replace(spec, aliases=tuple(names), required=wanted.required))
    taken = {name for spec in fields for name in (spec.name, *spec.aliases)}
    for spec in given.values():
        if not taken.isdisjoint((spec.name, *spec.aliases)):
            message = f"{spec.name} or one of its aliases is built in. Choose another name."
            raise InvalidInput("schema.built-in", message, path=f"/fields/{spec.name}")
    rules = [list(rule.fields) for rule in built_in.identity]
    labels = [list(map(label_of, rule)) for rule in rules]
    if new.identity and list(map(list, new.identity)) not in (rules, labels):
        message = f"The type {built_in.entity_type} has built-in identity rules. Omit `identity`."
        raise InvalidInput("schema.built-in", message, path="/identity")
    return replace(new, fields=(*fields, *given.values()), identity=())


def _make_schema(
    account: Account, entity_type: str, new: NewSchema, current: EntitySchema | None
) -> EntitySchema:
    fields = tuple(new.fields)
    names = {spec.name for spec in fields}
    rules = tuple(IdentityRule(fields=tuple(rule)) for rule in new.identity)
    if current is not None:
        built_in = TRUTH_TYPES.get(entity_type)
        if built_in is not None:  # an earlier version may lack them
            current = replace(current, names=built_in.names, identity=built_in.identity)
        kept = tuple(
            rule
            for rule in current.identity
            if names.issuperset(name for asked in rule.fields for name in fields_of_rule(asked))
        )
        return next_version(
            current,
            account,
            fields=fields,
            identity=rules or kept,
            label=new.label or current.label,
            derived=False,
        )
    first = fields[0].name
    return EntitySchema(
        id=schema_id_of(account.space, entity_type, CUSTOM_VERSION),
        space=account.space,
        entity_type=entity_type,
        version=CUSTOM_VERSION,
        label=new.label or entity_type.replace("_", " ").capitalize(),
        fields=fields,
        identity=rules,
        names=tuple((n,) for n in ("name", "title", *(f for r in rules for f in r.fields), first)),
    )


def _version_key(schema: EntitySchema) -> object:
    """Return the parts of a schema that make it a different version."""
    fields = sorted(schema.fields, key=lambda spec: spec.name)
    return (fields, schema.identity, schema.label, schema.derived)
