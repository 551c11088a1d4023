"""Facts hold over intervals: what begins earlier ends where the next begins, whoever was first."""

from itertools import permutations

import pytest

from tests.toolsets.narrative.stage import Stage, a_stage

pytestmark = pytest.mark.anyio

TOWNS = ("Hobbiton", "Michel Delving", "Tuckborough")
CAPITALS = {order: f"The capital of the Shire is {name}" for order, name in enumerate(TOWNS, 11)}
ORDERS = list(permutations(CAPITALS))


async def judge_statement(
    stage: Stage, statement: str, *, order: int, authority: str = "gm", year: int | None = None
) -> dict[str, object]:
    """The verdict on what is said in a scene of its own."""
    scene_id = await stage.scene(f"{statement} {order}", order=order)
    content: dict[str, object] = {"statement": statement, "involved": [stage.frodo]}
    if year is not None:
        content["time_ref"] = f"{year}-01-01T00:00:00Z"
    await stage.propose(scene_id, type="fact", content=content, authority=authority)
    reply = await stage.world.call("composite_canonize_scene", scene_id=scene_id)
    return dict(reply["verdicts"][0])


async def facts_of(stage: Stage) -> list[tuple[str, str | None, str | None]]:
    """Return the facts of canon in words, each with its end and the cause of that."""
    found = (await stage.world.call("neo4j_query_facts", entity_id=stage.frodo))["facts"]
    words = {fact["fact_id"]: fact["statement"] for fact in found}
    return sorted(
        (fact["statement"], fact["until"], words.get(fact["superseded_by"]))
        for fact in found
        if fact["canon_level"] == "canon"
    )


@pytest.mark.parametrize("orders", ORDERS)
@pytest.mark.parametrize("dated", [True, False])
async def test_a_value_ends_at_the_next_in_any_order_of_canonizing(
    orders: tuple[int, ...], dated: bool
) -> None:
    stage = await a_stage()

    for order in orders:
        await judge_statement(
            stage, CAPITALS[order], order=order, year=1400 + order if dated else None
        )

    until = {order: f"{1400 + order}-01-01T00:00:00Z" if dated else None for order in (12, 13)}
    assert await facts_of(stage) == [
        (CAPITALS[11], until[12], CAPITALS[12]),
        (CAPITALS[12], until[13], CAPITALS[13]),
        (CAPITALS[13], None, None),
    ]


@pytest.mark.parametrize("orders", [(11, 12), (12, 11)])
async def test_no_longer_ends_an_earlier_statement_in_any_order(
    orders: tuple[int, ...],
) -> None:
    stage = await a_stage()
    words = {11: "Frodo is mayor", 12: "Frodo is no longer mayor"}

    for order in orders:
        await judge_statement(stage, words[order], order=order)

    assert await facts_of(stage) == [(words[11], None, words[12]), (words[12], None, None)]


async def test_an_ended_state_may_begin_again_and_the_end_stays() -> None:
    stage = await a_stage()
    for order, words in ((13, "Frodo is mayor"), (12, "Frodo is no longer mayor")):
        await judge_statement(stage, words, order=order)

    assert await facts_of(stage) == [
        ("Frodo is mayor", None, None),
        ("Frodo is no longer mayor", None, None),
    ]


async def test_a_verdict_names_what_ended_a_fact() -> None:
    stage = await a_stage()
    later = await judge_statement(stage, CAPITALS[12], order=12)

    verdict = await judge_statement(stage, CAPITALS[11], order=11)

    said = f"ended by later canon: the fact {later['canonical_id']} says that {CAPITALS[12]}"
    assert (verdict["status"], verdict["conflicts"]) == ("accepted", [])
    assert said in str(verdict["rationale"])


async def test_a_players_statement_ends_where_the_game_masters_begins() -> None:
    stage = await a_stage()
    await judge_statement(stage, CAPITALS[11], order=11, authority="player")

    await judge_statement(stage, CAPITALS[12], order=12)

    assert await facts_of(stage) == [
        (CAPITALS[11], None, CAPITALS[12]),
        (CAPITALS[12], None, None),
    ]


@pytest.mark.parametrize(
    ("words", "tags"),
    [
        ("Frodo is dead.", ["dead"]),
        ("Frodo is no longer wounded", []),
        ("Frodo is now healthy", ["healthy"]),
    ],
)
async def test_a_state_in_words_changes_the_state(words: str, tags: list[str]) -> None:
    stage = await a_stage()
    await judge_statement(stage, "Frodo is wounded", order=11)

    verdict = await judge_statement(stage, words, order=12)

    shown = await stage.world.call("neo4j_get_entity", entity_id=stage.frodo)
    assert (verdict["status"], shown["state_tags"]) == (
        "accepted",
        sorted({*tags, *(["wounded"] if tags == ["dead"] else [])}),
    )


async def test_a_character_dead_in_words_does_nothing() -> None:
    stage = await a_stage()
    await judge_statement(stage, "Frodo is dead", order=11)
    scene_id = await stage.scene("later", order=12)
    content = {"title": "Frodo sings", "description": "", "actor_ids": [stage.frodo]}
    await stage.propose(scene_id, type="event", content=content, authority="player")

    reply = await stage.world.call("composite_canonize_scene", scene_id=scene_id)

    assert reply["verdicts"][0]["rule"] == "gate:actor-alive"


async def test_a_word_that_is_no_state_stays_a_fact() -> None:
    stage = await a_stage()

    for order, words in enumerate(("Frodo is a friendly soul", "Sam is dead"), 11):
        await judge_statement(stage, words, order=order)

    shown = await stage.world.call("neo4j_get_entity", entity_id=stage.frodo)
    assert shown["state_tags"] == []


async def test_a_direct_fact_stating_a_state_changes_it() -> None:
    stage = await a_stage()
    for words in ("Frodo is alive", "Frodo is dead"):
        answer = await stage.world.fact(words, stage.frodo)

    shown = await stage.world.call("neo4j_get_entity", entity_id=stage.frodo)
    facts = {fact[0]: fact[2] for fact in await facts_of(stage)}
    found = (await stage.world.call("neo4j_query_facts", entity_id=stage.frodo))["facts"]
    assert shown["state_tags"] == ["dead"]
    assert (facts["Frodo is alive"], facts["Frodo is dead"]) == ("Frodo is dead", None)
    (named,) = [fact["statement"] for fact in found if fact["fact_id"] == answer]
    assert named == "Frodo is dead"


async def test_a_direct_fact_obeys_the_laws_of_states() -> None:
    stage = await a_stage()
    await stage.world.call(
        "neo4j_create_axiom",
        universe_id=stage.world.universe_id,
        statement="Nobody dies here",
        domain="metaphysics",
        authority="gm",
        evidence_refs=stage.world.evidence,
        constraint={"kind": "forbidden_tag", "values": ["dead"]},
    )

    reply = await stage.world.refused(
        "neo4j_create_fact",
        code=-32004,
        **stage.world.backed(statement="Frodo is dead", entities=(stage.frodo,)),
    )

    assert reply["code"] == "axiom.forbids"
