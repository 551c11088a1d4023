"""Query sources: what the canon of one space rests on, oldest first."""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.covered_spaces import covered_spaces
from canonry.log.items.sources import Source
from canonry.readmodels.ports.pages import Page
from canonry.values.ids import SpaceId


async def query_sources(
    canon: Canon, caller: Caller, universe_id: str, *, limit: int, offset: int
) -> Page[Source]:
    """Sources by (created_at, id).

    Raises:
        NotFound: `universe.unknown`.
    """
    (space,) = (await covered_spaces(canon, caller, universe_id)) or (SpaceId(universe_id),)
    return await canon.state.sources(space, limit=limit, offset=offset)
