"""Canonize scenes and proposals: read candidates, judge them, and complete the scene."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final

from canonry.canon.canonization.decide_proposals import (
    Judged,
    ProposalVerdict,
    SceneOutcome,
    Undecided,
    decide_proposals,
    partly_decided,
    preview_decisions,
    verdict_on,
)
from canonry.canon.judging.candidates import (
    Candidate,
    Declared,
    declared_names,
    order_candidates,
    read_candidate,
)
from canonry.canon.session.caller import Caller, unknown_item
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Change,
    Receipt,
    commit_change,
    find_earlier_commit,
    require_unfinished,
)
from canonry.canon.session.lookup import require_all, require_item, require_same_space
from canonry.canon.session.paging import every_match
from canonry.language.texts.sentences import WeightedStatement, digest_statements
from canonry.log.commits import Position
from canonry.log.entries import SceneCompleted, SceneMoved, StoredItem
from canonry.log.folding import item_key, proposals_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import NARRATED, Proposal, ProposalStatus
from canonry.log.items.scenes import Scene, SceneStatus
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.state import EventQuery
from canonry.values.audience import ANYBODY
from canonry.values.errors import Conflict
from canonry.values.ids import NewId, SceneId, SpaceId
from canonry.values.moments import sort_by_story
from canonry.values.provenance import CanonLevel

_STATED: Final = 5
_RELATED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonizationReport(Judged):
    """The outcome of a scene and of its proposals, oldest first."""

    scene_id: SceneId
    space: SpaceId
    summary: str


async def _complete_scene(
    canon: Canon, caller: Caller, scene: Scene, *, summary: str | None
) -> CanonizationReport:
    """Close the scene, unless another call has closed it; report the outcome."""

    async def prepare_change(_: NewId) -> Change[CanonizationReport | None]:
        current = await require_item(canon, caller, Scene, scene.id)
        if current.status is SceneStatus.COMPLETED:
            return Change(entries=(), reads=frozenset(), found=None)
        proposals = await proposals_of(canon, current.space, current.id)
        ids = (*current.outcomes, *ids_made(proposals))
        query = EventQuery(
            spaces=frozenset((current.space,)), scene_id=current.id, level=CanonLevel.CANON
        )
        events = [event async for event in every_match(canon.state.events, query)]
        outcomes = await outcomes_among(
            canon, current.space, (*ids, *(e.id for e in events)), events
        )
        text = summary or current.summary or await _summarise_scene(canon, current, outcomes)
        entry = SceneCompleted(
            scene_id=current.id, outcomes=tuple(each.id for each in outcomes), summary=text
        )
        reads = frozenset((item_key(current.id), proposals_key(current.id)))
        report = _make_report(current, proposals, outcomes, text)
        return Change(entries=(entry,), reads=reads, found=report)

    receipt = await commit_change(canon, caller, scene.space, prepare_change)
    if receipt.found is not None and not receipt.replayed:
        return receipt.found
    return await _earlier_report(canon, caller, scene)


async def _earlier_report(canon: Canon, caller: Caller, scene: Scene) -> CanonizationReport:
    """Return the outcome with which an earlier call or another process closed the scene."""
    completed = await require_item(canon, caller, Scene, scene.id)
    proposals = await proposals_of(canon, scene.space, scene.id)
    outcomes = await outcomes_among(canon, scene.space, completed.outcomes)
    return _make_report(completed, proposals, outcomes, completed.summary or "")


def _make_report(
    scene: Scene, proposals: Iterable[Proposal], outcomes: Iterable[SceneOutcome], summary: str
) -> CanonizationReport:
    return CanonizationReport(
        scene_id=scene.id,
        space=scene.space,
        summary=summary,
        verdicts=tuple(map(verdict_on, proposals)),
        outcomes=tuple(outcomes),
    )


async def proposals_of(canon: Canon, space: SpaceId, scene_id: SceneId) -> Sequence[Proposal]:
    """Return all proposals of a scene with any status, oldest first."""
    query = ProposalQuery(spaces=frozenset((space,)), scene_id=scene_id)
    return [each async for each in every_match(canon.documents.proposals, query)]


async def outcomes_among(
    canon: Canon, space: SpaceId, ids: Iterable[str], known: Iterable[SceneOutcome] = ()
) -> list[SceneOutcome]:
    """Return the facts, events, entities and relations of `space` among `ids`, in order."""
    wanted = tuple(dict.fromkeys(ids))
    found: dict[str, StoredItem] = {each.id: each for each in known}
    found |= await canon.space_scope(space).items_by_id(i for i in wanted if i not in found)
    return [item for one in wanted if isinstance(item := found.get(one), SceneOutcome)]


def ids_made(proposals: Iterable[Proposal]) -> Iterator[str]:
    """Yield the ids of what accepted proposals became and created."""
    for one in proposals:
        if one.decision is not None and one.decision.status is ProposalStatus.ACCEPTED:
            yield from filter(None, (one.decision.canonical_id, *one.decision.made))


async def _summarise_scene(canon: Canon, scene: Scene, outcomes: Iterable[SceneOutcome]) -> str:
    """Summarise the new canon in story order; without any, return the scene's title.

    The summary is public, so it contains no secrets.
    """
    if await canon.store_of_all.state.compartments():
        canon = canon.for_viewer(ANYBODY)
        outcomes = await outcomes_among(canon, scene.space, (each.id for each in outcomes))
    standing = [each for each in outcomes if each.level is CanonLevel.CANON]
    edges = [each for each in standing if isinstance(each, Relation)]
    ends = await canon.space_scope(scene.space).root_entities(
        i for e in edges for i in (e.from_id, e.to_id)
    )
    names = {i: root.name for i, root in ends.items()}
    statements = sort_by_story(
        (each for each in standing if not isinstance(each, Entity)), lambda each: each.moment
    )
    limit = canon.policy.limits.summary
    return (
        digest_statements([_weigh_text(each, names) for each in statements], limit=limit)
        or scene.title[:limit]
    )


def _weigh_text(item: Relation | Event | Fact, names: Mapping[str, str]) -> WeightedStatement:
    """Rank events by severity, at most 10; states count half as much."""
    match item:
        case Event():
            return WeightedStatement(item.title, item.severity)
        case Fact():
            return WeightedStatement(item.statement, _STATED)
        case Relation():
            rel_type = item.rel_type.replace("_", " ").lower()
            start, end = names.get(item.from_id, ""), names.get(item.to_id, "")
            return WeightedStatement(f"{start} {rel_type} {end}", _RELATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalization:
    """The commit that closed the scene, and the number of undecided proposals."""

    receipt: Receipt
    pending: int


async def finalize_scene(
    canon: Canon, caller: Caller, scene_id: str, *, outcomes: Sequence[str], summary: str
) -> Finalization:
    """Close the scene; pending proposals can still be evaluated one by one.

    Raises:
        NotFound: `scene.unknown` or `outcome.unknown`.
        Conflict: `scene.completed` or `space.foreign`.
    """
    space = (await require_item(canon, caller, Scene, scene_id)).space

    async def prepare_change(_: NewId) -> Change:
        scene = await require_item(canon, caller, Scene, scene_id)
        require_unfinished(scene)
        await require_canonical(canon, caller, space, outcomes, path="/canonical_outcome_ids")
        closed = SceneCompleted(scene_id=scene.id, outcomes=tuple(outcomes), summary=summary)
        reads = frozenset((item_key(scene.id), *(item_key(each) for each in outcomes)))
        return Change(entries=(closed,), reads=reads)

    receipt = await commit_change(canon, caller, space, prepare_change)
    query = ProposalQuery(
        spaces=frozenset((space,)),
        scene_id=SceneId(scene_id),
        status=ProposalStatus.PENDING,
        limit=1,
    )
    pending = await canon.documents.proposals(query)
    return Finalization(receipt=receipt, pending=pending.total)


async def require_canonical(
    canon: Canon, caller: Caller, space: SpaceId, ids: Sequence[str], *, path: str
) -> tuple[SceneOutcome, ...]:
    """Return the facts, events, entities and relations of `space` with these ids.

    Raises:
        NotFound: `outcome.unknown`.
        Conflict: `space.foreign`.
    """
    found = await canon.caller_scope(caller).items_by_id(ids)
    items: list[SceneOutcome] = []
    for each in ids:
        item = found.get(each)
        if not isinstance(item, SceneOutcome):
            raise unknown_item("outcome", each)
        items.append(item)
    require_same_space(space, items, path=path)
    return tuple(items)


# Canonize a scene: judge its proposals, write the accepted ones, and close it.
#
# You can run it again after any interruption: decisions stand, and the rest follows.

_RUNNING: set[tuple[int, SceneId]] = set()
"""The scenes that this process is canonizing, with their ledgers.

A finalizing scene outside this set was left by a crash or belongs to another process. Both are
safe: each commit of a canonization has an id derived from what it decides.
"""


async def canonize_scene(
    canon: Canon,
    caller: Caller,
    scene_id: str,
    *,
    evaluate: bool = True,
    summary: str | None = None,
) -> CanonizationReport:
    """Decide the scene's pending proposals, if `evaluate`, and complete it.

    Raises:
        NotFound: `scene.unknown`.
        Conflict: `scene.completed`, or `scene.in-progress` while this process canonizes it.
        Unavailable: `canonization.partial`, some proposals could not be decided; the scene stays
            finalizing, and the same request continues.
    """
    scene = await require_item(canon, caller, Scene, scene_id)
    with _claim_scene(canon, scene.id):
        if await _is_retry(canon, caller, scene):
            return await _earlier_report(canon, caller, scene)
        scene = await _begin_canonizing(canon, caller, scene)
        undecided: Undecided = {}
        if evaluate:
            read_at = await canon.ledger.head_position(scene.space)
            proposals = await proposals_of(canon, scene.space, scene.id)
            candidates = _pending_candidates(scene, proposals)
            undecided = await decide_proposals(
                canon, caller, scene.space, candidates, scene=scene, read_at=read_at
            )
        if undecided:
            left = await proposals_of(canon, scene.space, scene.id)
            raise partly_decided(undecided, left, scene_id=scene.id)
        return await _complete_scene(canon, caller, scene, summary=summary)


async def preview_scene(canon: Canon, caller: Caller, scene_id: str) -> tuple[ProposalVerdict, ...]:
    """Return the verdicts that canonizing the scene would give now; write nothing.

    Raises:
        NotFound: `scene.unknown`.
        Conflict: `scene.completed`.
    """
    scene = await require_item(canon, caller, Scene, scene_id)
    require_unfinished(scene)
    proposals = await proposals_of(canon, scene.space, scene.id)
    after = await preview_decisions(
        canon, caller, scene.space, _pending_candidates(scene, proposals)
    )
    return tuple(verdict_on(after.get(each.id, each)) for each in proposals)


@contextmanager
def _claim_scene(canon: Canon, scene_id: SceneId) -> Iterator[None]:
    mark = (id(canon.ledger), scene_id)
    if mark in _RUNNING:
        message = "Another call is canonizing this scene. Wait for its reply."
        raise Conflict("scene.in-progress", message, scene_id=scene_id, conflicts=[scene_id])
    _RUNNING.add(mark)
    try:
        yield
    finally:
        _RUNNING.discard(mark)


async def _is_retry(canon: Canon, caller: Caller, scene: Scene) -> bool:
    """Return whether an earlier call with the same idempotency key completed this scene.

    Raises:
        Conflict: `request.key-reused`, the key belongs to another request.
    """
    commit = await find_earlier_commit(canon, caller, scene.space)
    if commit is None:
        return False
    if any(isinstance(e, SceneCompleted) and e.scene_id == scene.id for e in commit.entries):
        return True
    message = "This idempotency key was used for another request. Use a new key."
    raise Conflict("request.key-reused", message)


async def _begin_canonizing(canon: Canon, caller: Caller, scene: Scene) -> Scene:
    """Set an active scene to finalizing; continue with one that already is."""
    read_before = [scene]

    async def prepare_change(_: NewId) -> Change[Scene]:
        known = read_before.pop() if read_before else None
        current = known or await require_item(canon, caller, Scene, scene.id)
        require_unfinished(current)
        moved = SceneMoved(scene_id=scene.id, status=SceneStatus.FINALIZING)
        return Change(
            entries=() if current.status is moved.status else (moved,),
            reads=frozenset((item_key(scene.id),)),
            found=replace(current, status=moved.status),
            judged_at=None if known is None else Position(known.changed_at),
        )

    # The idempotency key belongs to the commit that completes the scene.
    keyless = replace(caller, idempotency_key=None)
    return (await commit_change(canon, keyless, scene.space, prepare_change)).require_found()


def _pending_candidates(scene: Scene, proposals: Sequence[Proposal]) -> Sequence[Candidate]:
    """Return the scene's pending candidates in the order of judging."""
    names = declared_names(proposals)
    pending = (one for one in proposals if one.status is ProposalStatus.PENDING)
    return order_candidates(read_candidate(one, scene, names) for one in pending)


async def read_candidates(
    canon: Canon,
    space: SpaceId,
    proposals: Iterable[Proposal],
    *,
    others_known: Iterable[Proposal] = (),
) -> list[Candidate]:
    """Parse these proposals of a space into candidates.

    A proposal of a scene can use the names that any proposal of its scene declares. A proposal
    without a scene can use those in `proposals` and `others_known` that have no scene either.

    Raises:
        Conflict: `proposal.not-judged`, no gate judges some of the types.
    """
    wanted = list(proposals)
    if others := [one.id for one in wanted if one.type not in NARRATED]:
        message = "No gate judges these proposals. Accept or reject each of them by hand."
        raise Conflict("proposal.not-judged", message, conflicts=others)
    loose = declared_names(one for one in (*wanted, *others_known) if one.scene_id is None)
    around: dict[SceneId | None, tuple[Scene | None, Declared]] = {None: (None, loose)}
    ids = tuple(dict.fromkeys(one.scene_id for one in wanted if one.scene_id is not None))
    items = await canon.space_scope(space).items_by_id(ids)
    for one in ids:
        scene = items.get(one)
        names = declared_names(await proposals_of(canon, space, one))
        around[one] = (scene if isinstance(scene, Scene) else None, names)
    return [read_candidate(one, *around[one.scene_id]) for one in wanted]


# Canonize proposals without a scene, and undecided ones of closed scenes.
#
# You can run it again after any interruption: decisions stand, and the rest follows.

_CHANGED: Final = attrgetter("changed_at")


async def canonize_proposals(
    canon: Canon, caller: Caller, proposal_ids: Sequence[str], *, while_played: bool = False
) -> Judged:
    """Decide the pending proposals; report the earlier decisions of the others.

    `while_played` includes proposals of open scenes, which are otherwise canonized as a whole.
    Names that they declare (`$name`) are known to all of them in the same universe.

    Raises:
        NotFound: `proposal.unknown`.
        Conflict: `proposal.of-a-scene`, some belong to open scenes and are canonized with these.
        Unavailable: `canonization.partial`, some could not be decided; the same request continues.
    """
    wanted = tuple(dict.fromkeys(proposal_ids))
    decided, waiting = await _read_proposals(canon, caller, wanted, while_played=while_played)
    undecided: Undecided = {}
    for space, (position, candidates) in waiting.items():
        undecided |= await decide_proposals(canon, caller, space, candidates, read_at=position)
    if waiting:
        decided = await require_all(canon, caller, Proposal, wanted)
    if undecided:
        raise partly_decided(undecided, decided)
    found: list[SceneOutcome] = []
    for space in dict.fromkeys(each.space for each in decided):
        here = (each for each in decided if each.space == space)
        found += await outcomes_among(canon, space, ids_made(here))
    return Judged(verdicts=tuple(map(verdict_on, decided)), outcomes=tuple(found))


async def preview_proposals(
    canon: Canon, caller: Caller, proposal_ids: Sequence[str], *, while_played: bool = False
) -> Sequence[Proposal]:
    """Return the proposals as `canonize_proposals` would decide them now; write nothing."""
    wanted = tuple(dict.fromkeys(proposal_ids))
    proposals, waiting = await _read_proposals(canon, caller, wanted, while_played=while_played)
    after: dict[str, Proposal] = {}
    for space, (_, candidates) in waiting.items():
        after |= await preview_decisions(canon, caller, space, candidates)
    return [after.get(each.id, each) for each in proposals]


async def _read_proposals(
    canon: Canon, caller: Caller, wanted: Sequence[str], *, while_played: bool
) -> tuple[tuple[Proposal, ...], dict[SpaceId, tuple[Position | None, Sequence[Candidate]]]]:
    """Return the proposals, and per space the pending ones with the log's position at reading.

    The position is None if they are changing now; they are then read again when judged.
    """
    proposals = await require_all(canon, caller, Proposal, wanted)
    if not while_played:
        pending = (each for each in proposals if each.status is ProposalStatus.PENDING)
        space_by_scene = {e.scene_id: e.space for e in pending if e.scene_id is not None}
        scenes = await canon.space_scope(*space_by_scene.values()).items_by_id(space_by_scene)
        open_ones = [
            one
            for one in sorted(space_by_scene)
            if not isinstance(scene := scenes.get(one), Scene)
            or scene.status is not SceneStatus.COMPLETED
        ]
        if open_ones:
            message = "Some of these proposals belong to open scenes. Close those scenes first."
            raise Conflict(
                "proposal.of-a-scene", message, path="/proposal_ids", conflicts=open_ones
            )
    newest = {each.space: each.changed_at for each in sorted(proposals, key=_CHANGED)}
    heads = {space: await canon.ledger.head_position(space) for space in newest}
    # If nothing was written since the newest change, the proposals are current.
    still = heads == newest or await require_all(canon, caller, Proposal, wanted) == proposals
    waiting: dict[SpaceId, tuple[Position | None, Sequence[Candidate]]] = {}
    for space, head in heads.items():
        in_space = [each for each in proposals if each.space == space]
        if here := [each for each in in_space if each.status is ProposalStatus.PENDING]:
            candidates = order_candidates(
                await read_candidates(canon, space, here, others_known=in_space)
            )
            waiting[space] = (head if still else None, candidates)
    return proposals, waiting
