"""A universe of 10^5 facts: canonizing a scene, its context and the search for conflicts there.

The same calls in a universe a hundred times smaller are the floor: both stores are open at once
and the rounds alternate between them. Time is that of the process, which a loaded machine shares
out but does not add to. `CANONRY_BENCH_UNIVERSE` says how many facts there are.
"""

import asyncio
import os
import random
import tempfile
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench.canonization import PROPOSALS, TRUSTED, direct_fact, proposed
from bench.report import Row, median
from bench.worlds import PLACES, World, build_world
from canonry.app.embedded import Embedded, open_embedded
from canonry.canon.judging.contents import FactContent
from canonry.canon.judging.gates.statements import objections_to
from canonry.canon.judging.gates.verdicts import Objection
from canonry.canon.judging.slices import SliceView
from canonry.canon.judging.standing_statements import statements_of
from canonry.canon.session.commit_change import apply_rule
from canonry.gateway.call import Gateway
from canonry.narrative.toolset import NARRATIVE
from canonry.stores.sqlite import Durability
from canonry.values.fields import Reference
from canonry.values.moments import NOW

SECTION = "universe"
FACTS_EACH, SMALLER, ROUNDS, CLAIMS = 10, 100, 7, 50
CONFLICTS_MS_MAX = 5.0


@dataclass(slots=True)
class Universe:
    """A store with one world, and the seconds that each call took in it."""

    store: Embedded
    world: World
    gateway: Gateway
    seconds: dict[str, list[float]] = field(default_factory=dict)

    async def call(self, agent: str, tool: str, arguments: Mapping[str, object]) -> str:
        """The id in the reply to a tool call."""
        outcome = await self.gateway.call(tool, dict(arguments), TRUSTED[agent])
        if outcome.error is not None or outcome.body is None:
            raise RuntimeError(f"{tool} answers {outcome.text}")
        return str(outcome.body.get("turn_id", ""))

    async def timed(self, what: str, work: Awaitable[object]) -> None:
        """Note how long `work` keeps the process busy."""
        began = time.process_time()
        await work
        self.seconds.setdefault(what, []).append(time.process_time() - began)


def run() -> list[Row]:
    """Alternate between the large universe and the small one."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_run(Path(folder)))


async def _run(folder: Path) -> list[Row]:
    facts = int(float(os.environ.get("CANONRY_BENCH_UNIVERSE", "1e5")))
    sizes = [await _open(folder, size) for size in (facts // SMALLER, facts)]
    rand = random.Random(11)  # noqa: S311 - draws claims
    try:
        for number in range(ROUNDS + 1):
            for size in sizes:
                await _round(size, number, rand)
        for size in sizes:
            size.seconds = {what: spent[1:] for what, spent in size.seconds.items()}
    finally:
        for size in sizes:
            await size.store.close()
    return _rows(*sizes, facts=facts)


async def _open(folder: Path, facts: int) -> Universe:
    store = await open_embedded(folder / str(facts), durability=Durability.NORMAL)
    count = facts // FACTS_EACH
    world = await build_world(store.canon, entities=count, facts_each=FACTS_EACH, scenes=ROUNDS + 1)
    return Universe(store=store, world=world, gateway=Gateway(store.canon, [NARRATIVE]))


async def _round(size: Universe, number: int, rand: random.Random) -> None:
    world, scene = size.world, size.world.scenes[number]
    arguments = {"scene_id": scene, "speaker": "gm", "text": "Character 1 meets character 2."}
    turn = await size.call("Narrator", "mongodb_append_turn", arguments)
    for index in range(PROPOSALS):
        fact = direct_fact(world, scene, index)
        await size.timed("fact", size.call("CanonKeeper", "neo4j_create_fact", fact))
    await size.timed("claims of somebody", _search(size, rand, linked=True))
    await size.timed("claims of nobody", _search(size, rand, linked=False))
    asked = {"scene_id": scene}
    tool = "composite_assemble_scene_context"
    await size.timed("context", size.call("ContextAssembly", tool, asked))
    for index in range(PROPOSALS):
        change = proposed(world, scene, turn, index)
        await size.call("Narrator", "mongodb_create_proposed_change", change)
    tool = "composite_canonize_scene"
    await size.timed("scene", size.call("CanonKeeper", tool, asked))


async def _search(size: Universe, rand: random.Random, *, linked: bool) -> None:
    for _claim in range(CLAIMS):
        number, place = rand.randrange(len(size.world.entities)), rand.choice(PLACES)
        about = (Reference(size.world.entities[number]),) if linked else ()
        words = f"Character {number} never visited the {place} in {rand.randrange(1000)}"
        claim = FactContent(statement=words, involved=about)
        await apply_rule(size.store.canon, size.world.space, partial(_find_objections, claim))


def _find_objections(claim: FactContent, view: SliceView) -> tuple[Objection, ...]:
    return tuple(objections_to(claim, statements_of(claim, view), NOW, view))


def _rows(small: Universe, large: Universe, *, facts: int) -> list[Row]:
    rows = []
    for what in ("scene", "fact", "context"):
        before, after = (median(size.seconds[what]) for size in (small, large))
        rows.append(
            Row(
                section=SECTION,
                what=f"{what}: {facts:.0e} facts / {facts // SMALLER:.0e}",
                value=after / before,
                unit="x",
                note=f"{before * 1e3:.2f} -> {after * 1e3:.2f} ms",
            )
        )
    for what in ("claims of somebody", "claims of nobody"):
        spent = [seconds * 1e3 / CLAIMS for seconds in large.seconds[what]]
        rows.append(
            Row(
                section=SECTION,
                what=f"conflict search, {what}: {facts:.0e} facts",
                value=median(spent),
                unit="ms",
                budget=CONFLICTS_MS_MAX,
                note=f"{min(spent):.2f} to {max(spent):.2f} ms a round",
            )
        )
    return rows
