"""`canonry retcon`: what a scene made canon is listed, and falls where the operator says so."""

import asyncio
from pathlib import Path

from canonry.app.embedded import open_embedded
from canonry.gateway.call import Gateway
from canonry.narrative.toolset import NARRATIVE
from canonry.testing.clocks import HandClock
from tests.cli.run import run_canonry
from tests.toolsets.narrative.kit import World
from tests.toolsets.narrative.stage import stage_world


async def play_scene(folder: Path) -> tuple[str, str]:
    """A scene that made one fact canon; the ids of both."""
    clock = HandClock()
    store = await open_embedded(folder, clock=clock)
    try:
        world = World(canon=store.canon, gateway=Gateway(store.canon, (NARRATIVE,)), clock=clock)
        await world.begin("Middle-earth")
        stage = await stage_world(world)
        scene = await stage.scene()
        await stage.propose(scene)
        reply = await world.call("composite_canonize_scene", scene_id=scene)
        return scene, reply["canonical_fact_ids"][0]
    finally:
        await store.close()


async def level_of(folder: Path, fact: str) -> str:
    store = await open_embedded(folder)
    try:
        return str((await store.canon.state.items_by_id((fact,)))[fact].level)  # type: ignore[union-attr]
    finally:
        await store.close()


def test_items_of_a_scene_are_listed_and_retracted_with_yes(tmp_path: Path) -> None:
    scene, fact = asyncio.run(play_scene(tmp_path))
    asked = ("retcon", "--scene", scene, "--data", str(tmp_path))

    listed = run_canonry(*asked)
    assert (listed.returncode, fact in listed.stdout) == (0, True)
    assert "made by the scene: 1" in listed.stdout
    assert "Nothing was changed" in listed.stdout
    assert asyncio.run(level_of(tmp_path, fact)) == "canon"

    done = run_canonry(*asked, "--yes", "--reason", "another table")
    assert "retconned: 1; holding again: 0" in done.stdout
    assert asyncio.run(level_of(tmp_path, fact)) == "retconned"
    assert "made by the scene: 0" in run_canonry(*asked).stdout


def test_a_missing_scene_is_refused(tmp_path: Path) -> None:
    asyncio.run(play_scene(tmp_path))
    data = ("--data", str(tmp_path))

    assert run_canonry("retcon", "--scene", "x", *data).returncode == 2
    nowhere = "ffffffff-0000-4000-8000-00000000dead"
    assert run_canonry("retcon", "--scene", nowhere, *data).returncode == 3
