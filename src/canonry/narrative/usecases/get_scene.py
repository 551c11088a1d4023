"""Get a scene with its last turns and its proposals; the game master's notes stay behind."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene, Turn
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.pages import PAGE_MAX, Page


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneReading:
    """A scene, its last turns in the order of play, and its proposals oldest first."""

    scene: Scene
    turns: Sequence[Turn]
    total_turns: int
    proposals: Page[Proposal]


async def get_scene(canon: Canon, caller: Caller, scene_id: str, *, turns: int) -> SceneReading:
    """The scene with up to `turns` turns and a page of its proposals.

    Raises:
        NotFound: `scene.unknown`.
    """
    scene = await require(canon, caller, Scene, scene_id)
    told, proposals = await asyncio.gather(
        _last_turns(canon, scene, turns), _proposals(canon, scene)
    )
    total = max(scene.turn_count, told[-1].index + 1 if told else 0)
    return SceneReading(scene=scene, turns=told, total_turns=total, proposals=proposals)


async def _last_turns(canon: Canon, scene: Scene, turns: int) -> Sequence[Turn]:
    if turns == 0:
        return ()
    return await canon.documents.turns(scene.id, last=turns)


async def _proposals(canon: Canon, scene: Scene) -> Page[Proposal]:
    query = ProposalQuery(spaces=frozenset((scene.space,)), scene_id=scene.id, limit=PAGE_MAX)
    return await canon.documents.proposals(query)
