"""Types, fields and relations of the narrative contract."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from canonry.values.attributes.table import (
    IN_USE,
    builtin_attributes,
    find_attribute,
    with_attributes,
)
from canonry.values.data_files import read_toml
from canonry.values.errors import InvalidInput
from canonry.values.merge_policies import (
    FRAGMENT,
    LAST_WRITE,
    LATEST,
    PROPERTY,
    TAG_SET,
    MergePolicy,
)
from canonry.values.merge_policies import NAMES as NAME_POLICY

NAME: Final = "name"
DESCRIPTION: Final = "description"
STATE_TAGS: Final = "state_tags"
PROPERTY_PREFIX: Final = PROPERTY
FRAGMENT_PREFIX: Final = FRAGMENT

_OWN: Final = {NAME: NAME_POLICY, DESCRIPTION: LATEST, STATE_TAGS: TAG_SET}


def policy_of(field: str) -> MergePolicy:
    """Return the merge policy of `field`; a schema may use another one of `CHOICES` for display."""
    return _OWN.get(field, LAST_WRITE)


_FORM: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationType:
    """The logic of a relation type.

    `symmetric`: it holds in both directions. `one_target`: an entity has at most one at a time (a
    location). `one_origin`: a target has at most one at a time (an owner). `excludes`: types that
    cannot hold for the same pair at the same time.
    """

    name: str
    symmetric: bool = False
    one_target: bool = False
    one_origin: bool = False
    excludes: frozenset[str] = frozenset()


def _relation_types() -> Iterator[RelationType]:
    """Yield the relation types of the attributes.

    A value that never changes has no successor, and one that only shades into another ends nothing.
    """
    table = IN_USE["table"]
    for name, (entry, inverse) in table.by_relation.items():
        single = entry.cardinality == 1 and not (entry.fixed or entry.soft or entry.symmetric)
        yield RelationType(
            name=name,
            symmetric=entry.symmetric,
            one_target=single and not inverse,
            one_origin=single and inverse,
            excludes=frozenset(
                each for other in entry.excludes for each in table.find_attribute(other).relations
            ),
        )


RELATION_TYPES: Final[dict[str, RelationType]] = {}


def use_attributes(extra: Mapping[str, Any]) -> None:
    """Put an operator's attributes and their relation types into force in this process."""
    IN_USE["table"] = with_attributes(extra) if extra else builtin_attributes()
    find_attribute.cache_clear()
    RELATION_TYPES.clear()
    RELATION_TYPES.update({each.name: each for each in _relation_types()})


use_attributes({})
_NAMES: Final = read_toml(__package__, "narrative.toml")
ALIASES: Final[Mapping[str, str]] = _NAMES["aliases"]


def relation_type(name: str, *, path: str = "/rel_type") -> RelationType:
    """Return the type of that name in any case; an unlisted name is a plain directed type.

    Raises:
        InvalidInput: `relation.type-malformed`.
    """
    upper = name.strip().upper().replace("-", "_").replace(" ", "_")
    if not _FORM.fullmatch(upper):
        message = f"{path} must be letters, digits and underscores, like LOCATED_IN."
        raise InvalidInput("relation.type-malformed", message, path=path)
    upper = ALIASES.get(upper, upper)
    return RELATION_TYPES.get(upper) or RelationType(name=upper)


class EntityType(StrEnum):
    """The type of a narrative entity, which never changes."""

    CHARACTER = "character"
    FACTION = "faction"
    LOCATION = "location"
    OBJECT = "object"
    CONCEPT = "concept"
    ORGANIZATION = "organization"


_TYPES: Final[Mapping[str, EntityType]] = {
    **{word: EntityType(kind) for kind, own in _NAMES["types"].items() for word in own.split()},
    **{each.value: each for each in EntityType},
}


def narrative_type(entity_type: str) -> EntityType:
    """Return the nearest of the six types: a person is a character, an unknown type a concept.

    Of several words, the last one counts: a billing service is a service.
    """
    last = (entity_type.casefold().replace("_", " ").split() or [""])[-1]
    return _TYPES.get(last) or _TYPES.get(last.removesuffix("s"), EntityType.CONCEPT)


def own_type(entity_type: str, properties: Mapping[str, Any]) -> str:
    """Return the type that a narrative entity was given, in words; `""` if it is one of the six."""
    given = properties.get(OWN_TYPE) if _TYPES.get(entity_type) == entity_type else None
    return given if isinstance(given, str) else ""


OWN_TYPE: Final = "type"
"""The property of an entity that keeps the type that it was given, if it is none of the six."""


NAMES: Final = ("name", "title")
"""The fields that name an entity; the first one that it has is its name."""

OTHER_NAMES: Final = ("aliases", "alias", "also_known_as")
"""The fields with its other names: one name, or a list of them."""

PROSE: Final = ("description", "summary", "text", "content")
"""The fields with sentences about it, in display order."""

SILENT: Final = frozenset(_NAMES["silent"].split())
"""Fields that search leaves out, like all names that begin with an underscore."""

LORE_TYPES: Final = frozenset({"lore", "lore_fact"})
"""The types of entities that describe the world instead of being part of it."""
