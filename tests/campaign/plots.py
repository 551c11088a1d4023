"""Campaigns that were never played, made up from a seed."""

from dataclasses import dataclass, replace
from random import Random

from tests.campaign.model import GROUPS, Line

HEROES = ("Ann", "Bo", "Cid")
PLACES = ("Inn", "Mill", "Keep")
THINGS = ("Crown", "Sword")
FEELINGS = ("ALLY_OF", "ENEMY_OF")


@dataclass(frozen=True, kw_only=True)
class Said:
    """Something that is proposed in a scene, or written by the keeper."""

    line: Line
    value: str
    authority: str
    holds: bool = True
    day: int | None = None


@dataclass(frozen=True, kw_only=True)
class PlannedScene:
    """A scene; its number is its place in the story."""

    number: int
    day: int | None
    said: tuple[Said, ...]


@dataclass(frozen=True, kw_only=True)
class Plot:
    """The scenes in the order of the story, and the steps: a scene is canonized, or a word said."""

    seed: int
    scenes: tuple[PlannedScene, ...]
    steps: tuple[int | Said, ...]


def a_plot(
    seed: int, *, scenes: int, authorities: tuple[str, ...] = ("gm", "player", "system")
) -> Plot:
    """A campaign of so many scenes, told by these."""
    lots = Random(seed)
    dated = lots.choice((0.0, 0.3, 0.6, 1.0))
    own_days = lots.choice((0.0, 0.2))
    planned = []
    for number in range(1, scenes + 1):
        flashback = lots.random() < 0.15
        day = lots.randrange(10) if flashback else number * 10
        said = tuple(_said(lots, authorities, own_days, number) for _ in range(lots.randint(1, 4)))
        known = flashback or lots.random() < dated
        planned.append(PlannedScene(number=number, day=day if known else None, said=said))
    steps: list[int | Said] = [each.number for each in planned]
    lots.shuffle(steps)
    if len(authorities) > 1:
        for _ in range(lots.randint(0, scenes // 3)):
            word = _said(lots, ("gm",), 0.0, 0, events=False)
            steps.insert(lots.randint(0, len(steps)), word)
    return Plot(seed=seed, scenes=tuple(planned), steps=tuple(steps))


def reordered(plot: Plot, turn: int) -> Plot:
    """The same scenes, canonized in another order; the days of its contents are all different.

    Two that are told of the very same day contradict each other, and then who is first counts.
    """
    lots = Random(plot.seed * 1_000 + turn)
    steps = list(plot.steps)
    lots.shuffle(steps)
    days = iter(range(1_000))
    scenes = tuple(
        replace(
            scene,
            said=tuple(
                replace(said, day=None if said.day is None else said.day * 50 + next(days))
                for said in scene.said
            ),
            day=None if scene.day is None else scene.day * 50,
        )
        for scene in plot.scenes
    )
    return replace(plot, scenes=scenes, steps=tuple(steps))


def _said(
    lots: Random, authorities: tuple[str, ...], own_days: float, number: int, *, events: bool = True
) -> Said:
    authority = lots.choice(authorities)
    day = lots.randrange(10, 200) if lots.random() < own_days else None
    kinds = ("state", "state", "state", "place", "owner", "feeling", *("event",) * events)
    hero = lots.choice(HEROES)
    match lots.choice(kinds):
        case "state":
            tags = [tag for group in GROUPS for tag in group] + ["cursed"]
            tag = lots.choice(tags)
            holds = lots.random() < (0.5 if tag == "cursed" else 0.9)
            return Said(line=("state", hero), value=tag, authority=authority, holds=holds, day=day)
        case "place":
            value = lots.choice(PLACES)
            return Said(line=("place", hero), value=value, authority=authority, day=day)
        case "owner":
            line = ("owner", lots.choice(THINGS))
            return Said(line=line, value=hero, authority=authority, day=day)
        case "feeling":
            one, other = sorted(lots.sample(HEROES, 2))
            value = lots.choice(FEELINGS)
            return Said(line=("feeling", one, other), value=value, authority=authority, day=day)
        case _:
            how = "acts" if len(authorities) > 1 and lots.random() < 0.5 else "is there"
            title = f"{hero} {how} in {number}"
            return Said(line=("event", hero, how), value=title, authority=authority, day=day)
