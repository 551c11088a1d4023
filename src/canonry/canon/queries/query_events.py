"""Query events: by universe, entity, scene and level, in the order in which they happened."""

from canonry.canon.queries.query_facts import narrowed
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import require
from canonry.log.items.facts import Event
from canonry.log.items.scenes import Scene
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import EventQuery

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
