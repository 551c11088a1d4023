"""Contexts between scenes: one place and one owner at a time, and nothing of later scenes."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from tests.toolsets.narrative.stage import Stage, a_stage, assemble_context

pytestmark = pytest.mark.anyio
DATED = {"undated": 0.0, "dated": 1.0, "mixed": 0.5}
"""The share of scenes that have a time."""


@dataclass(frozen=True, order=True)
class DatedScene:
    """A scene in the order of the world, with where it says that Frodo is and who has the Ring."""

    day: int
    order: int
    scene_id: str = field(compare=False)
    said: dict[str, Any] = field(compare=False)


def in_force(context: dict[str, Any], *rel_types: str) -> list[tuple[str, str, str]]:
    """The relations of these types that a context tells, with their ends."""
    return [
        (each["rel_type"], each["from_entity_id"], each["to_entity_id"])
        for each in context["canonical"]["relations"]
        if each["rel_type"] in rel_types
    ]


async def relate_in_scene(stage: Stage, scene_id: str, *ties: tuple[str, str, str]) -> None:
    """Canonize what a scene says: relations by type and ends."""
    for rel_type, start, end in ties:
        content = {"rel_type": rel_type, "from_entity_id": start, "to_entity_id": end}
        await stage.propose(scene_id, type="relationship", content=content)
    await stage.world.call("composite_canonize_scene", scene_id=scene_id)


async def draw_journey(stage: Stage, random: Random, how: str) -> list[DatedScene]:
    """Scenes of one story, told in any order, each with a place, an owner, and a friend or foe."""
    towns = [stage.shire]
    towns += [await stage.world.entity(each, entity_type="location") for each in ("Bree", "Moria")]
    ring = await stage.world.entity("The Ring", entity_type="object")
    count = random.randint(3, 6)
    scenes = []
    for order in random.sample(range(1, count + 1), count):
        day = random.randint(1, 28) if random.random() < DATED[how] else None
        when = {} if day is None else {"time_ref": f"1400-01-{day:02}T00:00:00Z"}
        scene_id = await stage.scene(f"Scene {order}", order=order, **when)
        said = {
            "place": ("LOCATED_IN", stage.frodo, random.choice(towns)),
            "owner": ("OWNS", random.choice([stage.frodo, stage.sam]), ring),
            "tie": (random.choice(["ALLY_OF", "ENEMY_OF"]), stage.frodo, stage.sam),
        }
        scenes.append(DatedScene(day or 0, order, scene_id, said))
    for reported in random.sample(scenes, count):
        await relate_in_scene(stage, reported.scene_id, *reported.said.values())
    return sorted(scenes)


@pytest.mark.parametrize("how", DATED)
@pytest.mark.parametrize("seed", range(7))
async def test_every_scene_has_one_place_one_owner_and_one_side(how: str, seed: int) -> None:
    stage = await a_stage()
    scenes = await draw_journey(stage, Random(seed), how)

    for reported in scenes:
        context = await assemble_context(stage, reported.scene_id)
        shown = {
            "place": in_force(context, "LOCATED_IN"),
            "owner": in_force(context, "OWNS"),
            "tie": in_force(context, "ALLY_OF", "ENEMY_OF"),
        }

        assert {name: len(each) for name, each in shown.items()} == dict.fromkeys(shown, 1)
        if how != "mixed":
            assert shown == {name: [each] for name, each in reported.said.items()}


async def test_an_owner_appears_if_the_next_one_is_absent() -> None:
    stage = await a_stage()
    ring = await stage.world.entity("The Ring", entity_type="object")
    alone = {"participating_entities": [stage.frodo]}
    first, second = await stage.scene("One", **alone), await stage.scene("Two")
    await relate_in_scene(stage, first, ("OWNS", stage.frodo, ring))
    await relate_in_scene(stage, second, ("OWNS", stage.sam, ring))
    third = await stage.scene("Three", **alone)

    assert in_force(await assemble_context(stage, first), "OWNS") == [("OWNS", stage.frodo, ring)]
    assert in_force(await assemble_context(stage, third), "OWNS") == []


async def test_returned_love_does_not_end_love() -> None:
    stage = await a_stage()
    first, second = await stage.scene("One"), await stage.scene("Two")
    loves, loved = ("LOVES", stage.frodo, stage.sam), ("LOVES", stage.sam, stage.frodo)
    await relate_in_scene(stage, first, loves)
    await relate_in_scene(stage, second, loved)
    relations = (await assemble_context(stage, first))["canonical"]["relations"]
    await stage.world.call(
        "neo4j_end_relationship",
        relationship_id=relations[0]["relationship_id"],
        reason="They parted.",
    )

    assert in_force(await assemble_context(stage, second), "LOVES") == [loved]


async def scenes_before(stage: Stage, scene_id: str) -> list[str]:
    """The scenes that a context tells as those before it."""
    reported = (await assemble_context(stage, scene_id))["narrative"]["previous_scenes"]
    return [each["title"] for each in reported]


async def test_no_later_scene_of_the_story_appears_as_earlier() -> None:
    stage = await a_stage()
    scenes = {name: await stage.scene(name) for name in ("One", "Two", "Three", "Four", "Five")}
    scenes["Aside"] = await stage.scene("Aside", order=2)
    for name, scene_id in scenes.items():
        await stage.complete(scene_id, f"{name} was played.")
    elsewhere = await stage.world.story("Another")
    scenes["First of another"] = await stage.scene("First of another", story_id=elsewhere)

    found = {name: await scenes_before(stage, scene_id) for name, scene_id in scenes.items()}

    assert found == {
        "One": [],
        "Two": ["One"],
        "Aside": ["One", "Two"],
        "Three": ["One", "Two", "Aside"],
        "Four": ["Two", "Aside", "Three"],
        "Five": ["Aside", "Three", "Four"],
        "First of another": [],
    }


async def test_later_world_events_do_not_precede_a_flashback() -> None:
    stage = await a_stage()
    years = {"War": 1419, "Birth": 1368, "Undated": None, "Youth": 1390, "Home": 1421}
    scenes = {}
    for name, year in years.items():
        when = {} if year is None else {"time_ref": f"{year}-01-01T00:00:00Z"}
        scenes[name] = await stage.scene(name, **when)
        await stage.complete(scenes[name])

    assert await scenes_before(stage, scenes["Youth"]) == ["Birth", "Undated"]
    assert await scenes_before(stage, scenes["Home"]) == ["Birth", "Undated", "Youth"]


async def test_the_first_scene_of_a_long_story_knows_no_later_one() -> None:
    stage = await a_stage()
    scenes = [await stage.scene(f"Scene {number}") for number in range(12)]
    for scene_id in scenes:
        await stage.complete(scene_id)

    assert await scenes_before(stage, scenes[0]) == []
    assert await scenes_before(stage, scenes[2]) == ["Scene 0", "Scene 1"]
    assert await scenes_before(stage, scenes[11]) == ["Scene 8", "Scene 9", "Scene 10"]


async def test_later_story_events_are_not_recalled_either() -> None:
    stage = await a_stage()
    first, last = await stage.scene("One"), await stage.scene("Two")
    other = await stage.scene("Other", story_id=await stage.world.story("Another"))
    for name, scene_id in {"One": first, "Two": last, "Other": other}.items():
        await stage.turn(scene_id, f"The dragon sleeps under the hill: {name}")

    assert await recalled_scenes(stage, first) == {"Other"}
    assert await recalled_scenes(stage, last) == {"One", "Other"}


async def recalled_scenes(stage: Stage, scene_id: str) -> set[str]:
    """Return the other scenes that a context quotes for a question."""
    hits = (await assemble_context(stage, scene_id, semantic_query="dragon hill"))["recalled"]
    return {hit["text"].rpartition(": ")[2] for hit in hits["similar_scenes"]}
