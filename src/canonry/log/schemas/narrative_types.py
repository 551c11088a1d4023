"""The six kinds of a narrative entity, and which of them an entity of another vocabulary is."""

from enum import StrEnum
from typing import Final


class EntityType(StrEnum):
    """What a narrative entity is; it never changes."""

    CHARACTER = "character"
    FACTION = "faction"
    LOCATION = "location"
    OBJECT = "object"
    CONCEPT = "concept"
    ORGANIZATION = "organization"


_NEAREST: Final = {
    "company": EntityType.ORGANIZATION,
    "contact": EntityType.CHARACTER,
    "person": EntityType.CHARACTER,
    "place": EntityType.LOCATION,
    "player": EntityType.CHARACTER,
    "project": EntityType.ORGANIZATION,
    "realm": EntityType.LOCATION,
}
_NARRATIVE: Final = {each.value: each for each in EntityType}


def narrative_type(entity_type: str) -> EntityType:
    """The nearest of the six: a person is a character; what nothing else fits is a concept."""
    return _NARRATIVE.get(entity_type) or _NEAREST.get(entity_type, EntityType.CONCEPT)
