"""Settling: what is recorded as admitted and due becomes true, in its order, each exactly once.

A record that is admitted says that the gates let it pass then. The world is asked once more before
anything is written, so that whatever happened in between refuses it, and its record says so.
"""

from dataclasses import replace
from typing import Final

from canonry.canon.session.ai_words import EventName
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.log.entries import Made
from canonry.log.items.facts import EventDraft
from canonry.log.items.proposals import Proposal, ProposalStatus, ProposalType
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.pages import PAGE_MAX
from canonry.readmodels.ticks import Tick, instant_of
from canonry.values.errors import Conflict, NotFound, Unavailable
from canonry.values.ids import NewId, ProposalId, SpaceId
from canonry.values.provenance import Evidence, EvidenceKind
from canonry.world.domain.admission.kit import Rejection, refusal
from canonry.world.domain.admission.schema import recorded_proposal
from canonry.world.models.services import WorldServices
from canonry.world.usecases.bound_world import BoundWorld, require_world
from canonry.world.usecases.proposals.applying import apply_actions
from canonry.world.usecases.proposals.decided import applied_by, counted, refused_by
from canonry.world.usecases.proposals.surroundings import objection_of_world
from canonry.world.usecases.world_draft import WorldDraft

SETTLED_MAX: Final = 1_000
"""So many are settled in one go; more wait for the next time that the clock advances."""


async def proposal_in(canon: Canon, space: SpaceId, proposal_id: str) -> Proposal | None:
    """The proposal of this world with this id."""
    found = (await canon.state.things((proposal_id,))).get(proposal_id)
    if isinstance(found, Proposal) and found.space == space and found.type is ProposalType.WORLD:
        return found
    return None


async def apply_admitted(canon: Canon, caller: Caller, world: BoundWorld, proposal_id: str) -> None:
    """Write what an admitted proposal would do, or that the world stands against it by now.

    One that is decided already stays as it is. What was due at a tick is dated there.

    Raises:
        Unavailable: it could not be written; it stays admitted.
    """
    settler = replace(caller, tool="apply-proposal", idempotency_key=proposal_id, request="")
    commit_id = settler.commit_id(world.space, canon.identities.fresh)

    async def prepare(new_id: NewId) -> Change:
        current = await require_world(canon, caller, world.space)
        draft = WorldDraft(canon=canon, space=world.space, at=current.instant, new_id=new_id)
        proposal = await proposal_in(canon, world.space, proposal_id)
        draft.watch(proposal_id)
        if proposal is None or proposal.status is not ProposalStatus.PENDING:
            return draft.change()
        due = proposal.content.get("dueTick")
        ticks = [current.now] if due is None else [Tick(min(due, current.now)), current.now]
        rejection: Rejection | None = None
        for tick in dict.fromkeys(ticks):
            draft, rejection = await _drawn_up(canon, current, proposal, tick, new_id)
            if rejection is None:
                break
        if rejection is not None:
            refused = refused_by(caller, proposal_id, rejection)
            return Change(entries=(refused,), reads=frozenset(draft.reads))
        made = [entry.thing for entry in draft.entries if isinstance(entry, Made)]
        events = tuple(each.id for each in made if isinstance(each, EventDraft))
        ids = tuple(each.id for each in made)
        done = applied_by(caller, proposal_id, commit_id, ids, events)
        return Change(entries=(*draft.entries, done), reads=frozenset(draft.reads))

    await commit_change(canon, settler, world.space, prepare)
    now, telemetry = canon.clock.now(), canon.service(WorldServices).telemetry
    telemetry.tell(EventName.PROPOSAL_APPLIED, now, space=world.space)


async def _drawn_up(
    canon: Canon, world: BoundWorld, proposal: Proposal, tick: Tick, new_id: NewId
) -> tuple[WorldDraft, Rejection | None]:
    """What a proposal writes at a tick, or what the world has against it there."""
    proposed = recorded_proposal(str(proposal.content["playerId"]), proposal.content["envelope"])
    draft = WorldDraft(
        canon=canon,
        space=world.space,
        at=instant_of(tick),
        past=tick < world.now,
        new_id=counted(new_id),
        evidence=(Evidence(kind=EvidenceKind.PROPOSAL, ref=proposal.id),),
        proposal=ProposalId(proposal.id),
    )
    draft.watch(proposal.id)
    draft.watch(world.heart.id)
    rejection = await objection_of_world(draft, proposed)
    if rejection is None:
        try:
            await apply_actions(draft, proposed)
        except (Conflict, NotFound) as error:
            reason = f"{error.code}: {error}"
            rejection = refusal("world.stands-against", reason, path="/proposedActions")
    return draft, rejection


async def settle(canon: Canon, caller: Caller, world: BoundWorld) -> int:
    """Apply what is admitted and due, by (tick, position); how many there were.

    One that cannot be written now stays, and those that follow it with it.
    """
    now = (await require_world(canon, caller, world.space)).now
    query = ProposalQuery(
        spaces=frozenset((world.space,)),
        types=frozenset((ProposalType.WORLD,)),
        status=ProposalStatus.PENDING,
        limit=PAGE_MAX,
    )
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
