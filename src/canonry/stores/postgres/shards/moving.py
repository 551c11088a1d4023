"""Moving a space from one server to another while it is written to.

It is gathered at the target page by page, which may be interrupted anywhere and goes on when it is
begun again. Then, for as long as it takes to copy what was written last and until nobody trusts an
older directory any more, the space is fenced: whoever writes waits. At every moment one server has
all that was acknowledged, and the directory says which; who finds a fence whose mover is gone takes
it away there.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from canonry.log.commits import ORIGIN, Position
from canonry.log.ports.world import Clock, Identities
from canonry.log.sealing import Sealed
from canonry.readmodels.ports.view import UpkeepProgress
from canonry.stores.postgres.appending import Appender
from canonry.stores.postgres.database import PgConnection, fetched, run, written
from canonry.stores.postgres.shards.hands import (
    PAGE,
    arrive,
    drop_stage,
    hand,
    leave,
    log_of,
    make_stage,
    staged_in,
    turn,
)
from canonry.stores.postgres.shards.servers import LEASE, Server, Shards
from canonry.stores.postgres.upkeep import looking_in
from canonry.values.errors import BrokenInvariant, CanonryError, Conflict, NotFound
from canonry.values.ids import SpaceId

_TRUSTED: Final = 1.1 * LEASE
"""After so many seconds nobody trusts what the directory said before."""

_DIFFERS: Final = "the copy of the space is not what was copied, and was thrown away: move it again"
_END: Final = "SELECT position, hash FROM heads WHERE space = %s"
_LAST: Final = f"{_END} FOR UPDATE"
_FENCE: Final = "UPDATE heads SET away = %s WHERE space = %s"
_FENCED: Final = "SELECT away, position FROM heads WHERE space = %s"
_LEFTOVERS: Final = "SELECT space FROM heads WHERE away AND position > 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedSpace:
    """What has moved: `gathered` commits in this run, the rest before; nobody wrote for `paused`.

    `digest` is the SHA-256 of the space's lines in an export, the same before and after.
    """

    source: str
    target: str
    commits: int
    gathered: int
    size: int
    digest: str
    paused: float


async def move_space(
    shards: Shards,
    space: SpaceId,
    target: Server,
    told: UpkeepProgress,
    *,
    line: Callable[[Sealed], bytes],
    clock: Clock,
    identities: Identities,
) -> MovedSpace | None:
    """Move a space to another server; None: it lives there already.

    Both sides are compared by the `line` that each commit is in an export.

    Raises:
        Conflict: `space.moving`, another process moves it or erases in it.
        NotFound: `space.unknown`.
        BrokenInvariant: `move.differs`, the copy is not what was copied; nothing has moved.
    """
    async with turn(shards, space) as is_mine:
        if not is_mine:
            message = "another process moves this space or erases in it: wait until it has ended"
            raise Conflict("space.moving", message)
        await _mended(shards, space)
        source = shards.servers[await shards.directory.asked(space)]
        if await source.store.ledger.head(space) == ORIGIN:
            raise NotFound("space.unknown", "there is no space with this id", id=space)
        if source.id == target.id:
            return None
        appender = Appender(target.database.name, clock, identities)
        moving = _Moving(shards, space, source, target, appender, told)
        await moving.gather()
        return await moving.switch(_Digests(line))


async def mend(shards: Shards, space: SpaceId) -> bool:
    """End the move of a space whose mover is gone; False where somebody is still at it."""
    async with turn(shards, space) as is_mine:
        if is_mine:
            await _mended(shards, space)
        return is_mine


async def mend_all(shards: Shards) -> None:
    """End every move whose mover is gone."""
    left = {
        SpaceId(space)
        for server in shards.servers.values()
        for (space,) in await server.database.rows(_LEFTOVERS)
    }
    for space in sorted(left):
        await mend(shards, space)


async def _mended(shards: Shards, space: SpaceId) -> None:
    """Where the directory says that the space lives is all of it: let it be written there alone."""
    home = await shards.directory.asked(space)
    for server in shards.servers.values():
        rows = await server.database.rows(_FENCED, (space,))
        is_away, position = rows[0] if rows else (False, ORIGIN)
        if server.id == home and is_away:
            await asyncio.sleep(_TRUSTED)
            async with hand(server.database) as db:
                await run(db, _FENCE, (False, space))
        elif server.id != home and position > ORIGIN:
            await leave(server, space)


@dataclass(slots=True)
class _Digests:
    """What both sides hold, each commit as a `line` of an export."""

    line: Callable[[Sealed], bytes]
    mine: Any = field(default_factory=sha256)
    theirs: Any = field(default_factory=sha256)
    size: int = 0

    def take(self, sealed: Sequence[Sealed]) -> None:
        for line in map(self.line, sealed):
            self.mine.update(line)
            self.size += len(line)

    def took(self, sealed: Sequence[Sealed]) -> None:
        for line in map(self.line, sealed):
            self.theirs.update(line)


@dataclass(slots=True)
class _Moving:
    """One move of one space by whoever has the turn."""

    shards: Shards
    space: SpaceId
    source: Server
    target: Server
    appender: Appender
    told: UpkeepProgress
    gathered: int = 0

    async def gather(self) -> None:
        """Copy the log into tables beside, and fold it there; what is there already stays."""
        total = await self.source.store.ledger.head(self.space)
        async with hand(self.target.database) as db:
            await make_stage(db, self.target.database, self.space)
            staged = staged_in(self.target.database, self.space)

            async def write(db: PgConnection) -> None:
                await looking_in(db, staged, self.target.database.name)
                await self.appender.restore(db, page, None)

            rows = await fetched(db, _END.replace("heads", f"{staged}.heads"), (self.space,))
            done = Position(rows[0][0] if rows else ORIGIN)
            while page := await self._page(done):
                await written(db, write)
                self.gathered += len(page)
                done = page[-1].position
                self.told(done, max(total, done))

    async def _page(self, after: Position) -> Sequence[Sealed]:
        return await self.source.store.ledger.read_sealed(self.space, after=after, limit=PAGE)

    async def switch(self, digests: _Digests) -> MovedSpace:
        """Let the space live at the target from now on, whole and written by nobody meanwhile."""
        try:
            began, commits = await self._change_over(digests)
            await self.shards.directory.switch(self.space, self.target.id)
            await asyncio.sleep(_TRUSTED)
            async with hand(self.target.database) as db:
                await run(db, _FENCE, (False, self.space))
                paused = time.monotonic() - began
                await drop_stage(db, self.target.database, self.space)
        except BaseException as error:
            with suppress(CanonryError):
                await _mended(self.shards, self.space)
                if isinstance(error, BrokenInvariant):
                    await self._forget()
            raise
        await leave(self.source, self.space)
        return MovedSpace(
            source=self.source.name,
            target=self.target.name,
            commits=commits,
            gathered=self.gathered,
            size=digests.size,
            digest=digests.mine.hexdigest(),
            paused=paused,
        )

    async def _change_over(self, digests: _Digests) -> tuple[float, Position]:
        """Both servers have all of the space then, and neither lets anybody write to it."""
        target, source = self.target.database, self.source.database
        async with hand(target) as there, hand(source) as here, there.transaction():
            await arrive(there, target, self.space)
            done = await self._follow(there, ORIGIN, digests)
            async with here.transaction():
                await run(here, "SELECT pg_advisory_xact_lock_shared(hashtext(%s))", (source.name,))
                ((end, _),) = await fetched(here, _LAST, (self.space,))
                began = time.monotonic()
                await self._follow(there, done, digests)
                ((arrived, _),) = await fetched(there, _END, (self.space,))
                if arrived != end or digests.mine.digest() != digests.theirs.digest():
                    raise BrokenInvariant("move.differs", _DIFFERS)
                await run(here, _FENCE, (True, self.space))
        return began, end

    async def _follow(self, there: PgConnection, after: Position, digests: _Digests) -> Position:
        """Read both sides past `after`; what the target has not yet, it is given."""
        while page := await self._page(after):
            digests.take(page)
            copied = await log_of(there, self.space, after)
            if len(copied) < len(page):
                await self.appender.restore(there, page[len(copied) :], None)
                copied = await log_of(there, self.space, after)
            digests.took(copied[: len(page)])
            after = page[-1].position
        return after

    async def _forget(self) -> None:
        """Drop what was gathered, so that the next move begins anew."""
        async with hand(self.target.database) as db:
            await drop_stage(db, self.target.database, self.space)
