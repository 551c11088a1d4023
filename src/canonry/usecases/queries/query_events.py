"""Query events: by universe, entity, scene and level, in the order in which they happened."""

from canonry.domain.provenance import CanonLevel
from canonry.domain.things.facts import Event
from canonry.domain.things.scenes import Scene
from canonry.ports.views.pages import Page
from canonry.ports.views.state import EventQuery
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.covered_spaces import covered_spaces
from canonry.usecases.kernel.lookup import require
from canonry.usecases.queries.query_facts import family_asked_for


async def query_events(
    canon: Canon,
    caller: Caller,
    *,
    universe_id: str | None,
    entity_id: str | None,
    scene_id: str | None,
    level: CanonLevel | None,
    limit: int,
    offset: int,
) -> Page[Event]:
    """Events by (time_ref where known, else created_at; id).

    Raises:
        NotFound: `universe.unknown`, `entity.unknown` or `scene.unknown`.
    """
    if scene_id is not None:
        await require(canon, caller, Scene, scene_id)
    query = EventQuery(
        spaces=await covered_spaces(canon, caller, universe_id),
        entities=await family_asked_for(canon, caller, entity_id),
        scene_id=scene_id,
        level=level,
        limit=limit,
        offset=offset,
    )
    return await canon.state.events(query)
