"""Correct a field: a user's own word, which goes before every source and every policy.

The word has a source of its own, so that a corrected field leads to it like any other. Saying the
same again is the same correction; a return to an earlier word is a new one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from canonry.domain.errors import InvalidInput
from canonry.domain.ids import EntityId, NewId, ObservationId
from canonry.domain.json_values import canonical_json
from canonry.domain.log.entries import Made
from canonry.domain.log.keys import schemas_key, thing_key
from canonry.domain.observations import (
    PRIORITY_CORRECTION,
    SPECIFICITY_STATED,
    Dated,
    ObservationDraft,
)
from canonry.domain.provenance import Authority, CanonLevel, Evidence, EvidenceKind
from canonry.domain.snapshots import Held
from canonry.domain.things.entities import Entity, alone
from canonry.domain.things.sources import SourceDraft, SourceType
from canonry.domain.truth.accounts import correction_id_of, source_id_of
from canonry.domain.truth.converting import Unconvertible, convert
from canonry.domain.vocabularies.narrative_fields import PROPERTY_PREFIX
from canonry.domain.vocabularies.schemas import EntitySchema, FieldSpec
from canonry.domain.vocabularies.truth_types import type_named, types_alike
from canonry.domain.winners import LAST
from canonry.usecases.kernel.account import Account, require_account, within_account
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, commit_change
from canonry.usecases.kernel.lookup import require
from canonry.usecases.truth.schemas_in_force import schemas_in_force


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What is wrong, and what is right."""

    entity_id: str
    entity_type: str
    field: str
    value: Any


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
    """What the field is by the schema in force."""

    spec: FieldSpec
    value: Any
    dates: Mapping[str, Dated]


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
        del new_id  # the id follows from what is said
        root = await require(canon, inner, Entity, correction.entity_id)
        entity = await _addressed(canon, root, correction.entity_id)
        schema = await _schema(canon, account, entity, correction)
        right = _right(schema, correction)
        before, own = _standing(root, right.spec.name), _standing(alone(entity), right.spec.name)
        reads = frozenset(
            (
                thing_key(correction.entity_id),
                thing_key(root.id),
                schemas_key(account.space, entity.entity_type),
            )
        )
        if before is not None and own is not None and before.value == own.value == right.value:
            stands = _corrected(own.observation, root, right, existing=True)
            return Change(entries=(), reads=reads, found=stands)
        follows = "" if before is None else before.observation
        observation_id = correction_id_of(entity.id, right.spec.name, right.value, follows)
        source = _source(account, entity, right, follows)
        seen = _observation(entity, schema, right, observation_id, source)
        entries = (Made(thing=source), Made(thing=seen))
        stands = _corrected(observation_id, root, right, existing=False)
        return Change(entries=entries, reads=reads, found=stands)

    unkeyed = replace(inner, idempotency_key=None)
    return (await commit_change(canon, unkeyed, account.space, prepare)).prepared()


async def _addressed(canon: Canon, root: Entity, entity_id: str) -> Entity:
    """The entity that was named, even if it was merged: the correction stays with it."""
    found = await canon.within(root.space).thing(entity_id)
    return found if isinstance(found, Entity) else root


def _corrected(
    observation_id: ObservationId, entity: Entity, right: _Right, *, existing: bool
) -> Corrected:
    return Corrected(
        observation_id=observation_id,
        entity_id=entity.id,
        field=right.spec.name,
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
        message = "the type has no such field; list_entity_types names those that it has"
        raise InvalidInput("correction.field", message, path="/field")
    if correction.value is None:
        return _Right(spec=spec, value=None, dates={})
    converted = convert(correction.value, spec)
    if isinstance(converted, Unconvertible):
        message = f"the field holds a {spec.type}, and this is not one: {converted.reason}"
        raise InvalidInput("correction.value", message, path="/value")
    dates = {}
    if spec.event_type is not None and converted.instant is not None:
        dated = Dated(event_type=spec.event_type, instant=converted.instant, policy=spec.policy)
        dates = {spec.name: dated}
    return _Right(spec=spec, value=converted.value, dates=dates)


def _standing(entity: Entity, field: str) -> Held | None:
    """The correction that stands for the field."""
    elements = entity.snapshot.get(PROPERTY_PREFIX + field)
    held = None if elements is None else elements[LAST]
    return held if held is not None and held.corrected else None


def _source(account: Account, entity: Entity, right: _Right, follows: str) -> SourceDraft:
    payload = {
        "correction": {"entity_id": entity.id, "field": right.spec.name, "value": right.value},
        "follows": follows,
    }
    content = canonical_json(payload)
    digest = sha256(content).hexdigest()
    return SourceDraft(
        id=source_id_of(account.user_id, digest),
        space=account.space,
        doc_id=digest,
        title="",
        edition=None,
        origin=None,
        source_type=SourceType.CORRECTION,
        level=CanonLevel.CANON,
        content_hash=digest,
        mime_type="application/json",
        size=len(content),
        content=content.decode(),
    )


def _observation(
    entity: Entity,
    schema: EntitySchema,
    right: _Right,
    observation_id: ObservationId,
    source: SourceDraft,
) -> ObservationDraft:
    return ObservationDraft(
        id=observation_id,
        space=entity.space,
        entity_id=entity.id,
        fields={PROPERTY_PREFIX + right.spec.name: right.value},
        authority=Authority.SOURCE,
        confidence=1.0,
        evidence=(Evidence(kind=EvidenceKind.SOURCE, ref=source.id),),
        observed_at=None,
        correction=True,
        priority=PRIORITY_CORRECTION,
        specificity=SPECIFICITY_STATED,
        schema_version=schema.version,
        dates=right.dates,
    )
