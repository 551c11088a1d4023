"""Servers on one store that are sent writes all at once, some of them killed with -9 meanwhile."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from canonry.app.stores import KeptStore
from canonry.log.items.scenes import Turn
from canonry.readmodels.ports.state import EntityQuery
from canonry.testing.conformance.maintenance import check_progress
from canonry.values.ids import SceneId, SpaceId
from tests.crash.stdio_client import Server, a_call, tool_answer

ASKED_AGAIN = 25
_PAGE = 500

World = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """The number of servers and of their calls, and the servers that are killed."""

    servers: int
    writes: int
    late: int
    """Calls that a server gets at the moment in which it is killed."""
    killed_after: Mapping[int, int]
    """The servers that are killed, each with the number of answers before that."""

    @property
    def total(self) -> int:
        """Calls that all of them are answered in the end."""
        return self.servers * self.writes + len(self.killed_after) * self.late


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The folder of a server's machine, its log, and the settings that name its store."""

    folder: Path
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def run_server(self) -> Any:
        """A server there, until the block ends."""
        return Server.running(self.folder, self.log, self.environment)


def id_of_outcome(answered: Mapping[str, Any]) -> str:
    """The id of what a call made."""
    return str(answered.get("turn_id") or answered["entity_id"])


class Client:
    """Sends all its calls at once, and again whatever was not answered by a killed server."""

    def __init__(self, number: int, race: Race, place: Place, world: World) -> None:
        self._number = number
        self._race = race
        self._place = place
        self._calls = self._write_calls(world)
        self._on_their_way: dict[int, str] = {}
        self.acknowledged: dict[str, str] = {}

    def _write_calls(self, world: World) -> dict[str, dict[str, Any]]:
        """The calls under their idempotency keys: turns and entities in turn."""
        universe, scene = world
        calls: dict[str, dict[str, Any]] = {}
        race = self._race
        for n in range(race.writes + race.late * (self._number in race.killed_after)):
            name = f"server {self._number} write {n}"
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

    async def run_calls(self) -> None:
        """Until every call was answered, by this server or by the one that comes after it."""
        async with self._place.run_server() as server:
            await self._until_killed(server)
        if self._number in self._race.killed_after:
            async with self._place.run_server() as server:
                await self._repeat_calls(server)

    async def _until_killed(self, server: Server) -> None:
        names = list(self._calls)
        self._send_calls(server, names[: self._race.writes])
        if self._number in self._race.killed_after:
            await self._hear_answers(server, self._race.killed_after[self._number])
            self._send_calls(server, names[self._race.writes :])
            for message in await server.kill_process():
                self._note_answer(message)
        else:
            await self._hear_answers(server, len(self._on_their_way))
            assert await server.end_process() == 0

    async def _repeat_calls(self, server: Server) -> None:
        """Repeat the calls that got no answer, and some that got one."""
        again = list(self.acknowledged)[:ASKED_AGAIN]
        lost = [name for name in self._calls if name not in self.acknowledged]
        assert lost, "the server was killed too late"
        self._on_their_way.clear()
        self._send_calls(server, [*again, *lost])
        await self._hear_answers(server, len(self._on_their_way))
        assert await server.end_process() == 0

    def _send_calls(self, server: Server, names: list[str]) -> None:
        for name in names:
            self._on_their_way[server.send_request("tools/call", self._calls[name])] = name

    async def _hear_answers(self, server: Server, count: int) -> None:
        for _ in range(count):
            message = await server.read_answer()
            assert message is not None, "the server ended by itself"
            self._note_answer(message)

    def _note_answer(self, message: Mapping[str, Any]) -> None:
        name = self._on_their_way.pop(message["id"])
        item_id = id_of_outcome(tool_answer(message))
        assert self.acknowledged.setdefault(name, item_id) == item_id, "a retry answers alike"


async def a_world(place: Place) -> World:
    """A universe with a story and a scene."""
    async with place.run_server() as server:
        world = await _open_world(server)
        assert await server.end_process() == 0
    return world


async def _open_world(server: Server) -> World:
    async def call(name: str, agent_type: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        params = a_call(name, agent_type, arguments, f"the {name}")
        return tool_answer({"result": await server.ask("tools/call", params)})

    keeper, orchestrator = "CanonKeeper", "Orchestrator"
    universe = (await call("neo4j_create_universe", keeper, {"name": "World"}))["universe_id"]
    given = {"universe_id": universe, "title": "Story", "story_type": "campaign"}
    story = (await call("neo4j_create_story", orchestrator, given))["story_id"]
    played = {
        "universe_id": universe,
        "story_id": story,
        "title": "Scene",
        "participating_entities": [],
    }
    scene = (await call("mongodb_create_scene", orchestrator, played))["scene_id"]
    return str(universe), str(scene)


async def run_race(race: Race, places: Sequence[Place]) -> tuple[World, dict[str, str]]:
    """The world that was written to, and name and id of every write that was acknowledged."""
    world = await a_world(places[0])
    clients = [Client(number, race, place, world) for number, place in enumerate(places)]
    await asyncio.gather(*(client.run_calls() for client in clients))
    answered: dict[str, str] = {}
    for client in clients:
        answered |= client.acknowledged
    return world, answered


async def read_writes(store: KeptStore, world: World) -> dict[str, str]:
    """Name and id of every write that the store holds; it is sound, and nothing is there twice."""
    try:
        assert (await store.maintenance.verify(check_progress)).findings == ()
        universe, scene = world
        pairs: list[tuple[str, str]] = []
        turns: list[Turn] = []
        while page := await store.canon.documents.turns(SceneId(scene), after=len(turns) - 1):
            turns += page
        assert [turn.index for turn in turns] == list(range(len(turns)))
        pairs += [(turn.text, turn.id) for turn in turns]
        query = EntityQuery(spaces=frozenset((SpaceId(universe),)), limit=_PAGE)
        while page_of := (await store.canon.state.entities(query)).items:
            pairs += [(each.name, each.id) for each in page_of]
            query = replace(query, offset=query.offset + _PAGE)
    finally:
        await store.close()
    twice = [name for name, times in Counter(name for name, _ in pairs).items() if times > 1]
    assert not twice
    return dict(pairs)
