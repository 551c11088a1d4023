"""Query entities: by type, class, level, tags and name, in the universes that the caller sees."""

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.covered_spaces import covered_spaces
from canonry.log.items.entities import Entity
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import EntityQuery
from canonry.values.revising import revised

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
