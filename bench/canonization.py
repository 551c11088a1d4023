"""Canonizing a scene of 50 proposals, against durable commits made one by one.

A commit is measured twice: as the cheapest write there is (a turn), which the budget is held
against, and as a fact that the canon keeper writes directly.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.report import Row, median
from bench.worlds import World, build_world
from canonry.app.embedded import Embedded, open_embedded
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.narrative.toolset import NARRATIVE
from canonry.values.provenance import Authority

SECTION = "canonize"
ROUNDS = 7
PROPOSALS = 50
TRUSTED = {
    agent: Principal(agent_id="bench", agent_type=agent, authorities=frozenset(Authority))
    for agent in ("CanonKeeper", "Narrator", "ContextAssembly")
}


def run() -> list[Row]:
    """Alternate between single turns and whole scenes."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_run(Path(folder)))


async def _run(folder: Path) -> list[Row]:
    store = await open_embedded(folder)
    try:
        world = await build_world(store.canon, entities=200, facts_each=2, scenes=ROUNDS + 1)
        ratios = [await _round(store, world, number) for number in range(ROUNDS + 1)][1:]
    finally:
        await store.close()
    turn, fact, scene = (median(list(each)) for each in zip(*ratios, strict=True))
    return [
        Row(
            section=SECTION,
            what=f"a scene of {PROPOSALS} proposals / one durable turn",
            value=median([whole / one for one, _, whole in ratios]),
            unit="x",
            budget=float(PROPOSALS),
            note=f"turn {turn * 1e3:.2f} ms, scene {scene * 1e3:.1f} ms",
        ),
        Row(
            section=SECTION,
            what=f"a scene of {PROPOSALS} proposals / one durable fact",
            value=median([whole / one for _, one, whole in ratios]),
            unit="x",
            note=f"fact {fact * 1e3:.2f} ms",
        ),
    ]


async def _round(store: Embedded, world: World, number: int) -> tuple[float, float, float]:
    gateway = Gateway(store.canon, [NARRATIVE])
    scene = world.scenes[number]

    async def call(agent: str, tool: str, **arguments: object) -> Any:
        outcome = await gateway.call(tool, arguments, TRUSTED[agent])
        if outcome.error is not None:
            raise RuntimeError(f"{tool} answers {outcome.text}")
        return outcome.body

    async def timed(agent: str, tool: str, **arguments: object) -> float:
        began = time.perf_counter()
        await call(agent, tool, **arguments)
        return time.perf_counter() - began

    turns: list[float] = []
    facts: list[float] = []
    for index in range(PROPOSALS):
        given = {"scene_id": scene, "speaker": "gm", "text": f"Turn {index}"}
        turns.append(await timed("Narrator", "mongodb_append_turn", **given))
        facts.append(
            await timed("CanonKeeper", "neo4j_create_fact", **direct_fact(world, scene, index))
        )
    last = await call("Narrator", "mongodb_append_turn", scene_id=scene, speaker="gm", text="So.")
    for index in range(PROPOSALS):
        proposal = proposed(world, scene, last["turn_id"], index)
        await call("Narrator", "mongodb_create_proposed_change", **proposal)
    whole = await timed("CanonKeeper", "composite_canonize_scene", scene_id=scene)
    return median(turns), median(facts), whole


def direct_fact(world: World, scene: str, index: int) -> dict[str, object]:
    """Return a fact that the canon keeper writes about one entity."""
    return {
        "universe_id": world.space,
        "statement": f"Direct word {scene} {index}",
        "involved_entity_ids": [world.entities[index % len(world.entities)]],
        "confidence": 1.0,
        "authority": "gm",
        "evidence_refs": [f"scene:{scene}"],
    }


def proposed(world: World, scene: str, turn: str, index: int) -> dict[str, object]:
    """A fact, a change of state or an event, in turn."""
    entity = world.entities[index % len(world.entities)]
    content: dict[str, object]
    match index % 3:
        case 0:
            kind = "fact"
            content = {"statement": f"Deed {scene} {index}", "involved_entity_ids": [entity]}
        case 1:
            kind = "state_change"
            content = {"entity_id": entity, "add": [f"tag{scene[-6:]}"]}
        case _:
            kind = "event"
            content = {"title": f"Event {index}", "description": "It happens."}
            content["involved_entity_ids"] = [entity]
    return {
        "scene_id": scene,
        "type": kind,
        "content": content,
        "evidence": [{"type": "turn", "ref_id": turn}],
        "confidence": 1.0,
        "authority": "gm",
    }
