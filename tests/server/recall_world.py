"""A folder with a story of many turns, real servers on it, and how far its index is."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from canonry.readmodels.follow_log import LogCursor
from canonry.recall.vectors import FolderVectors
from canonry.recall.vectors.rows import try_owning
from canonry.values.errors import CanonryError
from tests.cli.run import canonry_in_a_thread
from tests.crash.stdio_client import Server, a_call, tool_answer

TURNS = 1500
_LOOKS = 1500
_SECONDS_BETWEEN = 0.05

T = TypeVar("T")


async def becomes(look: Callable[[], Awaitable[T | None]], what: str) -> T:
    """Look until there is something to see, a bounded number of times.

    This is the one wait here that polls: the index belongs to another process, SQLite tells nobody
    of a change that it did not make itself, and a server logs faults, not how far it has come.
    """
    for _ in range(_LOOKS):
        seen = await look()
        if seen is not None:
            return seen
        await asyncio.sleep(_SECONDS_BETWEEN)
    raise AssertionError(f"it never came to be: {what}")


class World:
    """Tells a story into a folder, asks servers on it, and looks at its index."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self._log = folder / "log"
        self._calls = 0

    @property
    def index(self) -> Path:
        """The file of the index."""
        return self.data / "recall" / "recall.db"

    def read_files(self) -> list[bytes]:
        """Return the contents of the files of the index."""
        return [path.read_bytes() for path in self.index.parent.glob("recall*")]

    @asynccontextmanager
    async def run_server(self) -> AsyncIterator[Server]:
        """A server, which is killed in the end."""
        async with Server.running(self.data, self._log) as server:
            yield server

    @asynccontextmanager
    async def nobody_indexing(self) -> AsyncIterator[None]:
        """Keep every server from indexing; there must be none that indexes."""
        with try_owning(self.data / "recall" / "indexing.lock") as owned:
            assert owned
            yield

    async def call(self, server: Server, tool: str, agent: str, **arguments: Any) -> Any:
        """Call a tool, and return its answer."""
        self._calls += 1
        params = a_call(tool, agent, arguments, f"call {self._calls}")
        return tool_answer({"result": await server.ask("tools/call", params)})

    async def create_universe(self, server: Server, name: str) -> None:
        """A write."""
        await self.call(server, "neo4j_create_universe", "CanonKeeper", name=name)

    async def find_scenes(self, server: Server, text: str) -> Any:
        """The reply to a search among scenes."""
        return tool_answer({"result": await server.ask("tools/call", self.search_parameters(text))})

    def search_parameters(self, text: str) -> dict[str, Any]:
        """The parameters of a search among scenes."""
        self._calls += 1
        asked = {"query_text": text, "collection": "scene_chunks", "detail": True}
        return a_call("qdrant_semantic_search", "Narrator", asked, f"call {self._calls}")

    async def search_scenes(self, server: Server, text: str) -> tuple[Sequence[str], Sequence[str]]:
        """Return the results as text, and the searches that failed."""
        found = await self.find_scenes(server, text)
        return [json.dumps(each) for each in found["results"]], found["degraded"]

    async def until_whole(self, server: Server, text: str) -> Sequence[str]:
        """Search until nothing is degraded; what was found then."""

        async def look() -> Sequence[str] | None:
            texts, degraded = await self.search_scenes(server, text)
            return None if degraded else texts

        return await becomes(look, "a search that is whole")

    async def kept_models(self) -> Mapping[str, LogCursor]:
        """The models whose vectors are kept, by name, and how far each is."""
        vectors = FolderVectors(self.index.parent)
        try:
            kept = await vectors.cursors()
        finally:
            await vectors.close()
        return {model.name: LogCursor.parse_cursor(cursor) for model, cursor in kept.items()}

    async def index_figures(self) -> tuple[int, int, bool]:
        """Vectors, commits read, and whether all had been read once."""
        if not self.index.is_file():
            return 0, 0, False
        vectors = FolderVectors(self.index.parent)
        try:
            found = await vectors.status()
        except CanonryError:
            return 0, 0, False
        finally:
            await vectors.close()
        cursors = [LogCursor.parse_cursor(each.cursor) for each in found]
        read = sum(sum(cursor.positions.values()) for cursor in cursors)
        return sum(e.count for e in found), read, any(cursor.complete for cursor in cursors)

    async def await_index(
        self, *, vectors: int = 0, commits: int = 0, complete: bool = False
    ) -> int:
        """Wait until the index is so far; the number of vectors in it then."""

        async def look() -> int | None:
            count, read, all_read = await self.index_figures()
            there = count >= vectors and read >= commits and (all_read or not complete)
            return count if there else None

        return await becomes(look, f"an index of {vectors} vectors and {commits} commits")

    async def until_kept(self, *names: str) -> None:
        """Wait until the vectors of these models, and of no other, are kept."""

        async def look() -> bool | None:
            return list(await self.kept_models()) == list(names) or None

        await becomes(look, f"an index of {names}")

    def record_story(self, turns: int = TURNS) -> None:
        """Tell the story."""
        self.record_turns("Home", *(f"The bell tolls {n} times." for n in range(turns)))

    def record_turns(self, universe: str, *texts: str) -> None:
        """Let a game master say something in a universe."""
        said = [{"speaker": "GM", "text": text} for text in texts]
        path = self.data.parent / f"{universe}.json"
        path.write_text(json.dumps(said), encoding="utf-8")
        done = canonry_in_a_thread(
            *("import", "transcript", str(path), "--universe", universe),
            *("--data", str(self.data), "--durability", "normal"),
        )
        assert done.returncode == 0, done.stderr

    def read_log(self) -> str:
        """Return the log of the servers."""
        return self._log.read_text(encoding="utf-8")

    def doctor_facts(self) -> dict[str, Any]:
        """Return the facts of the doctor about the store."""
        found: dict[str, Any] = self.run_doctor()["store"]
        return found

    def doctor_problems(self) -> str:
        """Return the problems that the doctor finds, and their remedies."""
        return json.dumps(self.run_doctor()["wrong"])

    def run_doctor(self, **environment: str) -> dict[str, Any]:
        """Return the report of the doctor."""
        words = ("doctor", "--data", str(self.data), "--json")
        done = canonry_in_a_thread(*words, environment=environment)
        found: dict[str, Any] = json.loads(done.stdout)
        return found
