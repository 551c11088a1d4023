"""One database of a MongoDB deployment: its collections, its clock, and until when one waits.

Everything is written with majority concern, and nothing rests on transactions or change streams.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import Context
from typing import Any, Final, TypeAlias

import pymongo
from pymongo import AsyncMongoClient
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from canonry.log.ports.call_scope import scope
from canonry.log.upcasters import ENCODING_VERSION
from canonry.stores.mongodb.ends import KnownEnds
from canonry.stores.mongodb.faults import closed, translated
from canonry.values.errors import BrokenInvariant, CanonryError, Unavailable

BsonDocument: TypeAlias = dict[str, Any]
BsonCollection: TypeAlias = AsyncCollection[BsonDocument]

CONNECTIONS: Final = 16
DEADLINE: Final = 30.0
SCHEMA_VERSION: Final = 1
_CHOICE_SECONDS: Final = 3.0
_CLOCK_HOLDS: Final = 30.0
_MAJORITY: Final = ReadConcern("majority")
_LOCAL: Final = ReadConcern("local")

_INDEXES: Final[Mapping[str, tuple[tuple[tuple[tuple[str, int], ...], bool, bool], ...]]] = {
    "commits": (
        ((("commit", 1),), True, False),
        ((("space", 1), ("recorded_at", 1)), False, False),
        ((("opens", 1),), False, True),
        ((("written", 1),), False, False),
    ),
    "scenes": (
        ((("story_id", 1), ("order", 1)), False, False),
        ((("seen_in", 1), ("status", 1), ("order", 1)), False, False),
        ((("status", 1), ("created_at", 1)), False, False),
    ),
    "turns": (((("scene_id", 1), ("index", 1)), False, False),),
    "proposed_changes": (
        ((("scene_id", 1), ("status", 1), ("created_at", 1)), False, False),
        ((("seen_in", 1), ("status", 1), ("created_at", 1)), False, False),
    ),
    "character_memories": (
        ((("entity_id", 1), ("importance", -1), ("created_at", -1)), False, False),
    ),
    "snippets": (((("source_id", 1), ("index", 1)), False, False),),
}
"""By collection: the fields of an index, whether it is unique, and whether it is sparse."""


class MongoDatabase:
    """Where records and documents are kept; `close` must be awaited once."""

    def __init__(
        self,
        url: str,
        name: str,
        *,
        password: str | None = None,
        connections: int = CONNECTIONS,
        deadline: float = DEADLINE,
    ) -> None:
        """Do nothing yet; a password that the address does not tell is given apart."""
        self.name: Final = name
        self.ends: Final = KnownEnds()
        self._deadline = deadline
        self._closed = False
        self._busy = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._later = set[asyncio.Task[None]]()
        self._ahead = 0.0
        self._asked: float | None = None
        more: dict[str, Any] = {} if password is None else {"password": password}
        with translated():
            self._client: AsyncMongoClient[BsonDocument] = AsyncMongoClient(
                url,
                maxPoolSize=connections,
                serverSelectionTimeoutMS=int(_CHOICE_SECONDS * 1000),
                appname="canonry",
                **more,
            )
        self._database = self._client.get_database(
            name, read_concern=_MAJORITY, write_concern=WriteConcern("majority")
        )

    async def open(self) -> None:
        """Connect, and make what is missing.

        Raises:
            BrokenInvariant: `store.newer`, a later Canonry writes into this database.
            Unavailable: `store.unreachable`.
        """
        async with self.working():
            with pymongo.timeout(_CHOICE_SECONDS):
                await self.now()
            stated = await self.collection("meta").find_one({"_id": "records"})
            if stated is None:
                await self._prepare()
            elif max(stated["schema"] - SCHEMA_VERSION, stated["encoding"] - ENCODING_VERSION) > 0:
                message = "a later version of Canonry writes into this database; update this one"
                raise BrokenInvariant("store.newer", message)

    async def _prepare(self) -> None:
        for name, indexes in _INDEXES.items():
            for fields, unique, sparse in indexes:
                await self.collection(name).create_index(list(fields), unique=unique, sparse=sparse)
        stated = {"schema": SCHEMA_VERSION, "encoding": ENCODING_VERSION}
        await self.collection("meta").update_one({"_id": "records"}, {"$set": stated}, upsert=True)

    async def close(self) -> None:
        """Finish what was begun, then let go of the server; closing twice is allowed."""
        self._closed = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), self._deadline)
        with suppress(PyMongoError):
            await self._client.close()

    def collection(self, name: str) -> BsonCollection:
        """A collection, of which one reads what a majority of the servers has."""
        return self._database.get_collection(name)

    def latest(self, name: str) -> BsonCollection:
        """The same, read as the one server has it that takes writes; it may be taken back yet."""
        return self._database.get_collection(name, read_concern=_LOCAL)

    async def count(self, name: str, asked: BsonDocument, most: int) -> int:
        """How many documents of a collection that `latest` reads, up to `most`.

        This counts the entries of an index, where an aggregation may look at the documents. It
        would count some twice where a collection is divided between servers, which one with unique
        indexes beside its `_id` cannot be.
        """
        told = await self._database.command("count", name, query=asked, limit=most)
        return int(told["n"])

    async def drop(self) -> None:
        """Drop the whole database."""
        async with self.working():
            await self._client.drop_database(self.name)

    async def facts(self) -> Mapping[str, Any]:
        """What the server says of itself and of the database."""
        async with self.working():
            about = await self._client.server_info()
            return {"version": about.get("version", "of an unknown version")}

    @asynccontextmanager
    async def working(self, seconds: float | None = None) -> AsyncIterator[None]:
        """Let whoever closes wait for the block, which ends when the call does.

        Outside of a call it ends after `seconds`, by default those of a short command.

        Raises:
            Unavailable: `ledger.closed`, `store.deadline` or `store.unreachable`.
        """
        if self._closed:
            raise closed()
        call = scope()
        left = self._deadline if seconds is None else seconds
        if call is not None:
            left = min(left, call.ends - asyncio.get_running_loop().time())
        if left <= 0:
            raise Unavailable("store.deadline", "the call has no time left; ask for less of it")
        with self._counted(), translated(), pymongo.timeout(left):
            yield

    def later(self, work: Callable[[], Awaitable[None]]) -> None:
        """Begin what nobody waits for but whoever closes, and what may fail."""
        counted = self._counted()
        counted.__enter__()

        async def begun() -> None:
            try:
                with suppress(CanonryError), translated(), pymongo.timeout(self._deadline):
                    await work()
            finally:
                counted.__exit__(None, None, None)

        task = asyncio.create_task(begun(), context=Context(), name="later")
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._busy += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._busy -= 1
            if not self._busy:
                self._idle.set()

    async def now(self) -> int:
        """What the clock of the server says, in milliseconds; it is the same for all processes."""
        steady = asyncio.get_running_loop().time()
        if self._asked is None or steady - self._asked > _CLOCK_HOLDS:
            told = await self._client.admin.command("hello")
            steady = asyncio.get_running_loop().time()
            self._ahead, self._asked = told["localTime"].timestamp() - steady, steady
        return int((self._ahead + steady) * 1000)
