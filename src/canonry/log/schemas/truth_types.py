"""The sixteen built-in entity types, and the reading of type names."""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from canonry.log.schemas.schemas import BUILT_IN, EntitySchema
from canonry.values.json_values import decode_json, fold_text, read_value


def _built_in() -> Mapping[str, EntitySchema]:
    """Read the types from `truth_types.json`, whose members are those of `EntitySchema`."""
    text = files(__package__).joinpath("truth_types.json").read_bytes()
    data: Mapping[str, Mapping[str, Any]] = decode_json(text)
    derived = {
        name: {"id": f"built-in:{name}", "space": BUILT_IN, "entity_type": name, **members}
        for name, members in data.items()
    }
    return {name: read_value(members, EntitySchema) for name, members in derived.items()}


TRUTH_TYPES: Final = _built_in()
"""The built-in schemas by their type."""

PLURALS: Final = {"email": "emails", "phone": "phones", "name": "aliases"}
"""The fields that hold all values if a list is given for a single one."""

_ALIASES: Final = {
    alias: schema.entity_type for schema in TRUTH_TYPES.values() for alias in schema.type_aliases
}
_ALIKE: Final = frozenset({"person", "contact"})
_KNOWN: Final = {**{name: name for name in TRUTH_TYPES}, **_ALIASES}
_BETWEEN: Final = re.compile(r"[\s\-]+")


@lru_cache(maxsize=1024)  # a record's reading asks 6 times: bench compare, bulk
def type_named(name: str) -> str:
    """Return the type that a name means: `Bill` and `Invoices` are invoices.

    An unknown name is a type itself, in the singular or plural as given.
    """
    plain = _BETWEEN.sub("_", fold_text(name))
    singulars = (
        plain.removesuffix(ending) + instead
        for ending, instead in (("ies", "y"), ("es", ""), ("s", ""))
        if plain.endswith(ending)
    )
    known = (_KNOWN[each] for each in (plain, *singulars) if each in _KNOWN)
    return next(known, plain)


@lru_cache(maxsize=1024)  # a record's matching asks 8 times: bench compare, bulk
def similar_types(entity_type: str) -> frozenset[str]:
    """Return the types of the same kind of item: two entities of them may be one."""
    return _ALIKE if entity_type in _ALIKE else frozenset((entity_type,))
