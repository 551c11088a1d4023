"""Corrections of fields by the user, and of all unclear values of a field at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from canonry.canon.ports.files import FileHint, Reading
from canonry.canon.session.caller import Caller, ignore_progress
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, by_product_of, commit_change
from canonry.canon.session.lookup import (
    Account,
    account_of,
    require_account,
    require_item,
    within_account,
)
from canonry.canon.session.paging import Pace, every_item
from canonry.language.texts.sentences import Box
from canonry.log.entries import Entry, Made
from canonry.log.folding import item_key, schemas_key
from canonry.log.items.entities import Entity, without_members
from canonry.log.items.sources import Source, SourceDraft, SourceType, correction_id_of
from canonry.log.schemas import typed_records
from canonry.log.schemas.narrative import FRAGMENT_PREFIX, PROPERTY_PREFIX
from canonry.log.schemas.schemas import EntitySchema, FieldSpec
from canonry.log.schemas.truth_types import similar_types, type_named
from canonry.records.domain.assertions import assertion_of
from canonry.records.domain.interpretations import FoundEntity, require_record
from canonry.records.domain.snapshots import shown_by
from canonry.records.notation.labels import COMPANIONS, NAMED_BY, ValueLocation, find_locations
from canonry.records.notation.numbers import NOTATIONS, UnclearValue, unclear_values
from canonry.records.notation.settlements import INVOICE, PAYERS
from canonry.records.usecases.files import filing_of
from canonry.records.usecases.record_entities import record_named
from canonry.records.usecases.record_source import source_of_content
from canonry.records.usecases.records import (
    RecordReading,
    SourceStatement,
    assert_named_parties,
    first_entities,
)
from canonry.records.usecases.schemas import schema_of, schemas_for, schemas_in_force
from canonry.records.usecases.snapshots import TracedField, find_addressed, trace_field
from canonry.values.errors import CanonryError, InvalidInput, NotFound
from canonry.values.fields import with_changes
from canonry.values.ids import EntityId, NewId, ObservationId, SourceId
from canonry.values.json_values import canonical_json
from canonry.values.observations import (
    LAST,
    PRIORITY_CORRECTION,
    PRIORITY_STRUCTURED,
    SPECIFICITY_STATED,
    Dated,
    Fragment,
    Held,
    Observation,
    ObservationDraft,
)
from canonry.values.provenance import Authority, Evidence, EvidenceKind

# Correct a field: a user's correction outranks every source and every merge policy.
#
# A correction has its own source, to which the field's provenance leads. Repeating it changes
# nothing; returning to an earlier value is a new correction.


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A field of an entity and its right value.

    With `any_field`, a field that the schema does not have can be corrected too, as a fragment.
    The correction's source keeps the `grounds`.
    """

    entity_id: str
    entity_type: str
    field: str
    value: Any
    any_field: bool = False
    grounds: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """The current correction of a field; `existing` if it was made before."""

    observation_id: ObservationId
    entity_id: EntityId
    field: str
    value: Any
    existing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _RightValue:
    """A correction read by the schema in force; without a `spec` it is kept as a fragment.

    A value that does not fit a field of a derived schema is kept as the fragment `raw`.
    """

    name: str
    spec: FieldSpec | None
    value: Any
    raw: Fragment | None = None
    dates: Mapping[str, Dated] = field(default_factory=dict)

    def fragments_over(self, entity: Entity, schema: EntitySchema) -> Mapping[str, Fragment]:
        """Return the fragments of the correction: the value, or nulls over unread fragments."""
        if self.spec is None:
            return {self.name: Fragment(value=self.value, reason=typed_records.UNKNOWN_FIELD)}
        unread = (
            name.removeprefix(FRAGMENT_PREFIX)
            for name in entity.snapshot
            if name.startswith(FRAGMENT_PREFIX)
        )
        over = {
            name: Fragment(value=None, reason="corrected")
            for name in unread
            if schema.canonical_field(name) == self.name
        }
        return over if self.raw is None else {**over, self.name: self.raw}


async def correct_field(
    canon: Canon, caller: Caller, user_id: str | None, correction: Correction
) -> Corrected:
    """Correct a field of an entity in the user's account.

    Raises:
        InvalidInput: `user.mismatch`, `correction.type`, `correction.field` or `correction.value`.
        NotFound: `entity.unknown`.
    """
    account, inner = require_account(caller, user_id), within_account(caller)

    async def prepare_change(new_id: NewId) -> Change[Corrected]:
        root = await require_item(canon, inner, Entity, correction.entity_id)
        entity = await find_addressed(canon, root, correction.entity_id)
        schema = await _require_schema(canon, account, entity, correction)
        right = _read_right(schema, correction)
        _require_order(root, schema, right)
        corrected = partial(Corrected, entity_id=root.id, field=right.name, value=right.value)
        before, own = (
            _current_correction(root, right),
            _current_correction(without_members(entity), right),
        )
        reads = frozenset(map(item_key, (correction.entity_id, root.id)))
        reads |= {schemas_key(account.space, entity.entity_type)}
        stood = [
            held and (held.value["value"] if right.spec is None else held.value)
            for held in (before, own)
        ]
        same = right.raw is None and stood == [right.value, right.value]
        if before is not None and own is not None and same:
            stands = corrected(observation_id=own.observation, existing=True)
            return Change(entries=(), reads=reads, found=stands)
        follows = "" if before is None else before.observation
        source = source_of_statement(account, entity, right.name, right.value, follows)
        source = replace(source, properties=correction.grounds or {})
        observation = make_user_observation(
            entity, schema.version, right.name, right.value, source, follows=follows
        )
        seen = replace(
            observation,
            fields=observation.fields if right.spec is not None else {},
            dates=right.dates,
            fragments=right.fragments_over(root, schema),
        )
        entries: tuple[Entry, ...] = (Made(thing=source), Made(thing=seen))
        kind = entity.entity_type
        if right.spec and (kind in (INVOICE, *PAYERS) or right.name in COMPANIONS.get(kind, ())):
            reading = await _read_naming(canon, account, schema, right, source)
            named = await record_named(canon, reading, entity, seen, new_id)
            entries, reads = (*entries, *named.entries), reads | named.reads
        stands = corrected(observation_id=seen.id, existing=False)
        return Change(entries=entries, reads=reads, found=stands)

    receipt = await commit_change(canon, inner, account.space, prepare_change)
    if receipt.found is not None:
        return receipt.found
    root = await require_item(canon, inner, Entity, correction.entity_id)
    return _corrected_before(receipt, root.id, correction)


def _corrected_before(
    receipt: Receipt[Corrected], entity_id: EntityId, correction: Correction
) -> Corrected:
    """Return the correction that an earlier call with this idempotency key made."""
    made = [e for e in receipt.drafts_made(ObservationDraft) if isinstance(e, ObservationDraft)]
    observation = next(each for each in made if each.correction)
    name, value = next(iter(observation.fields.items()), (correction.field, correction.value))
    return Corrected(
        observation_id=observation.id,
        entity_id=entity_id,
        field=name.removeprefix(PROPERTY_PREFIX),
        value=value,
        existing=False,
    )


async def _read_naming(
    canon: Canon, account: Account, schema: EntitySchema, right: _RightValue, source: SourceDraft
) -> RecordReading:
    """Return the correction as a record whose field names a person or a company."""
    statement = SourceStatement(
        account=account, source=source, config={}, records=(), started_at=canon.clock.now()
    )
    schemas = {**await schemas_in_force(canon, account, NAMED_BY), schema.entity_type: schema}
    readers = {name: typed_records.RecordReader(each) for name, each in schemas.items()}
    record = {right.name: right.value}
    assertion = assertion_of(account.user_id, readers[schema.entity_type], record, "/value")
    pace = Pace(progress=ignore_progress, total=0)
    return RecordReading(
        statement=statement,
        assertions=(assertion,),
        named_parties=await assert_named_parties(account, readers, (assertion,), pace),
    )


async def _require_schema(
    canon: Canon, account: Account, entity: Entity, correction: Correction
) -> EntitySchema:
    asked = type_named(correction.entity_type)
    if asked not in similar_types(entity.entity_type):
        message = f"The entity is of type {entity.entity_type}. Give that in `entity_type`."
        raise InvalidInput("correction.type", message, path="/entity_type")
    schemas = await schemas_in_force(canon, account, (entity.entity_type,))
    if entity.entity_type not in schemas:
        message = f"The type {entity.entity_type} has no schema. Register one."
        raise InvalidInput("correction.type", message, path="/entity_type")
    return schemas[entity.entity_type]


def _read_right(schema: EntitySchema, correction: Correction) -> _RightValue:
    name = schema.canonical_field(correction.field)
    spec = None if name is None else schema.find_field(name)
    if spec is None:
        return _read_unknown(correction)
    if correction.value is None:
        return _RightValue(name=spec.name, spec=spec, value=None)
    converted = typed_records.convert_value(correction.value, spec)
    if (
        isinstance(converted, typed_records.Unconvertible)
        and correction.any_field
        and schema.derived
    ):
        raw = Fragment(value=correction.value, reason=converted.reason)
        return _RightValue(name=spec.name, spec=spec, value=None, raw=raw)
    if isinstance(converted, typed_records.Unconvertible):
        message = f"{spec.name} must be a {spec.type}; the value is not ({converted.reason})."
        raise InvalidInput("correction.value", message, path="/value")
    dates = dated_by(spec, converted)
    return _RightValue(name=spec.name, spec=spec, value=converted.value, dates=dates)


def dated_by(spec: FieldSpec, converted: typed_records.Converted) -> Mapping[str, Dated]:
    """Return the event at a field's date if its schema declares one."""
    if spec.event_type is None or converted.instant is None:
        return {}
    dated = Dated(event_type=spec.event_type, instant=converted.instant, policy=spec.policy)
    return {spec.name: dated}


def _read_unknown(correction: Correction) -> _RightValue:
    """Read a correction of a field that the schema does not have."""
    name, value = correction.field, correction.value
    if not correction.any_field or name in typed_records.RESERVED:
        message = f"The type {correction.entity_type} has no such field. See its schema for fields."
        raise InvalidInput("correction.field", message, path="/field")
    if value is not None:
        require_record(
            FoundEntity(entity_type=correction.entity_type, fields={name: value}), "/value"
        )
    return _RightValue(name=name, spec=None, value=value)


def _require_order(entity: Entity, schema: EntitySchema, right: _RightValue) -> None:
    values = {**entity.properties, right.name: right.value} if schema.order else {}
    for name, reason in typed_records.find_out_of_order(schema.order, values):
        if right.name in {name, reason.removeprefix("before_")}:
            message = f"{name} would be {reason.replace('_', ' ', 1)}. Correct that field first."
            raise InvalidInput("correction.value", message, path="/value")


def _current_correction(entity: Entity, right: _RightValue) -> Held | None:
    """Return the current correction of the field, if there is one."""
    prefix = FRAGMENT_PREFIX if right.spec is None else PROPERTY_PREFIX
    elements = entity.snapshot.get(prefix + right.name)
    held = None if elements is None else elements[LAST]
    return held if held is not None and held.is_correction else None


def source_of_statement(
    account: Account, entity: Entity, field: str, value: Any, follows: str
) -> SourceDraft:
    """Return the source of a user's statement; `follows` is the observation that it replaces."""
    correction = {"entity_id": entity.id, "field": field, "value": value}
    payload = {"correction": correction, "follows": follows}
    return source_of_content(account, SourceType.CORRECTION, canonical_json(payload))


def make_user_observation(
    entity: Entity,
    schema_version: str,
    field: str,
    value: Any,
    source: SourceDraft,
    *,
    follows: str,
    correction: bool = True,
) -> ObservationDraft:
    """Return a user's statement about a field: a correction, or an ordinary observation."""
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
        schema_version=schema_version,
    )


ENTITIES_READ_MAX: Final = 10_000
"""The most entities that are searched for unclear values."""

EXAMPLES_MAX: Final = 3  # a rule is proposed from its count; examples only illustrate it


@dataclass(frozen=True, slots=True, kw_only=True)
class UnclearObservation:
    """An unclear value of an entity, and its observation."""

    entity: Entity
    unclear: UnclearValue
    observation: Observation
    schema_version: str


@dataclass(slots=True, kw_only=True)
class UnclearField:
    """The unclear values of one field in one source, with the first of them as examples."""

    source_id: SourceId | None
    entity_type: str
    name: str
    reason: str
    count: int = 0
    examples: list[UnclearObservation] = field(default_factory=list)


async def list_unclear(
    canon: Canon, caller: Caller, entity_type: str | None = None
) -> tuple[Sequence[UnclearField], bool]:
    """Return unclear values by source and field, and whether not all entities were searched."""
    account = account_of(caller)
    named = None if entity_type is None else type_named(entity_type)
    entities, more = await first_entities(canon, account, (named,), ENTITIES_READ_MAX)
    found = await find_unclear(canon, account, entities)
    groups: dict[tuple[str, str, str], UnclearField] = {}
    for each in found:
        source, kind = each.observation.source_id, each.entity.entity_type
        name = each.unclear.spec.name
        group = groups.setdefault(
            (str(source), kind, name),
            UnclearField(
                source_id=source, entity_type=kind, name=name, reason=each.unclear.fragment.reason
            ),
        )
        group.count += 1
        if len(group.examples) < EXAMPLES_MAX:
            group.examples.append(each)
    return [groups[key] for key in sorted(groups)], more


async def find_unclear(
    canon: Canon, account: Account, entities: Sequence[Entity]
) -> list[UnclearObservation]:
    """Return the unclear values of entities, each with its observation."""
    schemas = await schemas_for(canon, account, entities)
    waiting: list[tuple[Entity, UnclearValue, str]] = []
    for entity in entities:
        schema = schema_of(schemas, account, entity)
        if schema is not None:
            shown = shown_by(entity, schema)
            if shown.fragments:
                unclear = unclear_values(shown, schema)
                waiting += [(entity, each, schema.version) for each in unclear]
    ids = {each.fragment.observation for _, each, _ in waiting}
    seen = await canon.space_scope(account.space).items_by_id(ids) if ids else {}
    return [
        UnclearObservation(
            entity=entity, unclear=each, observation=observation, schema_version=version
        )
        for entity, each, version in waiting
        if isinstance(observation := seen.get(each.fragment.observation), Observation)
    ]


async def locate_value(
    canon: Canon, caller: Caller, traced: TracedField
) -> tuple[ValueLocation, ...]:
    """Return the locations of a field's value in the file of its first origin.

    The result is empty if the file is gone or can no longer be read.
    """
    source, seen = traced.origins[0].source, traced.observations[0]
    reading = None if source is None else await reading_of(canon, caller, source)
    if reading is None:
        return ()
    fields = {name.removeprefix(PROPERTY_PREFIX): v for name, v in seen.fields.items()}
    return find_locations(reading, fields, traced.value)


async def reading_of(canon: Canon, caller: Caller, source: Source) -> Reading | None:
    """Read the file of a source; None if it is gone or unreadable."""
    try:
        data, hint = await _bytes_of(canon, caller, source)
        return await canon.reader.examine_file(data, hint)
    except CanonryError:
        return None


async def picture_of(
    canon: Canon, caller: Caller, source: Source, page: int, boxes: Sequence[Box]
) -> bytes:
    """Render a page of the caller's PDF as a PNG picture with these boxes marked.

    Raises:
        NotFound: `file.unknown`, the source has no file or its bytes are gone.
        InvalidInput: those of `DocumentReader.picture`.
        Unavailable: those of `DocumentReader.picture`.
    """
    data, hint = await _bytes_of(canon, caller, source)
    return await canon.reader.render_page(data, hint, page, boxes)


async def _bytes_of(canon: Canon, caller: Caller, source: Source) -> tuple[bytes, FileHint]:
    if not source.files or source.content_hash is None:
        message = "This source has no file, because it was recorded as text or records."
        raise NotFound("file.unknown", message, kind="file")
    blobs = filing_of(canon).blobs_of(account_of(caller).user_id)
    data = await blobs.get_bytes(source.content_hash)
    return data, FileHint(mime_type=source.mime_type or "", name=source.file_name or "")


async def locate_field(
    canon: Canon, caller: Caller, entity_id: str, field: str
) -> tuple[ValueLocation, ...]:
    """Return the locations of a field's current value in its file; none if it has no source."""
    try:
        traced = await trace_field(canon, caller, entity_id, field)
    except NotFound:
        return ()
    return await locate_value(canon, caller, traced)


# Settle values: the user chooses one notation for all unclear values of a field in a source.
#
# This adds corrections. The observations of the source remain.


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The number of settled values, and of values that this notation cannot read."""

    settled: int
    left: int


async def settle_values(
    canon: Canon, caller: Caller, user_id: str | None, *, source_id: str, name: str, notation: str
) -> Settled:
    """Correct all unclear values of a field in a source by one notation.

    Raises:
        InvalidInput: `user.mismatch` or `review.notation`.
        NotFound: `source.unknown`.
    """
    account, inner = require_account(caller, user_id), within_account(caller)
    if notation not in NOTATIONS:
        message = f"`read_as` must be one of {', '.join(NOTATIONS)}."
        raise InvalidInput("review.notation", message, path="/read_as")
    given = await require_item(canon, inner, Source, source_id)

    async def prepare_change(_: NewId) -> Change[Settled]:
        # The survivors of the entities that a source describes.
        said = every_item(partial(canon.state.observations_from, given.id))
        ids = {e.entity_id async for e in said if e.space == account.space and e.fragments}
        roots = await canon.space_scope(account.space).root_entities(ids)
        about = list({each.id: each for each in roots.values()}.values())
        waiting = [
            each
            for each in await find_unclear(canon, account, about)
            if each.unclear.spec.name == name and each.observation.source_id == given.id
        ]
        fitting = [each for each in waiting if notation in each.unclear.readings]
        reads = frozenset(map(item_key, (given.id, *(each.id for each in about))))
        done = Settled(settled=len(fitting), left=len(waiting) - len(fitting))
        entries = (
            tuple(_decision_entries(account, given, fitting, name, notation)) if fitting else ()
        )
        return Change(entries=entries, reads=reads, found=done)

    receipt = await commit_change(canon, inner, account.space, prepare_change)
    found = await by_product_of(receipt, prepare_change)
    settled = len(receipt.drafts_made(ObservationDraft))
    return found if receipt.found is not None else replace(found, settled=settled)


def _decision_entries(
    account: Account, given: Source, fitting: Sequence[UnclearObservation], name: str, notation: str
) -> Iterator[Entry]:
    """Yield the source of the decision and a correction for each value."""
    values = {each.observation.id: each.unclear.readings[notation] for each in fitting}
    decision = {"source_id": given.id, "field": name, "read_as": notation, "values": values}
    content = canonical_json({"settled": decision})
    source = source_of_content(account, SourceType.CORRECTION, content)
    yield Made(thing=source)
    cited = Evidence(kind=EvidenceKind.SOURCE, ref=given.id)
    for each in fitting:
        spec, value = each.unclear.spec, values[each.observation.id]
        about = with_changes(each.entity, id=each.observation.entity_id)
        ours = (about, each.schema_version, spec.name, value, source)
        observation = make_user_observation(*ours, follows=each.observation.id)
        converted = typed_records.convert_value(value, spec)
        dates = dated_by(spec, converted) if isinstance(converted, typed_records.Converted) else {}
        yield Made(thing=replace(observation, evidence=(*observation.evidence, cited), dates=dates))
