"""The gate that appends pass, and looks at what was touched."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from pymongo.errors import DuplicateKeyError

from canonry.log.commits import ORIGIN, Position
from canonry.log.ports.ledger import Touched
from canonry.log.ports.world import Identities, answers
from canonry.stores.mongodb.database import BsonDocument, MongoDatabase
from canonry.values.errors import CanonryError, Unavailable
from canonry.values.ids import SpaceId

# Looks: what was touched since a cursor, which many calls of a process ask at once.
#
# Writes are stamped by the server's clock, and all of the last minute are counted: as many as
# before, and nothing happened. As many more as this process has written meanwhile, and it knows
# what.

T = TypeVar("T")

_SETTLES: Final = 60_000
"""What is written is seen by everybody after so many milliseconds of the server's clock."""

_ALONGSIDE: Final = 4096
_CURSORS: Final = 64
_WRITES: Final = 500
_TOLD: Final = ("space", "position", "touched", "written")


class SharedAnswers:
    """Questions that many ask at once: each is told by one that began after it asked."""

    def __init__(self) -> None:
        """Nothing is asked yet."""
        self._asking: dict[Hashable, asyncio.Task[Any]] = {}
        self._next: dict[Hashable, asyncio.Task[Any]] = {}

    async def ask(self, key: Hashable, question: Callable[[], Awaitable[T]]) -> T:
        """The answer to the next question of this key, which is no longer bound by any call."""
        asked = self._next.get(key)
        if asked is None:
            asked = asyncio.create_task(self._ask(key, question), context=Context())
            asked.add_done_callback(lambda task: task.cancelled() or task.exception())
            self._next[key] = asked
        return cast("T", await asyncio.shield(asked))

    async def _ask(self, key: Hashable, question: Callable[[], Awaitable[T]]) -> T:
        if (before := self._asking.get(key)) is not None:
            await asyncio.wait([before])
        self._asking[key] = self._next.pop(key)
        try:
            return await question()
        finally:
            del self._asking[key]


@dataclass(frozen=True, slots=True)
class _Written:
    """Commits that this process inserted; `began` is the step before it did."""

    began: int
    made: Sequence[BsonDocument]


class Looks:
    """What was touched, and what of it this process wrote itself.

    Steps order what happens in this process. What it began to write after an answer was there is
    not in that answer, and what a server has acknowledged is in every later one.
    """

    def __init__(self, database: MongoDatabase) -> None:
        """Nothing was written yet."""
        self._database = database
        self._step = 0
        self._answered: OrderedDict[int, int] = OrderedDict()
        self._wrote: deque[_Written] = deque(maxlen=_WRITES)

    def step(self) -> int:
        """The next step."""
        self._step += 1
        return self._step

    def wrote(self, began: int, made: Sequence[BsonDocument]) -> None:
        """The server has acknowledged these commits, of which the first was sent after `began`."""
        kept = [{name: each[name] for name in _TOLD} for each in made]
        self._wrote.append(_Written(began, kept))

    async def since(self, cursor: int, limit: int) -> Touched:
        """As `Ledger.touched_since` says.

        The cursor tells since when commits are counted, and how many there were.
        """
        async with self._database.working():
            now = await self._database.now() - _SETTLES
            since, seen = divmod(cursor, _ALONGSIDE)
            if cursor and seen < _ALONGSIDE - 1:
                own = self._own(cursor, limit) if now <= since + _SETTLES else ()
                new = sum(each["written"] >= since for each in own)
                count = await self._database.count("commits", _from(since), seen + limit + 1)
                if count == seen + new < _ALONGSIDE:
                    return self._told(since, count, own)
                if count <= seen + limit:
                    return await self._asked(since, max(now, since))
            count = await self._database.count("commits", _from(now), _ALONGSIDE - 1)
        return Touched(cursor=self._cursor(now, count), keys=None)

    def _own(self, cursor: int, limit: int) -> Sequence[BsonDocument]:
        """What this process has written since the cursor was told, no more than `limit`.

        What was under way then is left out: where the cursor counts it, it was told, and where it
        does not, the count is another one than this makes out.
        """
        answered = self._answered.get(cursor)
        if answered is None:
            return ()
        own = [each for one in self._wrote if one.began > answered for each in one.made]
        return own if len(own) <= limit else ()

    async def _asked(self, since: int, now: int) -> Touched:
        told = dict.fromkeys(_TOLD, 1)
        commits = self._database.latest("commits")
        found = await commits.find(_from(since), told, batch_size=_ALONGSIDE).to_list()
        count = min(sum(each["written"] >= now for each in found), _ALONGSIDE - 1)
        return self._told(now, count, found)

    def _told(self, since: int, count: int, found: Sequence[BsonDocument]) -> Touched:
        keys = frozenset(int(key) for each in found for key in each["touched"])
        reached: dict[SpaceId, Position] = {}
        for each in found:
            space, position = SpaceId(each["space"]), Position(int(each["position"]))
            reached[space] = max(position, reached.get(space, ORIGIN))
        return Touched(cursor=self._cursor(since, count), keys=keys, reached=reached)

    def _cursor(self, since: int, count: int) -> int:
        """The cursor that says so, from an answer that is there now."""
        cursor = since * _ALONGSIDE + count
        self._answered[cursor] = self.step()
        self._answered.move_to_end(cursor)
        if len(self._answered) > _CURSORS:
            self._answered.popitem(last=False)
        return cursor


def _from(written: int) -> dict[str, Any]:
    return {"written": {"$gte": written}}


# The gate: appends pass it, and one block at a time keeps all others out, in any process.
#
# The block is a document that has one name, so that it can be inserted once. It is taken for
# abandoned when it was not renewed for a while. A call that writes asks for it when it begins,
# with what else it asks then, and is not told otherwise for a moment. So an append of another
# process that had passed already may still be written in the first moments of a block, and make a
# verdict stale that it judges then; two blocks never run at the same time.

_NAME: Final = "writer"
_HOLDS: Final = 15.0
_PATIENCE: Final = 30.0
_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.1
_OPEN: Final = "when nobody kept others out of MongoDB"
_BELIEVED: Final = 2.0
"""So many seconds a call that was told so need not ask again."""


class WriterGate:
    """Who may append."""

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
    async def passing(self) -> AsyncIterator[None]:
        """Append within the block, once `is_open` was asked there; `exclusive` waits for it."""
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
        """Whether the current task has the block."""
        return self._owner is not None and self._owner is asyncio.current_task()

    async def is_open(self, *, mine: bool) -> bool:
        """Whether one may append; this asks the server, unless the block is one's own.

        What the call was told is believed while no block of this process wants to begin.
        """
        told: float | None = None if self._blocks.locked() else answers().get(_OPEN)
        if mine or (told is not None and _time() - told < _BELIEVED):
            return True
        return await self.look()

    async def look(self) -> bool:
        """Ask whether one may append, and let the call that is under way remember it.

        All who want to know ask together, and who gives up disturbs no command of the driver.
        """
        asked = _time()
        is_open = await self._asked.ask(None, self._is_open)
        if is_open:
            answers()[_OPEN] = asked
        return is_open

    async def _is_open(self) -> bool:
        async with self._database.working():
            return await self._held() is None

    async def wait(self) -> None:
        """Wait until it may be tried again.

        Raises:
            Unavailable: `ledger.busy`.
        """
        await self._until_free(_time() + _PATIENCE)

    async def _until_free(self, ends: float) -> None:
        pause = _PAUSE
        while not await self.look():
            if _time() > ends:
                raise Unavailable("ledger.busy", "somebody keeps all others out; try again")
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _held(self) -> BsonDocument | None:
        """Who keeps others out; whoever did not say so for long does not any more."""
        turns = self._database.latest("writers")
        found = await turns.find_one({"_id": _NAME})
        if found is None or found["until"] >= await self._database.now():
            return found
        await turns.delete_one({"_id": _NAME, "token": found["token"]})
        return None

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Keep everybody else out until the block ends."""
        async with self._blocks:
            token = self._identities.salt().hex()
            try:
                await self._take(token)
                self._owner = asyncio.current_task()
                async with self._passed:
                    await self._passed.wait_for(lambda: not self._passing)
                renewing = asyncio.create_task(self._renew(token), name="gate")
                try:
                    yield
                finally:
                    renewing.cancel()
            finally:
                self._owner = None
                with suppress(CanonryError):
                    async with self._database.working():
                        turns = self._database.latest("writers")
                        await turns.delete_one({"_id": _NAME, "token": token})

    async def _take(self, token: str) -> None:
        ends = _time() + _PATIENCE
        while True:
            async with self._database.working():
                await self._until_free(ends)
                until = await self._database.now() + int(_HOLDS * 1000)
                held = {"_id": _NAME, "token": token, "until": until}
                with suppress(DuplicateKeyError):
                    await self._database.latest("writers").insert_one(held)
                    return

    async def _renew(self, token: str) -> None:
        while True:
            await asyncio.sleep(_HOLDS / 3)
            with suppress(CanonryError):
                async with self._database.working():
                    until = await self._database.now() + int(_HOLDS * 1000)
                    await self._database.latest("writers").update_one(
                        {"_id": _NAME, "token": token}, {"$set": {"until": until}}
                    )


def _time() -> float:
    return asyncio.get_running_loop().time()
