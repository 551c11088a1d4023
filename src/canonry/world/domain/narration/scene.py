"""The scene: what is so where a narration takes place, as far as it can be claimed otherwise."""

from dataclasses import dataclass

from canonry.values.ids import EntityId
from canonry.world.domain.admission.kit import Rejection
from canonry.world.domain.admission.known import missing
from canonry.world.domain.checks import KnownWay, Person, Stack
from canonry.world.domain.utterances.frames import Nameable


@dataclass(frozen=True, slots=True, kw_only=True)
class Somewhere:
    """A place that is named: how long the shortest way there takes; None: there is no way."""

    place: Nameable
    travel_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldOfWorld:
    """A statement of canon: a layer's text, or a sentence of lore, with the id of its thing."""

    id: str
    text: str
    about: str = ""
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NarratedScene:
    """Everything that bears on a narration; `time_of_day` None: nobody has set the clock.

    `people` are those there and those named, wherever they are; `player` is who acts, if anybody.
    """

    place: Nameable
    player: EntityId | None = None
    time_of_day: str | None = None
    people: tuple[Person, ...] = ()
    items: tuple[Stack, ...] = ()
    ways: tuple[KnownWay, ...] = ()
    places: tuple[Somewhere, ...] = ()
    layers: tuple[ToldOfWorld, ...] = ()
    lore: tuple[ToldOfWorld, ...] = ()

    def gone(self, person: Person) -> Rejection | None:
        """What keeps somebody from taking part in what happens there."""
        place = EntityId(self.place.id)
        return missing(person, place, f"{person.name} is not there")

    @property
    def held(self) -> frozenset[str]:
        """The items that the player has."""
        if self.player is None:
            return frozenset()
        return frozenset(item.id for item in self.items if item.holder == self.player)

    @property
    def present(self) -> tuple[Person, ...]:
        """Who is there and lives."""
        return tuple(person for person in self.people if self.gone(person) is None)

    @property
    def known(self) -> tuple[Nameable, ...]:
        """All that can be named."""
        people = (Nameable(id=each.id, kind=each.kind, name=each.name) for each in self.people)
        items = (Nameable(id=each.id, kind="item", name=each.name) for each in self.items)
        return (self.place, *people, *items, *(each.place for each in self.places))
