"""A store in PostgreSQL that each machine answers from a copy of its own, which follows the log.

The server folds and keeps the views all the same, for machines without a copy. What a copy changes
is how often a call waits: it looks once whether anything was touched, and asks the folder the rest.
"""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import override

from canonry.app.backends.following_copy import COPY, FollowingCopy, ended, kept_up
from canonry.app.backends.postgres import Shared
from canonry.app.embedded import open_embedded
from canonry.canon.session.canon import Canon
from canonry.readmodels.ports.upkeep import Finding, Upkeep, UpkeepProgress, Verification
from canonry.stores.following.following import Follower
from canonry.stores.following.join import Joined, join
from canonry.values.ids import SpaceId


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


async def with_copy(shared: Shared, folder: Path) -> Shared:
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
