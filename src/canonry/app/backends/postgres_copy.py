"""A store in PostgreSQL that is answered from a copy on this machine."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from canonry.app.embedded import open_embedded
from canonry.app.stores import KeptStore
from canonry.canon.session.canon import Canon
from canonry.log.canon import needs
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import Tombstone
from canonry.log.sealing import GENESIS, Sealed, fault_in
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.ports.view import Finding, Upkeep, UpkeepProgress, Verification
from canonry.stores.following.following import Follower, Projector
from canonry.stores.following.join import Joined, join
from canonry.values.errors import BrokenInvariant
from canonry.values.ids import SpaceId

if TYPE_CHECKING:
    from canonry.app.backends.postgres import Shared

COPY: Final = "copy"
"""The folder of the copy, in the data folder."""

_PAGE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowingCopy:
    """The copy, and what brings it to where the log is."""

    copy: KeptStore
    projector: Projector

    async def verify(self, told: UpkeepProgress) -> Verification:
        """Check the log, and the copy against it and within itself."""
        findings: list[Finding] = []
        heads: dict[SpaceId, tuple[int, str]] = {}
        commits = 0
        for space, head in (await heads_of(self.projector.ledger)).items():
            previous, position = GENESIS, ORIGIN
            try:
                async for sealed, copied in self.beside(space, head):
                    place = Position(position + 1)
                    fault = fault_in(sealed, position=place, previous=previous)
                    if fault is None and (copied is None or copied.hash != sealed.hash):
                        fault = "the copy of this machine has another commit there: remove it"
                    if fault is None and copied is not None and _outlives(copied, sealed):
                        fault = "the copy holds what was erased: `canonry rebuild` erases it"
                    if fault is not None:
                        findings.append(Finding(where=f"{space} at {place}", what=fault))
                    previous, position = sealed.hash, sealed.position
                    commits += 1
                    if commits % _PAGE == 0:
                        told(commits, None)
            except BrokenInvariant as error:
                where = f"{space} after {position}"
                findings.append(Finding(where=where, what=f"it cannot be read: {error.code}"))
            if position < head:
                findings.append(Finding(where=f"{space} after {position}", what="the log ends"))
            heads[space] = (position, previous)
        copy = await self.copy.upkeep.verify(told)
        findings += [Finding(where=f"copy: {each.where}", what=each.what) for each in copy.findings]
        return Verification(
            commits=commits, things=copy.things, heads=heads, findings=tuple(findings)
        )

    async def beside(
        self, space: SpaceId, head: Position
    ) -> AsyncIterator[tuple[Sealed, Sealed | None]]:
        """Each commit of a space up to `head`, with the copy of it."""
        after = ORIGIN
        await self.projector.reach(space, head)
        while after < head:
            limit = min(_PAGE, head - after)
            sealed = await self.projector.ledger.read_sealed(space, after=after, limit=limit)
            copies = await self.copy.canon.ledger.read_sealed(space, after=after, limit=limit)
            if not sealed:
                return
            copied = {each.position: each for each in copies}
            for each in sealed:
                yield each, copied.get(each.position)
            after = sealed[-1].position

    async def erase_what_was_erased(self) -> None:
        """Purge from the copy what was erased from the records while it did not look."""
        for space, head in (await heads_of(self.projector.ledger)).items():
            async for sealed, copied in self.beside(space, head):
                if copied is not None and _outlives(copied, sealed):
                    await self.copy.upkeep.purge(space, await self._erased_in(space))
                    break

    async def _erased_in(self, space: SpaceId) -> Sequence[str]:
        ledger, after, targets = self.copy.canon.ledger, ORIGIN, set[str]()
        while page := await ledger.read(space, after=after, limit=_PAGE):
            things = await self.copy.canon.state.things(
                needs(e for commit in page for e in commit.entries)
            )
            targets |= {i for i, thing in things.items() if isinstance(thing, Tombstone)}
            after = page[-1].position
        return sorted(targets)


def _outlives(copied: Sealed, sealed: Sealed) -> bool:
    """Whether a copy holds what was erased from the records; it may erase before them."""
    both = zip(copied.parts, sealed.parts, strict=True)
    return any(there is None and here is not None for here, there in both)


def kept_up(projector: Projector) -> asyncio.Task[None]:
    """What brings views to where the log is as long as the store is open; `ended` ends it."""
    return asyncio.create_task(projector.keep_up(), name="following")


async def ended(following: asyncio.Task[None]) -> None:
    """Let it end, and wait until it has."""
    while not following.done():  # a driver may take the cancelling for a lost connection
        following.cancel()
        await asyncio.wait([following], timeout=0.05)


# A store in PostgreSQL that each machine answers from a copy of its own, which follows the log.
#
# The server folds and keeps the views all the same, for machines without a copy. What a copy
# changes is how often a call waits: it looks once whether anything was touched, and asks the folder
# the rest.


@dataclass(frozen=True, slots=True)
class UpkeepWithCopy(Upkeep):
    """Works on the server, and on the copy of this machine."""

    server: Upkeep
    following: FollowingCopy

    @override
    async def verify(self, told: UpkeepProgress) -> Verification:
        verified = await self.server.verify(told)
        if verified.findings:
            return verified
        copied = await self.following.verify(told)
        return replace(verified, findings=copied.findings)

    @override
    async def glance(self) -> Sequence[Finding]:
        return (*await self.server.glance(), *await self.following.copy.upkeep.glance())

    @override
    async def rebuild(self, told: UpkeepProgress) -> int:
        done = await self.server.rebuild(told)
        await self.following.projector.catch_up()
        await self.following.erase_what_was_erased()
        await self.following.copy.upkeep.rebuild(told)
        return done

    @override
    async def backup(self, target: Path, told: UpkeepProgress) -> Mapping[SpaceId, tuple[int, str]]:
        return await self.server.backup(target, told)

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        dropped = await self.server.purge(space, targets)
        await self.following.projector.catch_up()
        await self.following.copy.upkeep.purge(space, targets)
        return dropped

    @override
    async def collect_orphans(self) -> int:
        return await self.server.collect_orphans()

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        return await self.server.facts_about_store()


async def with_copy(shared: "Shared", folder: Path) -> "Shared":
    """The same store, asked by way of the copy in `folder`; it is closed where this fails.

    Raises:
        BrokenInvariant: what is wrong with the copy.
        Unavailable: the folder cannot be used.
    """
    server = shared.canon
    async with AsyncExitStack() as opening:
        opening.push_async_callback(shared.close)
        copy = await open_embedded(
            folder / COPY, clock=server.clock, identities=server.identities, policy=server.policy
        )
        opening.push_async_callback(copy.close)
        follower = Follower(log=server.ledger, copy=copy.canon.ledger, purge=copy.upkeep.purge)
        opening.push_async_callback(follower.close)
        joined = followed(server, copy.canon, follower)
        opening.push_async_callback(joined.finish)
        opening.push_async_callback(ended, kept_up(joined.projector))
        closing = opening.pop_all()
    return replace(
        shared,
        canon=joined.canon,
        upkeep=UpkeepWithCopy(shared.upkeep, FollowingCopy(copy=copy, projector=joined.projector)),
        close=closing.aclose,
    )


def followed(server: Canon, copy: Canon, follower: Follower) -> Joined[Canon]:
    """The records of the server, which folds what is appended, before the views of the copy."""
    views = {
        name: follower.view(getattr(copy, name))
        for name in ("state", "documents", "text", "catalog", "places")
    }
    return join(replace(server, **views), foresees=False, copied=copy.ledger)
