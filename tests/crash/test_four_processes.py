"""Four servers on one folder, two killed with -9: each acknowledged write is there once."""

import asyncio
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from canonry.adapters.sqlite import Durability
from canonry.bootstrap.embedded import open_embedded
from canonry.domain.ids import SceneId, SpaceId
from canonry.domain.things.scenes import Turn
from canonry.ports.views.state import EntityQuery
from canonry.testing.conformance.upkeep import quiet
from tests.crash.stdio_client import Server, a_call, outcome

WRITES = 250
KILLED_AFTER = {0: 40, 2: 120}
"""Which servers are killed, and after how many of their answers."""
ASKED_AGAIN = 25
LATE = 50
"""Calls that a server gets at the moment in which it is killed."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="asyncio pipes differ there")

World = tuple[str, str]


def writes(server: int, world: World) -> dict[str, dict[str, Any]]:
    """The calls of one server under their idempotency keys: turns and entities in turn."""
    universe, scene = world
    calls: dict[str, dict[str, Any]] = {}
    for n in range(WRITES + LATE if server in KILLED_AFTER else WRITES):
        name = f"server {server} write {n}"
        if n % 2:
            said = {"scene_id": scene, "speaker": "gm", "text": name}
            calls[name] = a_call("mongodb_append_turn", "Narrator", said, name)
        else:
            declared = {
                "universe_id": universe,
                "entity_class": "EntityInstance",
                "entity_type": "character",
                "name": name,
                "description": "one of many",
                "properties": {},
                "confidence": 1.0,
                "authority": "gm",
                "evidence_refs": [f"scene:{scene}"],
            }
            calls[name] = a_call("neo4j_create_entity", "CanonKeeper", declared, name)
    return calls


def made(answered: Mapping[str, Any]) -> str:
    """The id of what a call made."""
    return str(answered.get("turn_id") or answered["entity_id"])


class Client:
    """Sends all its calls at once, and again whatever was not answered by a killed server."""

    def __init__(self, number: int, folder: Path, log: Path, world: World) -> None:
        self._number = number
        self._where = (folder, log)
        self._calls = writes(number, world)
        self._on_their_way: dict[int, str] = {}
        self.acknowledged: dict[str, str] = {}

    async def run(self) -> None:
        async with Server.running(*self._where) as server:
            await self._until_killed(server)
        if self._number in KILLED_AFTER:
            async with Server.running(*self._where) as server:
                await self._again(server)

    async def _until_killed(self, server: Server) -> None:
        names = list(self._calls)
        self._send(server, names[:WRITES])
        if self._number in KILLED_AFTER:
            await self._hear(server, KILLED_AFTER[self._number])
            self._send(server, names[WRITES:])
            for message in await server.kill():
                self._note(message)
        else:
            await self._hear(server, len(self._on_their_way))
            assert await server.end() == 0

    async def _again(self, server: Server) -> None:
        """What was not answered, and some of what was."""
        again = list(self.acknowledged)[:ASKED_AGAIN]
        lost = [name for name in self._calls if name not in self.acknowledged]
        assert lost, "the server was killed too late"
        self._on_their_way.clear()
        self._send(server, [*again, *lost])
        await self._hear(server, len(self._on_their_way))
        assert await server.end() == 0

    def _send(self, server: Server, names: list[str]) -> None:
        for name in names:
            self._on_their_way[server.send("tools/call", self._calls[name])] = name

    async def _hear(self, server: Server, count: int) -> None:
        for _ in range(count):
            message = await server.answer()
            assert message is not None, "the server ended by itself"
            self._note(message)

    def _note(self, message: Mapping[str, Any]) -> None:
        name = self._on_their_way.pop(message["id"])
        thing_id = made(outcome(message))
        assert self.acknowledged.setdefault(name, thing_id) == thing_id, "a retry answers alike"


async def a_world(folder: Path, log: Path) -> World:
    """A universe with a story and a scene."""
    async with Server.running(folder, log) as server:
        world = await _opened(server)
        assert await server.end() == 0
    return world


async def _opened(server: Server) -> World:
    async def call(name: str, agent_type: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        params = a_call(name, agent_type, arguments, f"the {name}")
        return outcome({"result": await server.ask("tools/call", params)})

    keeper, orchestrator = "CanonKeeper", "Orchestrator"
    universe = (await call("neo4j_create_universe", keeper, {"name": "World"}))["universe_id"]
    told = {"universe_id": universe, "title": "Story", "story_type": "campaign"}
    story = (await call("neo4j_create_story", orchestrator, told))["story_id"]
    played = {
        "universe_id": universe,
        "story_id": story,
        "title": "Scene",
        "participating_entities": [],
    }
    scene = (await call("mongodb_create_scene", orchestrator, played))["scene_id"]
    return str(universe), str(scene)


async def race(folder: Path, log: Path) -> tuple[World, dict[str, str]]:
    world = await a_world(folder, log)
    clients = [Client(number, folder, log, world) for number in range(4)]
    await asyncio.gather(*(client.run() for client in clients))
    answered: dict[str, str] = {}
    for client in clients:
        answered |= client.acknowledged
    return world, answered


async def kept(folder: Path, world: World) -> dict[str, str]:
    """Name and id of every write that the store holds; it is sound, and nothing is there twice."""
    store = await open_embedded(folder, durability=Durability.NORMAL)
    try:
        assert (await store.upkeep.verify(quiet)).findings == ()
        universe, scene = world
        pairs: list[tuple[str, str]] = []
        turns: list[Turn] = []
        while page := await store.canon.documents.turns(SceneId(scene), after=len(turns) - 1):
            turns += page
        assert [turn.index for turn in turns] == list(range(len(turns)))
        pairs += [(turn.text, turn.id) for turn in turns]
        spaces = frozenset((SpaceId(universe),))
        for offset in range(0, len(KILLED_AFTER) * LATE + 4 * WRITES, 500):
            query = EntityQuery(spaces=spaces, limit=500, offset=offset)
            pairs += [(e.name, e.id) for e in (await store.canon.state.entities(query)).items]
    finally:
        await store.close()
    twice = [name for name, times in Counter(name for name, _ in pairs).items() if times > 1]
    assert not twice
    return dict(pairs)


def test_each_acknowledged_write_is_there_once(tmp_path: Path) -> None:
    folder, log = tmp_path / "store", tmp_path / "servers.log"

    world, answered = asyncio.run(race(folder, log))

    assert len(answered) == 4 * WRITES + len(KILLED_AFTER) * LATE
    assert asyncio.run(kept(folder, world)) == answered
