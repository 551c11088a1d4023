"""Complete a scene, and finalize one that is canonized."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change, require_unfinished
from canonry.canon.session.lookup import require, require_same_space
from canonry.canon.session.paging import every_match
from canonry.language.texts.sentences import Said, digest
from canonry.log.entries import SceneCompleted, Thing
from canonry.log.folding import proposals_key, thing_key
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.proposals import Proposal, ProposalStatus
from canonry.log.items.scenes import Scene, SceneStatus
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.state import EventQuery
from canonry.values.audience import ANYBODY
from canonry.values.ids import NewId, SceneId, SpaceId
from canonry.values.moments import arranged
from canonry.values.provenance import CanonLevel

_STATED: Final = 5
_RELATED: Final = 3

SceneOutcome = Entity | Relation | Event | Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a scene was closed with: its proposals as they were decided, and what is canon."""

    proposals: Sequence[Proposal]
    outcomes: Sequence[SceneOutcome]
    summary: str


async def complete_scene(
    canon: Canon, caller: Caller, scene: Scene, *, summary: str | None
) -> Completion | None:
    """Close the scene; None: it has been closed meanwhile, and nothing is written."""

    async def prepare(_: NewId) -> Change[Completion | None]:
        current = await require(canon, caller, Scene, scene.id)
        if current.status is SceneStatus.COMPLETED:
            return Change(entries=(), reads=frozenset(), found=None)
        proposals = await proposals_of(canon, current.space, current.id)
        ids = list(current.outcomes)
        for proposal in proposals:
            decision = proposal.decision
            if decision is not None and decision.status is ProposalStatus.ACCEPTED:
                ids.extend((decision.canonical_id,) if decision.canonical_id is not None else ())
                ids.extend(decision.made)
        query = EventQuery(
            spaces=frozenset((current.space,)), scene_id=current.id, level=CanonLevel.CANON
        )
        events = [event async for event in every_match(canon.state.events, query)]
        outcomes = await outcomes_among(
            canon, current.space, (*ids, *(e.id for e in events)), events
        )
        text = summary or current.summary or await _summary(canon, current, outcomes)
        entry = SceneCompleted(
            scene_id=current.id, outcomes=tuple(each.id for each in outcomes), summary=text
        )
        reads = frozenset((thing_key(current.id), proposals_key(current.id)))
        completion = Completion(proposals=proposals, outcomes=outcomes, summary=text)
        return Change(entries=(entry,), reads=reads, found=completion)

    receipt = await commit_change(canon, caller, scene.space, prepare)
    return None if receipt.replayed else receipt.found


async def proposals_of(canon: Canon, space: SpaceId, scene_id: SceneId) -> Sequence[Proposal]:
    """All proposals of a scene, whatever their status, oldest first."""
    query = ProposalQuery(spaces=frozenset((space,)), scene_id=scene_id)
    return [each async for each in every_match(canon.documents.proposals, query)]


async def outcomes_among(
    canon: Canon, space: SpaceId, ids: Iterable[str], known: Iterable[SceneOutcome] = ()
) -> list[SceneOutcome]:
    """The facts, events, entities and relations of `space` among `ids`, in their order."""
    wanted = tuple(dict.fromkeys(ids))
    found: dict[str, Thing] = {each.id: each for each in known}
    found |= await canon.within(space).things(i for i in wanted if i not in found)
    return [thing for one in wanted if isinstance(thing := found.get(one), SceneOutcome)]


async def _summary(canon: Canon, scene: Scene, outcomes: Iterable[SceneOutcome]) -> str:
    """What became canon, in the order of the stories; where nothing did, the scene's title.

    Everybody may read it, so that it tells no secret.
    """
    if await canon.store_of_all.state.compartments():
        canon = canon.for_viewer(ANYBODY)
        outcomes = await outcomes_among(canon, scene.space, (each.id for each in outcomes))
    standing = [each for each in outcomes if each.level is CanonLevel.CANON]
    edges = [each for each in standing if isinstance(each, Relation)]
    ends = await canon.within(scene.space).roots(i for e in edges for i in (e.from_id, e.to_id))
    names = {i: root.name for i, root in ends.items()}
    told = arranged(
        (each for each in standing if not isinstance(each, Entity)), lambda each: each.moment
    )
    limit = canon.policy.limits.summary
    return digest([_said(each, names) for each in told], limit=limit) or scene.title[:limit]


def _said(thing: Relation | Event | Fact, names: Mapping[str, str]) -> Said:
    """What happened counts by its severity, of at most 10; what is so counts half of that."""
    match thing:
        case Event():
            return Said(thing.title, thing.severity)
        case Fact():
            return Said(thing.statement, _STATED)
        case Relation():
            word = thing.rel_type.replace("_", " ").lower()
            start, end = names.get(thing.from_id, ""), names.get(thing.to_id, "")
            return Said(f"{start} {word} {end}", _RELATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalization:
    """The commit that closed the scene, and how many proposals stay undecided."""

    receipt: Receipt
    pending: int


async def finalize_scene(
    canon: Canon, caller: Caller, scene_id: str, *, outcomes: Sequence[str], summary: str
) -> Finalization:
    """Close the scene; pending proposals stay pending and can still be evaluated one by one.

    Raises:
        NotFound: `scene.unknown` or `outcome.unknown`.
        Conflict: `scene.completed` or `space.foreign`.
    """
    space = (await require(canon, caller, Scene, scene_id)).space

    async def prepare(_: NewId) -> Change:
        scene = await require(canon, caller, Scene, scene_id)
        require_unfinished(scene)
        await require_canonical(canon, caller, space, outcomes, path="/canonical_outcome_ids")
        closed = SceneCompleted(scene_id=scene.id, outcomes=tuple(outcomes), summary=summary)
        reads = frozenset((thing_key(scene.id), *(thing_key(each) for each in outcomes)))
        return Change(entries=(closed,), reads=reads)

    receipt = await commit_change(canon, caller, space, prepare)
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
) -> tuple[Fact | Event | Entity | Relation, ...]:
    """The facts, events, entities and relations of `space` with these ids.

    Raises:
        NotFound: `outcome.unknown`.
        Conflict: `space.foreign`.
    """
    found = await canon.seen_by(caller).things(ids)
    things: list[Fact | Event | Entity | Relation] = []
    for each in ids:
        thing = found.get(each)
        if not isinstance(thing, Fact | Event | Entity | Relation):
            raise unknown("outcome", each)
        things.append(thing)
    require_same_space(space, things, path=path)
    return tuple(things)
