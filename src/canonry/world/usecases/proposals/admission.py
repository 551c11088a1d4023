"""Admit proposals, events and what is staged by the gates; find and withdraw proposals."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from typing_extensions import override

from canonry.canon.canonization.proposals import StagedContent, StagingGuard
from canonry.canon.session.ai_words import EventName
from canonry.canon.session.caller import Caller, step, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change, the_made
from canonry.log.entries import Made
from canonry.log.folding import proposals_key, thing_key
from canonry.log.items.proposals import Proposal, ProposalDraft, ProposalStatus
from canonry.readmodels.edges import checked_tick
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.values.errors import CanonryError, Conflict, InvalidInput, Unavailable
from canonry.values.ids import CommitId, NewId, ProposalId, SpaceId, is_uuid
from canonry.values.json_values import canonical_json, decode_json
from canonry.values.moments import DAY, Instant, render_instant
from canonry.values.policy import STAGED_MAX, StagingGates
from canonry.world.domain.admission.safety import (
    MINUTE,
    ComparedContent,
    StagedBefore,
    action_digests,
    content_of,
    digest,
    flagged,
    not_replayable,
    over_budget,
    passed_of,
    repeated,
    text_of,
    told_texts,
    too_alike,
    too_many,
    unsafe,
    values_in,
)
from canonry.world.domain.admission.schema import (
    ENVELOPE_BYTES,
    LASTING,
    POLICY_VERSION,
    GateName,
    Proposed,
    Rejection,
    passed_before,
    read_proposal,
    refusal,
)
from canonry.world.domain.atlas import thing_id_of
from canonry.world.models.services import (
    Lately,
    WorldServices,
    count_event,
    invocation_of,
    moderate_content,
)
from canonry.world.usecases.proposals.playing import EVENT_NAMES, play_actions
from canonry.world.usecases.proposals.settling import (
    WITHDRAWN,
    Decided,
    apply_admitted,
    asked_proposals,
    counted,
    decided,
    draft_of,
    lately_admitted,
    proposal_in,
    refused_by,
    rejected_by,
    settle,
)
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
    proposed: Proposed,
    lately: Lately,
    earlier: Proposal | None,
    *,
    scheduled: bool = False,
) -> AdmissionVerdict:
    """Judge by gates 2 to 6; `earlier` is the admitted proposal with the same key or id.

    A `scheduled` proposal is judged against the world when it is due; now only by
    rules that time does not affect.
    """
    content = content_of(proposed)
    if earlier is not None and earlier.content["contentHash"] == content:
        return earlier.id
    told = [text for action in proposed.actions for _, text in told_texts(action.params)]
    texts = list(dict.fromkeys(told))
    found = await asyncio.gather(*(moderate_content(canon, text) for text in texts))
    categories = {text: each.categories for text, each in zip(texts, found, strict=True)}
    flagged = unsafe(proposed.actions, categories.__getitem__)
    if flagged is not None:
        return flagged
    draft = WorldDraft(
        canon=canon,
        space=world.space,
        at=world.instant,
        new_id=counted(str),
        proposal=ProposalId(proposed.envelope.proposal_id),
    )
    refused = await play_actions(draft, proposed)
    if scheduled and refused is not None and refused.rule not in LASTING:
        refused = None
    repeatable = all(text_of(action) is not None for action in proposed.actions)
    same = lately.by_content.get(content) if repeatable else None
    if refused is None:  # what the same proposal did before holds, unless it ends by itself
        still_holds = not any(action.kind in _LASTING for action in proposed.actions)
    else:
        still_holds = refused.rule in _STANDS
    if same is not None and still_holds:
        return same
    mine = lately.spent_by(thing_id_of(world.space, proposed.player) if proposed.player else "")
    now, limits = canon.clock.now(), canon.policy.admission
    return (
        refused
        or _duplicated(proposed, lately, earlier, same)
        or not_replayable(
            proposed.envelope.generation,
            lambda name: (
                canon.service(WorldServices).admissions.context(world.space, name) is not None
            ),
        )
        or over_budget(mine, lately.instants, proposed.tokens, now, limits)
    )


def _duplicated(
    proposed: Proposed, lately: Lately, earlier: Proposal | None, same: str | None
) -> Rejection | None:
    if earlier is not None:
        reason = f"Proposal {earlier.id} has this key or id and other content."
        return refusal("duplication.other-content", reason, path="/idempotencyKey")
    if same is not None:
        return None  # what it did before does not stand any longer
    for action in action_digests(proposed):
        if action in lately.by_action:
            reason = f"Proposal {lately.by_action[action]} already has one of these actions."
            return refusal("duplication.repeated", reason, path="/proposedActions")
    return too_alike(proposed, lately.said)


# Admission: a proposal passes the gates, is recorded as admitted, and then becomes true. Three
# steps follow each other, and each alone leaves the world consistent: the verdict; the
# record of it, which is the audit and without which nothing follows; and one commit with all that
# was proposed. `settle` finds a proposal that stopped between the last two.

_LEFT_BEHIND: Final = MINUTE
"""Age after which an admitted but unapplied proposal counts as abandoned."""


class _StoppedError(Exception):
    """The proposal is refused or was admitted before; nothing is recorded as admitted."""

    def __init__(self, verdict: Rejection | str) -> None:
        super().__init__(verdict)
        self.verdict = verdict


async def propose(
    canon: Canon,
    caller: Caller,
    world: BoundWorld,
    player: str,
    sent: Any = None,
    *,
    due: int | None = None,
) -> Decided:
    """Judge what is proposed on behalf of a player; what passes becomes true, at once or when due.

    A refusal is an answer. Without a `player` it is proposed on behalf of the world.
    """
    read = read_proposal(player, sent, canon.clock.now())
    refuse = partial(_refuse, canon, caller, world, player=player, sent=sent)
    if isinstance(read, Rejection):
        return await refuse(read)
    oldest = canon.clock.now() - _LEFT_BEHIND
    if any(at < oldest for at in (await lately_admitted(canon, world.space)).pending.values()):
        await settle(canon, caller, world)
    try:
        known = await _admit(canon, caller, world, read, sent=sent, due=due)
    except _StoppedError as stopped:
        if isinstance(stopped.verdict, Rejection):
            return await refuse(stopped.verdict, proposed=read)
        _tell(canon, world, EventName.PROPOSAL_DUPLICATE, read)
        return await _answer(canon, world.space, read, stopped.verdict)
    except Unavailable:
        reason = "The record of this proposal could not be written."
        proposal_id = read.envelope.proposal_id.lower()
        return _refused(sent, refusal("audit.unavailable", reason), proposal_id)
    _tell(canon, world, EventName.PROPOSAL_ACCEPTED, read)
    if due is None or due <= world.now:
        with suppress(Unavailable):  # it is recorded as admitted: whoever settles next applies it
            await apply_admitted(canon, caller, world, known)
    return await _answer(canon, world.space, read, known)


def _tell(
    canon: Canon,
    world: BoundWorld,
    event: EventName,
    proposed: Proposed | None,
    rejection: Rejection | None = None,
) -> None:
    rule = "" if rejection is None else f"{rejection.gate}:{rejection.rule}"
    told = invocation_of(proposed, rejection, canon.policy.models)
    count_event(canon, event, told, rule, space=world.space)


async def _admit(
    canon: Canon,
    caller: Caller,
    world: BoundWorld,
    proposed: Proposed,
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
        request=content_of(proposed),
    )
    commit_id = keyed.commit_id(space, canon.identities.fresh)

    async def prepare(new_id: NewId) -> Change:
        current = await require_world(canon, caller, space)
        lately = await lately_admitted(canon, space)
        earlier = await _earlier(canon, space, envelope.proposal_id.lower(), commit_id)
        later = due is not None and due > current.now
        verdict = await verdict_on(canon, current, proposed, lately, earlier, scheduled=later)
        if verdict is not None:
            raise _StoppedError(verdict)
        taken = (await canon.state.things((envelope.proposal_id.lower(),))).values()
        proposal_id = new_id("proposal") if taken else envelope.proposal_id.lower()
        content = _content(canon, space, proposed, sent)
        made = draft_of(
            caller, space, proposal_id, content if due is None else {**content, "dueTick": due}
        )
        reads = {proposals_key(space), thing_key(proposal_id)}
        return Change(entries=(made,), reads=frozenset(reads))

    try:
        return the_made(await commit_change(canon, keyed, space, prepare), ProposalDraft).id
    except Conflict:  # the key was used for something else: say so by the gates, in their order
        lately = await lately_admitted(canon, space)
        earlier = await _earlier(canon, space, envelope.proposal_id.lower(), commit_id)
        verdict = await verdict_on(canon, world, proposed, lately, earlier)
        raise _StoppedError(verdict or refusal("audit.unavailable", "try again")) from None


def _content(canon: Canon, space: SpaceId, proposed: Proposed, sent: Any) -> dict[str, Any]:
    """Return the record of an admitted proposal, with the model's context."""
    generation = proposed.envelope.generation
    told = (
        None
        if generation is None
        else canon.service(WorldServices).admissions.context(space, generation.context_hash)
    )
    return {
        "player": thing_id_of(space, proposed.player) if proposed.player else "",
        "playerId": proposed.player,
        "correlationId": proposed.envelope.correlation_id,
        "envelope": decode_json(canonical_json(sent)),
        "contentHash": content_of(proposed),
        **({} if told is None else {"context": decode_json(told)}),
    }


async def _earlier(
    canon: Canon, space: SpaceId, proposal_id: str, commit_id: CommitId
) -> Proposal | None:
    """Return the admitted proposal with the same key or id."""
    commit = await canon.ledger.find(commit_id)
    made = () if commit is None else [e.thing for e in commit.entries if isinstance(e, Made)]
    for each in (*(draft.id for draft in made), proposal_id):
        found = await proposal_in(canon, space, each)
        if found is not None and "contentHash" in found.content:
            return found
    return None


async def _answer(canon: Canon, space: SpaceId, proposed: Proposed, known: str) -> Decided:
    """Return the outcome of this proposal or of its equal."""
    found = await proposal_in(canon, space, known)
    if found is None:
        raise Unavailable("proposal.unread", "The proposal cannot be read now. Ask for it again.")
    same = known == proposed.envelope.proposal_id.lower()
    return decided(found) if same else replace(decided(found), duplicate_of=known)


async def _refuse(
    canon: Canon,
    caller: Caller,
    world: BoundWorld,
    rejection: Rejection,
    *,
    player: str,
    sent: Any,
    proposed: Proposed | None = None,
) -> Decided:
    """Record a refusal and return it; an equal refusal is recorded once."""
    _tell(canon, world, EventName.PROPOSAL_REJECTED, proposed, rejection)
    wanted = _uuid_in(sent, "proposalId")
    taken = (await canon.state.things((wanted,))).get(wanted) if wanted else None
    told = digest(sent)
    if isinstance(taken, Proposal) and taken.content.get("sent") == told:
        known = decided(taken)
        if taken.space == world.space and known.rejection == rejection:
            return known
    proposal_id = wanted if wanted and taken is None else canon.identities.fresh()
    content: dict[str, Any] = {
        "player": thing_id_of(world.space, player) if player else "",
        "correlationId": _uuid_in(sent, "correlationId"),
        "sent": told,
    }
    plain = canonical_json(sent)
    if len(plain) <= ENVELOPE_BYTES:
        content["envelope"] = decode_json(plain)
    made = draft_of(caller, world.space, proposal_id, content)
    entries = (made, refused_by(caller, proposal_id, rejection))

    async def prepare(_: NewId) -> Change:
        return Change(entries=entries, reads=frozenset((thing_key(proposal_id),)))

    try:
        unkeyed = replace(caller, idempotency_key=None, request="")
        await commit_change(canon, unkeyed, world.space, prepare)
    except CanonryError:
        reason = "The record of this refusal could not be written."
        return _refused(sent, refusal("audit.unavailable", reason), proposal_id)
    return _refused(sent, rejection, proposal_id)


def _refused(sent: Any, rejection: Rejection, proposal_id: str) -> Decided:
    return Decided(
        proposal_id=proposal_id,
        correlation_id=_uuid_in(sent, "correlationId") or proposal_id,
        accepted=False,
        gates_passed=passed_before(rejection),
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
) -> Decided:
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
    """Translate the rejection's path from the envelope to the payload."""
    told = fared.rejection
    if told is None or told.path is None or not told.path.startswith(_ACTION):
        return fared
    within = told.path.removeprefix(_ACTION).removeprefix("/params")
    return replace(fared, rejection=replace(told, path=f"/payload{within}"))


_LOOKED_AT: int = 5_000
"""So many proposals are looked through for one page."""


async def get_proposal(
    canon: Canon, world: BoundWorld, proposal_id: str, *, only_by: str | None = None
) -> Proposal | None:
    """The proposal of that id; None: there is none, or none of theirs."""
    found = await proposal_in(canon, world.space, proposal_id.lower())
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
    """Proposals in the order in which they came, from a place in it; and where the next begin.

    Those on behalf of a player, with an actor, that fared so, decided since then; `only_by` is who
    must have proposed them, where others may not be seen.
    """
    found: list[Proposal] = []
    place, behalf = start, None if player is None else thing_id_of(world.space, player)
    while place < start + _LOOKED_AT:
        page = await canon.documents.proposals(replace(asked_proposals(world.space), offset=place))
        for proposal in page.items:
            if len(found) == limit:
                return found, place
            place += 1
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
        if place >= page.total:
            return found, None
    return found, place


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
            message = "You can withdraw only a scheduled proposal that is not yet due."
            raise Conflict("proposal.decided", message, path="/proposalId", conflicts=[wanted])
        reads = frozenset((thing_key(wanted), thing_key(world.heart.id)))
        told = rejected_by(caller, wanted, WITHDRAWN, reason, {"withdrawn": reason})
        return Change(entries=(told,), reads=reads)

    await commit_change(canon, caller, world.space, prepare)
    count_event(canon, EventName.PROPOSAL_WITHDRAWN, space=world.space)
    found = await get_proposal(canon, world, wanted)
    if found is None:
        raise unknown("proposal", proposal_id)
    return found


class WorldStagingGuard(StagingGuard):
    """Holds staged proposals against the gates of a world that the operator has opened."""

    @override
    def lock(self, canon: Canon, space: SpaceId) -> AbstractAsyncContextManager[Any]:
        if not canon.policy.staging.opened:
            return nullcontext()
        return canon.service(WorldServices).admissions.of(space).turn

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
        gates = canon.policy.staging
        if not gates.opened:
            return
        compared = list(map(ComparedContent.of, staged))
        rejection = await _judged(canon, caller, space, compared, instead_of)
        if rejection is not None:
            rule = f"{rejection.gate}:{rejection.rule}"
            count_event(canon, EventName.PROPOSAL_REJECTED, rule=rule, space=space)
            raise _refusing(rejection, gates)


async def _judged(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    staged: Sequence[ComparedContent],
    instead_of: str | None,
) -> Rejection | None:
    """Let each gate judge all staged content before the next gate."""
    gates, now, by = canon.policy.staging, canon.clock.now(), caller.actor.agent_id
    if gates.safety:
        texts = [
            (path, value)
            for each in staged
            for path, value in values_in(each.content, each.path)
            if isinstance(value, str) and not is_uuid(value)
        ]
        found = await asyncio.gather(*(moderate_content(canon, text) for _, text in texts))
        for (path, _), moderated in zip(texts, found, strict=True):
            if (unsafe := flagged(path, moderated.categories)) is not None:
                return unsafe
    earlier = await _staged_lately(canon, space)
    own = [StagedBefore(id="", by=by, at=now, stands=True, told=each) for each in staged]
    if gates.duplication:
        for number, each in enumerate(staged):
            others = [one for one in earlier if one.id != instead_of]
            refused = repeated(each, [*others, *own[:number]])
            if refused is not None:
                return refused
    for number in range(len(staged)):
        refused = too_many(by, [*earlier, *own[:number]], now, gates)
        if refused is not None:
            return refused
    return None


async def _staged_lately(canon: Canon, space: SpaceId) -> Sequence[StagedBefore]:
    """Return the proposals of the last day that the proposer may read."""
    spaces = frozenset((space,))
    total = (await canon.documents.proposals(ProposalQuery(spaces=spaces, limit=1))).total
    query = ProposalQuery(spaces=spaces, limit=STAGED_MAX, offset=max(0, total - STAGED_MAX))
    since = canon.clock.now() - DAY
    found = (await canon.documents.proposals(query)).items
    return [
        StagedBefore(
            id=each.id,
            by=each.proposed_by,
            at=each.created_at,
            stands=each.status is not ProposalStatus.REJECTED,
            told=ComparedContent(kind=each.type, scene=each.scene_id, content=each.content),
        )
        for each in found
        if each.created_at >= since
    ]


def _refusing(rejection: Rejection, gates: StagingGates) -> CanonryError:
    told = {
        "gate": rejection.gate,
        "gateIndex": rejection.gate_index,
        "rule": rejection.rule,
        "reason": rejection.reason,
        "path": rejection.path,
        "admissible": rejection.admissible,
        "transient": rejection.transient,
        "gatesPassed": list(passed_of(gates, rejection)),
        "policyVersion": POLICY_VERSION,
    }
    if rejection.gate is GateName.SAFETY:
        message = f"{rejection.reason} Propose it in other words."
        return InvalidInput("proposal.unsafe", message, **told)
    if rejection.gate is GateName.DUPLICATION:
        message = f"{rejection.reason} Use that proposal, or change the content."
        return Conflict("proposal.repeated", message, **told)
    message = f"{rejection.reason} Send it again in {rejection.retry_after_ms} ms."
    wait = {"retryAfterMs": rejection.retry_after_ms}
    return Unavailable("proposal.too-many", message, **told, **wait)
