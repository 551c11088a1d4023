"""Canonize proposals: judge those that belong to no scene, such as an ingestion brings up.

It may be run again after any interruption: what is decided stays decided, and the rest follows.
"""

from collections.abc import Sequence

from canonry.domain.errors import Conflict
from canonry.domain.ids import SpaceId
from canonry.domain.judging.candidates import read_candidate
from canonry.domain.judging.ordering import declared_names, in_order
from canonry.domain.things.proposals import Proposal, ProposalStatus
from canonry.usecases.canonization.complete_scene import SceneOutcome, outcomes_among
from canonry.usecases.canonization.decide_proposals import Undecided, decide_proposals
from canonry.usecases.canonization.proposal_verdicts import Judged, partial, verdict_on
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.lookup import require_all


async def canonize_proposals(canon: Canon, caller: Caller, proposal_ids: Sequence[str]) -> Judged:
    """Decide the pending ones among these proposals; those decided before are only reported.

    Names that they declare (`$name`) are known to all of them that lie in the same universe.

    Raises:
        NotFound: `proposal.unknown`.
        Conflict: `proposal.of-a-scene`, some belong to scenes and are canonized with these.
        Unavailable: `canonization.partial`, some could not be decided; the same request goes on
            where this one stopped.
    """
    wanted = tuple(dict.fromkeys(proposal_ids))
    proposals = await require_all(canon, caller, Proposal, wanted)
    _require_no_scene(proposals)
    undecided = Undecided()
    for space in dict.fromkeys(each.space for each in proposals):
        mine = [each for each in proposals if each.space == space]
        left = await _decide(canon, caller, space, mine)
        undecided.failed |= left.failed
    decided = await require_all(canon, caller, Proposal, wanted)
    if undecided.failed:
        raise partial(undecided, decided)
    return Judged(
        verdicts=tuple(map(verdict_on, decided)),
        outcomes=tuple(await _outcomes(canon, decided)),
    )


def _require_no_scene(proposals: Sequence[Proposal]) -> None:
    scenes = sorted({each.scene_id for each in proposals if each.scene_id is not None})
    if scenes:
        message = "some of these belong to scenes; use composite_canonize_scene for each scene"
        raise Conflict("proposal.of-a-scene", message, path="/proposal_ids", conflicts=scenes)


async def _decide(
    canon: Canon, caller: Caller, space: SpaceId, proposals: Sequence[Proposal]
) -> Undecided:
    names = declared_names(proposals)
    pending = (each for each in proposals if each.status is ProposalStatus.PENDING)
    candidates = in_order(read_candidate(each, None, names) for each in pending)
    return await decide_proposals(canon, caller, space, candidates)


async def _outcomes(canon: Canon, proposals: Sequence[Proposal]) -> list[SceneOutcome]:
    found: list[SceneOutcome] = []
    for space in dict.fromkeys(each.space for each in proposals):
        decisions = [each.decision for each in proposals if each.space == space and each.decision]
        ids = [one for each in decisions for one in (each.canonical_id, *each.made)]
        found += await outcomes_among(canon, space, (one for one in ids if one is not None))
    return found
