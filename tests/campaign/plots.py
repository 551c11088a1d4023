"""Campaigns that were never played, made up from a seed."""

from dataclasses import dataclass, replace
from random import Random
from typing import TypeAlias

from tests.campaign.model import EVERYBODY, GROUPS, MASTERS, Line

HEROES = ("Ann", "Bo", "Cid")
PLACES = ("Inn", "Mill", "Keep")
ITEMS = ("Crown", "Sword")
FEELINGS = ("ALLY_OF", "ENEMY_OF")
FACTS = ("fears the sea", "keeps three cats", "plays the lute")
INSTEAD = (
    *("sings at dawn", "sleeps in boots", "hates thunder", "collects shells", "whistles badly"),
    *("dreams of whales", "carves spoons", "grows thyme", "rides mules", "bakes bread"),
)
DOUBLES = {"Ann": "Stranger", "Crown": "Relic", "Inn": "Tavern"}
"""The characters and things that go by another name, as it may turn out."""
READERS = (MASTERS, "Bo", "Cid")
"""The readers of secrets: the masters alone, the player of Bo, or Cid."""


@dataclass(frozen=True, kw_only=True)
class PlannedStatement:
    """Something that is proposed in a scene, or written by the keeper."""

    line: Line
    value: str
    authority: str
    holds: bool = True
    day: int | None = None
    audience: str = EVERYBODY
    instead: float | None = None
    """It takes the place of another fact of the same; this picks which."""


@dataclass(frozen=True, kw_only=True)
class Gift:
    """So many coins go from one to another."""

    giver: str
    taker: str
    amount: int


@dataclass(frozen=True, kw_only=True)
class Correction:
    """The keeper says that something of the canon never was; `pick` of what there is."""

    pick: float


@dataclass(frozen=True, kw_only=True)
class Reveal:
    """The keeper tells everybody a secret; `pick` of those that there are."""

    pick: float


@dataclass(frozen=True, kw_only=True)
class Hiding:
    """The keeper lets only some know of something from now on; `pick` of what there is."""

    pick: float
    audience: str


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The keeper says that a relation holds no longer; `pick` of those that do."""

    pick: float


@dataclass(frozen=True, kw_only=True)
class Merging:
    """It turns out that one is another; or that they are two after all."""

    kept: str
    back: bool = False


@dataclass(frozen=True, kw_only=True)
class PlannedScene:
    """A scene; its number is its place in its story, of which there are two."""

    number: int
    story: int = 0
    day: int | None
    said: tuple[PlannedStatement, ...]


@dataclass(frozen=True, kw_only=True)
class Plot:
    """The scenes in the order of the story, and the steps: a scene is canonized, or a word said."""

    seed: int
    scenes: tuple[PlannedScene, ...]
    steps: tuple["Step", ...]
    secrets: bool = False
    merges: bool = False


Step: TypeAlias = int | PlannedStatement | Gift | Correction | Reveal | Hiding | Ending | Merging


def a_plot(
    seed: int, *, scenes: int, authorities: tuple[str, ...] = ("gm", "player", "system")
) -> Plot:
    """A campaign of so many scenes, told by these."""
    lots = Random(seed)
    dated = lots.choice((0.0, 0.3, 0.6, 1.0))
    own_days = lots.choice((0.0, 0.2))
    stories = lots.random() < 0.4
    planned = []
    for number in range(1, scenes + 1):
        flashback = lots.random() < 0.15
        day = lots.randrange(10) if flashback else number * 10
        said = tuple(
            _draw_statement(lots, authorities, own_days, number) for _ in range(lots.randint(1, 4))
        )
        known = flashback or lots.random() < dated
        story = int(number > 1 and stories and lots.random() < 0.5)
        when = day if known else None
        planned.append(PlannedScene(number=number, story=story, day=when, said=said))
    steps: list[Step] = [each.number for each in planned]
    lots.shuffle(steps)
    if len(authorities) > 1:
        for _ in range(lots.randint(0, scenes // 3)):
            word = _draw_statement(lots, ("gm",), 0.0, 0, events=False)
            steps.insert(lots.randint(0, len(steps)), word)
        for _ in range(lots.randint(0, scenes // 2)):
            giver, taker = lots.sample(HEROES, 2)
            gift = Gift(giver=giver, taker=taker, amount=lots.randint(1, 9))
            steps.insert(lots.randint(0, len(steps)), gift)
        for _ in range(lots.randint(0, scenes // 3)):
            steps.insert(lots.randint(1, len(steps)), Correction(pick=lots.random()))
    return Plot(seed=seed, scenes=tuple(planned), steps=tuple(steps))


def with_secrets(plot: Plot, share: float = 0.35) -> Plot:
    """The same campaign, where much is for few, facts are stated, and secrets come out."""
    lots = Random(f"secrets of {plot.seed}")
    anew = iter(INSTEAD)

    def audience() -> str:
        return lots.choice(READERS) if lots.random() < share else EVERYBODY

    def add_secrets(scene: PlannedScene) -> PlannedScene:
        facts = [
            PlannedStatement(
                line=("fact", hero), value=f"{hero} {lots.choice(FACTS)}", authority="gm"
            )
            for hero in lots.sample(HEROES, lots.randint(0, 2))
        ]
        if lots.random() < share and (words := next(anew, None)) is not None:
            hero = lots.choice(HEROES)
            word = PlannedStatement(line=("fact", hero), value=f"{hero} {words}", authority="gm")
            facts.append(replace(word, instead=lots.random()))
        said = tuple(replace(each, audience=audience()) for each in (*scene.said, *facts))
        return replace(scene, said=said)

    steps = [
        replace(step, audience=audience()) if isinstance(step, PlannedStatement) else step
        for step in plot.steps
    ]
    for _ in range(lots.randint(0, len(plot.scenes) // 2)):
        steps.insert(lots.randint(1, len(steps)), Reveal(pick=lots.random()))
    for _ in range(lots.randint(0, len(plot.scenes) // 3)):
        few = lots.choice(READERS)
        steps.insert(lots.randint(1, len(steps)), Hiding(pick=lots.random(), audience=few))
    for _ in range(lots.randint(0, len(plot.scenes) // 3)):
        steps.insert(lots.randint(1, len(steps)), Ending(pick=lots.random()))
    scenes = tuple(add_secrets(scene) for scene in plot.scenes)
    return replace(plot, scenes=scenes, steps=tuple(steps), secrets=True)


def for_few(plot: Plot, share: float = 0.35) -> Plot:
    """The same scenes, of which some of what is said is for few."""
    lots = Random(f"few of {plot.seed}")

    def limit_audience(said: PlannedStatement) -> PlannedStatement:
        few = lots.choice(READERS) if lots.random() < share else EVERYBODY
        return replace(said, audience=few)

    scenes = tuple(replace(one, said=tuple(map(limit_audience, one.said))) for one in plot.scenes)
    return replace(plot, scenes=scenes, secrets=True)


def with_merges(plot: Plot, share: float = 0.4) -> Plot:
    """The same campaign, where much is told of doubles, who turn out to be who they are."""
    lots = Random(f"merges of {plot.seed}")

    def called(name: str) -> str:
        return DOUBLES[name] if name in DOUBLES and lots.random() < share else name

    def of_doubles(said: PlannedStatement) -> PlannedStatement:
        line = (said.line[0], *map(called, said.line[1:]))
        if said.line[0] in ("fact", "event"):
            _name, rest = said.value.split(" ", 1)
            return replace(said, line=line, value=f"{line[1]} {rest}")
        return replace(said, line=line, value=called(said.value))

    scenes = tuple(replace(one, said=tuple(map(of_doubles, one.said))) for one in plot.scenes)
    steps = [
        of_doubles(step) if isinstance(step, PlannedStatement) else step for step in plot.steps
    ]
    for kept in DOUBLES:
        at = -1
        for turn in range(lots.choice((0, 1, 1, 2, 3))):
            at = lots.randint(at + 1, len(steps))
            steps.insert(at, Merging(kept=kept, back=turn % 2 == 1))
    return replace(plot, scenes=scenes, steps=tuple(steps), merges=True)


def reorder_scenes(plot: Plot, turn: int) -> Plot:
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


def _draw_statement(
    lots: Random, authorities: tuple[str, ...], own_days: float, number: int, *, events: bool = True
) -> PlannedStatement:
    authority = lots.choice(authorities)
    day = lots.randrange(10, 200) if lots.random() < own_days else None
    kinds = ("state", "state", "state", "place", "owner", "feeling", *("event",) * events)
    hero = lots.choice(HEROES)
    match lots.choice(kinds):
        case "state":
            tags = [tag for group in GROUPS for tag in group] + ["cursed"]
            tag = lots.choice(tags)
            holds = lots.random() < (0.5 if tag == "cursed" else 0.9)
            return PlannedStatement(
                line=("state", hero), value=tag, authority=authority, holds=holds, day=day
            )
        case "place":
            value = lots.choice(PLACES)
            return PlannedStatement(line=("place", hero), value=value, authority=authority, day=day)
        case "owner":
            line = ("owner", lots.choice(ITEMS))
            return PlannedStatement(line=line, value=hero, authority=authority, day=day)
        case "feeling":
            one, other = sorted(lots.sample(HEROES, 2))
            value = lots.choice(FEELINGS)
            return PlannedStatement(
                line=("feeling", one, other), value=value, authority=authority, day=day
            )
        case _:
            how = "acts" if len(authorities) > 1 and lots.random() < 0.5 else "is there"
            title = f"{hero} {how} in {number}"
            return PlannedStatement(
                line=("event", hero, how), value=title, authority=authority, day=day
            )
