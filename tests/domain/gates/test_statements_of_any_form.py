"""One meaning: words, relations and states that say the same are one truth."""

from collections.abc import Mapping
from typing import Any

import pytest

from canonry.canon.canonization.decide_proposals import ProposalVerdict
from canonry.canon.commands.facts import create_fact
from canonry.canon.commands.retcon_items import Retcon, retcon_item, retcon_with_dependents
from canonry.canon.judging.contents import FactContent
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Fact, Relation
from canonry.log.schemas.narrative import EntityType
from canonry.testing.clocks import a_caller
from canonry.values.fields import Reference
from canonry.values.provenance import Authority, CanonLevel
from tests.usecases.stage import ACCEPTED, PENDING, REJECTED, Stage, a_stage, id_of, make_backing

pytestmark = pytest.mark.anyio

PLACES = ("Hall", "Ford", "Torland", "Ostmark")
MEMBERSHIP = ("Ana", "Red Band")


async def a_village() -> Stage:
    """Ana, Cy and Zed, the Red Band, a key and four places."""
    stage = await a_stage()
    for name in ("Ana", "Cy", "Zed"):
        await stage.entity(name)
    await stage.entity("Red Band", EntityType.FACTION)
    await stage.entity("Key", EntityType.OBJECT)
    for name in PLACES:
        await stage.entity(name, EntityType.LOCATION)
    for number in (2, 3, 4):
        await stage.scene(f"scene {number}", order=number)
    return stage


def rel(start: str, kind: str, end: str) -> tuple[str, dict[str, Any]]:
    """A claim of a relation."""
    return "relationship", {"from": id_of(start), "to": id_of(end), "type": kind}


def fact(statement: str, *names: str) -> tuple[str, dict[str, Any]]:
    """A claim of a fact about these."""
    return "fact", {"statement": statement, "entity_ids": [id_of(name) for name in names]}


def state(name: str, tag: str) -> tuple[str, dict[str, Any]]:
    """A claim that a state begins."""
    return "state_change", {"entity_id": id_of(name), "add": [tag]}


Claim = tuple[str, Mapping[str, Any]]


async def judge_claim(
    stage: Stage, claim: Claim, scene: str = "scene", authority: Authority = Authority.GM
) -> ProposalVerdict:
    """The verdict on a claim of the game master in a scene."""
    return await stage.verdict(claim[0], claim[1], authority=authority, scene=scene)


async def still_holds(stage: Stage, made: str | None) -> bool:
    """Return whether an item still holds."""
    item = await stage.find_item(made)
    if item.level is not CanonLevel.CANON:
        return False
    return not (item.superseded if isinstance(item, Fact) else item.ended)


ENDS = [
    (rel("Ana", "MEMBER_OF", "Red Band"), fact("Ana is no member of the Red Band", *MEMBERSHIP)),
    (rel("Ana", "MEMBER_OF", "Red Band"), fact("Ana left the Red Band", *MEMBERSHIP)),
    (rel("Ana", "OWNS", "Key"), fact("The Key belongs to Cy", "Key", "Cy")),
    (rel("Ana", "CARRIES", "Key"), fact("Ana gave the Key to Cy", "Key", "Cy", "Ana")),
    (rel("Ana", "LOCATED_IN", "Hall"), fact("Ana is in the Ford", "Ana", "Ford")),
    (rel("Ana", "LOCATED_IN", "Hall"), fact("Ana is not in the Hall", "Ana", "Hall")),
    (rel("Ana", "LOCATED_IN", "Hall"), fact("Ana left the Hall", "Ana", "Hall")),
    (rel("Cy", "RULES", "Ford"), fact("Ana rules the Ford", "Ana", "Ford")),
    (rel("Ana", "MARRIED_TO", "Cy"), fact("Ana divorced Cy", "Ana", "Cy")),
    (rel("Ana", "ALLY_OF", "Cy"), fact("Ana is an enemy of Cy", "Ana", "Cy")),
    (rel("Key", "LOCATED_IN", "Hall"), rel("Cy", "CARRIES", "Key")),
    (rel("Cy", "CARRIES", "Key"), rel("Key", "LOCATED_IN", "Hall")),
    (rel("Ana", "LIVES_IN", "Torland"), fact("Ana moved from Torland to Ostmark", "Ana", *PLACES)),
    (rel("Ana", "LIKES", "Cy"), fact("Ana does not like Cy", "Ana", "Cy")),
    (fact("Cy owns the Key", "Cy", "Key"), rel("Ana", "OWNS", "Key")),
    (fact("Ana is in the Ford", "Ana", "Ford"), rel("Ana", "LOCATED_IN", "Hall")),
    (fact("Ana rules the Ford", "Ana", "Ford"), rel("Cy", "RULES", "Ford")),
    (fact("Ana lives in Torland", "Ana", "Torland"), rel("Ana", "LIVES_IN", "Ostmark")),
]  # fmt: skip


@pytest.mark.parametrize(("held", "claim"), ENDS, ids=[str(n) for n in range(len(ENDS))])
async def test_a_later_statement_ends_an_earlier_one_of_another_form(
    held: Claim, claim: Claim
) -> None:
    stage = await a_village()
    first = await judge_claim(stage, held)

    verdict = await judge_claim(stage, claim, "scene 2")

    assert (first.status, verdict.status) == (ACCEPTED, ACCEPTED)
    assert not await still_holds(stage, first.canonical_id)
    assert [one["id"] for one in verdict.ends] == [first.canonical_id]


@pytest.mark.parametrize(("held", "claim"), ENDS[:5], ids=[str(n) for n in range(5)])
async def test_a_lower_authority_waits_before_ending_another_form(
    held: Claim, claim: Claim
) -> None:
    stage = await a_village()
    first = await judge_claim(stage, held)

    verdict = await judge_claim(stage, claim, "scene 2", Authority.PLAYER)

    assert verdict.status is PENDING
    assert await still_holds(stage, first.canonical_id)


@pytest.mark.parametrize(
    ("held", "claim"),
    [
        (rel("Ana", "BORN_IN", "Torland"), rel("Ana", "BORN_IN", "Ostmark")),
        (rel("Ana", "BORN_IN", "Torland"), fact("Ana was born in Ostmark", "Ana", "Ostmark")),
        (fact("Ana was born in Torland", "Ana", "Torland"), rel("Ana", "BORN_IN", "Ostmark")),
        (rel("Ana", "PARENT_OF", "Cy"), rel("Cy", "PARENT_OF", "Ana")),
        (fact("Ana is the mother of Cy", "Ana", "Cy"), fact("Zed is mother of Cy", "Cy", "Zed")),
    ],
)  # fmt: skip
async def test_an_unchangeable_value_is_contradicted_in_every_later_scene(
    held: Claim, claim: Claim
) -> None:
    stage = await a_village()
    first = await judge_claim(stage, held, authority=Authority.PLAYER)

    verdict = await judge_claim(stage, claim, "scene 2", Authority.PLAYER)
    ruled = await judge_claim(stage, claim, "scene 3")

    assert (verdict.status, verdict.conflicts) == (REJECTED, (first.canonical_id,))
    assert (ruled.status, ruled.conflicts) == (ACCEPTED, (first.canonical_id,))
    assert (await stage.find_item(first.canonical_id)).level is CanonLevel.RETCONNED


@pytest.mark.parametrize(
    "words",
    ["Zed killed Cy", "Cy was killed by Zed", "Cy died", "Cy drowned", "Cy was slain by Zed"],
)
async def test_an_entity_killed_in_words_is_dead_and_begins_nothing(words: str) -> None:
    stage = await a_village()
    killed = await judge_claim(stage, fact(words, "Cy", "Zed"))

    cy = await stage.find_item(id_of("Cy"))
    joined = rel("Cy", "MEMBER_OF", "Red Band")
    joins = await judge_claim(stage, joined, "scene 2", Authority.PLAYER)
    acts = await judge_claim(
        stage,
        ("event", {"title": "He bows", "actor": id_of("Cy")}),
        "scene 3",
        Authority.PLAYER,
    )

    assert killed.status is ACCEPTED
    assert isinstance(cy, Entity)
    assert cy.state_tags == ("dead",)
    assert [(one.status, one.rule) for one in (joins, acts)] == [
        (REJECTED, "gate:actor-alive"),
        (REJECTED, "gate:actor-alive"),
    ]


async def test_an_entity_wrongly_called_dead_lives_again_after_the_retcon() -> None:
    stage = await a_village()
    await stage.tag("Cy", "alive")
    killed = await judge_claim(stage, fact("Zed killed Cy", "Cy", "Zed"))
    assert (await stage.find_item(id_of("Cy"))).state_tags == ("dead",)

    await take_back(stage, killed.canonical_id)

    assert (await stage.find_item(id_of("Cy"))).state_tags == ("alive",)


async def take_back(stage: Stage, item_id: str | None, instead: str | None = None) -> None:
    """Retcon a fact or a relation; a fact is said otherwise `instead`."""
    item = await stage.find_item(item_id)
    if isinstance(item, Relation):
        await retcon_with_dependents(
            stage.canon, a_caller(), item.id, Retcon(reason="It was wrong.")
        )
        return
    await retcon_item(
        stage.canon,
        a_caller(),
        Fact,
        item.id,
        reason="It was wrong.",
        replacement=instead,
        authority=Authority.GM,
        evidence=(),
    )


@pytest.mark.parametrize(
    ("held", "claim"),
    [
        (rel("Ana", "OWNS", "Key"), fact("The Key belongs to Cy", "Key", "Cy")),
        (
            rel("Ana", "LOCATED_IN", "Hall"),
            fact("Ana is in the Ford", "Ana", "Ford"),
        ),
        (fact("Cy owns the Key", "Cy", "Key"), rel("Ana", "OWNS", "Key")),
        (rel("Key", "LOCATED_IN", "Hall"), rel("Cy", "CARRIES", "Key")),
    ],
)
async def test_an_ended_item_holds_again_when_its_ending_is_retracted(
    held: Claim, claim: Claim
) -> None:
    stage = await a_village()
    first = await judge_claim(stage, held)
    second = await judge_claim(stage, claim, "scene 2")
    assert not await still_holds(stage, first.canonical_id)

    await take_back(stage, second.canonical_id)

    assert await still_holds(stage, first.canonical_id)


@pytest.mark.parametrize(
    ("held", "claim"),
    [
        (rel("Ana", "LOCATED_IN", "Hall"), fact("Cy is in the Ford", "Cy", "Ford")),
        (rel("Ana", "OWNS", "Key"), fact("Ana is in the Hall", "Ana", "Hall")),
        (fact("Ana dreams that Cy is dead", "Ana", "Cy"), state("Cy", "alive")),
        (fact("Rumour has it that Cy owns the Key", "Cy", "Key"), rel("Ana", "OWNS", "Key")),
        (rel("Ana", "MEMBER_OF", "Red Band"), fact("Ana wants to leave the Red Band", *MEMBERSHIP)),
        (rel("Ana", "LIVES_IN", "Torland"), fact("Ana will move to Ostmark", "Ana", "Ostmark")),
        (rel("Ana", "KNOWS", "Cy"), fact("Ana is dead tired", "Ana", "Cy")),
        (rel("Ana", "MEMBER_OF", "Red Band"), fact("Cy left the Red Band", "Cy", "Red Band")),
    ],
)  # fmt: skip
async def test_compatible_statements_end_nothing_and_ask_nothing(held: Claim, claim: Claim) -> None:
    stage = await a_village()
    first = await judge_claim(stage, held)

    verdict = await judge_claim(stage, claim, "scene 2")

    assert (verdict.status, verdict.graded, verdict.ends) == (ACCEPTED, (), ())
    assert await still_holds(stage, first.canonical_id)


BY_ROOM = fact("Ana is in the Hall", "Ana", "Hall")
BY_COUNTRY = rel("Ana", "LOCATED_IN", "Torland")


@pytest.mark.parametrize(
    "placing",
    [
        [rel("Hall", "LOCATED_IN", "Torland")],
        [rel("Hall", "PART_OF", "Torland")],
        [rel("Torland", "CONTAINS", "Hall")],
        [fact("The Hall is in Torland", "Hall", "Torland")],
        [fact("The Hall is part of Torland", "Hall", "Torland")],
        [fact("The Hall is in the Ford", "Hall", "Ford"), rel("Ford", "PART_OF", "Torland")],
    ],
)
@pytest.mark.parametrize(("first", "then"), [(BY_COUNTRY, BY_ROOM), (BY_ROOM, BY_COUNTRY)])
async def test_a_room_in_a_house_and_the_house_are_no_conflict(
    placing: list[Claim], first: Claim, then: Claim
) -> None:
    stage = await a_village()
    for claim, scene in zip([*placing, first], ("scene", "scene 2", "scene 3"), strict=False):
        await judge_claim(stage, claim, scene)

    verdict = await judge_claim(stage, then, "scene 4")

    assert (verdict.status, verdict.graded, verdict.ends) == (ACCEPTED, (), ())


@pytest.mark.parametrize(
    "placing",
    [
        fact("The Hall is not in Torland", "Hall", "Torland"),
        fact("The Hall was once part of Torland", "Hall", "Torland"),
        rel("Torland", "PART_OF", "Hall"),
        rel("Hall", "PART_OF", "Ostmark"),
    ],
)
async def test_a_room_outside_of_a_house_is_another_location(placing: Claim) -> None:
    stage = await a_village()
    await judge_claim(stage, placing)
    await judge_claim(stage, BY_ROOM, "scene 2")

    verdict = await judge_claim(stage, rel("Ana", "LOCATED_IN", "Torland"), "scene 3")

    is_inside = placing == rel("Torland", "PART_OF", "Hall")
    assert len(verdict.ends) == int(not is_inside)


async def test_words_without_a_comparable_statement_are_reported() -> None:
    stage = await a_village()

    remark = await judge_claim(stage, fact("Alas, poor Ana!", "Ana"))
    read = await judge_claim(stage, fact("Ana lives in Torland", "Ana", "Torland"), "scene 2")

    assert (remark.compared, read.compared) == (False, True)


ANA_INSIDE, BY_COUNTRY = (rel("Ana", "LOCATED_IN", place) for place in ("Hall", "Torland"))
KEY_INSIDE = rel("Key", "LOCATED_IN", "Hall")
SAID_BY_COUNTRY = fact("Ana is in Torland", "Ana", "Torland")


async def items_hold(stage: Stage, *made: ProposalVerdict) -> list[bool]:
    """Return for each item whether it still holds."""
    return [await still_holds(stage, one.canonical_id) for one in made]


@pytest.mark.parametrize(
    "claims",
    [
        (ANA_INSIDE, fact("Ana is in the Ford", "Ana", "Ford"), BY_COUNTRY),
        (ANA_INSIDE, fact("Ana is in the Ford", "Ana", "Ford"), SAID_BY_COUNTRY),
        (fact("Ana is in the Ford", "Ana", "Ford"), ANA_INSIDE, SAID_BY_COUNTRY),
        (fact("Ana is in the Ford", "Ana", "Ford"), ANA_INSIDE, BY_COUNTRY),
        (KEY_INSIDE, rel("Cy", "CARRIES", "Key"), rel("Ana", "CARRIES", "Key")),
        (rel("Ana", "ALLY_OF", "Cy"), rel("Ana", "ENEMY_OF", "Cy"), rel("Ana", "ALLY_OF", "Cy")),
    ],
)  # fmt: skip
async def test_a_restored_item_ends_where_its_next_successor_begins(
    claims: tuple[Claim, ...],
) -> None:
    stage = await a_village()
    scenes = ("scene", "scene 2", "scene 3")
    made = [
        await judge_claim(stage, claim, scene) for claim, scene in zip(claims, scenes, strict=True)
    ]
    assert await items_hold(stage, *made) == [False, False, True]

    await take_back(stage, made[1].canonical_id)

    assert await items_hold(stage, made[0], made[2]) == [False, True]


async def test_an_item_ended_otherwise_is_restored_despite_a_successor() -> None:
    stage = await a_village()
    member = await judge_claim(stage, rel("Ana", "MEMBER_OF", "Red Band"))
    both = "Ana left the Red Band and lives in Torland"
    left = await judge_claim(stage, fact(both, "Ana", "Red Band", "Torland"), "scene 2")
    moved = await judge_claim(stage, fact("Ana lives in Ostmark", "Ana", "Ostmark"), "scene 3")
    assert await items_hold(stage, member, left, moved) == [False, False, True]

    await take_back(stage, left.canonical_id)

    assert await items_hold(stage, member, moved) == [True, True]


@pytest.mark.parametrize(("later", "expected"), [(None, ["imprisoned"]), ("free", ["free"])])
async def test_a_state_wrongly_ended_holds_until_a_conflicting_one_begins(
    later: str | None, expected: list[str]
) -> None:
    stage = await a_village()
    await judge_claim(stage, state("Cy", "imprisoned"))
    words = "Cy is no longer imprisoned, and Zed knows"
    ended = await judge_claim(stage, fact(words, "Cy", "Zed"), "scene 2")
    assert (await stage.find_item(id_of("Cy"))).state_tags == ()
    if later is not None:
        await judge_claim(stage, state("Cy", later), "scene 3")

    await take_back(stage, ended.canonical_id)

    assert list((await stage.find_item(id_of("Cy"))).state_tags) == expected


async def test_a_replacement_ends_the_same_items_if_it_says_so_too() -> None:
    stage = await a_village()
    room = await judge_claim(stage, rel("Ana", "LOCATED_IN", "Hall"))
    ford = await judge_claim(stage, fact("Ana is in the Ford", "Ana", "Ford", "Torland"), "scene 2")

    await take_back(stage, ford.canonical_id, "Ana is in Torland")

    assert await items_hold(stage, room) == [False]


async def test_an_unrelated_replacement_restores_items_ended_by_the_wrong_fact() -> None:
    stage = await a_village()
    room = await judge_claim(stage, rel("Ana", "LOCATED_IN", "Hall"))
    ford = await judge_claim(stage, fact("Ana is in the Ford", "Ana", "Ford"), "scene 2")

    await take_back(stage, ford.canonical_id, "Ana likes the Ford")

    assert await items_hold(stage, room) == [True]


@pytest.mark.parametrize(
    "early",
    [
        fact("The captain of the Ford is Ana", "Ana", "Ford"),
        rel("Ana", "RULES", "Ford"),
    ],
)
async def test_a_late_statement_is_restored_when_the_later_one_is_retracted(
    early: Claim,
) -> None:
    stage = await a_village()
    words = "captain of the Ford is Zed" if early[0] == "fact" else "ruler of the Ford is Zed"
    late = await judge_claim(stage, fact(f"The {words}", "Zed", "Ford"), "scene 3")
    first = await judge_claim(stage, early, "scene 2")
    assert await items_hold(stage, first, late) == [False, True]

    await take_back(stage, late.canonical_id)

    assert await items_hold(stage, first) == [True]


async def test_an_ended_item_holds_again_once_a_claim_replaces_its_ending() -> None:
    stage = await a_village()
    room = await judge_claim(stage, ANA_INSIDE, authority=Authority.PLAYER)
    ford = await judge_claim(
        stage, fact("Ana is in the Ford", "Ana", "Ford"), "scene 2", Authority.PLAYER
    )
    assert await items_hold(stage, room) == [False]

    kind, never = fact("Ana has never been in the Ford", "Ana", "Ford")
    await judge_claim(stage, (kind, {**never, "replaces": ford.canonical_id}), "scene 3")

    assert await items_hold(stage, room, ford) == [True, False]


async def test_two_states_of_one_entity_in_one_fact_are_both_written() -> None:
    stage = await a_village()
    new = FactContent(
        statement="Zed killed Cy, and Cy divorced Ana",
        involved=tuple(Reference(id_of(name)) for name in ("Cy", "Zed", "Ana")),
    )
    await stage.tag("Cy", "married")

    await create_fact(stage.canon, a_caller(), make_backing(), new)

    assert (await stage.find_item(id_of("Cy"))).state_tags == ("dead",)
