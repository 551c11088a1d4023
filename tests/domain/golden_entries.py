"""One entry of every kind with every field filled; what the golden files hold of each version."""

from dataclasses import replace
from typing import Any

from canonry.log.entries import (
    AudienceChanged,
    CallUndone,
    CausesLinked,
    ConflictWaived,
    EntitiesMerged,
    EntitiesUnmerged,
    EntityRebuilt,
    EntityRetconned,
    Entry,
    Erased,
    EventRetconned,
    EvidenceLinked,
    FactRead,
    FactResumed,
    FactRetconned,
    FactSuperseded,
    FileAttached,
    KeysDisowned,
    ProposalDecided,
    ProposalDeferred,
    RelationDetailed,
    RelationEnded,
    RelationResumed,
    RelationRetconned,
    Restored,
    SaidAt,
    SceneCompleted,
    SceneDated,
    SceneExtended,
    SceneMoved,
    SceneNoted,
    ScenePlaced,
    SceneStaged,
    SceneSummarised,
    SpaceRevised,
    StoryMoved,
    Withdrawn,
)
from canonry.log.items.entities import EntityClass
from canonry.log.items.facts import AxiomDomain, Constraint, FactType
from canonry.log.items.proposals import Grade, GradedConflict, ProposalStatus, ProposalType
from canonry.log.items.scenes import SceneStatus, Speaker, StoryStatus, StoryType
from canonry.log.items.sources import RunStatus, SourceType
from canonry.log.schemas.narrative import EntityType
from canonry.testing.example_items import (
    a_decision,
    a_fact,
    a_memory,
    a_proposal,
    a_relation,
    a_run,
    a_scene,
    a_schema,
    a_snippet,
    a_source,
    a_space,
    a_story,
    a_turn,
    an_axiom,
    an_entity,
    an_event,
    an_observation,
    creation_entries,
    some_evidence,
    uuid_of,
)
from canonry.values.ids import (
    CommitId,
    EntityId,
    EventId,
    FactId,
    ObservationId,
    ProposalId,
    RelationId,
    RunId,
    SceneId,
    SourceId,
    SpaceId,
    StoryId,
    TurnId,
)
from canonry.values.moments import Instant
from canonry.values.observations import Dated, Fragment
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind
from canonry.values.statements import Modality, Phase, Quantity, Statement

THEN = Instant(-62_135_596_800_000_000)
WORDS: dict[str, Any] = {"z": [1, 0.5, None, True], "a": {"\u00e9\U0001f409": '"\\\n'}}


def _item_entries() -> tuple[Entry, ...]:
    scene, story, fact = (
        SceneId(uuid_of("scene")),
        StoryId(uuid_of("story")),
        FactId(uuid_of("fact")),
    )
    proposal, frodo = ProposalId(uuid_of("proposal")), EntityId(uuid_of("frodo"))
    judged: dict[str, Any] = {"scene_id": scene, "proposal_id": proposal, "properties": WORDS}
    proven = some_evidence("book", EvidenceKind.SOURCE)
    return creation_entries(
        a_space(parent=SpaceId(uuid_of("multiverse")), properties=WORDS, description="d"),
        an_entity(
            entity_class=EntityClass.ARCHETYPE,
            entity_type=EntityType.FACTION,
            derives_from=frodo,
            level=CanonLevel.PROPOSED,
            evidence=proven,
        ),
        an_observation(
            "frodo",
            "said",
            fields={"name": "Frodo", "state_tags": {"alive": True}, "properties.w": WORDS},
            evidence=proven,
            observed_at=THEN,
            correction=True,
            priority=1000,
            specificity=0.5,
            schema_version="1.0",
            run_id=RunId(uuid_of("run")),
            fragments={"f": Fragment(value=WORDS, reason="unknown_field")},
            dates={"w": Dated(event_type="Due", instant=THEN, policy="highest_priority")},
        ),
        a_relation("r", "frodo", "sam", since=THEN, **judged),
        replace(
            a_fact("fact", "frodo", time_ref=THEN, duration=60, **judged),
            fact_type=FactType.OCCURRENCE,
            replaces=fact,
            authority=Authority.SOURCE,
        ),
        an_event(
            "event",
            "frodo",
            time_ref=THEN,
            causes=(EventId(uuid_of("effect")),),
            description="d",
            properties={"z": [1, "é"]},
            scene_id=scene,
            proposal_id=proposal,
        ),
        an_axiom(
            domain=AxiomDomain.TECHNOLOGY,
            constraint=Constraint(kind="forbidden_tag", values=("dead",), entity_type="faction"),
        ),
        a_source(
            edition="2nd",
            origin="shelf",
            source_type=SourceType.LORE,
            content_hash="0a",
            mime_type="text/plain",
            size=2,
            file_name="f",
            files=("files/f",),
            content="{}",
            properties=WORDS,
        ),
        a_snippet(page=3, section="III", index=2),
        a_story(
            story_type=StoryType.ONE_SHOT,
            theme="t",
            premise="p",
            parent_id=story,
            start_time_ref=THEN,
        ),
        a_scene(purpose="p", location_ref=frodo, participants=(frodo,), time_ref=THEN),
        a_turn(speaker=Speaker.ENTITY, entity_id=frodo, resolution_ref="r", text='"\u00e9"\n'),
        a_proposal(
            type=ProposalType.STATE_CHANGE,
            turn_id=TurnId(uuid_of("turn")),
            turn_index=4,
            content=WORDS,
            original=WORDS,
        ),
        a_schema(derived=True),
        a_run(
            config=WORDS,
            status=RunStatus.FAILED,
            entities_created=1,
            observations_created=2,
            fragments=3,
            warnings=("w",),
            error="interpretation.failed",
            started_at=THEN,
            ended_at=THEN,
        ),
        a_memory(linked_fact_id=fact, scene_id=scene, emotional_valence=-0.5),
    )


def statements_of(one: str, two: str) -> tuple[Statement, ...]:
    dried = frozenset(("night", "in:east_wing", "after:rain"))
    depth = Quantity(low=-1.5, high=2.0, dimension="length", step=0.5, about=True)
    return (
        Statement(subject=one, attribute="place", value=two),
        Statement(
            subject="~captain of:petrel",
            attribute="place",
            holds=False,
            phase=Phase.ENDS,
            modality=Modality.PLANNED,
            quantifier="only",
            qualifiers=dried,
            when="1402",
            implied=True,
        ),
        Statement(subject=one, attribute="depth", value=depth),
        Statement(subject=one, attribute="number", value=Quantity(low=3.0)),
    )


def golden_entries() -> tuple[Entry, ...]:
    """Every kind once."""
    scene, one, two = SceneId(uuid_of("scene")), uuid_of("one"), uuid_of("two")
    decision = a_decision(conflicts=(one,), canonical_id=two, made=(two,), score=0.25)
    return (
        *_item_entries(),
        SpaceRevised(space_id=SpaceId(one), name="n", description="d", properties=WORDS),
        EntityRetconned(entity_id=EntityId(one), replaced_by=EntityId(two), reason="r"),
        EntitiesMerged(
            kept=EntityId(one), merged=EntityId(two), members=(EntityId(uuid_of("x")),), reason="r"
        ),
        EntitiesUnmerged(
            kept=EntityId(one), separated=EntityId(two), remaining=(EntityId(one),), reason="r"
        ),
        RelationDetailed(relation_id=RelationId(one), properties=WORDS, told=two),
        KeysDisowned(entity_id=EntityId(one), keys=("ann lee", "\x1ename:ann lee")),
        FileAttached(source_id=SourceId(one), file="files/one"),
        RelationEnded(
            relation_id=RelationId(one), until=THEN, superseded_by=RelationId(two), reason="r"
        ),
        RelationResumed(relation_id=RelationId(one), fallen=RelationId(two)),
        RelationRetconned(relation_id=RelationId(one), replaced_by=RelationId(two), reason="r"),
        FactSuperseded(fact_id=FactId(one), until=THEN, superseded_by=FactId(two)),
        FactResumed(fact_id=FactId(one), fallen=FactId(two)),
        FactRetconned(fact_id=FactId(one), replaced_by=FactId(two), reason="r"),
        FactRead(fact_id=FactId(one), reader=1, statements=statements_of(one, two)),
        EventRetconned(event_id=EventId(one), replaced_by=EventId(two), reason="r"),
        CausesLinked(cause=EventId(one), effect=EventId(two)),
        EvidenceLinked(thing_id=one, evidence=Evidence(kind=EvidenceKind.RULE, ref=two)),
        StoryMoved(story_id=StoryId(one), status=StoryStatus.COMPLETED),
        SceneMoved(scene_id=scene, status=SceneStatus.FINALIZING),
        SceneNoted(scene_id=scene, gm_notes="n"),
        SceneDated(scene_id=scene, time_ref=THEN),
        SaidAt(thing_id=scene, said_at=THEN),
        SceneStaged(scene_id=scene, joined=(EntityId(one),), left=(EntityId(two),)),
        ScenePlaced(scene_id=scene, location_ref=EntityId(one)),
        SceneSummarised(scene_id=scene, summary="s"),
        SceneExtended(scene_id=scene, outcomes=("o",)),
        SceneCompleted(scene_id=scene, outcomes=(one,), summary="s"),
        ProposalDecided(proposal_id=ProposalId(one), decision=decision),
        ProposalDeferred(
            proposal_id=ProposalId(one),
            ruling=replace(
                decision,
                status=ProposalStatus.PENDING,
                graded=(GradedConflict(id=one, grade=Grade.POSSIBLE, reason="r"),),
            ),
        ),
        ConflictWaived(proposal_id=ProposalId(one), other=two, reason="r"),
        AudienceChanged(thing_id=one, audience=("gm",), reason="r"),
        Restored(thing_id=one, fields=WORDS, audience=("gm",)),
        CallUndone(
            commit_id=CommitId(one),
            targets=(two,),
            reason="r",
            evidence=some_evidence("book", EvidenceKind.SOURCE),
        ),
        Withdrawn(targets=(one, two), reason="r"),
        EntityRebuilt(
            entity_id=EntityId(one), standing=(ObservationId(two),), family=(EntityId(one),)
        ),
        Erased(targets=(one, two), reason="r"),
    )
