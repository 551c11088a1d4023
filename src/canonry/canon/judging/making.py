"""Making: the entries that bring things of canon into being, by direct writes or canonization."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from canonry.log.entries import Entry, Made
from canonry.log.items.entities import EntityClass, EntityDraft
from canonry.log.items.facts import EventDraft, FactDraft, FactType, RelationDraft
from canonry.log.schemas.narrative import DESCRIPTION, NAME, PROPERTY_PREFIX, STATE_TAGS
from canonry.values.audience import Audience
from canonry.values.ids import (
    EntityId,
    EventId,
    FactId,
    NewId,
    ObservationId,
    ProposalId,
    RelationId,
    SceneId,
    SpaceId,
)
from canonry.values.moments import Instant, StoryPlace
from canonry.values.observations import ObservationDraft
from canonry.values.provenance import Authority, CanonLevel, Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenTime:
    """Words that say when, and what they say."""

    words: str
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Backing:
    """What supports a new thing: authority, confidence, evidence, where and when it was told.

    `audience` is who may know of it; None: whoever may know of the evidence.
    """

    space: SpaceId
    authority: Authority
    confidence: float
    evidence: tuple[Evidence, ...]
    scene_id: SceneId | None = None
    place: StoryPlace | None = None
    proposal_id: ProposalId | None = None
    level: CanonLevel = CanonLevel.CANON
    spoken: SpokenTime | None = None
    audience: Audience | None = None

    def words_for(self, at: Instant | None) -> str | None:
        """The words that told this time."""
        told = self.spoken
        return told.words if told is not None and told.at == at else None


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
    """The entries that declare an entity and make its first observation."""
    entity_id = EntityId(new_id("entity"))
    fields: dict[str, Any] = {NAME: name, DESCRIPTION: description}
    fields |= {PROPERTY_PREFIX + key: value for key, value in properties.items()}
    if state_tags:
        fields[STATE_TAGS] = dict.fromkeys(sorted(set(state_tags)), True)
    entity = EntityDraft(
        id=entity_id,
        space=backing.space,
        entity_class=entity_class,
        entity_type=entity_type,
        derives_from=derives_from,
        level=backing.level,
        authority=backing.authority,
        confidence=backing.confidence,
        evidence=backing.evidence,
    )
    seen = _observation(new_id("observation"), backing, entity_id, fields, observed_at)
    return entity_id, (Made(thing=entity), Made(thing=seen))


def make_observation(
    new_id: NewId,
    backing: Backing,
    entity_id: EntityId,
    fields: Mapping[str, Any],
    *,
    label: str = "observation",
    observed_at: Instant | None = None,
) -> Made:
    """The entry that adds an observation to an entity."""
    return Made(thing=_observation(new_id(label), backing, entity_id, fields, observed_at))


def _observation(
    observation_id: str,
    backing: Backing,
    entity_id: EntityId,
    fields: Mapping[str, Any],
    observed_at: Instant | None,
) -> ObservationDraft:
    return ObservationDraft(
        id=ObservationId(observation_id),
        space=backing.space,
        entity_id=entity_id,
        fields=dict(sorted(fields.items())),
        authority=backing.authority,
        confidence=backing.confidence,
        evidence=backing.evidence,
        observed_at=observed_at,
        place=backing.place,
    )


def tag_statement(name: str, tag: str, *, holds: bool) -> str:
    """The statement of a fact that says that a tag holds, or that it holds no longer."""
    return f"{name} {'is' if holds else 'is no longer'} {tag}"


def make_fact(
    new_id: NewId,
    backing: Backing,
    *,
    statement: str,
    involved: tuple[EntityId, ...],
    time_ref: Instant | None = None,
    duration: int | None = None,
    fact_type: FactType = FactType.OCCURRENCE,
    properties: Mapping[str, Any] | None = None,
    replaces: FactId | None = None,
    label: str = "fact",
) -> Made:
    """A fact asserted."""
    return Made(
        thing=FactDraft(
            id=FactId(new_id(label)),
            space=backing.space,
            statement=statement,
            fact_type=fact_type,
            properties=dict(properties or {}),
            time_ref=time_ref,
            duration=duration,
            involved=involved,
            confidence=backing.confidence,
            authority=backing.authority,
            evidence=backing.evidence,
            level=backing.level,
            scene_id=backing.scene_id,
            place=backing.place,
            proposal_id=backing.proposal_id,
            replaces=replaces,
            time_words=backing.words_for(time_ref),
        )
    )


def make_event(
    new_id: NewId,
    backing: Backing,
    *,
    title: str,
    description: str,
    involved: tuple[EntityId, ...],
    time_ref: Instant | None = None,
    severity: int = 5,
    causes: tuple[EventId, ...] = (),
    properties: Mapping[str, Any] | None = None,
) -> Made:
    """An event asserted."""
    return Made(
        thing=EventDraft(
            id=EventId(new_id("event")),
            space=backing.space,
            scene_id=backing.scene_id,
            place=backing.place,
            title=title,
            description=description,
            time_ref=time_ref,
            severity=severity,
            involved=involved,
            causes=causes,
            properties=dict(properties or {}),
            confidence=backing.confidence,
            authority=backing.authority,
            evidence=backing.evidence,
            level=backing.level,
            proposal_id=backing.proposal_id,
            time_words=backing.words_for(time_ref),
        )
    )


def make_relation(
    new_id: NewId,
    backing: Backing,
    *,
    rel_type: str,
    from_id: EntityId,
    to_id: EntityId,
    properties: Mapping[str, Any] | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    label: str = "relation",
) -> Made:
    """A relation asserted; `until` where its end is known from the beginning."""
    return Made(
        thing=RelationDraft(
            id=RelationId(new_id(label)),
            space=backing.space,
            rel_type=rel_type,
            from_id=from_id,
            to_id=to_id,
            properties=dict(properties or {}),
            since=since,
            until=until,
            confidence=backing.confidence,
            authority=backing.authority,
            evidence=backing.evidence,
            level=backing.level,
            scene_id=backing.scene_id,
            place=backing.place,
            proposal_id=backing.proposal_id,
        )
    )
