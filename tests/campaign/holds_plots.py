"""Random campaigns for the model of what holds: plain operations, drawn from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.campaign.holds_model import (
    KEEPER,
    Answer,
    Attribute,
    Identity,
    Log,
    Retraction,
    Scene,
    Statement,
    View,
)
from tests.campaign.holds_verdicts import Outcome, erase_statement, judge_claim

PEOPLE = ("Ana", "Bo", "Cy", "Di")
PLACES = ("Aville", "Btown", "Cford", "Dock")
ITEMS = ("Ring", "Box", "Key")
SHIPS = ("Petrel", "Gull")
GUILDS = ("Guild", "Watch")
READERS = ("anne", "sally", "cole")
AUDIENCES = (frozenset({"anne"}), frozenset({"anne", "sally"}), frozenset({"cole", "sally"}))
TABLE = {
    "place": Attribute(places=True),
    "life": Attribute(),
    "spouse": Attribute(symmetric=True, living=True),
    "owner": Attribute(),
    "member": Attribute(many=True, living=True),
    "captain": Attribute(),
    "eyes": Attribute(fixed=True),
    "birthplace": Attribute(fixed=True),
    "lid": Attribute(),
    "crew": Attribute(),
    "name": Attribute(always=True),
} | {f"stance:{person}": Attribute() for person in PEOPLE}
VALUES: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "place": (("Ring", *PEOPLE, "Box", "Key"), PLACES),
    "life": (PEOPLE, ("dead", "alive")),
    "spouse": (PEOPLE, PEOPLE),
    "owner": (ITEMS, PEOPLE),
    "member": (PEOPLE, GUILDS),
    "captain": (SHIPS, PEOPLE),
    "eyes": (PEOPLE, ("brown", "green", "blue")),
    "birthplace": (PEOPLE, PLACES),
    "lid": (("Box",), ("open", "closed")),
    "crew": (SHIPS, ("20", "30", "40")),
    "stance:Bo": (("Ana", "Cy"), ("ally", "enemy")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A proposed statement, and the one that it replaces; `own`: the author corrects themselves."""

    statement: Statement
    replaces: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase:
    id: str
    target: str


Step = Scene | Claim | Retraction | Identity | Erase
Plot = tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """The log after a plot, the outcome of each claim, and the log length after each step."""

    log: Log
    outcomes: dict[str, Outcome]
    lengths: tuple[int, ...]


def play_plot(plot: Plot) -> Played:
    """Play a plot on the model; a claim that waits is judged again after each later step."""
    log: Log = ()
    outcomes: dict[str, Outcome] = {}
    waiting: list[Claim] = []
    lengths: list[int] = []

    def put(claim: Claim) -> bool:
        nonlocal log
        if claim.replaces and outcomes.get(claim.replaces) != "accepted":
            claim = replace(claim, replaces="")
        verdict = judge_claim(TABLE, log, claim.statement, replaces=claim.replaces, own=claim.own)
        log, outcomes[claim.statement.id] = verdict.log, verdict.outcome
        return verdict.outcome != "waits"

    for step in plot:
        known = {e.id for e in log}
        if isinstance(step, Claim):
            if not put(step):
                waiting.append(step)
        elif isinstance(step, Erase):
            log = erase_statement(TABLE, log, step.id, step.target) if step.target in known else log
        elif not isinstance(step, Retraction) or step.target in known:
            log = (*log, step)
        waiting = [claim for claim in waiting if not put(claim)]
        lengths.append(len(log))
    return Played(log=log, outcomes=outcomes, lengths=tuple(lengths))


def draw_scenes(random: Random) -> list[Scene]:
    """Draw two stories whose scenes are dated, undated, flashbacks, or continue an earlier one."""
    scenes: list[Scene] = []
    for story, start in (("north", 1400), ("south", 1403)):
        year = start
        for n in range(random.randint(2, 4)):
            kind = random.choice(("dated", "dated", "year", "undated", "flashback", "continues"))
            year += random.randint(1, 3)
            span = {
                "dated": (year + 0.5, year + 0.5),
                "year": (year, year + 0.99),
                "flashback": (1390 + n, 1390 + n),
            }
            earlier = [s.id for s in scenes if s.story == story]
            continues = random.choice(earlier) if kind == "continues" and earlier else ""
            scenes.append(
                Scene(id=f"{story}{n}", story=story, span=span.get(kind), continues=continues)
            )
    return sorted(scenes, key=lambda s: random.random()) if random.random() < 0.2 else scenes


def draw_claim(
    random: Random, claim_id: str, scenes: Sequence[Scene], attributes: Sequence[str]
) -> Claim:
    """Draw a claim about something, in a scene or outside, with a time of its own or without."""
    attribute = random.choice(attributes)
    subjects, values = VALUES[attribute][0][:2], VALUES[attribute][1]
    subject = random.choice(subjects)
    value = random.choice([v for v in values if v != subject])
    if attribute == "place" and subject in ITEMS and random.random() < 0.5:
        value = "@" + random.choice(list(PEOPLE))
    year = random.randint(1395, 1412) + 0.25
    span = (year, year) if random.random() < 0.4 else None
    until = year + random.randint(1, 5) if span and random.random() < 0.25 else None
    positive = random.random() < 0.8 or attribute in ("life", "birthplace")
    return Claim(
        statement=Statement(
            id=claim_id,
            subject=subject,
            attribute=attribute,
            value=value,
            positive=positive,
            change=random.random() < 0.2,
            span=span,
            until=until if positive else None,
            scene=random.choice(scenes).id if scenes and random.random() < 0.6 else "",
            modality=random.choice(("asserted",) * 8 + ("planned", "unreal")),
            audience=random.choice((None, None, None, *AUDIENCES)),
            authority=random.choice((1, 1, 1, 2)),
            author=random.choice(("teller", "chronicle")),
        )
    )


def draw_plot(seed: int) -> Plot:
    """Draw a campaign: scenes, claims, corrections, merges, retractions and erasures."""
    random = Random(seed)
    scenes, attributes = draw_scenes(random), random.sample(sorted(VALUES), 3)
    steps: list[Step] = list(scenes)
    for n in range(random.randint(8, 20)):
        own_id, claims = f"c{n}", [s for s in steps if isinstance(s, Claim)]
        kind = random.random()
        if kind < 0.68 or not claims:
            steps.append(draw_claim(random, own_id, scenes, attributes))
        elif kind < 0.76:
            old = random.choice(claims).statement
            values = [v for v in VALUES[old.attribute][1] if v not in (old.value, old.subject)]
            reply = replace(
                old, id=own_id, value=random.choice(values), span=None, until=None, scene=""
            )
            steps.append(
                Claim(
                    statement=replace(reply, positive=True),
                    replaces=old.id,
                    own=random.random() < 0.5,
                )
            )
        elif kind < 0.88:
            steps.append(
                Retraction(id=own_id, target=random.choice([s.statement.id for s in claims]))
            )
            if random.random() < 0.5:
                steps.append(Retraction(id=f"{own_id}r", target=own_id))
        elif kind < 0.94:
            one, other = random.sample(PEOPLE, 2)
            same = not any(isinstance(s, Identity) for s in steps)
            merge = next((s for s in steps if isinstance(s, Identity)), None)
            one, other = (merge.kept, merge.other) if merge else (one, other)
            steps.append(
                Identity(
                    id=own_id,
                    kept=one,
                    other=other,
                    same=same,
                    audience=random.choice((None, *AUDIENCES)),
                )
            )
        else:
            steps.append(Erase(id=own_id, target=random.choice(claims).statement.id))
    return tuple(steps)


def shuffle_claims(plot: Plot, seed: int) -> Plot:
    """Judge the claims of a plot in another order; the other steps keep their places."""
    random = Random(seed)
    claims = [s for s in plot if isinstance(s, Claim)]
    random.shuffle(claims)
    left = iter(claims)
    return tuple(next(left) if isinstance(s, Claim) else s for s in plot)


def read_all(
    log: Log, viewer: frozenset[str] = KEEPER
) -> dict[tuple[str, str, float | str | None], Answer]:
    """Read every timeline at every scene and at a time in each second year."""
    view = View(TABLE, log, viewer=viewer)
    moments: list[float | str | None] = [None, *range(1389, 1418, 2)]
    moments += sorted({e.id for _, e in view.entries if isinstance(e, Scene)})
    keys = sorted((subject, a) for a, (subjects, _) in VALUES.items() for subject in subjects)
    return {
        (subject, a, at): view.answer_about(subject, a, at) for subject, a in keys for at in moments
    }
