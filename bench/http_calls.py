"""Calls over HTTP: server processor time and latency against a no-op tool on the same SDK.

Embedding in the background is off: what that costs writers is measured for itself.
"""

import asyncio
import json
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.loads import call_body, closed_loop, request_bytes
from bench.processes import Server, free_port, stay_off_the_servers_processor
from bench.report import Row, median
from bench.worlds import World, build_world
from canonry.app.embedded import open_embedded
from canonry.gateway.tool import Arguments
from canonry.narrative.toolset import NARRATIVE
from canonry.testing.clocks import a_caller

ROUNDS = 12
CALLS = 400
ENTITIES = 1_000
SECTION = "http"


@dataclass(slots=True)
class Subject:
    """One row under measurement: where it listens, what is asked, and what came out."""

    name: str
    server: Server
    request: Callable[[int], bytes]
    cpu: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)

    async def measure(self, calls: int, clients: int) -> None:
        """One round: processor seconds per call at `clients`, latency at one."""
        before = self.server.cpu_seconds()
        await closed_loop(self.server.port, self.request, calls=calls, clients=clients)
        self.cpu.append((self.server.cpu_seconds() - before) / calls)
        self.latency.append(median(await closed_loop(self.server.port, self.request, calls=calls)))


async def prepare(folder: Path) -> tuple[World, str]:
    """A world to serve, and the reply that one entity gives: the payload of every floor."""
    store = await open_embedded(folder)
    try:
        world = await build_world(store.canon, entities=ENTITIES, facts_each=2)
        tool = next(t for t in NARRATIVE.tools if t.name == "neo4j_get_entity")
        arguments: Arguments = {
            "entity_id": world.entities[0],
            "include_relationships": False,
            "include_state_history": False,
        }
        reply = await tool.run(store.canon, a_caller(tool=tool.name), arguments)
        return world, json.dumps(reply, default=str)
    finally:
        await store.close()


def requester(
    port: int, path: str, tool: str, arguments: Callable[[int], Arguments], agent: str
) -> Callable[[int], bytes]:
    """Requests numbered from 0, encoded when asked for."""

    def request(number: int) -> bytes:
        body = call_body(number, tool, arguments(number), agent)
        return request_bytes(port, path, tool, body)

    return request


def run() -> list[Row]:
    """Measure every subject in shuffled order, round by round."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        world, payload = asyncio.run(prepare(folder / "data"))
        (folder / "payload.json").write_text(payload, encoding="utf-8")
        return _compare(world, folder)


def _compare(world: World, folder: Path) -> list[Row]:
    python, payload = sys.executable, str(folder / "payload.json")
    ports = [free_port() for _ in range(4)]
    floor = (python, "-m", "bench.floors")
    serve: tuple[str, ...] = (
        python,
        "-m",
        "canonry.cli",
        "serve",
        "--data",
        str(folder / "data"),
        "--trust-meta",
    )
    serve += ("--toolsets", "narrative")
    quick = {"CANONRY_DURABILITY": "normal", "CANONRY_RECALL_EMBEDDER": "none"}
    servers = [
        Server((*floor, "starlette", str(ports[0]), payload), ports[0]),
        Server((*floor, "tool", str(ports[1]), payload), ports[1]),
        Server((*floor, "tool", str(ports[2]), payload), ports[2]),
        Server((*serve, "--http", f"127.0.0.1:{ports[3]}"), ports[3], quick),
    ]
    stay_off_the_servers_processor()
    with servers[0], servers[1], servers[2], servers[3]:
        subjects = _subjects(world, servers)
        asyncio.run(_rounds(list(subjects.values())))
        return _rows(subjects)


def _subjects(world: World, servers: list[Server]) -> dict[str, Subject]:
    def one(number: int) -> Arguments:
        del number
        return {"entity_id": world.entities[0]}

    def many(number: int) -> Arguments:
        return {"entity_id": world.entities[number * 7919 % len(world.entities)]}

    def turn(number: int) -> Arguments:
        text = f"Turn {number}: the company walks on through the rain."
        return {"scene_id": world.scenes[0], "speaker": "gm", "text": text}

    plan: list[tuple[str, int, str, Callable[[int], Arguments], str]] = [
        ("starlette", 0, "noop", one, "CanonKeeper"),
        ("noop A", 1, "noop", one, "CanonKeeper"),
        ("noop B", 2, "noop", one, "CanonKeeper"),
        ("get_entity, same id", 3, "neo4j_get_entity", one, "CanonKeeper"),
        ("get_entity, 1000 ids", 3, "neo4j_get_entity", many, "CanonKeeper"),
        ("append_turn", 3, "mongodb_append_turn", turn, "Narrator"),
    ]
    return {
        name: Subject(
            name=name,
            server=servers[index],
            request=requester(servers[index].port, "/mcp", tool, arguments, agent),
        )
        for name, index, tool, arguments, agent in plan
    }


async def _rounds(subjects: list[Subject]) -> None:
    order = random.Random(7)  # noqa: S311 - a shuffle
    for subject in subjects:
        await closed_loop(subject.server.port, subject.request, calls=CALLS)
    for _ in range(ROUNDS):
        order.shuffle(subjects)
        for subject in subjects:
            await subject.measure(CALLS, 4)


def _rows(subjects: dict[str, Subject]) -> list[Row]:
    noop = subjects["noop A"]

    def cpu_ratio(name: str) -> float:
        return median([a / b for a, b in zip(subjects[name].cpu, noop.cpu, strict=True)])

    def latency_ratio(name: str) -> float:
        pairs = zip(subjects[name].latency, noop.latency, strict=True)
        return median([a / b for a, b in pairs])

    rows = [
        Row(
            section=SECTION,
            what="A/A: no-op tool against itself, CPU",
            value=cpu_ratio("noop B"),
            unit="x",
        ),
        Row(
            section=SECTION,
            what="bare Starlette / no-op tool, CPU",
            value=cpu_ratio("starlette"),
            unit="x",
        ),
        Row(
            section=SECTION,
            what="get_entity / no-op tool, CPU, one id",
            value=cpu_ratio("get_entity, same id"),
            unit="x",
            budget=1.4,
        ),
        Row(
            section=SECTION,
            what="get_entity / no-op tool, CPU, 1000 ids",
            value=cpu_ratio("get_entity, 1000 ids"),
            unit="x",
            budget=1.4,
        ),
        Row(
            section=SECTION,
            what="append_turn without sync / no-op tool, latency",
            value=latency_ratio("append_turn"),
            unit="x",
            budget=2.0,
        ),
        Row(
            section=SECTION,
            what="append_turn without sync / no-op tool, CPU",
            value=cpu_ratio("append_turn"),
            unit="x",
        ),
    ]
    for subject in subjects.values():
        note = f"p50 latency {median(subject.latency) * 1e3:.3f} ms"
        rows.append(
            Row(
                section=SECTION,
                what=f"{subject.name}: CPU per call",
                value=median(subject.cpu) * 1e6,
                unit="us",
                note=note,
            )
        )
    return rows
