"""Random plots told through the tools: every reading is that of the model of what holds."""

from random import Random

import pytest

from tests.campaign.holds_drawing import ATTRIBUTES, KINDS, draw_plot
from tests.campaign.holds_model import View
from tests.campaign.holds_play import PlotRun
from tests.campaign.holds_plots import TABLE, play_plot

pytestmark = pytest.mark.anyio
FIXED = {name for name, one in TABLE.items() if one.fixed}
SEEDS = {("again", "birthplace"): 3018, ("again", "life"): 3018}
"""The seeds of plots in which tools and model once disagreed; the others have seed 0."""


@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("kind", ["dated", "timeless", "again"])
async def test_every_reading_of_a_plot_matches_the_model(kind: str, attributes: str) -> None:
    await run_plot(kind, attributes, SEEDS.get((kind, attributes), 0))


@pytest.mark.parametrize("attributes", [one for one in ATTRIBUTES if one not in FIXED])
async def test_every_reader_of_a_plot_with_secrets_reads_what_the_model_says(
    attributes: str,
) -> None:
    await run_plot("secrets", attributes)


async def run_plot(kind: str, attributes: str, seed: int = 0) -> None:
    """Tell a plot; compare readings at some times after each step, and all after the last."""
    plot = draw_plot(seed, attributes, KINDS[kind])
    result = PlotRun(plot=plot, random=Random(seed), secrets=KINDS[kind].secrets, times=5)

    await result.run_steps()

    assert result.wrong == [], "\n".join((*result.wrong, *result.trail))
    assert result.checks > 0


async def test_a_reading_that_differs_from_the_model_is_found() -> None:
    result = PlotRun(plot=draw_plot(1, "owner", KINDS["dated"]), random=Random(1))
    await result.run_steps()

    await result.compare_reads(
        View(TABLE, play_plot(tuple(result.done[:1])).log), result.driver, ""
    )

    assert result.wrong != []
