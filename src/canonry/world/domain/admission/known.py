"""What a verdict knows of a world: what was read of it, and what the proposal itself would change.

What nobody has read yet is asked for by raising `Unread`: the reader reads it and judges again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from canonry.log.schemas.world_types import LayerType
from canonry.readmodels.edges import Direction, Tick
from canonry.values.ids import EntityId, SpaceId
from canonry.world.domain.merging import lore_id_of, thing_id_of
from canonry.world.domain.standing import KnownWay, Person, Stack

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSpot:
    """A location; `forbidden` says why no way may be opened in a direction."""

    id: EntityId
    name: str
    forbidden: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """A layer upon a place, until a tick that is included, or for good."""

    id: EntityId
    layer_type: LayerType
    since: int
    until: int | None


KnownThing: TypeAlias = Person | Stack | KnownSpot
Ways: TypeAlias = Mapping[Direction, KnownWay]

THING: Final = "thing"
WAYS: Final = "ways"
LAYERS: Final = "layers"
FACTION: Final = "faction"


@dataclass(frozen=True, slots=True)
class WorldQuestion:
    """What is to be read: which of the four, of what."""

    what: str
    of: str


class NotLoaded(Exception):  # noqa: N818 - no error: it asks
    """Something that a verdict rests on has not been read."""

    def __init__(self, ask: WorldQuestion) -> None:
        """What to read."""
        super().__init__(ask)
        self.ask = ask


class KnownWorld:
    """A world at a tick as far as it was read, with what a proposal has changed so far."""

    def __init__(self, space: SpaceId, tick: Tick, read: Mapping[WorldQuestion, Any]) -> None:
        """`read` is what was read; it stays as it is."""
        self.space = space
        self.tick = tick
        self._read = read
        self._changed: dict[WorldQuestion, Any] = {}

    def _get(self, ask: WorldQuestion) -> Any:
        if ask in self._changed:
            return self._changed[ask]
        if ask not in self._read:
            raise NotLoaded(ask)
        return self._read[ask]

    def find(self, name: str, kind: type[T]) -> T | None:
        """The thing of this id or key, if it is of this kind."""
        thing = self._get(WorldQuestion(THING, thing_id_of(self.space, name)))
        return thing if isinstance(thing, kind) else None

    def put(self, thing: KnownThing) -> None:
        """From now on a thing is so."""
        self._changed[WorldQuestion(THING, thing.id)] = thing

    def ways(self, place: EntityId) -> Ways:
        """The exits of a place."""
        ways: Ways = self._get(WorldQuestion(WAYS, place))
        return ways

    def put_way(self, place: EntityId, direction: Direction, way: KnownWay | None) -> None:
        """An exit opens, or closes."""
        ways = {each: one for each, one in self.ways(place).items() if each is not direction}
        self._changed[WorldQuestion(WAYS, place)] = (
            ways if way is None else {**ways, direction: way}
        )

    def layers(self, place: EntityId) -> tuple[Laid, ...]:
        """The layers upon a place that hold now or later."""
        layers: tuple[Laid, ...] = self._get(WorldQuestion(LAYERS, place))
        return layers

    def put_layers(self, place: EntityId, layers: tuple[Laid, ...]) -> None:
        """From now on these layers lie upon a place."""
        self._changed[WorldQuestion(LAYERS, place)] = layers

    def is_faction(self, fact: str) -> bool:
        """Whether lore knows a faction under this id."""
        return bool(self._get(WorldQuestion(FACTION, lore_id_of(self.space, fact))))
