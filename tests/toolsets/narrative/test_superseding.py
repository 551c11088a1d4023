"""A later state ends an earlier one when it takes over, with a date or without."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import World, a_world
from tests.toolsets.narrative.stage import Stage, a_stage, assemble_context, statements_in

pytestmark = pytest.mark.anyio
MONDAY, TUESDAY, WEDNESDAY = (f"2020-06-0{day}T00:00:00Z" for day in (1, 2, 3))


async def change_state(stage: Stage, **content: Any) -> dict[str, Any]:
    """The verdict on a change of Frodo's state, brought up and judged in a scene of its own."""
    scene = await stage.scene()
    change = {"entity_id": stage.frodo, **content}
    await stage.propose(scene, type="state_change", content=change)
    reply = await stage.world.call("composite_canonize_scene", scene_id=scene)
    (verdict,) = reply["verdicts"]
    return dict(verdict)


async def change_directly(world: World, entity: str, **tags: Any) -> list[str]:
    """The facts of a change that the canon keeper writes directly."""
    reply = await world.call(
        "neo4j_update_entity_state",
        entity_id=entity,
        state_tag_changes=tags,
        authority="gm",
        evidence_refs=world.evidence,
    )
    return [str(one) for one in reply["fact_ids"]]


async def states_of(world: World, entity: str) -> dict[str, dict[str, Any]]:
    """The history of an entity's state by statement; of equal ones the newest."""
    reply = await world.call("neo4j_get_entity", entity_id=entity, include_state_history=True)
    return {fact["statement"]: fact for fact in reply["state_history"]}


async def list_state_facts(stage: Stage, **scene: Any) -> list[str]:
    """The facts of state that the context of a new scene tells."""
    context = await assemble_context(stage, await stage.scene(**scene))
    return sorted(each for each in statements_in(context) if each.startswith("Frodo is"))


async def test_an_undated_state_ends_with_an_exclusive_one() -> None:
    stage = await a_stage()
    alive = await change_state(stage, add=["alive"])
    dead = await change_state(stage, add=["dead"])

    history = await states_of(stage.world, stage.frodo)

    assert history["Frodo is alive"]["superseded_by"] == dead["canonical_id"]
    assert history["Frodo is alive"]["until"] is None
    assert history["Frodo is dead"]["superseded_by"] is None
    assert await list_state_facts(stage) == ["Frodo is dead", "Frodo is no longer alive"]
    reply = await stage.world.call("neo4j_explain", id=alive["canonical_id"])
    assert (reply["fall"]["how"], reply["fall"]["by"]) == ("superseded", dead["canonical_id"])
    assert (reply["since"], reply["until"], reply["fall"]["until"]) == (None, None, None)


async def test_an_explanation_states_the_interval_of_a_state() -> None:
    stage = await a_stage()
    healthy = await change_state(stage, add=["healthy"], time_ref=MONDAY)
    wounded = await change_state(stage, add=["wounded"], time_ref=WEDNESDAY)

    reply = await stage.world.call("neo4j_explain", id=healthy["canonical_id"])

    assert (reply["since"], reply["until"]) == (MONDAY, WEDNESDAY)
    assert reply["superseded_by"] == wounded["canonical_id"]
    assert reply["fall"]["until"] == WEDNESDAY


async def test_an_end_is_still_explained_after_later_evidence() -> None:
    stage = await a_stage()
    alive = await change_state(stage, add=["alive"])
    dead = await change_state(stage, add=["dead"])
    scene = await stage.scene()
    await stage.world.call(
        "neo4j_link_evidence",
        canonical_id=alive["canonical_id"],
        evidence_ref=f"scene:{scene}",
    )

    reply = await stage.world.call("neo4j_explain", id=alive["canonical_id"])

    assert (reply["fall"]["how"], reply["fall"]["by"]) == ("superseded", dead["canonical_id"])


async def test_a_dated_scene_shows_facts_of_its_time() -> None:
    stage = await a_stage()
    await change_state(stage, add=["healthy"], time_ref=MONDAY)
    await change_state(stage, add=["wounded"], time_ref=WEDNESDAY)
    scene = await stage.scene()
    await stage.world.call("mongodb_update_scene", scene_id=scene, time_ref=TUESDAY)

    context = await assemble_context(stage, scene)

    assert statements_in(context) == ["Frodo is healthy"]
    assert await list_state_facts(stage) == ["Frodo is no longer healthy", "Frodo is wounded"]


async def test_a_removed_tag_ends_its_fact_and_returns_anew() -> None:
    stage = await a_stage()
    await change_state(stage, add=["tired"])
    rested = await change_state(stage, remove=["tired"])

    assert await list_state_facts(stage) == ["Frodo is no longer tired"]
    history = await states_of(stage.world, stage.frodo)
    assert history["Frodo is tired"]["superseded_by"] == rested["canonical_id"]
    await change_state(stage, add=["tired"])
    assert await list_state_facts(stage) == ["Frodo is tired"]


async def test_one_change_of_both_tags_ends_the_first_by_the_second() -> None:
    stage = await a_stage()
    await change_state(stage, add=["alive"], time_ref=MONDAY)
    dead = await change_state(stage, add=["dead"], remove=["alive"], time_ref=TUESDAY)

    alive = (await states_of(stage.world, stage.frodo))["Frodo is alive"]

    assert (alive["until"], alive["superseded_by"]) == (TUESDAY, dead["canonical_id"])


async def test_removing_a_tag_before_its_beginning_keeps_later_states() -> None:
    stage = await a_stage()
    await change_state(stage, add=["tired"], time_ref=WEDNESDAY)
    await change_state(stage, remove=["tired"], time_ref=MONDAY)

    tired = (await states_of(stage.world, stage.frodo))["Frodo is tired"]

    assert (tired["until"], tired["superseded_by"]) == (None, None)
    assert await list_state_facts(stage) == ["Frodo is tired"]


async def test_the_keepers_own_change_of_state_ends_the_replaced_one() -> None:
    world = await a_world()
    odo = await world.entity("Odo")
    await change_directly(world, odo, add=["alive"])
    dead, gone = await change_directly(world, odo, add=["dead"], remove=["alive"])

    history = await states_of(world, odo)

    assert history["Odo is alive"]["superseded_by"] == dead
    assert history["Odo is no longer alive"]["fact_id"] == gone
    assert history["Odo is dead"]["superseded_by"] is None


async def test_a_tag_written_by_the_keeper_replaces_exclusive_ones() -> None:
    world = await a_world()
    odo = await world.entity("Odo")
    await change_directly(world, odo, add=["alive", "cheerful"])

    dead_and_gone = await change_directly(world, odo, add=["dead"])

    entity = await world.call("neo4j_get_entity", entity_id=odo)
    assert entity["state_tags"] == ["cheerful", "dead"]
    assert len(dead_and_gone) == 2


@pytest.mark.parametrize("directly", [True, False])
async def test_an_equal_fact_in_words_ends_as_well(directly: bool) -> None:
    stage = await a_stage()
    await change_state(stage, add=["alive"])
    said = await stage.world.fact("Frodo is  Alive", stage.frodo)
    other = await stage.world.fact("Frodo is alive", stage.frodo, stage.sam)
    if directly:
        await change_directly(stage.world, stage.frodo, add=["dead"], remove=["alive"])
    else:
        await change_state(stage, add=["dead"])

    replies = [await stage.world.call("neo4j_explain", id=one) for one in (said, other)]

    assert [reply["superseded_by"] is None for reply in replies] == [False, True]


async def test_a_state_recorded_under_an_earlier_name_ends_as_well() -> None:
    world = await a_world()
    strider, aragorn = await world.entity("Strider"), await world.entity("Aragorn")
    await change_directly(world, strider, add=["hidden"])
    await world.call(
        "neo4j_merge_entities", kept_entity_id=aragorn, merged_entity_id=strider, reason="one man"
    )
    await change_directly(world, aragorn, remove=["hidden"])

    history = await states_of(world, aragorn)

    assert history["Strider is hidden"]["superseded_by"] is not None


@pytest.mark.parametrize("dates", [{}, {"time_ref": MONDAY}])
async def test_an_undated_repetition_is_a_separate_fact(dates: Any) -> None:
    stage = await a_stage()
    first = await change_state(stage, add=["tired"], **dates)
    await change_state(stage, remove=["tired"], **({"time_ref": TUESDAY} if dates else {}))
    scene = await stage.scene()
    said = {"statement": "Frodo is tired", "entity_ids": [stage.frodo]}
    await stage.propose(scene, content=said)

    reply = await stage.world.call("composite_canonize_scene", scene_id=scene)

    (again,) = reply["canonical_fact_ids"]
    assert again != first["canonical_id"]
    assert "Frodo is tired" in await list_state_facts(stage)


async def test_only_facts_of_state_make_the_history_of_an_entity() -> None:
    world = await a_world()
    odo = await world.entity("Odo")
    await world.fact("Odo was born", odo)
    await change_directly(world, odo, add=["alive"])

    assert list(await states_of(world, odo)) == ["Odo is alive"]
