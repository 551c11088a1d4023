"""Gates and verdicts: rules that object to a proposal, and the weighing of their objections.

A gate is pure: it reads a `SliceView` and yields objections. `judge_candidate` combines the
objections of all gates into a verdict with the rule, the conflicting ids, and the keys that were
read.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from canonry.canon.judging import slices
from canonry.canon.judging.candidates import Candidate
from canonry.canon.judging.contents import CorrectingContent
from canonry.canon.judging.state_tags import TagHeld
from canonry.log.items.proposals import Grade, GradedConflict, Proposal, ProposalStatus
from canonry.values.audience import ANYBODY, Viewer
from canonry.values.fields import with_changes
from canonry.values.policy import Policy
from canonry.values.provenance import Authority, may_end, may_retcon

T = TypeVar("T")
ACCEPTED_RULE: Final = "gate:score-reaches-threshold"
"""The rule of an acceptance without objections."""


class Weight(StrEnum):
    """The effect of an objection on the proposal.

    `REFUSES`: no authority helps. `DEFERS`: it stays pending. `ASKS`: the same, until a keeper
    says whether it is about the conflicting item. `CONTRADICTS`: conflicting canon is
    retconned if the proposal outranks it. `CORRECTS`: the proposal names it as wrong. `SUPERSEDES`:
    the earlier statement ends. `ENDS`: the same, for a proposal that only ends it. A lower
    authority cannot end or correct the statement of a higher one, so the proposal waits for review.
    `PRECEDES`: the proposal holds until the later statement, whatever the order of acceptance.
    `WARNS`: a possible conflict that changes nothing.
    """

    REFUSES = "refuses"
    DEFERS = "defers"
    ASKS = "asks"
    CONTRADICTS = "contradicts"
    CORRECTS = "corrects"
    SUPERSEDES = "supersedes"
    ENDS = "ends"
    PRECEDES = "precedes"
    WARNS = "warns"


_WAITING: Final = (Weight.REFUSES, Weight.DEFERS, Weight.ASKS)
_POSSIBLE: Final = (Weight.WARNS, Weight.ASKS)
ConflictingItem: TypeAlias = TagHeld | str
"""A conflicting statement: a tag, or the id of a fact, relation or event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """The finding of a gate; `authority` is the highest authority behind the conflicts.

    `taken_back`: a later turn of the same scene corrects them, so equal authority is enough.
    """

    weight: Weight
    rationale: str
    conflicts: tuple[str, ...] = ()
    conflicting: tuple[ConflictingItem, ...] = ()
    authority: Authority = Authority.SYSTEM
    taken_back: bool = False
    rule: str = ""


Examine: TypeAlias = Callable[[Candidate, Any, slices.SliceView], Iterator[Objection]]
"""Yields what speaks against a candidate, by its content and a view of the canon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A rule with an id, for contents of some kinds."""

    id: str
    kinds: tuple[type, ...]
    examine: Examine

    def find_objections(self, candidate: Candidate, view: slices.SliceView) -> Iterable[Objection]:
        """Return the rule's objections; contents of other kinds get none."""
        content = candidate.content
        return self.examine(candidate, content, view) if isinstance(content, self.kinds) else ()


def make_gate(*kinds: type) -> Callable[[Examine], Gate]:
    """Make a function the rule of its name for contents of these kinds, or of all that are read."""

    def gate_of(examine: Examine) -> Gate:
        name = examine.__name__.replace("_", "-")
        return Gate(id=f"gate:{name}", kinds=kinds or (CorrectingContent,), examine=examine)

    return gate_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The combined result of all gates; `status` PENDING means that it needs review.

    `graded` lists contradictions and possible conflicts. `retcons` are retconned, `supersedes` end
    because of the statement, and `successors` are later statements that end it.
    `endings` tell what ended: the ids of the items, with what they say.
    `reads` are the keys read, and `wanted` the lookups to load before the verdict counts.
    """

    status: ProposalStatus
    rule: str
    rationale: str
    score: slices.Score
    graded: tuple[GradedConflict, ...] = ()
    retcons: tuple[ConflictingItem, ...] = ()
    supersedes: tuple[ConflictingItem, ...] = ()
    successors: tuple[ConflictingItem, ...] = ()
    endings: tuple[tuple[str, str], ...] = ()
    reads: frozenset[str] = frozenset()
    wanted: frozenset[slices.Lookup] = frozenset()

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Return the ids of contradictions."""
        return tuple(dict.fromkeys(e.id for e in self.graded if e.grade is Grade.CONTRADICTION))


def judge_candidate(
    candidate: Candidate,
    known: slices.Slice,
    policy: Policy,
    gates: Iterable[Gate],
    *,
    viewer: Viewer = ANYBODY,
    overruling: bool = False,
) -> Verdict:
    """Combine the objections of all gates in order; the first refusal decides.

    `overruling`: the canon keeper has accepted the proposal. Score and authority do not count then;
    only unwritable content and axioms refuse it. A proposal with too low a score still reports its
    conflicts.
    """
    view = slices.SliceView(known, policy, viewer)
    proposal = view.find_item(candidate.proposal.id)
    waived = set(proposal.waived) if isinstance(proposal, Proposal) else set[str]()
    score = slices.score_of(
        candidate.proposal, slices.effective_authority(candidate.proposal, view), policy.scoring
    )
    found: list[Objection] = []
    light: Objection | None = None
    for gate in gates:
        if overruling and gate.id == ACCEPTED_RULE:
            continue
        for objection in gate.find_objections(candidate, view):
            ruled = with_changes(objection, rule=gate.id)
            if gate.id == ACCEPTED_RULE:
                light = ruled
            elif ruled.weight in _WAITING and not (ruled.weight is Weight.ASKS and overruling):
                return _decide_by_first((light or ruled,), score, view)
            elif (
                ruled.weight not in _POSSIBLE or {*ruled.conflicts} - waived or not ruled.conflicts
            ):
                found.append(ruled)
    if light is not None:
        named = [one for one in found if one.weight in {Weight.CONTRADICTS, Weight.WARNS}]
        return _decide_by_first((light, *named), score, view)
    return _weigh_objections(found, score, view, overruling=overruling)


def _decide_by_first(
    objections: Sequence[Objection], score: slices.Score, view: slices.SliceView
) -> Verdict:
    """Decide by the first objection; the others are reported."""
    objection = objections[0]
    refused = objection.weight is Weight.REFUSES
    return Verdict(
        status=ProposalStatus.REJECTED if refused else ProposalStatus.PENDING,
        rule=objection.rule,
        rationale=objection.rationale,
        score=score,
        graded=_grade_conflicts(objections),
        reads=frozenset(view.read),
        wanted=frozenset(view.wanted),
    )


def _weigh_objections(
    found: list[Objection], score: slices.Score, view: slices.SliceView, *, overruling: bool
) -> Verdict:
    against, ended, succeeding, doubts, strict, equal = (
        [one for one in found if one.weight in weights]
        for weights in (_AGAINST, _ENDED, _SUCCESSORS, _DOUBTS, _STRICT, _WITH_EQUAL)
    )
    authority = Authority.GM if overruling else score.authority
    given = partial(Verdict, score=score, reads=frozenset(view.read), wanted=frozenset(view.wanted))
    enough = [(one, may_end if one.taken_back else may_retcon) for one in strict]
    if lost := [one for one, yields in enough if not yields(authority, one.authority)]:
        return given(
            status=ProposalStatus.REJECTED,
            rule=lost[0].rule,
            rationale="; ".join(dict.fromkeys(one.rationale for one in lost)),
            graded=_grade_conflicts((*lost, *doubts)),
        )
    if unheard := [one for one in equal if not may_end(authority, one.authority)]:
        rationales = "; ".join(dict.fromkeys(one.rationale for one in unheard))
        why = f"the authority {score.authority} cannot override a higher one"
        return given(
            status=ProposalStatus.PENDING,
            rule=unheard[0].rule,
            rationale=f"needs review: {why}: {rationales}",
            graded=_grade_conflicts((*unheard, *doubts)),
        )
    reasons = [f"accepted on the authority {score.authority} with a score of {score.value:g}"]
    for how, objections in (
        ("retconned", against),
        ("superseded", ended),
        ("ended by later canon", succeeding),
        ("warning", doubts),
    ):
        reasons += [f"{how}: {one.rationale}" for one in objections]
    deciding = against or ended
    over = (one for one in found if one.weight in {Weight.SUPERSEDES, Weight.ENDS})
    return given(
        status=ProposalStatus.ACCEPTED,
        rule=deciding[0].rule if deciding else ACCEPTED_RULE,
        rationale="; ".join(dict.fromkeys(reasons)),
        graded=_grade_conflicts((*against, *doubts)),
        retcons=tuple(dict.fromkeys(other for one in against for other in one.conflicting)),
        supersedes=tuple(dict.fromkeys(other for one in ended for other in one.conflicting)),
        successors=tuple(dict.fromkeys(other for one in succeeding for other in one.conflicting)),
        endings=tuple({named: one.rationale for one in over for named in one.conflicts}.items()),
    )


_AGAINST: Final = (Weight.CORRECTS, Weight.CONTRADICTS)
_STRICT: Final = (Weight.CONTRADICTS,)
_ENDED: Final = (Weight.SUPERSEDES,)
_SUCCESSORS: Final = (Weight.PRECEDES,)
_DOUBTS: Final = (Weight.WARNS,)
_WITH_EQUAL: Final = (Weight.CORRECTS, Weight.SUPERSEDES, Weight.ENDS)


def _grade_conflicts(objections: Iterable[Objection]) -> tuple[GradedConflict, ...]:
    """Return the conflicts of the objections, each once, with the more serious grade."""
    found: dict[str, GradedConflict] = {}
    for one in sorted(objections, key=lambda each: each.weight in _POSSIBLE):
        grade = Grade.POSSIBLE if one.weight in _POSSIBLE else Grade.CONTRADICTION
        for named in one.conflicts:
            found.setdefault(named, GradedConflict(id=named, grade=grade, reason=one.rationale))
    return tuple(found.values())
