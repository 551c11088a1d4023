"""Get recent events: what happened lately at a location or to a player."""

from collections.abc import Sequence

from canonry.domain.things.facts import Event
from canonry.domain.vocabularies.world_types import WorldType
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.world.bound_world import BoundWorld
from canonry.usecases.world.world_at import world_at


async def get_recent_events(
    canon: Canon, world: BoundWorld, scope: WorldType, name: str, limit: int
) -> Sequence[Event]:
    """At most `limit` events of the thing of type `scope` with this id or key, the newest first."""
    now = world_at(canon, world)
    thing = await now.find(now.id_of(name), scope)
    return () if thing is None else await now.events(thing.id, limit)
