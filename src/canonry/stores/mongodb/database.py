"""The database in MongoDB, and its faults as our errors."""

import asyncio
from collections.abc import (
    AsyncIterator,
    Iterator,
    Mapping,
)
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final, TypeAlias

import pymongo
from bson.errors import InvalidDocument, InvalidStringData
from pymongo import AsyncMongoClient
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    DocumentTooLarge,
    DuplicateKeyError,
    InvalidOperation,
    NetworkTimeout,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
    WriteConcernError,
    WTimeoutError,
)
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from canonry.log.encoding import ENCODING_VERSION
from canonry.log.group_appends import KnownEnds
from canonry.log.ports.world import WorkUnderWay, closed, scope
from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable

DUPLICATE: Final = 11000
_FULL: Final = frozenset((14031, 28))
_REFUSED: Final = frozenset((13, 18))
_FAILING: Final = frozenset((1, 8))
"""What a server answers that failed itself, also for want of room, and has no code for it."""

_UNSURE: Final = (AutoReconnect, NetworkTimeout, WTimeoutError, WriteConcernError)


@contextmanager
def translated() -> Iterator[None]:
    """Raise Canonry's errors in place of the driver's."""
    try:
        yield
    except (PyMongoError, InvalidDocument, InvalidStringData, UnicodeEncodeError) as error:
        raise as_canonry(error) from error


def is_unsure(error: PyMongoError) -> bool:
    """Whether nobody knows if a write came through."""
    if isinstance(error, BulkWriteError):
        told = error.details or {}
        return not told.get("writeErrors") and bool(told.get("writeConcernErrors"))
    return isinstance(error, _UNSURE)


def is_taken(error: PyMongoError) -> bool:
    """Whether what was to be inserted is there already, under this id or another."""
    if isinstance(error, BulkWriteError):
        told = (error.details or {}).get("writeErrors", ())
        return bool(told) and all(each.get("code") == DUPLICATE for each in told)
    return isinstance(error, DuplicateKeyError)


def as_canonry(error: Exception) -> CanonryError:  # noqa: C901, PLR0911, PLR0912 - one case a kind
    """The error that tells a caller what `error` means."""
    match error:
        case BulkWriteError(details={"writeErrors": [first, *_]}):
            return as_canonry(OperationFailure(str(first["errmsg"]), first["code"]))
        case InvalidDocument() | InvalidStringData() | UnicodeEncodeError():
            return InvalidInput("text.unreadable", "a text holds what is no character")
        case DocumentTooLarge():
            message = "a commit is larger than a document of the server may be: write less at once"
            return InvalidInput("ledger.too-large", message)
        case InvalidOperation():
            return closed()
        case WaitQueueTimeoutError():
            return Unavailable("store.busy", "every connection is in use; try again")
        case ServerSelectionTimeoutError():
            return unreachable()
        case PyMongoError(timeout=True):
            return Unavailable("store.deadline", "the server took too long; try again")
        case ConnectionFailure():
            return unreachable()
        case OperationFailure(code=code) if code in _FULL:
            return Unavailable("ledger.full", "the disk is full: make room, nothing was written")
        case OperationFailure(code=code) if code in _REFUSED:
            message = "the server refuses this user: check mongodb.url and the rights of its user"
            return Unavailable("store.read-only", message)
        case OperationFailure(code=code) if code in _FAILING:
            message = "the database server failed: look at its log and at its disk; then try again"
            return Unavailable("store.failing", message)
        case ConfigurationError():
            message = "mongodb.url cannot be used: it is mongodb://HOST:PORT or mongodb+srv://HOST"
            return InvalidInput("store.bad-url", message)
        case _:
            message = "the database refused a command: run `canonry doctor`"
            return BrokenInvariant("store.failed", message, kind=type(error).__name__)


def unreachable() -> Unavailable:
    """The error of whoever finds no server that takes writes."""
    message = "the database server does not answer: check that it runs; then try again"
    return Unavailable("store.unreachable", message)


# One database of a MongoDB deployment: its collections, its clock, and until when one waits.
#
# Everything is written with majority concern, and nothing rests on transactions or change streams.

BsonDocument: TypeAlias = dict[str, Any]
StoredCommit: TypeAlias = Mapping[str, Any]
"""Some fields of a commit, as it is stored."""

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
        self._work = WorkUnderWay()
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
        await self._work.end(self._deadline)
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
        if self._work.is_closed:
            raise closed()
        call = scope()
        left = self._deadline if seconds is None else seconds
        if call is not None:
            left = min(left, call.ends - asyncio.get_running_loop().time())
        if left <= 0:
            raise Unavailable("store.deadline", "the call has no time left; ask for less of it")
        with self._work.counted(), translated(), pymongo.timeout(left):
            yield

    async def now(self) -> int:
        """What the clock of the server says, in milliseconds; it is the same for all processes."""
        steady = asyncio.get_running_loop().time()
        if self._asked is None or steady - self._asked > _CLOCK_HOLDS:
            told = await self._client.admin.command("hello")
            steady = asyncio.get_running_loop().time()
            self._ahead, self._asked = told["localTime"].timestamp() - steady, steady
        return int((self._ahead + steady) * 1000)
