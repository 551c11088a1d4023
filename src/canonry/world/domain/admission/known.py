"""What a verdict knows of a world, and what can be said against one thing being so."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from canonry.log.schemas.world_types import LayerType
from canonry.readmodels.edges import Direction, Tick
from canonry.values.ids import EntityId, SpaceId
from canonry.world.domain.admission.kit import Rejection, refusal
from canonry.world.domain.checks import KnownWay, Person, Stack
from canonry.world.domain.merging import lore_id_of, thing_id_of

# What a verdict knows of a world: what was read of it, and what the proposal itself would change.
#
# What nobody has read yet is asked for by raising `NotLoaded`: the reader reads it and judges
# again.

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


# Constraints: what can be said against one thing being so, each a pure question with its rule.
#
# They know values alone, so that narration, intents and plans can ask the same.


def not_here(person: Person) -> Rejection | None:
    """The dead and the absent neither act nor take part."""
    if not person.alive:
        return refusal("person.dead", f"{person.name} is dead")
    if not person.present:
        return refusal("person.absent", f"{person.name} is absent")
    return None


def apart(one: EntityId | None, other: EntityId | None, reason: str) -> Rejection | None:
    """Two who have to do with each other are at one place."""
    if one is None or one != other:
        return refusal("position.elsewhere", reason)
    return None


def missing(person: Person, place: EntityId | None, reason: str) -> Rejection | None:
    """Who takes part in something at a place lives, is present, and is there."""
    return not_here(person) or apart(place, person.place, reason)


def no_passage(
    way: KnownWay | None, direction: Direction, held: Collection[str]
) -> Rejection | None:
    """Nobody goes where no exit leads, where it is blocked, or without what it requires."""
    if way is None:
        return refusal("exit.unknown", f"no exit leads {direction} from there")
    if way.blocked:
        return refusal("exit.blocked", f"the exit {direction} is blocked")
    if way.requires is not None and way.requires not in held:
        reason = f"the exit {direction} is passed only with an item that the mover does not hold"
        return refusal("exit.needs-item", reason)
    return None


def cannot_open(
    direction: Direction,
    ends: tuple[EntityId, EntityId],
    ways: Mapping[Direction, KnownWay],
    forbidden: Mapping[str, str],
) -> Rejection | None:
    """One exit leads in each direction, to another place, and not where the world forbids it."""
    if ends[0] == ends[1]:
        return refusal("exit.to-itself", "an exit leads to another place")
    if direction in ways:
        return refusal("exit.direction-taken", f"an exit leads {direction} already")
    if direction in forbidden:
        return refusal("exit.forbidden", f"{direction}: {forbidden[direction]}")
    return None


def overlapping(layers: Iterable[Laid], new: Laid) -> Laid | None:
    """The layer of the same type that holds at a tick at which the new one would."""
    for each in layers:
        apart_in_time = (each.until is not None and each.until < new.since) or (
            new.until is not None and new.until < each.since
        )
        if each.layer_type is new.layer_type and not apart_in_time:
            return each
    return None


def not_held(stack: Stack, holder: EntityId, wanted: int | None) -> Rejection | None:
    """Only who has something gives it, and no more than there is."""
    if stack.holder != holder:
        return refusal("item.held-otherwise", f"{stack.name} is with somebody else")
    if wanted is not None and wanted > stack.quantity:
        reason = f"there are {stack.quantity} of {stack.name}, not {wanted}"
        return refusal("item.too-few", reason)
    return None


def too_little(person: Person, resource: str, amount: int) -> Rejection | None:
    """Nobody spends what they do not have."""
    has = person.resources.get(resource, 0)
    if has < amount:
        reason = f"{person.name} has {has} of {resource}, not {amount}"
        return refusal("resource.too-little", reason)
    return None
