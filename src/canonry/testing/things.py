"""Examples of every kind of thing: valid, small, and changed by keyword; an id is made from a name.

They are stamped as by the first commit; `made` gives their drafts, as an entry holds them.
"""

from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

from canonry.domain.ids import (
    AxiomId,
    EntityId,
    EventId,
    FactId,
    MemoryId,
    ObservationId,
    ProposalId,
    RelationId,
    RunId,
    SceneId,
    SchemaId,
    SnippetId,
    SourceId,
    SpaceId,
    StoryId,
    TurnId,
)
from canonry.domain.log.entries import Born, Made, ThingDraft
from canonry.domain.observations import Dated, Observation
from canonry.domain.provenance import Authority, CanonLevel, Evidence, EvidenceKind
from canonry.domain.revising import narrowed
from canonry.domain.spaces import Space, SpaceKind
from canonry.domain.things.entities import Entity, EntityClass
from canonry.domain.things.facts import Axiom, AxiomDomain, Event, Fact, FactType
from canonry.domain.things.memories import Memory
from canonry.domain.things.proposals import DecisionDraft, Proposal, ProposalStatus, ProposalType
from canonry.domain.things.relations import Relation
from canonry.domain.things.scenes import (
    Scene,
    SceneStatus,
    Speaker,
    Story,
    StoryStatus,
    StoryType,
    Turn,
)
from canonry.domain.things.sources import Snippet, Source, SourceType
from canonry.domain.time import DAY, Instant
from canonry.domain.truth.runs import InterpretationRun, RunStatus
from canonry.domain.vocabularies.narrative_types import EntityType
from canonry.domain.vocabularies.schemas import FieldSpec, FieldType, IdentityRule, RegisteredSchema

THEN: Final = Instant(0)
STAMPS: Final[dict[str, Any]] = {"created_at": THEN, "position": 1, "changed_at": 1}


def ident(name: str) -> str:
    """The UUID that tests call `name`."""
    digest = sha256(name.encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[12:15]}-a{digest[15:18]}-{digest[18:30]}"


MIDDLE_EARTH: Final = SpaceId(ident("space"))
"""The space that things lie in unless a test says otherwise."""


def made(*things: Born) -> tuple[Made, ...]:
    """The entries that bring these things into being."""
    return tuple(Made(thing=drafted(thing)) for thing in things)


def drafted(thing: Born) -> ThingDraft:
    """What the author of a thing knew of it."""
    kind: Any = type(thing).__base__
    draft: ThingDraft = narrowed(kind, thing)
    return draft


def evidence(name: str = "turn", kind: EvidenceKind = EvidenceKind.TURN) -> tuple[Evidence, ...]:
    """One reference to what is called `name`."""
    return (Evidence(kind=kind, ref=ident(name)),)


def a_space(name: str = "space", **changes: Any) -> Space:
    """A universe."""
    space = Space(
        id=SpaceId(ident(name)),
        kind=SpaceKind.UNIVERSE,
        name=name,
        description="",
        parent=None,
        **STAMPS,
    )
    return replace(space, **changes)


def an_entity(name: str = "frodo", **changes: Any) -> Entity:
    """A character without any observation yet, so without a name."""
    entity = Entity(
        id=EntityId(ident(name)),
        space=MIDDLE_EARTH,
        entity_class=EntityClass.INSTANCE,
        entity_type=EntityType.CHARACTER,
        derives_from=None,
        level=CanonLevel.CANON,
        authority=Authority.GM,
        confidence=1.0,
        evidence=(),
        updated_at=THEN,
        **STAMPS,
    )
    return replace(entity, **changes)


def an_observation(entity: str, name: str, /, **changes: Any) -> Observation:
    """The observation `name` of the entity called `entity`; says `fields`."""
    observation = Observation(
        id=ObservationId(ident(name)),
        space=MIDDLE_EARTH,
        entity_id=EntityId(ident(entity)),
        fields={},
        authority=Authority.GM,
        confidence=1.0,
        evidence=(),
        observed_at=None,
        recorded_at=THEN,
        position=1,
        changed_at=1,
    )
    return replace(observation, **changes)


def a_record(entity: str, name: str, /, *, due: int = 0, **changes: Any) -> Observation:
    """What the source `ledger` says of an entity: its own name as a number, due on a day."""
    instant = Instant(due * DAY)
    said = an_observation(
        entity,
        name,
        fields={"properties.number": entity, "properties.due": f"1970-01-{due + 1:02}"},
        dates={"due": Dated(event_type="Due", instant=instant)},
        evidence=evidence("ledger", EvidenceKind.SOURCE),
        schema_version="1.0",
    )
    return replace(said, **changes)


def a_named(name: str, *, tags: tuple[str, ...] = (), **changes: Any) -> tuple[Made, ...]:
    """The entries that make an entity and say its name and tags."""
    entity = an_entity(name, **changes)
    fields = {"name": name, "state_tags": dict.fromkeys(tags, True)}
    said = an_observation(name, f"{name}/born", space=entity.space, fields=fields)
    return made(entity, said)


def a_schema(name: str = "invoice", version: str = "1.0", **changes: Any) -> RegisteredSchema:
    """A schema of the type `name`, with texts, an amount and a date."""
    schema = RegisteredSchema(
        id=SchemaId(ident(f"schema {name} {version}")),
        space=MIDDLE_EARTH,
        entity_type=name,
        version=version,
        label=name,
        fields=(
            FieldSpec(name="number", required=True, aliases=("no",)),
            FieldSpec(name="amount", type=FieldType.NUMBER, policy="highest_priority"),
            FieldSpec(name="due", type=FieldType.DATE, event_type="Due"),
            FieldSpec(name="state", choices=("open", "paid")),
        ),
        identity=(IdentityRule(fields=("number",), told_apart_by=("vendor",)),),
        names=(("number",),),
        type_aliases=("bill",),
        **STAMPS,
    )
    return replace(schema, **changes)


def a_run(name: str = "run", source: str = "source", **changes: Any) -> InterpretationRun:
    """A run that found nothing."""
    run = InterpretationRun(
        id=RunId(ident(name)),
        space=MIDDLE_EARTH,
        source_id=SourceId(ident(source)),
        config={"provider": "rules"},
        status=RunStatus.COMPLETED,
        started_at=THEN,
        ended_at=THEN,
        **STAMPS,
    )
    return replace(run, **changes)


def a_relation(name: str, from_name: str, to_name: str, **changes: Any) -> Relation:
    """An edge between two entities called by name."""
    relation = Relation(
        id=RelationId(ident(name)),
        space=MIDDLE_EARTH,
        rel_type="ALLY_OF",
        from_id=EntityId(ident(from_name)),
        to_id=EntityId(ident(to_name)),
        since=None,
        confidence=1.0,
        authority=Authority.GM,
        evidence=(),
        level=CanonLevel.CANON,
        **STAMPS,
    )
    return replace(relation, **changes)


def a_fact(name: str = "fact", *involved: str, **changes: Any) -> Fact:
    """A timeless fact about the entities called by name, which says its own name."""
    fact = Fact(
        id=FactId(ident(name)),
        space=MIDDLE_EARTH,
        statement=name,
        fact_type=FactType.STATE,
        time_ref=None,
        duration=None,
        involved=tuple(EntityId(ident(one)) for one in involved),
        confidence=0.9,
        authority=Authority.GM,
        evidence=evidence(),
        level=CanonLevel.CANON,
        **STAMPS,
    )
    return replace(fact, **changes)


def an_event(name: str = "event", *involved: str, **changes: Any) -> Event:
    """An event at an unknown time."""
    event = Event(
        id=EventId(ident(name)),
        space=MIDDLE_EARTH,
        scene_id=None,
        title=name,
        description="",
        time_ref=None,
        severity=5,
        involved=tuple(EntityId(ident(one)) for one in involved),
        causes=(),
        confidence=0.9,
        authority=Authority.GM,
        evidence=evidence(),
        level=CanonLevel.CANON,
        **STAMPS,
    )
    return replace(event, **changes)


def an_axiom(name: str = "axiom", **changes: Any) -> Axiom:
    """A law that nothing enforces."""
    axiom = Axiom(
        id=AxiomId(ident(name)),
        space=MIDDLE_EARTH,
        statement=name,
        domain=AxiomDomain.MAGIC,
        constraint=None,
        confidence=1.0,
        authority=Authority.SOURCE,
        evidence=(),
        level=CanonLevel.CANON,
        **STAMPS,
    )
    return replace(axiom, **changes)


def a_source(name: str = "source", **changes: Any) -> Source:
    """A rulebook."""
    source = Source(
        id=SourceId(ident(name)),
        space=MIDDLE_EARTH,
        doc_id=name,
        title=name,
        edition=None,
        origin=None,
        source_type=SourceType.RULEBOOK,
        level=CanonLevel.CANON,
        **STAMPS,
    )
    return replace(source, **changes)


def a_snippet(name: str = "snippet", source: str = "source", **changes: Any) -> Snippet:
    """An excerpt that says its own name."""
    snippet = Snippet(
        id=SnippetId(ident(name)),
        space=MIDDLE_EARTH,
        source_id=SourceId(ident(source)),
        text=name,
        page=None,
        section=None,
        index=0,
        **STAMPS,
    )
    return replace(snippet, **changes)


def a_story(name: str = "story", **changes: Any) -> Story:
    """A planned story."""
    story = Story(
        id=StoryId(ident(name)),
        space=MIDDLE_EARTH,
        title=name,
        story_type=StoryType.CAMPAIGN,
        theme=None,
        premise=None,
        parent_id=None,
        start_time_ref=None,
        status=StoryStatus.PLANNED,
        **STAMPS,
    )
    return replace(story, **changes)


def a_scene(name: str = "scene", story: str = "story", **changes: Any) -> Scene:
    """An active scene."""
    scene = Scene(
        id=SceneId(ident(name)),
        space=MIDDLE_EARTH,
        story_id=StoryId(ident(story)),
        title=name,
        purpose=None,
        order=1,
        location_ref=None,
        participants=(),
        status=SceneStatus.ACTIVE,
        updated_at=THEN,
        **STAMPS,
    )
    return replace(scene, **changes)


def a_turn(name: str = "turn", scene: str = "scene", **changes: Any) -> Turn:
    """Something the game master says; its own name unless a test says otherwise."""
    turn = Turn(
        id=TurnId(ident(name)),
        space=MIDDLE_EARTH,
        scene_id=SceneId(ident(scene)),
        index=0,
        speaker=Speaker.GM,
        entity_id=None,
        text=name,
        resolution_ref=None,
        timestamp=THEN,
        position=1,
        changed_at=1,
    )
    return replace(turn, **changes)


def a_proposal(name: str = "proposal", scene: str | None = "scene", **changes: Any) -> Proposal:
    """A pending fact."""
    proposal = Proposal(
        id=ProposalId(ident(name)),
        space=MIDDLE_EARTH,
        scene_id=None if scene is None else SceneId(ident(scene)),
        turn_id=None,
        type=ProposalType.FACT,
        content={"statement": name},
        evidence=evidence(),
        confidence=0.9,
        authority=Authority.GM,
        proposed_by="narrator-001",
        status=ProposalStatus.PENDING,
        **STAMPS,
    )
    return replace(proposal, **changes)


def a_decision(**changes: Any) -> DecisionDraft:
    """An acceptance."""
    decision = DecisionDraft(
        status=ProposalStatus.ACCEPTED,
        rule="score",
        rationale="it is well supported",
        score=0.81,
        decided_by="canonkeeper-001",
    )
    return replace(decision, **changes)


def a_memory(name: str = "memory", entity: str = "frodo", **changes: Any) -> Memory:
    """A recollection that says its own name."""
    memory = Memory(
        id=MemoryId(ident(name)),
        space=MIDDLE_EARTH,
        entity_id=EntityId(ident(entity)),
        text=name,
        linked_fact_id=None,
        scene_id=None,
        emotional_valence=0.0,
        importance=0.5,
        certainty=1.0,
        **STAMPS,
    )
    return replace(memory, **changes)
