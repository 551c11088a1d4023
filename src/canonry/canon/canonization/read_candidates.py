"""Read candidates: proposals with the scenes that they were told in, and the names around them."""

from collections.abc import Iterable

from canonry.canon.canonization.complete_scene import proposals_of
from canonry.canon.judging.candidates import Candidate, Declared, read_candidate
from canonry.canon.judging.ordering import declared_names
from canonry.canon.session.canon import Canon
from canonry.log.items.proposals import NARRATED, Proposal
from canonry.log.items.scenes import Scene
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
