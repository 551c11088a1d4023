"""Faults of recall in real servers: search goes on by words, nothing is lost, all mends itself."""

import asyncio
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.adapters.embedders.endpoint import Said, an_endpoint, ranking_of
from tests.cli.run import canonry_in_a_thread
from tests.crash.stdio_client import Server, tool_answer
from tests.server.recall_world import World

if sys.platform != "win32":
    import resource

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="asyncio pipes differ there"),
]
TURNS = 300
PATIENCE = 60.0
ASKED = "bell tolls 77 times"
HTML = b"<html>not what was asked for</html>"
SHORT = b'{"data": [{"index": 0, "embedding": [1.0, 0.0]}]}'


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A story that nobody has embedded yet."""
    result = World(tmp_path_factory.mktemp("story"))
    result.record_story(TURNS)
    return result.data


@pytest.fixture
def world(story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """The story, which an endpoint, once it is there, embeds."""
    shutil.copytree(story, tmp_path / "data")
    given = {"EMBEDDER": "openai", "MODEL": "m", "DIMENSIONS": "3", "PATIENCE": "1"}
    for name, value in given.items():
        monkeypatch.setenv(f"CANONRY_RECALL_{name}", value)
    return World(tmp_path)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Said]:
    with an_endpoint() as said:
        monkeypatch.setenv("CANONRY_RECALL_URL", said.url)
        yield said


async def goes_by_words(world: World, server: Server) -> None:
    """Search finds by words and says that it was by words alone, and writes go on."""
    texts, degraded = await world.search_scenes(server, ASKED)
    await world.create_universe(server, "Another")
    assert "tolls 77 times" in texts[0]
    assert degraded == ["vectors"]


async def test_an_endpoint_that_is_down_is_reported_and_used_when_it_returns(
    world: World, endpoint: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    with an_endpoint() as gone:
        monkeypatch.setenv("CANONRY_RECALL_URL", gone.url)
    async with world.run_server() as server:
        await goes_by_words(world, server)
        await server.until_said("does not answer")
        result = str(world.run_doctor(CANONRY_RECALL_PATIENCE="100")["wrong"])
        with an_endpoint(int(gone.url.split(":")[2].split("/")[0])):
            await world.await_index(vectors=TURNS, complete=True)
            assert await world.until_whole(server, ASKED)
        assert world.read_log().count("not indexed by meaning") == 1

    assert "The endpoint for embeddings does not answer" in result
    assert "Start the model" in result


async def test_an_unresponsive_endpoint_delays_nobody(world: World, endpoint: Said) -> None:
    endpoint.open.clear()
    async with world.run_server() as server:
        await goes_by_words(world, server)
        result = world.doctor_problems()
        endpoint.open.set()

        assert await world.until_whole(server, ASKED)

    assert "did not answer within 1 s" in result
    assert "raise recall.patience" in result


async def test_a_slow_endpoint_within_the_patience_is_waited_for(
    world: World, endpoint: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANONRY_RECALL_PATIENCE", "100")
    endpoint.open.clear()
    async with world.run_server() as server:
        server.send_request("tools/call", world.search_parameters(ASKED))
        assert await asyncio.to_thread(endpoint.was_asked.wait, PATIENCE)
        endpoint.open.set()
        answer = await server.read_answer()

    assert answer is not None
    assert "vectors" not in tool_answer(answer)["degraded"]


async def test_a_reranker_orders_results_and_failures_are_reported(
    world: World, endpoint: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    with an_endpoint(answer=ranking_of) as reranker:
        monkeypatch.setenv("CANONRY_RECALL_RERANKER", "cohere")
        monkeypatch.setenv("CANONRY_RECALL_RERANK_URL", reranker.url)
        monkeypatch.setenv("CANONRY_RERANK_KEY", "sk-rerank")
        async with world.run_server() as server:
            texts, degraded = await world.search_scenes(server, ASKED)
            assert "reranker" not in degraded
            longest = max(reranker.asked[0]["documents"], key=len)
            assert longest.rpartition(": ")[2] in texts[0]
            assert set(reranker.keys) == {"Bearer sk-rerank"}

            reranker.body = HTML
            texts, degraded = await world.search_scenes(server, ASKED)
            assert texts
            assert "reranker" in degraded
            assert (
                "The endpoint for reranking answers in an unknown format" in world.doctor_problems()
            )


@pytest.mark.parametrize(("body", "stated"), [(HTML, "unknown format"), (SHORT, "dimensions")])
async def test_invalid_endpoint_answers_are_reported_and_valid_ones_used(
    world: World, endpoint: Said, body: bytes, stated: str
) -> None:
    endpoint.body = body
    async with world.run_server() as server:
        await goes_by_words(world, server)
        await server.until_said("not indexed by meaning")
        assert "endpoint for embeddings" in world.doctor_problems()
        endpoint.body = None

        assert await world.until_whole(server, ASKED)
        await world.await_index(vectors=TURNS, complete=True)


def damage_bytes(file: Path) -> None:
    """Another file's bytes in place of the index."""
    file.write_bytes(b"no database at all" * 1000)


def damage_inside(file: Path) -> None:
    """A file that begins well and goes on badly."""
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\x5a" * (len(whole) - 4096))


def of_another_version(file: Path) -> None:
    """The mark of a version that nobody has written yet."""
    db = apsw.Connection(str(file))
    db.execute("PRAGMA user_version = 99")
    db.close()


@pytest.mark.parametrize("harm", [damage_bytes, damage_inside, of_another_version])
async def test_a_damaged_index_is_dropped_by_rebuild_and_recreated(
    world: World, endpoint: Said, harm: object
) -> None:
    done = canonry_in_a_thread("rebuild", "--only", "vectors", "--data", str(world.data))
    assert done.returncode == 0, done.stderr
    for beside in world.index.parent.glob("recall.db-*"):
        beside.unlink()
    assert callable(harm)
    harm(world.index)

    async with world.run_server() as server:
        await goes_by_words(world, server)
        assert "--only vectors" in world.doctor_problems()

        repaired = canonry_in_a_thread("rebuild", "--data", str(world.data))

        assert "dropped the damaged vector index" in repaired.stdout
        await world.await_index(vectors=TURNS, complete=True)
        assert await world.until_whole(server, ASKED)
    assert world.run_doctor(CANONRY_RECALL_PATIENCE="100")["wrong"] == []


async def test_an_index_dropped_under_an_idle_server_is_recreated(
    world: World, endpoint: Said
) -> None:
    async with world.run_server() as server:
        await world.search_scenes(server, ASKED)
        await world.await_index(vectors=TURNS, complete=True)
        for path in world.index.parent.glob("recall*"):
            path.unlink()

        await world.await_index(vectors=TURNS, complete=True)
        assert await world.until_whole(server, ASKED)


async def test_the_old_index_serves_until_the_new_model_has_seen_everything(
    world: World, endpoint: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANONRY_RECALL_EMBEDDER", "hashing")
    done = canonry_in_a_thread("rebuild", "--only", "vectors", "--data", str(world.data))
    assert done.returncode == 0, done.stderr
    before = sum((await world.kept_models())["hashing"].positions.values())
    world.record_turns("Away", "A comet strikes the mill.")
    monkeypatch.setenv("CANONRY_RECALL_EMBEDDER", "openai")
    endpoint.open.clear()

    async with world.run_server() as server:
        found = await world.find_scenes(server, "the comet strikes a mill")
        await world.await_index(commits=before + 1)
        assert "comet" in found["results"][0]["text"]
        assert found["results"][0]["why"]["by"] == "both"
        assert found["degraded"] == []
        assert list(await world.kept_models()) == ["hashing"]
        await world.create_universe(server, "Another")
        await world.await_index(commits=before + 2)
        assert list(await world.kept_models()) == ["hashing"], "the endpoint has not answered yet"
        endpoint.open.set()

        await world.until_kept("m")
        assert await world.until_whole(server, ASKED)
    assert (await world.kept_models())["m"].complete


async def test_the_old_index_follows_while_another_model_is_down(
    world: World, endpoint: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANONRY_RECALL_EMBEDDER", "hashing")
    done = canonry_in_a_thread("rebuild", "--only", "vectors", "--data", str(world.data))
    assert done.returncode == 0, done.stderr
    before = sum((await world.kept_models())["hashing"].positions.values())
    monkeypatch.setenv("CANONRY_RECALL_EMBEDDER", "openai")
    with an_endpoint() as gone:
        monkeypatch.setenv("CANONRY_RECALL_URL", gone.url)

    async with world.run_server() as server:
        await world.create_universe(server, "Another")
        await server.until_said("does not answer")
        await world.create_universe(server, "Yet another")
        await world.await_index(commits=before + 2)

    assert list(await world.kept_models()) == ["hashing"]


def is_before_last_turn(request: Mapping[str, Any]) -> bool:
    """Return whether a request asks only for the story, and for nothing of its last turn."""
    texts = request["input"]
    return ASKED not in texts and not any(f"tolls {TURNS - 1} times" in text for text in texts)


async def test_the_next_server_continues_after_a_kill_while_indexing(
    world: World, endpoint: Said
) -> None:
    endpoint.open.clear()
    endpoint.lets_through = is_before_last_turn
    async with world.run_server() as server:
        await world.create_universe(server, "Another")
        before = await world.await_index(vectors=1)
        await goes_by_words(world, server)
    assert TURNS / 2 < before < TURNS

    endpoint.asked.clear()
    endpoint.open.set()
    async with world.run_server() as server:
        await world.create_universe(server, "Yet another")
        await world.await_index(vectors=TURNS, complete=True)
        assert await world.until_whole(server, ASKED)

    again = {text for asked in endpoint.asked for text in asked["input"]}
    assert len(again) < TURNS / 2, "what was kept is not embedded again"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other limits, if any")
async def test_a_full_disk_stops_only_the_index_until_there_is_room(
    world: World, endpoint: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANONRY_RECALL_DIMENSIONS", "4096")
    monkeypatch.setenv("CANONRY_RECALL_PATIENCE", "100")
    endpoint.dimensions = 4096
    room = (world.data / "canon.db").stat().st_size + 500_000
    async with world.run_server() as server:
        pid = server._process.pid
        _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (room, most))

        texts, _ = await world.search_scenes(server, ASKED)
        await server.until_said("not indexed by meaning")
        await world.create_universe(server, "Another")

        assert any("tolls 77 times" in text for text in texts)
        assert "Free space" in world.read_log()
        assert "are not indexed by meaning yet" in str(world.run_doctor()["hints"])
        before, _, _ = await world.index_figures()
        assert before < TURNS

        resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))
        await world.await_index(vectors=TURNS, complete=True)
        assert await world.until_whole(server, ASKED)
