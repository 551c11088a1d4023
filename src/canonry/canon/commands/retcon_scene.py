"""Retcon a scene: all that it made canon never was, and neither was what rests on that.

What is canon already when a scene confirms it was not made by the scene, and stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from canonry.canon.commands.dependents import (
    DEPENDENTS_MAX,
    Dependent,
    Retconnable,
    dependents,
    fell_before,
    stands,
)
from canonry.canon.commands.retcon_thing import Retcon, retcon_thing
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.every_item import every_match
from canonry.canon.session.lookup import require
from canonry.log.items.proposals import ProposalStatus
from canonry.log.items.scenes import Scene
from canonry.log.keys import thing_key
from canonry.log.scene_entries import SceneSummarised
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.values.errors import Conflict
from canonry.values.ids import NewId


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneRetcon:
    """What a scene made that stands, what rests on it, and, unless nothing was written, what fell.

    `more`: not everything that rests on it could be listed.
    """

    scene: Scene
    made: tuple[Retconnable, ...]
    dependents: tuple[Dependent, ...]
    more: bool
    fallen: tuple[str, ...] = ()
    resumed: tuple[str, ...] = ()


async def list_resting_on_scene(canon: Canon, caller: Caller, scene_id: str) -> SceneRetcon:
    """What would fall with the scene; nothing is written.

    Raises:
        NotFound: `scene.unknown`.
    """
    scene = await require(canon, caller, Scene, scene_id)
    made = await _made_by(canon, caller, scene)
    own = {each.id for each in made}
    found: dict[str, Dependent] = {}
    more = False
    for each in made:
        near = await dependents(canon, caller, each)
        more = more or near.more
        for one in near.items:
            known = found.get(one.thing.id)
            if one.thing.id not in own and (known is None or one.certain > known.certain):
                found[one.thing.id] = one
    items = sorted(found.values(), key=lambda each: not each.certain)
    return SceneRetcon(scene=scene, made=tuple(made), dependents=tuple(items), more=more)


async def retcon_scene(canon: Canon, caller: Caller, scene_id: str, *, reason: str) -> SceneRetcon:
    """Take back all that the scene made, the newest first, with what rests on it for sure.

    Each thing falls in a commit of its own, so that the same call goes on where one was
    interrupted; called again when all has fallen it changes nothing. The summary of the scene says
    from then on that it was taken back.

    Raises:
        NotFound: `scene.unknown`.
        Conflict: `retcon.too-many`, more rests on it than can be listed.
    """
    listed = await list_resting_on_scene(canon, caller, scene_id)
    if listed.more:
        message = f"more than {DEPENDENTS_MAX} things may rest on this; retcon some of them first"
        raise Conflict("retcon.too-many", message, path="/scene_id")
    fallen: list[str] = []
    resumed: list[str] = []
    for each in listed.made:
        now = await canon.within(each.space).thing(each.id)
        if not isinstance(now, Retconnable):
            continue
        if stands(now) or await fell_before(canon, caller, now):
            retcon = Retcon(reason=reason, along=True)
            done = await retcon_thing(canon, caller, each.id, retcon, is_part=True)
            fallen += done.fallen
            resumed += done.resumed
        else:  # it fell with another
            fallen.append(each.id)
    fallen = list(dict.fromkeys(fallen))
    if fallen:
        await _summarise_anew(canon, step(caller, "summary"), listed.scene, reason)
    return SceneRetcon(
        scene=listed.scene,
        made=listed.made,
        dependents=listed.dependents,
        more=False,
        fallen=tuple(fallen),
        resumed=tuple(one for one in dict.fromkeys(resumed) if one not in fallen),
    )


async def _summarise_anew(canon: Canon, caller: Caller, scene: Scene, reason: str) -> None:
    """Let the summary of a closed scene, which contexts and searches tell, say that it is void."""
    text = f"Taken back, so that nothing of it ever was: {reason}"

    async def prepare(_: NewId) -> Change:
        now = await require(canon, caller, Scene, scene.id)
        told = not now.summary or now.summary == text
        entries = () if told else (SceneSummarised(scene_id=scene.id, summary=text),)
        return Change(entries=entries, reads=frozenset((thing_key(scene.id),)))

    await commit_change(canon, caller, scene.space, prepare)


async def _made_by(canon: Canon, caller: Caller, scene: Scene) -> Sequence[Retconnable]:
    """What the scene brought into being and what stands of it, the newest first."""
    query = ProposalQuery(
        spaces=frozenset((scene.space,)), scene_id=scene.id, status=ProposalStatus.ACCEPTED
    )
    ids = [
        one
        async for proposal in every_match(canon.documents.proposals, query)
        for one in (() if proposal.decision is None else proposal.decision.made)
    ]
    found = await canon.within(scene.space).things((*ids, *scene.outcomes))
    standing = [
        each
        for each in found.values()
        if isinstance(each, Retconnable)
        and (each.id in ids or getattr(each, "scene_id", None) == scene.id)
        and (stands(each) or await fell_before(canon, caller, each))
    ]
    return sorted(standing, key=lambda each: (each.position, each.id), reverse=True)
