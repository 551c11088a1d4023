"""Profiles: the same calls and writers on each kind of store, against the folder in the same run.

The servers are those of `make servers`; without them only the folder is measured. Everything runs
on one machine, so that servers and callers share its processors. Their data is dropped afterwards.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg import sql

from bench.report import Row, median
from bench.worlds import World, build_world
from bench.writers import ALL, phase
from canonry.app.backends.mongodb import open_mongodb
from canonry.app.backends.postgres import open_postgres
from canonry.app.backends.servers import ViewServers
from canonry.app.doctor import report_nothing
from canonry.app.embedded import open_embedded
from canonry.app.stores import KeptStore
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.narrative.toolset import NARRATIVE
from canonry.stores.mongodb import MongoDatabase
from canonry.stores.neo4j import Neo4jDatabase, Neo4jGraph
from canonry.stores.opensearch import open_text

SECTION = "profiles"
ENTITIES, FACTS, ROUNDS, SECONDS = 300, 3, 40, 4.0
WRITERS = (1, 16, 64)
TWO_PROCESSES_MIN = 1.6
KEEPER, NARRATOR = (
    Principal(agent_id="bench", agent_type=role, authorities=ALL)
    for role in ("CanonKeeper", "Narrator")
)

Opened = Callable[[Path, str], AbstractAsyncContextManager[KeptStore]]
"""Opens the store of that name; what is this machine's own lies in the folder."""


@asynccontextmanager
async def in_folder(folder: Path, name: str) -> AsyncIterator[KeptStore]:
    """A store without any server."""
    async with await open_embedded(folder / name) as store:
        yield store


@asynccontextmanager
async def in_postgres(url: str, folder: Path, name: str) -> AsyncIterator[KeptStore]:
    """Records in a schema of their own."""
    async with await open_postgres(url, schema=name, folder=folder, connections=16) as store:
        yield store


@asynccontextmanager
async def in_mongodb(
    url: str, beside: ViewServers, folder: Path, name: str
) -> AsyncIterator[KeptStore]:
    """Records in MongoDB, a graph in Neo4j and words in OpenSearch where these are there."""
    async with await open_mongodb(url, database=name, folder=folder, view_servers=beside) as store:
        yield store


async def drop_everywhere(name: str) -> None:
    """Drop what a store that is closed has left on any server."""
    if postgres := os.environ.get("TEST_POSTGRES_URL"):
        async with await psycopg.AsyncConnection.connect(postgres, autocommit=True) as db:
            asked = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)"
            for (schema,) in await (await db.execute(asked, (name,))).fetchall():
                await db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
    if mongodb := os.environ.get("TEST_MONGODB_URL"):
        database = MongoDatabase(mongodb, name)
        await database.drop_database()
        await database.close()
    if graph := os.environ.get("TEST_NEO4J_URL"):
        nodes = Neo4jDatabase(graph, name)
        await nodes.open()
        await Neo4jGraph(nodes).delete_nodes()
        await nodes.close()
    if words := os.environ.get("TEST_OPENSEARCH_URL"):
        text = open_text(words, name=name)
        await text.drop_index()
        await text.close()


def profiles() -> Mapping[str, Opened]:
    """Each kind of store that can be had here."""
    found: dict[str, Opened] = {"embedded": in_folder}
    if postgres := os.environ.get("TEST_POSTGRES_URL"):
        found["postgres"] = partial(in_postgres, postgres)
    if mongodb := os.environ.get("TEST_MONGODB_URL"):
        beside = ViewServers(
            graph=os.environ.get("TEST_NEO4J_URL"), words=os.environ.get("TEST_OPENSEARCH_URL")
        )
        found["polyglot"] = partial(in_mongodb, mongodb, beside)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one profile."""

    seconds: Mapping[str, float]
    """The median of each call."""

    commits: Mapping[int, float]
    """A second, by the number of writers."""

    rebuilt: float
    """Commits a second that all views are folded from."""

    processes: float
    """Reads of two processes at once, of those of one."""


def run() -> list[Row]:
    """Every profile in turn, on a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        measured = {
            name: asyncio.run(_measured(opened, name, made_in(Path(folder), name)))
            for name, opened in profiles().items()
        }
    base = measured["embedded"]
    return [row for name, figures in measured.items() for row in _rows(name, figures, base)]


def made_in(root: Path, name: str) -> Path:
    """A folder of its own."""
    folder = root / name
    folder.mkdir()
    return folder


async def _measured(opened: Opened, profile: str, folder: Path) -> Figures:
    name = f"bench_{uuid4().hex[:12]}"
    try:
        return await _figures(opened, profile, folder, name)
    finally:
        await drop_everywhere(name)


async def _figures(opened: Opened, profile: str, folder: Path, name: str) -> Figures:
    async with opened(folder, name) as store:
        world = await build_world(store.canon, entities=ENTITIES, facts_each=FACTS, scenes=64)
        gateway = Gateway(store.canon, [NARRATIVE])
        seconds = {
            tool: median([await _timed(gateway, tool, ask(world, n)) for n in range(ROUNDS)])
            for tool, ask in CALLS.items()
        }
        commits = {
            writers: sum((await phase(store.canon, world, writers, SECONDS)).values()) / SECONDS
            for writers in WRITERS
        }
        began, head = time.perf_counter(), await store.canon.ledger.head_position(world.space)
        await store.maintenance.rebuild(report_nothing)
        rebuilt = head / (time.perf_counter() - began)
    words = (profile, str(folder), name, world.space)
    one, two = [await asyncio.to_thread(_reading, n, words) for n in (1, 2)]
    return Figures(seconds=seconds, commits=commits, rebuilt=rebuilt, processes=two / one)


def _reading(processes: int, words: tuple[str, ...]) -> float:
    """Reads a second of so many processes at once."""
    command = [sys.executable, "-m", "bench.profiles", *words]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    return sum(float(each.communicate()[0].split()[-1]) for each in running)


async def _read(profile: str, folder: Path, name: str, space: str) -> float:
    """Reads a second of this process, for some seconds after the first."""
    async with profiles()[profile](folder, name) as store:
        gateway = Gateway(store.canon, [NARRATIVE])
        ask = partial(_timed, gateway, "neo4j_query_entities")
        await ask({"universe_id": space})
        done, end = 0, time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            await ask({"universe_id": space, "offset": done % ENTITIES, "limit": 10})
            done += 1
        return done / SECONDS


async def _timed(gateway: Gateway, tool: str, arguments: Mapping[str, object]) -> float:
    began = time.perf_counter()
    caller = NARRATOR if tool == "mongodb_append_turn" else KEEPER
    outcome = await gateway.call(tool, arguments, caller)
    if outcome.error is not None:
        raise RuntimeError(f"{tool} answers {outcome.text}")
    return time.perf_counter() - began


def _fact(world: World, n: int) -> Mapping[str, object]:
    return {
        "universe_id": world.space,
        "statement": f"The lantern of pier {n} burns blue",
        "involved_entity_ids": [world.entities[n]],
        "confidence": 1.0,
        "authority": "gm",
        "evidence_refs": [f"scene:{world.scenes[0]}"],
    }


CALLS: Mapping[str, Callable[[World, int], Mapping[str, object]]] = {
    "neo4j_get_entity": lambda world, n: {"entity_id": world.entities[n]},
    "neo4j_query_facts": lambda world, n: {"entity_id": world.entities[n]},
    "neo4j_query_entities": lambda world, n: {"universe_id": world.space, "offset": n},
    "mongodb_get_scene": lambda world, n: {"scene_id": world.scenes[n]},
    "mongodb_append_turn": lambda world, n: {
        "scene_id": world.scenes[n],
        "speaker": "gm",
        "text": f"Part {n} of the tale is told.",
    },
    "neo4j_create_fact": _fact,
}


def _rows(name: str, found: Figures, base: Figures) -> list[Row]:
    def row(what: str, value: float, unit: str, note: str, least: float | None = None) -> Row:
        return Row(
            section=SECTION,
            what=f"{name}: {what}",
            value=value,
            unit=unit,
            budget=least,
            at_least=least is not None,
            note=note,
        )

    return [
        *(
            row(tool, seconds / base.seconds[tool], "x embedded", f"{1000 * seconds:.2f} ms")
            for tool, seconds in found.seconds.items()
        ),
        *(row(f"{n} writers", each, "commits/s", "") for n, each in found.commits.items()),
        row("all views from the log", found.rebuilt, "commits/s", ""),
        row("reads of two processes / of one", found.processes, "x", "", TWO_PROCESSES_MIN),
    ]


if __name__ == "__main__":
    profile_, folder_, name_, space_ = sys.argv[1:]
    sys.stdout.write(f"{asyncio.run(_read(profile_, Path(folder_), name_, space_))}\n")
