"""Entities, and how they get their names."""

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
    PROPERTY_PREFIX,
    STATE_TAGS,
    policy_of,
)
from canonry.values.audience import EVERYBODY, Audience, Viewer
from canonry.values.fields import revised
from canonry.values.ids import EntityId, ObservationId, SpaceId
from canonry.values.json_values import folded
from canonry.values.merge import join, told_names
from canonry.values.moments import Instant
from canonry.values.observations import PRIORITY, Accumulator, pick
from canonry.values.provenance import Authority, CanonLevel, Evidence, remembered

LABEL_MAX: Final = 200
_PLAIN: Final = (str, int, float)


class EntityClass(StrEnum):
    """Whether an entity is a kind of thing or one thing."""

    ARCHETYPE = "EntityArchetype"
    INSTANCE = "EntityInstance"


_ITS_OWN: Final = (NAME, DESCRIPTION)
"""What a merge leaves to an entity as it says it of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sightings:
    """How many observations there are, and when the first and last of them were made."""

    count: int = 0
    first: Instant | None = None
    last: Instant | None = None

    def __add__(self, other: "Sightings") -> "Sightings":
        if not self.count or not other.count:  # those that count none have no instants either
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
    """Which fields make a display name: the first group of which something is said.

    `otherwise` is the name of whoever says nothing of the kind.
    """

    groups: tuple[tuple[str, ...], ...]
    otherwise: str

    def label(self, *sides: Callable[[str], Any]) -> str:
        """The name by the values of the fields; of one group the first side that says it."""
        for group in self.groups:
            for said in sides:
                words = [str(value) for name in group if says(value := said(name))]
                if words:
                    return " ".join(words)[:LABEL_MAX]
        return self.otherwise[:LABEL_MAX]


def says(value: Any) -> bool:
    """Whether a value can be part of a name."""
    return isinstance(value, _PLAIN) and not isinstance(value, bool) and str(value) != ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDraft:
    """An entity as somebody declares it.

    `entity_type` never changes; which types there are is for each vocabulary to say.
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
class EntityVeil:
    """What only an audience knows of an entity: what was observed for it alone.

    It came last `at` a position of the log; others know of no change since `before`.
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
    it; `sightings` and `absorbed_sightings` count them likewise. `merged_into` names the root
    where this one was merged away: readers follow it. `brought` are those whom it answered for
    then, so that they go along when the merge is taken back.
    `borne` is everything under which its own observations have ever named it, see
    `canonry.log.schemas.identity_keys`. `naming` is there where its name follows from its fields.
    `veils` are what only some may see; see `canonry.log.items.veils`.
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
    veils: tuple[EntityVeil, ...] = ()
    created_at: Instant
    updated_at: Instant
    position: int
    changed_at: int

    @property
    def snapshot(self) -> Accumulator:
        """What all observations of it and of its members make; name and description are its own."""
        if not self.absorbed:
            return self.own
        kept = {name: self.own[name] for name in _ITS_OWN if self._says(name)}
        return {**join(self.own, self.absorbed, policy_of), **kept}

    @property
    def observed(self) -> Sightings:
        """The observations of it and of its members."""
        return self.sightings + self.absorbed_sightings

    @property
    def name(self) -> str:
        """The current name.

        It is the entity's own, whoever was merged into it. Where it follows from fields it is the
        same in whatever order things were told.
        """
        if self.naming is None:
            return next(iter(self.names), "")
        sides = (self.own, self.absorbed) if self.absorbed else (self.own,)
        return self.naming.label(*map(said_in, sides))

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that it was told by: its own, the last first, then those of its members."""
        own = told_names(self.own[NAME]) if NAME in self.own else ()
        absorbed = told_names(self.absorbed[NAME]) if NAME in self.absorbed else ()
        return tuple(dict.fromkeys((*own, *absorbed)))

    @property
    def aliases(self) -> tuple[str, ...]:
        """The names that it has beside its current one, or had before."""
        return tuple(name for name in self.names if name != self.name)

    @property
    def known_as(self) -> tuple[str, ...]:
        """The normal forms of all its names, each once, the current one first."""
        return _known_as(self)

    @property
    def searched(self) -> str:
        """What a pattern of a name is looked for in: the normal form of each, a line each."""
        return "\n".join(self.known_as)

    @property
    def description(self) -> str:
        """The current description: its own, or else that of whoever was merged into it."""
        if self._says(DESCRIPTION):
            return str(policy_of(DESCRIPTION).show(self.own[DESCRIPTION]))
        return str(self._shown(DESCRIPTION, ""))

    @property
    def state_tags(self) -> tuple[str, ...]:
        """The tags that hold, sorted."""
        tags: tuple[str, ...] = self._shown(STATE_TAGS, ())
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
        """Field (or `state_tags.<tag>`) -> the observation that its value comes from."""
        found: dict[str, ObservationId] = {}
        for name, elements in self.snapshot.items():
            if name.startswith(FRAGMENT_PREFIX):
                continue
            for part, observations in policy_of(name).credit(elements).items():
                found[f"{name}.{part}" if part else name] = observations[0]
        return found

    def _says(self, name: str) -> bool:
        """Whether its own observations say something of a field."""
        return name in self.own and bool(policy_of(name).show(self.own[name]))

    def _shown(self, name: str, default: Any) -> Any:
        own, absorbed = self.own.get(name), self.absorbed.get(name)
        elements = policy_of(name).join(own, absorbed) if own and absorbed else own or absorbed
        return policy_of(name).show(elements) if elements else default


def said_in(fields: Accumulator) -> Callable[[str], Any]:
    """Gives the values that names go by: those of the highest priority, as people set them."""

    def said(name: str) -> Any:
        elements = fields.get(PROPERTY_PREFIX + name)
        return None if elements is None else pick(elements, PRIORITY).value

    return said


@remembered
def _known_as(entity: Entity) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(normalised_name, (entity.name, *entity.names))))


def alone(entity: Entity) -> Entity:
    """The entity without those that were merged into it."""
    if not entity.members:
        return entity
    nothing: Accumulator = {}
    return revised(entity, members=(), absorbed=nothing, absorbed_sightings=NEVER_SEEN)


def family_of(entity: Entity) -> frozenset[EntityId]:
    """The ids under which the canon may speak of `entity`: its own and those merged into it."""
    return frozenset((entity.id, *entity.members))


def normalised_name(name: str) -> str:
    """The form under which two names count as the same: folded case, accents kept, one space.

    Characters that nobody sees make no other name.
    """
    return folded(name)


REVIEWED: Final = "review:game-master"
"""The rule that a verdict names to those who may not know what it rests on."""

_WAITS: Final = "needs review by the game master"
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
"""The fields of each kind that name one thing, or none."""

_MANY: Final = {
    Scene: ("participants", "departed", "outcomes"),
    Entity: ("members", "brought"),
    Fact: ("involved",),
    Event: ("involved", "causes"),
    Proposal: ("waived",),
}
_BACKED: Final = (Entity, Fact, Event, Relation, Axiom, Proposal)


def named_in(thing: Any) -> Iterator[str]:
    """The ids that a thing names, where others than its readers might be meant."""
    kind = type(thing)
    for name in _ONE.get(kind, ()):
        if (one := getattr(thing, name)) is not None:
            yield one
    for name in _MANY.get(kind, ()):
        yield from getattr(thing, name)
    if kind in _BACKED:
        yield from (cited.ref for cited in thing.evidence)
    if isinstance(thing, Proposal):
        for ruling in (thing.decision, thing.review):
            if ruling is not None:
                yield from (one.id for one in ruling.all_conflicts)
                yield from ruling.made


def without(thing: Any, hidden: Collection[str]) -> Any:
    """The thing as if what has these ids were not there."""
    kind = type(thing)
    changes: dict[str, Any] = {
        name: None for name in _ONE.get(kind, ()) if getattr(thing, name) in hidden
    }
    for name in _MANY.get(kind, ()):
        known = getattr(thing, name)
        if not hidden_free(known, hidden):
            changes[name] = tuple(one for one in known if one not in hidden)
    if kind in _BACKED and any(cited.ref in hidden for cited in thing.evidence):
        changes["evidence"] = tuple(c for c in thing.evidence if c.ref not in hidden)
    if isinstance(thing, Proposal):
        for name in ("decision", "review"):
            if (ruling := getattr(thing, name)) is not None:
                changes[name] = _ruled(ruling, hidden)
    return revised(thing, **changes) if changes else thing


def ruled_for(proposal: Proposal, viewer: Viewer) -> Proposal:
    """The proposal with no more of how it was judged than a viewer may know."""
    changes: dict[str, Any] = {}
    for name in ("decision", "review"):
        ruling = getattr(proposal, name)
        if ruling is None:
            continue
        if not viewer.sees(ruling.audience):
            changes[name] = _unsaid(ruling, (), ())
        elif any(one.audience for one in ruling.graded):
            graded = tuple(one for one in ruling.graded if viewer.sees(one.audience))
            changes[name] = revised(ruling, graded=graded)
    return revised(proposal, **changes) if changes else proposal


def hidden_free(ids: Collection[str], hidden: Collection[str]) -> bool:
    """Whether none of `ids` is hidden."""
    return not any(one in hidden for one in ids)


def _ruled(ruling: Decision, hidden: Collection[str]) -> Decision:
    """A ruling that rests on what is hidden says no more than who decides."""
    rests_on = [one.id for one in ruling.all_conflicts]
    if hidden_free((*rests_on, *ruling.made), hidden):
        return ruling
    graded = (one for one in ruling.graded if one.id not in hidden)
    return _unsaid(ruling, tuple(graded), (one for one in ruling.made if one not in hidden))


def _unsaid(ruling: Decision, graded: tuple[GradedConflict, ...], made: Iterable[str]) -> Decision:
    return revised(
        ruling,
        rule=REVIEWED,
        rationale=_WAITS,
        score=None,
        conflicts=tuple(one.id for one in graded if one.grade is Grade.CONTRADICTION),
        graded=graded,
        made=tuple(made),
    )
