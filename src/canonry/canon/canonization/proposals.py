"""Proposals: create, list, restate and evaluate them, one or several at once."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.canon.canonization.canonize_scene import read_candidates, require_canonical
from canonry.canon.canonization.decide_proposals import (
    OVERRULED,
    Judgement,
    decide_candidate,
    is_by_rules,
)
from canonry.canon.judging.contents import CONTENT_SHAPES, Holding, normalise_content, time_text_of
from canonry.canon.judging.slices import Lookup, Slice
from canonry.canon.session import lookup
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    commit_change,
    extend_slice,
    require_active,
)
from canonry.canon.session.paging import every_match
from canonry.canon.session.spoken_times import read_with_calendar
from canonry.log.entries import Entry, EvidenceLinked, Made, ProposalDecided, SceneExtended
from canonry.log.folding import item_key
from canonry.log.items import proposals
from canonry.log.items.scenes import Scene, SceneStatus, Turn
from canonry.log.observations import ids_in
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.view import Page
from canonry.values.audience import EVERYBODY, Audience, audience_in
from canonry.values.errors import Conflict, NotSupported
from canonry.values.fields import ReadTime, with_changes
from canonry.values.ids import NewId, ProposalId, SceneId, Space, SpaceId, TurnId
from canonry.values.provenance import Authority, CanonLevel, Evidence


@dataclass(frozen=True, kw_only=True)
class StagedContent:
    """A proposal's type, content and scope; `path` is the path of its content in the call."""

    kind: str
    scene: str | None
    content: Mapping[str, Any]
    path: str = "/content"


class StagingGuard:
    """Checks staged proposals. Register a subclass as the service `StagingGuard` to refuse some."""

    def lock_staging(self, canon: Canon, space: SpaceId) -> AbstractAsyncContextManager[Any]:  # noqa: ARG002 - a subclass uses them
        """Lock from the check until the staging, so that no equal proposal passes meanwhile."""
        return nullcontext()

    async def pass_gates(
        self,
        canon: Canon,  # noqa: ARG002 - a subclass uses them
        caller: Caller,  # noqa: ARG002
        space: SpaceId,  # noqa: ARG002
        staged: Sequence[StagedContent],  # noqa: ARG002
        *,
        instead_of: str | None = None,  # noqa: ARG002
    ) -> None:
        """Refuse proposals that fail a staging gate; called only if one is enabled.

        A proposal staged `instead_of` another one is not compared with that one.

        Raises:
            InvalidInput: `proposal.unsafe`, a text is not allowed.
            Conflict: `proposal.repeated`, an equal proposal is staged.
            Unavailable: `proposal.too-many`, the limit of this minute is reached.
            NotSupported: `package.missing`, the package `world` is missing.
        """
        message = "policy.staging needs the package canonry.world, which is not installed."
        raise NotSupported("package.missing", message, path="policy.staging")


# Create a proposal: stage a change with its evidence, to be judged later.
#
# A reworded proposal is staged as a new one with the same origin.


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A change that somebody proposes; `content` is unparsed."""

    type: proposals.ProposalType
    content: Mapping[str, Any]
    evidence: tuple[Evidence, ...]
    confidence: float
    authority: Authority


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalOrigin:
    """The origin of a proposal: a universe, and optionally a scene and a turn."""

    space: SpaceId
    scene_id: SceneId | None = None
    turn_id: TurnId | None = None
    turn_index: int | None = None
    reads: frozenset[str] = frozenset()
    instead_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Staged:
    """A suggestion with its content in the normal form that is stored."""

    suggestion: Suggestion
    content: Mapping[str, Any]
    audience: Audience | None = None


async def create_proposal(
    canon: Canon,
    caller: Caller,
    suggestion: Suggestion,
    *,
    scene_id: str | None = None,
    turn_id: str | None = None,
    universe_id: str = "",
) -> Receipt:
    """Stage a change in an active scene, or in a universe without a scene, as ingestion does.

    Raises:
        InvalidInput: `content.*`, the content does not fit its type.
        NotFound: `universe.unknown`, `scene.unknown`, `turn.unknown` or `evidence.unknown`.
        Conflict: `scene.completed`, `scene.finalizing`, `turn.foreign` or `space.foreign`.
        CanonryError: as `StagingGuard.pass_gates`.
    """
    opened = await _require_origin(canon, caller, scene_id, universe_id)
    staged = await _normalise_suggestion(canon, caller, opened, suggestion)

    async def find_origin() -> ProposalOrigin:
        if scene_id is None:
            return ProposalOrigin(space=opened.space)
        scene = await lookup.require_item(canon, caller, Scene, scene_id)
        require_active(scene)
        turn = None if turn_id is None else await lookup.require_item(canon, caller, Turn, turn_id)
        if turn is not None and turn.scene_id != scene.id:
            message = "/turn_id names a turn of another scene. Name one of this scene, or none."
            raise Conflict("turn.foreign", message, path="/turn_id", conflicts=[turn.id])
        reads = frozenset(item_key(each.id) for each in (scene, turn) if each is not None)
        return origin_of(scene.space, scene, turn, reads=reads)

    return await _stage_suggestion(canon, caller, opened.space, staged, find_origin)


async def _require_origin(
    canon: Canon, caller: Caller, scene_id: str | None, universe_id: str
) -> Scene | Space:
    if scene_id is None:
        return await lookup.require_universe(canon, caller, universe_id)
    return await lookup.require_item(canon, caller, Scene, scene_id)


async def restate_proposal(
    canon: Canon, caller: Caller, proposal_id: str, content: Mapping[str, Any]
) -> Receipt:
    """Stage a reworded proposal with the same origin and evidence.

    Authority, confidence, audience and an unchanged time in words are kept.

    Raises:
        InvalidInput: `content.*`, the content does not fit its type.
        NotFound: `proposal.unknown` or `evidence.unknown`.
        Conflict: `proposal.decided`, or `proposal.not-judged`, it has no content of its own.
        CanonryError: as `StagingGuard.pass_gates`.
    """
    former = await _require_undecided(canon, caller, proposal_id)
    shape = CONTENT_SHAPES.get(former.type)
    if shape is None:
        message = "A proposed action cannot be reworded. Reject it and propose another one."
        raise Conflict("proposal.not-judged", message, conflicts=[former.id])
    kept = {name: former.original[name] for name in ("audience",) if name in former.original}
    asked = Suggestion(
        type=former.type,
        content={**kept, **content},
        evidence=former.evidence,
        confidence=former.confidence,
        authority=former.authority,
    )
    universe_item = await _require_origin(canon, caller, former.scene_id, former.space)
    staged = await _normalise_suggestion(canon, caller, universe_item, asked)
    if time_text := time_text_of(former.type, former.original):
        when = [one.name for one in shape.members if one.kind is Holding.TIME]
        same = {n: time_text for n in when if staged.content.get(n) == former.content.get(n)}
        asked = replace(asked, content={**asked.content, **same})
    staged = replace(staged, suggestion=asked, audience=former.audience or staged.audience)

    async def find_origin() -> ProposalOrigin:
        await _require_undecided(canon, caller, proposal_id)
        return ProposalOrigin(
            space=former.space,
            scene_id=former.scene_id,
            turn_id=former.turn_id,
            turn_index=former.turn_index,
            reads=frozenset((item_key(former.id),)),
            instead_of=former.id,
        )

    return await _stage_suggestion(canon, caller, former.space, staged, find_origin)


async def _require_undecided(canon: Canon, caller: Caller, proposal_id: str) -> proposals.Proposal:
    proposal = await lookup.require_item(canon, caller, proposals.Proposal, proposal_id)
    if proposal.status is not proposals.ProposalStatus.PENDING:
        message = f"This proposal is already {proposal.status}. Propose its content again."
        raise Conflict("proposal.decided", message, conflicts=[proposal.id])
    return proposal


def origin_of(
    space: SpaceId, scene: Scene | None, turn: Turn | None, reads: frozenset[str] = frozenset()
) -> ProposalOrigin:
    """Return the origin of a proposal in a space, at a turn of a scene if it has them."""
    return ProposalOrigin(
        space=space,
        scene_id=None if scene is None else scene.id,
        turn_id=None if turn is None else turn.id,
        turn_index=None if turn is None else turn.index,
        reads=reads,
    )


async def _normalise_suggestion(
    canon: Canon, caller: Caller, item: Scene | Space, suggestion: Suggestion
) -> _Staged:
    def read_normal(times: ReadTime) -> Mapping[str, Any]:
        limits = canon.policy.limits
        return normalise_content(suggestion.type, suggestion.content, limits=limits, times=times)

    content = await read_with_calendar(canon, caller, item, read_normal)
    audience_text = suggestion.content.get("audience")
    audience = (
        None if audience_text is None else audience_in(audience_text, path="/content/audience")
    )
    return _Staged(suggestion=suggestion, content=content, audience=audience)


async def _stage_suggestion(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    staged: _Staged,
    origin: Callable[[], Awaitable[ProposalOrigin]],
) -> Receipt:
    asked, guard = staged.suggestion, canon.find_service(StagingGuard)
    guarded = canon.policy.staging.is_enabled

    async def prepare_change(new_id: NewId) -> Change:
        source = await origin()
        content = StagedContent(kind=asked.type, scene=source.scene_id, content=staged.content)
        if guarded:
            await guard.pass_gates(canon, caller, space, (content,), instead_of=source.instead_of)
        cited = await lookup.require_evidence(
            canon, caller, space, asked.evidence, path="/evidence"
        )
        proposal = draft_of(ProposalId(new_id("proposal")), caller, source, asked, staged.content)
        entries = (Made(thing=proposal),)
        return Change(entries=entries, reads=source.reads | cited, audience=staged.audience)

    async with guard.lock_staging(canon, space) if guarded else nullcontext():
        return await commit_change(canon, caller, space, prepare_change)


def draft_of(
    proposal_id: ProposalId,
    caller: Caller,
    origin: ProposalOrigin,
    asked: Suggestion,
    content: Mapping[str, Any],
    *,
    audience: Audience = EVERYBODY,
) -> proposals.ProposalDraft:
    """Return the draft of a pending proposal; `content` is the normal form of the asked one."""
    return proposals.ProposalDraft(
        id=proposal_id,
        space=origin.space,
        scene_id=origin.scene_id,
        turn_id=origin.turn_id,
        turn_index=origin.turn_index,
        type=asked.type,
        content=content,
        original=asked.content,
        evidence=asked.evidence,
        confidence=asked.confidence,
        authority=asked.authority,
        proposed_by=caller.actor.agent_id,
        status=proposals.ProposalStatus.PENDING,
        audience=audience,
    )


# Evaluate a proposal by hand: the canon keeper accepts or rejects it with a reason.
#
# An acceptance names the item that was written for it, or overrides the gates and writes it.


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperVerdict:
    """The canon keeper's decision.

    An acceptance names the item that the proposal became. Without one, the proposal is written and
    overrides the gates, and an entity is the known one in `same_as`, or else another one.
    """

    status: proposals.ProposalStatus
    rationale: str
    canonical_id: str | None
    same_as: str | None = None


async def evaluate_proposal(
    canon: Canon, caller: Caller, proposal_id: str, verdict: KeeperVerdict
) -> proposals.Proposal:
    """Decide a pending or rejected proposal; a repetition changes nothing.

    The log keeps the first decision, its rule, and the keeper's reason for the second.

    Raises:
        NotFound: `proposal.unknown` or `outcome.unknown`.
        Conflict: `proposal.decided`, `space.foreign`, `outcome.retconned`, or
            `proposal.not-writable`, no authority can make it valid.
    """
    proposal = await lookup.require_item(canon, caller, proposals.Proposal, proposal_id)
    space = proposal.space

    async def prepare_change(_: NewId) -> Change:
        current = await lookup.require_item(canon, caller, proposals.Proposal, proposal_id)
        accepts = verdict.status is proposals.ProposalStatus.ACCEPTED
        rejected = current.status is proposals.ProposalStatus.REJECTED
        overrides = rejected and bool(verdict.rationale.strip())  # by hand, with a reason
        if current.decision and not (overrides and (accepts or is_by_rules(current.decision))):
            _require_same(current.decision, verdict)
            return Change(entries=(), reads=frozenset())
        if accepts and verdict.canonical_id is None:
            return await _overrule_gates(canon, caller, current, verdict)
        reads = {item_key(current.id)}
        if verdict.canonical_id is not None:
            path, wanted = "/canonical_id", (verdict.canonical_id,)
            (outcome,) = await require_canonical(canon, caller, space, wanted, path=path)
            if outcome.level is CanonLevel.RETCONNED:
                message = "/canonical_id names a retconned item. Name an item that is canon."
                raise Conflict("outcome.retconned", message, path=path, conflicts=[outcome.id])
            reads.add(item_key(verdict.canonical_id))
        decision = proposals.DecisionDraft(
            status=verdict.status,
            rule=OVERRULED,
            rationale=verdict.rationale,
            canonical_id=verdict.canonical_id,
            decided_by=caller.actor.agent_id,
        )
        entries: list[Entry] = [ProposalDecided(proposal_id=current.id, decision=decision)]
        if verdict.canonical_id is not None and current.scene_id is not None:
            scene = await canon.space_scope(space).find_item(current.scene_id)
            reads.add(item_key(current.scene_id))
            if isinstance(scene, Scene) and scene.status is SceneStatus.COMPLETED:
                outcomes = (verdict.canonical_id,)
                entries.append(SceneExtended(scene_id=scene.id, outcomes=outcomes))
        return Change(entries=tuple(entries), reads=frozenset(reads))

    await commit_change(canon, caller, space, prepare_change)
    return await lookup.require_item(canon, caller, proposals.Proposal, proposal_id)


async def _force_judgement(
    canon: Canon, proposal: proposals.Proposal, by: str, reason: str
) -> Judgement:
    (candidate,) = await read_candidates(canon, proposal.space, (proposal,))

    def judge_slice(known: Slice) -> tuple[Collection[Lookup], Judgement]:
        found = decide_candidate(candidate, known, canon.policy, decided_by=by, overruling=reason)
        return found.wanted, found

    return (await extend_slice(canon, Slice(space=proposal.space), judge_slice))[1]


async def _overrule_gates(
    canon: Canon, caller: Caller, proposal: proposals.Proposal, verdict: KeeperVerdict
) -> Change:
    """Return the proposal's entries; conflicting canon is retconned or ended."""
    same_entity = {} if verdict.same_as is None else {"same_as": verdict.same_as}
    named = with_changes(proposal, content={**proposal.content, **same_entity})
    judgement = await _force_judgement(canon, named, caller.actor.agent_id, verdict.rationale)
    if not judgement.entries:
        why = judgement.verdict
        message = f"The proposal cannot be written: {why.rationale}. Resolve that, or reject it."
        raise Conflict(
            "proposal.not-writable", message, rule=why.rule, conflicts=list(why.conflicts)
        )
    return Change(entries=judgement.entries, reads=judgement.reads)


def _require_same(decision: proposals.Decision, verdict: KeeperVerdict) -> None:
    written = verdict.canonical_id is None and decision.rule == OVERRULED
    same_item = written or decision.canonical_id == verdict.canonical_id
    if decision.status is verdict.status and same_item:
        return
    message = (
        f"This proposal is already {decision.status}. If it was rejected, give a rationale for "
        "accepting it. If it was accepted, retcon the item that it became."
    )
    raise Conflict(
        "proposal.decided",
        message,
        status=decision.status.value,
        canonical_id=decision.canonical_id,
        conflicts=[decision.canonical_id] if decision.canonical_id else [],
    )


async def list_proposals(
    canon: Canon, caller: Caller, query: ProposalQuery, *, universe_id: str | None = None
) -> Page[proposals.Proposal]:
    """Return a page of matching proposals; without a universe, of all that the caller may see.

    Without a scene it covers all scenes and ingestion. Of proposals that need a review it leaves
    out those that need none any more, and groups the others by entity.

    Raises:
        NotFound: `universe.unknown` or `scene.unknown`.
    """
    spaces = await lookup.covered_spaces(canon, caller, universe_id)
    if query.scene_id is not None:
        await lookup.require_item(canon, caller, Scene, query.scene_id)
    query = with_changes(query, spaces=spaces)
    if query.asks is not None and not caller.viewer.masters:
        query = with_changes(query, asks=query.asks - {proposals.ReviewKind.HIDDEN})
    if query.asks is None:
        return await canon.documents.proposals(query)
    groups: dict[str, list[proposals.Proposal]] = {}
    every = every_match(canon.documents.proposals, with_changes(query, offset=0))
    for number, one in enumerate([each async for each in every]):
        if number >= REJUDGED_MAX or await _is_open(canon, one):
            groups.setdefault(next(ids_in(one.content), one.id), []).append(one)
    rows = [one for group in groups.values() for one in group]
    return Page(items=tuple(rows[query.offset :][: query.limit]), total=len(rows))


REJUDGED_MAX: Final = 200  # judging one takes a millisecond


async def _is_open(canon: Canon, proposal: proposals.Proposal) -> bool:
    """Return whether nobody repeated a proposal, and neither side of a conflict is retconned."""
    if proposal.decision is not None:
        own = {proposal.decision.canonical_id or "", *proposal.decision.made} - {""}
        others = {one.id for one in proposal.doubts}
        items = (await canon.space_scope(proposal.space).items_by_id(own | others)).values()
        retracted = {one.id for one in items if getattr(one, "level", "") is CanonLevel.RETCONNED}
        return not (own <= retracted or others <= retracted)
    if proposal.type not in proposals.NARRATED or canon.now is not None:
        return True
    found = await _force_judgement(
        canon, with_changes(proposal, position=2**53), "", ""
    )  # as if made last
    repeats = ProposalDecided | EvidenceLinked | SceneExtended
    return not found.entries or not all(isinstance(one, repeats) for one in found.entries)
