"""Compare two statements: whether both can be true, by their attribute, values and times."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite
from typing import Final, NamedTuple, TypeAlias

from canonry.language.reading.forms import ANYBODY
from canonry.language.reading.times import (
    has_come,
    is_before,
    is_other_time,
    is_recurring,
    parts_of,
)
from canonry.log.items.proposals import Grade
from canonry.values.attributes.table import Attribute, ValueKind, find_attribute
from canonry.values.statements import PHRASE, Modality, Phase, Quantity, Statement

_CLOSE = 0.05  # the distance of two approximate figures that agree

_OPPOSED: Final[Mapping[str, Collection[str]]] = {
    "": ("", "all", "only", "sole"),
    "all": ("", "all", "most", "some"),
    "some": ("all",),
    "sole": ("sole",),
}
"""The quantifiers that each quantifier of a denial excludes."""

_DID: Final = "did:"  # the family of what has happened, and what has not
_DEEDS: Final = ("does:", _DID)

EntityNaming: TypeAlias = Callable[[str], str]


class Order(StrEnum):
    """The order of a claim's moment against the moment of the statement that stands."""

    ONE = "one"
    LATER = "later"
    EARLIER = "earlier"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementClash:
    """A conflict of a claim with what stands.

    `reason` is a sentence for a reader. With `ends_earlier` the claim states a change or a
    later moment: the standing statement held until then, and ends.
    """

    grade: Grade
    reason: str
    ends_earlier: bool = False


class _Case(NamedTuple):
    held: Statement
    claim: Statement
    order: Order
    entry: Attribute
    name_of: EntityNaming | None

    def display_name(self, value: str) -> str:
        """Return the name of an entity, or the text of a phrase."""
        name_of = self.name_of or str
        if not value.startswith(PHRASE):
            return name_of(value)
        head, *marks = value.removeprefix(PHRASE).split()
        plain = [mark for mark in marks if ":" not in mark]
        owners = [mark.removeprefix("of:") for mark in marks if mark.startswith("of:")]
        tail = [f"of {name_of(each)}" for each in owners]
        return " ".join((*plain, head, *tail)).replace("_", " ")

    def location_name(self, value: str) -> str:
        """Return the name of a location in the form of a phrase, as regions have it."""
        if value.startswith(PHRASE):
            return value
        return PHRASE + "_".join(self.display_name(value).casefold().removeprefix("the ").split())

    def make_clash(self, reason: str, *, soft: bool = False) -> StatementClash:
        changes = self.claim.phase in {Phase.BEGINS, Phase.ENDS}
        if self.claim.attribute.startswith(_DID):  # what has not happened yet can happen
            changes = self.held.phase is Phase.IS and not self.held.holds
        changes = (changes or self.order is Order.LATER) and not self.entry.fixed
        grade = Grade.POSSIBLE if soft else Grade.CONTRADICTION
        return StatementClash(grade=grade, reason=reason, ends_earlier=changes)

    @property
    def one_time(self) -> bool:
        """Return whether both describe the present, both the past, or a fixed attribute."""
        if self.entry.fixed or self.claim.attribute.startswith(_DID):
            return True
        return (self.held.phase is Phase.WAS) is (self.claim.phase is Phase.WAS)

    @property
    def both_truths(self) -> tuple[bool | None, bool | None]:
        return _truth_of(self.held, self.entry), _truth_of(self.claim, self.entry)


def find_clash(
    held: Statement,
    claim: Statement,
    *,
    order: Order = Order.ONE,
    name_of: EntityNaming | None = None,
) -> StatementClash | None:
    """Return how the claim conflicts with what stands; None if both can be true.

    `order` tells the order of the two moments. `name_of` returns the name of an entity by its id,
    for the reason.
    """
    if {held.modality, claim.modality} not in ({Modality.ASSERTED}, {Modality.PLANNED}):
        return None
    held, claim = _as_able(held, claim), _as_able(claim, held)
    if order is Order.LATER:  # what came last night, or at noon, has come when a later moment comes
        held, claim = (replace(e, when="") if has_come(e) else e for e in (held, claim))
    entry = find_attribute(held.attribute)
    if held.attribute == claim.attribute:
        held, claim = _align_subjects(held, claim, entry)
    case = _Case(held, claim, order, entry, name_of)
    if held.attribute != claim.attribute:
        return _excluded_clash(case) or _out_of_order(case)
    if held.subject != claim.subject:
        circle = _circle_clash(case) if entry.acyclic and not entry.soft else None
        return circle or (_other_subject(case) if _may_coincide(held, claim, entry) else None)
    if not entry.fixed and (order is Order.EARLIER or not _may_coincide(held, claim, entry)):
        return None
    if isinstance(held.value, Quantity) or isinstance(claim.value, Quantity):
        return _number_clash(case)
    return _value_clash(case)


def _may_coincide(held: Statement, claim: Statement, entry: Attribute) -> bool:
    """Return whether what is said of two points of time can be of one moment."""
    one, other = held.when, claim.when
    if entry.kind is ValueKind.TIME or one == other:
        return True
    lasting = entry.name in {"life", "validity"} or entry.kind is ValueKind.QUANTITY
    dated = "y" in parts_of(claim.when) and _has_begun(claim, held)
    if not lasting and (dated or _has_begun(held, claim)):
        return False  # what began then can have ended since
    if one and other:
        return bool(parts_of(one)) and bool(parts_of(other)) and not is_other_time(one, other)
    narrow = held if one else claim
    if narrow.attribute.startswith(_DID) and not narrow.holds:  # not then, but at another time
        return False
    habit = not parts_of(narrow.when) and narrow.phase is Phase.IS
    habit = habit and entry.kind is not ValueKind.QUANTITY
    if not (habit or is_recurring(narrow.when)) or parts_of(narrow.when).get("w") == "0":
        return True
    # Mondays are no other days, but what somebody never does is not done on Mondays, either.
    broad = (each for each in (held, claim) if not each.holds_then or each.quantifier == "only")
    denial = next((each for each in broad if not each.when), None)
    return denial is not None and denial.attribute.startswith((*_DEEDS, "can:"))


def _has_begun(one: Statement, other: Statement) -> bool:
    """Return whether one began at a point of time, and the other holds at no certain one."""
    begun = one.phase is Phase.BEGINS and bool(one.when) and not is_recurring(one.when)
    return begun and other.phase in {Phase.IS, Phase.BEGINS} and not other.when and one.holds


def _align_subjects(
    held: Statement, claim: Statement, entry: Attribute
) -> tuple[Statement, Statement]:
    """Turn statements of a symmetric attribute around so that both have the same subject."""
    if entry.symmetric and held.subject != claim.subject:
        for one in (held, _swap_ends(held)):
            for other in (claim, _swap_ends(claim)):
                if one.subject == other.subject:
                    return one, other
    return held, claim


def _as_able(one: Statement, other: Statement) -> Statement:
    """Return what somebody does as what they can do, beside a statement that they cannot."""
    family, _, deed = one.attribute.partition(":")
    denied = family == "does" and other.attribute == f"can:{deed}" and not other.holds
    return replace(one, attribute=other.attribute) if denied and one.holds else one


def _swap_ends(statement: Statement) -> Statement:
    if not isinstance(statement.value, str):
        return statement
    return replace(statement, subject=statement.value, value=statement.subject)


def _excluded_clash(case: _Case) -> StatementClash | None:
    held, claim = case.held, case.claim
    other = find_attribute(claim.attribute)
    bound = bool(case.entry.bond) and case.entry.bond == other.bond
    apart = other.name in case.entry.excludes or case.entry.name in other.excludes
    if not (bound or apart) or case.order is Order.EARLIER:
        return None
    if (case.entry.symmetric or case.entry.acyclic) and held.subject == claim.value:
        claim = _swap_ends(claim)
    same = (held.subject, held.value) == (claim.subject, claim.value)
    sides = ((held, case.entry), (claim, other))
    now = all(one.holds_then or (entry.fixed and _truth_of(one, entry)) for one, entry in sides)
    if not (same and now) or held.qualifiers != claim.qualifiers:
        return None
    return case.make_clash(
        f"{case.display_name(claim.subject)} has {case.display_name(str(claim.value))} both as"
        f" {_label_of(held.attribute)} and as {_label_of(claim.attribute)}.",
        soft=case.entry.soft or other.soft,
    )


def _out_of_order(case: _Case) -> StatementClash | None:
    """Compare two dates of one subject whose order is known, such as its birth and its death."""
    first, then = case.held, case.claim
    if then.attribute in find_attribute(first.attribute).after:
        first, then = then, first
    if first.attribute not in find_attribute(then.attribute).after or first.subject != then.subject:
        return None
    sure = first.holds and then.holds
    if not sure or not is_before(str(then.value), str(first.value)):
        return None
    order = f"{_label_of(then.attribute)} before the {_label_of(first.attribute)}"
    return case.make_clash(f"{case.display_name(first.subject)} has a {order}.")


def _circle_clash(case: _Case) -> StatementClash | None:
    held, claim = case.held, case.claim
    turned = (held.subject, held.value) == (claim.value, claim.subject)
    same = held.qualifiers == claim.qualifiers
    if not turned or not same or not (held.holds and claim.holds) or not case.one_time:
        return None
    return case.make_clash(f"Each of the two has the other as its {_label_of(case.entry.name)}.")


def _other_subject(case: _Case) -> StatementClash | None:
    """Compare "only A", "everybody" and "nobody" with a statement of somebody else."""
    if case.order is not Order.ONE or None in case.both_truths or not case.one_time:
        return None
    for one, other in ((case.held, case.claim), (case.claim, case.held)):
        part = not other.quantifier and _covers_value(one.subject, other.subject)
        if one.quantifier == "all" and part and one.qualifiers == other.qualifiers:
            turned = replace(one, subject=other.subject)
            return _value_clash(case._replace(held=turned, claim=other))
        within = {mark.replace(" ", "_") for mark in one.qualifiers}  # a family in Velm
        among = bool(within) and within <= {*other.subject.split()[1:]}
        same = one.value == other.value or (not one.holds and _covers_value(one.value, other.value))
        if not same or not (among or one.qualifiers <= other.qualifiers):
            continue
        others = other.quantifier in {"", "sole"} or other.subject == ANYBODY
        if one.quantifier == "sole" and one.holds and other.holds and others:
            return case.make_clash(f"Only {case.display_name(one.subject)} is said to be so.")
        known = among or one.implied or not other.subject.startswith(PHRASE)
        person = known and not other.quantifier
        if one.subject == ANYBODY and one.holds is not other.holds and person:
            soft = one.attribute.startswith("must:")  # a rule may have exceptions
            reason = "One is said of everybody, and denied of one of them."
            return case.make_clash(reason, soft=soft)
    return None


def _truth_of(statement: Statement, entry: Attribute) -> bool | None:
    """Return the polarity at the statement's moment; what was, then."""
    if statement.phase is Phase.WAS or statement.modality is Modality.PLANNED:
        return statement.holds
    if entry.fixed and statement.phase is not Phase.ENDS:
        return statement.holds
    return statement.holds_then


def _value_clash(case: _Case) -> StatementClash | None:
    held, claim, entry = case.held, case.claim, case.entry
    before, now = case.both_truths
    if before is None or now is None or not case.one_time:
        return None
    if case.order is Order.LATER and Phase.WAS in {held.phase, claim.phase} and not entry.fixed:
        return None
    if before is not now:
        return _denial_clash(case, *((held, claim) if before else (claim, held)))
    if not before or held.qualifiers != claim.qualifiers:
        return None
    if "only" in {held.quantifier, claim.quantifier}:
        return _only_clash(case)
    quantifiers = {held.quantifier, claim.quantifier}
    universal = "all" in quantifiers and quantifiers <= {"all", "some", "most", ""}
    exclusive = entry.kind is ValueKind.WORD and entry.exclusive
    moved = entry.kind is ValueKind.TIME and claim.phase is Phase.BEGINS  # an appointment of some
    plain = quantifiers <= {"", "sole"} or (universal and exclusive)
    plain = plain or (moved and "all" not in quantifiers)
    return _different_values(case) if plain else None


def _denial_clash(case: _Case, stated: Statement, denial: Statement) -> StatementClash | None:
    if not denial.qualifiers <= stated.qualifiers or not _covers_value(denial.value, stated.value):
        return None
    # Two consequences are left to their causes: a divorce from one, and a marriage to another.
    followed = denial.implied and denial.phase is Phase.ENDS and stated.implied
    if followed or stated.quantifier not in _OPPOSED.get(denial.quantifier, ()):
        return None
    value = case.display_name(stated.value) if isinstance(stated.value, str) else ""
    what = " ".join(f"{_label_of(stated.attribute)} {value}".split())
    soft = stated.attribute.startswith("can:") and stated.implied and denial.implied
    reason = f'One says "{what}" of {case.display_name(stated.subject)}, the other denies it.'
    dead = (stated.attribute, stated.value) == ("life", "dead") and stated is case.held
    if dead and denial.phase is Phase.IS:
        return StatementClash(grade=Grade.CONTRADICTION, reason=reason)  # death does not pass
    return case.make_clash(reason, soft=soft)


def _only_clash(case: _Case) -> StatementClash | None:
    only, other = case.held, case.claim
    if only.quantifier != "only":
        only, other = other, only
    known = isinstance(only.value, str) and isinstance(other.value, str)
    if not known or _is_one_in_other(only.value, other.value):
        return None
    return case.make_clash(f"Only {case.display_name(str(only.value))} is said to be so.")


_MONTH, _ROUGHLY = 2_629_746.0, 0.1  # seconds of a mean month, and how far months differ
_MONEY: Final = frozenset({"euro", "dollar", "sterling", "franc"})

_ANYWHERE: Final = frozenset({"location", "origin"})
"""Attributes whose values may lie in each other where they are no entities."""


def _different_values(case: _Case) -> StatementClash | None:
    one, other, entry = case.held.value, case.claim.value, case.entry
    if not isinstance(one, str) or not isinstance(other, str):
        return None
    single = entry.cardinality == 1 or (entry.shifting and case.claim.phase is Phase.BEGINS)
    conflicting = single and not _is_one_in_other(one, other)
    if entry.exclusive and entry.kind is ValueKind.WORD:
        conflicting = other in entry.conflicting_words(one) or (entry.shifting and conflicting)
    if entry.kind is ValueKind.TIME:  # moved to Thursday, from the fourth
        mine, parts = parts_of(one), parts_of(other)
        anew = case.claim.phase is Phase.BEGINS and not parts.items() <= mine.items()
        other_time = is_other_time(one, other) and not entry.shifting
        conflicting = other_time or (anew and case.order is not Order.EARLIER)
        hours = (entry.name.startswith("date:") or "e" in {*mine, *parts}) and "h" in mine
        hours &= "h" in parts
        days = (f"time_w{each.get('w', 0)}" for each in (mine, parts))
        dated = [bool(each.keys() & {"d", "m"}) for each in (mine, parts)]
        once = not anew and "h" in mine and "h" in parts and dated[0] is not dated[1]
        conflicting &= not (once or (hours and is_other_time(*days)))  # of each day, and of one
    if not conflicting:
        return None
    subject, values = (case.display_name(case.claim.subject), map(case.display_name, (one, other)))
    reason = f"Both give a value for {_label_of(entry.name)} of {subject}: {' and '.join(values)}."
    # Two places of one moment may lie in each other; later, a kitchen may lie in that town.
    unknown = one.startswith(PHRASE) or other.startswith(PHRASE)
    alike = one.startswith(PHRASE) is other.startswith(PHRASE)
    moved = (case.order is Order.LATER and alike) or case.claim.phase is Phase.BEGINS
    names = [case.location_name(each) for each in (one, other)]
    long, short = sorted((each.removeprefix(PHRASE) for each in names), key=len, reverse=True)
    inside = len(entry.regions.intersection(names)) == 1 or long.endswith(f"_of_{short}")
    inside = entry.containment and inside  # the Tower of Lowen, and Lowen
    apart = not inside and _are_apart(entry, one, other, names)
    if not moved and not apart and (inside or (entry.name in _ANYWHERE and unknown)):
        return None
    raised = case.claim.phase is Phase.BEGINS and not case.claim.implied
    if (entry.name, one) == ("life", "dead") and case.order is not Order.ONE and not raised:
        return StatementClash(grade=Grade.POSSIBLE, reason=reason)
    contained = entry.name in _ANYWHERE and not moved and not apart
    return case.make_clash(reason, soft=entry.soft or contained)


def _are_apart(entry: Attribute, one: str, other: str, names: Collection[str]) -> bool:
    """Return whether two places cannot lie in each other: two countries, towns or floors."""
    (head, *marks), (like, *others) = one.split(), other.split()
    numbers, more = ({m for m in each if m.startswith("no:")} for each in (marks, others))
    if head == like and numbers and more:
        return numbers != more
    named = (one.startswith(PHRASE) and other.startswith(PHRASE)) or entry.fixed
    same = len(entry.regions.intersection(names)) != 1
    return entry.containment and bool(entry.regions) and named and same


def _number_clash(case: _Case) -> StatementClash | None:
    held, claim = case.held, case.claim
    one, other = held.value, claim.value
    if not isinstance(one, Quantity) or not isinstance(other, Quantity):
        return None
    before, now = case.both_truths
    if {one.dimension, other.dimension} == {"time", "month"}:
        one, other = _in_seconds(one), _in_seconds(other)
    paid = one.dimension != other.dimension and {one.dimension, other.dimension} <= _MONEY
    apart = one.dimension != other.dimension and not (paid and before is now)
    if apart or not case.one_time or None in {before, now}:
        return None
    subject = case.display_name(claim.subject)
    reason = f"The figures for {_label_of(case.entry.name)} of {subject} differ."
    marks = held.qualifiers ^ claim.qualifiers
    coins = bool(marks) and all(each.startswith("unit:") for each in marks)  # crowns, shillings
    same = coins or not marks
    if before is not now:
        true, false = (one, other) if before else (other, one)
        within = false.low <= true.low and true.high <= false.high
        return case.make_clash(reason) if same and within else None
    if not before or not same:
        return None
    if case.entry.name == "age" and case.order is Order.ONE and other.low - one.high > one.step:
        case = case._replace(claim=replace(claim, phase=Phase.IS))  # two birthdays at one moment
    priced = paid and min(one.low, other.low) > 0  # nothing is free in any money
    if case.entry.name == "age" and case.order is Order.LATER and other.high < one.low:
        return StatementClash(grade=Grade.POSSIBLE, reason=f"{subject} was older before.")
    soft = priced or coins or _figures_apart(one, other)
    return None if soft is None else case.make_clash(reason, soft=soft or case.entry.soft)


def _in_seconds(span: Quantity) -> Quantity:
    """Return a span of months as seconds, as exact as months of other lengths are."""
    if span.dimension == "time":
        return span
    low, high = span.low * _MONTH, span.high * _MONTH
    return replace(span, low=low, high=high, dimension="time", step=_ROUGHLY * low)


def _figures_apart(one: Quantity, other: Quantity) -> bool | None:
    """Return None for figures that agree, else whether it is open that they differ."""
    gap = max(one.low, other.low) - min(one.high, other.high)
    size = max(abs(x) for x in (one.low, one.high, other.low, other.high) if isfinite(x))
    if gap <= 0:
        return None
    if one.about or other.about:
        return True if gap / size > _CLOSE else None
    # A bound is as exact as it is stated: nobody under two metres is 2.05 m tall.
    steps = [each.step for each in (one, other) if isfinite(each.low) and isfinite(each.high)]
    if len({*steps}) > 1 and all(steps):
        step = max(steps)
        return None if gap <= step / 2 else gap < step
    return False


def _covers_value(general: str | Quantity | None, narrow: str | Quantity | None) -> bool:
    """Return whether a value of `narrow` is one of `general`, as a red cloak is a cloak."""
    if general is None or general == narrow:
        return True
    if not isinstance(general, str) or not isinstance(narrow, str):
        return False
    if not general.startswith(PHRASE) or not narrow.startswith(PHRASE):
        return False
    head, *marks = general.split()
    other, *more = narrow.split()
    return head == other and set(marks) <= set(more)


def _is_one_in_other(one: str | Quantity | None, other: str | Quantity | None) -> bool:
    return _covers_value(one, other) or _covers_value(other, one)


def _label_of(attribute: str) -> str:
    family, divider, label = attribute.partition(":")
    return (label if divider else family).replace("_", " ")
