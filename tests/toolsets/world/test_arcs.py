"""Arcs: quests of what the world has; the same seed plans the same, in every process."""

import json
import sys
from dataclasses import replace
from typing import Any

import anyio
import pytest

from bench.table.scene import scene
from canonry.world.domain.arcs.arcs import ArcMaterials, draw_arc
from canonry.world.domain.atlas import complete_atlas
from canonry.world.domain.checks import reachable_locations
from canonry.world.domain.utterances.lexicon import Nameable
from tests.toolsets.world.kit import Isle, a_world

pytestmark = pytest.mark.anyio


async def plan_arc(isle: Isle, seed: str = "one", **constraints: Any) -> Any:
    """The arc of a seed."""
    return await isle.call("generate-arc", "Planner", seed=seed, constraints=constraints)


@pytest.mark.parametrize("beats", [3, 5, 6, 12])
async def test_every_reference_exists_and_every_step_is_reachable(beats: int) -> None:
    isle = await a_world(scene())
    atlas = scene()
    keys = {isle.id(each.key): each.key for each in atlas.locations}
    alive = {isle.id(each.key): isle.id(each.location) for each in atlas.characters
             if not each.attributes}  # fmt: skip
    lore = {each.key for each in atlas.lore}
    for number in range(10):
        arc = await plan_arc(isle, f"seed {number}", beats=beats)
        assert len(arc["beats"]) == beats
        for beat in arc["beats"]:
            assert beat["locationId"] in keys
            assert all(alive[each] == beat["locationId"] for each in beat["characterIds"])
            assert set(beat["loreFactIds"]) <= lore
            assert all(index < beat["index"] for index in beat["requires"])
            near = {
                isle.id(key)
                for key in reachable_locations(complete_atlas(atlas), keys[beat["locationId"]])
            }
            for following in beat["leadsTo"]:
                assert arc["beats"][following]["locationId"] in near
                assert beat["index"] in arc["beats"][following]["requires"]
            assert "{" not in beat["summary"]
        assert arc["beats"][-1]["leadsTo"] == []
        [action] = arc["proposal"]["proposedActions"]
        assert action["scopeKey"] == f"loc:{arc['beats'][0]['locationId']}"
        assert action["params"]["layerContent"] == arc["hook"]


async def test_an_equal_seed_plans_the_same_and_another_differs() -> None:
    isle, again = await a_world(scene()), await a_world(scene())
    assert await plan_arc(isle) == await plan_arc(again)
    assert await plan_arc(isle) != await plan_arc(isle, "two")
    assert (await plan_arc(isle))["arcId"] != (await plan_arc(isle, beats=7))["arcId"]


PROGRAM = """
import asyncio, json
from bench.table.scene import scene
from tests.toolsets.world.kit import a_world
async def main():
    isle = await a_world(scene())
    arc = await isle.call("generate-arc", "Planner", seed="one", constraints={"beats": 9})
    print(json.dumps(arc))
asyncio.run(main())
"""


async def test_planning_is_the_same_in_every_process() -> None:
    isle = await a_world(scene())
    here = json.dumps(await plan_arc(isle, beats=9))
    done = await anyio.run_process(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": "src:.", "PYTHONHASHSEED": "7", "PATH": ""},
    )
    assert done.stdout.decode().strip() == here


async def test_requested_places_and_factions_occur() -> None:
    isle = await a_world(scene())
    arc = await plan_arc(isle, locationIds=["harbour", "temple"], factionIds=["council"], beats=4)
    visited = [beat["locationId"] for beat in arc["beats"]]
    assert visited[0] == isle.id("harbour")
    assert isle.id("temple") in visited
    assert {each for beat in arc["beats"] for each in beat["loreFactIds"]} <= {"council"}


async def test_impossible_requests_are_refused() -> None:
    isle = await a_world(scene())
    for constraints, code, reason in (
        ({"locationIds": ["nowhere"]}, "NOT_FOUND", "location.unknown"),
        ({"factionIds": ["bell"]}, "NOT_FOUND", "lore.unknown"),
        ({"factionIds": ["nothing"]}, "NOT_FOUND", "lore.unknown"),
        ({"locationIds": ["harbour", "keep"]}, "CONFLICT", "arc.impossible"),
        ({"themes": ["kill yourself"]}, "INVALID_ARGUMENT", "arc.themes"),
        ({"beats": 13}, "INVALID_ARGUMENT", None),
    ):
        outcome = await isle.outcome(
            "generate-arc", {"seed": "x", "constraints": constraints}, "Planner"
        )
        error = outcome.body["error"]
        assert error["code"] == code, constraints
        assert reason in {None, error["details"]["reason"]}


async def test_a_world_of_one_place_has_an_arc_too() -> None:
    atlas = replace(
        scene(),
        locations=(replace(scene().locations[0], exits=()),),
        characters=(),
        items=(),
        lore=(),
        players=(),
        layers=(),
    )
    isle = await a_world(atlas)
    arc = await plan_arc(isle, themes=["a lost ring"])
    assert "a lost ring" in json.dumps(arc["beats"] + [arc["hook"], arc["title"]])
    assert (await plan_arc(isle))["beats"]


def test_unreachable_requests_make_no_arc() -> None:
    inn = Nameable(id="inn", kind="location", name="Inn")
    there = ArcMaterials(locations=(inn,), reachable={}, people={}, lore=(), wanted=("sea",))
    assert draw_arc("a", "s", 3, there) is None
