"""The judgement of one claim in the simple model, by the canon that its audience sees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from tests.campaign.holds_model import (
    Attribute,
    Erasure,
    Key,
    Log,
    Retraction,
    Scene,
    Statement,
    View,
)

PUBLIC: frozenset[str] = frozenset({"*"})
Outcome = Literal["accepted", "refused", "waits"]
Grade = Literal["contradiction", "change", "order not told", "possible", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    outcome: Outcome
    log: Log
    against: tuple[tuple[Grade, str], ...] = ()


def has_time(view: View, s: Statement) -> bool:
    """Return whether a statement, its scene, or the statement that it corrects gives its time."""
    scenes = {e.id: e for _, e in view.entries if isinstance(e, Scene)}
    origin = next(
        (e for _, e in view.entries if isinstance(e, Statement) and e.id == s.corrects), None
    )
    return bool(s.span or (s.scene and scenes[s.scene].span) or (origin and has_time(view, origin)))


def is_sure(view: View, a: Statement, b: Statement) -> bool:
    """Return whether the order of two statements is stated: by times or by one story."""
    scenes = {e.id: e.story for _, e in view.entries if isinstance(e, Scene)}
    if a.scene and b.scene and not a.span and not b.span and scenes[a.scene] == scenes[b.scene]:
        return True
    return has_time(view, a) == has_time(view, b) and (
        has_time(view, a) or not (a.scene or b.scene)
    )


def grade_statements(  # noqa: PLR0911 - one case a rule
    view: View, new: Statement, old: Statement
) -> Grade:
    """Grade two statements of one timeline by their values and by how sure their order is."""
    one, at_new, at_old = view.table[new.attribute], view.keys[new.id], view.keys[old.id]
    moved = one.places and new.value.startswith("@") != old.value.startswith("@")
    changes = new.change or moved  # to take something up or lay it down is a change
    anew = new.positive and old.change and not old.positive  # what ended may begin anew
    same = not (new.value and old.value) or view.root_of(new.value) == view.root_of(old.value)
    agree = not same if new.positive != old.positive else same or one.many or not new.positive
    if agree or view.erased_ids(old.id):
        return ""
    if one.places and (
        old.value in view.location_chain(new.value, at_new)
        or new.value in view.location_chain(old.value, at_new)
    ):
        return ""
    if one.fixed:
        return "contradiction"
    if not is_sure(view, new, old):
        return "possible"
    if not (has_time(view, new) or new.scene or old.scene) and at_new[0] == at_old[0]:
        if changes:
            return "change"
        if anew:
            return "possible"
        return "contradiction" if new.author == old.author else "order not told"
    covered = at_old[0] <= at_new[0] < (old.until or -inf) or at_new[0] <= at_old[0] < (
        new.until or -inf
    )
    in_one_scene = bool(new.scene) and new.scene == old.scene and not (new.span or old.span)
    in_one_story = (
        bool(new.scene and old.scene) and at_new[1] != at_old[1] and not (new.span or old.span)
    )
    if in_one_scene or covered or (at_new[0] == at_old[0] and not in_one_story):
        return "change" if changes and at_new > at_old else "possible" if anew else "contradiction"
    return "change" if at_old < at_new else ""


def turn_statement(view: View, s: Statement, side: str) -> Statement:
    """Return a statement with one of its sides as the subject; two who marry have two sides."""
    if not view.table[s.attribute].symmetric or view.root_of(s.subject) == side:
        return s
    return replace(s, subject=s.value, value=s.subject)


def list_conflicts(view: View, new: Statement) -> list[tuple[Grade, Statement]]:
    """Return the standing statements that speak against a new one, with their grades."""
    one, own = view.table[new.attribute], {view.root_of(new.subject)}
    own |= {view.root_of(new.value)} if one.symmetric and new.value else set()
    found: list[tuple[Grade, Statement]] = []
    for old in view.standing_statements(new.attribute):
        ends = {view.root_of(old.subject)} | (
            {view.root_of(old.value)} if one.symmetric and old.value else set()
        )
        shared = sorted(ends & own)
        if old.id != new.id and shared:
            here, there = (turn_statement(view, each, shared[0]) for each in (new, old))
            found.append((grade_statements(view, here, there), old))
    for dead in view.standing_statements("life") if one.living and new.positive else ():
        if dead.scene and dead.scene == new.scene and not (dead.span or new.span):
            continue  # who dies in a scene may act in it before
        if (
            dead.value == "dead"
            and view.root_of(dead.subject) in own
            and not view.erased_ids(dead.id)
        ):
            stretches = view.holding_stretches(dead.subject, "life")
            if any(dead.id in s.ids and s.begins <= view.keys[new.id] < s.ends for s in stretches):
                found.append(("contradiction" if is_sure(view, new, dead) else "possible", dead))
    return [(grade, old) for grade, old in found if grade]


def is_over(view: View, new: Statement, old: Statement) -> bool:
    """Return whether a denial of its scene comes after a change there that ended what it denies."""
    if new.positive or not old.positive or not new.scene or new.scene != old.scene:
        return False
    known = View(view.table, view.log[:-1], viewer=view.viewer).holding_stretches(
        old.subject, old.attribute
    )
    over = [s for s in known if old.id in s.ids and s.begins <= view.keys[new.id]]
    return bool(over) and all(s.ends <= view.keys[new.id] for s in over)


def corrected_by(view: View, new: Statement) -> Iterator[str]:
    """Yield the statement that a correction replaces, and those that this one had replaced."""
    wrong = {e.id: e.corrects for _, e in view.entries if isinstance(e, Statement)}
    one = new.corrects if new.corrects in wrong and view.is_standing(new.corrects) else ""
    while one:
        yield one
        one = wrong[one]


def judge_claim(
    table: dict[str, Attribute], log: Log, new: Statement, *, replaces: str = "", own: bool = False
) -> Verdict:
    """Judge a claim, and return the log after it; a refusal leaves the log as it was."""
    if new.modality != "asserted" or new.holder != "world":
        return Verdict(outcome="accepted", log=(*log, new))
    wrong = [e for e in log if isinstance(e, Statement) and e.id == replaces]
    for old in wrong:  # without a time of its own, it is of the moment of what it corrects
        new = replace(new, corrects=replaces, scene=new.scene if new.span else old.scene)
    view = View(table, (*log, new), viewer=PUBLIC if new.audience is None else new.audience)
    against = [(g, old) for g, old in list_conflicts(view, new) if not is_over(view, new, old)]
    waits = any(
        s.id == replaces and s.authority > new.authority
        for s in view.standing_statements(new.attribute)
    )
    for grade, old in against:
        overruled = old.id == replaces or (own and old.author == new.author)
        if grade == "contradiction" and old.authority > new.authority and old.id != replaces:
            return Verdict(outcome="refused", log=log, against=((grade, old.id),))
        if grade == "contradiction" and old.authority == new.authority and not overruled:
            return Verdict(outcome="refused", log=log, against=((grade, old.id),))
        sides = (new.subject, *((new.value,) if table[new.attribute].symmetric else ()))
        known = View(table, log, viewer=view.viewer)
        before = [s for each in sides if each for s in known.holding_stretches(each, new.attribute)]
        now = view.keys[new.id]
        current = {i for s in before if s.begins <= now < s.ends for i in s.ids}
        current = {i for i in current if known.keys[i] <= now}  # not what is stated again later
        may_end = grade in ("change", "possible") and not table[new.attribute].fixed
        waits = waits or (may_end and old.authority > new.authority and old.id in current)
    if waits:
        return Verdict(outcome="waits", log=log, against=tuple((g, o.id) for g, o in against))
    gone = [old.id for grade, old in against if grade == "contradiction" or old.id == replaces]
    gone += [one for one in corrected_by(view, new) if one not in gone]
    retractions = (
        Retraction(id=f"{new.id}>{g}", target=g, cause=new.id, audience=new.audience) for g in gone
    )
    return Verdict(
        outcome="accepted",
        log=(*log, new, *retractions),
        against=tuple((g, o.id) for g, o in against),
    )


def erase_statement(table: dict[str, Attribute], log: Log, erasure_id: str, target: str) -> Log:
    """Empty a statement; the statements that it did not end continue to hold."""
    view = View(table, log)
    gone = next(e for _, e in view.entries if isinstance(e, Statement) and e.id == target)
    stretches = view.holding_stretches(gone.subject, gone.attribute)
    same = {
        s.id
        for s in view.standing_statements(gone.attribute)
        if (s.value == gone.value) == gone.positive
    }

    def stand_at(key: Key) -> frozenset[str]:
        return frozenset(i for s in stretches if s.begins <= key < s.ends for i in s.ids)

    later = stand_at((inf if gone.until is None else gone.until, -inf, view.keys[target][2]))
    return (
        *log,
        Erasure(
            id=erasure_id,
            target=target,
            spared=stand_at(view.keys[target]) & same,
            spared_later=later,
        ),
    )
