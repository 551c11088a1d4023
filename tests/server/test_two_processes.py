"""Two servers on one folder: what one has answered, the other tells at once, cached or not."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.run import canonry_process
from tests.crash.stdio_client import Server, a_call, tool_answer
from tests.replies import parse_result

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="asyncio pipes differ there"),
]
AUTHORIZED: Final[dict[str, Any]] = {"confidence": 1.0, "authority": "gm"}


class Table:
    """A writing and a reading server; the reader asks before each write, so that it has a cache."""

    def __init__(self, writer: Server, reader: Server) -> None:
        self._writer = writer
        self._reader = reader
        self._written = 0

    async def write_tool(self, tool: str, agent: str = "CanonKeeper", **arguments: Any) -> Any:
        self._written += 1
        params = a_call(tool, agent, arguments, f"write {self._written}")
        return tool_answer({"result": await self._writer.ask("tools/call", params)})

    async def read_twice(self, tool: str, agent: str = "Narrator", **arguments: Any) -> Any:
        """The same question twice, so that the second answer comes from the cache."""
        params = a_call(tool, agent, arguments, "read")
        first, second = [await self._reader.ask("tools/call", params) for _ in range(2)]
        assert first == second
        return parse_result(first)

    async def create_entity(self, universe: str, name: str, evidence: str) -> str:
        made = await self.write_tool(
            "neo4j_create_entity",
            entity_class="EntityInstance",
            universe_id=universe,
            name=name,
            entity_type="character",
            description="Somebody.",
            properties={},
            evidence_refs=[evidence],
            **AUTHORIZED,
        )
        return str(made["entity_id"])

    async def propose_change(self, scene: str, turn: str, kind: str, **content: Any) -> None:
        await self.write_tool(
            "mongodb_create_proposed_change",
            "Narrator",
            scene_id=scene,
            type=kind,
            content=content,
            evidence=[{"type": "turn", "ref_id": turn}],
            **AUTHORIZED,
        )


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for the module, which both servers live on."""
    return "asyncio"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("two-processes")


@pytest.fixture(scope="module")
async def table(folder: Path) -> AsyncIterator[Table]:
    store, log = folder / "store", folder / "log"
    async with Server.running(store, log) as writer, Server.running(store, log) as reader:
        yield Table(writer, reader)


async def a_universe(table: Table) -> tuple[str, str]:
    """A universe and a reference to its source."""
    made = await table.write_tool("neo4j_create_universe", name="Home")
    universe = made["universe_id"]
    source = await table.write_tool(
        "neo4j_create_source",
        universe_id=universe,
        doc_id="book",
        title="The Book",
        source_type="lore",
        canon_level="canon",
    )
    return universe, f"source:{source['source_id']}"


async def test_entities_are_read_as_the_other_process_left_them(table: Table) -> None:
    universe, evidence = await a_universe(table)
    ann = await table.create_entity(universe, "Ann", evidence)
    assert (await table.read_twice("neo4j_get_entity", entity_id=ann))["state_tags"] == []
    assert (await table.read_twice("neo4j_query_entities", universe_id=universe))["total"] == 1

    await table.write_tool(
        "neo4j_update_entity_state",
        entity_id=ann,
        state_tag_changes={"add": ["wet"]},
        authority="gm",
        evidence_refs=[evidence],
    )
    assert (await table.read_twice("neo4j_get_entity", entity_id=ann))["state_tags"] == ["wet"]
    reply = await table.read_twice("neo4j_get_entity", entity_id=ann, include_state_history=True)
    assert len(reply["state_history"]) == 1

    other = await table.create_entity(universe, "Anne", evidence)
    assert (await table.read_twice("neo4j_query_entities", universe_id=universe))["total"] == 2
    assert (await table.read_twice("neo4j_get_entity", entity_id=other))["name"] == "Anne"
    merged = {"kept_entity_id": ann, "merged_entity_id": other, "reason": "the same"}
    await table.write_tool("neo4j_merge_entities", **merged)
    assert (await table.read_twice("neo4j_get_entity", entity_id=other))["entity_id"] == ann
    assert (await table.read_twice("neo4j_query_entities", universe_id=universe))["total"] == 1


async def test_scenes_are_read_as_the_other_process_left_them(table: Table) -> None:
    universe, evidence = await a_universe(table)
    ann = await table.create_entity(universe, "Ann", evidence)
    arguments = {"universe_id": universe, "title": "A story", "story_type": "campaign"}
    story = await table.write_tool("neo4j_create_story", "Orchestrator", **arguments)
    played = {"story_id": story["story_id"], "title": "Rain", "participating_entities": [ann]}
    opened = await table.write_tool(
        "mongodb_create_scene", "Orchestrator", universe_id=universe, **played
    )
    scene = opened["scene_id"]
    assert (await table.read_twice("mongodb_get_scene", scene_id=scene))["turns"] == []

    parse_result = {"scene_id": scene, "speaker": "gm", "text": "It rains."}
    turn = (await table.write_tool("mongodb_append_turn", "Narrator", **parse_result))["turn_id"]
    assert len((await table.read_twice("mongodb_get_scene", scene_id=scene))["turns"]) == 1

    await table.propose_change(scene, turn, "state_change", entity_id=ann, add=["wet"])
    await table.propose_change(scene, turn, "entity", name="Ben", entity_type="character")
    assert (await table.read_twice("mongodb_get_scene", scene_id=scene))["total_proposals"] == 2
    assert (await table.read_twice("neo4j_get_entity", entity_id=ann))["state_tags"] == []
    assert (await table.read_twice("neo4j_query_entities", universe_id=universe))["total"] == 1

    await table.write_tool("composite_canonize_scene", scene_id=scene)
    assert (await table.read_twice("mongodb_get_scene", scene_id=scene))["status"] == "completed"
    assert (await table.read_twice("neo4j_get_entity", entity_id=ann))["state_tags"] == ["wet"]
    assert (await table.read_twice("neo4j_query_entities", universe_id=universe))["total"] == 2


async def test_an_entity_erased_by_another_process_is_gone(table: Table, folder: Path) -> None:
    universe, evidence = await a_universe(table)
    ann = await table.create_entity(universe, "Ann", evidence)
    assert (await table.read_twice("neo4j_get_entity", entity_id=ann))["name"] == "Ann"
    assert (await table.read_twice("neo4j_query_entities", universe_id=universe))["total"] == 1

    done = canonry_process("erase", "--entity", ann, "--yes", "--data", str(folder / "store"))

    assert done.returncode == 0, done.stderr
    gone = await table.read_twice("neo4j_get_entity", entity_id=ann)
    assert gone["error"]["code"] == -32002
    assert (await table.read_twice("neo4j_query_entities", universe_id=universe))["total"] == 0


async def test_a_cached_reply_is_only_for_permitted_callers(table: Table) -> None:
    universe, evidence = await a_universe(table)
    ann = await table.create_entity(universe, "Ann", evidence)
    await table.read_twice("neo4j_get_entity", entity_id=ann)

    stranger = await table.read_twice("neo4j_get_entity", agent="Stranger", entity_id=ann)
    assert stranger["error"]["code"] == -32001
    batched = await table.read_twice(
        "batch_call", calls=[{"name": "neo4j_get_entity", "arguments": {"entity_id": ann}}]
    )
    assert batched["results"][0]["name"] == "Ann"
