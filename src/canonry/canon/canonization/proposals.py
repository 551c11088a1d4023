"""Proposals: create, list, restate and evaluate them, one or several at once."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from canonry.canon.canonization.canonize_scene import read_candidates, require_canonical
from canonry.canon.canonization.decide_proposals import (
    Judgement,
    ProposalVerdict,
    foretell,
    overrule,
    verdict_on,
)
from canonry.canon.judging.candidates import in_order, linked
from canonry.canon.judging.contents import (
    CONTENT_SHAPES,
    EntityContent,
    Holding,
    normalise,
    read_content,
    render_content,
    words_of_time,
)
from canonry.canon.judging.slices import Lookup, Slice
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    commit_change,
    extend_slice,
    require_active,
)
from canonry.canon.session.lookup import covered_spaces, require, require_evidence, require_universe
from canonry.canon.session.spoken_times import in_words
from canonry.log.commits import Position, stamped
from canonry.log.entries import Entry, Made, ProposalDecided, SceneExtended, Thing
from canonry.log.folding import thing_key
from canonry.log.items.proposals import (
    Decision,
    DecisionDraft,
    Proposal,
    ProposalDraft,
    ProposalStatus,
    ProposalType,
)
from canonry.log.items.scenes import Scene, SceneStatus, Turn
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.view import Page
from canonry.values.audience import EVERYBODY, Audience, audience_in
from canonry.values.errors import Conflict, InvalidInput, NotSupported
from canonry.values.fields import ReadTime, Reference, revised
from canonry.values.ids import NewId, ProposalId, SceneId, Space, SpaceId, TurnId, derived_id
from canonry.values.moments import Instant
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind


@dataclass(frozen=True, kw_only=True)
class StagedContent:
    """A proposal's type, content and scope; `path` is the path of its content in the call."""

    kind: str
    scene: str | None
    content: Mapping[str, Any]
    path: str = "/content"


class StagingGuard:
    """Checks staged proposals. Register a subclass as the service `StagingGuard` to refuse some."""

    def lock(self, canon: Canon, space: SpaceId) -> AbstractAsyncContextManager[Any]:  # noqa: ARG002 - a subclass uses them
        """Lock from the check until the staging, so that no equal proposal passes meanwhile."""
        return nullcontext()

    async def pass_gates(
        self,
        canon: Canon,
        caller: Caller,  # noqa: ARG002 - a subclass uses them
        space: SpaceId,  # noqa: ARG002
        staged: Sequence[StagedContent],  # noqa: ARG002
        *,
        instead_of: str | None = None,  # noqa: ARG002
    ) -> None:
        """Refuse proposals that fail an enabled staging gate; by default none is enabled.

        A proposal staged `instead_of` another one is not compared with that one.

        Raises:
            InvalidInput: `proposal.unsafe`, a text is not allowed.
            Conflict: `proposal.repeated`, an equal proposal is staged.
            Unavailable: `proposal.too-many`, the limit of this minute is reached.
            NotSupported: `package.missing`, a gate is enabled but the package `world` is missing.
        """
        if canon.policy.staging.opened:
            message = "policy.staging needs the package canonry.world, which is not installed."
            raise NotSupported("package.missing", message, path="policy.staging")


# Create a proposal: stage a change with its evidence, to be judged later.
#
# A reworded proposal is staged as a new one with the same origin.


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A change that somebody proposes; `content` is unparsed."""

    type: ProposalType
    content: Mapping[str, Any]
    evidence: tuple[Evidence, ...]
    confidence: float
    authority: Authority


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
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
    canon: Canon, caller: Caller, scene_id: str, turn_id: str | None, suggestion: Suggestion
) -> Receipt:
    """Stage a change in an active scene.

    Raises:
        InvalidInput: `content.*`, the content does not fit its type.
        NotFound: `scene.unknown`, `turn.unknown` or `evidence.unknown`.
        Conflict: `scene.completed`, `scene.finalizing`, `turn.foreign` or `space.foreign`.
        CanonryError: as `StagingGuard.pass_gates`.
    """
    opened = await require(canon, caller, Scene, scene_id)
    staged, space = await _normalised(canon, caller, opened, suggestion), opened.space

    async def prepare(new_id: NewId) -> Change:
        scene = await require(canon, caller, Scene, scene_id)
        require_active(scene)
        turn = None if turn_id is None else await require(canon, caller, Turn, turn_id)
        if turn is not None and turn.scene_id != scene.id:
            message = "/turn_id names a turn of another scene. Name one of this scene, or none."
            raise Conflict("turn.foreign", message, path="/turn_id", conflicts=[turn.id])
        reads = frozenset(thing_key(each.id) for each in (scene, turn) if each is not None)
        place = _origin(scene.space, scene, turn, reads=reads)
        return await _stage(canon, caller, place, staged, new_id)

    async with canon.service(StagingGuard).lock(canon, space):
        return await commit_change(canon, caller, space, prepare)


async def create_loose_proposal(
    canon: Canon, caller: Caller, universe_id: str, suggestion: Suggestion
) -> Receipt:
    """Stage a change without a scene, as ingestion does.

    Raises:
        InvalidInput: `content.*`, the content does not fit its type.
        NotFound: `universe.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`.
        CanonryError: as `StagingGuard.pass_gates`.
    """
    universe = await require_universe(canon, caller, universe_id)
    staged = await _normalised(canon, caller, universe, suggestion)

    async def prepare(new_id: NewId) -> Change:
        return await _stage(canon, caller, _Origin(space=universe.id), staged, new_id)

    async with canon.service(StagingGuard).lock(canon, universe.id):
        return await commit_change(canon, caller, universe.id, prepare)


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
    former = await _undecided(canon, caller, proposal_id)
    shape = CONTENT_SHAPES.get(former.type)
    if shape is None:
        message = "A proposed action cannot be reworded. Reject it and propose another one."
        raise Conflict("proposal.not-judged", message, conflicts=[former.id])
    told = {name: former.original[name] for name in ("audience",) if name in former.original}
    asked = Suggestion(
        type=former.type,
        content={**told, **content},
        evidence=former.evidence,
        confidence=former.confidence,
        authority=former.authority,
    )
    place: Scene | Space = await (
        require_universe(canon, caller, former.space)
        if former.scene_id is None
        else require(canon, caller, Scene, former.scene_id)
    )
    staged = await _normalised(canon, caller, place, asked)
    if words := words_of_time(former.type, former.original):
        when = [one.name for one in shape.members if one.kind is Holding.TIME]
        same = {n: words for n in when if staged.content.get(n) == former.content.get(n)}
        asked = replace(asked, content={**asked.content, **same})
    staged = replace(staged, suggestion=asked, audience=former.audience or staged.audience)
    origin = _Origin(
        space=former.space,
        scene_id=former.scene_id,
        turn_id=former.turn_id,
        turn_index=former.turn_index,
        reads=frozenset((thing_key(former.id),)),
        instead_of=former.id,
    )

    async def prepare(new_id: NewId) -> Change:
        await _undecided(canon, caller, proposal_id)
        return await _stage(canon, caller, origin, staged, new_id)

    async with canon.service(StagingGuard).lock(canon, former.space):
        return await commit_change(canon, caller, former.space, prepare)


async def _undecided(canon: Canon, caller: Caller, proposal_id: str) -> Proposal:
    proposal = await require(canon, caller, Proposal, proposal_id)
    if proposal.status is not ProposalStatus.PENDING:
        message = f"This proposal is already {proposal.status}. Propose its content again."
        raise Conflict("proposal.decided", message, conflicts=[proposal.id])
    return proposal


def _origin(
    space: SpaceId, scene: Scene | None, turn: Turn | None, reads: frozenset[str] = frozenset()
) -> _Origin:
    return _Origin(
        space=space,
        scene_id=None if scene is None else scene.id,
        turn_id=None if turn is None else turn.id,
        turn_index=None if turn is None else turn.index,
        reads=reads,
    )


async def _normalised(
    canon: Canon, caller: Caller, place: Scene | Space, suggestion: Suggestion
) -> _Staged:
    def read(times: ReadTime) -> Mapping[str, Any]:
        limits = canon.policy.limits
        return normalise(suggestion.type, suggestion.content, limits=limits, times=times)

    content = await in_words(canon, caller, place, read)
    told = suggestion.content.get("audience")
    audience = None if told is None else audience_in(told, path="/content/audience")
    return _Staged(suggestion=suggestion, content=content, audience=audience)


async def _stage(
    canon: Canon, caller: Caller, place: _Origin, staged: _Staged, new_id: NewId
) -> Change:
    asked = staged.suggestion
    told = StagedContent(kind=asked.type, scene=place.scene_id, content=staged.content)
    await canon.service(StagingGuard).pass_gates(
        canon, caller, place.space, (told,), instead_of=place.instead_of
    )
    cited = await require_evidence(canon, caller, place.space, asked.evidence, path="/evidence")
    proposal = _draft(ProposalId(new_id("proposal")), caller, place, asked, staged.content)
    entries = (Made(thing=proposal),)
    return Change(entries=entries, reads=place.reads | cited, audience=staged.audience)


def _draft(
    proposal_id: ProposalId,
    caller: Caller,
    place: _Origin,
    asked: Suggestion,
    content: Mapping[str, Any],
    *,
    audience: Audience = EVERYBODY,
) -> ProposalDraft:
    return ProposalDraft(
        id=proposal_id,
        space=place.space,
        scene_id=place.scene_id,
        turn_id=place.turn_id,
        turn_index=place.turn_index,
        type=asked.type,
        content=content,
        original=asked.content,
        evidence=asked.evidence,
        confidence=asked.confidence,
        authority=asked.authority,
        proposed_by=caller.actor.agent_id,
        status=ProposalStatus.PENDING,
        audience=audience,
    )


# Evaluate a proposal by hand: the canon keeper accepts or rejects it with a reason.
#
# An acceptance names the item that was written for it, or overrides the gates and writes it.

RULE: Final = "keeper:evaluation"
"""The rule of a decision that rests on the canon keeper's authority alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperVerdict:
    """The canon keeper's decision.

    An acceptance names the item that the proposal became. Without one, the proposal is written and
    overrides the gates.
    """

    status: ProposalStatus
    rationale: str
    canonical_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The proposal's status, and the time of the decision."""

    proposal: Proposal
    status: ProposalStatus
    evaluated_at: Instant


async def evaluate_proposal(
    canon: Canon, caller: Caller, proposal_id: str, verdict: KeeperVerdict
) -> Evaluation:
    """Decide a pending proposal, or accept a rejected one; a repetition changes nothing.

    The log keeps the first decision, its rule, and the keeper's reason for the second.

    Raises:
        NotFound: `proposal.unknown` or `outcome.unknown`.
        Conflict: `proposal.decided`, `space.foreign`, `outcome.retconned`, or
            `proposal.not-writable`, no authority can make it valid.
    """
    proposal = await require(canon, caller, Proposal, proposal_id)
    space = proposal.space

    async def prepare(_: NewId) -> Change:
        current = await require(canon, caller, Proposal, proposal_id)
        if current.decision is not None and not _overrides(current.decision, verdict):
            _require_same(current.decision, verdict)
            return Change(entries=(), reads=frozenset())
        if verdict.status is ProposalStatus.ACCEPTED and verdict.canonical_id is None:
            return await _overruled(canon, caller, current, verdict)
        reads = {thing_key(current.id)}
        if verdict.canonical_id is not None:
            path, wanted = "/canonical_id", (verdict.canonical_id,)
            (outcome,) = await require_canonical(canon, caller, space, wanted, path=path)
            if outcome.level is CanonLevel.RETCONNED:
                message = "/canonical_id names a retconned item. Name an item that is canon."
                raise Conflict(
                    "outcome.retconned", message, path=path, conflicts=[verdict.canonical_id]
                )
            reads.add(thing_key(verdict.canonical_id))
        decision = DecisionDraft(
            status=verdict.status,
            rule=RULE,
            rationale=verdict.rationale,
            canonical_id=verdict.canonical_id,
            decided_by=caller.actor.agent_id,
        )
        entries: list[Entry] = [ProposalDecided(proposal_id=current.id, decision=decision)]
        if verdict.canonical_id is not None and current.scene_id is not None:
            scene = await canon.within(space).thing(current.scene_id)
            reads.add(thing_key(current.scene_id))
            if isinstance(scene, Scene) and scene.status is SceneStatus.COMPLETED:
                outcomes = (verdict.canonical_id,)
                entries.append(SceneExtended(scene_id=scene.id, outcomes=outcomes))
        return Change(entries=tuple(entries), reads=frozenset(reads))

    receipt = await commit_change(canon, caller, space, prepare)
    if not receipt.replayed:
        return Evaluation(
            proposal=proposal, status=verdict.status, evaluated_at=receipt.recorded_at
        )
    known = await require(canon, caller, Proposal, proposal_id)
    at = known.decision.decided_at if known.decision is not None else receipt.recorded_at
    return Evaluation(proposal=known, status=known.status, evaluated_at=at)


async def _overruled(
    canon: Canon, caller: Caller, proposal: Proposal, verdict: KeeperVerdict
) -> Change:
    """Return the proposal's entries; conflicting canon is retconned or ended."""
    (candidate,) = await read_candidates(canon, proposal.space, (proposal,))

    def judge(known: Slice) -> tuple[Collection[Lookup], Judgement]:
        policy, decided_by, reason = canon.policy, caller.actor.agent_id, verdict.rationale
        found = overrule(candidate, known, policy, decided_by=decided_by, reason=reason, rule=RULE)
        return found.wanted, found

    _, judgement = await extend_slice(canon, Slice(space=proposal.space), judge)
    if not judgement.entries:
        why = judgement.verdict
        message = f"The proposal cannot be written: {why.rationale}. Resolve that, or reject it."
        raise Conflict(
            "proposal.not-writable", message, rule=why.rule, conflicts=list(why.conflicts)
        )
    return Change(entries=judgement.entries, reads=judgement.reads)


def _overrides(decision: Decision, verdict: KeeperVerdict) -> bool:
    """Tell whether the keeper accepts a rejected proposal and gives a reason."""
    rejected = decision.status is ProposalStatus.REJECTED
    reason = verdict.rationale.strip()
    return rejected and verdict.status is ProposalStatus.ACCEPTED and bool(reason)


def _require_same(decision: Decision, verdict: KeeperVerdict) -> None:
    written = verdict.canonical_id is None and decision.rule == RULE
    same_thing = written or decision.canonical_id == verdict.canonical_id
    if decision.status is verdict.status and same_thing:
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
) -> Page[Proposal]:
    """Return a page of matching proposals; without a universe, of all that the caller may see.

    Without a scene it covers all scenes and ingestion.

    Raises:
        NotFound: `universe.unknown` or `scene.unknown`.
    """
    spaces = await covered_spaces(canon, caller, universe_id)
    if query.scene_id is not None:
        await require(canon, caller, Scene, query.scene_id)
    return await canon.documents.proposals(revised(query, spaces=spaces))


# Propose several changes at once: all are stored or none, or they are only previewed.
#
# One can declare a name as `$name`, and the others refer to it. A proposal that cites turns of one
# scene, or the scene, belongs to that scene, with its time and place.

_PLAYED: Final = frozenset({EvidenceKind.TURN, EvidenceKind.SCENE})


async def propose_changes(
    canon: Canon, caller: Caller, universe_id: str, suggestions: Sequence[Suggestion]
) -> Sequence[ProposalId]:
    """Stage all suggestions in one commit; the ids are in the order of the suggestions.

    Raises:
        InvalidInput: `content.*`, a content does not fit its type; the path is `/claims/<n>`.
        NotFound: `universe.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`.
        CanonryError: as `StagingGuard.pass_gates`.
    """
    space = (await require_universe(canon, caller, universe_id)).id

    async def prepare(new_id: NewId) -> Change:
        drafts, reads = await _staged(canon, caller, space, suggestions, new_id)
        return Change(entries=tuple(Made(thing=draft) for draft in drafts), reads=reads)

    async with canon.service(StagingGuard).lock(canon, space):
        receipt = await commit_change(canon, caller, space, prepare)
    return [draft.id for draft in receipt.made(ProposalDraft) if isinstance(draft, ProposalDraft)]


async def require_changes(
    canon: Canon, caller: Caller, universe_id: str, suggestions: Sequence[Suggestion]
) -> None:
    """Refuse what `propose_changes` would refuse, before the caller stores its evidence.

    Raises:
        CanonryError: as `propose_changes`.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    root = caller.commit_id(space, canon.identities.fresh)
    await _staged(canon, caller, space, suggestions, partial(derived_id, root))


async def foretell_changes(
    canon: Canon, caller: Caller, universe_id: str, suggestions: Sequence[Suggestion]
) -> Sequence[ProposalVerdict]:
    """Return the verdict that each suggestion would get now; write nothing.

    Raises:
        CanonryError: as `propose_changes`.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    root = caller.commit_id(space, canon.identities.fresh)
    drafts, _ = await _staged(canon, caller, space, suggestions, partial(derived_id, root))
    position, now = await canon.ledger.head(space), canon.clock.now()
    proposals = [stamped(each, Position(position + 1), now) for each in drafts]
    waiting = [each for each in proposals if isinstance(each, Proposal)]
    candidates = in_order(await read_candidates(canon, space, waiting))
    after = await foretell(canon, caller, space, candidates)
    return [verdict_on(after.get(each.id, each)) for each in waiting]


async def _staged(
    canon: Canon,
    caller: Caller,
    space: SpaceId,
    suggestions: Sequence[Suggestion],
    new_id: NewId,
) -> tuple[list[ProposalDraft], frozenset[str]]:
    """Return the drafts of the proposals, and the keys that they depend on."""
    # Lower ids are judged first, so ids follow the order of the suggestions.
    ids = sorted(ProposalId(new_id(f"proposal/{n}")) for n in range(len(suggestions)))
    declared = {
        Reference(name): ids[n]
        for n, one in enumerate(suggestions)
        if isinstance(name := one.content.get("ref"), str)
    }
    drafts: list[ProposalDraft] = []
    reads: frozenset[str] = frozenset()
    universe = await require_universe(canon, caller, space)
    cited = {one.ref for asked in suggestions for one in asked.evidence if one.kind in _PLAYED}
    found = dict(await canon.seen_by(caller).things(cited)) if cited else {}
    scenes = {one.scene_id for one in found.values() if isinstance(one, Turn)} - found.keys()
    played = found | dict(await canon.seen_by(caller).things(scenes)) if scenes else found
    for n, asked in enumerate(suggestions):
        scene, turn = _brought_up(asked, played)

        def read(times: ReadTime, asked: Suggestion = asked) -> Mapping[str, Any]:
            limits = canon.policy.limits
            content = linked(
                read_content(asked.type, asked.content, limits=limits, times=times), declared
            )
            if isinstance(content, EntityContent):
                content = replace(content, ref=None)  # the others now refer to its proposal
            return render_content(content)

        try:
            content = await in_words(canon, caller, scene or universe, read)
        except InvalidInput as error:
            raise _of_claim(error, n) from error
        path = f"/claims/{n}/evidence"
        reads |= await require_evidence(canon, caller, space, asked.evidence, path=path)
        place, audience = _origin(space, scene, turn), asked.content.get("audience", "everyone")
        readers = audience_in(audience, path=f"/claims/{n}/for")
        drafts.append(_draft(ids[n], caller, place, asked, content, audience=readers))
    staged = [
        StagedContent(kind=one.type, scene=one.scene_id, content=one.content, path=f"/claims/{n}")
        for n, one in enumerate(drafts)
    ]
    await canon.service(StagingGuard).pass_gates(canon, caller, space, staged)
    return drafts, reads


def _brought_up(asked: Suggestion, played: Mapping[str, Thing]) -> tuple[Scene | None, Turn | None]:
    """Return the scene and turn of a proposal if all its cited turns belong to one scene."""
    cited = [played.get(one.ref) for one in asked.evidence if one.kind in _PLAYED]
    turns = [one for one in cited if isinstance(one, Turn)]
    told = {one.scene_id for one in turns} | {one.id for one in cited if isinstance(one, Scene)}
    scene = played.get(next(iter(told))) if len(told) == 1 else None
    if not isinstance(scene, Scene):
        return None, None
    return scene, max(turns, key=lambda turn: turn.index, default=None)


def _of_claim(error: InvalidInput, number: int) -> InvalidInput:
    """Return the error of one claim among several, without the description of its type."""
    plain = error.__cause__ if isinstance(error.__cause__, InvalidInput) else error
    path = f"/claims/{number}{error.details.get('path', '/content')}"
    message = plain.message.replace("/content/", f"/claims/{number}/content/")
    return InvalidInput(error.code, message, **{**error.details, "path": path})
