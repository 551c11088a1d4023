"""Canonize proposals: read them as candidates and commit what is accepted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from canonry.canon.canonization.complete_scene import SceneOutcome, outcomes_among, proposals_of
from canonry.canon.canonization.decide_proposals import (
    Judged,
    ProposalVerdict,
    Undecided,
    decide_proposals,
    foretell,
    partial,
    verdict_on,
)
from canonry.canon.judging.candidates import Candidate, Declared, read_candidate
from canonry.canon.judging.ordering import declared_names, in_order
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require_all
from canonry.log.commits import Position
from canonry.log.items.proposals import NARRATED, Proposal, ProposalStatus
from canonry.log.items.scenes import Scene, SceneStatus
from canonry.values.errors import Conflict
from canonry.values.ids import SceneId, SpaceId


async def read_candidates(
    canon: Canon,
    space: SpaceId,
    proposals: Iterable[Proposal],
    *,
    beside: Iterable[Proposal] = (),
) -> list[Candidate]:
    """The candidates that these proposals of a space are.

    One of a scene knows the names that any proposal of its scene declares; one of no scene those
    of its like that are read with it or lie `beside` it.

    Raises:
        Conflict: `proposal.not-judged`, some ask for what no rule decides.
    """
    told = list(proposals)
    if others := [one.id for one in told if one.type not in NARRATED]:
        message = "no rule judges some of these; who decides accepts or rejects them by hand"
        raise Conflict("proposal.not-judged", message, conflicts=others)
    loose = declared_names(one for one in (*told, *beside) if one.scene_id is None)
    around: dict[SceneId | None, tuple[Scene | None, Declared]] = {None: (None, loose)}
    ids = tuple(dict.fromkeys(one.scene_id for one in told if one.scene_id is not None))
    things = await canon.within(space).things(ids)
    for one in ids:
        scene = things.get(one)
        names = declared_names(await proposals_of(canon, space, one))
        around[one] = (scene if isinstance(scene, Scene) else None, names)
    return [read_candidate(one, *around[one.scene_id]) for one in told]


# Canonize proposals: judge those of no scene, and those that their scene was closed without.
#
# It may be run again after any interruption: what is decided stays decided, and the rest follows.

_CHANGED: Final = attrgetter("changed_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """Proposals by their spaces, and where each space's log stood with them as they are."""

    proposals: tuple[Proposal, ...]
    positions: dict[SpaceId, Position | None]

    def of(self, space: SpaceId) -> list[Proposal]:
        return [each for each in self.proposals if each.space == space]

    def pending(self, space: SpaceId) -> list[Proposal]:
        return [each for each in self.of(space) if each.status is ProposalStatus.PENDING]


async def canonize_proposals(
    canon: Canon, caller: Caller, proposal_ids: Sequence[str], *, while_played: bool = False
) -> Judged:
    """Decide the pending ones among these proposals; those decided before are only reported.

    `while_played`: also those of scenes that go on, which are canonized as a whole otherwise.
    Names that they declare (`$name`) are known to all of them that lie in the same universe.

    Raises:
        NotFound: `proposal.unknown`.
        Conflict: `proposal.of-a-scene`, some belong to scenes that are not closed yet and are
            canonized with these.
        Unavailable: `canonization.partial`, some could not be decided; the same request goes on
            where this one stopped.
    """
    wanted = tuple(dict.fromkeys(proposal_ids))
    read = await _read(canon, caller, wanted, while_played=while_played)
    undecided = Undecided()
    decided = read.proposals
    for space, position in read.positions.items():
        pending = read.pending(space)
        if pending:
            candidates = in_order(
                await read_candidates(canon, space, pending, beside=read.of(space))
            )
            left = await decide_proposals(canon, caller, space, candidates, read_at=position)
            undecided.failed |= left.failed
    if any(map(read.pending, read.positions)):
        decided = await require_all(canon, caller, Proposal, wanted)
    if undecided.failed:
        raise partial(undecided, decided)
    return Judged(
        verdicts=tuple(map(verdict_on, decided)), outcomes=tuple(await _outcomes(canon, decided))
    )


async def preview_proposals(
    canon: Canon, caller: Caller, proposal_ids: Sequence[str], *, while_played: bool = False
) -> tuple[ProposalVerdict, ...]:
    """The verdicts that canonizing these proposals would give now; nothing is written.

    Raises:
        NotFound: `proposal.unknown`.
        Conflict: `proposal.of-a-scene`.
    """
    wanted = tuple(dict.fromkeys(proposal_ids))
    read = await _read(canon, caller, wanted, while_played=while_played)
    after: dict[str, Proposal] = {}
    for space in read.positions:
        pending, beside = read.pending(space), read.of(space)
        candidates = in_order(await read_candidates(canon, space, pending, beside=beside))
        after |= await foretell(canon, caller, space, candidates)
    return tuple(verdict_on(after.get(each.id, each)) for each in read.proposals)


async def _read(
    canon: Canon, caller: Caller, wanted: Sequence[str], *, while_played: bool
) -> _Read:
    """The proposals, and a position of each space at which they were as they are read.

    None: they change at this moment, and are read again when they are judged.
    """
    proposals = await require_all(canon, caller, Proposal, wanted)
    if not while_played:
        await _require_closed_scenes(canon, proposals)
    newest = {each.space: each.changed_at for each in sorted(proposals, key=_CHANGED)}
    heads = {space: await canon.ledger.head(space) for space in newest}
    # Where nothing was written since one of them changed, they are as they were read.
    still = heads == newest or await require_all(canon, caller, Proposal, wanted) == proposals
    return _Read(
        proposals=proposals,
        positions={space: head if still else None for space, head in heads.items()},
    )


async def _require_closed_scenes(canon: Canon, proposals: Sequence[Proposal]) -> None:
    pending = (each for each in proposals if each.status is ProposalStatus.PENDING)
    told = {each.scene_id: each.space for each in pending if each.scene_id is not None}
    scenes = await canon.within(*told.values()).things(told)
    open_ones = [
        one
        for one in sorted(told)
        if not isinstance(scene := scenes.get(one), Scene)
        or scene.status is not SceneStatus.COMPLETED
    ]
    if open_ones:
        message = "some of these belong to scenes that are not closed; close each of them first"
        raise Conflict("proposal.of-a-scene", message, path="/proposal_ids", conflicts=open_ones)


async def _outcomes(canon: Canon, proposals: Sequence[Proposal]) -> list[SceneOutcome]:
    found: list[SceneOutcome] = []
    for space in dict.fromkeys(each.space for each in proposals):
        decisions = [each.decision for each in proposals if each.space == space and each.decision]
        ids = [one for each in decisions for one in (each.canonical_id, *each.made)]
        found += await outcomes_among(canon, space, (one for one in ids if one is not None))
    return found
