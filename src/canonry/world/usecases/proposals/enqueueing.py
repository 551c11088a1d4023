"""Enqueue, find and withdraw proposals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.canon.session.ai_words import EventName
from canonry.canon.session.caller import Caller, step, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.log.folding import thing_key
from canonry.log.items.proposals import Proposal, ProposalStatus
from canonry.readmodels.edges import checked_tick
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import NewId
from canonry.values.moments import Instant, render_instant
from canonry.world.domain.merging import thing_id_of
from canonry.world.models.services import count_event
from canonry.world.usecases.proposals.admission import propose
from canonry.world.usecases.proposals.applying import EVENT_NAMES
from canonry.world.usecases.proposals.settling import (
    Decided,
    asked_proposals,
    decided,
    proposal_in,
    settle,
    withdrawn_by,
)
from canonry.world.usecases.worlds import BoundWorld, require_world

SCOPE: Final = "scopeKey"
_ACTION: Final = "/proposedActions/0"


async def enqueue_world_event(
    canon: Canon,
    caller: Caller,
    world: BoundWorld,
    event_type: str,
    payload: dict[str, Any],
    *,
    key: str | None = None,
    correlation: str | None = None,
    due: int | None = None,
) -> Decided:
    """Have an event come about now or at a tick; `payload` has the parameters and the `scopeKey`.

    Once for each key. What is due before it comes about first.

    Raises:
        InvalidInput: `event.unknown` or `tick.out-of-range`.
    """
    action = EVENT_NAMES.get(event_type)
    if action is None:
        known = ", ".join(EVENT_NAMES)
        message = f"there is no such event; these are: {known}"
        raise InvalidInput("event.unknown", message, path="/type")
    proposal_id = step(caller, "proposal").commit_id(world.space, canon.identities.fresh)
    before = await proposal_in(canon, world.space, proposal_id)
    if before is not None and before.decision is not None:  # an earlier sending was told this
        return _as_sent(decided(before))
    envelope = {
        "proposalId": proposal_id,
        "version": 1,
        "issuedUtc": render_instant(canon.clock.now()),
        "actor": {"kind": "system"},
        "correlationId": correlation or proposal_id,
        "idempotencyKey": key or proposal_id,
        "proposedActions": [
            {
                "actionType": action,
                "scopeKey": payload.get(SCOPE, ""),
                "params": {name: value for name, value in payload.items() if name != SCOPE},
            }
        ],
    }
    tick = None if due is None else checked_tick(due, path="/dueTick")
    await settle(canon, caller, world)
    return _as_sent(await propose(canon, caller, world, "", envelope, due=tick))


def _as_sent(fared: Decided) -> Decided:
    """The same, where what is wrong stands at its place in the payload and in no envelope."""
    told = fared.rejection
    if told is None or told.path is None or not told.path.startswith(_ACTION):
        return fared
    within = told.path.removeprefix(_ACTION).removeprefix("/params")
    return replace(fared, rejection=replace(told, path=f"/payload{within}"))


_LOOKED_AT: int = 5_000
"""So many proposals are looked through for one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedProposals:
    """Which proposals: on behalf of whom, with which actor, how they fared, decided since when.

    `only_by` is who must have proposed them, where others may not be seen.
    """

    player: str | None = None
    actor: str | None = None
    accepted: bool | None = None
    since: Instant | None = None
    only_by: str | None = None


async def get_proposal(
    canon: Canon, world: BoundWorld, proposal_id: str, *, only_by: str | None = None
) -> Proposal | None:
    """The proposal of that id; None: there is none, or none of theirs."""
    found = await proposal_in(canon, world.space, proposal_id.lower())
    return found if found is not None and only_by in {None, found.proposed_by} else None


async def list_proposals(
    canon: Canon, world: BoundWorld, wanted: WantedProposals, *, limit: int, start: int
) -> tuple[Sequence[Proposal], int | None]:
    """Proposals in the order in which they came, from a place in it; and where the next begin."""
    found: list[Proposal] = []
    place = start
    while place < start + _LOOKED_AT:
        page = await canon.documents.proposals(replace(asked_proposals(world.space), offset=place))
        for proposal in page.items:
            if len(found) == limit:
                return found, place
            place += 1
            if _fits(world, proposal, wanted):
                found.append(proposal)
        if place >= page.total:
            return found, None
    return found, place


def _fits(world: BoundWorld, proposal: Proposal, wanted: WantedProposals) -> bool:
    content = proposal.content
    refused = proposal.status is ProposalStatus.REJECTED
    envelope = content.get("envelope")
    actor = envelope.get("actor") if isinstance(envelope, Mapping) else None
    actor_id = actor.get("id") if isinstance(actor, Mapping) else None
    player = None if wanted.player is None else thing_id_of(world.space, wanted.player)
    return (
        player in {None, content.get("player")}
        and wanted.actor in (None, actor_id)
        and wanted.accepted in {None, not refused}
        and (wanted.since is None or proposal.created_at >= wanted.since)
        and wanted.only_by in {None, proposal.proposed_by}
    )


async def withdraw_proposal(
    canon: Canon,
    caller: Caller,
    world: BoundWorld,
    proposal_id: str,
    reason: str,
    *,
    only_by: str | None = None,
) -> Proposal:
    """Take back what was admitted and is not applied yet.

    Raises:
        NotFound: `proposal.unknown`.
        Conflict: `proposal.decided`, it was applied, refused or withdrawn, or is due.
    """
    wanted = proposal_id.lower()

    async def prepare(_: NewId) -> Change:
        found = await get_proposal(canon, world, wanted, only_by=only_by)
        if found is None:
            raise unknown("proposal", proposal_id)
        now = (await require_world(canon, caller, world.space)).now
        if found.status is not ProposalStatus.PENDING or found.content.get("dueTick", now) <= now:
            message = "only what is scheduled and not yet due can be withdrawn"
            raise Conflict("proposal.decided", message, path="/proposalId", conflicts=[wanted])
        reads = frozenset((thing_key(wanted), thing_key(world.heart.id)))
        return Change(entries=(withdrawn_by(caller, wanted, reason),), reads=reads)

    await commit_change(canon, caller, world.space, prepare)
    count_event(canon, EventName.PROPOSAL_WITHDRAWN, space=world.space)
    found = await get_proposal(canon, world, wanted)
    if found is None:
        raise unknown("proposal", proposal_id)
    return found
