"""Tell a source: its records become canon by one commit, with the run that read them out of it.

Telling the same source again adds nothing, unless somebody has said otherwise since: then its word
is given once more, as what was said last.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.domain.errors import InvalidInput
from canonry.domain.extraction.companions import companions_of
from canonry.domain.ids import NewId, RunId
from canonry.domain.judging.making import UNSET
from canonry.domain.log.entries import Entry, Made
from canonry.domain.log.keys import schemas_key, thing_key
from canonry.domain.observations import Fragment
from canonry.domain.things.sources import Source
from canonry.domain.time import Instant
from canonry.domain.truth.accounts import run_id_of
from canonry.domain.truth.assertions import Assertion, Warned, assertion_of
from canonry.domain.truth.derived_schemas import derive_schema, identity_by, schema_id_of
from canonry.domain.truth.identity_keys import KeyReader
from canonry.domain.truth.interpretations import Found
from canonry.domain.truth.runs import InterpretationRun, RunStatus
from canonry.domain.truth.typed_records import RecordReader
from canonry.domain.vocabularies.schemas import EntitySchema
from canonry.domain.vocabularies.truth_types import type_named
from canonry.usecases.kernel.account import Account, opened
from canonry.usecases.kernel.aside import OF_RECORD, aside
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, commit_change
from canonry.usecases.kernel.pacing import Pace, in_turns
from canonry.usecases.truth.record_entities import Recorded, Telling, record_entities
from canonry.usecases.truth.schemas_in_force import schemas_in_force

RECORDS_MAX: Final = 10_000
FIELDS_MAX: Final = 500
CHARACTERS_MAX: Final = 1_000_000
"""So much text one record holds, so that a list of entities can be answered; files hold more."""

NAME_MAX: Final = 200
_PHASES: Final = 3
"""Each record is read, matched with what is known, and kept."""

OCCURRENCE: Final = "occurrence"
"""The field that numbers records of one source that say the same."""

NOTED: Final = "interpretation.noted"
"""The code of what an interpreter says of its reading as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tale:
    """What is told: the records of a source, by which configuration, with which weight.

    `source` is as it is made if it is not there yet. `repeatable`: telling it again may add.
    `notes` is what an interpreter says of its reading as a whole.
    """

    account: Account
    source: Source
    config: Mapping[str, Any]
    records: Sequence[Found]
    priority: int
    specificity: float
    observed_at: Instant | None = None
    repeatable: bool = False
    notes: tuple[str, ...] = ()
    started_at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of it; `again`: the source was there before."""

    source: Source
    run: InterpretationRun
    recorded: Recorded
    warnings: tuple[Warned, ...]
    again: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """The records as the schemas read them, and the schemas that have to be registered first."""

    assertions: tuple[Assertion, ...]
    companions: Mapping[int, tuple[tuple[str, Assertion], ...]]
    registered: tuple[EntitySchema, ...]
    reads: frozenset[str]


async def tell_source(canon: Canon, caller: Caller, tale: Tale) -> Told:
    """Write everything that the tale says, or nothing.

    Raises:
        InvalidInput: as `require_bounds` says.
        CanonryError: as commits say.
    """
    weight = len(tale.records) * OF_RECORD
    weight += await aside(weight, lambda: require_bounds(tale.records))
    account, run_id = tale.account, RunId(run_id_of(tale.source.id, tale.config))
    told: list[Told] = []
    pace = Pace(
        progress=caller.progress,
        total=_PHASES * len(tale.records),
        weight=weight,
    )

    async def prepare(new_id: NewId) -> Change:
        told.clear()
        pace.done = 0
        known = await canon.state.things((account.space, tale.source.id, run_id))
        source = known.get(tale.source.id)
        before = source if isinstance(source, Source) else None
        reading = await _read(canon, tale, pace)
        telling = _telling(tale, run_id, reading, again=run_id in known)
        recorded = await record_entities(canon, telling, new_id, pace)
        noted = (Warned(code=NOTED, message=note, path="") for note in tale.notes)
        warnings = (*noted, *(w for a in reading.assertions for w in a.warnings))
        run = known.get(run_id)
        made = run if isinstance(run, InterpretationRun) else None
        entries: list[Entry] = [*opened(account, known)]
        if before is None:
            entries.append(Made(thing=tale.source))
        if made is None or (tale.repeatable and recorded.entries):
            entries += map(_registered, reading.registered)
            entries += recorded.entries
        if made is None:
            made = _run(canon, tale, run_id, recorded, warnings)
            entries.append(Made(thing=made))
        told.append(
            Told(
                source=before or tale.source,
                run=made,
                recorded=recorded,
                warnings=warnings,
                again=before is not None,
            )
        )
        ids = (account.space, tale.source.id, run_id)
        reads = recorded.reads | reading.reads | set(map(thing_key, ids))
        return Change(entries=tuple(entries), reads=frozenset(reads))

    await commit_change(canon, replace(caller, idempotency_key=None), account.space, prepare)
    pace.done = pace.total
    await pace.tell("records kept")
    return told[0]


def _telling(tale: Tale, run_id: RunId, reading: _Reading, *, again: bool) -> Telling:
    return Telling(
        account=tale.account,
        source_id=tale.source.id,
        run_id=run_id,
        assertions=reading.assertions,
        companions=reading.companions,
        priority=tale.priority,
        specificity=tale.specificity,
        observed_at=tale.observed_at,
        again=again,
    )


def _registered(schema: EntitySchema) -> Entry:
    return Made(thing=schema)


def _run(
    canon: Canon, tale: Tale, run_id: RunId, recorded: Recorded, warnings: Sequence[Warned]
) -> InterpretationRun:
    return InterpretationRun(
        id=run_id,
        space=tale.account.space,
        source_id=tale.source.id,
        config=dict(tale.config),
        status=RunStatus.COMPLETED,
        entities_created=recorded.entities,
        observations_created=recorded.observations,
        fragments=recorded.fragments,
        warnings=tuple(dict.fromkeys(each.code for each in warnings)),
        started_at=tale.started_at,
        ended_at=canon.clock.now(),
        created_at=UNSET,
        position=0,
        changed_at=0,
    )


def require_bounds(records: Sequence[Found], at: str = "/entities") -> int:
    """See that there are not too many records, and that each can be kept; how much they weigh.

    Raises:
        InvalidInput: `records.too-many`, or as `require_record` says.
    """
    if len(records) > RECORDS_MAX:
        message = f"one source tells of at most {RECORDS_MAX} entities; split it"
        raise InvalidInput("records.too-many", message, path=at, limit=RECORDS_MAX)
    return sum(require_record(record, f"{at}/{index}") for index, record in enumerate(records))


def require_record(record: Found, path: str) -> int:
    """See that a record can be kept; how much text it holds.

    Raises:
        InvalidInput: `record.type`, `record.fields`, `record.field-name`, `record.too-long` or
            `record.empty`.
    """
    kind = record.entity_type
    if not kind.strip() or len(kind) > NAME_MAX or not type_named(kind):
        message = f"entity_type is a word of 1 to {NAME_MAX} characters"
        raise InvalidInput("record.type", message, path=f"{path}/entity_type")
    if len(record.fields) > FIELDS_MAX:
        message = f"a record has at most {FIELDS_MAX} fields"
        raise InvalidInput("record.fields", message, path=path, limit=FIELDS_MAX)
    if any(not name or len(name) > NAME_MAX for name in record.fields):
        message = f"the name of a field has 1 to {NAME_MAX} characters"
        raise InvalidInput("record.field-name", message, path=path)
    size = sum(map(_characters, record.fields.values()))
    if size > CHARACTERS_MAX:
        message = f"a record holds at most {CHARACTERS_MAX} characters; bring more as a file"
        raise InvalidInput("record.too-long", message, path=path, limit=CHARACTERS_MAX)
    if not any(value is not None for value in record.fields.values()) and not record.unread:
        message = "the record says nothing; give at least one field beside entity_type"
        raise InvalidInput("record.empty", message, path=path)
    return size


def _characters(value: Any) -> int:
    """How much text a value holds, with all that is inside it."""
    match value:
        case str():
            return len(value)
        case dict():
            return sum(_characters(x) for pair in value.items() for x in pair)
        case list() | tuple():
            return sum(map(_characters, value))
        case _:
            return 0


async def _read(canon: Canon, tale: Tale, pace: Pace) -> _Reading:
    """Read all records by the schemas in force; unknown types get one that fits them."""
    account = tale.account
    types = dict.fromkeys(type_named(each.entity_type) for each in tale.records)
    schemas = dict(await schemas_in_force(canon, account, (*types, "company", "person")))
    told = await aside(pace.weight, lambda: _told_apart(account, schemas, tale.records))
    by_type: dict[str, list[Found]] = {}
    for record in told:
        by_type.setdefault(type_named(record.entity_type), []).append(record)
    registered = []
    fitting = await aside(
        pace.weight,
        lambda: {
            name: _fitting(account, name, schemas.get(name), records)
            for name, records in by_type.items()
        },
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
                refers_to=tuple(place for place in record.refers_to if place < len(told)),
            )
            async for index, record in pace.over(enumerate(told), "records read")
        ]
    )
    return _Reading(
        assertions=assertions,
        companions=await _companions(account, readers, assertions, pace),
        registered=tuple(registered),
        reads=frozenset(schemas_key(account.space, name) for name in by_type),
    )


def _told_apart(
    account: Account, schemas: Mapping[str, EntitySchema], records: Sequence[Found]
) -> Sequence[Found]:
    """The records, with their number where nothing else tells them from an equal one before."""
    readers: dict[str, KeyReader] = {}
    told: list[Found] = []
    for record in records:
        kind = type_named(record.entity_type)
        if record.occurrence == 1 or OCCURRENCE in record.fields:
            told.append(record)
            continue
        if kind not in readers:
            schema = schemas.get(kind) or derive_schema(account.space, kind, [record.fields])
            readers[kind] = KeyReader(schema)
        if readers[kind].identities(record.fields):
            told.append(record)
        else:
            fields = {**record.fields, OCCURRENCE: record.occurrence}
            told.append(replace(record, fields=fields))
    return told


async def _companions(
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
            said = unicodedata.normalize("NFC", name)
            if (kind, said) not in read:
                record = {"name": said}
                path = f"{assertion.path}/{field}"
                read[kind, said] = assertion_of(
                    account.user_id, readers[kind], record, path, sure=False
                )
            named.append((field, read[kind, said]))
        if named:
            found[index] = tuple(named)
    return found


def _fitting(
    account: Account, entity_type: str, schema: EntitySchema | None, records: Sequence[Found]
) -> EntitySchema:
    """The schema in force, or one derived from the records, or the derived one grown by them."""
    if schema is not None and not schema.derived:
        return schema
    derived = derive_schema(account.space, entity_type, [each.fields for each in records])
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
    return replace(
        schema,
        id=schema_id_of(account.space, schema.entity_type, version),
        space=account.space,
        version=version,
        created_at=UNSET,
        position=0,
        changed_at=0,
        **changes,
    )
