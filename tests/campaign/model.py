"""A small model of what holds in a campaign, written apart from the implementation.

For each line (the state of a character, the place of one, the owner of a thing, the feeling of a
pair) it keeps the list of what was accepted. What holds is found by walking that list from its
beginning; nothing is ever ended, resumed or carried over.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

RANK = {"system": 0, "player": 1, "gm": 2}
GROUPS = (("alive", "dead"), ("healthy", "wounded"), ("hostile", "friendly", "neutral"))
NEVER = 10**6
"""A day after all that can be told."""

Line: TypeAlias = tuple[str, ...]
"""What it is about: `("state", character)`, `("place", character)`, `("owner", thing)` or
`("feeling", one, other)`."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """Something said about a line, or that something happened.

    `value` is a tag, a place, an owner, a feeling or a title; `holds` is false where a tag ceases.
    `day` is the day in the world; `own_day`: it was told with the day itself, not just in a scene
    of that day. `scene` is 0 for the keeper's own words; `told` counts everything said.
    """

    line: Line
    value: str
    authority: str
    told: int
    holds: bool = True
    day: int | None = None
    own_day: bool = False
    scene: int = 0
    order: int = 0


def in_order(said: Collection[Told]) -> list[tuple[int | None, Told]]:
    """Everything in the order of decision 39, each with its day; None: before any day is known."""
    scenes = sorted((one for one in said if one.scene), key=lambda one: (one.order, one.told))
    beside = sorted((one for one in said if not one.scene), key=lambda one: one.told)
    row: list[Told] = []
    for index, one in enumerate(scenes):
        rest = scenes[index:]
        early = [each for each in beside if all(each.told < later.told for later in rest)]
        row += [each for each in early if each not in row]
        row.append(one)
    row += [each for each in beside if each not in row]
    days: list[tuple[int | None, Told]] = []
    for index, one in enumerate(row):
        reached = [each.day for each in row[:index] if each.day is not None]
        days.append((one.day if one.day is not None else max(reached, default=None), one))
    unknown = [each for each in days if each[0] is None]
    known = [(day, each) for day, each in days if day is not None]
    return [*unknown, *sorted(known, key=lambda each: each[0])]


def excluded(tag: str) -> set[str]:
    """The tags that cannot hold beside it."""
    return {other for group in GROUPS if tag in group for other in group} - {tag}


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """For how long a value held; `first` and `next` are what began it and what came after."""

    value: str
    since: int | None
    until: int | None
    current: bool


@dataclass
class Truth:
    """What was accepted so far."""

    said: dict[Line, list[Told]] = field(default_factory=dict)
    events: list[Told] = field(default_factory=list)

    def of(self, line: Line) -> list[Told]:
        return self.said.setdefault(line, [])

    def before(self, new: Told) -> list[Told]:
        """What of its line was told of an earlier time."""
        ordered = [one for _day, one in in_order([*self.of(new.line), new])]
        return ordered[: ordered.index(new)]

    def tags(self, character: str, day: int | None = None) -> list[str]:
        """The tags that hold now, or at the end of a day."""
        ordered = in_order(self.of(("state", character)))
        first = min((at for at, _one in ordered if at is not None), default=NEVER)
        then = [
            one
            for at, one in ordered
            if day is None or (at is not None and at <= day) or (at is None and first <= day)
        ]
        return sorted(_standing(then))

    def stretches(self, line: Line) -> list[Stretch]:
        """What held one after the other; who says the same again changes nothing."""
        runs: list[Told] = []
        for _day, one in in_order(self.of(line)):
            if not runs or runs[-1].value != one.value:
                runs.append(one)
        ends = [*runs[1:], None]
        return [
            Stretch(
                value=one.value,
                since=one.day,
                until=None if end is None else end.day,
                current=end is None,
            )
            for one, end in zip(runs, ends, strict=True)
        ]

    def judge(self, new: Told) -> str:
        """What becomes of a proposal, and what is accepted becomes true."""
        if new.line[0] == "event":
            return self._happens(new)
        ends, against = self._met(new)
        if any(not _outranks(new, one) for one in against):
            return "rejected"
        if any(RANK[new.authority] < RANK[one.authority] for one in ends):
            return "needs_review"
        for one in against:
            self.of(new.line).remove(one)
        self.of(new.line).append(new)
        return "accepted"

    def write(self, new: Told) -> None:
        """The keeper's own word; what holds already changes nothing."""
        held = _standing(self.before(new)) if new.line[0] == "state" else {}
        if new.line[0] != "state" or (new.value in held) is not new.holds:
            self.of(new.line).append(new)

    def _met(self, new: Told) -> tuple[list[Told], list[Told]]:
        """The words that it ends, and those that were told of the very same day and cannot be."""
        before = self.before(new)
        at_once = [one for one in self.of(new.line) if _same_day(one, new)]
        if new.line[0] != "state":
            against = [one for one in at_once if one.value != new.value]
            run = _run(before)
            ends = [] if run and run[0].value == new.value else run
            return [one for one in ends if one not in against], against
        held = _standing(before)
        if not new.holds:
            return held.get(new.value, []), []
        if new.value in held:
            return [], []
        rivals = excluded(new.value)
        against = [one for one in at_once if one.holds and one.value in rivals]
        gone = {one.value for one in against}
        ended = [run for tag, run in held.items() if tag in rivals - gone]
        return [one for run in ended for one in run], against

    def _happens(self, new: Told) -> str:
        """The dead do nothing; where a stronger word lets them, they had not died."""
        state = ("state", new.line[1])
        told = Told(**{**new.__dict__, "line": state, "value": "acting"})
        run = _standing(self.before(told)).get("dead", [])
        counts = new.line[2] == "acts" and run and run[-1].scene != new.scene
        if counts and any(not _outranks(new, one) for one in run):
            return "rejected"
        for death in run if counts else ():
            self.of(state).remove(death)
        spot = (new.value, new.scene, new.day)
        known = [one for one in self.events if (one.value, one.scene, one.day) == spot]
        if not known:  # told again in its scene, it is one event with both evidences
            self.events.append(new)
        return "accepted"


def _standing(said: Sequence[Told]) -> dict[str, list[Told]]:
    """The tags that hold, each with the words by which it does."""
    held: dict[str, list[Told]] = {}
    for one in said:
        for tag in excluded(one.value) if one.holds else {one.value}:
            held.pop(tag, None)
        if one.holds:
            held.setdefault(one.value, []).append(one)
    return held


def _run(said: Sequence[Told]) -> list[Told]:
    """The last words that say the same."""
    run: list[Told] = []
    for one in said:
        run = [*run, one] if run and run[0].value == one.value else [one]
    return run


def _same_day(one: Told, other: Told) -> bool:
    return one.own_day and other.own_day and one.day == other.day


def _outranks(new: Told, old: Told) -> bool:
    return new.authority == "gm" or RANK[new.authority] > RANK[old.authority]
