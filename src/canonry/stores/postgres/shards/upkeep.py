"""Upkeep of a store on several servers: each looks after its own part."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from typing_extensions import override

from canonry.readmodels.ports.upkeep import Finding, Upkeep, UpkeepProgress, Verification
from canonry.stores.postgres.shards.hands import drop_stage, hand, turn
from canonry.stores.postgres.shards.servers import Server, Shards
from canonry.stores.postgres.upkeep.upkeep import Copy, PostgresUpkeep
from canonry.values.ids import SpaceId

_SUMS: Final = frozenset({"bytes", "spaces", "commits", "things"})
_HAS_LEFT: Final = "SELECT EXISTS (SELECT 1 FROM heads WHERE space = %s AND away)"


class ShardedUpkeep(Upkeep):
    """Works on all servers, one after the other."""

    def __init__(self, shards: Shards, copy: Copy) -> None:
        """Share the servers with the ledger; `copy` makes backups."""
        self._shards = shards
        self._copy = copy
        self._parts: Final = [
            (server, PostgresUpkeep(server.database, copy)) for server in shards.servers.values()
        ]

    @override
    async def verify(self, told: UpkeepProgress) -> Verification:
        commits, things, findings = 0, 0, list[Finding]()
        heads: dict[SpaceId, tuple[int, str]] = {}
        await self._shards.directory.moves()
        for server, upkeep in self._parts:
            before = commits

            def onward(done: int, _: int | None, before: int = before) -> None:
                told(before + done, None)

            seen = await upkeep.verify(onward)
            commits, things = commits + seen.commits, things + seen.things
            findings += _at(server, seen.findings)
            is_elsewhere = self._shards.directory.is_elsewhere
            heads |= {s: head for s, head in seen.heads.items() if not is_elsewhere(s, server.id)}
        return Verification(commits=commits, things=things, heads=heads, findings=tuple(findings))

    @override
    async def glance(self) -> Sequence[Finding]:
        return tuple(
            [one for server, each in self._parts for one in _at(server, await each.glance())]
        )

    @override
    async def rebuild(self, told: UpkeepProgress) -> int:
        return sum([await upkeep.rebuild(told) for _, upkeep in self._parts])

    @override
    async def backup(self, target: Path, told: UpkeepProgress) -> Mapping[SpaceId, tuple[int, str]]:
        return await self._copy(target, told)

    @override
    async def purge(self, space: SpaceId, targets: Sequence[str]) -> int:
        """Also on the servers that it has left, whose files may hold traces of it."""
        async with turn(self._shards, space, waits=True):
            home = await self._shards.directory.asked(space)
            dropped = 0
            for server, upkeep in self._parts:
                if server.id == home:
                    dropped += await upkeep.purge(space, targets)
                    continue
                async with hand(server.database) as db:
                    await drop_stage(db, server.database, space)
                ((has_left,),) = await server.database.rows(_HAS_LEFT, (space,))
                if has_left:
                    await upkeep.rewrite()
            return dropped

    @override
    async def collect_orphans(self) -> int:
        return sum([await upkeep.collect_orphans() for _, upkeep in self._parts])

    @override
    async def facts_about_store(self) -> Mapping[str, str | int]:
        facts: dict[str, str | int] = {"servers": len(self._parts)}
        for server, upkeep in self._parts:
            found = await upkeep.facts_about_store()
            for name, value in found.items():
                so_far = facts.get(name)
                if name in _SUMS and isinstance(so_far, int) and isinstance(value, int):
                    facts[name] = so_far + value
                else:
                    facts.setdefault(name, value)
            told = f"{found['spaces']} spaces, {found['commits']} commits, {found['engine']}"
            facts[f"server {server.name}"] = told
        return facts


def _at(server: Server, findings: Sequence[Finding]) -> Sequence[Finding]:
    return [replace(each, where=f"{server.name}: {each.where}") for each in findings]
