"""Finalize a scene by hand: close it for good with the outcomes that were written for it."""

from collections.abc import Sequence
from dataclasses import dataclass

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.lookup import require, require_same_space
from canonry.canon.session.staging import require_unfinished
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact
from canonry.log.items.proposals import ProposalStatus
from canonry.log.items.relations import Relation
from canonry.log.items.scenes import Scene
from canonry.log.keys import thing_key
from canonry.log.scene_entries import SceneCompleted
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.values.ids import NewId, SceneId, SpaceId


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
