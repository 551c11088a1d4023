"""Slices: the part of the canon that verdicts look at, loaded on demand and extended by folding.

A gate asks a `SliceView`, which remembers two things: the keys that were asked for, because the
verdict rests on them, and the lookups that the slice could not answer, which the use case then
loads before it judges again. So a gate cannot read anything that its verdict does not declare.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from canonry.domain.fields import PROPOSAL_PREFIX, Reference
from canonry.domain.ids import EntityId, SceneId, SpaceId
from canonry.domain.log.canon import Changes
from canonry.domain.log.entries import Thing
from canonry.domain.log.keys import (
    axioms_key,
    causes_key,
    facts_key,
    frame_key,
    keys_of,
    name_key,
    relations_key,
    statement_key,
    thing_key,
)
from canonry.domain.policy import Policy
from canonry.domain.provenance import CanonLevel
from canonry.domain.revising import revised
from canonry.domain.texts.statements import plain_statement
from canonry.domain.things.entities import Entity, family_of, normalised_name
from canonry.domain.things.facts import Axiom, Event, Fact
from canonry.domain.things.proposals import Proposal, ProposalStatus
from canonry.domain.things.relations import Relation
from canonry.domain.things.scenes import Scene

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ThingLookup:
    """The thing with an id."""

    id: str


@dataclass(frozen=True, slots=True)
class RelationsLookup:
    """The relations of a type that leave an entity (`out`), reach it (`in`), or either (`any`)."""

    entity_id: str
    rel_type: str
    direction: str


@dataclass(frozen=True, slots=True)
class StatementLookup:
    """The facts that say this, in normalised words."""

    statement: str


@dataclass(frozen=True, slots=True)
class ConflictLookup:
    """The facts that have a frame key, and so may conflict with what has it too."""

    key: str


@dataclass(frozen=True, slots=True)
class NameLookup:
    """The canon entities of a type with a normalised name."""

    entity_type: str
    name: str


@dataclass(frozen=True, slots=True)
class AxiomsLookup:
    """The axioms of a space."""

    space: SpaceId


@dataclass(frozen=True, slots=True)
class EventsLookup:
    """The events of a scene."""

    scene_id: SceneId


Lookup: TypeAlias = (
    ThingLookup
    | RelationsLookup
    | StatementLookup
    | ConflictLookup
    | NameLookup
    | AxiomsLookup
    | EventsLookup
)
"""What a gate may ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The things known, the same by key, and the lookups that they answer completely.

    `born` are things that commits made after the slice was loaded: the store cannot know of them
    yet. `touched` are the keys that those commits touched.
    """

    space: SpaceId
    things: Mapping[str, Thing] = field(default_factory=dict)
    by_key: Mapping[str, frozenset[str]] = field(default_factory=dict)
    loaded: frozenset[Lookup] = frozenset()
    born: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()

    def extended(self, lookups: Iterable[Lookup], found: Iterable[Thing]) -> "Slice":
        """This slice with what was loaded for `lookups`; a thing that it has is newer and stays."""
        fresh = {thing.id: thing for thing in found if thing.id not in self.things}
        ids = {ThingLookup(thing_id) for thing_id in fresh}
        return self._with(fresh, loaded=self.loaded | frozenset(lookups) | ids)

    def after(self, changes: Changes) -> "Slice":
        """This slice with the changes of a commit."""
        born = changes.things.keys() - self.things.keys()
        ids = {ThingLookup(thing_id) for thing_id in born}
        return self._with(
            changes.things,
            loaded=self.loaded | ids,
            born=self.born | born,
            touched=self.touched | changes.touched,
        )

    def answers(self, lookup: Lookup) -> bool:
        """Whether the things known are all that `lookup` asks for."""
        if lookup in self.loaded:
            return True
        return isinstance(lookup, RelationsLookup) and lookup.entity_id in self.born

    def _with(self, changed: Mapping[str, Thing], **more: Any) -> "Slice":
        by_key = dict(self.by_key)
        for thing in changed.values():
            before = self.things.get(thing.id)
            for key in keys_of(before) if before is not None else ():
                by_key[key] = by_key[key] - {thing.id}
            for key in keys_of(thing):
                by_key[key] = by_key.get(key, frozenset()) | {thing.id}
        return revised(self, things={**self.things, **changed}, by_key=by_key, **more)


class SliceView:
    """A slice as one verdict looks at it; `read` and `wanted` grow with every question."""

    __slots__ = ("_referred", "_slice", "policy", "read", "wanted")

    def __init__(self, known: Slice, policy: Policy) -> None:
        """Look at `known` with nothing read yet."""
        self._slice = known
        self._referred: dict[Reference, Thing | None] = {}
        self.policy = policy
        self.read: set[str] = set()
        self.wanted: set[Lookup] = set()

    def thing(self, thing_id: str) -> Thing | None:
        """The thing with this id."""
        self.read.add(thing_key(thing_id))
        self._need(ThingLookup(thing_id))
        return self._slice.things.get(thing_id)

    def resolve(self, reference: Reference) -> str | None:
        """The id that a reference stands for; None while its proposal is not accepted."""
        if reference.startswith(PROPOSAL_PREFIX):
            proposal = self.proposal(reference)
            accepted = proposal is not None and proposal.status is ProposalStatus.ACCEPTED
            if proposal is None or not accepted or proposal.decision is None:
                return None
            return proposal.decision.canonical_id
        return None if reference.startswith("$") else reference

    def referred(self, reference: Reference) -> Thing | None:
        """The thing that a reference names; for a merged entity the one that it became."""
        if reference not in self._referred:
            thing_id = self.resolve(reference)
            thing = None if thing_id is None else self.thing(thing_id)
            if isinstance(thing, Entity) and thing.merged_into is not None:
                thing = self.thing(thing.merged_into)
            self._referred[reference] = thing
        return self._referred[reference]

    def entity(self, reference: Reference) -> Entity | None:
        """The entity behind a reference."""
        found = self.referred(reference)
        return found if isinstance(found, Entity) else None

    def proposal(self, reference: Reference) -> Proposal | None:
        """The proposal that `proposal:<id>` names."""
        found = self.thing(reference.removeprefix(PROPOSAL_PREFIX))
        return found if isinstance(found, Proposal) else None

    def scene(self, scene_id: SceneId | None) -> Scene | None:
        """The scene with this id."""
        found = None if scene_id is None else self.thing(scene_id)
        return found if isinstance(found, Scene) else None

    def roots(self, ids: Iterable[EntityId]) -> frozenset[str]:
        """The ids of the entities that stand for these now."""
        found = [self.entity(Reference(one)) for one in ids]
        return frozenset(entity.id for entity in found if entity is not None)

    def relations(
        self, entity: Entity, rel_type: str, direction: str = "any"
    ) -> Sequence[Relation]:
        """The canon relations of a type at an entity, oldest first; also those that ended.

        Those of the entities that were merged into it count as its own.
        """
        family = family_of(entity)
        found: dict[str, Relation] = {}
        for one in sorted(family):
            self.read.add(relations_key(one))
            self._need(RelationsLookup(one, rel_type, direction))
            for relation in self._under(relations_key(one), Relation):
                found[relation.id] = relation
        return [
            relation
            for relation in sorted(found.values(), key=lambda r: (r.position, r.id))
            if relation.rel_type == rel_type
            and relation.level is CanonLevel.CANON
            and (direction != "out" or relation.from_id in family)
            and (direction != "in" or relation.to_id in family)
        ]

    def stating(self, statement: str) -> Sequence[Fact]:
        """The canon facts with this statement in normal form, oldest first."""
        words = plain_statement(statement)
        self.read.add(statement_key(words))
        self._need(StatementLookup(words))
        facts = self._under(statement_key(words), Fact)
        return [fact for fact in facts if fact.level is CanonLevel.CANON]

    def framed(self, keys: Iterable[str]) -> Sequence[Fact]:
        """The canon facts that have any of these frame keys, oldest first."""
        found: dict[str, Fact] = {}
        for key in keys:
            self.read.add(frame_key(key))
            self._need(ConflictLookup(key))
            for fact in self._under(frame_key(key), Fact):
                found[fact.id] = fact
        facts = sorted(found.values(), key=lambda fact: (fact.position, fact.id))
        return [fact for fact in facts if fact.level is CanonLevel.CANON]

    def named(self, entity_type: str, name: str) -> Sequence[Entity]:
        """The canon entities with this type and name that stand for themselves, oldest first.

        Those that only bore the name before, or beside another, come after all others.
        """
        words = normalised_name(name)
        self.read.add(name_key(entity_type, words))
        self._need(NameLookup(entity_type, words))
        found = [
            entity
            for entity in self._under(name_key(entity_type, words), Entity)
            if entity.level is CanonLevel.CANON and entity.merged_into is None
        ]
        return sorted(found, key=lambda entity: normalised_name(entity.name) != words)

    def events_in(self, scene_id: SceneId, involved: Collection[str]) -> Sequence[Event]:
        """The canon events of a scene that involve exactly these entities, oldest first."""
        keys = [facts_key(one) for one in sorted(involved)[:1]]
        key = keys[0] if keys else causes_key(self._slice.space)
        self.read.add(key)
        self._need(EventsLookup(scene_id))
        return [
            event
            for event in self._under(key, Event)
            if event.scene_id == scene_id
            and event.level is CanonLevel.CANON
            and set(event.involved) == set(involved)
        ]

    def axioms(self) -> Sequence[Axiom]:
        """The canon axioms of the space, oldest first."""
        key = axioms_key(self._slice.space)
        self.read.add(key)
        self._need(AxiomsLookup(self._slice.space))
        return [axiom for axiom in self._under(key, Axiom) if axiom.level is CanonLevel.CANON]

    def _need(self, lookup: Lookup) -> None:
        if not self._slice.answers(lookup):
            self.wanted.add(lookup)

    def _under(self, key: str, kind: type[T]) -> list[T]:
        known = self._slice.things
        found = [known[one] for one in self._slice.by_key.get(key, ())]
        found.sort(key=lambda thing: (thing.position, thing.id))
        mine = [thing for thing in found if thing.space == self._slice.space]
        return [thing for thing in mine if isinstance(thing, kind)]
