"""Get changes: what is otherwise at a place than it was at another tick, and what happened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from canonry.canon.session.canon import Canon
from canonry.log.items.facts import Event
from canonry.log.items.relations import Relation
from canonry.log.schemas.world_types import LayerType
from canonry.readmodels.edges import kind_of
from canonry.readmodels.ticks import Tick, instant_of
from canonry.values.errors import InvalidInput
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.get_location_context import LocationContext, get_location_context
from canonry.world.usecases.world_at import world_at

EVENTS_MAX: Final = 200
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesBetween:
    """What came and what went at a place after one tick and until another.

    Of the nearby as many are compared as a context tells. `layers` has the text before and after.
    """

    from_tick: Tick
    to_tick: Tick
    exits_opened: Sequence[Relation]
    exits_closed: Sequence[Relation]
    arrived: Sequence[str]
    left: Sequence[str]
    layers: Mapping[LayerType, tuple[str | None, str | None]]
    events: Sequence[Event]
    complete: bool


async def get_changes(
    canon: Canon, world: BoundWorld, location: str | None, start: Tick, end: Tick
) -> ChangesBetween | None:
    """What changed after `start` and until `end`; None: no such location at both of them.

    Raises:
        InvalidInput: `changes.backwards`.
    """
    if end < start:
        message = "toTick comes after fromTick"
        raise InvalidInput("changes.backwards", message, path="/toTick")
    before = await get_location_context(canon, world, location, start)
    after = await get_location_context(canon, world, location, end)
    if before is None or after is None:
        return None
    then = world_at(canon, world, end)
    events = await then.events(after.location.id, EVENTS_MAX)
    since = instant_of(start)
    new = [each for each in events if (each.time_ref or each.created_at) > since]
    was, now = _exits(before), _exits(after)
    here, there = _people(before), _people(after)
    return ChangesBetween(
        from_tick=start,
        to_tick=end,
        exits_opened=[edge for key, edge in now.items() if key not in was],
        exits_closed=[edge for key, edge in was.items() if key not in now],
        arrived=[each for each in there if each not in here],
        left=[each for each in here if each not in there],
        layers=_layers(before, after),
        events=new,
        complete=len(new) < EVENTS_MAX,
    )


def _exits(context: LocationContext) -> Mapping[tuple[str, str, bool], Relation]:
    """Exits by all that decides whether and where they lead."""
    return {
        (kind_of(edge), edge.to_id, bool(edge.properties.get("blocked"))): edge
        for edge in context.exits
    }


def _people(context: LocationContext) -> Sequence[str]:
    return [*(edge.from_id for edge in context.players), *(one.id for one in context.characters)]


def _layers(
    before: LocationContext, after: LocationContext
) -> Mapping[LayerType, tuple[str | None, str | None]]:
    was = {kind: upon.value for kind, upon in before.layers.items()}
    now = {kind: upon.value for kind, upon in after.layers.items()}
    return {
        kind: (was.get(kind), now.get(kind)) for kind in LayerType if was.get(kind) != now.get(kind)
    }
