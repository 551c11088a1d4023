"""Writers: how 16 concurrent ones share syncs, attempts and time, with full durability.

The writers create entities and append turns in one universe, each its own; so they touch different
items, and a second attempt means that keys are too coarse.
"""

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.report import Row, median
from bench.syncs import CountedSyncs
from bench.worlds import World, build_world
from canonry.app.embedded import open_embedded
from canonry.canon.session.canon import Canon
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.log.commits import Append, Appended, Outcome
from canonry.log.ports.ledger import Ledger
from canonry.narrative.toolset import NARRATIVE
from canonry.values.provenance import Authority

SECTION = "writers"
WRITERS = 16
SECONDS = 4.0
SLOW_SYNC = 0.005
ALL = frozenset(Authority)


class CountedAppends:
    """A ledger seen from outside: how many drafts were handed in, and how many were taken."""

    def __init__(self, ledger: Ledger) -> None:
        """Count from now on."""
        self.attempts = 0
        self.commits = 0
        self._append = ledger.append_drafts
        ledger.append_drafts = self._counted  # type: ignore[method-assign]

    async def _counted(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        self.attempts += len(batch)
        outcomes = await self._append(batch)
        self.commits += sum(isinstance(outcome, Appended) for outcome in outcomes)
        return outcomes


def run() -> list[Row]:
    """One store, several phases."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_run(Path(folder)))


async def _run(folder: Path) -> list[Row]:
    syncs = CountedSyncs()
    store = await open_embedded(folder, vfs="counted")
    try:
        world = await build_world(store.canon, entities=1000, facts_each=2, scenes=WRITERS)
        appends = CountedAppends(store.canon.ledger)
        syncs.count = 0
        done = await phase(store.canon, world, WRITERS)
        fsyncs = syncs.count / appends.commits
        attempts = appends.attempts / appends.commits
        syncs.seconds = SLOW_SYNC
        alone = sum((await phase(store.canon, world, 1)).values())
        together = sum((await phase(store.canon, world, WRITERS)).values())
    finally:
        syncs.seconds = 0.0
        await store.close()
    rate = sum(done.values()) / SECONDS
    slowest = min(done.values()) / median(list(done.values()))
    return [
        Row(
            section=SECTION,
            what="syncs a commit",
            value=fsyncs,
            unit="",
            budget=0.2,
            note=f"{rate:.0f} commits/s",
        ),
        Row(section=SECTION, what="attempts a commit", value=attempts, unit="", budget=2.0),
        Row(
            section=SECTION,
            what="slowest writer / median",
            value=slowest,
            unit="x",
            budget=0.5,
            at_least=True,
        ),
        Row(
            section=SECTION,
            what="16 writers / one writer, each sync 5 ms",
            value=together / alone,
            unit="x",
            budget=5.0,
            at_least=True,
            note=f"{alone / SECONDS:.0f} -> {together / SECONDS:.0f} commits/s",
        ),
    ]


async def phase(canon: Canon, world: World, writers: int, seconds: float = SECONDS) -> Counter[int]:
    """Return the number of commits of each of so many writers in that time."""
    gateway = Gateway(canon, [NARRATIVE])
    done: Counter[int] = Counter()
    end = time.perf_counter() + seconds

    async def writer(number: int) -> None:
        while time.perf_counter() < end:
            await _write(gateway, world, number, done[number])
            done[number] += 1

    await asyncio.gather(*(writer(number) for number in range(writers)))
    return done


async def _write(gateway: Gateway, world: World, writer: int, count: int) -> None:
    if count % 2:
        tool, agent = "mongodb_append_turn", "Narrator"
        arguments: dict[str, object] = {
            "scene_id": world.scenes[writer],
            "speaker": "gm",
            "text": f"Writer {writer} tells part {count}.",
        }
    else:
        tool, agent = "neo4j_create_entity", "CanonKeeper"
        arguments = {
            "entity_class": "EntityInstance",
            "universe_id": world.space,
            "name": f"Figure {writer}-{count}",
            "entity_type": "character",
            "description": "Somebody.",
            "properties": {},
            "confidence": 1.0,
            "authority": "gm",
            "evidence_refs": [f"scene:{world.scenes[writer]}"],
        }
    principal = Principal(agent_id=f"writer-{writer}", agent_type=agent, authorities=ALL)
    outcome = await gateway.call(tool, arguments, principal)
    if outcome.error is not None:
        raise RuntimeError(f"{tool} answers {outcome.text}")
