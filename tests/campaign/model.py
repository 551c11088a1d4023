"""A small model of what holds in a campaign, written apart from the implementation.

For each line (the state of a character, the place of one, the owner of an item, the feeling of a
pair) it keeps the accepted statements. A walk through the list from its beginning finds the ones
that hold; nothing is ever ended, resumed or carried over.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

RANK = {"system": 0, "player": 1, "gm": 2}
LIVELY = frozenset(("healthy", "wounded", "hostile", "friendly", "neutral"))
"""States that only the living come into."""
GROUPS = (("alive", "dead"), ("healthy", "wounded"), ("hostile", "friendly", "neutral"))
NEVER = 10**6
"""A day after all that can be stated."""
EVERYBODY, MASTERS = "everybody", "masters"
FEW = ("Bo", "Cid")

Line: TypeAlias = tuple[str, ...]
"""The subject: `("state", character)`, `("place", character)`, `("owner", thing)` or
`("feeling", one, other)`."""


@dataclass(frozen=True, kw_only=True)
class Stated:
    """Something said about a line, or that something happened.

    `value` is a tag, a place, an owner, a feeling or a title; `holds` is false where a tag ceases.
    `day` is the day in the world; `own_day`: it was stated with the day itself, not just in a scene
    of that day. `scene` is 0 for the keeper's own words; `number` counts all statements.
    """

    line: Line
    value: str
    authority: str
    number: int
    holds: bool = True
    day: int | None = None
    own_day: bool = False
    scene: int = 0
    story: int = 0
    order: int = 0
    audience: str = EVERYBODY
    instead: int | None = None
    """The statement that this one replaces or ends."""

    @property
    def over(self) -> bool:
        """Return whether the statement says that a relation no longer holds."""
        return not self.holds and self.line[0] not in ("state", "fact")


def sees_audience(viewer: str, audience: str) -> bool:
    """The masters see everything, all others what is for everybody or for them, or for `A+B`."""
    return viewer == MASTERS or audience == EVERYBODY or viewer in audience.split("+")


def in_order(said: Collection[Stated]) -> list[tuple[int | None, Stated]]:
    """Sort statements by story time; the end of a relation follows the statement that it ends.

    The end changes nothing if a later statement was known before.
    """
    row = _in_story_order([one for one in said if not one.over])
    for over in sorted((one for one in said if one.over), key=lambda one: one.number):
        last = max(n for n, (_, one) in enumerate(row) if one.number < over.number)
        row.insert(last + 1, (row[last][0], over))
    return row


def _in_story_order(said: Collection[Stated]) -> list[tuple[int | None, Stated]]:
    """Everything in the order of decision 39, each with its day; None: before any day is known."""
    scenes = sorted(
        (one for one in said if one.scene), key=lambda one: (one.story, one.order, one.number)
    )
    beside = sorted((one for one in said if not one.scene), key=lambda one: one.number)
    row: list[Stated] = []
    for index, one in enumerate(scenes):
        rest = scenes[index:]
        early = [each for each in beside if all(each.number < later.number for later in rest)]
        row += [each for each in early if each not in row]
        row.append(one)
    row += [each for each in beside if each not in row]
    days: list[tuple[int | None, Stated]] = []
    for index, one in enumerate(row):
        reached = [each.day for each in row[:index] if each.day is not None]
        days.append((one.day if one.day is not None else max(reached, default=None), one))
    unknown = [each for each in days if each[0] is None]
    known = [(day, each) for day, each in days if day is not None]
    return [*unknown, *sorted(known, key=lambda each: each[0])]


def excluded_tags(tag: str) -> set[str]:
    """The tags that cannot hold beside it."""
    return {other for group in GROUPS if tag in group for other in group} - {tag}


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """For how long a value held; `first` and `next` are what began it and what came after."""

    value: str
    since: int | None
    until: int | None
    current: bool
    cut: bool = field(default=False, compare=False)
    """It was ended by itself, and not by what comes after it."""


@dataclass
class Truth:
    """The statements that were accepted so far.

    `lost` has the statements that were proved wrong, each with the statement that proved it, for
    those who know the second one. `audiences` has the new audiences of revealed statements.
    """

    said: dict[Line, list[Stated]] = field(default_factory=dict)
    events: list[Stated] = field(default_factory=list)
    coins: dict[str, int] = field(default_factory=dict)
    lost: list[tuple[Stated, Stated]] = field(default_factory=list)
    audiences: dict[int, str] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)
    """The characters that turned out to be others, each with its other name."""

    def seen_by(self, viewer: str) -> "Truth":
        """Return the truth for a viewer who knows no more than they may."""
        lost = [
            gone.number for gone, by in self.lost if sees_audience(viewer, self.audience_of(by))
        ]

        def seen(reported: Collection[Stated]) -> list[Stated]:
            known = [one for one in reported if sees_audience(viewer, self.audience_of(one))]
            return [one for one in known if one.number not in lost]

        said = {line: seen(reported) for line, reported in self.said.items()}
        return Truth(said=said, events=seen(self.events), coins=self.coins, merged=self.merged)

    def root(self, name: str) -> str:
        """Return the character that a name means, as far as anybody knows."""
        return self.merged.get(name, name)

    def root_line(self, line: Line) -> Line:
        """The line to which this one belongs now."""
        return (line[0], *map(self.root, line[1:]))

    def known_lines(self) -> list[Line]:
        """All lines about which something was reported, each once."""
        return sorted({self.root_line(line) for line in self.said})

    def words_about(self, line: Line) -> list[Stated]:
        """All that was told about a line, of whom it turned out to be about."""
        return [
            replace(one, line=self.root_line(one.line), value=self.root(one.value))
            for key, said in self.said.items()
            for one in said
            if self.root_line(key) == self.root_line(line)
        ]

    def as_stated(self, reported: int) -> Stated:
        """A statement as it was recorded."""
        return next(one for said in self.said.values() for one in said if one.number == reported)

    def audience_of(self, stated: Stated) -> str:
        of = stated.instead if stated.over and stated.instead is not None else stated.number
        return self.audiences.get(of, stated.audience)

    def record_statement(self, stated: Stated) -> None:
        """Keep a statement as it was recorded."""
        self.said.setdefault(stated.line, []).append(stated)

    def statements_before(self, new: Stated) -> list[Stated]:
        """Return the statements of the line before a new one, in the order of their days."""
        ordered = [one for _day, one in in_order([*self.words_about(new.line), new])]
        return ordered[: ordered.index(new)]

    def tags_at(self, character: str, day: int | None = None) -> list[str]:
        """The tags that hold now, or at the end of a day."""
        ordered = in_order(self.words_about(("state", character)))
        first = min((at for at, _one in ordered if at is not None), default=NEVER)
        then = [
            one
            for at, one in ordered
            if day is None or (at is not None and at <= day) or (at is None and first <= day)
        ]
        return sorted(_standing_tags(then))

    def stretches_of(self, line: Line) -> list[Stretch]:
        """Return the values that held one after the other; a repeated value changes nothing."""
        runs: list[Stretch] = []
        for _day, one in in_order(self.words_about(line)):
            last = runs[-1] if runs and runs[-1].current else None
            if last is not None and (last.value == one.value) is not one.holds:
                runs[-1] = replace(last, until=one.day, current=False)
            if one.holds and (last is None or last.value != one.value):
                runs.append(Stretch(value=one.value, since=one.day, until=None, current=True))
        return runs

    def judge_proposal(self, new: Stated) -> str:
        """Judge a proposal; an accepted one becomes true.

        It is judged by what those know for whom it is.
        """
        known = self.seen_by(new.audience)
        status, _ends, against = known.verdict_on(new)
        if status != "accepted":
            return status
        state = ("state", new.line[1]) if new.line[0] == "event" else new.line
        self.lost += [(one, new) for one in known.words_about(state) if one.number in against]
        if new.line[0] == "fact":
            again = new.value in known.statements_about(new.line[1]) and new.instead is None
            self.record_statement(replace(new, holds=not again))
        elif new.line[0] != "event":
            self.record_statement(new)
        elif not known.has_happened(new):
            self.events.append(new)
        return "accepted"

    def verdict_on(self, new: Stated) -> tuple[str, set[str], set[int]]:
        """Return the verdict by the known statements, the ends, and the statements proved wrong."""
        ends, against = self._find_met(new)
        gone = ({one.value for one in ends}, {one.number for one in against})
        if new.instead is not None and not against:
            return "rejected", *gone
        if any(not _outranks(new, one) for one in against):
            return "rejected", *gone
        if any(RANK[new.authority] < RANK[one.authority] for one in ends):
            return "needs_review", *gone
        return "accepted", *gone

    def write_directly(self, new: Stated) -> None:
        """The keeper's own word; what holds already changes nothing.

        That a tag holds no longer is for those who know that it held.
        """
        known = self.seen_by(new.audience)
        if new.line[0] == "state" and not new.holds:
            found = [v for v in (*FEW, MASTERS) if sees_audience(v, new.audience)]
            know = [v for v in found if new.value in self.seen_by(v).standing_tags(new)]
            if know and new.value not in known.standing_tags(new):
                new = replace(new, audience="+".join(know[:-1]) or MASTERS)
                known = self.seen_by(know[0])
        held = _standing_tags(known.statements_before(new)) if new.line[0] == "state" else {}
        if new.line[0] != "state" or (new.value in held) is not new.holds:
            self.record_statement(new)

    def give_coins(self, giver: str, taker: str, amount: int) -> bool:
        """Return whether the giver has as much, and note the new amounts."""
        if self.coins.get(giver, 0) < amount:
            return False
        self.coins[giver] -= amount
        self.coins[taker] = self.coins.get(taker, 0) + amount
        return True

    def standing_tags(self, new: Stated) -> dict[str, list[Stated]]:
        """The tags that hold where something new is stated."""
        return _standing_tags(self.statements_before(new))

    def correctable_statements(self) -> list[Stated]:
        """List the statements that were said only once, and so are one item of the canon."""
        known = self.seen_by(MASTERS)
        said = [
            one
            for line in known.known_lines()
            for one in known.words_about(line)
            if one.holds and sum(each.value == one.value for each in self.words_about(line)) == 1
        ]
        return sorted((*said, *known.events), key=lambda one: one.number)

    def secret_statements(self) -> list[Stated]:
        """Of that, what not everybody may know."""
        return [one for one in self.correctable_statements() if self.audience_of(one) != EVERYBODY]

    def has_secrets(self, line: Line, *, beside: Stated | None = None) -> bool:
        """Return whether a statement of the line is secret, or was before it came out."""
        found = [
            one for one in self.words_about(line) if beside is None or one.number != beside.number
        ]
        return any({one.audience, self.audience_of(one)} != {EVERYBODY} for one in found)

    def reveal_statement(self, stated: Stated) -> None:
        """Everybody may know of it from now on, and of what it has changed."""
        self.audiences[stated.number] = EVERYBODY

    def hide_statement(self, stated: Stated, audience: str) -> None:
        """Only they may know of it from now on."""
        self.audiences[stated.number] = audience

    def holding_words(self, line: Line) -> list[Stated]:
        """The words by which something holds now on a line."""
        return _last_run([one for _day, one in in_order(self.words_about(line))])

    def retract_statements(self, reported: Stated) -> None:
        """It turns out that this never was; words that were lost to it stand again."""
        self.lost[:] = [(one, by) for one, by in self.lost if by.number != reported.number]
        for said in (self.events, *self.said.values()):
            said[:] = [one for one in said if one.number != reported.number]

    def statements_about(self, hero: str) -> list[str]:
        """Return the other statements about a hero; a repeated one adds nothing."""
        return sorted(one.value for one in self.words_about(("fact", hero)) if one.holds)

    def _find_met(self, new: Stated) -> tuple[list[Stated], list[Stated]]:
        """The words that it ends, and those that were told of the very same day and cannot be."""
        if new.line[0] == "fact":
            return [], [one for one in self.words_about(new.line) if one.number == new.instead]
        if new.line[0] == "event":
            return [], self._find_deaths(new) if new.line[2] == "acts" else []
        before = self.statements_before(new)
        at_once = [one for one in self.words_about(new.line) if _same_day(one, new)]
        if new.line[0] != "state":
            against = [one for one in at_once if one.value != new.value]
            run = _last_run(before)
            ends = [] if run and run[0].value == new.value else run
            return [one for one in ends if one not in against], against
        held = _standing_tags(before)
        if not new.holds:
            return held.get(new.value, []), []
        if new.value in held:
            return [], []
        conflicting = excluded_tags(new.value)
        against = [one for one in at_once if one.holds and one.value in conflicting]
        against += self._find_deaths(new) if new.value in LIVELY else []
        gone = {one.value for one in against}
        ended = [run for tag, run in held.items() if tag in conflicting - gone]
        return [one for run in ended for one in run], against

    def _find_deaths(self, new: Stated) -> list[Stated]:
        """Return the deaths that an act disproves; a dead character acts only by a stronger word.

        If only the act has a day, no statement says that the death came first.
        """
        result = Stated(**{**new.__dict__, "line": ("state", new.line[1]), "value": "acting"})
        run = _standing_tags(self.statements_before(result)).get("dead", [])
        counts = bool(run) and run[-1].scene != new.scene
        unordered = bool(run) and new.day is not None and run[-1].day is None
        return run if counts and not unordered else []

    def has_happened(self, new: Stated) -> bool:
        """Told again in its scene, it is one event with both evidences."""
        spot = (new.value, new.scene, new.day)
        return any((one.value, one.scene, one.day) == spot for one in self.events)


def _standing_tags(said: Sequence[Stated]) -> dict[str, list[Stated]]:
    """The tags that hold, each with the words by which it does."""
    held: dict[str, list[Stated]] = {}
    for one in said:
        for tag in excluded_tags(one.value) if one.holds else {one.value}:
            held.pop(tag, None)
        if one.holds:
            held.setdefault(one.value, []).append(one)
    return held


def _last_run(said: Sequence[Stated]) -> list[Stated]:
    """The last words that say the same."""
    run: list[Stated] = []
    for one in said:
        same = bool(run) and run[0].value == one.value
        if one.holds:
            run = [*run, one] if same else [one]
        elif same:
            run = []
    return run


def _same_day(one: Stated, other: Stated) -> bool:
    return one.own_day and other.own_day and one.day == other.day


def _outranks(new: Stated, old: Stated) -> bool:
    return new.authority == "gm" or RANK[new.authority] > RANK[old.authority]
