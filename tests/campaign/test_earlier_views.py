"""Campaigns made up from seeds: what was read once is read again as it was known then."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from canonry.app.embedded import open_embedded
from canonry.assistant import CANON
from canonry.gateway.call import Gateway
from canonry.narrative.toolset import NARRATIVE
from canonry.testing.clocks import HandClock
from canonry.values.moments import SECOND, Instant, render_instant
from tests.campaign.play import Table
from tests.campaign.plots import HEROES, PLACES, Plot, a_plot, with_merges, with_secrets
from tests.toolsets.canon.kit import ToolDriver, make_driver
from tests.toolsets.narrative.kit import World

pytestmark = pytest.mark.anyio

READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("find", {"kinds": ["entity"], "limit": 50}),
    ("timeline", {"limit": 50}),
    *(
        (tool, {**named, **more})
        for hero in (*HEROES[:2], "Stranger", PLACES[0])
        for tool, named, more in (
            ("get", {"of": hero}, {"full": True}),
            ("find", {"about": hero}, {"limit": 50, "full": True}),
            ("context", {"of": hero}, {"tokens": 4_000}),
        )
    ),
)


async def read_all(driver: ToolDriver, **view: str) -> list[Any]:
    """The replies of all reads, or their errors."""
    return [(await driver.outcome(tool, {**asked, **view})).body for tool, asked in READS]


async def standing_ends(driver: ToolDriver, **view: str) -> list[tuple[str, str]]:
    """Return each person with a place, and each item with an owner, as relations say it."""
    found = (await driver.call("find", kinds=["relation"], limit=50, **view))["found"]
    placed = [row["says"].partition(" located in ")[::2] for row in found]
    owned = [row["says"].partition(" owns ")[::2] for row in found]
    return [
        *((who, "place") for who, where in placed if where),
        *((what, "owner") for _who, what in owned if what and what != "Coins"),
    ]


async def replay_reads(world: World, driver: ToolDriver, plot: Plot) -> int:
    """Play a campaign, read after each step, and read the same once more at its end."""
    table = Table(world=world, plot=plot)
    await table.open_scene()
    then: dict[Instant, list[Any]] = {}
    for step in plot.steps:
        await table.play_step(step)
        world.clock.move_by(SECOND)  # commits of one instant are recorded just after each other
        then[world.clock.now()] = await read_all(driver)
        world.clock.move_by(SECOND)
    for known, replies in then.items():
        again = await read_all(driver, as_known_at=render_instant(known))
        for (tool, asked), said, reply in zip(READS, again, replies, strict=True):
            assert said == reply, (plot.seed, tool, asked, render_instant(known))
    return len(then)


@pytest.mark.parametrize("seed", range(700, 704))
@pytest.mark.parametrize("secrets", [False, True])
async def test_an_earlier_read_is_repeated_at_the_known_time(seed: int, secrets: bool) -> None:
    driver = make_driver()
    world = World(canon=driver.canon, gateway=driver.gateway, clock=driver.clock)
    await world.begin("Middle-earth")
    plot = a_plot(seed, scenes=4)

    assert await replay_reads(world, driver, with_secrets(plot) if secrets else plot) > 4


@pytest.mark.parametrize("seed", [500, 503, 507])
async def test_earlier_reads_repeat_after_merges(seed: int) -> None:
    driver = make_driver()
    world = World(canon=driver.canon, gateway=driver.gateway, clock=driver.clock)
    await world.begin("Middle-earth")

    assert await replay_reads(world, driver, with_merges(a_plot(seed, scenes=5))) > 4


@pytest.mark.parametrize(("seed", "scenes"), [(20015, 6), (20047, 5)])
async def test_earlier_reads_repeat_after_later_secrets_of_others(seed: int, scenes: int) -> None:
    driver = make_driver()
    world = World(canon=driver.canon, gateway=driver.gateway, clock=driver.clock)
    await world.begin("Middle-earth")

    assert (
        await replay_reads(world, driver, with_merges(with_secrets(a_plot(seed, scenes=scenes))))
        > 4
    )


async def test_the_embedded_store_repeats_earlier_reads_too(tmp_path: Path) -> None:
    clock = HandClock()
    store = await open_embedded(tmp_path, clock=clock)
    try:
        gateway = Gateway(store.canon, (CANON, NARRATIVE))
        world = World(canon=store.canon, gateway=gateway, clock=clock)
        await world.begin("Middle-earth")
        driver = ToolDriver(store.canon, gateway, clock)
        plot = with_merges(with_secrets(a_plot(503, scenes=4)))

        assert await replay_reads(world, driver, plot) > 4
    finally:
        await store.close()


@pytest.mark.parametrize("seed", [30001, 30002, 30014, 30019])
async def test_no_entity_has_two_places_at_any_scene_or_day(seed: int) -> None:
    driver = make_driver()
    world = World(canon=driver.canon, gateway=driver.gateway, clock=driver.clock)
    await world.begin("Middle-earth")
    plot = with_secrets(a_plot(seed, scenes=6))
    table = Table(world=world, plot=with_merges(plot) if seed % 2 else plot)
    await table.open_scene()
    for step in table.plot.steps:
        await table.play_step(step)
    asked = await world.call("mongodb_query_scenes", universe_id=world.universe_id, limit=50)

    views = [each["scene_id"] for each in asked["scenes"]]
    views += [f"1400-{month:02}-15" for month in range(1, 13)]
    held = [await standing_ends(driver, at=view) for view in views]

    assert any(held)
    assert [bound for each in held for bound, times in Counter(each).items() if times > 1] == []
