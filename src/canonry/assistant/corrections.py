"""Merges, retcons and corrections of fields: proposed, and executed on acceptance."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from canonry.canon.canonization.proposals import ProposalOrigin, Suggestion, draft_of
from canonry.canon.commands.entities import (
    EntityUpdate,
    merge_entities,
    require_mergeable,
    update_entity,
)
from canonry.canon.commands.retcon_items import (
    Retcon,
    Retconnable,
    list_dependents,
    retcon_with_dependents,
)
from canonry.canon.session import lookup
from canonry.canon.session.caller import Caller, derive_step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    commit_change,
    find_earlier_commit,
    require_standing,
)
from canonry.log.entries import Made, ProposalDecided
from canonry.log.folding import item_key
from canonry.log.items.entities import Entity
from canonry.log.items.proposals import DecisionDraft, Proposal, ProposalDraft, ProposalStatus
from canonry.log.observations import ids_in
from canonry.log.schemas.narrative import DESCRIPTION, NAME
from canonry.values.errors import Conflict
from canonry.values.ids import NewId, ProposalId, SpaceId
from canonry.values.provenance import Authority, CanonLevel

RULE: Final = "keeper:upkeep"


async def stage_changes(
    canon: Canon, caller: Caller, universe_id: str, asked: Sequence[Suggestion]
) -> Sequence[ProposalId]:
    """Stage the changes as proposals in one commit; the ids are in the same order."""
    space = (await lookup.require_judged(canon, caller, universe_id)).id

    async def prepare_change(new_id: NewId) -> Change:
        ids = sorted(ProposalId(new_id(f"proposal/{n}")) for n in range(len(asked)))
        reads: frozenset[str] = frozenset()
        for n, one in enumerate(asked):
            reads |= await require_possible(canon, caller, space, one.content)
            path = f"/claims/{n}/evidence"
            reads |= await lookup.require_evidence(canon, caller, space, one.evidence, path=path)
        origin = ProposalOrigin(space=space)
        drafts = (draft_of(ids[n], caller, origin, one, one.content) for n, one in enumerate(asked))
        return Change(entries=tuple(Made(thing=draft) for draft in drafts), reads=reads)

    receipt = await commit_change(canon, caller, space, prepare_change)
    return [
        draft.id for draft in receipt.drafts_made(ProposalDraft) if isinstance(draft, ProposalDraft)
    ]


async def require_possible(
    canon: Canon, caller: Caller, space: SpaceId, content: Mapping[str, Any]
) -> frozenset[str]:
    """Refuse changes of unknown or retconned items; return the keys of the items.

    Raises:
        NotFound: `entity.unknown` or `thing.unknown`.
        Conflict: `<kind>.retconned`, `space.foreign`, or as for a merge.
    """
    match content:
        case {"does": "merge", "from_entity_id": merged_id, "to_entity_id": kept_id}:
            kept, merged = await lookup.require_all(canon, caller, Entity, (kept_id, merged_id))
            require_mergeable(kept, merged)
            item: Retconnable = kept
        case {"does": "retcon", "thing_id": item_id}:
            item = (await list_dependents(canon, caller, item_id)).thing
        case _:
            item = await lookup.require_item(canon, caller, Entity, content["entity_id"])
    lookup.require_same_space(space, [item], path="/claims")
    require_standing(item)
    return frozenset(map(item_key, ids_in(content)))


async def execute_change(canon: Canon, caller: Caller, proposal_id: str, reason: str) -> str:
    """Execute a pending proposal on the judge's authority; return the id of the changed item.

    Changes that already hold, as after an interruption, are not repeated.

    Raises:
        NotFound: `proposal.unknown`.
        Conflict: `proposal.decided`, or as for merges, updates and retcons.
    """
    proposal = await lookup.require_item(canon, caller, Proposal, proposal_id)

    async def prepare_change(_: NewId) -> Change:
        now = await lookup.require_item(canon, caller, Proposal, proposal_id)
        _require_pending(now)
        decision = DecisionDraft(
            status=ProposalStatus.ACCEPTED,
            rule=RULE,
            rationale=reason,
            canonical_id=outcome,
            decided_by=caller.actor.agent_id,
        )
        entry = ProposalDecided(proposal_id=now.id, decision=decision)
        return Change(entries=(entry,), reads=frozenset((item_key(now.id),)))

    decided = derive_step(caller, "decided")
    if await find_earlier_commit(canon, decided, proposal.space) is None:
        _require_pending(proposal)
    outcome = await _execute_content(canon, derive_step(caller, "upkeep"), proposal)
    await commit_change(canon, decided, proposal.space, prepare_change)
    return outcome


def _require_pending(proposal: Proposal) -> None:
    if proposal.decision is not None:
        message = f"This proposal is already {proposal.decision.status}. Propose its content again."
        raise Conflict("proposal.decided", message, status=proposal.decision.status.value)


async def _execute_content(canon: Canon, caller: Caller, proposal: Proposal) -> str:
    content, reason = proposal.content, str(proposal.content["reason"])
    weak = proposal.authority in {Authority.PLAYER, Authority.SYSTEM}
    lower = weak and Authority.GM in caller.authorities
    authority = Authority.GM if lower else proposal.authority
    match content:
        case {"does": "merge", "from_entity_id": merged, "to_entity_id": kept}:
            first, second = await lookup.require_all(canon, caller, Entity, (kept, merged))
            if first.id != second.id:
                await merge_entities(canon, caller, kept_id=kept, merged_id=merged, reason=reason)
            return first.id
        case {"does": "retcon", "thing_id": str(item_id)}:
            retcon = Retcon(reason=reason, authority=authority, evidence=proposal.evidence)
            now = (await list_dependents(canon, caller, item_id)).thing
            if now.level is not CanonLevel.RETCONNED:
                await retcon_with_dependents(canon, caller, item_id, retcon)
            return item_id
        case _:
            entity, field = str(content["entity_id"]), content["field"]
            own, evidence = field in {NAME, DESCRIPTION}, proposal.evidence
            changed = {field: content["value"]}
            update = EntityUpdate(**changed) if own else EntityUpdate(properties=changed)
            await update_entity(
                canon, caller, entity, update, authority=authority, evidence=evidence
            )
            return entity
