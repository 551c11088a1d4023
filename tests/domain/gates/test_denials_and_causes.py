"""The gates that compare what is said and what is caused with what canon says and causes."""

import pytest

from canonry.log.items.proposals import ProposalStatus
from canonry.testing.example_items import a_fact, an_event, uuid_of
from canonry.values.ids import EntityId, EventId
from canonry.values.provenance import Authority, CanonLevel
from tests.usecases.stage import (
    ACCEPTED,
    PENDING,
    REJECTED,
    a_peopled_stage,
    day_text,
    id_of,
    verdict_on,
    world_day,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("the  GATE is not open", REJECTED),
        ("The gate isn't open", REJECTED),
        ("The gate is no longer open", PENDING),
        ("The gate is not closed", ACCEPTED),
    ],
)
async def test_canon_does_not_deny_its_own_statements(
    statement: str, status: ProposalStatus
) -> None:
    stage = await a_peopled_stage()
    fact = a_fact("The gate is open", involved=(EntityId(id_of("Mordor")),))
    await stage.make(fact)

    verdict = await stage.verdict("fact", {"statement": statement, "entity_ids": [id_of("Mordor")]})

    assert verdict.status is status
    if status is REJECTED:
        assert (verdict.rule, verdict.conflicts) == ("gate:statement-negated", (fact.id,))


async def test_a_statement_that_the_dead_live_changes_their_state() -> None:
    stage = await a_peopled_stage()
    await stage.tag("Gollum", "dead")
    gollum = id_of("Gollum")
    alive = {"statement": "Gollum is alive again.", "entity_ids": [gollum]}
    for order in (2, 3):
        await stage.scene(f"scene {order}", order=order)

    waiting = await stage.verdict("fact", alive, scene="scene 2")
    decreed = await stage.verdict("fact", alive, authority=Authority.GM, scene="scene 3")

    assert (waiting.status, waiting.rule) == (PENDING, "gate:state-tags-exclusive")
    assert (decreed.status, decreed.conflicts) == (ACCEPTED, ())
    died = await stage.find_item(waiting.conflicts[0])
    assert (died.level, died.superseded) == (CanonLevel.CANON, True)
    assert (await stage.find_item(gollum)).state_tags == ("alive",)


async def test_a_left_state_denies_nothing() -> None:
    stage = await a_peopled_stage()
    frodo = id_of("Frodo")
    await stage.tag("Frodo", "healthy")
    wounded = {"entity_id": frodo, "add": ["wounded"]}
    await stage.verdict("state_change", wounded, authority=Authority.GM)
    await stage.scene("scene 2", order=2)

    verdict = await stage.verdict(
        "fact", {"statement": "Frodo is not healthy", "entity_ids": [frodo]}, scene="scene 2"
    )

    assert verdict.status is ACCEPTED


async def test_a_denial_of_another_entity_or_time_contradicts_nothing() -> None:
    stage = await a_peopled_stage()
    shire, mordor = EntityId(id_of("Shire")), EntityId(id_of("Mordor"))
    said = a_fact("The gate is open", involved=(mordor,), time_ref=world_day(1), duration=86_400)
    standing = a_fact("The road is safe", involved=(mordor,), time_ref=world_day(1))
    await stage.make(said, standing)
    other = await stage.propose(
        "fact", {"statement": "The gate is not open", "entity_ids": [shire]}
    )
    later = await stage.propose(
        "fact",
        {"statement": "The gate is not open", "entity_ids": [mordor], "time_ref": day_text(3)},
    )
    ended = await stage.propose(
        "fact",
        {"statement": "The road is not safe", "entity_ids": [mordor], "time_ref": day_text(3)},
        authority=Authority.GM,
    )

    report = await stage.canonize()

    assert verdict_on(report, other).status is ACCEPTED
    assert verdict_on(report, later).rule == "gate:score-reaches-threshold"
    assert verdict_on(report, ended).rule == "gate:statement-negated"
    assert (await stage.find_item(standing.id)).until == world_day(3)


@pytest.mark.parametrize(
    ("new", "old", "status"),
    [
        (Authority.PLAYER, Authority.SYSTEM, ACCEPTED),
        (Authority.PLAYER, Authority.PLAYER, ACCEPTED),
        (Authority.PLAYER, Authority.GM, PENDING),
        (Authority.GM, Authority.SOURCE, ACCEPTED),
    ],
)
async def test_a_fact_corrects_one_of_no_higher_authority_and_waits_otherwise(
    new: Authority, old: Authority, status: ProposalStatus
) -> None:
    stage = await a_peopled_stage()
    fact = a_fact("The ring is lost", authority=old)
    await stage.make(fact)

    verdict = await stage.verdict(
        "fact", {"statement": "The ring is found", "replaces": fact.id}, authority=new
    )

    assert (verdict.status, verdict.rule) == (status, "gate:replacement-outranks")
    retracted = await stage.find_item(fact.id)
    if status is ACCEPTED:
        assert (retracted.level, retracted.replaced_by) == (
            CanonLevel.RETCONNED,
            verdict.canonical_id,
        )
        assert (await stage.find_item(verdict.canonical_id)).replaces == fact.id
    else:
        assert retracted.level is CanonLevel.CANON


async def test_an_effect_is_not_dated_before_its_cause() -> None:
    stage = await a_peopled_stage()
    await stage.make(an_event("fall", time_ref=world_day(5)))
    early = await stage.propose(
        "event", {"title": "push", "time_ref": day_text(6), "causes": [uuid_of("fall")]}
    )
    late = await stage.propose(
        "event", {"title": "grief", "time_ref": day_text(4), "caused_by": [uuid_of("fall")]}
    )
    right = await stage.propose(
        "event", {"title": "joy", "time_ref": day_text(6), "caused_by": [uuid_of("fall")]}
    )

    report = await stage.canonize()

    for one in (early, late):
        verdict = verdict_on(report, one)
        assert (verdict.status, verdict.rule) == (REJECTED, "gate:causes-in-order")
        assert verdict.conflicts == (uuid_of("fall"),)
    effect = verdict_on(report, right).canonical_id
    assert (await stage.find_item(uuid_of("fall"))).causes == (effect,)


async def test_no_event_brings_about_its_own_cause() -> None:
    stage = await a_peopled_stage()
    await stage.make(
        an_event("first", causes=(EventId(uuid_of("second")),)),
        an_event("second", causes=(EventId(uuid_of("third")),)),
        an_event("third"),
    )

    verdict = await stage.verdict(
        "event",
        {"title": "loop", "causes": [uuid_of("first")], "caused_by": [uuid_of("third")]},
        authority=Authority.GM,
    )

    assert (verdict.status, verdict.rule) == (REJECTED, "gate:causes-acyclic")
    assert verdict.conflicts == (uuid_of("third"),)
