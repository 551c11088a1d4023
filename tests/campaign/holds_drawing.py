"""Random plots that the tools can be reported, drawn from a seed.

Each plot may have divorces, several values in one scene, flashbacks, plans and dreams, corrections,
and retractions that are taken back.

Left out, because the tools do not agree with the model: a story without any time (a read at such a
scene shows every dated fact), and a value without a time beside one of a scene. Of two values that
never change, or of one scene, a public and a secret one, those who know both see both, where the
model chooses. The kinds
that `AGREED` does not name do not agree in every plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.campaign.holds_model import Identity, Retraction, Scene, Statement
from tests.campaign.holds_plots import PEOPLE, Claim, Plot, Step, draw_claim

YEARS = range(1395, 1413)
ATTRIBUTES = (
    *("place", "owner", "member", "captain", "eyes", "birthplace"),
    *("crew", "stance:Bo", "life", "lid", "spouse", "life/spouse", "life/member"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The contents of a plot besides dated claims, retractions and corrections."""

    scenes: bool = False
    timeless: bool = False
    secrets: bool = False
    again: bool = False
    merges: bool = False


KINDS = {
    "dated": Kind(),
    "scenes": Kind(scenes=True),
    "timeless": Kind(scenes=True, timeless=True),
    "secrets": Kind(scenes=True, secrets=True),
    "again": Kind(scenes=True, again=True),
    "merges": Kind(merges=True),
}
AGREED = ("dated", "scenes", "timeless", "secrets")


def draw_plot(seed: int, attributes: str, kind: Kind) -> Plot:
    """Draw claims of some attributes, each of its own year or scene, and retractions of some.

    A player's claim cites any scene played so far; other claims have a year. In timeless plots some
    scenes after the first one, and some claims outside of scenes, have no time.
    """
    random = Random(f"{seed} {attributes} {kind}")
    named = attributes.split("/")
    years = random.sample(YEARS, 3)
    played = [
        Scene(id=f"north{number}", story="north", span=(year + 0.5, year + 0.5))
        for number, year in enumerate(years if random.random() < 0.3 else sorted(years))
        if kind.scenes
    ]
    if kind.timeless:
        played[1:] = [replace(e, span=random.choice((e.span, None))) for e in played[1:]]
    steps: list[Step] = []
    for number, year in enumerate(random.sample(YEARS, random.randint(3, 7 + 3 * len(named)))):
        steps += [played[number]] if number < len(played) else []
        found = [each.statement for each in steps if isinstance(each, Claim)]
        if found and random.random() < 0.2:
            steps.append(Retraction(id=f"r{number}", target=random.choice(found).id))
            if random.random() < 0.5:
                steps.append(Retraction(id=f"u{number}", target=f"r{number}"))
        elif kind.merges and random.random() < 0.15:
            steps.append(draw_identity(random, number, steps))
        else:
            drawn = draw_claim(random, f"c{number}", (), named).statement
            steps += draw_clear(
                random, replace(drawn, span=(year + 0.25, year + 0.25)), steps, kind
            )
    return tuple(steps)


def draw_identity(random: Random, number: int, steps: Sequence[Step]) -> Identity:
    """Draw a merge of two people, or the separation of those who were merged."""
    last = next((each for each in reversed(steps) if isinstance(each, Identity)), None)
    kept, other = (last.kept, last.other) if last else random.sample(PEOPLE, 2)
    return Identity(id=f"i{number}", kept=kept, other=other, same=last is None or not last.same)


def draw_clear(random: Random, drawn: Statement, steps: Sequence[Step], kind: Kind) -> list[Claim]:
    """Draw the form of a statement; nothing if the model and the tools do not read it alike."""
    found = [each.statement for each in steps if isinstance(each, Claim)]
    known = [each.id for each in steps if isinstance(each, Scene)]
    scene = random.choice(known) if known and random.random() < 0.6 else ""
    sides = {drawn.subject, drawn.value}
    same = [e for e in found if e.attribute == drawn.attribute and {e.subject, e.value} == sides]
    if (same and not kind.again) or (drawn.subject in PEOPLE and drawn.value[0] == "@"):
        return []
    in_scenes = [one for one in found if one.scene and sides & {one.subject, one.value}]
    if any(one.scene == scene and one.audience != drawn.audience for one in in_scenes if scene):
        return []
    untimed = kind.timeless and not in_scenes and random.random() < 0.3
    plain = replace(
        drawn,
        span=None if scene or untimed else drawn.span,
        scene=scene,
        until=None,
        change=False,
        audience=drawn.audience if kind.secrets else None,
        authority=1 if scene else drawn.authority,
        modality=drawn.modality if drawn.positive else "asserted",
        author="player" if scene else "teller",
    )
    like = (drawn.attribute, plain.modality, plain.audience)
    own = [each for each in found if (each.attribute, each.modality, each.audience) == like]
    own = own if plain.modality == "asserted" else []
    wrong = random.choice(own).id if own and random.random() < 0.2 else ""
    return [Claim(statement=plain, replaces=wrong)]
