"""List proposals with their verdicts, oldest first."""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.covered_spaces import covered_spaces
from canonry.canon.session.lookup import require
from canonry.log.items.proposals import Proposal
from canonry.log.items.scenes import Scene
from canonry.readmodels.ports.documents import ProposalQuery
from canonry.readmodels.ports.pages import Page
from canonry.values.revising import revised

__all__ = ["ProposalQuery", "list_proposals"]
"""With the value that it is asked by."""


async def list_proposals(
    canon: Canon, caller: Caller, query: ProposalQuery, *, universe_id: str | None = None
) -> Page[Proposal]:
    """A page of the proposals that match; without a universe, of those that the caller may see.

    Without a scene it covers all scenes and ingestion.

    Raises:
        NotFound: `universe.unknown` or `scene.unknown`.
    """
    spaces = await covered_spaces(canon, caller, universe_id)
    if query.scene_id is not None:
        await require(canon, caller, Scene, query.scene_id)
    return await canon.documents.proposals(revised(query, spaces=spaces))
