"""Campaigns made up from seeds: after every step the tools say what a simple model says."""

from pathlib import Path

import pytest

from canonry.bootstrap.embedded import open_embedded
from canonry.gateway.call import Gateway
from canonry.testing.worlds import HandClock
from canonry.toolsets.narrative import NARRATIVE
from tests.campaign.play import DisagreementError, Table
from tests.campaign.plots import a_plot, reordered
from tests.toolsets.narrative.kit import World, a_world

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("seed", range(24))
async def test_after_every_step_the_tools_say_what_the_model_says(seed: int) -> None:
    table = Table(world=await a_world(), plot=a_plot(seed, scenes=6 + seed % 4))

    await table.play()

    assert table.checks > len(table.plot.steps)


@pytest.mark.parametrize("seed", range(100, 106))
async def test_the_embedded_store_says_so_too(seed: int, tmp_path: Path) -> None:
    clock = HandClock()
    store = await open_embedded(tmp_path, clock=clock)
    try:
        gateway = Gateway(store.canon, (NARRATIVE,))
        world = World(canon=store.canon, gateway=gateway, clock=clock)
        await world.begin("Middle-earth")
        await Table(world=world, plot=a_plot(seed, scenes=6)).play()
    finally:
        await store.close()


@pytest.mark.parametrize("authority", ["gm", "player"])
@pytest.mark.parametrize("seed", range(200, 204))
async def test_d1_the_order_of_canonizing_never_changes_the_result(
    seed: int, authority: str
) -> None:
    plot = a_plot(seed, scenes=7, authorities=(authority,))
    results = []
    for turn in range(4):
        table = Table(world=await a_world(), plot=reordered(plot, turn))
        await table.play()
        results.append(await table.result())

    assert results[1:] == results[:-1]


async def test_a_model_of_another_truth_disagrees() -> None:
    table = Table(world=await a_world(), plot=a_plot(1, scenes=6))

    def forget() -> None:
        table.truth.said = {line: said[:-1] for line, said in table.truth.said.items()}

    with pytest.raises(DisagreementError, match="seed 1"):
        await table.play(after=forget)
