"""Recall in real servers: indexed in the background by one of them, whatever dies in between."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from canonry.adapters.vectors import FolderVectors
from canonry.adapters.vectors.owner import owning
from canonry.domain.errors import CanonryError
from canonry.usecases.follow_log import LogCursor
from tests.cli.run import canonry_process
from tests.crash.stdio_client import Server, a_call, outcome

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="asyncio pipes differ there"),
]
LOOKS = 600
TURNS = 1500


@pytest.fixture(autouse=True)
def _hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about processes; the embedder without a model starts fastest."""
    monkeypatch.setenv("CANONRY_RECALL_EMBEDDER", "hashing")


class World:
    """A folder with a story of many turns."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self._log = folder / "log"
        self._calls = 0

    @asynccontextmanager
    async def server(self) -> AsyncIterator[Server]:
        async with Server.running(self.data, self._log) as server:
            yield server

    async def call(self, server: Server, tool: str, agent: str, **arguments: Any) -> Any:
        self._calls += 1
        params = a_call(tool, agent, arguments, f"call {self._calls}")
        return outcome({"result": await server.ask("tools/call", params)})

    async def universe(self, server: Server, name: str) -> None:
        await self.call(server, "neo4j_create_universe", "CanonKeeper", name=name)

    async def search(self, server: Server, text: str) -> tuple[Sequence[str], Sequence[str]]:
        """The texts found, and what was degraded."""
        found = await self.call(
            server,
            "qdrant_semantic_search",
            "Narrator",
            query_text=text,
            collection="scene_chunks",
            filters={},
        )
        return [json.dumps(each) for each in found["results"]], found["degraded"]

    async def indexed(self) -> tuple[int, int, bool]:
        """Vectors, commits read, and whether all had been read once."""
        if not (self.data / "recall" / "recall.db").is_file():
            return 0, 0, False
        vectors = FolderVectors(self.data / "recall")
        try:
            found = await vectors.status()
        except CanonryError:
            return 0, 0, False
        finally:
            await vectors.close()
        cursors = [LogCursor.read(each.cursor) for each in found]
        read = sum(sum(cursor.positions.values()) for cursor in cursors)
        return sum(e.count for e in found), read, any(cursor.complete for cursor in cursors)

    async def until(self, *, vectors: int = 0, commits: int = 0, complete: bool = False) -> int:
        """Wait until the index is so far; the number of vectors in it then."""
        for _ in range(LOOKS):
            count, read, all_read = await self.indexed()
            if count >= vectors and read >= commits and (all_read or not complete):
                return count
            await asyncio.sleep(0.05)
        raise AssertionError("the index stays behind")

    def told(self) -> int:
        """Tell the story; the number of commits."""
        turns = [{"speaker": "GM", "text": f"The bell tolls {n} times."} for n in range(TURNS)]
        path = self.data.parent / "story.json"
        path.write_text(json.dumps(turns), encoding="utf-8")
        done = canonry_process(
            *("import", "transcript", str(path), "--universe", "Home"),
            *("--data", str(self.data), "--durability", "normal"),
        )
        assert done.returncode == 0, done.stderr
        facts = self.facts()
        return int(facts["commits"])

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = self.doctor()["store"]
        return found

    def doctor(self, **environment: str) -> dict[str, Any]:
        done = canonry_process(
            *("doctor", "--data", str(self.data), "--json"), environment=environment
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_an_idle_server_loads_nothing_of_recall(world: World) -> None:
    async with world.server() as server:
        await world.call(server, "neo4j_query_universes", "Narrator")
        maps = Path(f"/proc/{server._process.pid}/maps")
        if not maps.is_file():
            pytest.skip("the system does not tell what a process has loaded")
        loaded = await asyncio.to_thread(maps.read_text)

    assert "numpy" not in loaded
    assert "onnxruntime" not in loaded


async def test_the_index_appears_in_the_background_and_survives_kill_9(world: World) -> None:
    commits = world.told()
    async with world.server() as server:
        texts, degraded = await world.search(server, "bell tolls 77 times")
        assert any("tolls 77 times" in text for text in texts)
        assert degraded == ["vectors-behind"]
        await world.until(vectors=1)

    before, _, _ = await world.indexed()
    async with world.server() as server:
        await world.universe(server, "Another")
        count = await world.until(vectors=TURNS, commits=commits, complete=True)
        _, degraded = await world.search(server, "bell tolls")
        assert degraded == []

    assert 0 < before <= count
    assert world.facts()["recall_commits_waiting"] == 0


async def test_one_of_two_servers_indexes_and_the_other_takes_over(world: World) -> None:
    lock = world.data / "recall" / "indexing.lock"
    async with world.server() as second:
        async with world.server() as first:
            await world.universe(first, "Home")
            await world.until(commits=1)
            await world.search(second, "home")
            with owning(lock) as owned:
                assert not owned
        await world.universe(second, "Away")
        await world.until(commits=2)
        with owning(lock) as owned:
            assert not owned

    with owning(lock) as owned:
        assert owned


async def test_without_its_model_search_goes_by_words_and_says_so(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.told()
    nowhere = {"CANONRY_RECALL_EMBEDDER": "onnx", "CANONRY_RECALL_MODEL_FOLDER": str(tmp_path)}
    for name, value in nowhere.items():
        monkeypatch.setenv(name, value)

    async with world.server() as server:
        texts, degraded = await world.search(server, "bell tolls 77 times")
        await world.universe(server, "Another")

    assert any("tolls 77 times" in text for text in texts)
    assert degraded == ["vectors"]
    assert any("all-MiniLM-L6-v2 is not installed" in e["what"] for e in world.doctor()["wrong"])


async def test_a_folder_that_takes_no_index_hinders_no_write(world: World) -> None:
    world.told()
    (world.data / "recall").write_text("in the way", encoding="utf-8")

    async with world.server() as server:
        await world.universe(server, "Another")
        texts, degraded = await world.search(server, "bell tolls 77 times")
        for _ in range(LOOKS):
            if "not indexed by meaning" in world.log():
                break
            await asyncio.sleep(0.05)
        await world.universe(server, "Yet another")
        assert await server.end() == 0

    assert texts
    assert degraded == ["vectors"]
    assert world.log().count("not indexed by meaning") == 1


async def test_erasing_takes_the_vectors_along(world: World) -> None:
    world.told()
    async with world.server() as server:
        found = await world.call(
            server,
            "qdrant_semantic_search",
            "Narrator",
            query_text="bell tolls 77 times",
            collection="scene_chunks",
            filters={},
        )
        await world.until(vectors=TURNS, complete=True)
    before, _, _ = await world.indexed()
    turn = next(each["id"] for each in found["results"] if each["payload"]["type"] == "turn")

    done = canonry_process("erase", "--turn", turn, "--yes", "--data", str(world.data))

    assert done.returncode == 0, done.stderr
    after, _, _ = await world.indexed()
    assert after == before - 1


async def test_a_damaged_index_is_told_by_doctor_and_rebuilt(world: World) -> None:
    world.told()
    file = world.data / "recall" / "recall.db"
    done = canonry_process("rebuild", "--only", "vectors", "--data", str(world.data))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) >= TURNS
    file.write_bytes(b"no database at all" * 1000)
    for beside in file.parent.glob("recall.db-*"):
        beside.unlink()

    async with world.server() as server:
        texts, degraded = await world.search(server, "bell tolls 77 times")
        assert texts
        assert degraded == ["vectors"]
    assert any("--only vectors" in each["help"] for each in world.doctor()["wrong"])

    mended = canonry_process("rebuild", "--data", str(world.data))
    assert "dropped the damaged index" in mended.stdout
    again = canonry_process("rebuild", "--only", "vectors", "--data", str(world.data))
    assert again.stdout == done.stdout
    assert world.doctor()["wrong"] == []
