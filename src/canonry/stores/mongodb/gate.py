"""The gate: appends pass it, and one block at a time keeps all others out, in any process.

The block is a document that has one name, so that it can be inserted once. It is taken for
abandoned when it was not renewed for a while. A call that writes asks for it when it begins, with
what else it asks then, and is not told otherwise for a moment. So an append of another process that
had passed already may still be written in the first moments of a block, and make a verdict stale
that it judges then; two blocks never run at the same time.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from pymongo.errors import DuplicateKeyError

from canonry.log.ports.world import Identities, answers
from canonry.stores.mongodb.database import BsonDocument, MongoDatabase
from canonry.stores.mongodb.looks import SharedAnswers
from canonry.values.errors import CanonryError, Unavailable

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
