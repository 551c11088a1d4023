"""List proposals with their verdicts, oldest first."""

from canonry.domain.ids import SceneId
from canonry.domain.things.proposals import Proposal, ProposalStatus, ProposalType
from canonry.domain.things.scenes import Scene
from canonry.ports.views.documents import ProposalQuery
from canonry.ports.views.pages import Page
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.covered_spaces import covered_spaces
from canonry.usecases.kernel.lookup import require


async def list_proposals(
    canon: Canon,
    caller: Caller,
    *,
    universe_id: str | None = None,
    scene_id: str | None = None,
    proposal_type: ProposalType | None = None,
    status: ProposalStatus | None = None,
    limit: int,
    offset: int = 0,
) -> Page[Proposal]:
    """A page of the proposals that match; without a universe, of those that the caller may see.

    Without a scene it covers all scenes and ingestion.

    Raises:
        NotFound: `universe.unknown` or `scene.unknown`.
    """
    spaces = await covered_spaces(canon, caller, universe_id)
    scene: SceneId | None = None
    if scene_id is not None:
        scene = (await require(canon, caller, Scene, scene_id)).id
    query = ProposalQuery(
        spaces=spaces,
        scene_id=scene,
        type=proposal_type,
        status=status,
        limit=limit,
        offset=offset,
    )
    return await canon.documents.proposals(query)
