"""Entities, their names, and what each reader may know of them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from canonry.log.items.facts import Axiom, Event, Fact, Relation
from canonry.log.items.proposals import Decision, Grade, GradedConflict, Proposal
from canonry.log.items.scenes import Memory, Scene, Turn
from canonry.log.schemas.narrative import (
    DESCRIPTION,
    FRAGMENT_PREFIX,
    NAME,
    OWN_TYPE,
    PROPERTY_PREFIX,
    STATE_TAGS,
    own_type,
    policy_of,
)
from canonry.values.audience import EVERYBODY, Audience, Viewer
from canonry.values.fields import with_changes
from canonry.values.ids import EntityId, ObservationId, SpaceId
from canonry.values.json_values import fold_text
from canonry.values.merge_policies import join_accumulators
from canonry.values.moments import Instant
from canonry.values.observations import PRIORITY, Accumulator, Elements, by_log, pick_winner
from canonry.values.provenance import Authority, CanonLevel, Evidence, cache_by_identity

LABEL_MAX: Final = 200  # labels are indexed and repeated in replies


class EntityClass(StrEnum):
    """The class of an entity: a kind (archetype) or one individual (instance)."""

    ARCHETYPE = "EntityArchetype"
    INSTANCE = "EntityInstance"


@cache_by_identity
def all_names(elements: Elements) -> tuple[str, ...]:
    """Return all names, the newest first."""
    if len(elements) == 1:
        return tuple([str(held.value) for held in elements.values()])
    newest_first = sorted(elements.values(), key=by_log, reverse=True)
    return tuple(str(held.value) for held in newest_first)


_ITS_OWN: Final = (NAME, DESCRIPTION, PROPERTY_PREFIX + OWN_TYPE)
"""The fields that an entity keeps for itself when others are merged into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sightings:
    """The number of observations, and the dates of the first and the last one."""

    count: int = 0
    first: Instant | None = None
    last: Instant | None = None

    def __add__(self, other: "Sightings") -> "Sightings":
        if not self.count or not other.count:  # without observations there are no dates either
            return self if self.count else other
        firsts = [each for each in (self.first, other.first) if each is not None]
        lasts = [each for each in (self.last, other.last) if each is not None]
        return Sightings(
            count=self.count + other.count,
            first=min(firsts, default=None),
            last=max(lasts, default=None),
        )


NEVER_SEEN: Final = Sightings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """The fields that make a display name: the first group of which one has a value.

    `otherwise` is the name if none has.
    """

    groups: tuple[tuple[str, ...], ...]
    otherwise: str

    def make_label(self, *sides: Callable[[str], Any]) -> str:
        """Return the name from the fields' values; in a group, the first side with one."""
        for group in self.groups:
            for get_value in sides:
                words = [str(value) for name in group if is_nameable(value := get_value(name))]
                if words:
                    return " ".join(words)[:LABEL_MAX]
        return self.otherwise[:LABEL_MAX]


def is_nameable(value: Any) -> bool:
    """Return whether a value can be part of a name."""
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value) != ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDraft:
    """An entity as its author declares it.

    `entity_type` never changes. Each vocabulary decides which types exist.
    """

    id: EntityId
    space: SpaceId
    entity_class: EntityClass
    entity_type: str
    derives_from: EntityId | None
    level: CanonLevel
    authority: Authority
    confidence: float
    evidence: tuple[Evidence, ...]
    audience: Audience = EVERYBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretEntityPart:
    """A secret part of an entity: the observations that only one audience knows.

    The latest was made `at` a position of the log. Other readers know of no change since `before`.
    """

    audience: Audience
    own: Accumulator = field(default_factory=dict)
    absorbed: Accumulator = field(default_factory=dict)
    sightings: Sightings = NEVER_SEEN
    absorbed_sightings: Sightings = NEVER_SEEN
    evidence: tuple[Evidence, ...] = ()
    at: int = 0
    before: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity(EntityDraft):
    """An entity with its current snapshot.

    `own` folds this entity's observations, `absorbed` those of `members`, the entities merged into
    it; `sightings` and `absorbed_sightings` count them. `merged_into` is the survivor if this one
    was merged; readers follow it. `brought` are its members at that time, which an unmerge returns.
    `borne` are all identifiers from its own observations, see `canonry.log.schemas.identity_keys`.
    `naming` is set if its name derives from fields. `veils` are the secret parts, see
    `canonry.log.items.secret_parts`.
    """

    own: Accumulator = field(default_factory=dict)
    absorbed: Accumulator = field(default_factory=dict)
    sightings: Sightings = NEVER_SEEN
    absorbed_sightings: Sightings = NEVER_SEEN
    members: tuple[EntityId, ...] = ()
    merged_into: EntityId | None = None
    brought: tuple[EntityId, ...] = ()
    borne: tuple[str, ...] = ()
    naming: Naming | None = None
    replaced_by: EntityId | None = None
    veils: tuple[SecretEntityPart, ...] = ()
    created_at: Instant
    updated_at: Instant
    position: int
    changed_at: int

    @property
    def snapshot(self) -> Accumulator:
        """Return the fields from all observations; name and description are the entity's own."""
        if not self.absorbed:
            return self.own
        kept = {name: self.own[name] for name in _ITS_OWN if self._has_own_value(name)}
        return {**join_accumulators(self.own, self.absorbed, policy_of), **kept}

    @property
    def observed(self) -> Sightings:
        """Return the count of its own observations and those of its members."""
        return self.sightings + self.absorbed_sightings

    @property
    def name(self) -> str:
        """The current name of the entity itself.

        A name that derives from fields does not depend on the order of the observations.
        """
        if self.naming is None:
            return next(iter(self.names), "")
        sides = (self.own, self.absorbed) if self.absorbed else (self.own,)
        return self.naming.make_label(*map(value_getter, sides))

    @property
    def names(self) -> tuple[str, ...]:
        """All its names: its own from newest to oldest, then those of its members."""
        own = all_names(self.own[NAME]) if NAME in self.own else ()
        absorbed = all_names(self.absorbed[NAME]) if NAME in self.absorbed else ()
        return tuple(dict.fromkeys((*own, *absorbed)))

    @property
    def aliases(self) -> tuple[str, ...]:
        """Its names apart from the current one, former ones included."""
        return tuple(name for name in self.names if name != self.name)

    @property
    def shown_type(self) -> str:
        """The type that the entity was given, such as village."""
        return own_type(self.entity_type, self.properties) or self.entity_type

    @property
    @cache_by_identity
    def known_as(self) -> tuple[str, ...]:
        """The normal forms of all its names, each once, the current one first."""
        return tuple(dict.fromkeys(map(normalised_name, (self.name, *self.names))))

    def has_name(self, pattern: str) -> bool:
        """Return whether a name contains `pattern`, with `*` and `%` for any characters."""
        rest = "\n".join(self.known_as)
        for part in normalised_name(pattern).replace("%", "*").split("*"):
            _, found, rest = rest.partition(part) if part else ("", "any", rest)
            if not found:
                return False
        return True

    @property
    def description(self) -> str:
        """The current description: its own, else that of a member."""
        if self._has_own_value(DESCRIPTION):
            return str(policy_of(DESCRIPTION).show(self.own[DESCRIPTION]))
        return str(self._field_value(DESCRIPTION, ""))

    @property
    def state_tags(self) -> tuple[str, ...]:
        """The current state tags, sorted."""
        tags: tuple[str, ...] = self._field_value(STATE_TAGS, ())
        return tags

    @property
    def properties(self) -> Mapping[str, Any]:
        """The type-specific properties."""
        start = len(PROPERTY_PREFIX)
        return {
            name[start:]: policy_of(name).show(elements)
            for name, elements in self.snapshot.items()
            if name.startswith(PROPERTY_PREFIX)
        }

    @property
    def provenance(self) -> Mapping[str, ObservationId]:
        """Map each field (or `state_tags.<tag>`) to the observation that its value comes from."""
        found: dict[str, ObservationId] = {}
        for name, elements in self.snapshot.items():
            if name.startswith(FRAGMENT_PREFIX):
                continue
            for part, observations in policy_of(name).credit(elements).items():
                found[f"{name}.{part}" if part else name] = observations[0]
        return found

    def _has_own_value(self, name: str) -> bool:
        """Return whether its own observations have a value for a field."""
        return name in self.own and bool(policy_of(name).show(self.own[name]))

    def _field_value(self, name: str, default: Any) -> Any:
        own, absorbed = self.own.get(name), self.absorbed.get(name)
        elements = policy_of(name).join(own, absorbed) if own and absorbed else own or absorbed
        return policy_of(name).show(elements) if elements else default


def value_getter(fields: Accumulator) -> Callable[[str], Any]:
    """Return the function that gets a name's value: that of the highest priority, as written."""

    def get_value(name: str) -> Any:
        elements = fields.get(PROPERTY_PREFIX + name)
        return None if elements is None else pick_winner(elements, PRIORITY).value

    return get_value


def without_members(entity: Entity) -> Entity:
    """Return the entity without its merged members."""
    if not entity.members:
        return entity
    nothing: Accumulator = {}
    return with_changes(entity, members=(), absorbed=nothing, absorbed_sightings=NEVER_SEEN)


def family_of(entity: Entity) -> frozenset[EntityId]:
    """Return all ids of `entity`: its own and those merged into it."""
    return frozenset((entity.id, *entity.members))


normalised_name: Final = fold_text
"""Returns the form in which equal names are equal."""


REVIEWED: Final = "review:game-master"
"""The rule that a verdict shows to callers that may not know its grounds."""

_ONE: Final = {
    Scene: ("location_ref",),
    Turn: ("entity_id", "resolution_ref"),
    Memory: ("linked_fact_id", "scene_id"),
    Entity: ("derives_from", "replaced_by"),
    Fact: ("replaces", "replaced_by", "superseded_by", "proposal_id", "scene_id"),
    Event: ("replaced_by", "proposal_id", "scene_id"),
    Relation: ("replaced_by", "superseded_by", "proposal_id", "scene_id"),
    Proposal: ("scene_id", "turn_id"),
}
"""The fields of each kind that hold one id, or none."""

_MANY: Final = {
    Scene: ("participants", "departed", "outcomes"),
    Entity: ("members", "brought"),
    Fact: ("involved",),
    Event: ("involved", "causes"),
    Proposal: ("waived",),
}
_BACKED: Final = (Entity, Fact, Event, Relation, Axiom, Proposal)


def referenced_ids(item: Any) -> Iterator[str]:
    """Return the ids in an item that some of its readers may not be allowed to see."""
    kind = type(item)
    for name in _ONE.get(kind, ()):
        if (one := getattr(item, name)) is not None:
            yield one
    for name in _MANY.get(kind, ()):
        yield from getattr(item, name)
    if kind in _BACKED:
        yield from (cited.ref for cited in item.evidence)
    if isinstance(item, Proposal):
        for ruling in (item.decision, item.review):
            if ruling is not None:
                yield from (one.id for one in ruling.all_conflicts)
                yield from ruling.made


def without_hidden(item: Any, hidden: Collection[str]) -> Any:
    """Return the item without its references to hidden ids."""
    kind = type(item)
    changes: dict[str, Any] = {
        name: None for name in _ONE.get(kind, ()) if getattr(item, name) in hidden
    }
    for name in _MANY.get(kind, ()):
        known = getattr(item, name)
        if not has_no_hidden(known, hidden):
            changes[name] = tuple(one for one in known if one not in hidden)
    if kind in _BACKED and any(cited.ref in hidden for cited in item.evidence):
        changes["evidence"] = tuple(c for c in item.evidence if c.ref not in hidden)
    if isinstance(item, Proposal):
        for name in ("decision", "review"):
            if (ruling := getattr(item, name)) is not None:
                changes[name] = _reduce_ruling(ruling, hidden)
    return with_changes(item, **changes) if changes else item


def proposal_for_viewer(proposal: Proposal, viewer: Viewer) -> Proposal:
    """Return the proposal with only that part of its verdict that a viewer may know."""
    changes: dict[str, Any] = {}
    for name in ("decision", "review"):
        ruling = getattr(proposal, name)
        if ruling is None:
            continue
        if not viewer.may_see(ruling.audience):
            changes[name] = _plain_ruling(ruling, (), ())
        elif any(one.audience for one in ruling.graded):
            graded = tuple(one for one in ruling.graded if viewer.may_see(one.audience))
            changes[name] = with_changes(ruling, graded=graded)
    return with_changes(proposal, **changes) if changes else proposal


def has_no_hidden(ids: Collection[str], hidden: Collection[str]) -> bool:
    """Return whether none of `ids` is hidden."""
    return not any(one in hidden for one in ids)


def _reduce_ruling(ruling: Decision, hidden: Collection[str]) -> Decision:
    """Reduce a ruling that rests on hidden items to the fact that a game master must decide."""
    rests_on = [one.id for one in ruling.all_conflicts]
    if has_no_hidden((*rests_on, *ruling.made), hidden):
        return ruling
    graded = (one for one in ruling.graded if one.id not in hidden)
    return _plain_ruling(ruling, tuple(graded), (one for one in ruling.made if one not in hidden))


def _plain_ruling(
    ruling: Decision, graded: tuple[GradedConflict, ...], made: Iterable[str]
) -> Decision:
    return with_changes(
        ruling,
        rule=REVIEWED,
        rationale="needs review by the game master",
        score=None,
        conflicts=tuple(one.id for one in graded if one.grade is Grade.CONTRADICTION),
        graded=graded,
        made=tuple(made),
    )
