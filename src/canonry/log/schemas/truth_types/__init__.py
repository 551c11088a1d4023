"""The sixteen types of entity that come with Canonry, and how a type's name is read."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from canonry.log.schemas.schemas import EntitySchema
from canonry.log.schemas.truth_types.types import (
    AGENT_DECISION,
    AGENT_SESSION,
    ARCHITECTURAL_DECISION,
    CODEBASE_ENTITY,
    COMPANY,
    CONTACT,
    CONTRACT,
    FEATURE_UNIT,
    INVOICE,
    NOTE,
    PERSON,
    RECEIPT,
    RELEASE,
    TASK,
    TRANSACTION,
    VALIDATION_RESULT,
)
from canonry.values.json_values import folded

TRUTH_TYPES: Final[Mapping[str, EntitySchema]] = {
    schema.entity_type: schema
    for schema in (
        INVOICE,
        TRANSACTION,
        RECEIPT,
        CONTRACT,
        NOTE,
        PERSON,
        COMPANY,
        CONTACT,
        TASK,
        FEATURE_UNIT,
        RELEASE,
        AGENT_DECISION,
        AGENT_SESSION,
        VALIDATION_RESULT,
        CODEBASE_ENTITY,
        ARCHITECTURAL_DECISION,
    )
}
_ALIASES: Final = {
    alias: schema.entity_type for schema in TRUTH_TYPES.values() for alias in schema.type_aliases
}
_ALIKE: Final = frozenset({"person", "contact"})
_KNOWN: Final = {**{name: name for name in TRUTH_TYPES}, **_ALIASES}
_PLURALS: Final = (("ies", "y"), ("es", ""), ("s", ""))
_BETWEEN: Final = re.compile(r"[\s\-]+")


@lru_cache(maxsize=1024)
@lru_cache(maxsize=1024)
def type_named(name: str) -> str:
    """The type that is meant: `Bill` is an invoice, and so are `Invoices`.

    A name that nobody knows is a type itself, in singular or plural as it stands.
    """
    plain = _BETWEEN.sub("_", folded(name))
    known = (_KNOWN[each] for each in (plain, *_singulars(plain)) if each in _KNOWN)
    return next(known, plain)


def _singulars(plain: str) -> Iterator[str]:
    """What the word may be one of, in the plurals of English."""
    for ending, instead in _PLURALS:
        if plain.endswith(ending):
            yield plain.removesuffix(ending) + instead


def types_alike(entity_type: str) -> frozenset[str]:
    """The types that describe the same kind of thing, so that two of them may be one."""
    return _ALIKE if entity_type in _ALIKE else _alone(entity_type)


@lru_cache(maxsize=1024)
def _alone(entity_type: str) -> frozenset[str]:
    return frozenset((entity_type,))
