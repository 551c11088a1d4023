"""A state that is retconned never held, also where another one has followed it since."""

import pytest

from tests.toolsets.narrative.stage import a_stage

pytestmark = pytest.mark.anyio


def date_of(day: int) -> str:
    return f"1418-09-{day:02}T00:00:00Z"


async def test_a_retracted_state_did_not_hold_before_the_next_one_either() -> None:
    stage = await a_stage()
    for day, tag in ((1, "healthy"), (10, "wounded")):
        scene_id = await stage.scene(tag)
        content = {"entity_id": stage.frodo, "add": [tag], "time_ref": date_of(day)}
        await stage.propose(scene_id, type="state_change", content=content)
        await stage.world.call("composite_canonize_scene", scene_id=scene_id)
    facts = (await stage.world.call("neo4j_query_facts", entity_id=stage.frodo))["facts"]
    healthy = next(each["fact_id"] for each in facts if each["statement"] == "Frodo is healthy")

    await stage.world.call("neo4j_retcon_fact", fact_id=healthy, reason="a mistake")

    async def tags_on(day: int) -> list[str]:
        then = await stage.world.call("neo4j_get_entity_at", entity_id=stage.frodo, at=date_of(day))
        return list(then["state_tags"])

    assert "healthy" not in await tags_on(5)
    assert "wounded" in await tags_on(12)
    now = await stage.world.call("neo4j_get_entity", entity_id=stage.frodo)
    assert "wounded" in now["state_tags"]


@pytest.mark.parametrize("before", [(), ("healthy",)])
async def test_a_replacement_that_states_a_tag_sets_it(before: tuple[str, ...]) -> None:
    stage = await a_stage()
    for tag in (*before, "wounded"):
        answer = await stage.world.call(
            "neo4j_update_entity_state",
            entity_id=stage.frodo,
            state_tag_changes={"add": [tag]},
            authority="gm",
            evidence_refs=stage.world.evidence,
        )

    reply = await stage.world.call(
        "neo4j_retcon_fact",
        fact_id=answer["fact_ids"][0],
        reason="another one was hit",
        replacement_statement="Frodo is healthy.",
    )

    now = await stage.world.call(
        "neo4j_get_entity", entity_id=stage.frodo, include_state_history=True
    )
    assert now["state_tags"] == ["healthy"]
    stated = [
        (fact["fact_id"], fact["statement"], fact["superseded_by"])
        for fact in now["state_history"]
        if fact["canon_level"] == "canon"
    ]
    assert stated == [(reply["replacement_fact_id"], "Frodo is healthy", None)]


async def test_a_replacement_without_a_tag_sets_none() -> None:
    stage = await a_stage()
    answer = await stage.world.call(
        "neo4j_update_entity_state",
        entity_id=stage.frodo,
        state_tag_changes={"add": ["wounded"]},
        authority="gm",
        evidence_refs=stage.world.evidence,
    )

    reply = await stage.world.call(
        "neo4j_retcon_fact",
        fact_id=answer["fact_ids"][0],
        reason="only a scratch",
        replacement_statement="Frodo is a little pale",
    )

    now = await stage.world.call("neo4j_get_entity", entity_id=stage.frodo)
    assert now["state_tags"] == []
    facts = (await stage.world.call("neo4j_query_facts", entity_id=stage.frodo))["facts"]
    assert reply["replacement_fact_id"] in {fact["fact_id"] for fact in facts}
