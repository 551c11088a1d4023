"""The MongoDB database, the translation of its errors, and the gate for appends."""

import asyncio
import json
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, TypeAlias, TypeVar, cast

import pymongo
from bson.errors import InvalidDocument, InvalidStringData
from pymongo import AsyncMongoClient, errors
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from canonry.log.commits import ORIGIN, Position
from canonry.log.group_appends import KnownEnds
from canonry.log.ports.ledger import Touched
from canonry.log.ports.world import (
    Identities,
    RunningWork,
    call_answers,
    closed_store,
    time_left,
    translate_errors,
)
from canonry.log.sealing import ENCODING_VERSION
from canonry.values.errors import BrokenInvariant, CanonryError, InvalidInput, Unavailable
from canonry.values.ids import SpaceId

DUPLICATE: Final = 11000
_FULL: Final = frozenset((14031, 28))
_REFUSED: Final = frozenset((13, 18))
_FAILING: Final = frozenset((1, 8))
"""Error codes of a server that failed itself, also for lack of space."""

_UNSURE: Final = (
    errors.AutoReconnect,
    errors.NetworkTimeout,
    errors.WTimeoutError,
    errors.WriteConcernError,
)


def is_unsure(error: errors.PyMongoError) -> bool:
    """Return whether a write may or may not have been stored."""
    if isinstance(error, errors.BulkWriteError):
        details = error.details or {}
        return not details.get("writeErrors") and bool(details.get("writeConcernErrors"))
    return isinstance(error, _UNSURE)


def is_taken(error: errors.PyMongoError) -> bool:
    """Return whether a document with this id or another unique key already exists."""
    if isinstance(error, errors.BulkWriteError):
        write_errors = (error.details or {}).get("writeErrors", ())
        return bool(write_errors) and all(each.get("code") == DUPLICATE for each in write_errors)
    return isinstance(error, errors.DuplicateKeyError)


def as_canonry(error: Exception) -> CanonryError:  # noqa: C901, PLR0911, PLR0912 - one case a kind
    """Return Canonry's error for an error of the driver."""
    match error:
        case errors.BulkWriteError(details={"writeErrors": [first, *_]}):
            return as_canonry(errors.OperationFailure(str(first["errmsg"]), first["code"]))
        case InvalidDocument() | InvalidStringData() | UnicodeEncodeError():
            return InvalidInput("text.unreadable", "A text has invalid characters. Remove them.")
        case errors.DocumentTooLarge():
            message = "The commit exceeds the 16 MB of a MongoDB document. Write less in one call."
            return InvalidInput("ledger.too-large", message)
        case errors.InvalidOperation():
            return closed_store()
        case errors.WaitQueueTimeoutError():
            return Unavailable("store.busy", "All connections are in use. Try again.")
        case errors.ServerSelectionTimeoutError():
            return unreachable_error()
        case errors.PyMongoError(timeout=True):
            return Unavailable("store.deadline", "The server took too long. Try again.")
        case errors.ConnectionFailure():
            return unreachable_error()
        case errors.OperationFailure(code=code) if code in _FULL:
            return Unavailable("ledger.full", "The disk is full. Nothing was written. Free space.")
        case errors.OperationFailure(code=code) if code in _REFUSED:
            message = "MongoDB refuses this user. Check mongodb.url and the rights of its user."
            return Unavailable("store.read-only", message)
        case errors.OperationFailure(code=code) if code in _FAILING:
            message = "The MongoDB server failed. Check its log and its disk, then try again."
            return Unavailable("store.failing", message)
        case errors.ConfigurationError():
            message = "mongodb.url is invalid. Write mongodb://HOST:PORT or mongodb+srv://HOST."
            return InvalidInput("store.bad-url", message)
        case _:
            message = "The database refused a command. Run `canonry doctor`."
            return BrokenInvariant("store.failed", message, kind=type(error).__name__)


RAISED: Final = (errors.PyMongoError, InvalidDocument, InvalidStringData, UnicodeEncodeError)
translated_errors: Final = translate_errors(RAISED, as_canonry)


def unreachable_error() -> Unavailable:
    """Return the error for a deployment without a reachable primary."""
    message = "MongoDB does not answer. Check mongodb.url and that it runs, then try again."
    return Unavailable("store.unreachable", message)


# One database of a MongoDB deployment: its collections, its clock and its timeouts.
#
# All writes use majority concern. Nothing depends on transactions or change streams.

BsonDocument: TypeAlias = dict[str, Any]
StoredCommit: TypeAlias = Mapping[str, Any]
"""Some fields of a stored commit."""

BsonCollection: TypeAlias = AsyncCollection[BsonDocument]

CONNECTIONS: Final = 16  # calls wait for one another before the server is overloaded
DEADLINE: Final = 30.0  # a call without a deadline does not wait for ever
SCHEMA_VERSION: Final = 1
_CHOICE_SECONDS: Final = 3.0  # an unreachable server fails a call well before its deadline
_CLOCK_HOLDS: Final = 30.0  # the process's clock drifts little in this time
_MAJORITY: Final = ReadConcern("majority")
_LOCAL: Final = ReadConcern("local")

_INDEXES: Final[dict[str, list[list[Any]]]] = json.loads(
    files(__package__).joinpath("indexes.json").read_text("utf-8")
)
"""By collection: the fields of each index, whether it is unique, and whether it is sparse."""


class MongoDatabase:
    """The database of records and documents. Await `close` once."""

    def __init__(
        self,
        url: str,
        name: str,
        *,
        password: str | None = None,
        connections: int = CONNECTIONS,
        deadline: float = DEADLINE,
    ) -> None:
        """Connect with `open`. `password` replaces a password in the URL."""
        self.name: Final = name
        self.ends: Final = KnownEnds()
        self._deadline = deadline
        self._work = RunningWork()
        self._ahead = 0.0
        self._asked: float | None = None
        more: dict[str, Any] = {} if password is None else {"password": password}
        with translated_errors():
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
        """Connect, and create missing collections and indexes.

        Raises:
            BrokenInvariant: `store.newer`, a newer version of Canonry writes to this database.
            Unavailable: `store.unreachable`.
        """
        async with self.timed_work():
            with pymongo.timeout(_CHOICE_SECONDS):
                await self.server_time()
            stated = await self.committed_collection("meta").find_one({"_id": "records"})
            if stated is None:
                await self._create_indexes()
            elif max(stated["schema"] - SCHEMA_VERSION, stated["encoding"] - ENCODING_VERSION) > 0:
                message = "A newer version of Canonry has written to this database. Update Canonry."
                raise BrokenInvariant("store.newer", message)
            elif stated["encoding"] < ENCODING_VERSION:
                await self._create_indexes()

    async def _create_indexes(self) -> None:
        for name, indexes in _INDEXES.items():
            for fields, unique, sparse in indexes:
                await self.committed_collection(name).create_index(
                    [*map(tuple, fields)], unique=unique, sparse=sparse
                )
        stated = {"schema": SCHEMA_VERSION, "encoding": ENCODING_VERSION}
        await self.committed_collection("meta").update_one(
            {"_id": "records"}, {"$max": stated}, upsert=True
        )

    async def close(self) -> None:
        """Finish pending calls, then disconnect. Closing twice is allowed."""
        await self._work.end_work(self._deadline)
        with suppress(errors.PyMongoError):
            await self._client.close()

    def committed_collection(self, name: str) -> BsonCollection:
        """Return a collection for reads of majority-committed data."""
        return self._database.get_collection(name)

    def primary_collection(self, name: str) -> BsonCollection:
        """Return a collection for reads from the primary. This data may still be rolled back."""
        return self._database.get_collection(name, read_concern=_LOCAL)

    async def count_documents(self, name: str, asked: BsonDocument, most: int) -> int:
        """Count documents of a collection from the primary, up to `most`.

        This counts index entries, where an aggregation may read the documents. A sharded collection
        could count some twice, but a collection with unique indexes besides `_id` cannot be
        sharded.
        """
        reply = await self._database.command("count", name, query=asked, limit=most)
        return int(reply["n"])

    async def drop_database(self) -> None:
        """Drop the whole database."""
        async with self.timed_work():
            await self._client.drop_database(self.name)

    async def server_facts(self) -> Mapping[str, Any]:
        """Return the version of the server."""
        async with self.timed_work():
            about = await self._client.server_info()
            return {"version": about.get("version", "of an unknown version")}

    @asynccontextmanager
    async def timed_work(self, seconds: float | None = None) -> AsyncIterator[None]:
        """Run a block that `close` waits for, and stop it when the call ends.

        Outside of a call it ends after `seconds`; the default is the deadline of short commands.

        Raises:
            Unavailable: `ledger.closed`, `store.deadline` or `store.unreachable`.
        """
        if self._work.is_closed:
            raise closed_store()
        left = time_left(self._deadline if seconds is None else seconds)
        if left <= 0:
            raise Unavailable("store.deadline", "The call has no time left. Ask for less.")
        with self._work.count_work(), translated_errors(), pymongo.timeout(left):
            yield

    async def server_time(self) -> int:
        """Return the server's clock in milliseconds. It is the same for all processes."""
        steady = asyncio.get_running_loop().time()
        if self._asked is None or steady - self._asked > _CLOCK_HOLDS:
            reply = await self._client.admin.command("hello")
            steady = asyncio.get_running_loop().time()
            self._ahead, self._asked = reply["localTime"].timestamp() - steady, steady
        return int((self._ahead + steady) * 1000)


# Polls: many calls of a process ask at once for the keys touched since a cursor.
#
# Writes carry the server's time, and the cursor counts those of the last minute. An unchanged count
# means that nothing was written. If it grew by this process's own writes only, their keys are
# known.

T = TypeVar("T")

_SETTLES: Final = 60_000  # milliseconds of the server's clock after which every reader sees a write

_ALONGSIDE: Final = 4096  # a cursor is a time multiplied by this, plus a count below it
_CURSORS: Final = 64  # bounds the memory of cursors; an older one asks the server
_WRITES: Final = 500  # bounds the memory of own writes; older ones are asked for
_REPORTED_FIELDS: Final = ("space", "position", "touched", "written")


class SharedAnswers:
    """Shares answers between concurrent calls. Each answer begins after its callers asked."""

    def __init__(self) -> None:
        """Start without questions."""
        self._asking: dict[Hashable, asyncio.Task[Any]] = {}
        self._next: dict[Hashable, asyncio.Task[Any]] = {}

    async def share_answer(self, key: Hashable, question: Callable[[], Awaitable[T]]) -> T:
        """Return the answer to the next question of this key, which no single call can cancel."""
        asked = self._next.get(key)
        if asked is None:
            asked = asyncio.create_task(self._ask_next(key, question), context=Context())
            asked.add_done_callback(lambda task: task.cancelled() or task.exception())
            self._next[key] = asked
        return cast("T", await asyncio.shield(asked))

    async def _ask_next(self, key: Hashable, question: Callable[[], Awaitable[T]]) -> T:
        if (before := self._asking.get(key)) is not None:
            await asyncio.wait([before])
        self._asking[key] = self._next.pop(key)
        try:
            return await question()
        finally:
            del self._asking[key]


@dataclass(frozen=True, slots=True)
class _Written:
    """Commits that this process inserted. `began` is the step before the insert."""

    began: int
    made: Sequence[BsonDocument]


class TouchedPolls:
    """Polls for touched keys, and remembers the writes of this process.

    Steps order events in this process. A write that began after an answer arrived is not in that
    answer. A write that the server acknowledged is in every later answer.
    """

    def __init__(self, database: MongoDatabase) -> None:
        """Start without writes."""
        self._database = database
        self._step = 0
        self._answered: OrderedDict[int, int] = OrderedDict()
        self._wrote: deque[_Written] = deque(maxlen=_WRITES)

    def next_step(self) -> int:
        """Return the next step."""
        self._step += 1
        return self._step

    def record_writes(self, began: int, made: Sequence[BsonDocument]) -> None:
        """Record acknowledged commits, the first of which was sent after step `began`."""
        kept = [{name: each[name] for name in _REPORTED_FIELDS} for each in made]
        self._wrote.append(_Written(began, kept))

    async def touched_since(self, cursor: int, limit: int) -> Touched:
        """Return the touched keys as `Ledger.touched_since` specifies.

        The cursor holds the time since which commits are counted, and their number.
        """
        async with self._database.timed_work():
            now = await self._database.server_time() - _SETTLES
            since, seen = divmod(cursor, _ALONGSIDE)
            if cursor and seen < _ALONGSIDE - 1:
                own = self._own_commits(cursor, limit) if now <= since + _SETTLES else ()
                new = sum(each["written"] >= since for each in own)
                count = await self._database.count_documents(
                    "commits", _written_since(since), seen + limit + 1
                )
                if count == seen + new < _ALONGSIDE:
                    return self._touched_in(since, count, own)
                if count <= seen + limit:
                    return await self._ask_server(since, max(now, since))
            count = await self._database.count_documents(
                "commits", _written_since(now), _ALONGSIDE - 1
            )
        return Touched(cursor=self._issue_cursor(now, count), keys=None)

    def _own_commits(self, cursor: int, limit: int) -> Sequence[BsonDocument]:
        """Return this process's commits since the cursor was issued, or none above `limit`.

        Commits that were under way then are left out. If the cursor counts one, it was reported; if
        not, the total differs and the server is asked.
        """
        answered = self._answered.get(cursor)
        if answered is None:
            return ()
        own = [each for one in self._wrote if one.began > answered for each in one.made]
        return own if len(own) <= limit else ()

    async def _ask_server(self, since: int, now: int) -> Touched:
        wanted_fields = dict.fromkeys(_REPORTED_FIELDS, 1)
        commits = self._database.primary_collection("commits")
        found = await commits.find(
            _written_since(since), wanted_fields, batch_size=_ALONGSIDE
        ).to_list()
        count = min(sum(each["written"] >= now for each in found), _ALONGSIDE - 1)
        return self._touched_in(now, count, found)

    def _touched_in(self, since: int, count: int, found: Sequence[BsonDocument]) -> Touched:
        keys = frozenset(int(key) for each in found for key in each["touched"])
        reached: dict[SpaceId, Position] = {}
        for each in found:
            space, position = SpaceId(each["space"]), Position(int(each["position"]))
            reached[space] = max(position, reached.get(space, ORIGIN))
        return Touched(cursor=self._issue_cursor(since, count), keys=keys, reached=reached)

    def _issue_cursor(self, since: int, count: int) -> int:
        """Return the cursor for an answer that has just arrived."""
        cursor = since * _ALONGSIDE + count
        self._answered[cursor] = self.next_step()
        self._answered.move_to_end(cursor)
        if len(self._answered) > _CURSORS:
            self._answered.popitem(last=False)
        return cursor


def _written_since(written: int) -> dict[str, Any]:
    return {"written": {"$gte": written}}


# The gate: appends pass it, and one exclusive block at a time stops them in all processes.
#
# The block is a document with a fixed id, so only one can be inserted. Without renewal it expires.
# A writing call checks for the document when it begins, together with its first reads, and trusts
# the answer for a while. An append of another process that has already passed may therefore still
# be written at the beginning of a block, and make a verdict stale. Two blocks never run at the same
# time.

_NAME: Final = "writer"
_HOLDS: Final = 15.0  # a process that died stops the others no longer than this
_PATIENCE: Final = 30.0  # outlasts a block of a process that died
_PAUSE: Final = 0.005  # most blocks end within milliseconds
_LONGEST_PAUSE: Final = 0.1  # waiting processes do not load the server
_OPEN: Final = "when nobody kept others out of MongoDB"
_BELIEVED: Final = 2.0  # seconds for which a call trusts that the gate is open


class WriterGate:
    """Decides whether this process may append."""

    def __init__(self, database: MongoDatabase, identities: Identities) -> None:
        """Share `database` with the ledger."""
        self._database = database
        self._identities = identities
        self._blocks = asyncio.Lock()
        self._owner: asyncio.Task[object] | None = None
        self._passing = 0
        self._passed = asyncio.Condition()
        self._asked = SharedAnswers()

    @asynccontextmanager
    async def pass_gate(self) -> AsyncIterator[None]:
        """Run an append after `is_open` inside the block. `lock_appends` waits for its end."""
        if self.is_mine:
            yield
            return
        async with self._passed:
            self._passing += 1
        try:
            yield
        finally:
            self._passing -= 1
            async with self._passed:
                self._passed.notify_all()

    @property
    def is_mine(self) -> bool:
        """Return whether the current task holds the exclusive block."""
        return self._owner is not None and self._owner is asyncio.current_task()

    async def is_open(self, *, mine: bool) -> bool:
        """Return whether an append may run. Asks the server, unless the block is the caller's own.

        The answer within the current call is reused while no block of this process waits to begin.
        """
        asked_at: float | None = None if self._blocks.locked() else call_answers().get(_OPEN)
        if mine or (asked_at is not None and _loop_time() - asked_at < _BELIEVED):
            return True
        return await self.ask_server()

    async def ask_server(self) -> bool:
        """Ask the server whether appends may run, and store the answer in the current call.

        Concurrent callers share one question, and a cancelled caller does not interrupt it.
        """
        asked = _loop_time()
        is_open = await self._asked.share_answer(None, self._is_open)
        if is_open:
            call_answers()[_OPEN] = asked
        return is_open

    async def _is_open(self) -> bool:
        async with self._database.timed_work():
            return await self._find_holder() is None

    async def await_open(self) -> None:
        """Wait until appends may run again.

        Raises:
            Unavailable: `ledger.busy`, the block did not end in time.
        """
        await self._until_free(_loop_time() + _PATIENCE)

    async def _until_free(self, ends: float) -> None:
        pause = _PAUSE
        while not await self.ask_server():
            if _loop_time() > ends:
                raise Unavailable("ledger.busy", "Another process has locked the log. Try again.")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _find_holder(self) -> BsonDocument | None:
        """Return the process with the exclusive block, unless its block has expired."""
        locks = self._database.primary_collection("writers")
        found = await locks.find_one({"_id": _NAME})
        if found is None or found["until"] >= await self._database.server_time():
            return found
        await locks.delete_one({"_id": _NAME, "token": found["token"]})
        return None

    @asynccontextmanager
    async def lock_appends(self) -> AsyncIterator[None]:
        """Block all appends of other tasks and processes until the block ends."""
        async with self._blocks:
            token = self._identities.new_salt().hex()
            try:
                await self._take_lock(token)
                self._owner = asyncio.current_task()
                async with self._passed:
                    await self._passed.wait_for(lambda: not self._passing)
                renewing = asyncio.create_task(self._renew_lock(token), name="gate")
                try:
                    yield
                finally:
                    renewing.cancel()
            finally:
                self._owner = None
                with suppress(CanonryError):
                    async with self._database.timed_work():
                        locks = self._database.primary_collection("writers")
                        await locks.delete_one({"_id": _NAME, "token": token})

    async def _take_lock(self, token: str) -> None:
        ends = _loop_time() + _PATIENCE
        while True:
            async with self._database.timed_work():
                await self._until_free(ends)
                until = await self._database.server_time() + int(_HOLDS * 1000)
                held = {"_id": _NAME, "token": token, "until": until}
                with suppress(errors.DuplicateKeyError):
                    await self._database.primary_collection("writers").insert_one(held)
                    return

    async def _renew_lock(self, token: str) -> None:
        while True:
            await asyncio.sleep(_HOLDS / 3)
            with suppress(CanonryError):
                async with self._database.timed_work():
                    until = await self._database.server_time() + int(_HOLDS * 1000)
                    await self._database.primary_collection("writers").update_one(
                        {"_id": _NAME, "token": token}, {"$set": {"until": until}}
                    )


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
