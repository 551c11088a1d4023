"""Resolving: whom a record is about, and who may be the same all the same.

Whoever ever bore a key may be meant. Where a key leads to several, the next weaker one is asked;
where none tells, somebody new comes into being and the others are told. Merges only decide whether
those found are several: a record stays with the one that bears its key.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from canonry.domain.ids import EntityId
from canonry.domain.snapshots import Accumulator
from canonry.domain.things.entities import Entity, alone
from canonry.domain.truth.assertions import (
    LOOK_ALIKE,
    SEVERAL_FIT,
    TOLD_TWO_APART,
    Assertion,
    told_apart,
)
from canonry.domain.truth.identifiers import keys_of, looks_in, looks_of
from canonry.domain.truth.identity_keys import Identity, bounded, identities_of
from canonry.domain.vocabularies.truth_types import types_alike


@dataclass(slots=True, kw_only=True)
class Target:
    """One that records may be about, whoever answers for it: known, or made by this telling.

    `keys` are all that it ever bore by their rules, `said` is what this telling says of it.
    """

    id: EntityId
    root_id: EntityId
    entity_type: str
    entity: Entity | None
    own: Accumulator
    said: dict[str, Any] = field(default_factory=dict)
    keys: dict[str, set[str]] = field(default_factory=dict)
    looks: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """Whom an assertion is about, by which of its identities; without a target somebody new.

    `doubts` are those who may be meant as well, and why.
    """

    target: Target | None
    entity_id: EntityId
    index: int = 0
    doubts: Mapping[EntityId, str] = field(default_factory=dict)

    @property
    def unclear(self) -> bool:
        """Whether several fit as well as whoever was chosen."""
        return SEVERAL_FIT in self.doubts.values()


@dataclass(slots=True)
class Known:
    """Everybody whom records may be about, found by ids, by keys and by looks."""

    targets: dict[str, Target] = field(default_factory=dict)
    families: dict[EntityId, list[Target]] = field(default_factory=dict)
    by_key: dict[tuple[frozenset[str], str], dict[EntityId, Target]] = field(default_factory=dict)
    by_look: dict[tuple[frozenset[str], str], dict[EntityId, Target]] = field(default_factory=dict)

    def add(self, target: Target) -> None:
        """Take somebody in."""
        self.targets[target.id] = target
        self.families.setdefault(target.root_id, []).append(target)
        kinds = types_alike(target.entity_type)
        for key in (key for keys in target.keys.values() for key in keys):
            self.by_key.setdefault((kinds, key), {})[target.id] = target
        for look in target.looks:
            self.by_look.setdefault((kinds, look), {})[target.id] = target

    def learn(self, target: Target, assertion: Assertion) -> None:
        """Let the keys and the looks of what is said lead to the target."""
        target.said |= assertion.fields
        kinds = types_alike(target.entity_type)
        for identity in assertion.identities:
            key = bounded(identity.key)
            target.keys.setdefault(identity.rule, set()).add(key)
            self.by_key.setdefault((kinds, key), {})[target.id] = target
        for look in looks_in(target.entity_type, assertion.fields):
            target.looks.add(look)
            self.by_look.setdefault((kinds, look), {})[target.id] = target

    def bearers(self, entity_type: str, identity: Identity) -> Iterator[Target]:
        """Who ever bore a key, of all types that are alike."""
        found = self.by_key.get((types_alike(entity_type), bounded(identity.key)), {})
        yield from found.values()


def known_among(entities: Iterable[Entity]) -> Known:
    """What the store has, as something to resolve by."""
    known = Known()
    for given in entities:
        known.add(
            Target(
                id=given.id,
                root_id=given.merged_into or given.id,
                entity_type=given.entity_type,
                entity=given,
                own=given.own,
                keys=keys_of(given),
                looks=looks_of(given),
            )
        )
    return known


def _is_another(assertion: Assertion, index: int, target: Target) -> bool:
    """Whether a target with the same key is another one all the same."""

    def today() -> Iterable[Identity]:
        before = {} if target.entity is None else alone(target.entity).properties
        return identities_of(assertion.schema, {**before, **target.said})

    return told_apart(assertion, index, target.keys, today)


def resolve(known: Known, assertion: Assertion) -> Resolved:
    """Whom the assertion is about."""
    doubts: dict[EntityId, str] = {}
    for index, identity in enumerate(assertion.identities):
        fitting: list[Target] = []
        for each in _possible(known, assertion, index, identity):
            if _is_another(assertion, index, each):
                doubts.setdefault(each.root_id, TOLD_TWO_APART)
            else:
                fitting.append(each)
        roots = {each.root_id for each in fitting}
        if len(roots) == 1:
            target = _addressed(known, assertion.schema.entity_type, fitting)
            told = {i: why for i, why in doubts.items() if index and i != target.root_id}
            return Resolved(target=target, entity_id=target.id, index=index, doubts=told)
        doubts |= dict.fromkeys(roots, SEVERAL_FIT)
    return _unresolved(known, assertion, doubts)


def _possible(
    known: Known, assertion: Assertion, index: int, identity: Identity
) -> Sequence[Target]:
    """Who bears the key: of the record's type, or one with somebody of that type."""
    wanted = assertion.schema.entity_type
    found = {each.id: each for each in known.bearers(wanted, identity)}
    held = known.targets.get(assertion.ids[index])
    if held is not None:  # whoever was born by the key, even if all that was said has been erased
        found[held.id] = held
    return [
        each
        for each in found.values()
        if each.entity_type == wanted
        or any(other.entity_type == wanted for other in known.families[each.root_id])
    ]


def _addressed(known: Known, entity_type: str, fitting: Sequence[Target]) -> Target:
    """Which of a family a record belongs to: who bears its key, else the one that answers."""
    if len(fitting) == 1 and fitting[0].entity_type == entity_type:
        return fitting[0]
    root_id = fitting[0].root_id
    family = [each for each in known.families[root_id] if each.entity_type == entity_type]
    return min(family, key=lambda each: (each.id != root_id, each.id))


def _unresolved(known: Known, assertion: Assertion, doubts: dict[EntityId, str]) -> Resolved:
    """Somebody new, or whoever was made before of a record that left the same open."""
    taken = known.targets.get(assertion.ids[0])
    if taken is None:
        return Resolved(target=None, entity_id=assertion.ids[0], doubts=doubts)
    if _is_another(assertion, 0, taken):
        entity_id = assertion.apart_id or assertion.unclear_id
    elif _is_known_better(assertion, taken):
        entity_id = assertion.unclear_id
    else:
        entity_id = taken.id
    target = known.targets.get(entity_id)
    if target is None:
        return Resolved(target=None, entity_id=entity_id, doubts=doubts)
    told = {i: why for i, why in doubts.items() if i != target.root_id}
    return Resolved(target=target, entity_id=target.id, doubts=told)


def _is_known_better(assertion: Assertion, target: Target) -> bool:
    """Whether the target bears a key by a stronger rule than the record's strongest."""
    rules = ["+".join(n.partition("|")[0] for n in r.fields) for r in assertion.schema.identity]

    def strength(rule: str) -> int:
        fits = (i for i, each in enumerate(rules) if f"{rule}+".startswith(f"{each}+"))
        return next(fits, len(rules))

    ours = strength(assertion.identities[0].rule)
    return any(keys and strength(rule) < ours for rule, keys in target.keys.items())


def tied(known: Known, assertion: Assertion, root_id: EntityId) -> Mapping[EntityId, str]:
    """Who else bears what the record brings that nobody of its entity's own has borne yet."""
    family = known.families.get(root_id, [])
    kinds = types_alike(assertion.schema.entity_type)
    found: dict[EntityId, str] = {}
    for identity in assertion.identities:
        key = bounded(identity.key)
        if any(key in each.keys.get(identity.rule, ()) for each in family):
            continue
        for other in known.bearers(assertion.schema.entity_type, identity):
            if other.root_id != root_id:
                found.setdefault(other.root_id, reason_of(identity.rule))
    for look in looks_in(assertion.schema.entity_type, assertion.fields):
        if not any(look in each.looks for each in family):
            for other in known.by_look.get((kinds, look), {}).values():
                if other.root_id != root_id:
                    found.setdefault(other.root_id, LOOK_ALIKE)
    return found


def reason_of(rule: str) -> str:
    """Why two that bear one key by a rule may be one."""
    return f"same_{rule.replace('+', '_')}"
