"""Query scenes by universe, story and status, in the order of the story."""

from canonry.domain.ids import StoryId
from canonry.domain.things.scenes import Scene, SceneStatus, Story
from canonry.ports.views.documents import SceneQuery
from canonry.ports.views.pages import Page
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.covered_spaces import covered_spaces
from canonry.usecases.kernel.lookup import require


async def query_scenes(
    canon: Canon,
    caller: Caller,
    *,
    universe_id: str | None,
    story_id: str | None,
    status: SceneStatus | None,
    limit: int,
    offset: int,
) -> Page[Scene]:
    """A page of the scenes that match; without a universe, of those that the caller may see.

    Raises:
        NotFound: `universe.unknown` or `story.unknown`.
    """
    spaces = await covered_spaces(canon, caller, universe_id)
    story: StoryId | None = None
    if story_id is not None:
        story = (await require(canon, caller, Story, story_id)).id
    query = SceneQuery(spaces=spaces, story_id=story, status=status, limit=limit, offset=offset)
    return await canon.documents.scenes(query)
