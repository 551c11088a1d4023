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
from canonry.testing.conformance.kit import PROPERTIES, TEXTS, Backend
from canonry.testing.things import (
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
    evidence,
    ident,
    made,
)
from canonry.testing.worlds import a_draft, an_append
from canonry.values.ids import SpaceId, SpaceKind
from canonry.values.moments import DAY, Instant
from canonry.values.observations import Fragment
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind

_NAMES: Final = {MIDDLE_EARTH: "here", ELSEWHERE: "there", PROJECT: "listed"}
SECRET: Final = "xyzzy-the-words-that-must-vanish"  # noqa: S105 - nobody logs in with it
"""The text of the memory called `secret`. It occurs nowhere else."""


def _opening() -> Iterator[tuple[Entry, ...]]:
    yield made(
        a_space(properties=PROPERTIES, description=TEXTS[4]),
        a_space("multiverse", kind=SpaceKind.MULTIVERSE),
    )
    yield (
        *a_named("Frodo", tags=("alive", "in:shire")),
        *a_named("Sam", tags=("alive",)),
        *a_named("frodo", entity_type=EntityType.OBJECT),
        *a_named("Hobbit", entity_class=EntityClass.ARCHETYPE),
        *a_named("Shire", entity_type=EntityType.LOCATION, derives_from=ident("Hobbit")),
    )
    yield (
        *a_named("Strider", tags=("alive", "hidden")),
        *a_named("Aragorn", tags=("king",)),
        *a_named("Elessar", level=CanonLevel.PROPOSED, authority=Authority.PLAYER),
        *a_named("Bill", confidence=0.25, evidence=evidence("snippet 0", EvidenceKind.SNIPPET)),
    )
    said = {"properties.age": 50, "properties.deep": PROPERTIES, "description": TEXTS[3]}
    yield made(
        an_observation("Frodo", "age", fields=said, observed_at=Instant(-DAY)),
        an_observation("Frodo", "fix", fields={"properties.age": 51}, correction=True),
        an_observation("Frodo", "tags", fields={"state_tags": {"alive": False, "gone": True}}),
    )
    yield from _records()
    snippets = (
        a_snippet(f"snippet {n}", index=n, page=n, section="I", text=t) for n, t in enumerate(TEXTS)
    )
    constraint = Constraint(kind="exclusive_tags", values=("alive", "dead"), entity_type=None)
    yield made(
        a_source(edition="2nd", origin="shelf"),
        *snippets,
        an_axiom("magic fades"),
        an_axiom("no person is two people", constraint=constraint),
    )


def _records() -> Iterator[tuple[Entry, ...]]:
    """Yield records read by a schema. A later one has another date and additional fields."""
    told = evidence("ledger", EvidenceKind.SOURCE)
    first = a_record("bill 1", "said 1", due=1, priority=0, run_id=ident("run"))
    second = a_record("bill 2", "said 2", due=1)
    yield made(
        a_schema("bill"),
        a_source("ledger", source_type=SourceType.RECORDS, content="[]"),
        an_entity("bill 1", entity_type="bill", evidence=told),
        an_entity("bill 2", entity_type="bill", evidence=told),
        first,
        second,
        a_run("run", "ledger", entities_created=2, warnings=("one",)),
    )
    colour = {"colour": Fragment(value=PROPERTIES, reason="unknown_field")}
    tags = {"properties.tags": ["red", "blue"], "properties.email": "Bill@x.org"}
    yield made(
        a_schema("bill", "1.1"),
        a_record("bill 1", "said 3", due=3, fragments=colour),
        an_observation("bill 2", "said 4", fields=tags, schema_version="1.1", evidence=told),
        a_run("failed", "ledger", status=RunStatus.FAILED, error="interpretation.failed"),
    )


def _play() -> Iterator[tuple[Entry, ...]]:
    yield made(
        a_story(theme="loss", premise=TEXTS[2], start_time_ref=Instant(0)),
        a_story("arc", story_type=StoryType.ARC, parent_id=ident("story")),
        a_scene(participants=(ident("Frodo"), ident("Sam")), location_ref=ident("Shire")),
        a_scene("later", order=2, purpose="rest", time_ref=Instant(5 * DAY)),
    )
    yield made(
        a_turn("turn", text="The ring must go to the fire"),
        a_turn("turn 1", speaker=Speaker.ENTITY, entity_id=ident("Sam"), text=TEXTS[8]),
        a_turn("turn 2", speaker=Speaker.USER, resolution_ref=ident("roll"), text="I follow"),
        a_turn("turn 3", "later", text=TEXTS[9]),
    )
    yield made(
        a_proposal("they left", content={"statement": "they left", "involved": [ident("Sam")]}),
        a_proposal("it burned", type=ProposalType.EVENT, original=PROPERTIES, turn_index=2),
        a_proposal("ingested", None, authority=Authority.SOURCE, proposed_by="ingest-001"),
    )
    yield made(
        a_memory("of home", "Frodo", text="green hills", importance=0.9, emotional_valence=-1.0),
        a_memory("of fear", "Frodo", linked_fact_id=ident("at home"), certainty=0.1),
        a_memory("secret", "Sam", text=SECRET, scene_id=ident("scene")),
    )


def _canon() -> Iterator[tuple[Entry, ...]]:
    yield made(
        a_fact("at home", "Frodo", time_ref=Instant(0), duration=10 * 86_400),
        a_fact("on the road", "Frodo", "Sam", time_ref=Instant(3 * DAY)),
        a_fact("is small", "Frodo", "Frodo", properties=PROPERTIES, authority=Authority.PLAYER),
        a_fact("a lie", level=CanonLevel.PROPOSED, replaces=ident("is small")),
    )
    yield made(
        an_event("birth", "Frodo", time_ref=Instant(-DAY), causes=(ident("flight"),)),
        an_event("flight", "Frodo", "Sam", scene_id=ident("scene"), severity=10),
        an_event("dream", time_ref=None, description=TEXTS[3]),
    )
    yield made(
        a_relation("friends", "Frodo", "Sam", since=Instant(0), properties=PROPERTIES),
        a_relation("home", "Frodo", "Shire", rel_type="LOCATED_IN"),
        a_relation("rivals", "Sam", "Strider", authority=Authority.SYSTEM),
        a_relation("self", "Sam", "Sam"),
    )
    turn = Evidence(kind=EvidenceKind.TURN, ref=ident("turn"))
    yield tuple(
        log.EvidenceLinked(thing_id=ident(name), evidence=turn)
        for name in ("at home", "birth", "Frodo", "magic fades", "friends")
    )
    yield (
        log.CausesLinked(cause=ident("flight"), effect=ident("dream")),
        log.FactSuperseded(
            fact_id=ident("at home"), until=Instant(3 * DAY), superseded_by=ident("on the road")
        ),
        log.RelationEnded(
            relation_id=ident("home"),
            until=Instant(3 * DAY),
            superseded_by=None,
            reason="they left",
        ),
    )


def _changes() -> Iterator[tuple[Entry, ...]]:
    yield (
        log.SpaceRevised(
            space_id=MIDDLE_EARTH, name="Arda", description=TEXTS[4], properties=PROPERTIES
        ),
        log.EntityRetconned(entity_id=ident("Bill"), replaced_by=ident("Sam"), reason=TEXTS[2]),
        log.FactRetconned(fact_id=ident("a lie"), replaced_by=None, reason="a lie"),
        log.EventRetconned(event_id=ident("dream"), replaced_by=None, reason="woke up"),
        log.RelationRetconned(relation_id=ident("rivals"), replaced_by=None, reason="no"),
    )
    strider, aragorn, elessar = ident("Strider"), ident("Aragorn"), ident("Elessar")
    yield (log.EntitiesMerged(kept=aragorn, merged=strider, members=(), reason="the same man"),)
    yield (log.EntitiesMerged(kept=elessar, merged=aragorn, members=(strider,), reason="crowned"),)
    yield (
        log.EntitiesUnmerged(
            kept=elessar, separated=strider, remaining=(aragorn,), reason="somebody else"
        ),
    )
    scene, later = ident("scene"), ident("later")
    refused = a_decision(
        status=ProposalStatus.REJECTED, rule="tags", score=None, conflicts=(ident("is small"),)
    )
    yield (
        log.StoryMoved(story_id=ident("arc"), status=StoryStatus.ABANDONED),
        log.SceneMoved(scene_id=scene, status=SceneStatus.FINALIZING),
        log.SceneMoved(scene_id=later, status=SceneStatus.FINALIZING),
        log.SceneNoted(scene_id=later, gm_notes=TEXTS[10]),
        log.SceneDated(scene_id=later, time_ref=Instant(6 * DAY)),
        log.SaidAt(thing_id=later, said_at=Instant(7 * DAY)),
        log.SceneStaged(scene_id=later, joined=(ident("Frodo"),)),
        log.SceneStaged(scene_id=later, left=(ident("Frodo"),)),
        log.ScenePlaced(scene_id=later, location_ref=ident("Shire")),
        log.SceneSummarised(scene_id=later, summary=TEXTS[10]),
        log.SceneExtended(scene_id=later, outcomes=(later,)),
        log.ProposalDecided(
            proposal_id=ident("they left"),
            decision=a_decision(canonical_id=ident("on the road"), made=(ident("on the road"),)),
        ),
        log.ProposalDecided(proposal_id=ident("it burned"), decision=refused),
    )
    outcomes = (ident("on the road"),)
    yield (log.SceneCompleted(scene_id=scene, outcomes=outcomes, summary="The ring leaves home"),)
    yield made(a_memory("gossip", "Shire"), a_turn("slip", "later", text="a slip of the tongue"))
    yield (log.Erased(targets=(ident("gossip"), ident("slip")), reason="a right"),)


def _elsewhere() -> Iterator[tuple[Entry, ...]]:
    yield made(a_space("elsewhere", parent=ident("multiverse")))
    yield a_named("Frodo of elsewhere", tags=("alive",), space=ELSEWHERE)
    yield made(
        a_fact("other fact", "Frodo of elsewhere", space=ELSEWHERE),
        a_memory("other memory", "Frodo of elsewhere", space=ELSEWHERE, text="green hills"),
        a_story("other story", space=ELSEWHERE),
        a_scene("other scene", "other story", space=ELSEWHERE),
        a_turn("other turn", "other scene", space=ELSEWHERE, text="the ring is a toy"),
        an_axiom("other axiom", space=ELSEWHERE),
        a_source("other source", space=ELSEWHERE),
    )


def _listed() -> Iterator[tuple[Entry, ...]]:
    yield made(a_project())
    yield (
        *an_item("a guide", "guide", title=TEXTS[3], summary=TEXTS[4]),
        *an_item("a concept", "concept", title="Strasse"),
        *an_item("another concept", "concept", title=TEXTS[8], summary=None),
        *an_item("where it stands", "sourceItem", url="https://example.org/1"),
    )
    yield made(
        a_link("uses", "GUIDE_USES_CONCEPT", "a guide", "a concept"),
        a_link("knows", "CONCEPT_RELATES_TO_CONCEPT", "a concept", "another concept"),
        a_link("reads", "GUIDE_REFERENCES_SOURCE", "a guide", "where it stands"),
        a_link("itself", "CONCEPT_RELATES_TO_CONCEPT", "a concept", "a concept"),
    )
    knows = a_link_id("knows")
    yield (
        made(a_revised_item("a concept", "concept", title="Stra\u00dfe"))[0],
        log.RelationEnded(relation_id=knows, until=None, superseded_by=None, reason="no more"),
        log.SpaceRevised(space_id=PROJECT, name="Listed", description="", properties=PROPERTIES),
    )


def chronicle() -> Mapping[SpaceId, Sequence[Draft]]:
    """Return the drafts of each space, in order."""
    here = (*_opening(), *_play(), *_canon(), *_changes())
    told = {MIDDLE_EARTH: here, ELSEWHERE: _elsewhere(), PROJECT: _listed()}
    return {
        space: [a_draft(f"{_NAMES[space]} {n}", e, space=space) for n, e in enumerate(commits)]
        for space, commits in told.items()
    }


async def write_chronicle(backend: Backend) -> Mapping[SpaceId, Sequence[Draft]]:
    """Write the chronicle, one commit a second, and return its drafts."""
    written = chronicle()
    for space, drafts in written.items():
        for n, draft in enumerate(drafts):
            backend.clock.move(1_000_000)
            name = f"{_NAMES[space]} {n}"
            await backend.canon.ledger.append([an_append(name, draft.entries, space=space)])
    return written
