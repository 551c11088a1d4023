"""Create universes, declare calendars, and propose maintenance of their content."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from canonry.canon.commands.entities import (
    EntityUpdate,
    merge_entities,
    require_mergeable,
    update_entity,
)
from canonry.canon.commands.retcon_things import Retcon, Retconnable, list_dependents, retcon_thing
from canonry.canon.session.caller import Caller, step, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    answered,
    commit_change,
    require_standing,
    the_made,
)
from canonry.canon.session.lookup import (
    require,
    require_all,
    require_evidence,
    require_same_space,
    require_universe,
)
from canonry.canon.session.paging import every_item
from canonry.canon.session.spoken_times import CALENDAR
from canonry.log.entries import Made, ProposalDecided, SpaceRevised
from canonry.log.folding import thing_key
from canonry.log.items.entities import Entity, normalised_name
from canonry.log.items.proposals import (
    Correcting,
    DecisionDraft,
    Merging,
    Proposal,
    ProposalDraft,
    ProposalStatus,
    ProposalType,
    Retconning,
    UpkeepAct,
    ids_of,
    read_upkeep,
    render_upkeep,
)
from canonry.log.schemas.narrative import DESCRIPTION, NAME
from canonry.values.calendars.declaring import read_calendar
from canonry.values.errors import Conflict, NotAllowed
from canonry.values.ids import (
    NewId,
    ProposalId,
    Space,
    SpaceDraft,
    SpaceId,
    SpaceKind,
    keyed_commit_id,
)
from canonry.values.provenance import Authority, CanonLevel, Evidence


async def create_universe(
    canon: Canon,
    caller: Caller,
    *,
    kind: SpaceKind,
    name: str,
    description: str,
    properties: Mapping[str, Any],
    parent: str | None = None,
) -> Receipt:
    """Create a space; a retry with the same idempotency key returns the first one.

    Raises:
        InvalidInput: as `read_calendar`, for the property `calendar`.
        NotAllowed: `space.bound`, the caller may use granted universes only.
        NotFound: `multiverse.unknown`.
    """
    if CALENDAR in properties:
        read_calendar(properties[CALENDAR])
    if caller.spaces is not None:
        message = "This caller may only use universes granted to it. It cannot create one."
        raise NotAllowed("space.bound", message)
    if parent is not None:
        found = await canon.seen_by(caller).thing(parent)
        if not isinstance(found, Space) or found.kind is not SpaceKind.MULTIVERSE:
            raise unknown("multiverse", parent)
    space_id = space_opened_by(canon, caller)

    async def prepare(_: NewId) -> Change:
        space = SpaceDraft(
            id=space_id,
            kind=kind,
            name=name,
            description=description,
            parent=None if parent is None else SpaceId(parent),
            properties=dict(properties),
        )
        return Change(entries=(Made(thing=space),), reads=frozenset())

    return await commit_change(canon, caller, space_id, prepare)


def space_opened_by(canon: Canon, caller: Caller) -> SpaceId:
    """Return the id of the space that this request creates; random without an idempotency key."""
    key = caller.idempotency_key
    if key is None:
        return SpaceId(canon.identities.fresh())
    return SpaceId(keyed_commit_id("", caller.actor.agent_id, caller.tool, key))


async def universe_named(canon: Canon, caller: Caller, name: str, *, description: str) -> SpaceId:
    """Return the oldest universe of that name; create one if there is none."""
    universes = partial(canon.state.spaces, kind=SpaceKind.UNIVERSE, parent=None)
    async for space in every_item(universes):
        if normalised_name(space.name) == normalised_name(name):
            return space.id
    receipt = await create_universe(
        canon,
        replace(caller, idempotency_key=f"universe {normalised_name(name)}"),
        kind=SpaceKind.UNIVERSE,
        name=name,
        description=description,
        properties={},
    )
    return the_made(receipt, SpaceDraft).id


async def declare_calendar(
    canon: Canon, caller: Caller, universe_id: str, declared: Mapping[str, Any] | None
) -> Receipt:
    """Set the universe's calendar; None sets the Gregorian one.

    Raises:
        InvalidInput: as `read_calendar`.
        NotFound: `universe.unknown`.
    """
    if declared is not None:
        read_calendar(declared)
    space = (await require_universe(canon, caller, universe_id)).id

    async def prepare(_: NewId) -> Change:
        universe = await require_universe(canon, caller, universe_id)
        properties = {key: each for key, each in universe.properties.items() if key != CALENDAR}
        if declared is not None:
            properties[CALENDAR] = dict(declared)
        same = properties == dict(universe.properties)
        revised = SpaceRevised(
            space_id=universe.id,
            name=universe.name,
            description=universe.description,
            properties=properties,
        )
        entries = () if same else (revised,)
        return Change(entries=entries, reads=frozenset((thing_key(universe.id),)))

    return await commit_change(canon, caller, space, prepare)


# Maintenance: proposed merges, retcons and corrections, executed on acceptance.

RULE: Final = "keeper:upkeep"
"""The rule of such a decision: the judge has executed the change."""
_LOWER: Final = frozenset({Authority.PLAYER, Authority.SYSTEM})


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepAsked:
    """A proposed change, its reason, evidence and authority."""

    upkeep: UpkeepAct
    reason: str
    evidence: tuple[Evidence, ...]
    authority: Authority


async def ask_upkeep(
    canon: Canon, caller: Caller, universe_id: str, asked: Sequence[UpkeepAsked]
) -> Sequence[ProposalId]:
    """Stage the changes as proposals in one commit; the ids are in the same order.

    Raises:
        CanonryError: as `require_possible`; NotFound: `evidence.unknown`.
    """
    space = (await require_universe(canon, caller, universe_id)).id

    async def prepare(new_id: NewId) -> Change:
        ids = sorted(ProposalId(new_id(f"proposal/{n}")) for n in range(len(asked)))
        reads: frozenset[str] = frozenset()
        for n, one in enumerate(asked):
            reads |= await require_possible(canon, caller, space, one.upkeep)
            path = f"/claims/{n}/evidence"
            reads |= await require_evidence(canon, caller, space, one.evidence, path=path)
        drafts = (
            ProposalDraft(
                id=ids[n],
                space=space,
                scene_id=None,
                turn_id=None,
                type=ProposalType.UPKEEP,
                content=render_upkeep(one.upkeep, one.reason),
                evidence=one.evidence,
                confidence=1.0,
                authority=one.authority,
                proposed_by=caller.actor.agent_id,
                status=ProposalStatus.PENDING,
            )
            for n, one in enumerate(asked)
        )
        return Change(entries=tuple(Made(thing=draft) for draft in drafts), reads=reads)

    receipt = await commit_change(canon, caller, space, prepare)
    return [draft.id for draft in receipt.made(ProposalDraft) if isinstance(draft, ProposalDraft)]


async def require_possible(
    canon: Canon, caller: Caller, space: SpaceId, asked: UpkeepAct
) -> frozenset[str]:
    """Refuse changes of unknown or retconned items; return the keys of the items.

    Raises:
        NotFound: `entity.unknown` or `thing.unknown`.
        Conflict: `<kind>.retconned`, `space.foreign`, or as for a merge.
    """
    match asked:
        case Merging():
            kept, merged = await require_all(canon, caller, Entity, (asked.kept, asked.merged))
            require_mergeable(kept, merged)
            thing: Retconnable = kept
        case Retconning():
            thing = (await list_dependents(canon, caller, asked.thing)).thing
        case Correcting():
            thing = await require(canon, caller, Entity, asked.entity)
    require_same_space(space, [thing], path="/claims")
    require_standing(thing)
    return frozenset(map(thing_key, ids_of(asked)))


async def accept_upkeep(canon: Canon, caller: Caller, proposal_id: str, reason: str) -> str:
    """Execute a pending proposal on the judge's authority; return the id of the changed item.

    Changes that already hold, as after an interruption, are not repeated.

    Raises:
        NotFound: `proposal.unknown`.
        Conflict: `proposal.decided`, or as for merges, updates and retcons.
    """
    proposal = await require(canon, caller, Proposal, proposal_id)

    async def prepare(_: NewId) -> Change:
        now = await require(canon, caller, Proposal, proposal_id)
        _require_pending(now)
        decision = DecisionDraft(
            status=ProposalStatus.ACCEPTED,
            rule=RULE,
            rationale=reason,
            canonical_id=outcome,
            decided_by=caller.actor.agent_id,
        )
        entry = ProposalDecided(proposal_id=now.id, decision=decision)
        return Change(entries=(entry,), reads=frozenset((thing_key(now.id),)))

    decided = step(caller, "decided")
    if await answered(canon, decided, proposal.space) is None:
        _require_pending(proposal)
    outcome = await _carry_out(canon, step(caller, "upkeep"), proposal)
    await commit_change(canon, decided, proposal.space, prepare)
    return outcome


def _require_pending(proposal: Proposal) -> None:
    if proposal.decision is not None:
        message = f"This proposal is already {proposal.decision.status}. Propose its content again."
        raise Conflict("proposal.decided", message, status=proposal.decision.status.value)


async def _carry_out(canon: Canon, caller: Caller, proposal: Proposal) -> str:
    asked, reason = read_upkeep(proposal.content), str(proposal.content["reason"])
    lower = proposal.authority in _LOWER and Authority.GM in caller.authorities
    authority = Authority.GM if lower else proposal.authority
    match asked:
        case Merging(kept=kept, merged=merged):
            first, second = await require_all(canon, caller, Entity, (kept, merged))
            if first.id != second.id:
                await merge_entities(canon, caller, kept_id=kept, merged_id=merged, reason=reason)
            return first.id
        case Retconning(thing=thing):
            retcon = Retcon(reason=reason, authority=authority, evidence=proposal.evidence)
            now = (await list_dependents(canon, caller, thing)).thing
            if now.level is not CanonLevel.RETCONNED:
                await retcon_thing(canon, caller, thing, retcon)
            return thing
        case Correcting(entity=entity):
            own, evidence = asked.field in {NAME, DESCRIPTION}, proposal.evidence
            said = {asked.field: asked.value}
            update = EntityUpdate(**said) if own else EntityUpdate(properties=said)
            await update_entity(
                canon, caller, entity, update, authority=authority, evidence=evidence
            )
            return entity
