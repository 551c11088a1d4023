"""Standing: how somebody, an item and an exit are, read in one way from what is kept of them.

Gates, narration, dialogue, routes, plans and contexts all ask here, so that who is dead to one of
them is dead to all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from canonry.log.items.entities import Entity
from canonry.log.items.facts import RelationDraft
from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.edges import Direction, Tick, blocked_at, kind_of, travel_ms
from canonry.values.ids import EntityId

_DEAD: Final = frozenset({"dead", "deceased", "slain", "killed"})
_DIRECTIONS: Final = frozenset(Direction)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A player or a character: each condition holds until just before a tick, or for good."""

    id: EntityId
    kind: WorldType
    name: str
    place: EntityId | None
    alive: bool = True
    present: bool = True
    conditions: Mapping[str, int | None] = field(default_factory=dict)
    resources: Mapping[str, int] = field(default_factory=dict)

    def conditions_at(self, tick: Tick) -> Mapping[str, int | None]:
        """Those that hold at a tick."""
        told = self.conditions.items()
        return {name: until for name, until in told if until is None or tick < until}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """An item, how many there are of it, and with whom."""

    id: EntityId
    name: str
    holder: EntityId | None
    quantity: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWay:
    """An exit that there is; `proposed`: a proposal has opened it."""

    direction: Direction
    to: EntityId
    start: EntityId
    id: str = ""
    travel_ms: int = 0
    one_way: bool = False
    hidden: bool = False
    blocked: str | None = None
    requires: str | None = None
    proposed: bool = False


def person_of(thing: Entity, place: EntityId | None = None) -> Person:
    """Somebody as they are, wherever they are."""
    own = thing.properties
    return Person(
        id=thing.id,
        kind=WorldType(thing.entity_type),
        name=thing.name,
        place=place,
        alive=_is_alive(own),
        present=bool(own.get("present", True)),
        conditions=dict(own.get("conditions") or {}),
        resources={str(name): int(value) for name, value in (own.get("resources") or {}).items()},
    )


def _is_alive(own: Mapping[str, Any]) -> bool:
    """What was said in so many words wins over what an attribute or a tag lets on."""
    attributes = own.get("attributes") or {}
    for told in (own.get("alive"), attributes.get("alive")):
        if isinstance(told, bool):
            return told
    states = (own.get("status"), attributes.get("status"), *(own.get("tags") or ()))
    return not any(isinstance(each, str) and each.casefold() in _DEAD for each in states)


def stack_of(thing: Entity, holder: EntityId | None) -> Stack:
    """An item as it is, with whoever has it."""
    count = int(thing.properties.get("quantity") or 1)
    return Stack(id=thing.id, name=thing.name, holder=holder, quantity=count)


def way_of(edge: RelationDraft, tick: Tick) -> KnownWay | None:
    """The exit that an edge is at a tick; None where it leads in no direction."""
    kind, own = kind_of(edge), edge.properties
    if kind not in _DIRECTIONS:
        return None
    direction, needed = Direction(kind), own.get("requires")
    return KnownWay(
        id=edge.id,
        direction=direction,
        start=edge.from_id,
        to=edge.to_id,
        travel_ms=travel_ms(direction, own.get("travel_ms")),
        one_way=bool(own.get("one_way")),
        hidden=bool(own.get("hidden")),
        blocked=blocked_at(edge, tick),
        requires=None if needed is None else str(needed),
        proposed=edge.proposal_id is not None,
    )
