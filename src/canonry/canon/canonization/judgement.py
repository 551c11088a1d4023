"""Judgement: the verdict on a candidate and the commit that it leads to, as one pure step."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from canonry.canon.canonization.acceptance import Acceptance, accept
from canonry.canon.judging.candidates import Candidate, Unreadable
from canonry.canon.judging.contents import (
    EntityContent,
    EventContent,
    FactContent,
    StateChangeContent,
    references_of,
)
from canonry.canon.judging.gates import GATES
from canonry.canon.judging.gates.events import EVENT_TOLD_BEFORE
from canonry.canon.judging.gates.kit import Rival, Verdict, judge
from canonry.canon.judging.known_things import tag_statement
from canonry.canon.judging.settling import settled
from canonry.canon.judging.slices import (
    AxiomsLookup,
    ConflictLookup,
    Lookup,
    NameLookup,
    Slice,
    SliceView,
    StatementLookup,
    ThingLookup,
)
from canonry.canon.judging.standing_tags import as_held, as_state, changes_of
from canonry.canon.judging.tag_changes import said_until
from canonry.language.clauses.keys import rival_keys
from canonry.language.texts.sentences import plain_statement
from canonry.log.canon import Changes, fold
from canonry.log.commits import Commit, Draft, Position
from canonry.log.entries import Entry, ProposalDecided, ProposalDeferred, SceneExtended, Thing
from canonry.log.items.entities import Entity, normalised_name
from canonry.log.items.facts import Relation
from canonry.log.items.proposals import DecisionDraft, Proposal, ProposalStatus
from canonry.log.items.scenes import SceneStatus
from canonry.log.observing import under
from canonry.values.audience import ALL_SEEING, GAME_MASTERS, Audience, viewer_of
from canonry.values.fields import PROPOSAL_PREFIX, Reference, spread
from canonry.values.ids import CommitId, ProposalId, derived_id
from canonry.values.moments import Instant
from canonry.values.policy import Policy

KEPT_RULE: Final = "review:secret"
"""The rule by which a proposal waits whose acceptance would touch what few may know."""


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
        about = [one for one in content.involved if not one.startswith(("$", PROPOSAL_PREFIX))]
        keys = rival_keys(content.statement, about, content.properties)
        found |= set(map(ConflictLookup, keys))
    else:
        found.add(AxiomsLookup(candidate.proposal.space))
    return found


def foreseen_then(candidate: Candidate, known: Slice, policy: Policy) -> Iterator[Lookup]:
    """What it surely looks at beside that, once the things that it names are known."""
    content = candidate.content
    if isinstance(content, EventContent):
        yield from EVENT_TOLD_BEFORE.looking(candidate, known, policy).wanted
    if not isinstance(content, StateChangeContent):
        return
    entity = known.things.get(content.entity)
    if isinstance(entity, Entity):
        for name in entity.known_as:
            for tag in as_held(entity, (*content.add, *content.remove)):
                for holds in (True, False):
                    statement = tag_statement(name, tag, holds=holds)
                    yield StatementLookup(plain_statement(statement))


def decide(candidate: Candidate, known: Slice, policy: Policy, *, decided_by: str) -> Judgement:
    """Judge a candidate by what is known, and write it up.

    Raises:
        BrokenInvariant: `canonization.unresolved`, a gate let something through.
    """
    proposal_id = candidate.proposal.id
    commit_id = commit_of_proposal(proposal_id)
    audience = candidate.proposal.audience
    viewer = viewer_of(audience)
    view = SliceView(known, policy, viewer)
    candidate = as_state(candidate, view)
    verdict = judge(candidate, known, policy, GATES, viewer=viewer)
    if known.secrets and not viewer.masters:
        whole = judge(candidate, known, policy, GATES, viewer=ALL_SEEING)
        alike = _touches(verdict, SliceView(known, policy, viewer)) == _touches(
            whole, SliceView(known, policy, ALL_SEEING)
        )
        verdict = _beside_secrets(verdict, whole, alike=alike)
    entries: tuple[Entry, ...] = ()
    if not verdict.wanted and verdict.status is ProposalStatus.PENDING:
        proposal = view.thing(proposal_id)
        ruling = _decision(verdict, None, decided_by)
        if isinstance(proposal, Proposal) and not _is_told(proposal, ruling):
            commit_id = CommitId(derived_id(CommitId(proposal.id), f"review:{proposal.changed_at}"))
            entries = (ProposalDeferred(proposal_id=proposal_id, ruling=ruling),)
    elif not verdict.wanted:
        acceptance = None
        if verdict.status is ProposalStatus.ACCEPTED:
            acceptance = accept(
                candidate, verdict, view, lambda label: derived_id(commit_id, label)
            )
        decision = _decision(verdict, acceptance, decided_by)
        entries = _written(candidate, acceptance, decision, audience)
    return _settled(candidate, verdict, view, known, commit_id=commit_id, entries=entries)


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
    viewer = viewer_of(candidate.proposal.audience)
    view = SliceView(known, policy, viewer)
    candidate = as_state(candidate, view)
    verdict = judge(candidate, known, policy, GATES, viewer=viewer, overruling=True)
    entries: tuple[Entry, ...] = ()
    if not verdict.wanted and verdict.status is ProposalStatus.ACCEPTED:
        said = replace(verdict, rationale=reason, rule=rule)
        acceptance = accept(candidate, said, view, lambda label: derived_id(commit_id, label))
        decision = _decision(said, acceptance, decided_by)
        entries = _written(candidate, acceptance, decision, candidate.proposal.audience)
    return _settled(candidate, verdict, view, known, commit_id=commit_id, entries=entries)


def _written(
    candidate: Candidate, acceptance: Acceptance | None, decision: DecisionDraft, audience: Audience
) -> tuple[Entry, ...]:
    """What a decision writes; a scene that is closed already gets what it became as well."""
    decided = ProposalDecided(proposal_id=candidate.proposal.id, decision=decision)
    if acceptance is None:
        return (decided,)
    written = under(acceptance.entries, audience)
    scene = candidate.scene
    if scene is None or scene.status is not SceneStatus.COMPLETED:
        return (*written, decided)
    outcomes = (acceptance.canonical_id, *acceptance.made)
    return (*written, decided, SceneExtended(scene_id=scene.id, outcomes=outcomes))


def _touches(verdict: Verdict, view: SliceView) -> tuple[object, ...]:
    """What becomes of a proposal, what is said to end by it, and each word that falls with it."""
    ends = {_says(one, view) for one in (*verdict.supersedes, *verdict.ends)}
    falls: set[object] = set()
    for one in verdict.retcons:
        if isinstance(one, str):
            falls.add(one)
        elif (entity := view.entity(Reference(one.entity_id))) is not None:
            falls |= {(one.tag, said) for said in said_until(changes_of(entity), one.change)}
    return verdict.status, ends, falls


def _says(rival: Rival, view: SliceView) -> object:
    """What ends: a tag, or what a relation says; whoever said it, it ends for all."""
    if not isinstance(rival, str):
        return rival.entity_id, rival.tag
    thing = view.thing(rival)
    if isinstance(thing, Relation):
        return thing.rel_type, view.roots((thing.from_id, thing.to_id))
    return rival


def _beside_secrets(verdict: Verdict, whole: Verdict, *, alike: bool) -> Verdict:
    """What everybody may know decides; what stands against it in secret makes it wait for review.

    Why it waits, and what it perhaps conflicts with in secret, is for the game masters alone.
    """
    known = {one.id for one in verdict.graded}
    more = [replace(one, audience=GAME_MASTERS) for one in whole.graded if one.id not in known]
    verdict = replace(
        verdict, reads=verdict.reads | whole.reads, wanted=verdict.wanted | whole.wanted
    )
    if alike or verdict.status is not ProposalStatus.ACCEPTED:
        return replace(verdict, graded=(*verdict.graded, *more))
    return replace(
        verdict,
        status=ProposalStatus.PENDING,
        rule=KEPT_RULE,
        rationale=f"needs review: a secret stands against it: {whole.rationale}",
        graded=(*(replace(one, audience=GAME_MASTERS) for one in verdict.graded), *more),
        retcons=(),
        supersedes=(),
        ends=(),
        audience=GAME_MASTERS,
    )


def _settled(
    candidate: Candidate,
    verdict: Verdict,
    view: SliceView,
    known: Slice,
    *,
    commit_id: CommitId,
    entries: tuple[Entry, ...],
) -> Judgement:
    """The judgement, with what its entries make of their lines for those who know more of them."""
    judgement = Judgement(
        candidate=candidate,
        verdict=verdict,
        commit_id=commit_id,
        entries=entries,
        reads=verdict.reads | view.read,
        wanted=verdict.wanted | view.wanted,
    )
    accepted = verdict.status is ProposalStatus.ACCEPTED
    if not known.secrets or not accepted or judgement.wanted:
        return judgement
    more = settled(known, view.policy, entries, partial(derived_id, commit_id))
    return replace(
        judgement,
        entries=() if more.wanted else (*entries, *more.entries),
        reads=judgement.reads | more.reads,
        wanted=more.wanted,
    )


def foretold(
    draft: Draft, things: Mapping[str, Thing], position: Position, now: Instant
) -> Changes:
    """What `draft` changes once it is in the log, for the proposals judged after it."""
    commit = Commit(**spread(draft), position=position, recorded_at=now, previous="", hash="")
    return fold(commit, things)


def _is_told(proposal: Proposal, ruling: DecisionDraft) -> bool:
    """Whether the log has this ruling already, whoever gave it."""
    told = proposal.review
    return told is not None and (told.rule, told.rationale, told.graded) == (
        ruling.rule,
        ruling.rationale,
        ruling.graded,
    )


def _decision(verdict: Verdict, acceptance: Acceptance | None, decided_by: str) -> DecisionDraft:
    rationale = verdict.rationale
    if acceptance is not None and acceptance.known is not None:
        rationale = f"{rationale}; already canon: {acceptance.known}"
    return DecisionDraft(
        status=verdict.status,
        rule=verdict.rule,
        rationale=rationale,
        score=verdict.score.value,
        conflicts=verdict.conflicts,
        graded=verdict.graded,
        canonical_id=None if acceptance is None else acceptance.canonical_id,
        made=() if acceptance is None else acceptance.made,
        decided_by=decided_by,
        audience=verdict.audience,
    )
