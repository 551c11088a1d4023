"""Settle admitted proposals: the writes of each, and its record."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.telemetry_names import EventName
from canonry.log.commits import Position
from canonry.log.entries import Made, ProposalDecided
from canonry.log.folding import item_key
from canonry.log.items.facts import EventDraft
from canonry.log.items.proposals import (
    DecisionDraft,
    Proposal,
    ProposalDraft,
    ProposalStatus,
    ProposalType,
)
from canonry.readmodels.edges import Tick, instant_of
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.errors import Unavailable
from canonry.values.ids import NewId, ProposalId, SpaceId
from canonry.values.json_values import read_value
from canonry.values.moments import DAY, Instant
from canonry.values.provenance import Authority, Evidence, EvidenceKind
from canonry.world.domain.admission.safety import action_digests, text_fingerprints
from canonry.world.domain.admission.schema import (
    ORDER,
    GateName,
    Rejection,
    gates_before,
    recorded_proposal,
)
from canonry.world.models.services import Admitted, RecentAdmissions, WorldServices, count_event
from canonry.world.usecases.proposals.invariants import play_actions
from canonry.world.usecases.worlds import BoundWorld, WorldDraft, require_world

ADMITTED: Final = "gates:all-passed"
WITHDRAWN: Final = "proposal:withdrawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalOutcome:
    """The outcome of a proposal.

    Admitted without `commit_id`: it is recorded and will be applied, at `due_tick` where it has
    one. `duplicate_of` is the proposal whose answer this is. `withdrawn` tells why somebody took
    it back.
    """

    proposal_id: str
    correlation_id: str
    accepted: bool
    gates_passed: tuple[GateName, ...]
    rejection: Rejection | None = None
    duplicate_of: str | None = None
    commit_id: str | None = None
    event_ids: tuple[str, ...] = ()
    due_tick: int | None = None
    withdrawn: str | None = None


def outcome_of(proposal: Proposal) -> ProposalOutcome:
    """Return the present outcome of a recorded proposal."""
    details: Mapping[str, Any] = {} if proposal.decision is None else proposal.decision.details
    recorded = details.get("rejection")
    rejection = None if recorded is None else read_value(dict(recorded), Rejection)
    return ProposalOutcome(
        proposal_id=proposal.id,
        correlation_id=str(proposal.content.get("correlationId") or proposal.id),
        accepted=rejection is None,
        gates_passed=ORDER if "withdrawn" in details else gates_before(rejection),
        rejection=rejection,
        commit_id=details.get("commitId"),
        event_ids=tuple(details.get("eventIds", ())),
        due_tick=proposal.content.get("dueTick"),
        withdrawn=details.get("withdrawn"),
    )


def proposal_record(
    caller: Caller, space: SpaceId, proposal_id: str, content: Mapping[str, Any]
) -> Made:
    """The record of a proposal, before anything is decided."""
    return Made(
        thing=ProposalDraft(
            id=ProposalId(proposal_id),
            space=space,
            scene_id=None,
            turn_id=None,
            type=ProposalType.WORLD,
            content=dict(content),
            evidence=(),
            confidence=1.0,
            authority=Authority.GM,
            proposed_by=caller.actor.agent_id,
            status=ProposalStatus.PENDING,
        )
    )


def refusal_record(caller: Caller, proposal_id: str, rejection: Rejection) -> ProposalDecided:
    """The record that a proposal was refused."""
    rejection_json = {**asdict(rejection), "gate": str(rejection.gate)}
    rule = f"{rejection.gate}:{rejection.rule}"
    return rejection_record(
        caller, proposal_id, rule, rejection.reason, {"rejection": rejection_json}
    )


def application_record(
    caller: Caller, proposal_id: str, commit_id: str, made: tuple[str, ...], events: tuple[str, ...]
) -> ProposalDecided:
    """The record that a proposal became true."""
    details = {"commitId": commit_id, "eventIds": list(events)}
    record = rejection_record(caller, proposal_id, ADMITTED, "every gate let it pass", details)
    status, first = ProposalStatus.ACCEPTED, next(iter(events), None)
    decision = replace(record.decision, status=status, canonical_id=first, made=made)
    return replace(record, decision=decision)


def rejection_record(
    caller: Caller, proposal_id: str, rule: str, reason: str, details: Mapping[str, Any]
) -> ProposalDecided:
    """The record that a proposal was refused or withdrawn, by which rule and why."""
    return ProposalDecided(
        proposal_id=ProposalId(proposal_id),
        decision=DecisionDraft(
            status=ProposalStatus.REJECTED,
            rule=rule,
            rationale=reason,
            decided_by=caller.actor.agent_id,
            details=details,
        ),
    )


def number_labels(new_id: NewId) -> NewId:
    """The same ids, where a label that comes again gives another one."""
    seen: dict[str, int] = {}

    def new_label_id(label: str) -> str:
        times = seen[label] = seen.get(label, 0) + 1
        return new_id(label if times == 1 else f"{label}#{times}")

    return new_label_id


# Settling: what is recorded as admitted and due becomes true, in its order, each exactly once. A
# record that is admitted says that the gates let it pass then. The world is asked once more before
# anything is written, so that whatever happened in between refuses it, and its record says so.

SETTLED_MAX: Final = 1_000
"""The most proposals that one call settles; others wait until the clock advances again."""


async def proposal_in(canon: Canon, space: SpaceId, proposal_id: str) -> Proposal | None:
    """The proposal of this world with this id."""
    found = (await canon.state.items_by_id((proposal_id,))).get(proposal_id)
    if isinstance(found, Proposal) and found.space == space and found.type is ProposalType.WORLD:
        return found
    return None


def proposals_query(space: SpaceId, status: ProposalStatus | None = None) -> ProposalQuery:
    """The query for the first page of a world's proposals, of all or of one status."""
    types = frozenset((ProposalType.WORLD,))
    return ProposalQuery(spaces=frozenset((space,)), types=types, status=status, limit=PAGE_MAX)


async def apply_admitted(canon: Canon, caller: Caller, world: BoundWorld, proposal_id: str) -> None:
    """Write the effects of an admitted proposal, or the objection that the world now has.

    A decided proposal stays as it is. Due changes are dated at their tick.

    Raises:
        Unavailable: it could not be written; it stays admitted.
    """
    settler = replace(caller, tool="apply-proposal", idempotency_key=proposal_id, request="")
    commit_id = settler.commit_id(world.space, canon.identities.new_id)

    async def prepare_change(new_id: NewId) -> Change:
        current = await require_world(canon, caller, world.space)
        draft = WorldDraft(canon=canon, space=world.space, at=current.instant, new_id=new_id)
        proposal = await proposal_in(canon, world.space, proposal_id)
        draft.reads.add(item_key(proposal_id))
        if proposal is None or proposal.status is not ProposalStatus.PENDING:
            return draft.make_change()
        due = proposal.content.get("dueTick")
        ticks = [current.now] if due is None else [Tick(min(due, current.now)), current.now]
        rejection: Rejection | None = None
        for tick in dict.fromkeys(ticks):
            draft, rejection = await _draft_changes(canon, current, proposal, tick, new_id)
            if rejection is None:
                break
        if rejection is not None:
            refused = refusal_record(caller, proposal_id, rejection)
            return Change(entries=(refused,), reads=frozenset(draft.reads))
        made = [entry.thing for entry in draft.entries if isinstance(entry, Made)]
        events = tuple(each.id for each in made if isinstance(each, EventDraft))
        ids = tuple(each.id for each in made)
        done = application_record(caller, proposal_id, commit_id, ids, events)
        return Change(entries=(*draft.entries, done), reads=frozenset(draft.reads))

    await commit_change(canon, settler, world.space, prepare_change)
    count_event(canon, EventName.PROPOSAL_APPLIED, space=world.space)


async def _draft_changes(
    canon: Canon, world: BoundWorld, proposal: Proposal, tick: Tick, new_id: NewId
) -> tuple[WorldDraft, Rejection | None]:
    """Draft a proposal's changes at a tick, or return the objection to it."""
    proposed = recorded_proposal(str(proposal.content["playerId"]), proposal.content["envelope"])
    draft = WorldDraft(
        canon=canon,
        space=world.space,
        at=instant_of(tick),
        past=tick < world.now,
        new_id=number_labels(new_id),
        evidence=(Evidence(kind=EvidenceKind.PROPOSAL, ref=proposal.id),),
        proposal=ProposalId(proposal.id),
    )
    draft.reads |= {item_key(proposal.id), item_key(world.root_entity.id)}
    return draft, await play_actions(draft, proposed)


async def settle_due(canon: Canon, caller: Caller, world: BoundWorld) -> int:
    """Apply what is admitted and due, by (tick, position); how many there were.

    One that cannot be written now stays, and those that follow it with it.
    """
    now = (await require_world(canon, caller, world.space)).now
    query = proposals_query(world.space, ProposalStatus.PENDING)
    waiting: list[Proposal] = []
    for page in range(SETTLED_MAX // PAGE_MAX):
        found = await canon.documents.proposals(replace(query, offset=page * PAGE_MAX))
        waiting += found.items
        if len(waiting) >= found.total:
            break
    due = [each for each in waiting if each.content.get("dueTick", 0) <= now]
    done = 0
    for each in sorted(due, key=lambda one: (one.content.get("dueTick", now), one.position)):
        try:
            await apply_admitted(canon, caller, world, each.id)
        except Unavailable:
            break
        done += 1
    return done


REMEMBERED: Final = DAY
_COMMITS: Final = 200  # bounds the memory of a walk through the log
_BEHIND: Final = 2_000  # with more commits than this to catch up, only the proposals are queried


async def recent_admissions(canon: Canon, space: SpaceId) -> RecentAdmissions:
    """Return a world's admissions of the last day, up to date with the log."""
    lately = canon.find_service(WorldServices).admissions.recent_of(space)
    async with lately.lock:
        head = await canon.ledger.head_position(space)
        if lately.position is None or head - lately.position > _BEHIND:
            await _load_recent(canon, space, lately)
            lately.position = head
        while lately.position < head:
            lately.position = await _follow_commits(canon, space, lately, lately.position, head)
        lately.forget_before(Instant(canon.clock.now() - REMEMBERED))
    return lately


async def _load_recent(canon: Canon, space: SpaceId, lately: RecentAdmissions) -> None:
    oldest = Instant(canon.clock.now() - REMEMBERED)
    found: list[Proposal] = []
    for status in (ProposalStatus.ACCEPTED, ProposalStatus.PENDING):
        since = oldest if status is ProposalStatus.ACCEPTED else None  # pending ones count for ever
        found += [one async for one in newest_proposals(canon, space, status, since=since)]
    for proposal in sorted(found, key=lambda each: each.position):
        lately.add_admission(admission_of(proposal.content, proposal.id, proposal.created_at))
        if proposal.status is ProposalStatus.PENDING and "dueTick" not in proposal.content:
            lately.pending[proposal.id] = proposal.created_at


async def newest_proposals(
    canon: Canon,
    space: SpaceId,
    status: ProposalStatus | None = None,
    *,
    since: Instant | None = None,
    most: int | None = None,
) -> AsyncIterator[Proposal]:
    """The newest proposals of a world, page by page, each page with the earliest first.

    Only some of those before `since` are among them. At most `most` are read.
    """
    query = proposals_query(space, status)
    left = (await canon.documents.proposals(replace(query, limit=1))).total
    end = 0 if most is None else max(0, left - most)
    while left > end:
        size = min(PAGE_MAX, left)
        left -= size
        page = (await canon.documents.proposals(replace(query, offset=left, limit=size))).items
        for proposal in page:
            yield proposal
        if since is not None and (not page or page[0].created_at < since):
            return


async def _follow_commits(
    canon: Canon, space: SpaceId, lately: RecentAdmissions, after: Position, head: Position
) -> Position:
    commits = await canon.ledger.read_commits(space, after=after, limit=_COMMITS)
    for commit in commits:
        for entry in commit.entries:
            match entry:
                case Made(thing=ProposalDraft(type=ProposalType.WORLD) as draft) if (
                    "contentHash" in draft.content
                ):
                    lately.add_admission(admission_of(draft.content, draft.id, commit.recorded_at))
                    if "dueTick" not in draft.content:
                        lately.pending[draft.id] = commit.recorded_at
                case ProposalDecided(proposal_id=proposal, decision=decision):
                    lately.pending.pop(proposal, None)
                    if decision.status is ProposalStatus.REJECTED:
                        lately.forget_texts(proposal)
                case _:
                    pass
    return commits[-1].position if commits else head


def admission_of(content: Mapping[str, Any], proposal: str, at: Instant) -> Admitted:
    """An admission as its record tells it."""
    proposed = recorded_proposal(str(content["playerId"]), content["envelope"])
    return Admitted(
        proposal=proposal,
        player=str(content["player"]),
        at=at,
        tokens=proposed.token_count,
        content=str(content["contentHash"]),
        actions=action_digests(proposed),
        texts=tuple((scope, fingerprint) for _, scope, fingerprint in text_fingerprints(proposed)),
    )
