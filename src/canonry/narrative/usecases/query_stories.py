"""Query stories: those of one universe, oldest first."""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require_universe
from canonry.log.items.scenes import Story
from canonry.readmodels.ports.pages import Page


async def query_stories(
    canon: Canon, caller: Caller, universe_id: str, *, limit: int, offset: int
) -> Page[Story]:
    """Stories by (created_at, id).

    Raises:
        NotFound: `universe.unknown`.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    return await canon.state.stories(space, limit=limit, offset=offset)
