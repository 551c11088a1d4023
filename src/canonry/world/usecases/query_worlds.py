"""Query worlds: all of a store, and the one that bears a name."""

from collections.abc import Sequence
from functools import partial

from canonry.canon.session.caller import unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.every_item import every_item
from canonry.log.items.entities import normalised_name
from canonry.values.errors import Conflict
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.spaces import Space, SpaceKind
from canonry.world.usecases.bound_world import BoundWorld, find_world


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
