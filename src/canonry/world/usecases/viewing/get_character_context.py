"""Get a character's context: where they are, what they have and how they are; also a player's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event
from canonry.log.schemas.world_types import MOVERS, WorldType
from canonry.readmodels.ticks import Tick
from canonry.world.domain.standing import Person, person_of
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.get_player_context import inventory_of, location_of
from canonry.world.usecases.world_at import NEARBY_MAX, world_at


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterContext:
    """A player or a character at a tick, and what they took part in lately."""

    tick: Tick
    character: Entity
    location: Entity | None
    inventory: Sequence[Entity]
    status: Person
    events: Sequence[Event]


def status_of(mover: Entity, tick: Tick) -> Person:
    """How a mover is at a tick, with the conditions that hold then."""
    found = person_of(mover)
    return replace(found, conditions=found.conditions_at(tick))


async def get_character_context(
    canon: Canon, world: BoundWorld, name: str, tick: Tick | None
) -> CharacterContext | None:
    """The context of the character or player with this id or key; None: there is no such one."""
    then = world_at(canon, world, tick)
    found = await then.find(then.id_of(name), *MOVERS)
    if found is None:
        return None
    held, _more = await inventory_of(then, found)
    return CharacterContext(
        tick=then.tick,
        character=found,
        location=await location_of(then, found, WorldType(found.entity_type)),
        inventory=held,
        status=status_of(found, then.tick),
        events=await then.events(found.id, NEARBY_MAX),
    )
