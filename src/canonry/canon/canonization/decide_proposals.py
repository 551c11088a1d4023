"""Decide proposals: judge each in one pure step, commit it, and waive conflicts."""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

from canonry.canon.canonization.acceptance import Acceptance, accept
from canonry.canon.judging.candidates import Candidate, Unreadable, dependencies_of
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
from canonry.canon.judging.state_tags import as_held, as_state, changes_of, said_until
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change, extend_slice
from canonry.canon.session.lookup import require
from canonry.language.clauses.keys import rival_keys
from canonry.language.texts.sentences import plain_statement
from canonry.log.canon import Changes, fold
from canonry.log.commits import Append, Appended, Commit, Draft, Position
from canonry.log.entries import (
    ConflictWaived,
    Entry,
    ProposalDecided,
    ProposalDeferred,
    SceneExtended,
    Thing,
)
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity, normalised_name
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
from canonry.log.observing import under
from canonry.values.audience import ALL_SEEING, GAME_MASTERS, Audience, viewer_of
from canonry.values.errors import CanonryError, Conflict, Unavailable
from canonry.values.fields import PROPOSAL_PREFIX, Reference, spread
from canonry.values.ids import CommitId, NewId, ProposalId, SpaceId, derived_id
from canonry.values.moments import Instant
from canonry.values.policy import Policy

KEPT_RULE: Final = "review:secret"
"""The rule of a proposal that waits because accepting it would touch secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict with its entries.

    There are no entries while a lookup is `wanted`, or if the log already has this ruling.
    """

    candidate: Candidate
    verdict: Verdict
    commit_id: CommitId
    entries: tuple[Entry, ...]
    reads: frozenset[str]
    wanted: frozenset[Lookup]


def commit_of_proposal(proposal_id: ProposalId) -> CommitId:
    """Return the id of the commit that decides a proposal, equal in each attempt and process."""
    return CommitId(derived_id(CommitId(proposal_id), "canonization"))


def foreseen(candidate: Candidate) -> set[Lookup]:
    """Return the lookups that a judgement always makes; the others load on demand."""
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
    """Return the further lookups that it always makes once its referenced items are known."""
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
    """Judge a candidate on the known slice, and build its entries.

    Raises:
        BrokenInvariant: `canonization.unresolved`, the gates accepted an unknown reference.
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
    """Accept a candidate on the canon keeper's authority; conflicting canon is retconned.

    A candidate that cannot be written gives no entries; its verdict has the reason.

    Raises:
        BrokenInvariant: `canonization.unresolved`, the gates accepted an unknown reference.
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
    """Return the entries of a decision; a closed scene also gets the outcome."""
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
    """Return the proposal's outcome, and the statements that it ends or retcons."""
    ends = {_says(one, view) for one in (*verdict.supersedes, *verdict.ends)}
    falls: set[object] = set()
    for one in verdict.retcons:
        if isinstance(one, str):
            falls.add(one)
        elif (entity := view.entity(Reference(one.entity_id))) is not None:
            falls |= {(one.tag, said) for said in said_until(changes_of(entity), one.change)}
    return verdict.status, ends, falls


def _says(rival: Rival, view: SliceView) -> object:
    """Return a tag or relation that ends for all audiences."""
    if not isinstance(rival, str):
        return rival.entity_id, rival.tag
    thing = view.thing(rival)
    if isinstance(thing, Relation):
        return thing.rel_type, view.roots((thing.from_id, thing.to_id))
    return rival


def _beside_secrets(verdict: Verdict, whole: Verdict, *, alike: bool) -> Verdict:
    """Decide by open canon; a conflicting secret sends the proposal to review.

    Only game masters see the reason and the possible secret conflicts.
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
        rationale=f"needs review: secret canon contradicts it: {whole.rationale}",
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
    """Add the effects of the entries on the lines of audiences that know more."""
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
    """Return the changes of `draft` as if it were in the log, for later candidates."""
    commit = Commit(**spread(draft), position=position, recorded_at=now, previous="", hash="")
    return fold(commit, things)


def _is_told(proposal: Proposal, ruling: DecisionDraft) -> bool:
    """Tell whether the log already has this ruling, from any judge."""
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


# Decide proposals: judge candidates of one space in order, one commit each, in batches.
#
# The id of the commit derives from the proposal's id. A second decision, after a crash or in
# another process, finds the first one.

BATCH: Final = 64
"""The number of verdicts that share one transaction and one disk sync."""

ROUNDS_FREE: Final = 3
"""After this many stale batches in a row, a batch is judged under the write lock."""

ROUNDS_MAX: Final = 5
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
    queue = deque(candidates)
    run = _Run(canon=canon, caller=caller, space=space, scene=scene, queue=queue, read_at=read_at)
    await run.work()
    return run.undecided


async def foretell(
    canon: Canon, caller: Caller, space: SpaceId, candidates: Sequence[Candidate]
) -> dict[str, Proposal]:
    """Return the proposals as if these candidates were decided; write nothing."""
    queue = deque(candidates)
    run = _Run(canon=canon, caller=caller, space=space, scene=None, queue=queue, read_at=None)
    found: dict[str, Proposal] = await canon.told(await run.foretell())
    return found


@dataclass(slots=True)
class _Run:
    canon: Canon
    caller: Caller
    space: SpaceId
    scene: Scene | None
    queue: deque[Candidate]
    read_at: Position | None
    undecided: Undecided = field(default_factory=dict)
    stale: int = 0
    failures: int = 0
    judged: dict[ProposalId, Judgement] = field(default_factory=dict)
    """The judgements on the candidates of this batch, each without those before it."""
    alone: int = 0
    """The number of next candidates to try one by one, because their batch failed."""

    async def work(self) -> None:
        total = len(self.queue)
        while self.queue:
            if self.failures >= FAILURES_MAX or self.stale >= ROUNDS_MAX:
                reason = "other writers keep changing the canon that it depends on"
                reason = reason if self.stale else "the store does not answer"
                for candidate in self.queue:
                    self.undecided.setdefault(candidate.proposal.id, reason)
                return
            size = 1 if self.alone else min(BATCH, len(self.queue))
            batch = [self.queue[index] for index in range(size)]
            try:
                done = await self._decide(batch)
            except Exception as error:  # noqa: BLE001 - one proposal's failure must not stop others
                done = self._failed(batch, error)
            for _candidate in range(done):
                self.queue.popleft()
            self.alone = max(0, self.alone - done)
            await self.caller.progress(total - len(self.queue), total, "proposals decided")

    async def foretell(self) -> dict[str, Proposal]:
        """Return the proposals, each judged as if those before it were decided."""
        batch = list(self.queue)
        position = await self.canon.ledger.head(self.space)
        proposals = (candidate.proposal for candidate in batch)  # they may not be stored yet
        known = Slice(space=self.space).extended((), proposals)
        known = await self._slice(batch, known)
        for number, candidate in enumerate(batch, start=1):
            if not _pending(known, candidate):
                continue
            known, judgement = await self._settled(candidate, known)
            if judgement.entries:
                at = Position(position + number)
                draft, now = self._draft(judgement), self.canon.clock.now()
                known = known.after(foretold(draft, known.things, at, now))
        after = (known.things.get(each.proposal.id) for each in batch)
        return {each.id: each for each in after if isinstance(each, Proposal)}

    def _failed(self, batch: Sequence[Candidate], error: Exception) -> int:
        """Retry a failed batch one by one; a failed single proposal stays pending."""
        if len(batch) > 1:
            self.alone = len(batch)
            return 0
        self.failures += isinstance(error, Unavailable)
        self.undecided[batch[0].proposal.id] = reason_of(error)
        return 1

    async def _decide(self, batch: Sequence[Candidate]) -> int:
        """Judge and append a batch; return how many candidates are finished."""
        free = self.stale < ROUNDS_FREE
        async with nullcontext() if free else self.canon.ledger.exclusive():
            known = Slice(space=self.space)
            position, self.read_at = self.read_at, None
            if position is None:
                position = await self.canon.ledger.head(self.space)
            else:
                known = known.extended((), (each.proposal for each in batch))
            known = await self._slice(batch, known)
            if self.scene is not None and _completed(known, self.scene):
                self.queue.clear()
                return 0
            appends, counts = await self._judge(batch, known, position)
            outcomes = await self.canon.ledger.append(appends) if appends else ()
        written = 0
        for outcome in outcomes:
            if not isinstance(outcome, Appended):
                break
            written += 1
        self.stale = self.stale + 1 if written < len(appends) and not written else 0
        self.failures = 0 if written else self.failures
        return len(batch) if written == len(appends) else counts[written]

    async def _slice(self, batch: Sequence[Candidate], known: Slice) -> Slice:
        """Load the slice for the verdicts of a batch, as far as they are independent."""
        first: set[Lookup] = set() if self.scene is None else {ThingLookup(self.scene.id)}
        for candidate in batch:
            first |= foreseen(candidate)
        waiting = list(batch)
        then = False

        def judge(known: Slice) -> tuple[Collection[Lookup], None]:
            nonlocal then
            if missing := known.missing(frozenset(first)):
                return missing, None
            if not then:
                then = True
                policy = self.canon.policy
                found = [each for one in batch for each in foreseen_then(one, known, policy)]
                if missing := known.missing(frozenset(found)):
                    return missing, None
            wanted: set[Lookup] = set()
            still: list[Candidate] = []
            for candidate in waiting:
                judgement = self._judgement(candidate, known)
                self.judged[candidate.proposal.id] = judgement
                more = judgement.wanted
                wanted |= more
                still.extend((candidate,) if more else ())
            waiting[:] = still
            return wanted, None

        return (await extend_slice(self.canon, known, judge))[0]

    async def _judge(
        self, batch: Sequence[Candidate], known: Slice, position: Position
    ) -> tuple[list[Append], list[int]]:
        """Return the appends of a batch, each judged as if those before it were in the log.

        The second list has, for each append, the number of candidates before it. Their changes
        enter the slice when a later candidate depends on them.
        """
        appends: list[Append] = []
        counts: list[int] = []
        changed: dict[str, Thing] = {}
        touched: set[str] = set()
        for index, candidate in enumerate(batch):
            self.undecided.pop(candidate.proposal.id, None)
            if not _pending(known, candidate):
                continue
            if blocked := dependencies_of(candidate) & self.undecided.keys():
                reason = f"it depends on the undecided proposal {min(blocked)}"
                self.undecided[candidate.proposal.id] = reason
                continue
            rests_on = self.judged[candidate.proposal.id].reads
            if not (rests_on.isdisjoint(touched) and rests_on.isdisjoint(known.touched)):
                known = known.after(Changes(things=changed, touched=frozenset(touched)))
                changed, touched = {}, set()
            known, judgement = await self._settled(candidate, known)
            if not judgement.entries:
                continue
            draft = self._draft(judgement)
            counts.append(index)
            reads = judgement.reads
            appends.append(Append(draft=draft, judged_at=position, reads=reads))
            if index + 1 < len(batch):
                at = Position(position + len(appends))
                more = foretold(draft, {**known.things, **changed}, at, self.canon.clock.now())
                changed |= more.things
                touched |= more.touched
        return appends, counts

    async def _settled(self, candidate: Candidate, known: Slice) -> tuple[Slice, Judgement]:
        """Judge one candidate after loading all its lookups.

        Its earlier judgement stands if none of its keys was touched.
        """
        before = self.judged[candidate.proposal.id]
        if before.reads.isdisjoint(known.touched):
            return known, before

        def judge(known: Slice) -> tuple[Collection[Lookup], Judgement]:
            judgement = self._judgement(candidate, known)
            return judgement.wanted, judgement

        return await extend_slice(self.canon, known, judge)

    def _judgement(self, candidate: Candidate, known: Slice) -> Judgement:
        return decide(candidate, known, self.canon.policy, decided_by=self.caller.actor.agent_id)

    def _draft(self, judgement: Judgement) -> Draft:
        entries: tuple[Entry, ...] = judgement.entries
        return Draft(
            id=judgement.commit_id,
            space=self.space,
            actor=self.caller.actor,
            tool=self.caller.tool,
            entries=entries,
        )


def reason_of(error: Exception) -> str:
    """Describe an error in words that may leave the server."""
    if isinstance(error, CanonryError):
        return f"{error.code}: {error.message}"
    return f"internal: {type(error).__name__}"


def _pending(known: Slice, candidate: Candidate) -> bool:
    now = known.things.get(candidate.proposal.id)
    return isinstance(now, Proposal) and now.status is ProposalStatus.PENDING


def _completed(known: Slice, scene: Scene) -> bool:
    now = known.things.get(scene.id)
    return isinstance(now, Scene) and now.status is SceneStatus.COMPLETED


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalVerdict:
    """The verdict on one proposal; `made` lists all that it created.

    A proposal that `needs_review` was judged and stays pending, like one that was not judged.
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

    def ids(self, kind: type[SceneOutcome]) -> tuple[str, ...]:
        """Return the ids of the outcomes of a kind."""
        return tuple(each.id for each in self.outcomes if isinstance(each, kind))


def verdict_on(proposal: Proposal) -> ProposalVerdict:
    """Return the verdict on a proposal: its decision, or the reason why it is pending."""
    ruling = proposal.decision or proposal.review
    if ruling is None:
        return ProposalVerdict(
            proposal_id=proposal.id,
            type=proposal.type,
            status=proposal.status,
            rule="",
            rationale="no gate has judged it",
        )
    return ProposalVerdict(
        proposal_id=proposal.id,
        type=proposal.type,
        status=proposal.status,
        rule=ruling.rule,
        rationale=ruling.rationale,
        score=ruling.score,
        needs_review=proposal.decision is None,
        graded=ruling.all_conflicts,
        canonical_id=ruling.canonical_id,
        made=ruling.made,
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
        accepted=_those(proposals, ProposalStatus.ACCEPTED),
        rejected=_those(proposals, ProposalStatus.REJECTED),
        failed=[
            {"proposal_id": one, "reason": reason} for one, reason in sorted(undecided.items())
        ],
    )


def _those(proposals: Iterable[Proposal], status: ProposalStatus) -> list[str]:
    return [one.id for one in proposals if one.status is status]


async def waive_conflict(
    canon: Canon, caller: Caller, proposal_id: str, conflict_id: str, *, reason: str
) -> Receipt:
    """Record that a possible conflict is intended; a repetition changes nothing.

    Raises:
        NotFound: `proposal.unknown`.
        Conflict: `conflict.not-possible`, the proposal names no possible conflict with that id.
    """
    space = (await require(canon, caller, Proposal, proposal_id)).space

    async def prepare(_: NewId) -> Change:
        proposal = await require(canon, caller, Proposal, proposal_id)
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
        waived = ConflictWaived(proposal_id=proposal.id, other=conflict_id, reason=reason)
        return Change(entries=(waived,), reads=frozenset((thing_key(proposal.id),)))

    return await commit_change(canon, caller, space, prepare)
