"""Propose changes: several at once, all kept or none; or only foretold.

They may name each other: what one of them declares as `$name`, the others refer to by it. What
cites turns of one scene, or the scene, was brought up there, and happens at its time and place.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from canonry.canon.canonization.canonize_scene import read_candidates
from canonry.canon.canonization.decide_proposals import ProposalVerdict, foretell, verdict_on
from canonry.canon.canonization.proposals import StagedContent, StagingGuard, Suggestion
from canonry.canon.judging.candidates import linked
from canonry.canon.judging.contents import EntityContent, read_content, render_content
from canonry.canon.judging.ordering import in_order
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.lookup import require_evidence, require_universe
from canonry.canon.session.spoken_times import in_words
from canonry.log.commits import Position, stamped
from canonry.log.entries import Made, Thing
from canonry.log.items.proposals import Proposal, ProposalDraft, ProposalStatus
from canonry.log.items.scenes import Scene, Turn
from canonry.values.audience import Audience, audience_in
from canonry.values.errors import InvalidInput
from canonry.values.fields import ReadTime, Reference
from canonry.values.ids import NewId, ProposalId, SpaceId, derived_id
from canonry.values.provenance import EvidenceKind

_PLAYED: Final = frozenset({EvidenceKind.TURN, EvidenceKind.SCENE})


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedChanges:
    """The proposals as they are to be kept, and the keys that they rest on."""

    drafts: tuple[ProposalDraft, ...]
    reads: frozenset[str]


async def propose_changes(
    canon: Canon, caller: Caller, universe_id: str, suggestions: Sequence[Suggestion]
) -> Sequence[ProposalId]:
    """Keep all of them, in one commit; the ids are in the order of the suggestions.

    Raises:
        InvalidInput: `content.*`, a content does not say what its type needs; `/claims/<n>` is
            where.
        NotFound: `universe.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`.
        CanonryError: as `StagingGuard.pass_gates`.
    """
    space = (await require_universe(canon, caller, universe_id)).id

    async def prepare(new_id: NewId) -> Change:
        staging = await _staged(canon, caller, space, suggestions, new_id)
        made = tuple(Made(thing=draft) for draft in staging.drafts)
        return Change(entries=made, reads=staging.reads)

    async with canon.service(StagingGuard).lock(canon, space):
        receipt = await commit_change(canon, caller, space, prepare)
    return [draft.id for draft in receipt.made(ProposalDraft) if isinstance(draft, ProposalDraft)]


async def require_changes(
    canon: Canon, caller: Caller, universe_id: str, suggestions: Sequence[Suggestion]
) -> None:
    """Refuse what `propose_changes` would, before that is kept which they are to rest on.

    Raises:
        CanonryError: as `propose_changes`.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    root = caller.commit_id(space, canon.identities.fresh)
    await _staged(canon, caller, space, suggestions, lambda label: derived_id(root, label))


async def foretell_changes(
    canon: Canon, caller: Caller, universe_id: str, suggestions: Sequence[Suggestion]
) -> Sequence[ProposalVerdict]:
    """The verdict that each would get if all were judged now; nothing is written.

    Raises:
        CanonryError: as `propose_changes`.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    root = caller.commit_id(space, canon.identities.fresh)
    staging = await _staged(
        canon, caller, space, suggestions, lambda label: derived_id(root, label)
    )
    position, now = await canon.ledger.head(space), canon.clock.now()
    proposals = [stamped(each, Position(position + 1), now) for each in staging.drafts]
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
) -> StagedChanges:
    # Of what is proposed at once the lower id is judged first: as the suggestions stand.
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
    played = await _scenes_with(canon, caller, cited)
    for n, asked in enumerate(suggestions):
        scene, turn = _brought_up(asked, played)

        def read(times: ReadTime, asked: Suggestion = asked) -> Mapping[str, Any]:
            limits = canon.policy.limits
            content = linked(
                read_content(asked.type, asked.content, limits=limits, times=times), declared
            )
            if isinstance(content, EntityContent):
                content = replace(content, ref=None)  # the others name it by its proposal now
            return render_content(content)

        try:
            content = await in_words(canon, caller, scene or universe, read)
        except InvalidInput as error:
            raise _of_claim(error, n) from error
        path = f"/claims/{n}/evidence"
        reads |= await require_evidence(canon, caller, space, asked.evidence, path=path)
        drafts.append(
            ProposalDraft(
                id=ids[n],
                space=space,
                scene_id=None if scene is None else scene.id,
                turn_id=None if turn is None else turn.id,
                turn_index=None if turn is None else turn.index,
                type=asked.type,
                content=content,
                original=asked.content,
                evidence=asked.evidence,
                confidence=asked.confidence,
                authority=asked.authority,
                proposed_by=caller.actor.agent_id,
                status=ProposalStatus.PENDING,
                audience=_for_whom(asked, n),
            )
        )
    staged = list(map(_as_staged, drafts, range(len(drafts))))
    await canon.service(StagingGuard).pass_gates(canon, caller, space, staged)
    return StagedChanges(drafts=tuple(drafts), reads=reads)


async def _scenes_with(canon: Canon, caller: Caller, ids: Collection[str]) -> Mapping[str, Thing]:
    """The scenes and turns among these, and the scenes of the turns."""
    found = dict(await canon.seen_by(caller).things(ids)) if ids else {}
    scenes = {one.scene_id for one in found.values() if isinstance(one, Turn)} - found.keys()
    return found | dict(await canon.seen_by(caller).things(scenes)) if scenes else found


def _brought_up(asked: Suggestion, played: Mapping[str, Thing]) -> tuple[Scene | None, Turn | None]:
    """In which scene, where all that it cites of what was played is of one, and by which turn."""
    cited = [played.get(one.ref) for one in asked.evidence if one.kind in _PLAYED]
    turns = [one for one in cited if isinstance(one, Turn)]
    told = {one.scene_id for one in turns} | {one.id for one in cited if isinstance(one, Scene)}
    scene = played.get(next(iter(told))) if len(told) == 1 else None
    if not isinstance(scene, Scene):
        return None, None
    return scene, max(turns, key=lambda turn: turn.index, default=None)


def _for_whom(asked: Suggestion, number: int) -> Audience:
    """Who may know of it; what it names and cites may narrow that."""
    return audience_in(asked.content.get("audience", "everyone"), path=f"/claims/{number}/for")


def _as_staged(draft: ProposalDraft, number: int) -> StagedContent:
    path = f"/claims/{number}"
    return StagedContent(kind=draft.type, scene=draft.scene_id, content=draft.content, path=path)


def _of_claim(error: InvalidInput, number: int) -> InvalidInput:
    """The same of a claim among several, without what is said of the type of content."""
    plain = error.__cause__ if isinstance(error.__cause__, InvalidInput) else error
    path = f"/claims/{number}{error.details.get('path', '/content')}"
    message = plain.message.replace("/content/", f"/claims/{number}/content/")
    return InvalidInput(error.code, message, **{**error.details, "path": path})
