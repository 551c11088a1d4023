"""Slices of the canon for judging, with the lookups that they answer, and proposals' scores."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, TypeAlias, TypeVar

from canonry.language.texts.sentences import plain_statement
from canonry.log import folding
from canonry.log.commits import Commit, Position
from canonry.log.entries import Entry, StoredItem
from canonry.log.fold_commit import Changes, fold_commit
from canonry.log.items.entities import Entity, family_of, normalised_name
from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Proposal, ProposalStatus
from canonry.log.items.secret_parts import as_seen, has_variants
from canonry.log.items.sources import Snippet, Source
from canonry.log.schemas.identity_keys import CALLED, IDENTIFIERS, texts_in
from canonry.log.schemas.narrative import NAME, EntityType
from canonry.values.audience import ANYBODY, Viewer
from canonry.values.fields import PROPOSAL_PREFIX, Reference, with_changes
from canonry.values.ids import CommitId, EntityId, SceneId, SpaceId
from canonry.values.moments import AFTER_ALL, Instant
from canonry.values.policy import Policy, Scoring
from canonry.values.provenance import Actor, Authority, CanonLevel, EvidenceKind, cache_by_identity
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
_KEYED_KINDS: Final = (Entity, Relation, Fact, Event, Axiom)
"""Kinds that are found by keys other than their ids."""


@dataclass(frozen=True, slots=True)
class ItemLookup:
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
    ItemLookup
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
    items: Mapping[str, StoredItem] = field(default_factory=dict)
    by_key: Mapping[str, frozenset[str]] = field(default_factory=dict)
    recent: Mapping[str, frozenset[str]] = field(default_factory=dict)
    loaded: frozenset[Lookup] = frozenset()
    framed: frozenset[str] = frozenset()
    named: bool = False
    born: frozenset[str] = frozenset()
    secrets: bool = False
    touched: frozenset[str] = frozenset()

    def with_items(self, lookups: Iterable[Lookup], found: Iterable[StoredItem]) -> "Slice":
        """Return the slice with loaded items; an item that it already has is newer and stays."""
        there = {item.id: self.items.get(item.id, item) for item in found}
        new = frozenset(lookups)
        asked = self.framed.union([one.key for one in new if isinstance(one, ConflictLookup)])
        named = self.named or any(isinstance(one, NameLookup) for one in new)
        ids_by_key: defaultdict[str, set[str]] = defaultdict(set)
        for item in there.values():
            for key in _asked_keys(item, asked, named=named):
                ids_by_key[key].add(item.id)
        more = {key: self.ids_with_key(key) | ids for key, ids in ids_by_key.items()}
        return with_changes(
            self,
            items={**self.items, **there},
            by_key={**self.by_key, **self.recent, **more},
            recent={},
            loaded=self.loaded | new,
            framed=asked,
            named=named,
            secrets=self.secrets or any(map(has_variants, there.values())),
        )

    def with_changes(self, changes: Changes) -> "Slice":
        """Return the slice with the changes of a commit."""
        found: dict[str, frozenset[str]] = {}
        for item in changes.items.values():
            if not isinstance(item, _KEYED_KINDS):
                continue
            before, keys = self.items.get(item.id), _keys_of(item)
            past = _NOTHING if before is None else _keys_of(before)
            for key in keys ^ past:
                ids, own = found.get(key) or self.ids_with_key(key), {item.id}
                found[key] = ids | own if key in keys else ids - own
        return with_changes(
            self,
            items={**self.items, **changes.items},
            recent={**self.recent, **found},
            born=self.born | (changes.items.keys() - self.items.keys()),
            secrets=self.secrets or any(map(has_variants, changes.items.values())),
            touched=self.touched | changes.touched,
        )

    def fold_entries(
        self,
        entries: Sequence[Entry],
        *,
        position: int = AFTER_ALL,
        at: int = 0,
        over: Mapping[str, StoredItem] | None = None,
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
        return fold_commit(commit, self.items if over is None else over)

    def can_answer(self, lookup: Lookup) -> bool:
        """Return whether the slice answers `lookup` completely."""
        if isinstance(lookup, ItemLookup) and lookup.id in self.items:
            return True
        born = isinstance(lookup, RelationsLookup) and lookup.entity_id in self.born
        return born or lookup in self.loaded

    def missing_lookups(self, lookups: Iterable[Lookup]) -> frozenset[Lookup]:
        """Return the lookups that the slice cannot answer."""
        return frozenset([one for one in lookups if not self.can_answer(one)])

    def ids_with_key(self, key: str) -> frozenset[str]:
        """Return the ids of known items with a key."""
        found = self.recent.get(key)
        return self.by_key.get(key, _NOTHING) if found is None else found

    def known_keys(self, keys: Iterable[str]) -> list[str]:
        """Return the keys that a known item has or had."""
        return [key for key in keys if key in self.by_key or key in self.recent]


def _asked_keys(item: StoredItem, framed: frozenset[str], *, named: bool) -> Iterable[str]:
    """Return an item's keys; for facts only the requested ones.

    An entity that no name lookup requested is found by its id.
    """
    if isinstance(item, Fact):
        return (
            folding.statement_key(item.statement),
            *framed.intersection(folding.statements_keys(item)),
        )
    if isinstance(item, Entity) and not named:
        return ()
    return _keys_of(item) if isinstance(item, _KEYED_KINDS) else ()


def _keys_of(item: StoredItem) -> frozenset[str]:
    """Return an item's keys; for an entity also those of the texts that find it."""
    keys = folding.keys_of(item)
    if not isinstance(item, Entity):
        return keys
    return keys.union([folding.identifier_key(item.entity_type, text) for text in texts_of(item)])


def texts_of_names(
    entity_type: str, names: Iterable[str], properties: Mapping[str, Any]
) -> frozenset[str]:
    """Return the normal forms of names and of their parts, and of identifiers in properties."""
    given = {name: properties[name] for name in IDENTIFIERS.union(CALLED) & properties.keys()}
    return texts_in(entity_type, {**given, NAME: list(names)}, None)


@cache_by_identity
def texts_of(entity: Entity) -> frozenset[str]:
    """Return the normal forms under which an entity is known."""
    return texts_of_names(entity.entity_type, entity.names, entity.properties)


class SliceView:
    """One verdict's view of a slice; `read` and `wanted` grow with each lookup.

    It shows the items that `viewer` may see, by default public ones.
    """

    __slots__ = (
        "_referred",
        "_slice",
        "keys_read",
        "policy",
        "read",
        "space",
        "statements_read",
        "viewer",
        "wanted",
    )

    def __init__(self, known: Slice, policy: Policy, viewer: Viewer = ANYBODY) -> None:
        """Start a view with nothing read."""
        self._slice = known
        self.viewer = viewer
        self._referred: dict[Reference, StoredItem | None] = {}
        self.statements_read: dict[int, tuple[object, tuple[Statement, ...]]] = {}
        """The statements of each content that was read, by the identity of the content."""
        self.keys_read: dict[int, tuple[object, frozenset[str]]] = {}
        """The keys of statements that were compared, by the identity of the statements."""
        self.policy, self.space = policy, known.space
        self.read: set[str] = set()
        self.wanted: set[Lookup] = set()

    def find_item(self, item_id: str) -> StoredItem | None:
        """Return the item with this id."""
        self.read.add(folding.item_key(item_id))
        found = self._slice.items.get(item_id)
        if found is None:
            lookup = ItemLookup(item_id)
            self.wanted.update(() if lookup in self._slice.loaded else (lookup,))
            return None
        return as_seen(found, self.viewer) if self._slice.secrets else found

    def find_evidence(self, item_id: str) -> StoredItem | None:
        """Return cited evidence, whatever its audience."""
        self.find_item(item_id)
        return self._slice.items.get(item_id)

    def resolve_id(self, reference: Reference) -> str | None:
        """Return the id of a reference; None until its proposal is accepted."""
        if reference.startswith(PROPOSAL_PREFIX):
            found = self.find_item(reference.removeprefix(PROPOSAL_PREFIX))
            if not isinstance(found, Proposal) or found.status is not ProposalStatus.ACCEPTED:
                return None
            return None if found.decision is None else found.decision.canonical_id
        return None if reference.startswith("$") else reference

    def referred_item(self, reference: Reference) -> StoredItem | None:
        """Return the referenced item, or the survivor of a merged entity."""
        if reference not in self._referred:
            item_id = self.resolve_id(reference)
            item = None if item_id is None else self.find_item(item_id)
            if isinstance(item, Entity) and item.merged_into is not None:
                item = self.find_item(item.merged_into)
            self._referred[reference] = item
        return self._referred[reference]

    def find_entity(self, reference: Reference) -> Entity | None:
        """Return the entity behind a reference."""
        found = self.referred_item(reference)
        return found if isinstance(found, Entity) else None

    def root_ids(self, ids: Iterable[EntityId]) -> frozenset[str]:
        """Return the ids of the survivors of these entities."""
        found = [self.find_entity(Reference(one)) for one in ids]
        return frozenset(entity.id for entity in found if entity is not None)

    def find_relations(
        self, entity: Entity, rel_type: str, direction: str = "any"
    ) -> Sequence[Relation]:
        """Return an entity's canon relations of a type, oldest first, including ended ones.

        Relations of entities merged into it are included.
        """
        family = family_of(entity)
        lookups = [RelationsLookup(one, rel_type, direction) for one in family]
        return [
            relation
            for relation in self._canon_items(
                map(folding.relations_key, family), Relation, *lookups
            )
            if relation.rel_type == rel_type
            and (direction != "out" or relation.from_id in family)
            and (direction != "in" or relation.to_id in family)
        ]

    def facts_stating(self, statement: str) -> Sequence[Fact]:
        """Return the canon facts with this normalised statement, oldest first."""
        text = plain_statement(statement)
        return self._canon_items([folding.statement_key(text)], Fact, StatementLookup(text))

    def facts_with_keys(self, keys: Iterable[str]) -> Sequence[Fact]:
        """Return the canon facts with any of these keys, oldest first; see `has_more_facts`."""
        asked = frozenset(keys)
        self.wanted.update(map(ConflictLookup, asked - self._slice.framed))
        return self._canon_items(asked, Fact)

    def has_more_facts(self, keys: Iterable[str]) -> bool:
        """Return whether more facts with one of these statement keys may exist than were loaded."""
        among = self._slice.known_keys(keys)
        return any(len(self._slice.ids_with_key(key)) >= TIMELINE_MAX for key in among)

    def entities_named(self, texts: frozenset[str]) -> Sequence[Entity]:
        """Return unmerged canon entities that any of these normal forms finds, oldest first."""
        forms = (folding.name_key, folding.identifier_key)
        keys = [form(kind, text) for kind in EntityType for text in texts for form in forms]
        found = self._canon_items(keys, Entity, NameLookup(texts))
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
        key = folding.facts_key(named[0]) if named else folding.causes_key(self._slice.space)
        lookup = EventsLookup(title, named, None if named else scene_id)
        return [
            event
            for event in self._canon_items([key], Event, lookup)
            if normalised_name(event.title) == title
            and set(event.involved) == set(involved)
            and (named or event.scene_id == scene_id)
        ]

    def list_axioms(self) -> Sequence[Axiom]:
        """Return the canon axioms of the space, oldest first."""
        space = self._slice.space
        return self._canon_items([folding.axioms_key(space)], Axiom, AxiomsLookup(space))

    def _canon_items(self, keys: Iterable[str], kind: type[K], *lookups: Lookup) -> list[K]:
        """Return the canon items of this space with any of the keys, each once, oldest first."""
        known, keys = self._slice, tuple(keys)
        self.read.update(keys)
        self.wanted.update([each for each in lookups if not known.can_answer(each)])
        ids = frozenset().union(*map(known.ids_with_key, known.known_keys(keys)))
        found = [known.items[one] for one in ids]
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


def effective_authority(proposal: Proposal, view: SliceView) -> Authority:
    """Return the effective authority; source requires a citation of a canon source."""
    if proposal.authority is not Authority.SOURCE:
        return proposal.authority
    for evidence in proposal.evidence:
        if evidence.kind in {EvidenceKind.SOURCE, EvidenceKind.SNIPPET}:
            item = view.find_item(evidence.ref)
            if isinstance(item, Snippet):
                item = view.find_item(item.source_id)
            if isinstance(item, Source) and item.level in _CITED_LEVELS:
                return Authority.SOURCE
    return Authority.SYSTEM


_CITED_LEVELS: Final = (CanonLevel.CANON, CanonLevel.AUTHORITATIVE)
