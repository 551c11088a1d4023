"""What a gate is: a rule with an id that may object to a proposal, and how objections are weighed.

A gate is pure: it asks a `SliceView` and yields objections. `judge` weighs the objections of all
gates into a verdict that names the rule, the ids in conflict, and the keys that it rests on.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias, TypeVar

from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.slices import Lookup, Score, Slice, SliceView, score_of, standing_of
from canonry.canon.judging.state_tags import TagHeld
from canonry.log.items.proposals import Grade, GradedConflict, Proposal, ProposalStatus
from canonry.values.audience import ANYBODY, EVERYBODY, Audience, Viewer
from canonry.values.fields import revised
from canonry.values.policy import Policy
from canonry.values.provenance import Authority, may_end, outranks

T = TypeVar("T")
ACCEPTED_RULE: Final = "gate:score-reaches-threshold"
"""The rule that stands behind an acceptance to which nothing objects."""


class Weight(StrEnum):
    """What an objection means for the proposal.

    `REFUSES`: no authority helps. `DEFERS`: it stays pending. `CONTRADICTS`: canon stands against
    it, and falls where the proposal outranks it. `SUPERSEDES`: what held until then ends. `ENDS`:
    the same, where that is all that the proposal says. No lower word ends what a higher one said,
    so it stays pending for review. `PRECEDES`: it held until what the rivals say, whoever was heard
    first. `WARNS`: it is told and changes nothing; the things that it
    names perhaps conflict with the proposal.
    """

    REFUSES = "refuses"
    DEFERS = "defers"
    CONTRADICTS = "contradicts"
    SUPERSEDES = "supersedes"
    ENDS = "ends"
    PRECEDES = "precedes"
    WARNS = "warns"


Rival: TypeAlias = TagHeld | str
"""What stands against a proposal: a tag, or the id of a fact, relation or event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """What a gate says; `authority` is the strongest word behind the rivals.

    `taken_back`: the proposal comes later in the scene that told them, so that a word of the same
    authority is enough. `dated`: it says from when it holds, and they do not, or it is told later,
    so that where it is enough they end there, and held until then.
    """

    weight: Weight
    rationale: str
    conflicts: tuple[str, ...] = ()
    rivals: tuple[Rival, ...] = ()
    authority: Authority = Authority.SYSTEM
    taken_back: bool = False
    dated: bool = False
    rule: str = ""

    def yields_to(self, word: Authority) -> bool:
        """Whether what contradicts falls to this word."""
        enough = may_end if self.taken_back else outranks
        return enough(word, self.authority)


Examine: TypeAlias = Callable[[Candidate, SliceView], Iterator[Objection]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One rule."""

    id: str
    examine: Examine

    def looking(self, candidate: Candidate, known: Slice, policy: Policy) -> SliceView:
        """The view once this rule has looked at `candidate`: what its word rests on, and wants."""
        view = SliceView(known, policy)
        for _objection in self.examine(candidate, view):
            pass
        return view


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a proposal fares; `status` PENDING means that it needs review.

    `graded` is what it does not go with, or perhaps not; `retcons` what falls, `supersedes` what
    ends for what it says, `ends` what it says to end, `heirs` what ended it, `reads` the keys that
    all this rests on, `wanted` what must be loaded before it counts.
    """

    status: ProposalStatus
    rule: str
    rationale: str
    score: Score
    graded: tuple[GradedConflict, ...] = ()
    retcons: tuple[Rival, ...] = ()
    supersedes: tuple[Rival, ...] = ()
    ends: tuple[Rival, ...] = ()
    heirs: tuple[Rival, ...] = ()
    warnings: tuple[str, ...] = ()
    audience: Audience = EVERYBODY
    reads: frozenset[str] = frozenset()
    wanted: frozenset[Lookup] = frozenset()

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The ids of what contradicts it."""
        return _each(one.id for one in self.graded if one.grade is Grade.CONTRADICTION)


def judge(
    candidate: Candidate,
    known: Slice,
    policy: Policy,
    gates: Iterable[Gate],
    *,
    viewer: Viewer = ANYBODY,
    overruling: bool = False,
) -> Verdict:
    """Weigh what the gates say, in their order; the first refusal decides.

    `overruling`: the canon keeper has decided for the proposal; no score and no standing is in its
    way, only what cannot be written and what a law of the world forbids. What has too little weight
    is told what it conflicts with all the same.
    """
    view = SliceView(known, policy, viewer)
    proposal = view.thing(candidate.proposal.id)
    waived = proposal.waived if isinstance(proposal, Proposal) else ()
    score = score_of(candidate.proposal, standing_of(candidate.proposal, view), policy.scoring)
    found: list[Objection] = []
    light: Objection | None = None
    for gate in gates:
        if overruling and gate.id == ACCEPTED_RULE:
            continue
        for objection in gate.examine(candidate, view):
            told = revised(objection, rule=gate.id)
            if gate.id == ACCEPTED_RULE:
                light = told
            elif told.weight in {Weight.REFUSES, Weight.DEFERS}:
                return _turned_away((light or told,), score, view)
            elif not _is_waived(told, waived):
                found.append(told)
    if light is not None:
        named = [one for one in found if one.weight in {Weight.CONTRADICTS, Weight.WARNS}]
        return _turned_away((light, *named), score, view)
    return _weighed(found, score, view, overruling=overruling)


def _is_waived(objection: Objection, waived: Sequence[str]) -> bool:
    """Whether all that it perhaps conflicts with is meant to be so."""
    named = set(objection.conflicts)
    return objection.weight is Weight.WARNS and bool(named) and named <= set(waived)


def _turned_away(objections: Sequence[Objection], score: Score, view: SliceView) -> Verdict:
    """The first objection decides; the others name what else there is."""
    objection = objections[0]
    refused = objection.weight is Weight.REFUSES
    return Verdict(
        status=ProposalStatus.REJECTED if refused else ProposalStatus.PENDING,
        rule=objection.rule,
        rationale=objection.rationale,
        score=score,
        graded=_graded(objections),
        reads=frozenset(view.read),
        wanted=frozenset(view.wanted),
    )


def _weighed(found: list[Objection], score: Score, view: SliceView, *, overruling: bool) -> Verdict:
    against = [one for one in found if one.weight is Weight.CONTRADICTS]
    word = Authority.GM if overruling else score.authority
    lost = [one for one in against if not one.yields_to(word)]
    doubts = [one for one in found if one.weight is Weight.WARNS]
    warnings = tuple([one.rationale for one in doubts])
    reads, wanted = frozenset(view.read), frozenset(view.wanted)
    if lost:
        return Verdict(
            status=ProposalStatus.REJECTED,
            rule=lost[0].rule,
            rationale="; ".join(dict.fromkeys(one.rationale for one in lost)),
            score=score,
            graded=_graded((*lost, *doubts)),
            warnings=warnings,
            reads=reads,
            wanted=wanted,
        )
    unheard = [
        one
        for one in found
        if one.weight in {Weight.SUPERSEDES, Weight.ENDS} and not may_end(word, one.authority)
    ]
    if unheard:
        return Verdict(
            status=ProposalStatus.PENDING,
            rule=unheard[0].rule,
            rationale=_review(unheard, score),
            score=score,
            graded=_graded((*unheard, *doubts)),
            warnings=warnings,
            reads=reads,
            wanted=wanted,
        )
    fallen = [one for one in against if not one.dated]
    ended = [one for one in found if one.weight is Weight.SUPERSEDES or one.dated]
    heirs = [one for one in found if one.weight is Weight.PRECEDES]
    deciding = against or ended
    return Verdict(
        status=ProposalStatus.ACCEPTED,
        rule=deciding[0].rule if deciding else ACCEPTED_RULE,
        rationale=_reason(fallen, ended, heirs, score, warnings),
        score=score,
        graded=_graded((*against, *doubts)),
        retcons=_each(rival for one in fallen for rival in one.rivals),
        supersedes=_each(rival for one in ended for rival in one.rivals),
        ends=_each(r for one in found if one.weight is Weight.ENDS for r in one.rivals),
        heirs=_each(rival for one in heirs for rival in one.rivals),
        warnings=warnings,
        reads=reads,
        wanted=wanted,
    )


def _graded(objections: Iterable[Objection]) -> tuple[GradedConflict, ...]:
    """What the objections name, each once; a contradiction is told rather than a possible one."""
    found: dict[str, GradedConflict] = {}
    for one in sorted(objections, key=lambda each: each.weight is Weight.WARNS):
        grade = Grade.POSSIBLE if one.weight is Weight.WARNS else Grade.CONTRADICTION
        for named in one.conflicts:
            found.setdefault(named, GradedConflict(id=named, grade=grade, reason=one.rationale))
    return tuple(found.values())


def _review(unheard: list[Objection], score: Score) -> str:
    said = "; ".join(dict.fromkeys(one.rationale for one in unheard))
    why = f"the authority {score.authority} cannot override a higher one"
    return f"needs review: {why}: {said}"


def _reason(
    against: list[Objection],
    ended: list[Objection],
    heirs: list[Objection],
    score: Score,
    warnings: tuple[str, ...],
) -> str:
    said = f"accepted on the authority {score.authority} with a score of {score.value:g}"
    parts = [
        said,
        *[f"retconned: {one.rationale}" for one in against],
        *[f"superseded: {one.rationale}" for one in ended],
        *[f"ended by later canon: {one.rationale}" for one in heirs],
        *[f"warning: {one}" for one in warnings],
    ]
    return "; ".join(dict.fromkeys(parts))


def _each(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))
