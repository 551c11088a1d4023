"""Judgement: the verdict on a candidate and the commit that it leads to, as one pure step."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from canonry.domain.canonization.acceptance import Acceptance, accept
from canonry.domain.fields import PROPOSAL_PREFIX
from canonry.domain.gates import GATES
from canonry.domain.gates.kit import Gate, Verdict, judge
from canonry.domain.ids import CommitId, ProposalId, derived_id
from canonry.domain.judging.candidates import Candidate, Unreadable
from canonry.domain.judging.contents import EntityContent, FactContent, references_of
from canonry.domain.judging.slices import (
    AxiomsLookup,
    Lookup,
    NameLookup,
    Slice,
    SliceView,
    StatementLookup,
    ThingLookup,
)
from canonry.domain.log.canon import beside, fold, needs
from canonry.domain.log.commits import Commit, Draft, Position
from canonry.domain.log.entries import Entry, ProposalDecided, ProposalDeferred
from canonry.domain.policy import Policy
from canonry.domain.revising import spread
from canonry.domain.texts.statements import plain_statement
from canonry.domain.things.entities import normalised_name
from canonry.domain.things.proposals import DecisionDraft, Proposal, ProposalStatus
from canonry.domain.time import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict with its entries.

    There are none while something is `wanted`, and where the log says already why the proposal
    needs review.
    """

    candidate: Candidate
    verdict: Verdict
    commit_id: CommitId
    entries: tuple[Entry, ...]
    reads: frozenset[str]
    wanted: frozenset[Lookup]


def commit_of_proposal(proposal_id: ProposalId) -> CommitId:
    """The id of the commit that decides a proposal: the same in every attempt and process."""
    return CommitId(derived_id(CommitId(proposal_id), "canonization"))


def commit_of_review(proposal: Proposal) -> CommitId:
    """The id of the commit that sends a proposal to review, as it stands now."""
    return CommitId(derived_id(CommitId(proposal.id), f"review:{proposal.changed_at}"))


def foreseen(candidate: Candidate) -> set[Lookup]:
    """What a judgement surely looks at, to be loaded at once; the rest is loaded as it is asked."""
    found: set[Lookup] = {ThingLookup(candidate.proposal.id)}
    found |= {ThingLookup(evidence.ref) for evidence in candidate.evidence}
    content = candidate.content
    if isinstance(content, Unreadable):
        return found
    for reference in references_of(content):
        if not reference.startswith("$"):
            found.add(ThingLookup(reference.removeprefix(PROPOSAL_PREFIX)))
    if isinstance(content, EntityContent):
        found.add(NameLookup(content.entity_type, normalised_name(content.name)))
    if isinstance(content, FactContent):
        found.add(StatementLookup(plain_statement(content.statement)))
    else:
        found.add(AxiomsLookup(candidate.proposal.space))
    return found


def decide(
    candidate: Candidate,
    known: Slice,
    policy: Policy,
    *,
    decided_by: str,
    gates: Iterable[Gate] = GATES,
) -> Judgement:
    """Judge a candidate by what is known, and write it up.

    Raises:
        BrokenInvariant: `canonization.unresolved`, a gate let something through.
    """
    proposal_id = candidate.proposal.id
    commit_id = commit_of_proposal(proposal_id)
    verdict = judge(candidate, known, policy, gates)
    view = SliceView(known, policy)
    entries: tuple[Entry, ...] = ()
    if not verdict.wanted and verdict.status is ProposalStatus.PENDING:
        proposal = view.thing(proposal_id)
        ruling = _decision(verdict, None, decided_by)
        if isinstance(proposal, Proposal) and not _is_told(proposal, ruling):
            commit_id = commit_of_review(proposal)
            entries = (ProposalDeferred(proposal_id=proposal_id, ruling=ruling),)
    elif not verdict.wanted:
        acceptance = None
        if verdict.status is ProposalStatus.ACCEPTED:
            acceptance = accept(
                candidate, verdict, view, lambda label: derived_id(commit_id, label)
            )
        decision = _decision(verdict, acceptance, decided_by)
        written = () if acceptance is None else acceptance.entries
        entries = (*written, ProposalDecided(proposal_id=proposal_id, decision=decision))
    return _judgement(candidate, verdict, view, commit_id, entries)


def overrule(
    candidate: Candidate, known: Slice, policy: Policy, *, decided_by: str, reason: str, rule: str
) -> Judgement:
    """Write a candidate up by the canon keeper's word, who says why; what stood against it falls.

    There are no entries where it cannot be written; its verdict says why.

    Raises:
        BrokenInvariant: `canonization.unresolved`, a gate let something through.
    """
    proposal_id = candidate.proposal.id
    commit_id = commit_of_proposal(proposal_id)
    verdict = judge(candidate, known, policy, GATES, overruling=True)
    view = SliceView(known, policy)
    entries: tuple[Entry, ...] = ()
    if not verdict.wanted and verdict.status is ProposalStatus.ACCEPTED:
        said = replace(verdict, rationale=reason, rule=rule)
        acceptance = accept(candidate, said, view, lambda label: derived_id(commit_id, label))
        decision = _decision(said, acceptance, decided_by)
        decided = ProposalDecided(proposal_id=proposal_id, decision=decision)
        entries = (*acceptance.entries, decided)
    return _judgement(candidate, verdict, view, commit_id, entries)


def _judgement(
    candidate: Candidate,
    verdict: Verdict,
    view: SliceView,
    commit_id: CommitId,
    entries: tuple[Entry, ...],
) -> Judgement:
    return Judgement(
        candidate=candidate,
        verdict=verdict,
        commit_id=commit_id,
        entries=entries,
        reads=verdict.reads | view.read,
        wanted=verdict.wanted | view.wanted,
    )


def foretold(draft: Draft, known: Slice, position: Position, now: Instant) -> Slice:
    """The slice as it will be once `draft` is in the log, for the proposals judged after it."""
    commit = Commit(**spread(draft), position=position, recorded_at=now, previous="", hash="")
    loaded = {one: known.things[one] for one in needs(draft.entries) if one in known.things}
    more = beside(draft.entries, loaded)
    loaded |= {one: known.things[one] for one in more if one in known.things}
    return known.after(fold(commit, loaded))


def _rationale(verdict: Verdict, acceptance: Acceptance | None) -> str:
    if acceptance is None or acceptance.known is None:
        return verdict.rationale
    return f"{verdict.rationale}; already canon: {acceptance.known}"


def _is_told(proposal: Proposal, ruling: DecisionDraft) -> bool:
    """Whether the log has this ruling already, whoever gave it."""
    told = proposal.review
    return told is not None and (told.rule, told.rationale, told.graded) == (
        ruling.rule,
        ruling.rationale,
        ruling.graded,
    )


def _decision(verdict: Verdict, acceptance: Acceptance | None, decided_by: str) -> DecisionDraft:
    return DecisionDraft(
        status=verdict.status,
        rule=verdict.rule,
        rationale=_rationale(verdict, acceptance),
        score=verdict.score.value,
        conflicts=verdict.conflicts,
        graded=verdict.graded,
        canonical_id=None if acceptance is None else acceptance.canonical_id,
        made=() if acceptance is None else acceptance.made,
        decided_by=decided_by,
    )
