"""Decide proposals: judge each in one pure step, commit it, and waive conflicts."""

import asyncio
from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count, takewhile
from operator import attrgetter
from typing import Any, Final, TypeAlias, cast

from canonry.canon.canonization.acceptance import Acceptance, accept_candidate
from canonry.canon.judging import slices
from canonry.canon.judging.candidates import Candidate, Unreadable, dependencies_of
from canonry.canon.judging.contents import (
    EntityContent,
    FactContent,
    RelationshipContent,
    references_of,
)
from canonry.canon.judging.gates import GATES
from canonry.canon.judging.gates.states import entity_known, texts_asked
from canonry.canon.judging.gates.verdicts import Verdict, judge_candidate
from canonry.canon.judging.known_items import id_for_owner
from canonry.canon.judging.retractions import retract_item
from canonry.canon.judging.standing_statements import statements_of, time_reached
from canonry.canon.judging.state_tags import as_state_change
from canonry.canon.judging.wider_audiences import TimelineCorrections, settle_timelines
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change, extend_slice
from canonry.canon.session.lookup import require_item
from canonry.language.texts.sentences import plain_statement
from canonry.log import entries as log
from canonry.log.commits import Append, Appended, Draft, Position
from canonry.log.fold_commit import Changes
from canonry.log.folding import item_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import (
    DecisionDraft,
    Grade,
    GradedConflict,
    Proposal,
    ProposalStatus,
    ProposalType,
)
from canonry.log.items.scenes import Scene, SceneStatus
from canonry.log.observations import limit_audience
from canonry.values.audience import FULL_VIEWER, GAME_MASTERS, Viewer, viewer_of
from canonry.values.errors import CanonryError, Conflict, Unavailable
from canonry.values.fields import PROPOSAL_PREFIX
from canonry.values.ids import CommitId, NewId, ProposalId, SpaceId, derived_id
from canonry.values.policy import Policy
from canonry.values.provenance import Authority, CanonLevel
from canonry.values.statements import PHRASE


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict with its entries.

    There are no entries while a lookup is `wanted`, or if the log already has this ruling.
    """

    candidate: Candidate
    verdict: Verdict
    commit_id: CommitId
    entries: tuple[log.Entry, ...]
    reads: frozenset[str]
    wanted: frozenset[slices.Lookup]

    @property
    def does_overrule(self) -> bool:
        """Return whether a decision would overrule canon that the proposal does not name."""
        accepted = self.verdict.status is ProposalStatus.ACCEPTED
        return accepted and bool(self.verdict.conflicts) and self.candidate.corrects is None


def predict_lookups(candidate: Candidate) -> set[slices.Lookup]:
    """Return the lookups that a judgement always makes; the others load on demand."""
    found: set[slices.Lookup] = {slices.ItemLookup(candidate.proposal.id)}
    found |= {slices.ItemLookup(evidence.ref) for evidence in candidate.evidence}
    content = candidate.content
    if isinstance(content, Unreadable):
        return found
    for reference in references_of(content):
        if not reference.startswith("$"):
            found.add(slices.ItemLookup(reference.removeprefix(PROPOSAL_PREFIX)))
    if isinstance(content, EntityContent):
        found.add(slices.NameLookup(texts_asked(content)))
    if isinstance(content, FactContent):
        found.add(slices.StatementLookup(plain_statement(content.statement)))
    else:
        found.add(slices.AxiomsLookup(candidate.proposal.space))
    return found


_RULING: Final = attrgetter("rule", "rationale", "graded")
OVERRULED: Final = "keeper:evaluation"
"""The rule of a decision that rests on the canon keeper's authority alone."""


def decide_candidate(
    candidate: Candidate,
    known: slices.Slice,
    policy: Policy,
    *,
    decided_by: str,
    new_id: NewId | None = None,
    overruling: str | None = None,
) -> Judgement:
    """Judge a candidate on the known slice, and build its entries.

    `new_id` supplies the ids of new items; by default they derive from the proposal. `overruling`
    is the reason to accept it despite conflicts; if it cannot be written, there are no entries.

    Raises:
        BrokenInvariant: `canonization.unresolved`, the gates accepted an unknown reference.
    """
    asked = candidate.proposal  # each attempt and process finds the same id; an undo changes it
    again = "" if asked.changed_at == asked.position else f":{asked.changed_at}"
    commit_id = CommitId(derived_id(CommitId(asked.id), f"canonization{again}"))
    new_id = new_id or partial(derived_id, commit_id)
    viewer = viewer_of(asked.audience)
    before, all_known = slices.SliceView(known, policy, viewer), known
    candidate, known, gone = _without_corrected(candidate, known, before, new_id)
    view = slices.SliceView(known, policy, viewer)
    forced = overruling is not None
    verdict = _judge_for_audience(candidate, known, policy, viewer, forced=forced)
    accepted = verdict.status is ProposalStatus.ACCEPTED
    reads, wanted = verdict.reads | before.read, verdict.wanted | before.wanted
    entries: tuple[log.Entry, ...] = ()
    writes = not wanted and (accepted or not forced)
    if writes and verdict.status is ProposalStatus.PENDING:
        proposal = view.find_item(asked.id)
        ruling = _make_decision(verdict, None, decided_by)
        reported = getattr(proposal, "review", None)  # by any judge
        if isinstance(proposal, Proposal) and (reported and _RULING(reported)) != _RULING(ruling):
            commit_id = CommitId(derived_id(CommitId(proposal.id), f"review:{proposal.changed_at}"))
            entries = (log.ProposalDeferred(proposal_id=proposal.id, ruling=ruling),)
    elif writes:
        compared = forced or _is_compared(candidate.content, view)
        if overruling is not None:
            verdict = replace(verdict, rationale=overruling, rule=OVERRULED)
        acceptance = accept_candidate(candidate, verdict, view, new_id) if accepted else None
        decision = _make_decision(verdict, acceptance, decided_by, compared=compared)
        entries = _written_entries(candidate, acceptance, decision, gone)
    reads, wanted = reads | view.read, wanted | view.wanted
    ends = gone or verdict.supersedes or verdict.successors or verdict.retcons or known.secrets
    if accepted and not wanted and (ends or isinstance(candidate.content, RelationshipContent)):
        more = settle_timelines(all_known, policy, entries, new_id)
        entries = () if more.wanted else (*entries, *more.entries)
        reads, wanted = reads | more.reads, more.wanted
    return Judgement(
        candidate=candidate,
        verdict=verdict,
        commit_id=commit_id,
        entries=entries,
        reads=reads,
        wanted=wanted,
    )


def _is_compared(content: object, view: slices.SliceView) -> bool:
    """Return whether a claim has a statement of its own that is compared with the canon."""
    said = statements_of(content, view) if isinstance(content, FactContent) else None
    # A clause that somebody believes or hopes something says only that.
    beliefs = f"{PHRASE}that_"
    return said is None or not all(str(one.value).startswith(beliefs) for one in said)


def _without_corrected(
    candidate: Candidate, known: slices.Slice, view: slices.SliceView, new_id: NewId
) -> tuple[Candidate, slices.Slice, tuple[log.Entry, ...]]:
    """Return what a candidate means, the canon without the item that it corrects, and a retcon."""
    candidate, proposal = as_state_change(candidate, view), candidate.proposal
    content, moment = candidate.content, candidate.moment
    dated = moment.at is not None or moment.position.scene
    if not dated and not isinstance(content, Unreadable):  # it follows what its timelines told
        said, reported = statements_of(content, view), moment.position.told
        now = proposal.created_at if candidate.present is None else candidate.present
        reached = time_reached(said, reported, now, view)
        candidate = replace(candidate, reached=reached)
    named = getattr(candidate.content, "replaces", None)
    wrong = None if named is None else view.referred_item(named)
    if not isinstance(wrong, Fact | Event | Relation):
        return candidate, known, ()
    candidate = replace(candidate, corrects=wrong)
    if wrong.level is not CanonLevel.CANON or wrong.space != proposal.space:
        return candidate, known, ()
    reason = getattr(candidate.content, "reason", "")
    gone = retract_item(view, partial(id_for_owner, new_id, "wrong"), wrong, reason)
    entries = limit_audience(gone, proposal.audience)
    more = (
        TimelineCorrections()
        if view.wanted
        else settle_timelines(known, view.policy, entries, new_id)
    )
    view.read |= more.reads
    view.wanted |= more.wanted
    if view.wanted:
        return candidate, known, ()
    entries = (*entries, *more.entries)
    gone_then = known.fold_entries(entries, position=proposal.position, at=proposal.created_at)
    return candidate, known.with_changes(gone_then), gone


def _written_entries(
    candidate: Candidate,
    acceptance: Acceptance | None,
    decision: DecisionDraft,
    gone: tuple[log.Entry, ...],
) -> tuple[log.Entry, ...]:
    """Return the entries of a decision, after those in `gone`; a closed scene gets the outcome."""
    decided = log.ProposalDecided(proposal_id=candidate.proposal.id, decision=decision)
    if acceptance is None:
        return (decided,)
    if gone:
        right: Any = {"replaced_by": acceptance.canonical_id}
        gone = (replace(gone[0], **right), *gone[1:])
    written = limit_audience((*gone, *acceptance.entries), candidate.proposal.audience)
    scene = candidate.scene
    if scene is None or scene.status is not SceneStatus.COMPLETED:
        return (*written, decided)
    outcomes = (acceptance.canonical_id, *acceptance.made)
    return (*written, decided, log.SceneExtended(scene_id=scene.id, outcomes=outcomes))


def _judge_for_audience(
    candidate: Candidate, known: slices.Slice, policy: Policy, viewer: Viewer, *, forced: bool
) -> Verdict:
    """Judge by the canon that the claim's audience sees.

    A conflict with secret canon changes nothing; game masters see it as a possible conflict.
    """
    verdict = judge_candidate(candidate, known, policy, GATES, viewer=viewer, overruling=forced)
    if not known.secrets or viewer.masters or forced:
        return verdict
    gates = [one for one in GATES if one is not entity_known]  # a secret namesake asks nothing
    whole = judge_candidate(candidate, known, policy, gates, viewer=FULL_VIEWER)
    open_ones = {one.id for one in verdict.graded}
    more = [
        replace(one, grade=Grade.POSSIBLE, audience=GAME_MASTERS)
        for one in whole.graded
        if one.id not in open_ones
    ]
    return replace(
        verdict,
        graded=(*verdict.graded, *more),
        reads=verdict.reads | whole.reads,
        wanted=verdict.wanted | whole.wanted,
    )


def is_by_rules(decision: DecisionDraft) -> bool:
    """Return whether a rule made the decision, and nobody by hand."""
    return decision.rule.startswith("gate:")


ENDS: Final = "ends"
KNOWN: Final = "; already canon: "
"""Stands in the rationale of an accepted proposal that only added evidence, before the item."""
UNCOMPARED: Final = "uncompared"
"""Details of a decision: what the proposal ended, and whether its words were not read."""


def _make_decision(
    verdict: Verdict, acceptance: Acceptance | None, decided_by: str, *, compared: bool = True
) -> DecisionDraft:
    rationale = verdict.rationale
    if acceptance is not None and acceptance.known is not None:
        rationale = f"{rationale}{KNOWN}{acceptance.known}"
    details: dict[str, Any] = {}
    if acceptance is not None and verdict.endings:
        details[ENDS] = [{"id": one, "because": why} for one, why in verdict.endings]
    if acceptance is not None and not compared:
        details[UNCOMPARED] = True
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
        details=details,
    )


# Decide proposals: judge candidates of one space in order, one commit each, in batches.
#
# The id of the commit derives from the proposal's id. A second decision, after a crash or in
# another process, finds the first one.

BATCH: Final = 64
"""The number of verdicts that share one transaction and one disk sync."""

ROUNDS_FREE: Final = 3
"""After this many stale batches in a row, a batch is judged under the write lock."""

ROUNDS_MAX: Final = 5  # canonizing ends although others write: bench canonization
FAILURES_MAX: Final = 3
"""After this many failures in a row, the store counts as unavailable; the rest stays pending."""


Undecided: TypeAlias = dict[ProposalId, str]
"""Proposals that could not be decided, with the reasons; those in review were judged."""


async def decide_proposals(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    candidates: Sequence[Candidate],
    *,
    scene: Scene | None = None,
    read_at: Position | None = None,
) -> Undecided:
    """Decide all candidates; a failure of one does not stop the others.

    It ends early if another process completes their `scene` meanwhile. Candidates that were read at
    the log position `read_at` are not read again at first.
    """
    queue = list(candidates)
    run = _DecisionRun(
        canon=canon, caller=caller, space=space, scene=scene, queue=queue, read_at=read_at
    )
    await run.run_all()
    return run.undecided


async def preview_decisions(
    canon: Canon, caller: Caller, space: SpaceId, candidates: Sequence[Candidate]
) -> dict[str, Proposal]:
    """Return the proposals as if these candidates were decided; write nothing."""
    position = await canon.ledger.head_position(space)
    known = slices.Slice(space=space).with_items((), (each.proposal for each in candidates))
    judging = Judging(canon=canon, caller=caller, known=known)
    await judging.judge_all(candidates, count(position + 1))
    return await judging.proposals_after(candidates)


@dataclass(slots=True)
class Judging:
    """Judges proposals of one space in order, each as if those before it were decided.

    The slice grows meanwhile. A judgement stands until a decision touches what it rests on, and
    decisions enter the slice only when a later candidate depends on them.
    """

    canon: Canon
    caller: Caller
    known: slices.Slice
    new_ids: Mapping[ProposalId, NewId] = field(default_factory=dict)
    """The supply of ids for what a proposal becomes, where they do not derive from it alone."""
    judged: dict[ProposalId, Judgement] = field(default_factory=dict)
    changed: dict[str, log.StoredItem] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    """The changes of decisions that the slice does not have yet."""

    async def load_batch(
        self, batch: Sequence[Candidate], also: Iterable[slices.Lookup] = ()
    ) -> None:
        """Load the slice for a batch, and judge its candidates as far as they are independent."""
        first = frozenset((*also, *chain.from_iterable(map(predict_lookups, batch))))
        waiting = list(batch)

        def judge_slice(known: slices.Slice) -> tuple[Collection[slices.Lookup], None]:
            if missing := known.missing_lookups(first):
                return missing, None
            judgements = [self._judge_on(one, known) for one in waiting]
            self.judged.update((one.candidate.proposal.id, one) for one in judgements)
            waiting[:] = [e for e, one in zip(waiting, judgements, strict=True) if one.wanted]
            return frozenset().union(*(one.wanted for one in judgements)), None

        self.known, _ = await extend_slice(self.canon, self.known, judge_slice)

    async def judge_all(
        self,
        candidates: Sequence[Candidate],
        positions: Iterable[int],
        lower: Authority | None = None,
    ) -> Sequence[Judgement]:
        """Judge the candidates in order, each decided at its position; return what they write.

        A candidate that would overrule canon that it does not name has the authority `lower`.
        """
        found: list[Judgement] = []
        for number, (position, candidate) in enumerate(zip(positions, candidates, strict=False)):
            if number % BATCH == 0:
                await asyncio.sleep(0)  # other calls run between batches
                await self.load_batch(candidates[number : number + BATCH])
            judgement = await self.judge_next(candidate)
            if lower is not None and judgement is not None and judgement.does_overrule:
                proposal = replace(candidate.proposal, authority=lower)
                changes = Changes(
                    items={proposal.id: proposal}, touched=frozenset((item_key(proposal.id),))
                )
                self.known = self.catch_up().with_changes(changes)
                judgement = await self.judge_next(replace(candidate, proposal=proposal))
            if judgement is not None and judgement.entries:
                self.apply_decision(judgement, Position(position))
                found.append(judgement)
        return found

    async def judge_next(self, candidate: Candidate) -> Judgement | None:
        """Judge a candidate after all decisions so far; None: it is pending no more."""
        before = self.judged[candidate.proposal.id]
        stands = before.reads.isdisjoint(self.touched)
        stands = stands and before.reads.isdisjoint(self.known.touched)
        if not is_pending(self.known if stands else self.catch_up(), candidate):
            return None
        if stands:
            return before

        def judge_slice(known: slices.Slice) -> tuple[Collection[slices.Lookup], Judgement]:
            judgement = self._judge_on(candidate, known)
            return judgement.wanted, judgement

        self.known, judgement = await extend_slice(self.canon, self.known, judge_slice)
        return judgement

    def _judge_on(self, candidate: Candidate, known: slices.Slice) -> Judgement:
        by, new_id = self.caller.actor.agent_id, self.new_ids.get(candidate.proposal.id)
        candidate = replace(candidate, present=self.canon.viewpoint.clock)
        return decide_candidate(candidate, known, self.canon.policy, decided_by=by, new_id=new_id)

    def apply_decision(self, judgement: Judgement, position: Position) -> None:
        """Take over the changes of a decision, as if it were in the log."""
        over = ChainMap(self.changed, cast("dict[str, log.StoredItem]", self.known.items))
        now, entries = self.canon.clock.now(), judgement.entries
        more = self.known.fold_entries(entries, position=position, at=now, over=over)
        self.changed |= more.items
        self.touched |= more.touched

    def draft_commit(self, judgement: Judgement) -> Draft:
        """Return the commit of a decision."""
        return Draft(
            id=judgement.commit_id,
            space=self.known.space,
            actor=self.caller.actor,
            tool=self.caller.tool,
            entries=judgement.entries,
            request=self.caller.request,
        )

    def catch_up(self) -> slices.Slice:
        """Return the slice with the changes of all decisions."""
        changes = Changes(items=self.changed, touched=frozenset(self.touched))
        self.known = self.known.with_changes(changes) if self.changed else self.known
        self.changed, self.touched = {}, set()
        return self.known

    async def proposals_after(self, candidates: Iterable[Candidate]) -> dict[str, Proposal]:
        """Return the proposals of the candidates after all decisions, as the viewer sees them."""
        ids = [each.proposal.id for each in candidates]
        after = (self.changed.get(one) or self.known.items.get(one) for one in ids)
        found: dict[str, Proposal] = await self.canon.filter_answer(
            {each.id: each for each in after if isinstance(each, Proposal)}
        )
        return found


@dataclass(slots=True)
class _DecisionRun:
    canon: Canon
    caller: Caller
    space: SpaceId
    scene: Scene | None
    queue: list[Candidate]
    read_at: Position | None
    undecided: Undecided = field(default_factory=dict)
    stale: int = 0
    failures: int = 0
    alone: int = 0
    """The number of next candidates to try one by one, because their batch failed."""

    async def run_all(self) -> None:
        total = len(self.queue)
        while self.queue:
            if self.failures >= FAILURES_MAX or self.stale >= ROUNDS_MAX:
                reason = "other writers keep changing the canon that it depends on"
                reason = reason if self.stale else "the store does not answer"
                for candidate in self.queue:
                    self.undecided.setdefault(candidate.proposal.id, reason)
                return
            size = 1 if self.alone else min(BATCH, len(self.queue))
            batch = self.queue[:size]
            try:
                done = await self._decide_batch(batch)
            except Exception as error:  # noqa: BLE001 - one proposal's failure must not stop others
                done = self._retry_failed(batch, error)
            del self.queue[:done]
            self.alone = max(0, self.alone - done)
            await self.caller.progress(total - len(self.queue), total, "proposals decided")

    def _retry_failed(self, batch: Sequence[Candidate], error: Exception) -> int:
        """Retry a failed batch one by one; a failed single proposal stays pending."""
        if len(batch) > 1:
            self.alone = len(batch)
            return 0
        self.failures += isinstance(error, Unavailable)
        self.undecided[batch[0].proposal.id] = reason_of(error)
        return 1

    async def _decide_batch(self, batch: Sequence[Candidate]) -> int:
        """Judge and append a batch; return how many candidates are finished."""
        free = self.stale < ROUNDS_FREE
        async with nullcontext() if free else self.canon.ledger.lock_appends():
            known = slices.Slice(space=self.space)
            position, self.read_at = self.read_at, None
            if position is None:
                position = await self.canon.ledger.head_position(self.space)
            else:
                known = known.with_items((), (each.proposal for each in batch))
            judging = Judging(canon=self.canon, caller=self.caller, known=known)
            scene = () if self.scene is None else (slices.ItemLookup(self.scene.id),)
            await judging.load_batch(batch, scene)
            now = None if self.scene is None else judging.known.items.get(self.scene.id)
            if isinstance(now, Scene) and now.status is SceneStatus.COMPLETED:
                self.queue.clear()
                return 0
            appends, counts = await self._judge_batch(judging, batch, position)
            outcomes = await self.canon.ledger.append_drafts(appends) if appends else ()
        written = len(list(takewhile(lambda one: isinstance(one, Appended), outcomes)))
        self.stale = self.stale + 1 if written < len(appends) and not written else 0
        self.failures = 0 if written else self.failures
        return len(batch) if written == len(appends) else counts[written]

    async def _judge_batch(
        self, judging: Judging, batch: Sequence[Candidate], position: Position
    ) -> tuple[list[Append], list[int]]:
        """Return the appends of a batch, and for each the number of candidates before it."""
        appends: list[Append] = []
        counts: list[int] = []
        for index, candidate in enumerate(batch):
            self.undecided.pop(candidate.proposal.id, None)
            if blocked := dependencies_of(candidate) & self.undecided.keys():
                reason = f"it depends on the undecided proposal {min(blocked)}"
                self.undecided[candidate.proposal.id] = reason
                continue
            judgement = await judging.judge_next(candidate)
            if judgement is None or not judgement.entries:
                continue
            counts.append(index)
            reads, draft = judgement.reads, judging.draft_commit(judgement)
            appends.append(Append(draft=draft, judged_at=position, reads=reads))
            if index + 1 < len(batch):
                judging.apply_decision(judgement, Position(position + len(appends)))
        return appends, counts


def reason_of(error: Exception) -> str:
    """Describe an error in words that may leave the server."""
    if isinstance(error, CanonryError):
        return f"{error.code}: {error.message}"
    return f"internal: {type(error).__name__}"


def is_pending(known: slices.Slice, candidate: Candidate) -> bool:
    """Return whether nobody has decided the proposal of a candidate yet."""
    now = known.items.get(candidate.proposal.id)
    return isinstance(now, Proposal) and now.status is ProposalStatus.PENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalVerdict:
    """The verdict on one proposal; `made` lists all that it created.

    A proposal that `needs_review` was judged and stays pending, like one that was not judged.
    `ends` lists the id of each item that it ended, and what that says. It was not `compared` with
    the canon if its words were not read.
    """

    proposal_id: ProposalId
    type: ProposalType
    status: ProposalStatus
    rule: str
    rationale: str
    score: float | None = None
    needs_review: bool = False
    graded: tuple[GradedConflict, ...] = ()
    canonical_id: str | None = None
    made: tuple[str, ...] = ()
    ends: tuple[Mapping[str, Any], ...] = ()
    compared: bool = True

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Return the ids of contradicting items."""
        return tuple(one.id for one in self.graded if one.grade is Grade.CONTRADICTION)


SceneOutcome: TypeAlias = Entity | Relation | Event | Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A verdict for each proposal, and the resulting canon items."""

    verdicts: tuple[ProposalVerdict, ...]
    outcomes: tuple[SceneOutcome, ...]

    def with_status(self, status: ProposalStatus) -> tuple[ProposalId, ...]:
        """Return the ids of proposals with this status, in the order of the verdicts."""
        return tuple(one.proposal_id for one in self.verdicts if one.status is status)

    def ids_of_kind(self, kind: type[SceneOutcome]) -> tuple[str, ...]:
        """Return the ids of the outcomes of a kind."""
        return tuple(each.id for each in self.outcomes if isinstance(each, kind))


def verdict_on(proposal: Proposal) -> ProposalVerdict:
    """Return the verdict on a proposal: its decision, or the reason why it is pending."""
    ruling = proposal.decision or proposal.review
    named = partial(
        ProposalVerdict, proposal_id=proposal.id, type=proposal.type, status=proposal.status
    )
    if ruling is None:
        return named(rule="", rationale="no gate has judged it")
    return named(
        rule=ruling.rule,
        rationale=ruling.rationale,
        score=ruling.score,
        needs_review=proposal.decision is None,
        graded=ruling.all_conflicts,
        canonical_id=ruling.canonical_id,
        made=ruling.made,
        ends=tuple(ruling.details.get(ENDS, ())),
        compared=UNCOMPARED not in ruling.details,
    )


def partly_decided(
    undecided: Undecided, proposals: Sequence[Proposal], *, scene_id: str | None = None
) -> Unavailable:
    """Return the error that lists the undecided proposals and the verdicts on the others."""
    message = (
        f"{len(undecided)} proposals could not be decided and stay pending. All others are "
        "decided. Send the request again."
    )
    where = {} if scene_id is None else {"scene_id": scene_id}
    return Unavailable(
        "canonization.partial",
        message,
        **where,
        accepted=[one.id for one in proposals if one.status is ProposalStatus.ACCEPTED],
        rejected=[one.id for one in proposals if one.status is ProposalStatus.REJECTED],
        failed=[
            {"proposal_id": one, "reason": reason} for one, reason in sorted(undecided.items())
        ],
    )


async def waive_conflict(
    canon: Canon, caller: Caller, proposal_id: str, conflict_id: str, *, reason: str
) -> Receipt:
    """Record that a possible conflict is intended; a repetition changes nothing.

    Raises:
        NotFound: `proposal.unknown`.
        Conflict: `conflict.not-possible`, the proposal names no possible conflict with that id.
    """
    space = (await require_item(canon, caller, Proposal, proposal_id)).space

    async def prepare_change(_: NewId) -> Change:
        proposal = await require_item(canon, caller, Proposal, proposal_id)
        if conflict_id in proposal.waived:
            return Change(entries=(), reads=frozenset())
        if conflict_id not in {one.id for one in proposal.doubts}:
            message = (
                "The proposal has no possible conflict with this id. Name one that its "
                "conflict_details grade as possible."
            )
            raise Conflict(
                "conflict.not-possible",
                message,
                path="/conflict_id",
                conflicts=[one.id for one in proposal.doubts],
            )
        waived = log.ConflictWaived(proposal_id=proposal.id, other=conflict_id, reason=reason)
        return Change(entries=(waived,), reads=frozenset((item_key(proposal.id),)))

    return await commit_change(canon, caller, space, prepare_change)
