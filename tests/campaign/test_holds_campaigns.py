"""Random plots told through the tools: every reading is that of the model of what holds."""

from random import Random

import pytest

from tests.campaign.holds_model import View
from tests.campaign.holds_play import Told
from tests.campaign.holds_plots import TABLE, play
from tests.campaign.holds_told import ATTRIBUTES, KINDS, draw_told

pytestmark = pytest.mark.anyio
FIXED = {name for name, one in TABLE.items() if one.fixed}
SEEDS = {("again", "birthplace"): 3018, ("again", "life"): 3018}
"""The seeds of plots in which tools and model once disagreed; the others have seed 0."""


@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("kind", ["dated", "timeless", "again"])
async def test_every_reading_of_a_plot_is_that_of_the_model(kind: str, attributes: str) -> None:
    await tell_plot(kind, attributes, SEEDS.get((kind, attributes), 0))


@pytest.mark.parametrize("attributes", [one for one in ATTRIBUTES if one not in FIXED])
async def test_every_reader_of_a_plot_with_secrets_reads_what_the_model_says(
    attributes: str,
) -> None:
    await tell_plot("secrets", attributes)


async def tell_plot(kind: str, attributes: str, seed: int = 0) -> None:
    """Tell a plot, and compare each reading after each step."""
    plot = draw_told(seed, attributes, KINDS[kind])
    told = Told(plot=plot, random=Random(seed), secrets=KINDS[kind].secrets)

    await told.tell()

    assert told.wrong == [], "\n".join((*told.wrong, *told.trail))
    assert told.checks > 0


async def test_a_reading_that_the_model_does_not_give_is_found() -> None:
    told = Told(plot=draw_told(1, "owner", KINDS["dated"]), random=Random(1))
    await told.tell()

    await told.compare(View(TABLE, play(tuple(told.done[:1])).log), told.desk, "")

    assert told.wrong != []
