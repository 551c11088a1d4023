"""Random histories: whatever is stated in whatever order, strangers read it without the secrets."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from canonry.app.compose import compose_memory
from canonry.narrative.toolset import NARRATIVE
from canonry.testing.clocks import CountingIdentities, HandClock
from tests.toolsets.narrative.kit import World
from tests.toolsets.narrative.twins import Twin, Twins, a_twin, count_alike, yield_strangers

Act = Callable[[World, list[str], int], Awaitable[Any]]
WHO = 3
FOR_FEW = {"audience": ["gm"]}


async def add_fact(world: World, ids: list[str], n: int, **more: Any) -> str:
    return await world.fact(f"Number {n} holds", ids[n % WHO], **more)


async def add_event(world: World, ids: list[str], n: int, **more: Any) -> str:
    return await world.event(f"Number {n} happens", ids[n % WHO], ids[(n + 1) % WHO], **more)


async def add_ally(world: World, ids: list[str], n: int, **more: Any) -> str:
    return await world.relation(ids[n % WHO], "ALLY_OF", ids[(n + 1) % WHO], **more)


async def add_foe(world: World, ids: list[str], n: int, **more: Any) -> str:
    return await world.relation(ids[n % WHO], "ENEMY_OF", ids[(n + 1) % WHO], **more)


async def add_place(world: World, ids: list[str], n: int, **more: Any) -> str:
    return await world.relation(ids[n % WHO], "LOCATED_IN", ids[WHO + n % 2], **more)


async def add_entity(world: World, ids: list[str], n: int, **more: Any) -> str:
    return await world.entity(f"Somebody {n}", state_tags=["alive"], **more)


ACTS = (add_fact, add_event, add_ally, add_foe, add_place, add_entity)
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, 5), st.booleans()), min_size=2, max_size=12
)


async def a_small_twin() -> Twin:
    clock, identities = HandClock(), CountingIdentities()
    canon = compose_memory(clock=clock, identities=identities)
    twin = a_twin(canon, clock, identities)
    await twin.world.begin("Small")
    return twin


async def live_steps(steps: list[tuple[Any, int, bool]]) -> None:
    twins = Twins(informed=await a_small_twin(), other=await a_small_twin())
    kinds = ["character"] * WHO + ["location"] * 2
    ids = [
        await twins.do_in_both(
            lambda world, n=n, kind=kind: world.entity(f"E{n}", entity_type=kind)  # type: ignore[misc] # both are given
        )
        for n, kind in enumerate(kinds)
    ]
    for act, n, secret in steps:
        if secret:
            await twins.do_secretly(lambda world, act=act, n=n: act(world, ids, n + 10, **FOR_FEW))  # type: ignore[misc] # as before
        else:
            await twins.do_in_both(lambda world, act=act, n=n: act(world, ids, n))  # type: ignore[misc] # as before
    who = next(each for each in yield_strangers() if each.agent_type == "CanonKeeper")
    for name in ("neo4j_query_entities", "neo4j_query_facts", "neo4j_query_events"):
        await count_alike(twins, name, [{}, {"limit": 1, "offset": 1}], who)
    of_each = [{"entity_id": one, "current_only": now} for one in ids for now in (True, False)]
    await count_alike(twins, "neo4j_query_relationships", of_each, who)
    await count_alike(twins, "neo4j_get_entity", [{"entity_id": one} for one in ids], who)
    await count_alike(twins, "neo4j_explain", [{"id": one} for one in ids], who)
    assert {tool.name for tool in NARRATIVE.tools} > {"neo4j_explain"}


@settings(max_examples=25, deadline=None)
@given(STEPS)
@example([(add_foe, 1, False), (add_ally, 0, True), (add_foe, 1, False)])
def test_a_random_history_reads_without_its_secrets(steps: list[tuple[Any, int, bool]]) -> None:
    asyncio.run(live_steps(steps))
