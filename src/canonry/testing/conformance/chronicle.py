"""A short chronicle of two worlds with every kind of entry. Contracts read it back."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from canonry.log import entries as log
from canonry.log.commits import Draft
from canonry.log.entries import Entry
from canonry.log.items.entities import EntityClass
from canonry.log.items.facts import Constraint
from canonry.log.items.proposals import ProposalStatus, ProposalType
from canonry.log.items.scenes import SceneStatus, Speaker, StoryStatus, StoryType
from canonry.log.items.sources import RunStatus, SourceType
from canonry.log.schemas.narrative import EntityType
from canonry.testing.clocks import a_draft, an_append
from canonry.testing.conformance.kit import PROPERTIES, TEXTS, Backend
from canonry.testing.example_items import (
    ELSEWHERE,
    MIDDLE_EARTH,
    PROJECT,
    a_decision,
    a_fact,
    a_link,
    a_link_id,
    a_memory,
    a_named,
    a_project,
    a_proposal,
    a_record,
    a_relation,
    a_revised_item,
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
    an_item,
    an_observation,
    creation_entries,
    some_evidence,
    uuid_of,
)
from canonry.values.ids import SpaceId, SpaceKind
from canonry.values.moments import DAY, Instant
from canonry.values.observations import Fragment
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind

_NAMES: Final = {MIDDLE_EARTH: "here", ELSEWHERE: "there", PROJECT: "listed"}
SECRET: Final = "xyzzy-the-words-that-must-vanish"  # noqa: S105 - nobody logs in with it
"""The text of the memory called `secret`. It occurs nowhere else."""


def _opening_entries() -> Iterator[tuple[Entry, ...]]:
    yield creation_entries(
        a_space(properties=PROPERTIES, description=TEXTS[4]),
        a_space("multiverse", kind=SpaceKind.MULTIVERSE),
    )
    yield (
        *a_named("Frodo", tags=("alive", "in:shire")),
        *a_named("Sam", tags=("alive",)),
        *a_named("frodo", entity_type=EntityType.OBJECT),
        *a_named("Hobbit", entity_class=EntityClass.ARCHETYPE),
        *a_named("Shire", entity_type=EntityType.LOCATION, derives_from=uuid_of("Hobbit")),
    )
    yield (
        *a_named("Strider", tags=("alive", "hidden")),
        *a_named("Aragorn", tags=("king",)),
        *a_named("Elessar", level=CanonLevel.PROPOSED, authority=Authority.PLAYER),
        *a_named(
            "Bill", confidence=0.25, evidence=some_evidence("snippet 0", EvidenceKind.SNIPPET)
        ),
    )
    values = {"properties.age": 50, "properties.deep": PROPERTIES, "description": TEXTS[3]}
    yield creation_entries(
        an_observation("Frodo", "age", fields=values, observed_at=Instant(-DAY)),
        an_observation("Frodo", "fix", fields={"properties.age": 51}, correction=True),
        an_observation("Frodo", "tags", fields={"state_tags": {"alive": False, "gone": True}}),
    )
    yield from _record_entries()
    snippets = (
        a_snippet(f"snippet {n}", index=n, page=n, section="I", text=t) for n, t in enumerate(TEXTS)
    )
    constraint = Constraint(kind="exclusive_tags", values=("alive", "dead"), entity_type=None)
    yield creation_entries(
        a_source(edition="2nd", origin="shelf"),
        *snippets,
        an_axiom("magic fades"),
        an_axiom("no person is two people", constraint=constraint),
    )


def _record_entries() -> Iterator[tuple[Entry, ...]]:
    """Yield records read by a schema. A later one has another date and additional fields."""
    record_evidence = some_evidence("ledger", EvidenceKind.SOURCE)
    first = a_record("bill 1", "said 1", due=1, priority=0, run_id=uuid_of("run"))
    second = a_record("bill 2", "said 2", due=1)
    yield creation_entries(
        a_schema("bill"),
        a_source("ledger", source_type=SourceType.RECORDS, content="[]"),
        an_entity("bill 1", entity_type="bill", evidence=record_evidence),
        an_entity("bill 2", entity_type="bill", evidence=record_evidence),
        first,
        second,
        a_run("run", "ledger", entities_created=2, warnings=("one",)),
    )
    colour = {"colour": Fragment(value=PROPERTIES, reason="unknown_field")}
    tags = {"properties.tags": ["red", "blue"], "properties.email": "Bill@x.org"}
    yield creation_entries(
        a_schema("bill", "1.1"),
        a_record("bill 1", "said 3", due=3, fragments=colour),
        an_observation(
            "bill 2", "said 4", fields=tags, schema_version="1.1", evidence=record_evidence
        ),
        a_run("failed", "ledger", status=RunStatus.FAILED, error="interpretation.failed"),
    )


def _play_entries() -> Iterator[tuple[Entry, ...]]:
    yield creation_entries(
        a_story(theme="loss", premise=TEXTS[2], start_time_ref=Instant(0)),
        a_story("arc", story_type=StoryType.ARC, parent_id=uuid_of("story")),
        a_scene(participants=(uuid_of("Frodo"), uuid_of("Sam")), location_ref=uuid_of("Shire")),
        a_scene("later", order=2, purpose="rest", time_ref=Instant(5 * DAY)),
    )
    yield creation_entries(
        a_turn("turn", text="The ring must go to the fire"),
        a_turn("turn 1", speaker=Speaker.ENTITY, entity_id=uuid_of("Sam"), text=TEXTS[8]),
        a_turn("turn 2", speaker=Speaker.USER, resolution_ref=uuid_of("roll"), text="I follow"),
        a_turn("turn 3", "later", text=TEXTS[9]),
    )
    yield creation_entries(
        a_proposal("they left", content={"statement": "they left", "involved": [uuid_of("Sam")]}),
        a_proposal("it burned", type=ProposalType.EVENT, original=PROPERTIES, turn_index=2),
        a_proposal("ingested", None, authority=Authority.SOURCE, proposed_by="ingest-001"),
    )
    yield creation_entries(
        a_memory("of home", "Frodo", text="green hills", importance=0.9, emotional_valence=-1.0),
        a_memory("of fear", "Frodo", linked_fact_id=uuid_of("at home"), certainty=0.1),
        a_memory("secret", "Sam", text=SECRET, scene_id=uuid_of("scene")),
    )


def _canon_entries() -> Iterator[tuple[Entry, ...]]:
    yield creation_entries(
        a_fact("at home", "Frodo", time_ref=Instant(0), duration=10 * 86_400),
        a_fact("on the road", "Frodo", "Sam", time_ref=Instant(3 * DAY)),
        a_fact("is small", "Frodo", "Frodo", properties=PROPERTIES, authority=Authority.PLAYER),
        a_fact("a lie", level=CanonLevel.PROPOSED, replaces=uuid_of("is small")),
    )
    yield creation_entries(
        an_event("birth", "Frodo", time_ref=Instant(-DAY), causes=(uuid_of("flight"),)),
        an_event("flight", "Frodo", "Sam", scene_id=uuid_of("scene"), severity=10),
        an_event("dream", time_ref=None, description=TEXTS[3]),
    )
    yield creation_entries(
        a_relation("friends", "Frodo", "Sam", since=Instant(0), properties=PROPERTIES),
        a_relation("home", "Frodo", "Shire", rel_type="LOCATED_IN"),
        a_relation("rivals", "Sam", "Strider", authority=Authority.SYSTEM),
        a_relation("self", "Sam", "Sam"),
    )
    turn = Evidence(kind=EvidenceKind.TURN, ref=uuid_of("turn"))
    yield tuple(
        log.EvidenceLinked(thing_id=uuid_of(name), evidence=turn)
        for name in ("at home", "birth", "Frodo", "magic fades", "friends")
    )
    yield (
        log.CausesLinked(cause=uuid_of("flight"), effect=uuid_of("dream")),
        log.FactSuperseded(
            fact_id=uuid_of("at home"), until=Instant(3 * DAY), superseded_by=uuid_of("on the road")
        ),
        log.RelationEnded(
            relation_id=uuid_of("home"),
            until=Instant(3 * DAY),
            superseded_by=None,
            reason="they left",
        ),
    )


def _change_entries() -> Iterator[tuple[Entry, ...]]:
    yield (
        log.SpaceRevised(
            space_id=MIDDLE_EARTH, name="Arda", description=TEXTS[4], properties=PROPERTIES
        ),
        log.EntityRetconned(entity_id=uuid_of("Bill"), replaced_by=uuid_of("Sam"), reason=TEXTS[2]),
        log.FactRetconned(fact_id=uuid_of("a lie"), replaced_by=None, reason="a lie"),
        log.EventRetconned(event_id=uuid_of("dream"), replaced_by=None, reason="woke up"),
        log.RelationRetconned(relation_id=uuid_of("rivals"), replaced_by=None, reason="no"),
    )
    strider, aragorn, elessar = uuid_of("Strider"), uuid_of("Aragorn"), uuid_of("Elessar")
    yield (log.EntitiesMerged(kept=aragorn, merged=strider, members=(), reason="the same man"),)
    yield (log.EntitiesMerged(kept=elessar, merged=aragorn, members=(strider,), reason="crowned"),)
    yield (
        log.EntitiesUnmerged(
            kept=elessar, separated=strider, remaining=(aragorn,), reason="somebody else"
        ),
    )
    scene, later = uuid_of("scene"), uuid_of("later")
    refused = a_decision(
        status=ProposalStatus.REJECTED, rule="tags", score=None, conflicts=(uuid_of("is small"),)
    )
    yield (
        log.StoryMoved(story_id=uuid_of("arc"), status=StoryStatus.ABANDONED),
        log.SceneMoved(scene_id=scene, status=SceneStatus.FINALIZING),
        log.SceneMoved(scene_id=later, status=SceneStatus.FINALIZING),
        log.SceneNoted(scene_id=later, gm_notes=TEXTS[10]),
        log.SceneDated(scene_id=later, time_ref=Instant(6 * DAY)),
        log.SaidAt(thing_id=later, said_at=Instant(7 * DAY)),
        log.SceneStaged(scene_id=later, joined=(uuid_of("Frodo"),)),
        log.SceneStaged(scene_id=later, left=(uuid_of("Frodo"),)),
        log.ScenePlaced(scene_id=later, location_ref=uuid_of("Shire")),
        log.SceneSummarised(scene_id=later, summary=TEXTS[10]),
        log.SceneExtended(scene_id=later, outcomes=(later,)),
        log.ProposalDecided(
            proposal_id=uuid_of("they left"),
            decision=a_decision(
                canonical_id=uuid_of("on the road"), made=(uuid_of("on the road"),)
            ),
        ),
        log.ProposalDecided(proposal_id=uuid_of("it burned"), decision=refused),
    )
    outcomes = (uuid_of("on the road"),)
    yield (log.SceneCompleted(scene_id=scene, outcomes=outcomes, summary="The ring leaves home"),)
    yield creation_entries(
        a_memory("gossip", "Shire"), a_turn("slip", "later", text="a slip of the tongue")
    )
    yield (log.Erased(targets=(uuid_of("gossip"), uuid_of("slip")), reason="a right"),)


def _entries_elsewhere() -> Iterator[tuple[Entry, ...]]:
    yield creation_entries(a_space("elsewhere", parent=uuid_of("multiverse")))
    yield a_named("Frodo of elsewhere", tags=("alive",), space=ELSEWHERE)
    yield creation_entries(
        a_fact("other fact", "Frodo of elsewhere", space=ELSEWHERE),
        a_memory("other memory", "Frodo of elsewhere", space=ELSEWHERE, text="green hills"),
        a_story("other story", space=ELSEWHERE),
        a_scene("other scene", "other story", space=ELSEWHERE),
        a_turn("other turn", "other scene", space=ELSEWHERE, text="the ring is a toy"),
        an_axiom("other axiom", space=ELSEWHERE),
        a_source("other source", space=ELSEWHERE),
    )


def _catalog_entries() -> Iterator[tuple[Entry, ...]]:
    yield creation_entries(a_project())
    yield (
        *an_item("a guide", "guide", title=TEXTS[3], summary=TEXTS[4]),
        *an_item("a concept", "concept", title="Strasse"),
        *an_item("another concept", "concept", title=TEXTS[8], summary=None),
        *an_item("where it stands", "sourceItem", url="https://example.org/1"),
    )
    yield creation_entries(
        a_link("uses", "GUIDE_USES_CONCEPT", "a guide", "a concept"),
        a_link("knows", "CONCEPT_RELATES_TO_CONCEPT", "a concept", "another concept"),
        a_link("reads", "GUIDE_REFERENCES_SOURCE", "a guide", "where it stands"),
        a_link("itself", "CONCEPT_RELATES_TO_CONCEPT", "a concept", "a concept"),
    )
    knows = a_link_id("knows")
    yield (
        creation_entries(a_revised_item("a concept", "concept", title="Stra\u00dfe"))[0],
        log.RelationEnded(relation_id=knows, until=None, superseded_by=None, reason="no more"),
        log.SpaceRevised(space_id=PROJECT, name="Listed", description="", properties=PROPERTIES),
    )


def chronicle_drafts() -> Mapping[SpaceId, Sequence[Draft]]:
    """Return the drafts of each space, in order."""
    here = (*_opening_entries(), *_play_entries(), *_canon_entries(), *_change_entries())
    commits_by_space = {
        MIDDLE_EARTH: here,
        ELSEWHERE: _entries_elsewhere(),
        PROJECT: _catalog_entries(),
    }
    return {
        space: [a_draft(f"{_NAMES[space]} {n}", e, space=space) for n, e in enumerate(commits)]
        for space, commits in commits_by_space.items()
    }


async def write_chronicle(backend: Backend) -> Mapping[SpaceId, Sequence[Draft]]:
    """Write the chronicle, one commit a second, and return its drafts."""
    written = chronicle_drafts()
    for space, drafts in written.items():
        for n, draft in enumerate(drafts):
            backend.clock.move_by(1_000_000)
            name = f"{_NAMES[space]} {n}"
            await backend.canon.ledger.append_drafts([an_append(name, draft.entries, space=space)])
    return written
