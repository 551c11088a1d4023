"""Create a proposal: stage a change with its evidence; it is not canon before it is judged.

Who decides may have it said better first: that is staged beside it, as if it had been so from the
beginning.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from canonry.canon.canonization.staging import StagedContent, StagingGuard
from canonry.canon.judging.content_shapes import CONTENT_SHAPES, Holding, words_of_time
from canonry.canon.judging.contents import normalise
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.lookup import require, require_evidence, require_universe
from canonry.canon.session.spoken_times import in_words
from canonry.canon.session.staging import require_active
from canonry.log.entries import Made
from canonry.log.items.proposals import Proposal, ProposalDraft, ProposalStatus, ProposalType
from canonry.log.items.scenes import Scene, Turn
from canonry.log.keys import thing_key
from canonry.values.audience import Audience, audience_in
from canonry.values.errors import Conflict
from canonry.values.fields import ReadTime
from canonry.values.ids import NewId, ProposalId, SceneId, SpaceId, TurnId
from canonry.values.provenance import Authority, Evidence
from canonry.values.spaces import Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What somebody wants to become canon; `content` as it came."""

    type: ProposalType
    content: Mapping[str, Any]
    evidence: tuple[Evidence, ...]
    confidence: float
    authority: Authority


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """Where a proposal comes from: a universe, perhaps a scene of it, perhaps one of its turns."""

    space: SpaceId
    scene_id: SceneId | None = None
    turn_id: TurnId | None = None
    turn_index: int | None = None
    reads: frozenset[str] = frozenset()
    instead_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Staged:
    """A suggestion with its content in the one spelling that is kept."""

    suggestion: Suggestion
    content: Mapping[str, Any]
    audience: Audience | None = None


async def create_proposal(
    canon: Canon, caller: Caller, scene_id: str, turn_id: str | None, suggestion: Suggestion
) -> Receipt:
    """Stage a change in an active scene.

    Raises:
        InvalidInput: `content.*`, the content does not say what its type needs.
        NotFound: `scene.unknown`, `turn.unknown` or `evidence.unknown`.
        Conflict: `scene.completed`, `scene.finalizing`, `turn.foreign` or `space.foreign`.
        CanonryError: as `StagingGuard.pass_gates`.
    """
    opened = await require(canon, caller, Scene, scene_id)
    staged, space = await _normalised(canon, caller, opened, suggestion), opened.space

    async def prepare(new_id: NewId) -> Change:
        scene = await require(canon, caller, Scene, scene_id)
        require_active(scene)
        place = await _place(canon, caller, scene, turn_id)
        return await _stage(canon, caller, place, staged, new_id)

    async with canon.service(StagingGuard).lock(canon, space):
        return await commit_change(canon, caller, space, prepare)


async def create_loose_proposal(
    canon: Canon, caller: Caller, universe_id: str, suggestion: Suggestion
) -> Receipt:
    """Stage a change that no scene brought up, as ingestion does.

    Raises:
        InvalidInput: `content.*`, the content does not say what its type needs.
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
    """Stage what a proposal asks for in other words: from where it came, on what it rests.

    Whose word it is, how sure and for whom stays; so do the words of a time that stays the same.

    Raises:
        InvalidInput: `content.*`, the content does not say what its type needs.
        NotFound: `proposal.unknown` or `evidence.unknown`.
        Conflict: `proposal.decided`, or `proposal.not-judged`, it has no content of its own.
        CanonryError: as `StagingGuard.pass_gates`.
    """
    former = await _undecided(canon, caller, proposal_id)
    shape = CONTENT_SHAPES.get(former.type)
    if shape is None:
        message = "it asks for an act, which is no matter of words; reject it and ask anew"
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
        message = f"this proposal is already {proposal.status}; propose it again"
        raise Conflict("proposal.decided", message, conflicts=[proposal.id])
    return proposal


async def _place(canon: Canon, caller: Caller, scene: Scene, turn_id: str | None) -> _Origin:
    if turn_id is None:
        return _Origin(
            space=scene.space, scene_id=scene.id, reads=frozenset((thing_key(scene.id),))
        )
    turn = await require(canon, caller, Turn, turn_id)
    if turn.scene_id != scene.id:
        message = "/turn_id names a turn of another scene; name one of this scene or none"
        raise Conflict("turn.foreign", message, path="/turn_id", conflicts=[turn.id])
    reads = frozenset((thing_key(scene.id), thing_key(turn.id)))
    return _Origin(
        space=scene.space,
        scene_id=scene.id,
        turn_id=turn.id,
        turn_index=turn.index,
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
    proposal = ProposalDraft(
        id=ProposalId(new_id("proposal")),
        space=place.space,
        scene_id=place.scene_id,
        turn_id=place.turn_id,
        turn_index=place.turn_index,
        type=asked.type,
        content=staged.content,
        original=asked.content,
        evidence=asked.evidence,
        confidence=asked.confidence,
        authority=asked.authority,
        proposed_by=caller.actor.agent_id,
        status=ProposalStatus.PENDING,
    )
    entries = (Made(thing=proposal),)
    return Change(entries=entries, reads=place.reads | cited, audience=staged.audience)
