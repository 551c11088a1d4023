"""Find known items that a proposal repeats, create new items, and fit statements to entities."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Self

from canonry.canon.judging.contents import SEVERITY_DEFAULT, EntityContent, EventContent
from canonry.canon.judging.slices import SliceView
from canonry.log.entries import Entry, Made
from canonry.log.items.entities import Entity, EntityClass, EntityDraft, normalised_name
from canonry.log.items.facts import Event, EventDraft, FactDraft, FactType, RelationDraft
from canonry.log.schemas.narrative import DESCRIPTION, NAME, PROPERTY_PREFIX, STATE_TAGS, EntityType
from canonry.values.audience import Audience
from canonry.values.ids import EntityId, NewId, ObservationId, ProposalId, SceneId, SpaceId
from canonry.values.moments import Instant, StoryPosition
from canonry.values.observations import ObservationDraft
from canonry.values.provenance import Authority, CanonLevel, Evidence
from canonry.values.statements import Phase, Statement


def changed_fields(content: EntityContent, entity: Entity) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields with a new value, and those whose value replaces another.

    An empty description is no news.
    """
    stated = {PROPERTY_PREFIX + name: value for name, value in content.properties.items()}
    held = {PROPERTY_PREFIX + name: value for name, value in entity.properties.items()}
    if content.description.strip():
        stated[DESCRIPTION] = content.description
    if entity.description.strip():
        held[DESCRIPTION] = entity.description
    same = {n for n, new in stated.items() if type(held.get(n)) is type(new) and held.get(n) == new}
    one, other = (normalised_name(str(each.get(DESCRIPTION))) for each in (held, stated))
    same |= {DESCRIPTION} if one == other else set()
    news = {name: value for name, value in stated.items() if name not in same}
    fresh = {name: value for name, value in stated.items() if name not in held}
    return fresh, {name: value for name, value in news.items() if name in held}


# Duplicate events: equal words at a matching time describe one event.
#
# Equal words in two scenes with different times may describe two events, so a person decides.


def find_repeated_event(
    content: EventContent,
    involved: Collection[str],
    view: SliceView,
    *,
    at: Instant | None,
    scene_id: SceneId | None,
) -> tuple[Event | None, tuple[Event, ...]]:
    """Return the event that canon has in these words with these entities, else possible ones."""
    title, description = map(normalised_name, (content.title, content.description))
    known = [
        event
        for event in view.events_of(involved, title=title, scene_id=scene_id)
        if event.severity == content.severity and normalised_name(event.description) == description
    ]
    for event in known:
        # The same event: its times agree, or one of both belongs to no scene and lacks a time.
        together = event.scene_id == scene_id or None not in {at, event.time_ref}
        if event.time_ref == at if together else None in {event.scene_id, scene_id}:
            return event, ()
    elsewhere = (one for one in known if one.scene_id != scene_id)
    return None, tuple(one for one in elsewhere if None in {at, one.time_ref})


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenTime:
    """A time as it was given in a text, and the time that it means."""

    text: str
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Backing:
    """The support of a new item: authority, confidence, evidence, position and time.

    `audience` may see it; None: the audience of its evidence.
    """

    space: SpaceId
    authority: Authority
    confidence: float
    evidence: tuple[Evidence, ...]
    scene_id: SceneId | None = None
    place: StoryPosition | None = None
    proposal_id: ProposalId | None = None
    level: CanonLevel = CanonLevel.CANON
    spoken: SpokenTime | None = None
    audience: Audience | None = None

    @classmethod
    def from_item(cls, item: Any, **more: Any) -> Self:
        """Return the support of an item, without its story position."""
        own = {name: getattr(item, name) for name in ("space", *_SUPPORT)}
        return cls(**own, **more)

    def with_support_of(self, item: Any, **more: Any) -> Self:
        """Return the same backing with the authority, confidence and evidence of an item."""
        return replace(self, **{name: getattr(item, name) for name in _SUPPORT}, **more)


_SUPPORT: Final = ("authority", "confidence", "evidence")
_SHARED: Final = ("space", "scene_id", "place", "proposal_id", "level", *_SUPPORT)
"""The members that each statement has from its backing."""


def id_for_owner(new_id: NewId, owner: str, label: str) -> str:
    """Return the id of an item that one of several owners gets from a commit."""
    return new_id(f"{owner}:{label}")


def make_entity(
    new_id: NewId,
    backing: Backing,
    *,
    entity_class: EntityClass,
    entity_type: str,
    name: str,
    description: str,
    properties: Mapping[str, Any],
    state_tags: tuple[str, ...] = (),
    derives_from: EntityId | None = None,
    observed_at: Instant | None = None,
) -> tuple[EntityId, tuple[Entry, ...]]:
    """Return the entries of a new entity and its first observation."""
    entity_id = EntityId(new_id("entity"))
    fields: dict[str, Any] = {NAME: name, DESCRIPTION: description}
    fields |= {PROPERTY_PREFIX + key: value for key, value in properties.items()}
    if state_tags:
        fields[STATE_TAGS] = dict.fromkeys(sorted(set(state_tags)), True)
    entity = EntityDraft(
        id=entity_id,
        entity_class=entity_class,
        entity_type=entity_type,
        derives_from=derives_from,
        level=backing.level,
        **{name: getattr(backing, name) for name in ("space", *_SUPPORT)},
    )
    seen = make_observation(new_id, backing, entity_id, fields, observed_at=observed_at)
    return entity_id, (Made(thing=entity), seen)


def make_observation(
    new_id: NewId,
    backing: Backing,
    entity_id: EntityId,
    fields: Mapping[str, Any],
    *,
    label: str = "observation",
    observed_at: Instant | None = None,
) -> Made:
    """Return the entry of a new observation of an entity."""
    seen = ObservationDraft(
        id=ObservationId(new_id(label)),
        entity_id=entity_id,
        fields=dict(sorted(fields.items())),
        observed_at=observed_at,
        **{name: getattr(backing, name) for name in ("space", "place", *_SUPPORT)},
    )
    return Made(thing=seen)


def tag_statement(name: str, tag: str, *, holds: bool) -> str:
    """Return the statement of a fact that a tag holds or no longer holds."""
    return f"{name} {'is' if holds else 'is no longer'} {tag}"


def _make_statement(
    kind: type[FactDraft | EventDraft | RelationDraft],
    new_id: NewId,
    backing: Backing,
    *,
    label: str,
    **own: Any,
) -> Made:
    """Return the entry of a new statement with its own fields, and those of its backing."""
    shared = {name: getattr(backing, name) for name in _SHARED}
    shared["properties"] = dict(own.pop("properties", None) or {})
    if kind is not RelationDraft:  # the words of the time, if they stated this one
        spoken = backing.spoken
        shared["time_words"] = spoken.text if spoken and spoken.at == own["time_ref"] else None
    some: Any = kind
    return Made(thing=some(id=new_id(label), **shared, **own))


make_fact: Final = partial(
    _make_statement,
    FactDraft,
    label="fact",
    time_ref=None,
    duration=None,
    fact_type=FactType.OCCURRENCE,
)
make_event: Final = partial(
    _make_statement, EventDraft, label="event", time_ref=None, severity=SEVERITY_DEFAULT, causes=()
)
make_relation: Final = partial(_make_statement, RelationDraft, label="relation", since=None)


_PEOPLE: Final = frozenset({EntityType.CHARACTER, EntityType.FACTION})
_OBJECT_STATES: Final = frozenset({"broken", "destroyed", "not_working", "closed", "empty"})
_BEGUN: Final = ("location", Phase.BEGINS)


def fit_types(one: Statement, types: Mapping[str, str], *, buried: bool) -> Iterator[Statement]:
    """Yield what can be said of such entities: nobody is in a guard, and no sword is dead."""
    of, to = types.get(one.subject), types.get(str(one.value))
    if of == EntityType.OBJECT and one.attribute == "burialplace":
        one = replace(one, attribute="location", phase=Phase.BEGINS)
    if (one.attribute, one.phase) == _BEGUN and to in _PEOPLE:  # tossed the ring to Moira
        one = replace(one, attribute="holder")
    eaten = one.value == "consumed" and one.phase is Phase.BEGINS
    if of == EntityType.CHARACTER and (eaten or one.value == "destruction"):
        one = replace(one, attribute="life", value="dead", phase=Phase.BEGINS)
    wrecked = of == EntityType.CHARACTER and one.value in _OBJECT_STATES
    damaged = wrecked and (one.phase is Phase.BEGINS or one.implied)
    never = {"holder", "floating", "light"} if of in _PEOPLE else set[str]()
    never |= {"life"} if of == EntityType.OBJECT and buried else set[str]()
    never |= {"freedom"} if of in {EntityType.LOCATION, EntityType.OBJECT} else set[str]()
    if one.attribute not in never and not damaged:
        yield one
