"""Random plots told through the tools: every reading is that of the model of what holds.

Left out, because they do not agree yet: states (a denial that was told earlier does not end a state
that is told later for an earlier time), marriages (a divorce from one ends the state of being
married to another), and statements that are told twice (the second telling keeps no time).
"""

from dataclasses import replace
from random import Random

import pytest

from tests.campaign.holds_model import Retraction, View
from tests.campaign.holds_play import Told
from tests.campaign.holds_plots import PEOPLE, TABLE, Claim, Plot, Step, draw_claim, play

pytestmark = pytest.mark.anyio
YEARS = range(1395, 1413)
ATTRIBUTES = ("place", "owner", "member", "captain", "eyes", "birthplace", "crew", "stance:Bo")


def draw_dated(seed: int, attribute: str) -> Plot:
    """Draw claims of one attribute, each of a year of its own, and retractions of some."""
    random = Random(f"{seed} {attribute}")
    steps: list[Step] = []
    for number, year in enumerate(random.sample(YEARS, random.randint(3, 9))):
        told = [each.statement for each in steps if isinstance(each, Claim)]
        if told and random.random() < 0.2:
            steps.append(Retraction(id=f"r{number}", target=random.choice(told).id))
            continue
        drawn = draw_claim(random, f"c{number}", (), (attribute,)).statement
        known = any((each.subject, each.value) == (drawn.subject, drawn.value) for each in told)
        if known or (drawn.subject in PEOPLE and drawn.value.startswith("@")):
            continue
        span = (year + 0.25, year + 0.25)
        plain = replace(drawn, span=span, until=None, change=False, audience=None, authority=1)
        steps.append(Claim(statement=replace(plain, modality="asserted", author="teller")))
    return tuple(steps)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("seed", range(8))
async def test_every_reading_of_a_dated_plot_is_that_of_the_model(
    seed: int, attribute: str
) -> None:
    told = Told(plot=draw_dated(seed, attribute), random=Random(seed))

    await told.tell()

    assert told.wrong == [], "\n".join(told.trail)
    assert told.checks > 0


async def test_a_reading_that_the_model_does_not_give_is_found() -> None:
    told = Told(plot=draw_dated(0, "owner"), random=Random(0))
    await told.tell()

    await told.compare(View(TABLE, play(tuple(told.done[:1])).log), told.desk, "")

    assert told.wrong != []
