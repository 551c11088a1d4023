"""A claim contradicts a held fact, ends it, or possibly conflicts with it."""

from dataclasses import replace

import pytest

from canonry.canon.judging.slices import TIMELINE_MAX
from canonry.log.items.proposals import ProposalStatus
from canonry.testing.example_items import a_fact, uuid_of
from canonry.values.ids import EntityId
from canonry.values.provenance import Authority, CanonLevel
from tests.usecases.stage import (
    ACCEPTED,
    PENDING,
    REJECTED,
    Stage,
    a_stage,
    day_text,
    id_of,
    verdict_on,
    world_day,
)

pytestmark = pytest.mark.anyio

RULE = "gate:statement-negated"


async def a_court() -> Stage:
    """Ana, Bo and Odo, and the hall."""
    stage = await a_stage()
    for name in ("Ana", "Bo", "Odo", "hall"):
        await stage.entity(name)
    return stage


def ids_about(*names: str) -> tuple[EntityId, ...]:
    """The ids of these."""
    return tuple(EntityId(id_of(name)) for name in names)


def fact_content(statement: str, *names: str, **more: object) -> dict[str, object]:
    """The content of a proposed fact."""
    return {"statement": statement, "entity_ids": [id_of(name) for name in names], **more}


async def test_no_longer_ends_a_fact_and_keeps_its_past() -> None:
    stage = await a_court()
    held = a_fact(
        "Ana is queen", involved=ids_about("Ana"), authority=Authority.GM, time_ref=world_day(1)
    )
    await stage.make(held)
    await stage.scene("scene 2", order=2)

    verdict = await stage.verdict(
        "fact",
        fact_content("Ana is no longer queen", "Ana", time_ref=day_text(4)),
        authority=Authority.GM,
        scene="scene 2",
    )

    after = await stage.find_item(held.id)
    assert (verdict.status, verdict.rule) == (ACCEPTED, RULE)
    assert (after.level, after.until) == (CanonLevel.CANON, world_day(4))


@pytest.mark.parametrize(
    "words",
    [
        "Ana is no longer queen.",
        "Ana isn't queen any more",
        "Ana was deposed.",
        "Ana has ceased to be queen",
    ],
)
async def test_ending_words_supersede_and_do_not_rewrite(words: str) -> None:
    stage = await a_court()
    held = a_fact("Ana is queen", involved=ids_about("Ana"), authority=Authority.GM)
    await stage.make(held)
    await stage.scene("scene 2", order=2)

    verdict = await stage.verdict(
        "fact", fact_content(words, "Ana"), authority=Authority.GM, scene="scene 2"
    )

    after = await stage.find_item(held.id)
    assert verdict.status is ACCEPTED
    assert after.level is CanonLevel.CANON
    assert after.superseded


async def test_a_lower_authority_does_not_end_a_higher_one() -> None:
    stage = await a_court()
    await stage.make(a_fact("Ana is queen", involved=ids_about("Ana"), authority=Authority.GM))

    verdict = await stage.verdict("fact", fact_content("Ana is no longer queen", "Ana"))

    assert (verdict.status, verdict.rule) == (PENDING, RULE)
    assert verdict.rationale.startswith("needs review")


@pytest.mark.parametrize(
    ("held", "claimed", "of_held", "of_claim"),
    [
        ("Ana is queen.", "Ana is not queen", ("Ana",), ("Ana",)),
        ("Ana hates Odo", "Ana does not hate Odo.", ("Ana", "Odo"), ("Ana", "Odo")),
        ("Ana is queen", "Ana is no queen", ("Ana",), ("Ana",)),
        ("Bo's eyes are blue", "Bo's eyes are green", ("Bo",), ("Bo",)),
        ("The hall is closed", "The hall is not closed", ("hall",), ("hall", "Ana")),
    ],
)
async def test_a_contradiction_in_other_words_is_rejected(
    held: str, claimed: str, of_held: tuple[str, ...], of_claim: tuple[str, ...]
) -> None:
    stage = await a_court()
    fact = a_fact(held, involved=ids_about(*of_held), authority=Authority.GM)
    await stage.make(fact)

    verdict = await stage.verdict("fact", fact_content(claimed, *of_claim))

    assert (verdict.status, verdict.rule, verdict.conflicts) == (REJECTED, RULE, (fact.id,))


async def test_a_deposed_queen_is_always_reported() -> None:
    stage = await a_court()
    fact = a_fact("Ana is queen", involved=ids_about("Ana"), authority=Authority.GM)
    await stage.make(fact)

    verdict = await stage.verdict("fact", fact_content("Ana was deposed", "Ana"))

    assert (verdict.status, verdict.rule, verdict.conflicts) == (PENDING, RULE, (fact.id,))


async def test_a_full_stop_makes_no_second_fact() -> None:
    stage = await a_court()
    fact = a_fact("Ana is queen.", involved=ids_about("Ana"))
    await stage.make(fact)

    verdict = await stage.verdict("fact", fact_content("ana is the queen!", "Ana"))

    assert (verdict.status, verdict.canonical_id) == (ACCEPTED, fact.id)


async def test_two_values_of_one_property_contradict_each_other() -> None:
    stage = await a_court()
    blue = fact_content(
        "Bo was looked at", "Bo", fact_type="attribute", properties={"eye_colour": "blue"}
    )
    green = fact_content(
        "Bo was seen", "Bo", fact_type="attribute", properties={"eye_colour": "green"}
    )
    first = await stage.verdict("fact", blue, authority=Authority.GM)
    await stage.scene("scene 2", order=2)

    verdict = await stage.verdict("fact", green, scene="scene 2")

    assert (verdict.status, verdict.rule) == (REJECTED, RULE)
    assert verdict.conflicts == (first.canonical_id,)


@pytest.mark.parametrize(
    ("name", "held", "claimed", "status"),
    [
        ("height", "180 cm", "1.6 m", PENDING),
        ("height", "190 cm", "1.9 m", ACCEPTED),
        ("weight", "60 kg", "150 pounds", PENDING),
        ("population", 3000, 4200, PENDING),
        ("age", 30, "30", ACCEPTED),
        ("favourite_dish", "eel", "pike", PENDING),
    ],
)
async def test_values_are_compared_with_units_whatever_the_words(
    name: str, held: object, claimed: object, status: ProposalStatus
) -> None:
    stage = await a_court()
    shape = {"fact_type": "attribute"}
    first = fact_content("The healer looked at Bo", "Bo", properties={name: held}, **shape)
    second = fact_content("The guards describe him", "Bo", properties={name: claimed}, **shape)
    fact = await stage.verdict("fact", first, authority=Authority.GM)
    await stage.scene("scene 2", order=2)

    verdict = await stage.verdict("fact", second, scene="scene 2")

    assert verdict.status is status
    assert verdict.conflicts == (() if status is ACCEPTED else (fact.canonical_id,))


@pytest.mark.parametrize(
    ("held", "claimed"),
    [
        ("The capital of Bo's land is Velm", "The capital of Bo's land is Ashgate"),
        ("Bo has three horses", "Bo has two horses"),
        ("The wall of the hall is 10 m high", "The wall of the hall is 500 cm high"),
    ],
)
async def test_another_value_in_the_same_sentence_frame_is_a_contradiction(
    held: str, claimed: str
) -> None:
    stage = await a_court()
    fact = a_fact(held, involved=ids_about("Bo", "hall"), authority=Authority.GM)
    await stage.make(fact)

    verdict = await stage.verdict("fact", fact_content(claimed, "Bo", "hall"))

    assert (verdict.status, verdict.rule, verdict.conflicts) == (REJECTED, RULE, (fact.id,))


async def test_shared_words_alone_are_no_conflict() -> None:
    stage = await a_court()
    fact = a_fact(
        "Bo keeps his gold under the oak", involved=ids_about("Bo"), authority=Authority.GM
    )
    await stage.make(fact)

    verdict = await stage.verdict(
        "fact", fact_content("The oak was felled, and Bo saw it burn", "Bo")
    )

    assert (verdict.status, verdict.graded) == (ACCEPTED, ())


async def test_a_possible_conflict_is_named_and_does_not_block() -> None:
    stage = await a_court()
    fact = a_fact("Bo is rich", involved=ids_about("Bo"), authority=Authority.GM)
    await stage.make(fact)

    verdict = await stage.verdict("fact", fact_content("Bo is poor", "Bo"))

    assert verdict.status is ACCEPTED
    assert f"possible conflict: the fact {fact.id} says that Bo is rich" in verdict.rationale
    assert (await stage.find_item(fact.id)).level is CanonLevel.CANON


@pytest.mark.parametrize(
    ("first", "second", "statuses"),
    [
        (Authority.GM, Authority.PLAYER, (ACCEPTED, REJECTED)),
        (Authority.PLAYER, Authority.PLAYER, (ACCEPTED, REJECTED)),
    ],
)
async def test_a_statement_and_its_denial_in_one_scene_do_not_both_become_canon(
    first: Authority, second: Authority, statuses: tuple[ProposalStatus, ProposalStatus]
) -> None:
    stage = await a_court()
    knight = await stage.propose("fact", fact_content("Bo is a knight", "Bo"), authority=first)
    denied = await stage.propose("fact", fact_content("Bo is not a knight", "Bo"), authority=second)

    report = await stage.canonize()

    assert verdict_on(report, knight).status is statuses[0]
    assert (verdict_on(report, denied).status, verdict_on(report, denied).rule) == (
        statuses[1],
        RULE,
    )


@pytest.mark.parametrize(
    ("first", "status"), [(Authority.PLAYER, ACCEPTED), (Authority.GM, REJECTED)]
)
async def test_a_later_turn_may_withdraw_a_statement_of_equal_rank(
    first: Authority, status: ProposalStatus
) -> None:
    stage = await a_court()
    knight = await stage.propose("fact", fact_content("Bo is a knight", "Bo"), authority=first)
    denied = await stage.propose("fact", fact_content("Bo is not a knight", "Bo"), turn_index=3)

    report = await stage.canonize()

    fact = await stage.find_item(verdict_on(report, knight).canonical_id)
    found = verdict_on(report, denied)
    assert (found.status, found.conflicts) == (status, (fact.id,))
    assert (fact.level is CanonLevel.RETCONNED) is (status is ACCEPTED)


async def test_a_proposal_rejected_by_score_still_names_its_conflicts() -> None:
    stage = await a_court()
    fact = a_fact("Ana is queen", involved=ids_about("Ana"), authority=Authority.GM)
    await stage.make(fact)

    verdict = await stage.verdict("fact", fact_content("Ana is not queen", "Ana"), confidence=0.1)

    assert (verdict.status, verdict.rule) == (REJECTED, "gate:score-reaches-threshold")
    assert verdict.conflicts == (fact.id,)


async def test_an_ended_value_that_returns_is_questioned_and_accepted() -> None:
    stage = await a_court()
    await stage.make(a_fact("Ana is no longer queen", involved=ids_about("Ana")))
    await stage.scene("scene 2", order=2)

    verdict = await stage.verdict("fact", fact_content("Ana is queen", "Ana"), scene="scene 2")

    assert verdict.status is ACCEPTED
    assert "possible conflict" in verdict.rationale


async def test_a_game_masters_later_statement_ends_the_earlier_and_names_it() -> None:
    stage = await a_court()
    await stage.scene("scene 2", order=2)
    denied = await stage.verdict(
        "fact", fact_content("Ana is not in the hall", "Ana", "hall"), authority=Authority.GM
    )

    verdict = await stage.verdict(
        "fact",
        fact_content("Ana is in the hall", "Ana", "hall"),
        authority=Authority.GM,
        scene="scene 2",
    )

    before = await stage.find_item(denied.canonical_id)
    assert (verdict.status, verdict.conflicts) == (ACCEPTED, ())
    assert f"superseded: the fact {denied.canonical_id} says" in verdict.rationale
    assert (before.level, before.superseded_by) == (CanonLevel.CANON, verdict.canonical_id)


async def test_a_judgement_is_stale_after_a_conflicting_write() -> None:
    stage = await a_court()
    fact = a_fact("Bo owns a mill", involved=ids_about("Bo"), authority=Authority.GM)
    proposal = await stage.propose("fact", fact_content("Bo doesn't own a mill.", "Bo"))
    await stage.make(fact)

    report = await stage.canonize()

    assert verdict_on(report, proposal).conflicts == (fact.id,)


async def test_a_fact_of_many_conflicts_with_each_despite_many_words() -> None:
    stage = await a_court()
    many = [f"guard {number}" for number in range(6)]
    for name in many:
        await stage.entity(name)
    for number in range(60):
        one = a_fact(f"hold {number}", statement="The guards hold the bridge")
        await stage.make(replace(one, involved=ids_about("Odo"), time_ref=world_day(number + 10)))
    await stage.make(
        a_fact("hold", statement="The guards hold the bridge", involved=ids_about(*many))
    )
    await stage.scene("scene 2", order=2)

    for name in many:
        verdict = await stage.verdict(
            "fact", fact_content("The guards do not hold the bridge", name), scene="scene 2"
        )
        assert [one.id for one in verdict.graded] == [uuid_of("hold")]
        await stage.scene("scene 2", order=2)


async def test_a_comparison_limited_to_the_newest_says_so() -> None:
    stage = await a_court()
    await stage.entity("Ida")
    for number in range(TIMELINE_MAX):
        one = a_fact(f"friend {number}", statement=f"The guards like the cook of tower {number}")
        await stage.make(replace(one, involved=ids_about("Ida")))

    of_nobody = await stage.propose("fact", fact_content("The guards like the cook"))
    of_odo = await stage.propose("fact", fact_content("Odo likes the cook", "Odo"))
    report = await stage.canonize()

    assert "compared with the newest facts" in verdict_on(report, of_nobody).rationale
    assert "compared with the newest facts" not in verdict_on(report, of_odo).rationale


async def test_only_the_newest_of_very_many_actions_count() -> None:
    stage = await a_court()
    for number in range(TIMELINE_MAX):
        one = a_fact(f"liked {number}", statement=f"Odo likes the cook of tower {number}")
        await stage.make(replace(one, involved=ids_about("Odo")))
    await stage.make(a_fact("newest", statement="Odo likes Bo", involved=ids_about("Odo", "Bo")))

    feast = await stage.propose("fact", fact_content("Odo likes the long feast", "Odo"))
    denial = await stage.propose("fact", fact_content("Odo does not like Bo", "Odo", "Bo"))
    report = await stage.canonize()

    assert "compared with the newest facts" in verdict_on(report, feast).rationale
    assert uuid_of("newest") in verdict_on(report, denial).conflicts


@pytest.mark.parametrize(
    ("held", "claimed"),
    [
        ("Ana is the captain of the hall", "Bo is the captain of the hall"),
        ("Ana lives in Vell", "Ana lives in Karth"),
        ("Ana works for Odo", "Ana works for Bo"),
        ("Ana is married to Odo", "Ana is married to Bo"),
        ("The hall belongs to Odo", "The hall belongs to Bo"),
        ("Odo rules the hall", "Bo rules the hall"),
    ],
)
@pytest.mark.parametrize("later_first", [False, True])
async def test_a_later_single_value_ends_the_earlier_in_any_order(
    held: str,
    claimed: str,
    later_first: bool,
) -> None:
    stage = await a_court()
    reported = {}
    for at, words in sorted({1: held, 4: claimed}.items(), reverse=later_first):
        await stage.scene(f"scene {at}", order=at)
        content = fact_content(words, "Ana", "Bo", "Odo", "hall", time_ref=day_text(at))
        reported[at] = await stage.verdict(
            "fact", content, authority=Authority.GM, scene=f"scene {at}"
        )

    first, last = [await stage.find_item(reported[at].canonical_id or "") for at in (1, 4)]
    assert (first.until, last.until) == (world_day(4), None)


async def test_values_that_may_coexist_do_not_end_each_other() -> None:
    stage = await a_court()
    first = a_fact("Ana likes Odo", involved=ids_about("Ana", "Odo"), time_ref=world_day(1))
    await stage.make(first)

    await stage.verdict("fact", fact_content("Ana likes Bo", "Ana", "Bo", time_ref=day_text(4)))

    assert not (await stage.find_item(first.id)).superseded
