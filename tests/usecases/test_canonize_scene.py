"""Canonizing a scene: what becomes of its proposals, of the scene, and of what it made."""

from dataclasses import replace

import pytest

from canonry.canon.canonization.canonize_scene import canonize_scene, proposals_of
from canonry.log.entries import ProposalDecided
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import ProposalStatus
from canonry.log.items.scenes import SceneStatus
from canonry.log.schemas.narrative import EntityType
from canonry.testing.clocks import a_caller
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_decision,
    a_proposal,
    a_turn,
    an_event,
    uuid_of,
)
from canonry.values.errors import Conflict, NotFound
from canonry.values.ids import CommitId, ProposalId, SceneId, derived_id
from canonry.values.policy import Policy, Scoring
from canonry.values.provenance import Authority, CanonLevel
from tests.usecases.stage import (
    ACCEPTED,
    REJECTED,
    Stage,
    a_stage,
    day_text,
    id_of,
    verdict_on,
    world_day,
)

pytestmark = pytest.mark.anyio


async def test_a_scene_canonizes_every_proposal_type_in_order_of_need() -> None:
    stage = await a_stage()
    await stage.propose("fact", {"statement": "Sam trusts Frodo", "entity_ids": ["$sam", "$f"]})
    await stage.propose("event", {"title": "They leave", "actors": ["$sam", "$f"]})
    await stage.propose("state_change", {"entity": "$sam", "changes": {"add": ["tired"]}})
    await stage.propose("relationship", {"from": "$sam", "to": "$f", "rel_type": "ALLY_OF"})
    for name, ref in (("Sam", "$sam"), ("Frodo", "$f")):
        await stage.propose("entity", {"name": name, "entity_type": "character", "ref": ref})

    report = await stage.canonize()

    assert len(report.with_status(ACCEPTED)) == 6
    counts = (
        report.ids_of_kind(Fact),
        report.ids_of_kind(Event),
        report.ids_of_kind(Entity),
        report.ids_of_kind(Relation),
    )
    assert [len(ids) for ids in counts] == [2, 1, 2, 1]
    scene = await stage.find_item(uuid_of("scene"))
    assert scene.status is SceneStatus.COMPLETED
    assert set(scene.outcomes) == {one for ids in counts for one in ids}
    (sam,) = await stage.canon.state.entities_named(MIDDLE_EARTH, EntityType.CHARACTER, "sam")
    assert sam.state_tags == ("tired",)


async def test_everything_created_cites_its_turn_and_scene() -> None:
    stage = await a_stage(Policy(scoring=Scoring(threshold=0.1)))

    verdict = await stage.verdict("fact", {"statement": "x"}, cited=(), authority=Authority.GM)

    fact = await stage.find_item(verdict.canonical_id)
    assert {str(each) for each in fact.evidence} == {
        f"turn:{uuid_of('scene/turn')}",
        f"scene:{uuid_of('scene')}",
    }
    assert (fact.scene_id, fact.level) == (uuid_of("scene"), CanonLevel.CANON)


async def test_each_proposal_is_one_commit_with_an_id_derived_from_it() -> None:
    stage = await a_stage()
    good = await stage.propose("fact", {"statement": "x"})
    weak = await stage.propose("fact", {"statement": "y"}, authority=Authority.SYSTEM)

    await stage.canonize()

    for one in (good, weak):
        commit = await stage.canon.ledger.find_commit(
            CommitId(derived_id(CommitId(one), "canonization"))
        )
        assert commit is not None
        decided = [e.proposal_id for e in commit.entries if isinstance(e, ProposalDecided)]
        assert decided == [one]


async def test_an_item_already_canon_is_not_repeated_but_gains_evidence() -> None:
    stage = await a_stage()
    frodo = await stage.entity("Frodo")
    again = await stage.propose("entity", {"name": " FRODO ", "entity_type": "character"})
    other = await stage.propose("entity", {"name": "Frodo", "entity_type": "concept"})
    first = await stage.propose("fact", {"statement": "x"})
    second = await stage.propose("fact", {"statement": "X "})
    owns = {"from": frodo, "to": f"proposal:{other}", "type": "KNOWS"}
    edge = await stage.propose("relationship", owns)
    twice = await stage.propose("relationship", owns)

    report = await stage.canonize()

    assert verdict_on(report, again).canonical_id == frodo
    assert verdict_on(report, other).canonical_id != frodo
    for one, same in ((first, second), (edge, twice)):
        assert verdict_on(report, one).canonical_id == verdict_on(report, same).canonical_id
        assert verdict_on(report, same).made == ()
    assert frodo in report.ids_of_kind(Entity)
    cited = {str(each) for each in (await stage.find_item(frodo)).evidence}
    assert f"scene:{uuid_of('scene')}" in cited


async def test_an_undated_proposal_happens_at_the_time_of_its_scene() -> None:
    stage = await a_stage()
    await stage.scene("dated", order=2, time_ref=world_day(3))

    event = await stage.verdict("event", {"title": "x"}, scene="dated")

    assert (await stage.find_item(event.canonical_id)).time_ref == world_day(3)


async def test_an_earlier_scene_does_not_know_a_later_death() -> None:
    stage = await a_stage()
    gollum = await stage.entity("Gollum")
    await stage.scene("third", order=3)
    await stage.scene("second", order=2)
    await stage.scene("fourth", order=4)
    death = {"entity_id": gollum, "add": ["dead"]}
    died = await stage.verdict("state_change", death, scene="third")
    acts = {"title": "He fishes", "actor": gollum}

    before = await stage.verdict("event", acts, scene="second")
    after = await stage.verdict("event", acts, scene="fourth")

    assert (died.status, before.status) == (ACCEPTED, ACCEPTED)
    assert (after.status, after.rule) == (REJECTED, "gate:actor-alive")


async def test_without_evaluation_nothing_is_decided_and_the_scene_ends() -> None:
    stage = await a_stage()
    await stage.entity("Frodo")
    waiting = await stage.propose("fact", {"statement": "x"})
    decided = await stage.propose("fact", {"statement": "y"})
    decision = a_decision(canonical_id=id_of("Frodo"), rule="keeper:evaluation")
    await stage.scribe.write_entries(
        ProposalDecided(proposal_id=ProposalId(decided), decision=decision)
    )

    report = await stage.canonize(evaluate=False)

    assert report.with_status(ProposalStatus.PENDING) == (waiting,)
    assert report.with_status(ACCEPTED) == (decided,)
    assert report.ids_of_kind(Entity) == (id_of("Frodo"),)
    assert report.ids_of_kind(Fact) == ()
    assert (await stage.find_item(uuid_of("scene"))).status is SceneStatus.COMPLETED


async def test_the_keepers_events_for_the_scene_are_among_its_outcomes() -> None:
    stage = await a_stage()
    await stage.make(an_event("battle", scene_id=uuid_of("scene")))

    report = await stage.canonize()

    assert report.ids_of_kind(Event) == (uuid_of("battle"),)


async def test_the_summary_is_the_given_one_and_never_taken_from_turns() -> None:
    stage = await a_stage()
    turns = [
        a_turn("t1", index=1, text="Frodo takes the ring. The wind blows."),
        a_turn("t2", index=2, text="The ring burns Frodo. Sam cries."),
    ]
    await stage.make(*turns)
    await stage.scene("given", order=2)

    extracted = await stage.canonize()
    given = await stage.canonize("given", summary="They part.")

    assert extracted.summary == "scene"
    assert given.summary == "They part."
    assert (await stage.find_item(uuid_of("scene"))).summary == extracted.summary


async def test_a_completed_scene_is_not_canonized_again() -> None:
    stage = await a_stage()
    await stage.canonize()
    before = await stage.canon.ledger.head_position(MIDDLE_EARTH)

    with pytest.raises(Conflict) as refusal:
        await stage.canonize()

    assert refusal.value.code == "scene.completed"
    assert await stage.canon.ledger.head_position(MIDDLE_EARTH) == before


async def test_a_retry_with_the_same_key_gets_the_same_report() -> None:
    stage = await a_stage()
    await stage.propose("fact", {"statement": "x"})
    caller = replace(a_caller(), idempotency_key="once")
    first = await canonize_scene(stage.canon, caller, uuid_of("scene"))
    await stage.scene("other", order=2)

    assert await canonize_scene(stage.canon, caller, uuid_of("scene")) == first
    with pytest.raises(Conflict, match="key-reused"):
        await canonize_scene(stage.canon, caller, uuid_of("other"))


async def test_a_missing_scene_is_not_found() -> None:
    stage = await a_stage()

    with pytest.raises(NotFound, match=r"scene\.unknown"):
        await stage.canonize("nowhere")


async def test_earlier_world_events_are_applied_first() -> None:
    stage = await a_stage()
    frodo = await stage.entity("Frodo")
    for tag, number in (("wounded", 2), ("healthy", 1)):
        await stage.propose(
            "state_change", {"entity_id": frodo, "add": [tag], "time_ref": day_text(number)}
        )

    await stage.canonize()

    assert (await stage.find_item(frodo)).state_tags == ("wounded",)


async def test_more_proposals_than_a_page_are_all_decided() -> None:
    stage = await a_stage()
    proposals = [await stage.propose("fact", {"statement": f"fact {n}"}) for n in range(120)]

    report = await stage.canonize()

    assert report.with_status(ACCEPTED) == tuple(proposals)
    assert len(report.ids_of_kind(Fact)) == 120


async def test_a_symmetric_relation_is_the_same_from_either_end() -> None:
    stage: Stage = await a_stage()
    frodo, sam = await stage.entity("Frodo"), await stage.entity("Sam")
    one = await stage.propose("relationship", {"from": frodo, "to": sam, "type": "ALLIED_WITH"})
    two = await stage.propose("relationship", {"from": sam, "to": frodo, "type": "ALLY_OF"})

    report = await stage.canonize()

    assert verdict_on(report, one).canonical_id == verdict_on(report, two).canonical_id


async def test_all_proposals_of_a_scene_are_read_whatever_their_number() -> None:
    stage = await a_stage()
    for first in range(0, 20_500, 500):
        await stage.make(*(a_proposal(f"proposal {first + n}", "scene") for n in range(500)))

    found = await proposals_of(stage.canon, MIDDLE_EARTH, SceneId(uuid_of("scene")))

    assert len({each.id for each in found}) == 20_500


async def test_a_scene_is_completed_with_every_event_recorded_in_it() -> None:
    stage = await a_stage()
    found = [an_event(f"event {n}", scene_id=SceneId(uuid_of("scene"))) for n in range(501)]
    await stage.make(*found)

    await stage.canonize()

    scene = await stage.find_item(uuid_of("scene"))
    assert set(scene.outcomes) == {each.id for each in found}
