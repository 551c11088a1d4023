"""The parts of a clause: noun phrases, verb groups, and the clause itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from canonry.language.reading.figures import UNREAD, text_of
from canonry.language.reading.times import PREFIX, is_recurring, parts_of
from canonry.language.reading.tokens import WordTable
from canonry.values.statements import Modality, Quantity, Statement

ANYBODY: Final = "~anybody"
WE: Final = "~we"
SPEAKER: Final = "~me"

_NOTHING: Final = frozenset({UNREAD, ANYBODY})
_TIME_ROLES: Final = frozenset({"in", "since", "on", "until", "when", "for", "by", "at"})
_POINT_ROLES: Final = frozenset({"in", "since", "on", "by"})
_YEARS: Final = (1, 3000)
LATE_YEAR: Final = 1000
_HOURS: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Nominal:
    """A noun phrase: its value, its words and its quantity.

    `owner` is the value before a possessive or after `of`; `noun` is the head without modifiers.
    `marks` are the phrases within it, such as `in:velm`, and `within` the last, as role and value.
    `inner` is the phrase after `of` where it is a quantity (a fleet of ten ships), `label` a number
    after the noun (port 80). A `proper` one has no article, where each noun has a capital.
    """

    value: str | Quantity | None
    noun: str = ""
    words: tuple[str, ...] = ()
    owner: str = ""
    quantifier: str = ""
    negative: bool = False
    definite: bool = False
    indefinite: bool = False
    quantity: Quantity | None = None
    marks: frozenset[str] = frozenset()
    within: tuple[str, str] = ("", "")
    inner: "Nominal | None" = None
    label: str = ""
    proper: bool = False

    @property
    def last_word(self) -> str:
        """The last word of the phrase, or "" for a name."""
        return self.words[-1] if self.words else ""

    @property
    def is_bare(self) -> bool:
        """Return whether the phrase is a noun alone, which names no location: `in danger`."""
        is_marked = self.definite or self.indefinite or self.owner or self.quantifier or self.marks
        labelled = self.quantity or self.label or self.proper
        return len(self.words) == 1 and not (is_marked or labelled)

    @property
    def is_named(self) -> bool:
        """Return whether the phrase is a name, or a noun with `the`."""
        return self.definite or (isinstance(self.value, str) and not self.noun)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbGroup:
    """The verb of a clause with its polarity, time and certainty."""

    verb: str
    copula: bool = False
    passive: bool = False
    negative: bool = False
    ended: bool = False
    past: bool = False
    perfect: bool = False
    modality: Modality = Modality.ASSERTED
    ability: bool = False
    only: bool = False
    begins: bool = False
    never: bool = False
    duty: bool = False
    ongoing: bool = False
    reports: bool = False
    marks: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Clause:
    """A clause in its parts.

    `lead` has the phrases of time or place before the subject, `phrases` those after the verb with
    their roles; the object's role is "". With `is_new` the words say that it has just begun.
    """

    words: WordTable
    subjects: Sequence[Nominal]
    group: VerbGroup
    phrases: Sequence[tuple[str, Sequence[Nominal]]]
    lead: Sequence[tuple[str, Sequence[Nominal]]] = ()
    is_new: bool = False

    @cached_property
    def objects(self) -> Sequence[Nominal]:
        """The noun phrases right after the verb."""
        return self.phrases[0][1] if self.phrases and not self.phrases[0][0] else ()

    @cached_property
    def locations(self) -> Sequence[tuple[str, Nominal]]:
        """The phrases after a preposition that are not times."""
        return [
            (role, one)
            for role, nominals in (*self.phrases, *self.lead)
            if role
            for one in nominals
            if not self._is_span(one)
            and not (not one.noun and isinstance(one.value, Quantity) and role in _TIME_ROLES)
        ]

    @cached_property
    def is_outcome_open(self) -> bool:
        """Return whether a change that the verb names need not have come.

        Somebody who is dying or can die is not dead, and a shop that opens at nine can be closed.
        """
        group = self.group
        ends = [one for _role, each in self.phrases for one in each]
        often = any(one.quantity and one.quantity.dimension == "frequency" for one in ends)
        once = group.past or group.perfect or group.begins or group.modality is Modality.PLANNED
        hour = "h" in parts_of(self.when) and self.words.has_word("hourly", group.verb)
        habit = (is_recurring(self.when) or hour) and not once
        habit = habit or often or any(one.quantifier for one in ends if self._is_span(one))
        return group.ongoing or group.ability or habit

    @cached_property
    def when(self) -> str:
        """The point of time that the clause names, else ""."""
        parts: dict[str, str] = {}
        each = False
        for role, nominals in (*self.lead, *self.phrases):
            for one in nominals:
                found = self._time_parts(role, one)
                days = parts.get("w", "") + found.get("w", "")  # on Mondays and Fridays
                parts |= {**found, "w": "".join(sorted({*days}))} if days else found
                each = each or (one.last_word not in self.words.weekdays and found.keys() == {"w"})
        if each and "h" in parts:  # at nine on Mondays, and at another hour on other days
            parts["e"] = "1"
        if parts:
            ordered = (f"{part}{parts[part]}" for part in "ymdwhe" if part in parts)
            return parts["y"] if parts.keys() == {"y"} else PREFIX + "_".join(ordered)
        lead = ((role, one) for role, each in self.lead for one in each if self._is_span(one))
        if points := " ".join(f"{role} {text_of(one.value)}" for role, one in lead):
            return points
        points_of = (each for role, each in self.phrases if role != "for")
        spans = (one for each in points_of for one in each if self._is_span(one))
        return next((" ".join(one.words) for one in spans), "")

    @property
    def is_ahead(self) -> bool:
        """Return whether a change in the present tense comes later: leaves tomorrow, at noon."""
        told = self.group.past or self.group.perfect or not self.when
        ahead = any(self.words.has_word("ahead", word) for word in self.when.split())
        again = is_recurring(self.when)
        return not told and (
            ahead or parts_of(self.when).keys() > {"y"} or (again and not self.group.ended)
        )

    @cached_property
    def lead_marks(self) -> frozenset[str]:
        """The phrases before the subject that narrow the clause: `in the dark`, `before tax`."""
        known = ((role, one) for role, each in self.lead for one in each if one.noun)
        marks = (f"{r}:{text_of(one.value)}" for r, one in known if not self._is_span(one))
        return frozenset(mark for mark in marks if not mark.endswith(UNREAD[1:]))

    def _time_parts(self, role: str, one: Nominal) -> Mapping[str, str]:
        """Return the parts of the point of time that a phrase names."""
        figure = one.value if isinstance(one.value, Quantity) else None
        if figure is not None and not figure.dimension and figure.low == figure.high:
            bare = not role and "bare_years" in self.words.flags and figure.low >= LATE_YEAR
            if (bare or role in _POINT_ROLES) and _YEARS[0] <= figure.low <= _YEARS[1]:
                return {"y": f"{figure.low:g}"}
            half = "?" if 1 <= figure.low < _HOURS / 2 + 1 else ""
            hour = {"h": f"{figure.low:g}{half}"}
            return hour if role == "at" and 0 <= figure.low <= _HOURS else {}
        return self.words.time_parts(one.words[-1]) if one.noun else {}

    def _is_span(self, one: Nominal) -> bool:
        last = one.last_word if one.noun else ""
        return self.words.has_word("seasons", last) or self.words.is_time(last)

    def value_of(self, one: Nominal) -> str | None:
        """Return the value of a phrase; None where it denies any: `nothing`, `not anything`."""
        if (one.negative or self.group.negative or self.group.ended) and one.value in _NOTHING:
            return None
        return UNREAD if one.value == ANYBODY else text_of(one.value)

    def qualifiers(self, *used: str) -> frozenset[str]:
        """Return the phrases after other prepositions than those `used`, as qualifiers."""
        marks = (f"{role}:{text_of(one.value)}" for role, one in self.locations if role not in used)
        nominals_said = (one for _role, nominals in self.phrases for one in nominals)
        adverbs = (mark for one in nominals_said for mark in one.marks if ":" not in mark)
        return frozenset((*marks, *adverbs))


def make_statement(
    subject: str, attribute: str, value: str | Quantity | None, **rest: Any
) -> Statement:
    """Return the statement that an attribute of a subject has a value; `rest` is its members."""
    return Statement(subject=subject, attribute=attribute, value=value, **rest)


class UnreadClause(Exception):  # noqa: N818 - it stops the reading of a clause, and is no error
    """The clause has a form that the reader does not understand."""
