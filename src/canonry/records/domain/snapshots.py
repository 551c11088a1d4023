"""Snapshots as they are shown."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative import FRAGMENT_PREFIX, PROPERTY_PREFIX, policy_of
from canonry.log.schemas.schemas import EntitySchema, FieldSpec
from canonry.log.schemas.typed_records import Converted, convert_value, find_out_of_order
from canonry.values.fields import field_values
from canonry.values.ids import ObservationId
from canonry.values.merge_policies import LAST_WRITE, accumulator_of
from canonry.values.merge_policies import join_accumulators as join_of_merge
from canonry.values.moments import Instant
from canonry.values.observations import (
    LAST,
    PRIORITY,
    SPECIFIC,
    Accumulator,
    Elements,
    Observation,
    ObservationDraft,
    join_elements,
    split_value,
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
class ShownFields:
    """The visible fields; `sources` has each field's observations, newest first."""

    fields: Mapping[str, Any]
    sources: Mapping[str, tuple[ObservationId, ...]]
    fragments: Mapping[str, RawFragment]


def shown_by(entity: Entity, schema: EntitySchema | None) -> ShownFields:
    """Return the snapshot as `schema` shows it; all fields if there is no schema."""
    return _show_all(entity) if schema is None else _show_by_schema(entity, schema)


def _show_by_schema(entity: Entity, schema: EntitySchema) -> ShownFields:
    specs = {alias: spec for spec in schema.fields for alias in spec.aliases}
    specs |= {spec.name: spec for spec in schema.fields}
    shown: dict[str, Elements] = {}
    fragments: dict[str, RawFragment] = {}
    loose: dict[str, Elements] = {}
    for stored_name, elements in _with_own_keys(entity, schema).items():
        if stored_name.startswith(PROPERTY_PREFIX):
            name = stored_name.removeprefix(PROPERTY_PREFIX)
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
        elif stored_name.startswith(FRAGMENT_PREFIX):
            loose[stored_name.removeprefix(FRAGMENT_PREFIX)] = elements
    for name, elements in loose.items():
        spec = specs.get(name)
        fitting = {} if spec is None else _convert_fragments(elements, spec)
        held = elements[LAST]
        if held.value["value"] is None:  # a correction removed it
            continue
        if spec is None or not fitting:
            fragments[name] = RawFragment(
                value=held.value["value"], reason=held.value["reason"], observation=held.observation
            )
        else:
            before = shown.get(spec.name)
            shown[spec.name] = join_elements(before, fitting) if before else fitting
    policies = {name: schema.policy_of(name) for name in sorted(shown)}
    fields = {name: policy.show(shown[name]) for name, policy in policies.items()}
    sources = {name: policy.credit(shown[name])[""] for name, policy in policies.items()}
    for name, reason in [*find_out_of_order(schema.order, fields)]:
        fragments[name] = RawFragment(
            value=fields.pop(name), reason=reason, observation=sources.pop(name)[0]
        )
    return ShownFields(fields=fields, sources=sources, fragments=dict(sorted(fragments.items())))


def _with_own_keys(entity: Entity, schema: EntitySchema) -> Accumulator:
    """Return all fields; the number or id of the entity itself is not that of a member."""
    names = {name for rule in schema.identity for name in rule.fields if _OF_ITSELF.fullmatch(name)}
    keys = {PROPERTY_PREFIX + name for name in names} & entity.own.keys()
    return {**entity.snapshot, **{key: entity.own[key] for key in keys}}


def _convert_fragments(elements: Elements, spec: FieldSpec) -> Elements:
    """Convert winning fragments that fit the field into winners of the field."""
    found: Elements = {}
    for slot in (LAST, PRIORITY, SPECIFIC):
        held = elements.get(slot)
        converted = None if held is None else convert_value(held.value["value"], spec)
        if held is not None and isinstance(converted, Converted):
            parts = split_value(converted.value)
            one = {element: replace(held, value=part) for element, part in parts.items()}
            found = join_elements(found, one) if found else one
    return found


def _show_all(entity: Entity) -> ShownFields:
    fields: dict[str, Any] = {}
    sources: dict[str, tuple[ObservationId, ...]] = {}
    whole: Accumulator = entity.snapshot
    for stored_name, elements in whole.items():
        name = stored_name.removeprefix(PROPERTY_PREFIX)
        if stored_name.startswith(FRAGMENT_PREFIX) or (stored_name != name and name in whole):
            continue
        policy = policy_of(stored_name)
        value = policy.show(elements)
        fields[name] = list(value) if isinstance(value, tuple) else value
        credited = (one for part in policy.credit(elements).values() for one in part)
        sources[name] = tuple(dict.fromkeys(credited))
    return ShownFields(
        fields=dict(sorted(fields.items())),
        sources={name: ids for name, ids in sorted(sources.items()) if ids},
        fragments={},
    )


_LAST_OF_ALL: Final = 2**62


def predict_fields(own: Accumulator, drafts: Iterable[ObservationDraft]) -> Accumulator:
    """Return the accumulator after the drafts are observed."""
    at = Instant(_LAST_OF_ALL)
    for each in drafts:
        plain = field_values(each) | {"fragments": {}, "dates": {}}
        seen = Observation(**plain, recorded_at=at, position=_LAST_OF_ALL, changed_at=_LAST_OF_ALL)
        own = join_of_merge(own, accumulator_of(seen, policy_of), policy_of)
    return own
