"""Looks: what was touched since a cursor, which many calls of a process ask at once.

Writes are stamped by the server's clock, and all of the last minute are counted: as many as before,
and nothing happened. As many more as this process has written meanwhile, and it knows what.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from canonry.log.commits import ORIGIN, Position
from canonry.log.ports.ledger import Touched
from canonry.stores.mongodb.database import BsonDocument, MongoDatabase
from canonry.values.ids import SpaceId

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
