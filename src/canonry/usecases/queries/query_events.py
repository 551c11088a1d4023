"""Query events: by universe, entity, scene and level, in the order in which they happened."""

from canonry.domain.things.facts import Event
from canonry.domain.things.scenes import Scene
from canonry.ports.views.pages import Page
from canonry.ports.views.state import EventQuery
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.lookup import require
from canonry.usecases.queries.query_facts import narrowed

__all__ = ["EventQuery", "query_events"]
"""With the value that it is asked by."""


async def query_events(
    canon: Canon,
    caller: Caller,
    query: EventQuery,
    *,
    universe_id: str | None,
    entity_id: str | None = None,
) -> Page[Event]:
    """Events by (time_ref where known, else created_at; id).

    Raises:
        NotFound: `universe.unknown`, `entity.unknown` or `scene.unknown`.
    """
    if query.scene_id is not None:
        await require(canon, caller, Scene, query.scene_id)
    return await canon.state.events(await narrowed(canon, caller, query, universe_id, entity_id))
