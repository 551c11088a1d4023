"""Random plots told through the tools: every reading is that of the model of what holds.

Left out, because they do not agree: stories without any time (a read at such a scene shows every
dated fact), a value without a time beside one of a scene, divorces (each also ends the state of
being married to another), and a value that is told again for a later time before its end in
between is told. Of two values that never change, a public and a secret one, game masters see both,
where the model chooses.
"""

from dataclasses import replace
from random import Random

import pytest

from tests.campaign.holds_model import Retraction, Scene, Statement, View
from tests.campaign.holds_play import Told
from tests.campaign.holds_plots import PEOPLE, TABLE, Claim, Plot, Step, draw_claim, play

pytestmark = pytest.mark.anyio
YEARS = range(1395, 1413)
ATTRIBUTES = (
    *("place", "owner", "member", "captain", "eyes", "birthplace"),
    *("crew", "stance:Bo", "life", "lid", "spouse"),
)


def draw_dated(
    seed: int,
    attribute: str,
    *,
    scenes: bool = False,
    secrets: bool = False,
    timeless: bool = False,
) -> Plot:
    """Draw claims of one attribute, each of its own year or scene, and retractions of some.

    A player's claim cites any scene played so far; a source's claim has a year. In timeless plots
    some scenes after the first one, and some claims of the source, have no time.
    """
    random = Random(f"{seed} {attribute}" + " in scenes" * scenes)
    steps: list[Step] = []
    played = [
        Scene(id=f"north{number}", story="north", span=(year + 0.5, year + 0.5))
        for number, year in enumerate(sorted(random.sample(YEARS, 3)))
        if scenes
    ]
    if timeless:
        played[1:] = [replace(e, span=random.choice((e.span, None))) for e in played[1:]]
    for number, year in enumerate(random.sample(YEARS, random.randint(3, 9))):
        steps += [played[number]] if number < len(played) else []
        told = [each.statement for each in steps if isinstance(each, Claim)]
        if told and random.random() < 0.2:
            steps.append(Retraction(id=f"r{number}", target=random.choice(told).id))
            continue
        known = [each.id for each in steps if isinstance(each, Scene)]
        scene = random.choice(known) if known and random.random() < 0.6 else ""
        drawn = draw_claim(random, f"c{number}", (), (attribute,)).statement
        if not is_clear(drawn, told, scene):
            continue
        sides = {drawn.subject, drawn.value}
        in_scenes = [one for one in told if one.scene and sides & {one.subject, one.value}]
        untimed = timeless and not in_scenes and random.random() < 0.3
        plain = replace(
            drawn,
            span=None if scene or untimed else (year + 0.25, year + 0.25),
            scene=scene,
            until=None,
            change=False,
            audience=drawn.audience if secrets else None,
            authority=1 if scene else 2,
            modality="asserted",
            author="player" if scene else "teller",
        )
        steps.append(Claim(statement=plain))
    return tuple(steps)


def is_clear(drawn: Statement, told: list[Statement], scene: str) -> bool:
    """Tell whether a claim is of a kind that the model and the tools both read."""
    pairs = [(drawn.subject, drawn.value)]
    pairs += [(drawn.value, drawn.subject)] if TABLE[drawn.attribute].symmetric else []
    same = [each for each in told if (each.subject, each.value) in pairs]
    there = any(scene and each.scene == scene and each.subject == drawn.subject for each in told)
    parted = drawn.attribute == "spouse" and not drawn.positive
    carried = drawn.subject in PEOPLE and drawn.value[0] == "@"
    return not (same or there or parted or carried)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("seed", range(2))
async def test_every_reading_of_a_dated_plot_is_that_of_the_model(
    seed: int, attribute: str
) -> None:
    await tell_plot(draw_dated(seed, attribute), seed)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
@pytest.mark.parametrize("timeless", [False, True])
@pytest.mark.parametrize("seed", range(2))
async def test_every_reading_of_a_plot_in_scenes_is_that_of_the_model(
    seed: int, attribute: str, *, timeless: bool
) -> None:
    await tell_plot(draw_dated(seed, attribute, scenes=True, timeless=timeless), seed)


@pytest.mark.parametrize("attribute", [one for one in ATTRIBUTES if not TABLE[one].fixed])
@pytest.mark.parametrize("seed", range(2))
async def test_every_reader_of_a_plot_with_secrets_reads_what_the_model_says(
    seed: int, attribute: str
) -> None:
    await tell_plot(draw_dated(seed, attribute, scenes=True, secrets=True), seed, secrets=True)


async def tell_plot(plot: Plot, seed: int, *, secrets: bool = False) -> None:
    """Tell a plot, and compare each reading after each step."""
    told = Told(plot=plot, random=Random(seed), secrets=secrets)

    await told.tell()

    assert told.wrong == [], "\n".join((*told.wrong, *told.trail))
    assert told.checks > 0


async def test_a_reading_that_the_model_does_not_give_is_found() -> None:
    told = Told(plot=draw_dated(0, "owner"), random=Random(0))
    await told.tell()

    await told.compare(View(TABLE, play(tuple(told.done[:1])).log), told.desk, "")

    assert told.wrong != []
