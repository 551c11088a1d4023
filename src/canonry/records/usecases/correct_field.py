"""Correct a field: a user's own word, which goes before every source and every policy.

The word has a source of its own, so that a corrected field leads to it like any other. Saying the
same again is the same correction; a return to an earlier word is a new one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from canonry.canon.session.account import Account, require_account, within_account
from canonry.canon.session.caller import Caller, no_progress
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.lookup import require
from canonry.canon.session.paging import Pace
from canonry.log.entries import Entry, Made
from canonry.log.folding import schemas_key, thing_key
from canonry.log.items.entities import Entity, alone
from canonry.log.items.sources import SourceDraft, SourceType, correction_id_of
from canonry.log.schemas.narrative import FRAGMENT_PREFIX, PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema, FieldSpec
from canonry.log.schemas.truth_types import type_named, types_alike
from canonry.log.schemas.typed_records import (
    RESERVED,
    UNKNOWN_FIELD,
    RecordReader,
    Unconvertible,
    convert,
    out_of_order,
)
from canonry.records.domain.assertions import assertion_of
from canonry.records.domain.interpretations import Found, require_record
from canonry.records.notation.parties import COMPANIONS
from canonry.records.usecases.record_entities import record_named
from canonry.records.usecases.record_source import source_of_words
from canonry.records.usecases.records import RecordReading, Statement, companions_named
from canonry.records.usecases.schemas_in_force import schemas_in_force
from canonry.values.errors import InvalidInput
from canonry.values.ids import EntityId, NewId, ObservationId
from canonry.values.json_values import canonical_json
from canonry.values.observations import (
    LAST,
    PRIORITY_CORRECTION,
    PRIORITY_STRUCTURED,
    SPECIFICITY_STATED,
    Dated,
    Fragment,
    Held,
    ObservationDraft,
)
from canonry.values.provenance import Authority, Evidence, EvidenceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What is wrong, and what is right.

    With `any_field`, a field that the schema does not know is corrected as well, as a fragment.
    The source of the word keeps the `grounds` that it is said on.
    """

    entity_id: str
    entity_type: str
    field: str
    value: Any
    any_field: bool = False
    grounds: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """The correction that stands; `existing`: it stood before."""

    observation_id: ObservationId
    entity_id: EntityId
    field: str
    value: Any
    existing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Right:
    """What the field is by the schema in force; without a `spec` it is kept as a fragment.

    So is what a field of a derived schema cannot hold, as nobody has declared what it holds.
    """

    name: str
    spec: FieldSpec | None
    value: Any
    raw: Fragment | None = None
    dates: Mapping[str, Dated] = field(default_factory=dict)

    def said_over(self, entity: Entity, schema: EntitySchema) -> Mapping[str, Fragment]:
        """The fragments of the correction: the value, or nulls over what was never a value."""
        if self.spec is None:
            return {self.name: Fragment(value=self.value, reason=UNKNOWN_FIELD)}
        unread = (
            name.removeprefix(FRAGMENT_PREFIX)
            for name in entity.snapshot
            if name.startswith(FRAGMENT_PREFIX)
        )
        over = {
            name: Fragment(value=None, reason=_CORRECTED)
            for name in unread
            if schema.canonical(name) == self.name
        }
        return over if self.raw is None else {**over, self.name: self.raw}


_CORRECTED: Final = "corrected"


async def correct_field(
    canon: Canon, caller: Caller, user_id: str | None, correction: Correction
) -> Corrected:
    """Let the value stand for the field of one of the user's own entities.

    Raises:
        InvalidInput: `user.mismatch`, `correction.type`, `correction.field` or `correction.value`.
        NotFound: `entity.unknown`.
    """
    account, inner = require_account(caller, user_id), within_account(caller)

    async def prepare(new_id: NewId) -> Change[Corrected]:
        root = await require(canon, inner, Entity, correction.entity_id)
        entity = await addressed(canon, root, correction.entity_id)
        schema = await _schema(canon, account, entity, correction)
        right = _right(schema, correction)
        _require_order(root, schema, right)
        before, own = _standing(root, right), _standing(alone(entity), right)
        reads = frozenset(
            (
                thing_key(correction.entity_id),
                thing_key(root.id),
                schemas_key(account.space, entity.entity_type),
            )
        )
        stood = [None if held is None else _value(held, right) for held in (before, own)]
        same = right.raw is None and stood == [right.value, right.value]
        if before is not None and own is not None and same:
            stands = _corrected(own.observation, root, right, existing=True)
            return Change(entries=(), reads=reads, found=stands)
        follows = "" if before is None else before.observation
        source = source_of_word(account, entity, right.name, right.value, follows)
        source = replace(source, properties=correction.grounds or {})
        word = own_word(entity, schema, right.name, right.value, source, follows=follows)
        seen = replace(
            word,
            fields=word.fields if right.spec is not None else {},
            dates=right.dates,
            fragments=right.said_over(root, schema),
        )
        entries: tuple[Entry, ...] = (Made(thing=source), Made(thing=seen))
        if right.name in COMPANIONS.get(entity.entity_type, ()):
            reading = await _naming(canon, account, schema, right, source)
            named = await record_named(canon, reading, entity, seen, new_id)
            entries, reads = (*entries, *named.entries), reads | named.reads
        stands = _corrected(seen.id, root, right, existing=False)
        return Change(entries=entries, reads=reads, found=stands)

    receipt = await commit_change(canon, inner, account.space, prepare)
    return receipt.found or await _told_before(canon, inner, correction, receipt)


async def addressed(canon: Canon, root: Entity, entity_id: str) -> Entity:
    """The entity that was named, even if it was merged: the correction stays with it."""
    found = await canon.within(root.space).thing(entity_id)
    return found if isinstance(found, Entity) else root


async def _naming(
    canon: Canon, account: Account, schema: EntitySchema, right: _Right, source: SourceDraft
) -> RecordReading:
    """The correction as a record that names somebody."""
    statement = Statement(
        account=account,
        source=source,
        config={},
        records=(),
        priority=PRIORITY_STRUCTURED,
        specificity=SPECIFICITY_STATED,
        started_at=canon.clock.now(),
    )
    schemas = {
        **await schemas_in_force(canon, account, ("company", "person")),
        schema.entity_type: schema,
    }
    readers = {name: RecordReader(each) for name, each in schemas.items()}
    record = {right.name: right.value}
    said = assertion_of(account.user_id, readers[schema.entity_type], record, "/value")
    pace = Pace(progress=no_progress, total=0)
    return RecordReading(
        statement=statement,
        run_id=None,
        assertions=(said,),
        companions=await companions_named(account, readers, (said,), pace),
        registered=(),
        reads=frozenset(),
        again=False,
    )


async def _told_before(
    canon: Canon, caller: Caller, correction: Correction, receipt: Receipt[Corrected]
) -> Corrected:
    """What an earlier sending of the request let stand."""
    root = await require(canon, caller, Entity, correction.entity_id)
    word = next(
        each
        for each in receipt.made(ObservationDraft)
        if isinstance(each, ObservationDraft) and each.correction
    )
    ((name, value),) = word.fields.items()
    return Corrected(
        observation_id=word.id,
        entity_id=root.id,
        field=name.removeprefix(PROPERTY_PREFIX),
        value=value,
        existing=False,
    )


def _corrected(
    observation_id: ObservationId, entity: Entity, right: _Right, *, existing: bool
) -> Corrected:
    return Corrected(
        observation_id=observation_id,
        entity_id=entity.id,
        field=right.name,
        value=right.value,
        existing=existing,
    )


async def _schema(
    canon: Canon, account: Account, entity: Entity, correction: Correction
) -> EntitySchema:
    asked = type_named(correction.entity_type)
    if asked not in types_alike(entity.entity_type):
        message = "the entity is of another type; look at its snapshot"
        raise InvalidInput("correction.type", message, path="/entity_type")
    schemas = await schemas_in_force(canon, account, (entity.entity_type,))
    if entity.entity_type not in schemas:
        message = "the type of this entity has no schema; register one"
        raise InvalidInput("correction.type", message, path="/entity_type")
    return schemas[entity.entity_type]


def _right(schema: EntitySchema, correction: Correction) -> _Right:
    name = schema.canonical(correction.field)
    spec = None if name is None else schema.field(name)
    if spec is None:
        return _unknown(correction)
    if correction.value is None:
        return _Right(name=spec.name, spec=spec, value=None)
    converted = convert(correction.value, spec)
    if isinstance(converted, Unconvertible) and correction.any_field and schema.derived:
        raw = Fragment(value=correction.value, reason=converted.reason)
        return _Right(name=spec.name, spec=spec, value=None, raw=raw)
    if isinstance(converted, Unconvertible):
        message = f"the field holds a {spec.type}, and this is not one: {converted.reason}"
        raise InvalidInput("correction.value", message, path="/value")
    dates = {}
    if spec.event_type is not None and converted.instant is not None:
        dated = Dated(event_type=spec.event_type, instant=converted.instant, policy=spec.policy)
        dates = {spec.name: dated}
    return _Right(name=spec.name, spec=spec, value=converted.value, dates=dates)


def _unknown(correction: Correction) -> _Right:
    """A field that the schema does not know, which is kept as it is given."""
    name, value = correction.field, correction.value
    if not correction.any_field or name in RESERVED:
        message = "the type has no such field; look at the fields that it has"
        raise InvalidInput("correction.field", message, path="/field")
    if value is not None:
        require_record(Found(entity_type=correction.entity_type, fields={name: value}), "/value")
    return _Right(name=name, spec=None, value=value)


def _require_order(entity: Entity, schema: EntitySchema, right: _Right) -> None:
    said = {**entity.properties, right.name: right.value} if schema.order else {}
    for name, reason in out_of_order(schema.order, said):
        if right.name in {name, reason.removeprefix("before_")}:
            message = f"{name} would be {reason.replace('_', ' ', 1)}; correct the other one first"
            raise InvalidInput("correction.value", message, path="/value")


def _standing(entity: Entity, right: _Right) -> Held | None:
    """The correction that stands for the field."""
    prefix = FRAGMENT_PREFIX if right.spec is None else PROPERTY_PREFIX
    elements = entity.snapshot.get(prefix + right.name)
    held = None if elements is None else elements[LAST]
    return held if held is not None and held.corrected else None


def _value(held: Held, right: _Right) -> Any:
    return held.value["value"] if right.spec is None else held.value


def source_of_word(
    account: Account, entity: Entity, field: str, value: Any, follows: str
) -> SourceDraft:
    """The source of a user's own word on a field; `follows` is the word that it takes over from."""
    payload = {
        "correction": {"entity_id": entity.id, "field": field, "value": value},
        "follows": follows,
    }
    return source_of_words(account, SourceType.CORRECTION, canonical_json(payload))


def own_word(
    entity: Entity,
    schema: EntitySchema,
    field: str,
    value: Any,
    source: SourceDraft,
    *,
    follows: str,
    correction: bool = True,
) -> ObservationDraft:
    """What a user says of a field: a correction, or one word among others."""
    return ObservationDraft(
        id=correction_id_of(entity.id, field, value, follows),
        space=entity.space,
        entity_id=entity.id,
        fields={PROPERTY_PREFIX + field: value},
        authority=Authority.SOURCE,
        confidence=1.0,
        evidence=(Evidence(kind=EvidenceKind.SOURCE, ref=source.id),),
        observed_at=None,
        correction=correction,
        priority=PRIORITY_CORRECTION if correction else PRIORITY_STRUCTURED,
        specificity=SPECIFICITY_STATED,
        schema_version=schema.version,
    )
