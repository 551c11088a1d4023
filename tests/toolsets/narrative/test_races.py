"""Keepers who write at the same time: whoever comes second judges by what the first one wrote."""

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import replace
from typing import Any

import pytest

from canonry.gateway.call import Gateway
from canonry.gateway.replies import Result
from canonry.narrative.toolset import NARRATIVE
from tests.simulation.loops import Faults, FaultyLedger, Simulation, run_simulated
from tests.toolsets.narrative.kit import World, a_world

SEEDS = pytest.mark.parametrize("seed", range(15))
SLOW = Faults(delay=0.05)


async def a_slow_world(simulation: Simulation) -> tuple[World, FaultyLedger]:
    """A world whose ledger lets others run before and after each call."""
    world = await a_world()
    line = FaultyLedger(world.canon.ledger, simulation.lots, SLOW)
    canon = replace(world.canon, ledger=line)
    return replace(world, canon=canon, gateway=Gateway(canon, (NARRATIVE,))), line


async def call_together(calls: Iterable[Coroutine[Any, Any, Result]]) -> list[str]:
    """The codes of calls that are made at once; those that succeed have none."""
    outcomes = await asyncio.gather(*calls)
    return [o.error.data["code"] for o in outcomes if o.error is not None]


def relate_call(
    world: World, from_id: str, rel_type: str, to_id: str
) -> Coroutine[Any, Any, Result]:
    arguments = {"from_entity_id": from_id, "rel_type": rel_type, "to_entity_id": to_id}
    return world.outcome("neo4j_create_relationship", arguments)


@SEEDS
def test_no_entity_is_in_two_places(seed: int) -> None:
    async def race(simulation: Simulation) -> None:
        world, _ = await a_slow_world(simulation)
        ann = await world.entity("Ann")
        places = [await world.entity(f"Place {n}", entity_type="location") for n in range(5)]

        refused = await call_together(
            relate_call(world, ann, "LOCATED_IN", place) for place in places
        )

        simulation.assert_interleaved()
        assert refused == []
        reply = await world.call("neo4j_query_relationships", entity_id=ann)
        now = await world.call("neo4j_query_relationships", entity_id=ann, current_only=True)
        assert (reply["total"], now["total"]) == (5, 1)

    run_simulated(race, seed=seed)


@SEEDS
def test_one_of_two_opposed_relations_ends_the_other(seed: int) -> None:
    async def race(simulation: Simulation) -> None:
        world, _ = await a_slow_world(simulation)
        ann, ben = await world.entity("Ann"), await world.entity("Ben")

        refused = await call_together(
            [relate_call(world, ann, "ALLY_OF", ben), relate_call(world, ben, "ENEMY_OF", ann)]
        )

        assert refused == []
        reply = await world.call("neo4j_query_relationships", entity_id=ann)
        now = await world.call("neo4j_query_relationships", entity_id=ann, current_only=True)
        assert (reply["total"], now["total"]) == (2, 1)

    run_simulated(race, seed=seed)


@SEEDS
def test_a_causal_cycle_is_never_closed(seed: int) -> None:
    async def race(simulation: Simulation) -> None:
        world, _ = await a_slow_world(simulation)
        ann = await world.entity("Ann")
        ring = [await world.event(f"Event {n}", ann) for n in range(4)]

        refused = await call_together(
            world.outcome(
                "neo4j_create_causal_link", {"cause_event_id": cause, "effect_event_id": effect}
            )
            for cause, effect in zip(ring, [*ring[1:], ring[0]], strict=True)
        )

        assert refused == ["event.causal-cycle"]

    run_simulated(race, seed=seed)


@SEEDS
def test_a_fact_is_retconned_by_one_of_many(seed: int) -> None:
    async def race(simulation: Simulation) -> None:
        world, _ = await a_slow_world(simulation)
        fact = await world.fact("Ann rules", await world.entity("Ann"))

        refused = await call_together(
            world.outcome(
                "neo4j_retcon_fact",
                {"fact_id": fact, "reason": "no", "replacement_statement": f"Version {n}"},
            )
            for n in range(4)
        )

        assert refused == ["fact.retconned"] * 3
        assert (await world.call("neo4j_query_facts", canon_level="canon"))["total"] == 1

    run_simulated(race, seed=seed)


@SEEDS
def test_a_tag_takes_effect_once(seed: int) -> None:
    async def race(simulation: Simulation) -> None:
        world, _ = await a_slow_world(simulation)
        ann = await world.entity("Ann")
        arguments = {
            "entity_id": ann,
            "state_tag_changes": {"add": ["wounded"]},
            "authority": "gm",
            "evidence_refs": world.evidence,
        }

        refused = await call_together(
            world.outcome("neo4j_update_entity_state", arguments) for _ in range(4)
        )

        assert refused == []
        assert (await world.call("neo4j_query_facts", entity_id=ann))["total"] == 1

    run_simulated(race, seed=seed)


@SEEDS
def test_two_entities_are_not_merged_into_each_other(seed: int) -> None:
    async def race(simulation: Simulation) -> None:
        world, _ = await a_slow_world(simulation)
        ann, ben = await world.entity("Ann"), await world.entity("Ben")

        refused = await call_together(
            world.outcome(
                "neo4j_merge_entities",
                {"kept_entity_id": kept, "merged_entity_id": gone, "reason": "the same"},
            )
            for kept, gone in ((ann, ben), (ben, ann))
        )

        assert refused == ["entity.already-merged"]
        assert (await world.call("neo4j_query_entities"))["total"] == 1

    run_simulated(race, seed=seed)


@SEEDS
def test_writers_of_different_items_never_wait_for_each_other(seed: int) -> None:
    async def race(simulation: Simulation) -> None:
        world, line = await a_slow_world(simulation)
        heroes = [await world.entity(f"Hero {n}") for n in range(6)]
        before = line.appends

        await asyncio.gather(*(world.fact(f"{hero} rules", hero) for hero in heroes))
        await asyncio.gather(*(world.event("Feast", hero) for hero in heroes))
        await asyncio.gather(*(world.entity(f"Guest {n}") for n in range(6)))

        simulation.assert_interleaved()
        assert line.appends - before == 18, "each was judged once"

    run_simulated(race, seed=seed)
