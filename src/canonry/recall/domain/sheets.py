"""Sheets: who somebody is in a scene; the name always, what is long only as far as there is room.

What was left out is named, so that whoever needs it can read it where it stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from canonry.log.items.entities import Entity
from canonry.recall.domain.context import FIELD_TOKENS, cost_of, cut, tokens_of

TAGS_TOKENS: Final = 200
"""What the state tags of one entity may take."""
BRIEF_TOKENS: Final = 120
"""What is told at most of the sheet of somebody who is not there."""
NAMED_MAX: Final = 20
"""So many of the properties left out are named; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """Where somebody is."""

    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """Who somebody is, in what state, and where: what is told of everybody who is there."""

    entity: Entity
    tags: tuple[str, ...]
    tags_left: int = 0
    place: Whereabouts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What else is known of an entity; `left` are the properties that there was no room for."""

    entity: Entity
    description: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    left: tuple[str, ...] = ()

    @property
    def shortened(self) -> bool:
        """Whether the description was cut."""
        return self.description != self.entity.description


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An entity as a context tells of it; without a sheet there was no room for any of it."""

    head: Presence
    sheet: Sheet

    @property
    def entity(self) -> Entity:
        """The entity itself."""
        return self.head.entity


def head_of(entity: Entity, tags: tuple[str, ...], place: Whereabouts | None) -> Presence:
    """The head of an entity; of very many tags the first ones are told."""
    used, told = 0, 0
    for tag in tags:
        used += tokens_of(tag) + 1
        if used > TAGS_TOKENS:
            break
        told += 1
    return Presence(entity=entity, tags=tags[:told], tags_left=len(tags) - told, place=place)


def sheet_of(entity: Entity) -> Sheet:
    """The whole sheet."""
    return Sheet(entity=entity, description=entity.description, properties=entity.properties)


def head_cost(head: Presence) -> int:
    """About how many tokens a head takes."""
    place = () if head.place is None else (head.place.name,)
    return cost_of(head.entity.name, *head.tags, *place, ids=1 + len(place), fields=9)


def sheet_cost(sheet: Sheet) -> int:
    """About how many tokens a sheet takes; one of nothing takes none."""
    own = sum(_cost(key, value) for key, value in sheet.properties.items())
    if sheet.left or sheet.shortened:
        own += cost_of(*sheet.left[:NAMED_MAX], ids=0, fields=4)
    return own + tokens_of(sheet.description)


def told_cost(told: Told) -> int:
    """About how many tokens an entity takes with its sheet."""
    return head_cost(told.head) + sheet_cost(told.sheet)


def trimmed(sheet: Sheet, room: int) -> Sheet:
    """The sheet in so much room: the description, and those properties that are short enough."""
    names = tuple(sheet.properties)
    named = cost_of(*names[:NAMED_MAX], ids=0, fields=4)
    left = max(0, room - named)
    if not left:
        return bare(sheet)
    short = cut(sheet.description, max(left // 2, left - _properties_cost(sheet)))
    left -= tokens_of(short)
    kept: dict[str, Any] = {}
    for key, value in sheet.properties.items():
        cost = _cost(key, value)
        if cost <= left:
            kept[key] = value
            left -= cost
    missing = tuple(key for key in names if key not in kept)
    return replace(sheet, description=short, properties=kept, left=missing)


def bare(sheet: Sheet) -> Sheet:
    """The sheet without anything on it."""
    return replace(sheet, description="", properties={}, left=tuple(sheet.properties))


def brief(entity: Entity) -> Sheet:
    """The sheet of somebody who is not there."""
    whole = sheet_of(entity)
    return whole if sheet_cost(whole) <= BRIEF_TOKENS else trimmed(whole, BRIEF_TOKENS)


def _properties_cost(sheet: Sheet) -> int:
    return sum(_cost(key, value) for key, value in sheet.properties.items())


def _cost(key: str, value: Any) -> int:
    return tokens_of(key, str(value)) + FIELD_TOKENS
