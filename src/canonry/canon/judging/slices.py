"""Slices of the canon for judging, with the lookups that they answer, and proposals' scores."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, TypeAlias, TypeVar

from canonry.language.texts.sentences import plain_statement
from canonry.log.canon import Changes, fold
from canonry.log.commits import Commit, Position
from canonry.log.entries import Entry, Thing
from canonry.log.folding import (
    axioms_key,
    bearer_key,
    causes_key,
    facts_key,
    keys_of,
    name_key,
    relations_key,
    statement_key,
    statements_keys,
    thing_key,
)
from canonry.log.items.entities import Entity, family_of, normalised_name
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal, ProposalStatus
from canonry.log.items.sources import Snippet, Source
from canonry.log.items.veils import as_seen, is_veiled
from canonry.log.schemas.identity_keys import CALLED, IDENTIFIERS, texts_in
from canonry.log.schemas.narrative import NAME, EntityType
from canonry.values.audience import ANYBODY, Viewer
from canonry.values.fields import PROPOSAL_PREFIX, Reference, revised
from canonry.values.ids import CommitId, EntityId, SceneId, SpaceId
from canonry.values.moments import AFTER_ALL, Instant
from canonry.values.policy import Policy, Scoring
from canonry.values.provenance import Actor, Authority, CanonLevel, EvidenceKind, remembered
from canonry.values.statements import Statement

# Slices: the part of the canon that verdicts read, loaded on demand and updated by folding.
#
# A gate asks a `SliceView`, which records the keys that the verdict depends on, and the lookups
# that the slice cannot answer. The use case loads those and judges again. A gate can therefore not
# read anything that its verdict does not declare.

K = TypeVar("K", Entity, Relation, Fact, Event, Axiom)

TIMELINE_MAX: Final = 200
"""The most facts under one key of a statement, the newest, that are compared with a claim."""

_NOTHING: Final[frozenset[str]] = frozenset()
_LOOKED_UP: Final = (Entity, Relation, Fact, Event, Axiom)
"""Kinds that are found by keys other than their ids."""


@dataclass(frozen=True, slots=True)
class ThingLookup:
    """A lookup of the item with an id."""

    id: str


@dataclass(frozen=True, slots=True)
class RelationsLookup:
    """A lookup of relations of a type that leave an entity (`out`), reach it (`in`), or `any`."""

    entity_id: str
    rel_type: str
    direction: str


@dataclass(frozen=True, slots=True)
class StatementLookup:
    """A lookup of facts by normalised statement."""

    statement: str


@dataclass(frozen=True, slots=True)
class ConflictLookup:
    """A lookup of facts by a key of their statements, under which conflicting ones meet."""

    key: str


@dataclass(frozen=True, slots=True)
class NameLookup:
    """A lookup of canon entities by the normal forms of names and identifiers."""

    texts: frozenset[str]


@dataclass(frozen=True, slots=True)
class AxiomsLookup:
    """A lookup of the axioms of a space."""

    space: SpaceId


@dataclass(frozen=True, slots=True)
class EventsLookup:
    """A lookup of canon events by title and entities; without entities, of the scene's events."""

    title: str
    involved: tuple[str, ...]
    scene_id: SceneId | None


Lookup: TypeAlias = (
    ThingLookup
    | RelationsLookup
    | StatementLookup
    | ConflictLookup
    | NameLookup
    | AxiomsLookup
    | EventsLookup
)
"""A lookup that a gate can request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The known items, also indexed by key, and the lookups that they answer completely.

    `recent` holds the keys that changed since the last load; it is short, so a commit copies
    little. `born` are items of later commits, which the store does not have yet. `touched` are the
    keys that those commits touched, `framed` the keys of statements with loaded facts, and `named`:
    names are indexed.
    """

    space: SpaceId
    things: Mapping[str, Thing] = field(default_factory=dict)
    by_key: Mapping[str, frozenset[str]] = field(default_factory=dict)
    recent: Mapping[str, frozenset[str]] = field(default_factory=dict)
    loaded: frozenset[Lookup] = frozenset()
    framed: frozenset[str] = frozenset()
    named: bool = False
    born: frozenset[str] = frozenset()
    secrets: bool = False
    touched: frozenset[str] = frozenset()

    def extended(self, lookups: Iterable[Lookup], found: Iterable[Thing]) -> "Slice":
        """Return the slice with loaded items; an item that it already has is newer and stays."""
        there = {thing.id: self.things.get(thing.id, thing) for thing in found}
        new = frozenset(lookups)
        asked = self.framed.union([one.key for one in new if isinstance(one, ConflictLookup)])
        named = self.named or any(isinstance(one, NameLookup) for one in new)
        under: defaultdict[str, set[str]] = defaultdict(set)
        for thing in there.values():
            for key in _asked_keys(thing, asked, named=named):
                under[key].add(thing.id)
        more = {key: self.under(key) | ids for key, ids in under.items()}
        return revised(
            self,
            things={**self.things, **there},
            by_key={**self.by_key, **self.recent, **more},
            recent={},
            loaded=self.loaded | new,
            framed=asked,
            named=named,
            secrets=self.secrets or any(map(is_veiled, there.values())),
        )

    def after(self, changes: Changes) -> "Slice":
        """Return the slice with the changes of a commit."""
        return revised(
            self,
            things={**self.things, **changes.things},
            recent=self._keyed(changes.things),
            born=self.born | (changes.things.keys() - self.things.keys()),
            secrets=self.secrets or any(map(is_veiled, changes.things.values())),
            touched=self.touched | changes.touched,
        )

    def folded(
        self,
        entries: Sequence[Entry],
        *,
        position: int = AFTER_ALL,
        at: int = 0,
        over: Mapping[str, Thing] | None = None,
    ) -> Changes:
        """Return what entries change if they are in the log; `over` are newer items."""
        commit = Commit(
            id=CommitId(""),
            space=self.space,
            actor=Actor(agent_id="", agent_type=""),
            tool="",
            entries=tuple(entries),
            position=Position(position),
            recorded_at=Instant(at),
            previous="",
            hash="",
        )
        return fold(commit, self.things if over is None else over)

    def answers(self, lookup: Lookup) -> bool:
        """Tell whether the slice answers `lookup` completely."""
        if isinstance(lookup, ThingLookup) and lookup.id in self.things:
            return True
        born = isinstance(lookup, RelationsLookup) and lookup.entity_id in self.born
        return born or lookup in self.loaded

    def missing(self, lookups: Iterable[Lookup]) -> frozenset[Lookup]:
        """Return the lookups that the slice cannot answer."""
        return frozenset([one for one in lookups if not self.answers(one)])

    def under(self, key: str) -> frozenset[str]:
        """Return the ids of known items with a key."""
        found = self.recent.get(key)
        return self.by_key.get(key, _NOTHING) if found is None else found

    def among(self, keys: Iterable[str]) -> list[str]:
        """Return the keys that a known item has or had."""
        return [key for key in keys if key in self.by_key or key in self.recent]

    def _keyed(self, changed: Mapping[str, Thing]) -> dict[str, frozenset[str]]:
        """Return the keys that changed since the last load."""
        found: dict[str, frozenset[str]] = {}
        for thing in changed.values():
            if not isinstance(thing, _LOOKED_UP):
                continue
            before, keys = self.things.get(thing.id), _keys_of(thing)
            past = _NOTHING if before is None else _keys_of(before)
            for key in keys ^ past:
                ids, own = found.get(key) or self.under(key), {thing.id}
                found[key] = ids | own if key in keys else ids - own
        return {**self.recent, **found}


def _asked_keys(thing: Thing, framed: frozenset[str], *, named: bool) -> Iterable[str]:
    """Return an item's keys; for facts only the requested ones.

    An entity that no name lookup requested is found by its id.
    """
    if isinstance(thing, Fact):
        return (statement_key(thing.statement), *framed.intersection(statements_keys(thing)))
    if isinstance(thing, Entity) and not named:
        return ()
    return _keys_of(thing) if isinstance(thing, _LOOKED_UP) else ()


def _keys_of(thing: Thing) -> frozenset[str]:
    """Return an item's keys; for an entity also those of the texts that find it."""
    keys = keys_of(thing)
    if not isinstance(thing, Entity):
        return keys
    return keys.union([bearer_key(thing.entity_type, text) for text in texts_of(thing)])


def texts_called(
    entity_type: str, names: Iterable[str], properties: Mapping[str, Any]
) -> frozenset[str]:
    """Return the normal forms of names and of their parts, and of identifiers in properties."""
    given = {name: properties[name] for name in IDENTIFIERS.union(CALLED) & properties.keys()}
    return texts_in(entity_type, {**given, NAME: list(names)}, None)


@remembered
def texts_of(entity: Entity) -> frozenset[str]:
    """Return the normal forms under which an entity is known."""
    return texts_called(entity.entity_type, entity.names, entity.properties)


class SliceView:
    """One verdict's view of a slice; `read` and `wanted` grow with each lookup.

    It shows the items that `viewer` may see, by default public ones.
    """

    __slots__ = ("_referred", "_slice", "policy", "read", "said", "space", "viewer", "wanted")

    def __init__(self, known: Slice, policy: Policy, viewer: Viewer = ANYBODY) -> None:
        """Start a view with nothing read."""
        self._slice = known
        self.viewer = viewer
        self._referred: dict[Reference, Thing | None] = {}
        self.said: dict[int, tuple[object, tuple[Statement, ...]]] = {}
        """The statements of each content that was read, by the identity of the content."""
        self.policy, self.space = policy, known.space
        self.read: set[str] = set()
        self.wanted: set[Lookup] = set()

    def thing(self, thing_id: str) -> Thing | None:
        """Return the item with this id."""
        self.read.add(thing_key(thing_id))
        found = self._slice.things.get(thing_id)
        if found is None:
            lookup = ThingLookup(thing_id)
            self.wanted.update(() if lookup in self._slice.loaded else (lookup,))
            return None
        return as_seen(found, self.viewer) if self._slice.secrets else found

    def cited(self, thing_id: str) -> Thing | None:
        """Return cited evidence, whatever its audience."""
        self.thing(thing_id)
        return self._slice.things.get(thing_id)

    def resolve(self, reference: Reference) -> str | None:
        """Return the id of a reference; None until its proposal is accepted."""
        if reference.startswith(PROPOSAL_PREFIX):
            found = self.thing(reference.removeprefix(PROPOSAL_PREFIX))
            if not isinstance(found, Proposal) or found.status is not ProposalStatus.ACCEPTED:
                return None
            return None if found.decision is None else found.decision.canonical_id
        return None if reference.startswith("$") else reference

    def referred(self, reference: Reference) -> Thing | None:
        """Return the referenced item, or the survivor of a merged entity."""
        if reference not in self._referred:
            thing_id = self.resolve(reference)
            thing = None if thing_id is None else self.thing(thing_id)
            if isinstance(thing, Entity) and thing.merged_into is not None:
                thing = self.thing(thing.merged_into)
            self._referred[reference] = thing
        return self._referred[reference]

    def entity(self, reference: Reference) -> Entity | None:
        """Return the entity behind a reference."""
        found = self.referred(reference)
        return found if isinstance(found, Entity) else None

    def roots(self, ids: Iterable[EntityId]) -> frozenset[str]:
        """Return the ids of the survivors of these entities."""
        found = [self.entity(Reference(one)) for one in ids]
        return frozenset(entity.id for entity in found if entity is not None)

    def relations(
        self, entity: Entity, rel_type: str, direction: str = "any"
    ) -> Sequence[Relation]:
        """Return an entity's canon relations of a type, oldest first, including ended ones.

        Relations of entities merged into it are included.
        """
        family = family_of(entity)
        lookups = [RelationsLookup(one, rel_type, direction) for one in family]
        return [
            relation
            for relation in self._canon(map(relations_key, family), Relation, *lookups)
            if relation.rel_type == rel_type
            and (direction != "out" or relation.from_id in family)
            and (direction != "in" or relation.to_id in family)
        ]

    def stating(self, statement: str) -> Sequence[Fact]:
        """Return the canon facts with this normalised statement, oldest first."""
        words = plain_statement(statement)
        return self._canon([statement_key(words)], Fact, StatementLookup(words))

    def framed(self, keys: Iterable[str]) -> Sequence[Fact]:
        """Return the canon facts with any of these statement keys, oldest first; see `crowded`."""
        asked = frozenset(keys)
        self.wanted.update(map(ConflictLookup, asked - self._slice.framed))
        return self._canon(asked, Fact)

    def crowded(self, keys: Iterable[str]) -> bool:
        """Tell whether more facts with one of these statement keys may exist than were loaded."""
        among = self._slice.among(keys)
        return any(len(self._slice.under(key)) >= TIMELINE_MAX for key in among)

    def named(self, texts: frozenset[str]) -> Sequence[Entity]:
        """Return unmerged canon entities that any of these normal forms finds, oldest first."""
        forms = (name_key, bearer_key)
        keys = [form(kind, text) for kind in EntityType for text in texts for form in forms]
        found = self._canon(keys, Entity, NameLookup(texts))
        return [entity for entity in found if entity.merged_into is None]

    def events_of(
        self, involved: Collection[str], *, title: str, scene_id: SceneId | None
    ) -> Sequence[Event]:
        """Return the canon events of a title with exactly these entities, oldest first.

        Events without entities are found within the scene only.
        """
        named = tuple(sorted(involved))
        if not named and scene_id is None:
            return ()
        key = facts_key(named[0]) if named else causes_key(self._slice.space)
        lookup = EventsLookup(title, named, None if named else scene_id)
        return [
            event
            for event in self._canon([key], Event, lookup)
            if normalised_name(event.title) == title
            and set(event.involved) == set(involved)
            and (named or event.scene_id == scene_id)
        ]

    def axioms(self) -> Sequence[Axiom]:
        """Return the canon axioms of the space, oldest first."""
        space = self._slice.space
        return self._canon([axioms_key(space)], Axiom, AxiomsLookup(space))

    def _canon(self, keys: Iterable[str], kind: type[K], *lookups: Lookup) -> list[K]:
        """Return the canon items of this space with any of the keys, each once, oldest first."""
        known, keys = self._slice, tuple(keys)
        self.read.update(keys)
        self.wanted.update([each for each in lookups if not known.answers(each)])
        ids = frozenset().union(*map(known.under, known.among(keys)))
        found = [known.things[one] for one in ids]
        if known.secrets:
            found = [seen for one in found if (seen := as_seen(one, self.viewer)) is not None]
        found.sort(key=attrgetter("position", "id"))
        here = [each for each in found if isinstance(each, kind) and each.space == known.space]
        return [each for each in here if each.level is CanonLevel.CANON]


_DIGITS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score, the authority behind it, and whether it reaches the threshold."""

    value: float
    authority: Authority
    passes: bool


def score_of(proposal: Proposal, authority: Authority, scoring: Scoring) -> Score:
    """Return confidence x authority weight x evidence factor, and whether it is enough.

    A game master needs no threshold, but authority alone is not enough: confidence and evidence
    must be above zero.
    """
    factor = 1.0 if proposal.evidence else scoring.without_evidence
    value = round(proposal.confidence * scoring.weights[authority] * factor, _DIGITS)
    ranked = authority is Authority.GM and bool(proposal.evidence)
    passes = proposal.confidence > 0 and (ranked or value >= scoring.threshold)
    return Score(value=value, authority=authority, passes=passes)


def standing_of(proposal: Proposal, view: SliceView) -> Authority:
    """Return the effective authority; source requires a citation of a canon source."""
    if proposal.authority is not Authority.SOURCE:
        return proposal.authority
    for evidence in proposal.evidence:
        if evidence.kind in {EvidenceKind.SOURCE, EvidenceKind.SNIPPET}:
            thing = view.thing(evidence.ref)
            if isinstance(thing, Snippet):
                thing = view.thing(thing.source_id)
            if isinstance(thing, Source) and thing.level in _CITED_LEVELS:
                return Authority.SOURCE
    return Authority.SYSTEM


_CITED_LEVELS: Final = (CanonLevel.CANON, CanonLevel.AUTHORITATIVE)
