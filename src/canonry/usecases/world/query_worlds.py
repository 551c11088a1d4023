"""Query worlds: all of a store, and the one that bears a name."""

from collections.abc import Sequence
from functools import partial

from canonry.domain.errors import Conflict
from canonry.domain.ids import SpaceId, is_uuid
from canonry.domain.spaces import Space, SpaceKind
from canonry.domain.things.entities import normalised_name
from canonry.usecases.kernel.caller import unknown
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.every_item import every_item
from canonry.usecases.world.bound_world import BoundWorld, find_world


async def query_worlds(canon: Canon) -> Sequence[Space]:
    """The worlds of the store, oldest first."""
    pages = partial(canon.state.spaces, kind=SpaceKind.WORLD, parent=None)
    return [space async for space in every_item(pages)]


async def world_named(canon: Canon, name: str) -> BoundWorld:
    """The world with this id, or the only one with this name.

    Raises:
        NotFound: `world.unknown`.
        Conflict: `world.namesakes`, several bear the name.
    """
    if is_uuid(name):
        ids = [name.lower()]
    else:
        wanted = normalised_name(name)
        worlds = await query_worlds(canon)
        ids = [space.id for space in worlds if normalised_name(space.name) == wanted]
    if len(ids) > 1:
        message = "several worlds bear this name; give the id of one"
        raise Conflict("world.namesakes", message, conflicts=ids)
    for space in ids:
        if (found := await find_world(canon, SpaceId(space))) is not None:
            return found
    raise unknown("world", name)
