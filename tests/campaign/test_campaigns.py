"""Campaigns made up from seeds: after every step the tools say what a simple model says."""

from dataclasses import replace
from pathlib import Path

import pytest

from canonry.app.embedded import open_embedded
from canonry.gateway.call import Gateway
from canonry.narrative.toolset import NARRATIVE
from canonry.testing.clocks import HandClock
from tests.campaign.ends import play_campaign, play_plainly
from tests.campaign.model import EVERYBODY
from tests.campaign.play import DisagreementError, Table
from tests.campaign.plots import (
    DOUBLES,
    Merging,
    a_plot,
    for_few,
    reorder_scenes,
    with_merges,
    with_secrets,
)
from tests.toolsets.narrative.kit import World, a_world

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("seed", range(24))
async def test_tools_and_model_agree_after_every_step(seed: int) -> None:
    table = Table(world=await a_world(), plot=a_plot(seed, scenes=6 + seed % 4))

    await table.play_plot()

    assert table.checks > len(table.plot.steps)


@pytest.mark.parametrize("seed", range(300, 312))
async def test_each_viewer_sees_what_the_model_allows_after_every_step(seed: int) -> None:
    table = Table(world=await a_world(), plot=with_secrets(a_plot(seed, scenes=4)))

    await table.play_plot()

    assert any(reported.audience != EVERYBODY for reported in table.proposed.values())


@pytest.mark.parametrize(
    ("seed", "scenes"),
    [
        *((5115, 5), (5115, 6), (5134, 5), (5155, 5), (5155, 7), (5160, 5), (7088, 7)),
        *((10009, 8), (10150, 8), (10248, 8), (10311, 8), (11293, 8), (12189, 8)),
    ],
)
async def test_seeds_with_earlier_secret_timeline_defects_agree(seed: int, scenes: int) -> None:
    table = Table(world=await a_world(), plot=with_secrets(a_plot(seed, scenes=scenes)))

    await table.play_plot()

    assert any(reported.audience != EVERYBODY for reported in table.proposed.values())


@pytest.mark.parametrize("seed", range(500, 510))
async def test_tools_and_model_agree_where_entities_turn_out_to_be_others(seed: int) -> None:
    table = Table(world=await a_world(), plot=with_merges(a_plot(seed, scenes=6)))

    await table.play_plot()

    assert any(line.startswith("Merging") for line in table.trail)


@pytest.mark.parametrize(
    ("seed", "scenes", "secrets"),
    [
        *((387, 6, False), (400, 6, False), (455, 6, False), (1364, 8, False), (1399, 8, False)),
        *((387, 6, True), (566, 6, True), (2117, 7, True), (14107, 7, True), (14191, 7, True)),
        *((14214, 7, True),),
        *((seed, 5, True) for seed in range(510, 514)),
    ],
)
async def test_seeds_with_earlier_merge_defects_agree(
    seed: int, scenes: int, secrets: bool
) -> None:
    plot = a_plot(seed, scenes=scenes)
    plot = with_merges(with_secrets(plot) if secrets else plot)
    table = Table(world=await a_world(), plot=plot)

    await table.play_plot()

    assert table.checks > len(plot.steps)


async def test_a_model_without_identities_disagrees() -> None:
    table = Table(world=await a_world(), plot=with_merges(a_plot(503, scenes=6)))

    with pytest.raises(DisagreementError, match="seed 503"):
        await table.play_plot(after=table.truth.merged.clear)


async def test_a_model_without_secrets_disagrees() -> None:
    table = Table(world=await a_world(), plot=with_secrets(a_plot(300, scenes=4)))

    def blab() -> None:
        table.truth.audiences = dict.fromkeys(range(table.number + 20), EVERYBODY)

    with pytest.raises(DisagreementError, match="seed 300: to Bo"):
        await table.play_plot(after=blab)


@pytest.mark.parametrize(("seed", "scenes"), [(50150, 9), (60252, 5)])
async def test_seeds_with_earlier_correction_defects_agree(seed: int, scenes: int) -> None:
    table = Table(world=await a_world(), plot=a_plot(seed, scenes=scenes))

    await table.play_plot()

    assert any(line.startswith("never was") for line in table.trail)


@pytest.mark.parametrize(
    ("seed", "secrets", "merges"),
    [*((n, False, n > 103) for n in range(100, 106)), (400, True, False), (387, True, True)],
)
async def test_the_embedded_store_agrees_too(
    seed: int, secrets: bool, merges: bool, tmp_path: Path
) -> None:
    clock = HandClock()
    plot = a_plot(seed, scenes=4 if secrets and not merges else 6)
    plot = with_secrets(plot) if secrets else plot
    plot = with_merges(plot) if merges else plot
    store = await open_embedded(tmp_path, clock=clock)
    try:
        gateway = Gateway(store.canon, (NARRATIVE,))
        world = World(canon=store.canon, gateway=gateway, clock=clock)
        await world.begin("Middle-earth")
        await Table(world=world, plot=plot).play_plot()
    finally:
        await store.close()


@pytest.mark.parametrize("authority", ["gm", "player"])
@pytest.mark.parametrize("seed", range(200, 204))
async def test_the_order_of_canonizing_never_changes_the_result(seed: int, authority: str) -> None:
    plot = a_plot(seed, scenes=7, authorities=(authority,))
    results = []
    for turn in range(4):
        table = Table(world=await a_world(), plot=reorder_scenes(plot, turn))
        await table.play_plot()
        results.append(await play_campaign(table))

    assert results[1:] == results[:-1]


@pytest.mark.parametrize("secrets", [False, True])
@pytest.mark.parametrize("seed", range(210, 218))
async def test_the_order_of_canonizing_does_not_matter_with_secrets_and_merges(
    seed: int, secrets: bool
) -> None:
    plot = a_plot(seed, scenes=6, authorities=("gm",))
    plot = for_few(plot) if secrets else plot
    scenes = with_merges(plot).scenes
    steps = (*plot.steps, *(Merging(kept=one) for one in DOUBLES))
    plot = replace(plot, scenes=scenes, steps=steps)
    results = [
        await play_plainly(Table(world=await a_world(), plot=reorder_scenes(plot, n)))
        for n in range(4)
    ]

    assert results[1:] == results[:-1]


async def test_a_model_with_another_truth_disagrees() -> None:
    table = Table(world=await a_world(), plot=a_plot(1, scenes=6))

    def forget() -> None:
        table.truth.said = {line: said[:-1] for line, said in table.truth.said.items()}

    with pytest.raises(DisagreementError, match="seed 1"):
        await table.play_plot(after=forget)
