"""Recall in real servers: indexed in the background by one of them, whatever dies in between."""

import asyncio
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from canonry.readmodels.ports.text import Purpose
from canonry.recall.embedders import HashingEmbedder
from canonry.recall.vectors.rows import to_halves, try_owning
from tests.cli.run import canonry_process
from tests.server.recall_world import TURNS, World

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="asyncio pipes differ there"),
]


@pytest.fixture(autouse=True)
def _hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about processes; the embedder without a model starts fastest."""
    monkeypatch.setenv("CANONRY_RECALL_EMBEDDER", "hashing")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_an_idle_server_loads_nothing_of_recall(world: World) -> None:
    async with world.run_server() as server:
        await world.call(server, "neo4j_query_universes", "Narrator")
        maps = Path(f"/proc/{server._process.pid}/maps")
        if not maps.is_file():
            pytest.skip("the system does not tell what a process has loaded")
        loaded = await asyncio.to_thread(maps.read_text)

    assert "numpy" not in loaded
    assert "onnxruntime" not in loaded


async def test_the_index_appears_in_the_background_and_survives_kill_9(world: World) -> None:
    world.record_story()
    commits = int(world.doctor_facts()["commits"])
    async with world.nobody_indexing(), world.run_server() as server:
        texts, degraded = await world.search_scenes(server, "bell tolls 77 times")
        assert any("tolls 77 times" in text for text in texts)
        assert degraded == ["vectors-behind"]

    async with world.run_server() as server:
        await world.search_scenes(server, "bell tolls 77 times")
        await world.await_index(vectors=1)
    before, _, _ = await world.index_figures()
    async with world.run_server() as server:
        await world.create_universe(server, "Another")
        count = await world.await_index(vectors=TURNS, commits=commits + 1, complete=True)
        assert await world.until_whole(server, "bell tolls")

    assert 0 < before <= count
    assert world.doctor_facts()["recall_commits_waiting"] == 0


async def test_one_of_two_servers_indexes_and_the_other_takes_over(world: World) -> None:
    lock = world.data / "recall" / "indexing.lock"
    async with world.run_server() as second:
        async with world.run_server() as first:
            await world.create_universe(first, "Home")
            await world.await_index(commits=1)
            await world.search_scenes(second, "home")
            with try_owning(lock) as owned:
                assert not owned
        await world.create_universe(second, "Away")
        await world.await_index(commits=2)
        with try_owning(lock) as owned:
            assert not owned

    with try_owning(lock) as owned:
        assert owned


async def test_without_its_model_search_uses_words_and_says_so(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.record_story()
    nowhere = {"CANONRY_RECALL_EMBEDDER": "onnx", "CANONRY_RECALL_MODEL_FOLDER": str(tmp_path)}
    for name, value in nowhere.items():
        monkeypatch.setenv(name, value)

    async with world.run_server() as server:
        texts, degraded = await world.search_scenes(server, "bell tolls 77 times")
        await world.create_universe(server, "Another")

    assert any("tolls 77 times" in text for text in texts)
    assert degraded == ["vectors"]
    assert f"{tmp_path} has no model.onnx" in world.doctor_problems()


async def test_a_folder_that_takes_no_index_blocks_no_write(world: World) -> None:
    world.record_story()
    (world.data / "recall").write_text("in the way", encoding="utf-8")

    async with world.run_server() as server:
        await world.create_universe(server, "Another")
        texts, degraded = await world.search_scenes(server, "bell tolls 77 times")
        await server.until_said("not indexed by meaning")
        await world.create_universe(server, "Yet another")
        assert await server.end_process() == 0

    assert texts
    assert degraded == ["vectors"]
    assert world.read_log().count("not indexed by meaning") == 1


async def vector_traces() -> Sequence[bytes]:
    """The vectors that the 77th turn went into, as they are stored."""
    spoken = [f"GM: The bell tolls {n} times." for n in (76, 77, 78)]
    texts = ["\n".join(pair) for pair in pairwise(spoken)]
    return [to_halves(each) for each in await HashingEmbedder().embed(texts, Purpose.PASSAGE)]


async def test_erasing_removes_vectors_while_a_server_runs(world: World) -> None:
    world.record_story()
    secrets = await vector_traces()
    async with world.run_server() as server:
        found = await world.find_scenes(server, "bell tolls 77 times")
        turn = next(each for each in found["results"] if "tolls 77 times" in each["text"])["id"]
        before = await world.await_index(vectors=TURNS, complete=True)
        assert all(any(each in file for file in world.read_files()) for each in secrets)

        done = canonry_process("erase", "--turn", turn, "--yes", "--data", str(world.data))

        assert done.returncode == 0, done.stderr
        assert not any(each in file for file in world.read_files() for each in secrets)
        await world.await_index(commits=int(world.doctor_facts()["commits"]))
        count, _, _ = await world.index_figures()
        assert count == before - 1
        texts = await world.until_whole(server, "bell tolls 77 times")
        assert not any(turn in text for text in texts)
        assert not any(each in file for file in world.read_files() for each in secrets)
