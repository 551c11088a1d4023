"""Snapshots as they are shown."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative import FRAGMENT_PREFIX, PROPERTY_PREFIX, policy_of
from canonry.log.schemas.schemas import EntitySchema, FieldSpec
from canonry.log.schemas.typed_records import Converted, convert, out_of_order
from canonry.values.fields import spread
from canonry.values.ids import ObservationId
from canonry.values.merge import LAST_WRITE, accumulate
from canonry.values.merge import join as join_of_merge
from canonry.values.moments import Instant
from canonry.values.observations import (
    LAST,
    PRIORITY,
    SPECIFIC,
    Accumulator,
    Elements,
    Observation,
    ObservationDraft,
    join,
    split,
)

# Shown: the fields of an entity as readers see them, each with its observations.
#
# A schema only selects the fields of an account's entities. The stored values do not depend on it,
# and a raw value becomes visible when a later version has its field. Entities of other spaces have
# no schema and show all fields.

NOT_IN_SCHEMA: Final = "not_in_schema"
_OF_ITSELF: Final = re.compile("[a-z_]+_number|(?:transaction_|external_|session_|contact_)?id")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFragment:
    """A value without a field, with the reason and its observation."""

    value: Any
    reason: str
    observation: ObservationId


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The visible fields; `sources` has each field's observations, newest first."""

    fields: Mapping[str, Any]
    sources: Mapping[str, tuple[ObservationId, ...]]
    fragments: Mapping[str, RawFragment]


def shown_by(entity: Entity, schema: EntitySchema | None) -> Shown:
    """Return the snapshot as `schema` shows it; all fields if there is no schema."""
    return _plain(entity) if schema is None else _ruled(entity, schema)


def _ruled(entity: Entity, schema: EntitySchema) -> Shown:
    specs = {alias: spec for spec in schema.fields for alias in spec.aliases}
    specs |= {spec.name: spec for spec in schema.fields}
    shown: dict[str, Elements] = {}
    fragments: dict[str, RawFragment] = {}
    loose: dict[str, Elements] = {}
    for said, elements in _with_own_keys(entity, schema).items():
        if said.startswith(PROPERTY_PREFIX):
            name = said.removeprefix(PROPERTY_PREFIX)
            spec = specs.get(name)
            if spec is not None and spec.name == name:
                shown[name] = elements
            else:
                # This version of the schema does not have the field.
                fragments[name] = RawFragment(
                    value=LAST_WRITE.show(elements),
                    reason=NOT_IN_SCHEMA,
                    observation=LAST_WRITE.credit(elements)[""][0],
                )
        elif said.startswith(FRAGMENT_PREFIX):
            loose[said.removeprefix(FRAGMENT_PREFIX)] = elements
    for name, elements in loose.items():
        spec = specs.get(name)
        fitting = {} if spec is None else _fitting(elements, spec)
        held = elements[LAST]
        if held.value["value"] is None:  # a correction removed it
            continue
        if spec is None or not fitting:
            fragments[name] = RawFragment(
                value=held.value["value"], reason=held.value["reason"], observation=held.observation
            )
        else:
            before = shown.get(spec.name)
            shown[spec.name] = join(before, fitting) if before else fitting
    policies = {name: schema.policy(name) for name in sorted(shown)}
    fields = {name: policy.show(shown[name]) for name, policy in policies.items()}
    sources = {name: policy.credit(shown[name])[""] for name, policy in policies.items()}
    for name, reason in [*out_of_order(schema.order, fields)]:
        fragments[name] = RawFragment(
            value=fields.pop(name), reason=reason, observation=sources.pop(name)[0]
        )
    return Shown(fields=fields, sources=sources, fragments=dict(sorted(fragments.items())))


def _with_own_keys(entity: Entity, schema: EntitySchema) -> Accumulator:
    """Return all fields; the number or id of the entity itself is not that of a member."""
    names = {name for rule in schema.identity for name in rule.fields if _OF_ITSELF.fullmatch(name)}
    keys = {PROPERTY_PREFIX + name for name in names} & entity.own.keys()
    return {**entity.snapshot, **{key: entity.own[key] for key in keys}}


def _fitting(elements: Elements, spec: FieldSpec) -> Elements:
    """Convert winning fragments that fit the field into winners of the field."""
    found: Elements = {}
    for slot in (LAST, PRIORITY, SPECIFIC):
        held = elements.get(slot)
        converted = None if held is None else convert(held.value["value"], spec)
        if held is not None and isinstance(converted, Converted):
            parts = split(converted.value)
            one = {element: replace(held, value=part) for element, part in parts.items()}
            found = join(found, one) if found else one
    return found


def _plain(entity: Entity) -> Shown:
    fields: dict[str, Any] = {}
    sources: dict[str, tuple[ObservationId, ...]] = {}
    whole: Accumulator = entity.snapshot
    for said, elements in whole.items():
        name = said.removeprefix(PROPERTY_PREFIX)
        if said.startswith(FRAGMENT_PREFIX) or (said != name and name in whole):
            continue
        policy = policy_of(said)
        value = policy.show(elements)
        fields[name] = list(value) if isinstance(value, tuple) else value
        credited = (one for part in policy.credit(elements).values() for one in part)
        sources[name] = tuple(dict.fromkeys(credited))
    return Shown(
        fields=dict(sorted(fields.items())),
        sources={name: ids for name, ids in sorted(sources.items()) if ids},
        fragments={},
    )


_LAST_OF_ALL: Final = 2**62


def foreseen(own: Accumulator, drafts: Iterable[ObservationDraft]) -> Accumulator:
    """Return the accumulator after the drafts are observed."""
    at = Instant(_LAST_OF_ALL)
    for each in drafts:
        plain = spread(each) | {"fragments": {}, "dates": {}}
        seen = Observation(**plain, recorded_at=at, position=_LAST_OF_ALL, changed_at=_LAST_OF_ALL)
        own = join_of_merge(own, accumulate(seen, policy_of), policy_of)
    return own
