"""Growth: the same tool calls in one universe as it grows from 10^2 to 10^6 entities.

Each size has a store of its own, all open at once, and the rounds alternate between them, so that
a change in the machine's speed does not look like growth. Replies are not cached here: a small
world would be answered from the cache and a large one from the store. The largest size comes from
`CANONRY_BENCH_ENTITIES` (default 10^5) and `CANONRY_BENCH_FACTS` (default 10 an entity); the full
budget is stated for 10^6 and 10^7.
"""

import asyncio
import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.report import Row, median, percentile
from bench.worlds import World, build_world
from canonry.app.embedded import Embedded, open_embedded
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.gateway.tool import Arguments
from canonry.narrative.toolset import NARRATIVE
from canonry.stores.sqlite import Durability
from canonry.values.provenance import Authority

SECTION = "growth"
SMALL = 100
CALLS, ROUNDS = 100, 20
MEDIAN_MAX, TAIL_MAX = 1.5, 3.0
TAIL = 0.99
KEEPER = Principal(agent_id="bench", agent_type="CanonKeeper", authorities=frozenset(Authority))
UNCACHED = replace(NARRATIVE, tools=tuple(replace(t, cached=None) for t in NARRATIVE.tools))
NARRATOR = Principal(agent_id="bench", agent_type="Narrator")


@dataclass(frozen=True, slots=True)
class Workload:
    """A tool call with arguments drawn from a world."""

    tool: str
    principal: Principal
    draw: Callable[[World, random.Random], Arguments]


def _some(world: World, rand: random.Random) -> str:
    return world.entities[rand.randrange(len(world.entities))]


WORKLOADS: Mapping[str, Workload] = {
    "get entity": Workload("neo4j_get_entity", KEEPER, lambda w, r: {"entity_id": _some(w, r)}),
    "query by rare tag": Workload(
        "neo4j_query_entities",
        KEEPER,
        lambda w, r: {
            "universe_id": w.space,
            "state_tags": {"all_of": ["rare"]},
            "limit": 10 + r.randrange(5),
        },
    ),
    "query by common tag": Workload(
        "neo4j_query_entities",
        KEEPER,
        lambda w, r: {
            "universe_id": w.space,
            "entity_type": "character",
            "state_tags": {"all_of": ["alive"]},
            "limit": 10 + r.randrange(5),
            "offset": r.randrange(20),
        },
    ),
    "1-hop relations": Workload(
        "neo4j_get_entity",
        KEEPER,
        lambda w, r: {"entity_id": _some(w, r), "include_relationships": True},
    ),
    "facts of an entity": Workload(
        "neo4j_query_facts",
        KEEPER,
        lambda w, r: {"universe_id": w.space, "entity_id": _some(w, r), "limit": 10},
    ),
    "append turn": Workload(
        "mongodb_append_turn",
        NARRATOR,
        lambda w, r: {
            "scene_id": w.scenes[0],
            "speaker": "gm",
            "text": f"And then {r.random()} leagues further.",
        },
    ),
}


@dataclass(slots=True)
class Measured:
    """One size: its store, and the durations of each workload."""

    entities: int
    store: Embedded
    gateway: Gateway
    world: World
    seconds: dict[str, list[float]] = field(default_factory=lambda: {w: [] for w in WORKLOADS})


def run() -> list[Row]:
    """Measure all sizes."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_run(Path(folder)))


async def _run(folder: Path) -> list[Row]:
    largest = int(float(os.environ.get("CANONRY_BENCH_ENTITIES", "1e5")))
    facts_each = int(os.environ.get("CANONRY_BENCH_FACTS", "10"))
    sizes = [size for size in (SMALL, 10_000, 1_000_000) if size < largest]
    measured = [await _open(folder, size, facts_each) for size in (*sizes, largest)]
    order, rand = random.Random(3), random.Random(5)  # noqa: S311 - shuffles and draws
    try:
        for round_number in range(ROUNDS + 1):
            plan = [(size, name) for size in measured for name in WORKLOADS]
            order.shuffle(plan)
            for size, name in plan:
                durations = await _calls(size, WORKLOADS[name], rand)
                if round_number > 0:
                    size.seconds[name] += durations
    finally:
        for size in measured:
            await size.store.close()
    return [row for size in measured[1:] for row in _rows(measured[0], size)]


async def _open(folder: Path, entities: int, facts_each: int) -> Measured:
    store = await open_embedded(folder / str(entities), durability=Durability.NORMAL)
    world = await build_world(store.canon, entities=entities, facts_each=facts_each)
    gateway = Gateway(store.canon, [UNCACHED])
    return Measured(entities=entities, store=store, gateway=gateway, world=world)


async def _calls(size: Measured, workload: Workload, rand: random.Random) -> list[float]:
    durations: list[float] = []
    for _ in range(CALLS):
        arguments = workload.draw(size.world, rand)
        began = time.perf_counter()
        outcome = await size.gateway.call(workload.tool, arguments, workload.principal)
        durations.append(time.perf_counter() - began)
        if outcome.error is not None:
            raise RuntimeError(f"{workload.tool} answers {outcome.text}")
    return durations


def _rows(small: Measured, large: Measured) -> list[Row]:
    rows: list[Row] = []
    for name in WORKLOADS:
        before, after = small.seconds[name], large.seconds[name]
        what = f"{name}: {large.entities:.0e} entities, {large.world.facts:.0e} facts / {SMALL}"
        note = f"{median(before) * 1e6:.0f} -> {median(after) * 1e6:.0f} us"
        tail = f"{percentile(before, TAIL) * 1e6:.0f} -> {percentile(after, TAIL) * 1e6:.0f} us"
        rows.append(
            Row(
                section=SECTION,
                what=f"{what}, median",
                value=median(after) / median(before),
                unit="x",
                budget=MEDIAN_MAX,
                note=note,
            )
        )
        rows.append(
            Row(
                section=SECTION,
                what=f"{what}, p99",
                value=percentile(after, TAIL) / percentile(before, TAIL),
                unit="x",
                budget=TAIL_MAX,
                note=tail,
            )
        )
    return rows
