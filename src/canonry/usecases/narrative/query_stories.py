"""Query stories: those of one universe, oldest first."""

from canonry.domain.things.scenes import Story
from canonry.ports.views.pages import Page
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.lookup import require_universe


async def query_stories(
    canon: Canon, caller: Caller, universe_id: str, *, limit: int, offset: int
) -> Page[Story]:
    """Stories by (created_at, id).

    Raises:
        NotFound: `universe.unknown`.
    """
    space = (await require_universe(canon, caller, universe_id)).id
    return await canon.state.stories(space, limit=limit, offset=offset)
