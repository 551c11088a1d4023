"""Query sources: what the canon of one space rests on, oldest first."""

from canonry.domain.ids import SpaceId
from canonry.domain.things.sources import Source
from canonry.ports.views.pages import Page
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.covered_spaces import covered_spaces


async def query_sources(
    canon: Canon, caller: Caller, universe_id: str, *, limit: int, offset: int
) -> Page[Source]:
    """Sources by (created_at, id).

    Raises:
        NotFound: `universe.unknown`.
    """
    (space,) = (await covered_spaces(canon, caller, universe_id)) or (SpaceId(universe_id),)
    return await canon.state.sources(space, limit=limit, offset=offset)
