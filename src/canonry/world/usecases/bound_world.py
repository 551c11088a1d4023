"""The bound world: which world a caller addresses, and what its clock and its defaults say."""

from dataclasses import dataclass
from typing import Final

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.readmodels.ticks import Tick, instant_of
from canonry.values.errors import InvalidInput, NotFound
from canonry.values.ids import SpaceId
from canonry.values.spaces import Space, SpaceKind
from canonry.values.time import Instant
from canonry.world.domain.identity import WORLD_KEY, thing_id_of

_SETTING = "--world / CANONRY_WORLD"
_CANDIDATES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundWorld:
    """A world as it is now; `tick` None: nobody has set its clock yet."""

    space: SpaceId
    name: str
    heart: Entity
    tick: Tick | None
    starter: str
    depth: int
    event_limit: int

    @property
    def now(self) -> Tick:
        """The current tick; before anybody has set the clock, 0."""
        return Tick(0) if self.tick is None else self.tick

    @property
    def instant(self) -> Instant:
        """The current tick as an instant."""
        return instant_of(self.now)


async def bound_world(canon: Canon, caller: Caller) -> BoundWorld:
    """The one world that the caller is bound to, or the only one that the caller sees.

    Raises:
        InvalidInput: `world.unbound` or `world.ambiguous`, with the setting that helps.
        NotFound: `world.unknown`.
    """
    if caller.world is not None:
        return await require_world(canon, caller, caller.world)
    bound = await worlds_seen(canon, caller)
    if not bound:
        message = f"this caller is bound to no world and sees none; name one by {_SETTING}"
        raise InvalidInput("world.unbound", message, path="", setting=_SETTING)
    if len(bound) > 1:
        message = f"this caller may see several worlds; name one of them by {_SETTING}"
        told = [f"{each.name} ({each.id})" for each in bound]
        raise InvalidInput("world.ambiguous", message, path="", setting=_SETTING, candidates=told)
    return await require_world(canon, caller, bound[0].id)


async def worlds_seen(canon: Canon, caller: Caller) -> list[Space]:
    """The worlds that the caller may see, or the first few of them."""
    if caller.spaces is None:
        page = await canon.state.spaces(
            kind=SpaceKind.WORLD, parent=None, limit=_CANDIDATES, offset=0
        )
        return list(page.items)
    found = await canon.seen_by(caller).things(caller.spaces)
    worlds = [s for s in found.values() if isinstance(s, Space) and s.kind is SpaceKind.WORLD]
    return sorted(worlds, key=lambda each: each.id)[:_CANDIDATES]


async def require_world(canon: Canon, caller: Caller, space: str) -> BoundWorld:
    """The world with this id.

    Raises:
        NotFound: `world.unknown`, also for one that the caller may not see.
    """
    wanted = SpaceId(space.lower())
    found = await find_world(canon, wanted) if await canon.seen_by(caller).sees(wanted) else None
    if found is None:
        raise unknown("world", space)
    return found


async def find_world(canon: Canon, space: SpaceId) -> BoundWorld | None:
    """The world in a space, if there is one."""
    heart_id = thing_id_of(space, WORLD_KEY)
    found = await canon.within(space).things((space, heart_id))
    opened, heart = found.get(space), found.get(heart_id)
    if not isinstance(opened, Space) or opened.kind is not SpaceKind.WORLD:
        return None
    if not isinstance(heart, Entity):
        message = "this world has no clock yet; its import was cut off, so run it again"
        raise NotFound("world.incomplete", message, kind="world", id=space)
    own = heart.properties
    return BoundWorld(
        space=space,
        name=opened.name,
        heart=heart,
        tick=None if own.get("tick") is None else Tick(int(own["tick"])),
        starter=str(own.get("starter", "")),
        depth=int(own.get("depth", 2)),
        event_limit=int(own.get("event_limit", 20)),
    )
