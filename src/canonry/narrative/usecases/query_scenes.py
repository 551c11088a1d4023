"""Query scenes by universe, story and status, in the order of the story."""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.covered_spaces import covered_spaces
from canonry.canon.session.lookup import require
from canonry.log.items.scenes import Scene, Story
from canonry.readmodels.ports.documents import SceneQuery
from canonry.readmodels.ports.pages import Page
from canonry.values.revising import revised

__all__ = ["SceneQuery", "query_scenes"]
"""With the value that it is asked by."""


async def query_scenes(
    canon: Canon, caller: Caller, query: SceneQuery, *, universe_id: str | None
) -> Page[Scene]:
    """A page of the scenes that match; without a universe, of those that the caller may see.

    Raises:
        NotFound: `universe.unknown` or `story.unknown`.
    """
    spaces = await covered_spaces(canon, caller, universe_id)
    if query.story_id is not None:
        await require(canon, caller, Story, query.story_id)
    return await canon.documents.scenes(revised(query, spaces=spaces))
