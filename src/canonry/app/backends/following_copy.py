"""A copy of the log in the folder of a machine, as upkeep sees it: it follows, and is compared."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.app.stores import KeptStore
from canonry.log.canon import needs
from canonry.log.commits import ORIGIN, Position
from canonry.log.entries import Tombstone
from canonry.log.sealing import GENESIS, Sealed, fault_in
from canonry.readmodels.follow_log import heads_of
from canonry.readmodels.ports.upkeep import Finding, UpkeepProgress, Verification
from canonry.stores.following.projector import Projector
from canonry.values.errors import BrokenInvariant
from canonry.values.ids import SpaceId

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
