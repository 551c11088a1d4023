"""Read records: what each record of a statement says, by the schemas in force.

Types that nobody knows get a schema that fits their records.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.canon.session.account import Account
from canonry.canon.session.canon import Canon
from canonry.canon.session.pacing import Pace, aside, in_turns
from canonry.language.texts.excerpts import Excerpt
from canonry.log.items.sources import SourceDraft
from canonry.log.keys import schemas_key
from canonry.log.schemas.derived_schemas import (
    derive_schema,
    identity_by,
    learn_types,
    schema_id_of,
    schema_of_types,
)
from canonry.log.schemas.identity_keys import KeyReader
from canonry.log.schemas.schemas import EntitySchema, FieldType
from canonry.log.schemas.truth_types import type_named
from canonry.log.schemas.typed_records import RecordReader
from canonry.records.domain.assertions import Assertion, assertion_of
from canonry.records.domain.interpretations import Found
from canonry.records.domain.record_bounds import FIELDS_MAX
from canonry.records.notation.companions import companions_of
from canonry.records.usecases.schemas_in_force import schemas_in_force
from canonry.values.ids import EntityId, RunId
from canonry.values.observations import Fragment
from canonry.values.revising import narrowed
from canonry.values.time import Instant

OCCURRENCE: Final = "occurrence"
"""The field that numbers records of one source that say the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The records of a source, by which configuration they were read, with which weight.

    `source` is as it is made if it is not there yet. `repeatable`: recording it again may add.
    `notes` is what an interpreter says of its reading as a whole. `brought` has entities that
    came in files within the source, each with the place of the record that it belongs to;
    `excerpts` are the text of the source, to be searched. `alike` are all records of the source,
    where these are the first batch of them: what is derived of a type has to fit them all.
    """

    account: Account
    source: SourceDraft
    config: Mapping[str, Any]
    records: Sequence[Found]
    priority: int
    specificity: float
    observed_at: Instant | None = None
    repeatable: bool = False
    notes: tuple[str, ...] = ()
    brought: Sequence[tuple[int, EntityId]] = ()
    excerpts: Sequence[Excerpt] = ()
    alike: Iterable[Found] = ()
    started_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordReading:
    """A statement as the schemas read it, and the schemas that have to be registered first.

    `again`: the statement was recorded before, so that only what has changed since is news, or all
    of it where it is `heavier` now.
    """

    statement: Statement
    run_id: RunId | None
    assertions: tuple[Assertion, ...]
    companions: Mapping[int, tuple[tuple[str, Assertion], ...]]
    registered: tuple[EntitySchema, ...]
    reads: frozenset[str]
    again: bool
    heavier: bool = False


async def read_records(
    canon: Canon, statement: Statement, run_id: RunId, pace: Pace, *, again: bool
) -> RecordReading:
    """Read all records by the schemas in force; unknown types get one that fits them."""
    account = statement.account
    types = dict.fromkeys(type_named(each.entity_type) for each in statement.records)
    schemas = dict(await schemas_in_force(canon, account, (*types, "company", "person")))
    records = await aside(pace.weight, lambda: _numbered(account, schemas, statement.records))
    registered = []
    fitting = await aside(
        pace.weight, lambda: _fitting_all(account, schemas, statement.alike or records)
    )
    for entity_type, schema in fitting.items():
        if schema is not schemas.get(entity_type):
            registered.append(schema)
            schemas[entity_type] = schema
    readers = {name: RecordReader(schema) for name, schema in schemas.items()}
    assertions = tuple(
        [
            assertion_of(
                account.user_id,
                readers[type_named(record.entity_type)],
                record.fields,
                f"/entities/{index}",
                unread={
                    n: Fragment(value=u.value, reason=u.reason) for n, u in record.unread.items()
                },
                refers_to=tuple(place for place in record.refers_to if place < len(records)),
            )
            async for index, record in pace.over(enumerate(records), "records read")
        ]
    )
    return RecordReading(
        statement=statement,
        run_id=run_id,
        again=again,
        assertions=assertions,
        companions=await companions_named(account, readers, assertions, pace),
        registered=tuple(registered),
        reads=frozenset(schemas_key(account.space, name) for name in fitting),
    )


def _numbered(
    account: Account, schemas: Mapping[str, EntitySchema], records: Sequence[Found]
) -> Sequence[Found]:
    """The records, with their number where nothing else tells them from an equal one before."""
    readers: dict[str, KeyReader] = {}
    numbered: list[Found] = []
    for record in records:
        kind = type_named(record.entity_type)
        if record.occurrence == 1 or OCCURRENCE in record.fields:
            numbered.append(record)
            continue
        if kind not in readers:
            schema = schemas.get(kind) or derive_schema(account.space, kind, [record.fields])
            readers[kind] = KeyReader(schema)
        if readers[kind].identities(record.fields):
            numbered.append(record)
        else:
            fields = {**record.fields, OCCURRENCE: record.occurrence}
            numbered.append(replace(record, fields=fields))
    return numbered


async def companions_named(
    account: Account,
    readers: Mapping[str, RecordReader],
    assertions: Sequence[Assertion],
    pace: Pace,
) -> Mapping[int, tuple[tuple[str, Assertion], ...]]:
    """Whom the records name, for each record; the same name is read once."""
    read: dict[tuple[str, str], Assertion] = {}
    found: dict[int, tuple[tuple[str, Assertion], ...]] = {}
    async for index, assertion in in_turns(enumerate(assertions), pace.every):
        named = []
        for field, kind, name in companions_of(assertion.schema.entity_type, assertion.fields):
            called = unicodedata.normalize("NFC", name)
            if (kind, called) not in read:
                record = {"name": called}
                path = f"{assertion.path}/{field}"
                read[kind, called] = assertion_of(
                    account.user_id, readers[kind], record, path, sure=False
                )
            named.append((field, read[kind, called]))
        if named:
            found[index] = tuple(named)
    return found


def _fitting_all(
    account: Account, schemas: Mapping[str, EntitySchema], records: Iterable[Found]
) -> Mapping[str, EntitySchema]:
    """The schema for each type of these records, which are looked at one by one."""
    by_type: dict[str, dict[str, FieldType]] = {}
    for record in records:
        kind = type_named(record.entity_type)
        known, types = schemas.get(kind), by_type.setdefault(kind, {})
        if known is None or known.derived:
            learn_types(types, record.fields)
    return {
        name: _fitting(account, name, schemas.get(name), types) for name, types in by_type.items()
    }


def _fitting(
    account: Account,
    entity_type: str,
    schema: EntitySchema | None,
    types: Mapping[str, FieldType],
) -> EntitySchema:
    """The schema in force, or one derived from the records, or the derived one grown by them."""
    if schema is not None and not schema.derived:
        return schema
    derived = schema_of_types(account.space, entity_type, types)
    if schema is None:
        return derived
    known = {name for spec in schema.fields for name in (spec.name, *spec.aliases)}
    new = tuple(spec for spec in derived.fields if spec.name not in known)
    if not new or len(schema.fields) + len(new) > FIELDS_MAX:
        return schema
    fields = (*schema.fields, *new)
    return next_version(schema, account, fields=fields, identity=identity_by(entity_type, fields))


def next_version(schema: EntitySchema, account: Account, **changes: Any) -> EntitySchema:
    """A later version of a schema in an account, with these changes."""
    major, _, minor = schema.version.partition(".")
    version = f"{major}.{int(minor or 0) + 1}"
    return narrowed(
        EntitySchema,
        schema,
        id=schema_id_of(account.space, schema.entity_type, version),
        space=account.space,
        version=version,
        **changes,
    )
