"""Query entities: by type, class, level, tags and name, in the universes that the caller sees."""

from canonry.domain.revising import revised
from canonry.domain.things.entities import Entity
from canonry.ports.views.pages import Page
from canonry.ports.views.state import EntityQuery
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.covered_spaces import covered_spaces

__all__ = ["EntityQuery", "query_entities"]
"""With the value that it is asked by."""


async def query_entities(
    canon: Canon, caller: Caller, query: EntityQuery, *, universe_id: str | None
) -> Page[Entity]:
    """Entities by (created_at, id); without a level, retconned ones too.

    Raises:
        NotFound: `universe.unknown`.
    """
    spaces = await covered_spaces(canon, caller, universe_id)
    return await canon.state.entities(revised(query, spaces=spaces))
