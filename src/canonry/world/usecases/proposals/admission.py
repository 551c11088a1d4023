"""Admit proposals, events and what is staged by the gates; find and withdraw proposals."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from typing_extensions import override

from canonry.canon.canonization.proposals import StagedContent, StagingGuard
from canonry.canon.session.caller import Caller, derive_step, unknown_item
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change, first_made
from canonry.canon.session.telemetry_names import EventName
from canonry.log.entries import Made
from canonry.log.folding import item_key, proposals_key
from canonry.log.items.proposals import Proposal, ProposalDraft, ProposalStatus
from canonry.readmodels.edges import check_tick
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.values.errors import CanonryError, Conflict, InvalidInput, Unavailable
from canonry.values.ids import CommitId, NewId, ProposalId, SpaceId, is_uuid
from canonry.values.json_values import canonical_json, decode_json
from canonry.values.moments import DAY, Instant, render_instant
from canonry.values.policy import STAGED_MAX, StagingGates
from canonry.world.domain.admission import safety
from canonry.world.domain.admission.schema import (
    ENVELOPE_BYTES,
    LASTING,
    POLICY_VERSION,
    GateName,
    ReadProposal,
    Rejection,
    gates_before,
    make_rejection,
    read_proposal,
)
from canonry.world.domain.atlas import item_id_of
from canonry.world.models.services import (
    RecentAdmissions,
    WorldServices,
    count_event,
    invocation_of,
    moderate_content,
)
from canonry.world.usecases.proposals import outcomes
from canonry.world.usecases.proposals.invariants import EVENT_NAMES, play_actions
from canonry.world.usecases.worlds import BoundWorld, WorldDraft, require_world

_STANDS: Final = frozenset({"layer.overlaps", "exit.direction-taken"})
"""Rules by which an admitted action blocks the same action later."""
_LASTING: Final = frozenset({"Layer.Add", "Exit.Create"})
"""Actions with lasting results; the same action is allowed again after its result ends."""


AdmissionVerdict: TypeAlias = Rejection | str | None
"""A refusal, or the id of the same admitted proposal; None: all gates accept it."""


async def verdict_on(
    canon: Canon,
    world: BoundWorld,
    proposed: ReadProposal,
    lately: RecentAdmissions,
    earlier: Proposal | None,
    *,
    scheduled: bool = False,
) -> AdmissionVerdict:
    """Judge by gates 2 to 6; `earlier` is the admitted proposal with the same key or id.

    A `scheduled` proposal is judged against the world when it is due; now only by
    rules that time does not affect.
    """
    content = safety.digest_content(proposed)
    if earlier is not None and earlier.content["contentHash"] == content:
        return earlier.id
    all_texts = [text for action in proposed.actions for _, text in safety.texts_in(action.params)]
    texts = list(dict.fromkeys(all_texts))
    found = await asyncio.gather(*(moderate_content(canon, text) for text in texts))
    categories = {text: each.categories for text, each in zip(texts, found, strict=True)}
    flagged = safety.reject_unsafe(proposed.actions, categories.__getitem__)
    if flagged is not None:
        return flagged
    draft = WorldDraft(
        canon=canon,
        space=world.space,
        at=world.instant,
        new_id=outcomes.number_labels(str),
        proposal=ProposalId(proposed.envelope.proposal_id),
    )
    refused = await play_actions(draft, proposed)
    if scheduled and refused is not None and refused.rule not in LASTING:
        refused = None
    repeatable = all(safety.compared_text(action) is not None for action in proposed.actions)
    same = lately.by_content.get(content) if repeatable else None
    if refused is None:  # what the same proposal did before holds, unless it ends by itself
        still_holds = not any(action.kind in _LASTING for action in proposed.actions)
    else:
        still_holds = refused.rule in _STANDS
    if same is not None and still_holds:
        return same
    mine = lately.spent_by(item_id_of(world.space, proposed.player) if proposed.player else "")
    now, limits = canon.clock.now(), canon.policy.admission
    return (
        refused
        or _reject_duplicate(proposed, lately, earlier, same)
        or safety.reject_unreplayable(
            proposed.envelope.generation,
            lambda name: (
                canon.find_service(WorldServices).admissions.find_context(world.space, name)
                is not None
            ),
        )
        or safety.reject_over_budget(mine, lately.instants, proposed.token_count, now, limits)
    )


def _reject_duplicate(
    proposed: ReadProposal, lately: RecentAdmissions, earlier: Proposal | None, same: str | None
) -> Rejection | None:
    if earlier is not None:
        reason = f"Proposal {earlier.id} has this key or id and other content."
        return make_rejection("duplication.other-content", reason, path="/idempotencyKey")
    if same is not None:
        return None  # what it did before does not stand any longer
    for action in safety.action_digests(proposed):
        if action in lately.by_action:
            reason = f"Proposal {lately.by_action[action]} already has one of these actions."
            return make_rejection("duplication.repeated", reason, path="/proposedActions")
    return safety.reject_similar(proposed, lately.texts)


# Admission: a proposal passes the gates, is recorded as admitted, and then becomes true. Three
# steps follow each other, and each alone leaves the world consistent: the verdict; the
# record of it, which is the audit and without which nothing follows; and one commit with all that
# was proposed. `settle` finds a proposal that stopped between the last two.

_LEFT_BEHIND: Final = safety.MINUTE
"""Age after which an admitted but unapplied proposal counts as abandoned."""


class _StoppedError(Exception):
    """The proposal is refused or was admitted before; nothing is recorded as admitted."""

    def __init__(self, verdict: Rejection | str) -> None:
        super().__init__(verdict)
        self.verdict = verdict


async def propose_actions(
    canon: Canon,
    caller: Caller,
    world: BoundWorld,
    player: str,
    sent: Any = None,
    *,
    due: int | None = None,
) -> outcomes.ProposalOutcome:
    """Judge what is proposed on behalf of a player; what passes becomes true, at once or when due.

    A refusal is an answer. Without a `player` it is proposed on behalf of the world.
    """
    read = read_proposal(player, sent, canon.clock.now())
    refuse = partial(_record_refusal, canon, caller, world, player=player, sent=sent)
    if isinstance(read, Rejection):
        return await refuse(read)
    oldest = canon.clock.now() - _LEFT_BEHIND
    if any(
        at < oldest
        for at in (await outcomes.recent_admissions(canon, world.space)).pending.values()
    ):
        await outcomes.settle_due(canon, caller, world)
    try:
        known = await _record_admitted(canon, caller, world, read, sent=sent, due=due)
    except _StoppedError as stopped:
        if isinstance(stopped.verdict, Rejection):
            return await refuse(stopped.verdict, proposed=read)
        _count_proposal(canon, world, EventName.PROPOSAL_DUPLICATE, read)
        return await _find_outcome(canon, world.space, read, stopped.verdict)
    except Unavailable:
        reason = "The record of this proposal could not be written."
        proposal_id = read.envelope.proposal_id.lower()
        return _refused_outcome(sent, make_rejection("audit.unavailable", reason), proposal_id)
    _count_proposal(canon, world, EventName.PROPOSAL_ACCEPTED, read)
    if due is None or due <= world.now:
        with suppress(Unavailable):  # it is recorded as admitted: whoever settles next applies it
            await outcomes.apply_admitted(canon, caller, world, known)
    return await _find_outcome(canon, world.space, read, known)


def _count_proposal(
    canon: Canon,
    world: BoundWorld,
    event: EventName,
    proposed: ReadProposal | None,
    rejection: Rejection | None = None,
) -> None:
    rule = "" if rejection is None else f"{rejection.gate}:{rejection.rule}"
    invocation = invocation_of(proposed, rejection, canon.policy.models)
    count_event(canon, event, invocation, rule, space=world.space)


async def _record_admitted(
    canon: Canon,
    caller: Caller,
    world: BoundWorld,
    proposed: ReadProposal,
    *,
    sent: Any,
    due: int | None,
) -> str:
    """Record a proposal as admitted; its id. The record is the audit, ahead of all else.

    Raises:
        _StoppedError: a gate refuses it, or it was admitted before.
        Unavailable: nothing could be recorded.
    """
    envelope, space = proposed.envelope, world.space
    keyed = replace(
        caller,
        tool="propose-action",
        idempotency_key=envelope.idempotency_key,
        request=safety.digest_content(proposed),
    )
    commit_id = keyed.commit_id(space, canon.identities.new_id)

    async def prepare_change(new_id: NewId) -> Change:
        current = await require_world(canon, caller, space)
        lately = await outcomes.recent_admissions(canon, space)
        earlier = await _find_earlier(canon, space, envelope.proposal_id.lower(), commit_id)
        later = due is not None and due > current.now
        verdict = await verdict_on(canon, current, proposed, lately, earlier, scheduled=later)
        if verdict is not None:
            raise _StoppedError(verdict)
        taken = (await canon.state.items_by_id((envelope.proposal_id.lower(),))).values()
        proposal_id = new_id("proposal") if taken else envelope.proposal_id.lower()
        content = _record_content(canon, space, proposed, sent)
        made = outcomes.proposal_record(
            caller, space, proposal_id, content if due is None else {**content, "dueTick": due}
        )
        reads = {proposals_key(space), item_key(proposal_id)}
        return Change(entries=(made,), reads=frozenset(reads))

    try:
        return first_made(
            await commit_change(canon, keyed, space, prepare_change), ProposalDraft
        ).id
    except Conflict:  # the key was used for something else: say so by the gates, in their order
        lately = await outcomes.recent_admissions(canon, space)
        earlier = await _find_earlier(canon, space, envelope.proposal_id.lower(), commit_id)
        verdict = await verdict_on(canon, world, proposed, lately, earlier)
        raise _StoppedError(verdict or make_rejection("audit.unavailable", "try again")) from None


def _record_content(
    canon: Canon, space: SpaceId, proposed: ReadProposal, sent: Any
) -> dict[str, Any]:
    """Return the record of an admitted proposal, with the model's context."""
    generation = proposed.envelope.generation
    context = (
        None
        if generation is None
        else canon.find_service(WorldServices).admissions.find_context(
            space, generation.context_hash
        )
    )
    return {
        "player": item_id_of(space, proposed.player) if proposed.player else "",
        "playerId": proposed.player,
        "correlationId": proposed.envelope.correlation_id,
        "envelope": decode_json(canonical_json(sent)),
        "contentHash": safety.digest_content(proposed),
        **({} if context is None else {"context": decode_json(context)}),
    }


async def _find_earlier(
    canon: Canon, space: SpaceId, proposal_id: str, commit_id: CommitId
) -> Proposal | None:
    """Return the admitted proposal with the same key or id."""
    commit = await canon.ledger.find_commit(commit_id)
    made = () if commit is None else [e.thing for e in commit.entries if isinstance(e, Made)]
    for each in (*(draft.id for draft in made), proposal_id):
        found = await outcomes.proposal_in(canon, space, each)
        if found is not None and "contentHash" in found.content:
            return found
    return None


async def _find_outcome(
    canon: Canon, space: SpaceId, proposed: ReadProposal, known: str
) -> outcomes.ProposalOutcome:
    """Return the outcome of this proposal or of its equal."""
    found = await outcomes.proposal_in(canon, space, known)
    if found is None:
        raise Unavailable("proposal.unread", "The proposal cannot be read now. Ask for it again.")
    same = known == proposed.envelope.proposal_id.lower()
    return (
        outcomes.outcome_of(found)
        if same
        else replace(outcomes.outcome_of(found), duplicate_of=known)
    )


async def _record_refusal(
    canon: Canon,
    caller: Caller,
    world: BoundWorld,
    rejection: Rejection,
    *,
    player: str,
    sent: Any,
    proposed: ReadProposal | None = None,
) -> outcomes.ProposalOutcome:
    """Record a refusal and return it; an equal refusal is recorded once."""
    _count_proposal(canon, world, EventName.PROPOSAL_REJECTED, proposed, rejection)
    wanted = _uuid_in(sent, "proposalId")
    taken = (await canon.state.items_by_id((wanted,))).get(wanted) if wanted else None
    sent_digest = safety.digest_value(sent)
    if isinstance(taken, Proposal) and taken.content.get("sent") == sent_digest:
        known = outcomes.outcome_of(taken)
        if taken.space == world.space and known.rejection == rejection:
            return known
    proposal_id = wanted if wanted and taken is None else canon.identities.new_id()
    content: dict[str, Any] = {
        "player": item_id_of(world.space, player) if player else "",
        "correlationId": _uuid_in(sent, "correlationId"),
        "sent": sent_digest,
    }
    plain = canonical_json(sent)
    if len(plain) <= ENVELOPE_BYTES:
        content["envelope"] = decode_json(plain)
    made = outcomes.proposal_record(caller, world.space, proposal_id, content)
    entries = (made, outcomes.refusal_record(caller, proposal_id, rejection))

    async def prepare_change(_: NewId) -> Change:
        return Change(entries=entries, reads=frozenset((item_key(proposal_id),)))

    try:
        unkeyed = replace(caller, idempotency_key=None, request="")
        await commit_change(canon, unkeyed, world.space, prepare_change)
    except CanonryError:
        reason = "The record of this refusal could not be written."
        return _refused_outcome(sent, make_rejection("audit.unavailable", reason), proposal_id)
    return _refused_outcome(sent, rejection, proposal_id)


def _refused_outcome(sent: Any, rejection: Rejection, proposal_id: str) -> outcomes.ProposalOutcome:
    return outcomes.ProposalOutcome(
        proposal_id=proposal_id,
        correlation_id=_uuid_in(sent, "correlationId") or proposal_id,
        accepted=False,
        gates_passed=gates_before(rejection),
        rejection=rejection,
    )


def _uuid_in(sent: Any, name: str) -> str:
    value = sent.get(name) if isinstance(sent, Mapping) else None
    return value.lower() if isinstance(value, str) and is_uuid(value) else ""


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
) -> outcomes.ProposalOutcome:
    """Have an event come about now or at a tick; `payload` has the parameters and the `scopeKey`.

    Once for each key. Earlier due events are applied first.

    Raises:
        InvalidInput: `event.unknown` or `tick.out-of-range`.
    """
    action = EVENT_NAMES.get(event_type)
    if action is None:
        known = ", ".join(EVENT_NAMES)
        message = f"There is no such event type. Use one of {known}."
        raise InvalidInput("event.unknown", message, path="/type")
    proposal_id = derive_step(caller, "proposal").commit_id(world.space, canon.identities.new_id)
    before = await outcomes.proposal_in(canon, world.space, proposal_id)
    if before is not None and before.decision is not None:  # an earlier sending was told this
        return _with_payload_path(outcomes.outcome_of(before))
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
    tick = None if due is None else check_tick(due, path="/dueTick")
    await outcomes.settle_due(canon, caller, world)
    return _with_payload_path(await propose_actions(canon, caller, world, "", envelope, due=tick))


def _with_payload_path(fared: outcomes.ProposalOutcome) -> outcomes.ProposalOutcome:
    """Translate the rejection's path from the envelope to the payload."""
    rejection = fared.rejection
    if rejection is None or rejection.path is None or not rejection.path.startswith(_ACTION):
        return fared
    within = rejection.path.removeprefix(_ACTION).removeprefix("/params")
    return replace(fared, rejection=replace(rejection, path=f"/payload{within}"))


_SEARCHED_MAX: int = 5_000  # the most proposals that are read for one page


async def get_proposal(
    canon: Canon, world: BoundWorld, proposal_id: str, *, only_by: str | None = None
) -> Proposal | None:
    """The proposal of that id; None: there is none, or none of theirs."""
    found = await outcomes.proposal_in(canon, world.space, proposal_id.lower())
    return found if found is not None and only_by in {None, found.proposed_by} else None


async def list_proposals(
    canon: Canon,
    world: BoundWorld,
    *,
    limit: int,
    start: int,
    player: str | None = None,
    actor: str | None = None,
    accepted: bool | None = None,
    since: Instant | None = None,
    only_by: str | None = None,
) -> tuple[Sequence[Proposal], int | None]:
    """Return a page of proposals in the order of their arrival, and the start of the next page.

    Those on behalf of a player, with an actor, that fared so, decided since then; `only_by` is who
    must have proposed them, where others may not be seen.
    """
    found: list[Proposal] = []
    position, behalf = start, None if player is None else item_id_of(world.space, player)
    while position < start + _SEARCHED_MAX:
        page = await canon.documents.proposals(
            replace(outcomes.proposals_query(world.space), offset=position)
        )
        for proposal in page.items:
            if len(found) == limit:
                return found, position
            position += 1
            envelope = proposal.content.get("envelope")
            sent = envelope.get("actor") if isinstance(envelope, Mapping) else None
            actor_id = sent.get("id") if isinstance(sent, Mapping) else None
            if (
                behalf in {None, proposal.content.get("player")}
                and actor in (None, actor_id)
                and accepted in {None, proposal.status is not ProposalStatus.REJECTED}
                and (since is None or proposal.created_at >= since)
                and only_by in {None, proposal.proposed_by}
            ):
                found.append(proposal)
        if position >= page.total:
            return found, None
    return found, position


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

    async def prepare_change(_: NewId) -> Change:
        found = await get_proposal(canon, world, wanted, only_by=only_by)
        if found is None:
            raise unknown_item("proposal", proposal_id)
        now = (await require_world(canon, caller, world.space)).now
        if found.status is not ProposalStatus.PENDING or found.content.get("dueTick", now) <= now:
            message = "You can withdraw only a scheduled proposal that is not yet due."
            raise Conflict("proposal.decided", message, path="/proposalId", conflicts=[wanted])
        reads = frozenset((item_key(wanted), item_key(world.root_entity.id)))
        told = outcomes.rejection_record(
            caller, wanted, outcomes.WITHDRAWN, reason, {"withdrawn": reason}
        )
        return Change(entries=(told,), reads=reads)

    await commit_change(canon, caller, world.space, prepare_change)
    count_event(canon, EventName.PROPOSAL_WITHDRAWN, space=world.space)
    found = await get_proposal(canon, world, wanted)
    if found is None:
        raise unknown_item("proposal", proposal_id)
    return found


class WorldStagingGuard(StagingGuard):
    """Holds staged proposals against the gates of a world that the operator has opened."""

    @override
    def lock_staging(self, canon: Canon, space: SpaceId) -> AbstractAsyncContextManager[Any]:
        return canon.find_service(WorldServices).admissions.recent_of(space).lock

    @override
    async def pass_gates(
        self,
        canon: Canon,
        caller: Caller,
        space: SpaceId,
        staged: Sequence[StagedContent],
        *,
        instead_of: str | None = None,
    ) -> None:
        compared = list(map(safety.ComparedContent.from_staged, staged))
        rejection = await _judge_staged(canon, caller, space, compared, instead_of)
        if rejection is not None:
            rule = f"{rejection.gate}:{rejection.rule}"
            count_event(canon, EventName.PROPOSAL_REJECTED, rule=rule, space=space)
            raise _refusal_error(rejection, canon.policy.staging)


async def _judge_staged(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    staged: Sequence[safety.ComparedContent],
    instead_of: str | None,
) -> Rejection | None:
    """Let each gate judge all staged content before the next gate."""
    gates, now, by = canon.policy.staging, canon.clock.now(), caller.actor.agent_id
    if gates.safety:
        texts = [
            (path, value)
            for each in staged
            for path, value in safety.values_in(each.content, each.path)
            if isinstance(value, str) and not is_uuid(value)
        ]
        found = await asyncio.gather(*(moderate_content(canon, text) for _, text in texts))
        for (path, _), moderated in zip(texts, found, strict=True):
            if (unsafe := safety.reject_flagged(path, moderated.categories)) is not None:
                return unsafe
    earlier = await _staged_lately(canon, space)
    own = [safety.StagedBefore(id="", by=by, at=now, stands=True, content=each) for each in staged]
    if gates.duplication:
        for number, each in enumerate(staged):
            others = [one for one in earlier if one.id != instead_of]
            refused = safety.reject_repeated(each, [*others, *own[:number]])
            if refused is not None:
                return refused
    for number in range(len(staged)):
        refused = safety.reject_too_many(by, [*earlier, *own[:number]], now, gates)
        if refused is not None:
            return refused
    return None


async def _staged_lately(canon: Canon, space: SpaceId) -> Sequence[safety.StagedBefore]:
    """Return the proposals of the last day that the proposer may read."""
    spaces = frozenset((space,))
    total = (await canon.documents.proposals(ProposalQuery(spaces=spaces, limit=1))).total
    query = ProposalQuery(spaces=spaces, limit=STAGED_MAX, offset=max(0, total - STAGED_MAX))
    since = canon.clock.now() - DAY
    found = (await canon.documents.proposals(query)).items
    return [
        safety.StagedBefore(
            id=each.id,
            by=each.proposed_by,
            at=each.created_at,
            stands=each.status is not ProposalStatus.REJECTED,
            content=safety.ComparedContent(
                kind=each.type, scene=each.scene_id, content=each.content
            ),
        )
        for each in found
        if each.created_at >= since
    ]


def _refusal_error(rejection: Rejection, gates: StagingGates) -> CanonryError:
    details = {
        "gate": rejection.gate,
        "gateIndex": rejection.gate_index,
        "rule": rejection.rule,
        "reason": rejection.reason,
        "path": rejection.path,
        "admissible": rejection.admissible,
        "transient": rejection.transient,
        "gatesPassed": list(safety.passed_gates(gates, rejection)),
        "policyVersion": POLICY_VERSION,
    }
    if rejection.gate is GateName.SAFETY:
        message = f"{rejection.reason} Propose it in other words."
        return InvalidInput("proposal.unsafe", message, **details)
    if rejection.gate is GateName.DUPLICATION:
        message = f"{rejection.reason} Use that proposal, or change the content."
        return Conflict("proposal.repeated", message, **details)
    message = f"{rejection.reason} Send it again in {rejection.retry_after_ms} ms."
    wait = {"retryAfterMs": rejection.retry_after_ms}
    return Unavailable("proposal.too-many", message, **details, **wait)
